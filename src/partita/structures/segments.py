"""Segmentations with tags: words cut into segments, a tag for each, transitions between them."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.kernels.segments import best as segment_best
from partita.kernels.segments import gibbs as segment_gibbs
from partita.kernels.segments import k_best as segment_k_best
from partita.kernels.segments import log as segment_log
from partita.kernels.segments import rows as segment_rows
from partita.kernels.segments import sample as segment_sample
from partita.kernels.segments import scaled as segment_scaled
from partita.kernels.segments import scaled_covariance as segment_covariance
from partita.kernels.simd.lanes import N_LANES
from partita.structures.array_structures import ArrayStructures
from partita.structures.base import Best, Inference, Structure
from partita.structures.batch import exact_sum, largest_finite, moved_words
from partita.structures.counting import count_segmentations
from partita.structures.distinct import distinct_by_words
from partita.structures.part_arrays import PartArray
from partita.structures.resampling import random_visits


class SegmentChains(ArrayStructures):
    """All ways to cut sentences of `n_words` words into segments of at most `longest`, with tags.

    The parts of a sentence of n words are, in this order, segments [first, length - 1, tag],
    (n, longest, s), and transitions between neighbouring segments, [left tag, right tag], (s, s).
    A structure is an array of rows (first, end, tag), one for each segment in order; `end` is the
    first word behind the segment. Cells of segments that would end behind the sentence are unused.
    """

    def __init__(self, n_words: ArrayLike, longest: int, n_tags: int) -> None:
        segments = PartArray("segments", 1, inner=(longest, n_tags))
        super().__init__(n_words, (segments, PartArray("pairwise", 0, inner=(n_tags, n_tags))))
        self.longest, self.n_tags = longest, n_tags

    def is_same_set(self, other: Self) -> bool:
        """Sentences of the same lengths, the same tags, and segments of up to the same length."""
        mine, theirs = (self.longest, self.n_tags), (other.longest, other.n_tags)
        return mine == theirs and np.array_equal(self.n_words, other.n_words)

    def infer(self, scores: FloatArray) -> Inference:
        """Forward and backward, rescaled; in logarithms where that would underflow."""
        log_partition, marginals = np.empty(self.n_sentences), np.empty(self.n_parts)
        is_safe = np.empty(self.n_sentences, dtype=np.bool_)
        width = -(-self.n_tags // N_LANES) * N_LANES
        # A boundary more than words in each sentence.
        n_boundaries = int(self.word_offsets[-1]) + self.n_sentences
        weights = np.empty(self.n_parts + N_LANES)
        messages, scale = np.empty(4 * n_boundaries * width), np.empty(n_boundaries)
        state = weights, messages, scale, is_safe
        segment_scaled.marginals(scores, *self.shape, *state, log_partition, marginals)
        unsafe = np.flatnonzero(~is_safe)
        if unsafe.size:
            segment_log.infer(scores, None, *self.shape, unsafe, log_partition, marginals)
        return Inference(log_partition, marginals, state)

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """The recursions of the messages, differentiated along the direction."""
        product = np.empty(self.n_parts)
        segment_covariance.product(
            scores, direction, *self.shape, inference.marginals, *inference.state, product
        )
        unsafe = np.flatnonzero(~inference.state[-1])
        if unsafe.size:
            found = np.empty(self.n_sentences)
            segment_log.infer(scores, direction, *self.shape, unsafe, found, product)
        return product

    def centred(self, scores: FloatArray, inference: Inference) -> FloatArray:
        """Each word is in one segment, and each segment but the last has a transition behind it.

        The largest transition moves into the segments, and of these goes what the best way to their
        end has gained since their beginning.
        """
        centred = scores.copy()
        for segments, pairwise in zip(*self.split_arrays(centred), strict=True):
            largest = largest_finite(pairwise, (0, 1))
            pairwise -= largest
            gains = np.full(len(segments) + 1, -np.inf)
            gains[0] = 0.0
            for end in range(1, len(gains)):
                lengths = np.arange(1, min(self.longest, end) + 1)
                best = segments[end - lengths, lengths - 1].max(axis=1)
                gains[end] = (best + gains[end - lengths]).max() + largest[0, 0]
            for first in range(len(segments)):
                ends = np.arange(first + 1, min(first + self.longest, len(segments)) + 1)
                cells = segments[first, : len(ends)]
                is_possible = (cells > -np.inf) & (gains[first] > -np.inf)
                terms = (cells, largest, gains[first], -gains[ends, None])
                cells[is_possible] = exact_sum(
                    *(np.broadcast_to(term, cells.shape)[is_possible] for term in terms)
                )
        return centred

    def count(self, allowed: BoolArray) -> list[int]:
        """By the number of ways to end in each tag behind each word."""
        arrays = self.split_arrays(allowed)
        return [count_segmentations(*sentence) for sentence in zip(*arrays, strict=True)]

    def argmax(self, scores: FloatArray) -> Best:
        """Viterbi's algorithm, O(n L s + n s²)."""
        best, n_rows = np.empty(self.n_sentences), np.empty(self.n_sentences, dtype=np.int64)
        rows = np.empty((self.word_offsets[-1], 3), dtype=np.int64)
        segment_best.viterbi(scores, *self.shape, rows, n_rows, best)
        ends = self.word_offsets[1:].tolist()
        found = [rows[end - n : end] for end, n in zip(ends, n_rows.tolist(), strict=True)]
        return Best(found, best)

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """Viterbi forwards and backwards."""
        result = np.empty(self.n_parts)
        segment_best.max_marginals(scores, *self.shape, result)
        return result

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """The k best ways up to each boundary and tag, O(n s (L + s) k)."""
        found = []
        for start, n_words in self._sentences():
            most = min(k, self.n_tags * (self.n_tags + 1) ** (n_words - 1))
            rows, n_rows = self._rows(most, n_words)
            best = np.empty(most)
            segment_k_best.k_best(
                scores, start, n_words, self.longest, self.n_tags, most, rows, n_rows, best
            )
            structures = _last_rows(rows, n_rows)
            allowed = int((best > -np.inf).sum())
            found.append(list(zip(structures[:allowed], best[:allowed].tolist(), strict=True)))
        return found

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Right to left: O(n L s + n s²) once, then O(L + s) a segment."""
        samples: list[Structure] = []
        for start, n_words in self._sentences():
            rows, n_rows = self._rows(size, n_words)
            uniforms = rng.random((size, 2 * n_words))
            segment_sample.sample(
                scores, start, n_words, self.longest, self.n_tags, uniforms, rows, n_rows
            )
            samples.append(_last_rows(rows, n_rows))
        return samples

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """From left to right the segment that each word is in, without replacement."""

        def segments_over_words(n_words: int) -> list[IntArray]:
            parts = np.arange(n_words * self.longest * self.n_tags)
            first, length, _ = np.unravel_index(parts, (n_words, self.longest, self.n_tags))
            end = first + length + 1
            return [
                parts[(first <= word) & (word < end) & (end <= n_words)] for word in range(n_words)
            ]

        def make(n_words: IntArray) -> SegmentChains:
            return SegmentChains(n_words, self.longest, self.n_tags)

        return distinct_by_words(self, scores, make, segments_over_words, size, rng)

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """Gibbs sampling: each word in random order, with or without a boundary before it."""
        rows = self._checked_rows(structures)
        first, end, tag = np.concatenate([np.zeros((0, 3), dtype=np.int64), *rows]).T
        n_rows = [len(each) for each in rows]
        tags = np.repeat(tag, end - first)
        is_first = np.zeros(len(tags), dtype=np.bool_)
        is_first[first + np.repeat(self.word_offsets[:-1], n_rows)] = True
        visits = random_visits(self.n_words, n_steps, rng)
        uniforms = rng.random(visits.shape)
        segment_gibbs.resample(scores, *self.shape, visits, uniforms, is_first, tags)
        found = []
        for sentence, n_words in enumerate(self.n_words.tolist()):
            mine = slice(*self.word_offsets[sentence : sentence + 2])
            firsts = np.flatnonzero(is_first[mine])
            ends = np.append(firsts[1:], n_words)
            found.append(np.stack([firsts, ends, tags[mine][firsts]], axis=1))
        return found

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """A one for each segment, and how often each transition occurs."""
        counts, rows = np.zeros(self.n_parts), self._checked_rows(structures)
        first, end, tag = np.concatenate([np.zeros((0, 3), dtype=np.int64), *rows]).T
        starts = np.repeat(self.part_offsets[:-1], [len(each) for each in rows])
        counts[starts + (first * self.longest + end - first - 1) * self.n_tags + tag] = 1.0
        tables = np.repeat(self.part_offsets[1:], [len(each) for each in rows]) - self.n_tags**2
        # A segment has a transition to the next one, unless a sentence begins there.
        left = np.flatnonzero(first[1:])
        np.add.at(counts, tables[left] + tag[left] * self.n_tags + tag[left + 1], 1.0)
        return counts

    def moved(self, structure: Structure, places: IntArray) -> Structure:
        """Segments name words, which a padded batch may have at other places."""
        rows = np.asarray(structure)
        if rows.ndim != 2 or rows.shape[1] != 3:
            return rows  # which `counts` refuses
        first, end, tag = rows.T
        ends = moved_words(end - 1, places) + 1
        return np.stack([moved_words(first, places), ends, tag], axis=1)

    def clear_unused(self, scores: FloatArray) -> float:
        """-inf for segments that would end behind their sentence."""
        return float(segment_rows.clear_behind(scores, *self.shape))

    @property
    def shape(self) -> tuple[IntArray, IntArray, int, int]:
        """What every segment kernel wants to know of the batch."""
        return self.part_offsets, self.word_offsets, self.longest, self.n_tags

    def _sentences(self) -> list[tuple[int, int]]:
        """The first part and the number of words of each sentence."""
        return list(zip(self.part_offsets[:-1].tolist(), self.n_words.tolist(), strict=True))

    def _rows(self, size: int, n_words: int) -> tuple[IntArray, IntArray]:
        """Room for structures of one sentence, and for their numbers of segments."""
        return np.empty((size, n_words, 3), dtype=np.int64), np.empty(size, dtype=np.int64)

    def _checked_rows(self, structures: Sequence[Structure]) -> list[IntArray]:
        """The rows of each sentence; an error names the one whose rows are no structure."""
        return [
            self._checked(rows, n_words, sentence)
            for sentence, (rows, n_words) in enumerate(
                zip(structures, self.n_words.tolist(), strict=True)
            )
        ]

    def _checked(self, structure: Structure, n_words: int, sentence: int) -> IntArray:
        rows = np.asarray(structure)
        if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"the segments of sentence {sentence} are an array of {rows.dtype} of shape "
                f"{rows.shape}; expected rows (first, end, tag) of whole numbers."
            )
        first, end, tag = rows.T
        follow = len(rows) > 0 and first[0] == 0 and end[-1] == n_words
        follow = follow and bool((first[1:] == end[:-1]).all())
        fit = (end - first >= 1) & (end - first <= self.longest) & (tag >= 0) & (tag < self.n_tags)
        if not (follow and fit.all()):
            raise ValueError(
                f"the segments of sentence {sentence} are {rows.tolist()}; expected rows (first, "
                f"end, tag), each from where the last one ended, from 0 to {n_words}, of 1 to "
                f"{self.longest} words, with tags from 0 to {self.n_tags - 1}."
            )
        return rows.astype(np.int64)


def _last_rows(rows: IntArray, n_rows: IntArray) -> list[IntArray]:
    """The structures that kernels wrote from the end on, each with memory of its own."""
    n_words = rows.shape[1]
    return [item[n_words - n :].copy() for item, n in zip(rows, n_rows.tolist(), strict=True)]
