"""Tag sequences: a tag at every word and a transition between neighbours."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.chains import best as chain_best
from partita.kernels.chains import covariance as chain_covariance
from partita.kernels.chains import gibbs as chain_gibbs
from partita.kernels.chains import k_best as chain_k_best
from partita.kernels.chains import log as chain_log
from partita.kernels.chains import positional as chain_positional
from partita.kernels.chains import sample as chain_sample
from partita.kernels.chains import scaled as chain_scaled
from partita.kernels.chains import scaled_covariance as chain_scaled_covariance
from partita.kernels.chains import scaled_entropy as chain_scaled_entropy
from partita.kernels.simd.eight import EIGHT
from partita.structures.array_structures import ArrayStructures
from partita.structures.base import (
    Best,
    Inference,
    InferenceWithEntropy,
    Structure,
    too_large,
)
from partita.structures.batch import largest_finite, pieces, where_false
from partita.structures.counting import count_sequences
from partita.structures.distinct import distinct_by_words
from partita.structures.part_arrays import PartArray
from partita.structures.resampling import random_visits


class Chains(ArrayStructures):
    """All tag sequences of sentences of `n_words` words, out of `n_tags` tags.

    The parts of a sentence of n words are, in this order, a tag at each word, (n, s), and the
    transitions: (s, s) for all positions where `shared`, else (n-1, s, s), one table per pair of
    neighbours, indexed [position, left tag, right tag].
    """

    one_per_word = True

    def __init__(self, n_words: ArrayLike, n_tags: int, *, shared: bool) -> None:
        super().__init__(n_words, _arrays(n_tags, shared))
        self.n_tags = n_tags
        self.shared = shared
        self.by_length = np.argsort(self.n_words, kind="stable")

    def is_same_set(self, other: Self) -> bool:
        """Sentences of the same lengths, the same tags, and transitions shared alike."""
        mine, theirs = (self.n_tags, self.shared), (other.n_tags, other.shared)
        return mine == theirs and np.array_equal(self.n_words, other.n_words)

    def split(self, parts: Array) -> tuple[list[Array], list[Array]]:
        """Views of each sentence's part of a flat vector: unary (n, s), and the transitions."""
        unaries, tables = self.split_arrays(parts)
        return unaries, tables

    def centred(self, scores: FloatArray, inference: Inference) -> FloatArray:
        """Each word has one tag, and each pair of neighbours one transition: less the largest."""
        centred = scores.copy()
        for unary, tables in zip(*self.split(centred), strict=True):
            unary -= largest_finite(unary, (1,))
            tables -= largest_finite(tables, (-2, -1))
        return centred

    def split_words(self, values: Array) -> list[Array]:
        """Views of each sentence's part of an array with a row for every word."""
        return pieces(values, self.word_offsets)

    def infer(self, scores: FloatArray) -> Inference:
        """Forward-backward in scaled probabilities; in logarithms where those would underflow."""
        log_partition = np.empty(self.n_sentences)
        marginals = np.empty(self.n_parts)
        is_safe = np.empty(self.n_sentences, dtype=np.bool_)
        shape, found = self.shape, (is_safe, log_partition, marginals)
        state: tuple[Any, ...] = ()
        if self.shared:
            groups = self._groups()
            messages = chain_scaled.marginals(scores, *shape, self.by_length, *groups, *found)
            state = *groups, *messages
        else:
            chain_positional.marginals(scores, *shape, *found)
        unsafe = where_false(is_safe)
        if unsafe.size:
            chain_log.marginals(
                scores, *shape, self._table_stride, unsafe, log_partition, marginals
            )
        return Inference(log_partition, marginals, (*state, unsafe))

    def infer_with_entropy(self, scores: FloatArray) -> InferenceWithEntropy | None:
        """One pass where transitions are shared, and where nothing underflows.

        Scores count relative to the largest of their sentence, or table, and words whose scores
        are far below it underflow, so that large scores cost no digits.
        """
        if not self.shared:
            return None
        log_partition, entropy = np.empty((2, self.n_sentences))
        marginals, gradient = np.empty(self.n_parts), np.empty(self.n_parts)
        is_safe = np.empty(self.n_sentences, dtype=np.bool_)
        groups = self._groups()
        messages = chain_scaled_entropy.entropy(
            scores, *self.shape, self.by_length, *groups,
            is_safe, log_partition, marginals, entropy, gradient,
        )  # fmt: skip
        unsafe = where_false(is_safe)
        if unsafe.size:
            return None
        inference = Inference(log_partition, marginals, (*groups, *messages, unsafe))
        return InferenceWithEntropy(inference, entropy, gradient)

    def _groups(self) -> tuple[IntArray, IntArray]:
        """Room for the sentences of each group, and for where its messages start."""
        n_sentences = self.n_sentences
        return (
            np.empty(n_sentences * EIGHT, dtype=np.int64),
            np.empty(n_sentences + 1, dtype=np.int64),
        )

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """Prefix and suffix expectations of the direction, from one sweep each way."""
        product = np.empty(self.n_parts)
        shape = self.shape
        if not self.shared:
            chain_covariance.positional(inference.marginals, direction, *shape, product)
            return product
        *messages, unsafe = inference.state
        chain_scaled_covariance.product(
            scores, direction, *shape, inference.marginals, *messages, product
        )
        if unsafe.size:
            chain_covariance.shared_unsafe(scores, direction, *shape, unsafe, product)
        return product

    def argmax(self, scores: FloatArray) -> Best:
        """Viterbi's algorithm, O(n s²)."""
        tags = np.empty(self.word_offsets[-1], dtype=np.int64)
        best = np.empty(self.n_sentences)
        chain_best.viterbi(scores, *self.shape, self._table_stride, tags, best)
        return Best(self.split_words(tags), best)

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """Viterbi forwards and backwards."""
        result = np.empty(self.n_parts)
        chain_best.max_marginals(scores, *self.shape, self._table_stride, result)
        return result

    def count(self, allowed: BoolArray) -> list[int]:
        """By the number of sequences that end in each tag."""
        return [count_sequences(*sentence) for sentence in zip(*self.split(allowed), strict=True)]

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """Viterbi's chart, then each sequence at O(n s) more."""
        found = []
        for n_words, start in zip(
            self.n_words.tolist(), self.part_offsets[:-1].tolist(), strict=True
        ):
            sentence = scores, start, n_words, self.n_tags, self._table_stride
            search, n_found = chain_k_best.k_best(*sentence, min(k, self.n_tags**n_words))
            tags, best = np.empty((n_found, n_words), dtype=np.int64), np.empty(n_found)
            chain_k_best.write_sequences(search, *sentence, tags, best)
            found.append(list(zip(tags, best.tolist(), strict=True)))
        return found

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Forward filtering, backward sampling: O(n s²) once, then O(n s) a sample."""
        samples = []
        for sentence in range(self.n_sentences):
            n_words, start = int(self.n_words[sentence]), int(self.part_offsets[sentence])
            uniforms = rng.random((size, n_words))
            tags = np.empty((size, n_words), dtype=np.int64)
            if not chain_sample.sample(
                scores, start, self.n_tags, self._table_stride, uniforms, tags
            ):
                raise too_large(self, scores, sentence)
            samples.append(tags)
        return samples

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """Tags from left to right, without replacement: an inference for each beginning."""

        def tags_of_words(n_words: int) -> list[IntArray]:
            return list(np.arange(n_words * self.n_tags).reshape(n_words, self.n_tags))

        def make(n_words: IntArray) -> Chains:
            return Chains(n_words, self.n_tags, shared=self.shared)

        return distinct_by_words(self, scores, make, tags_of_words, size, rng)

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """Gibbs sampling, O(n s) a step: each word's tag given the others, in random order."""
        given = [
            self._checked_tags(tags, n_words, sentence)
            for sentence, (tags, n_words) in enumerate(zip(structures, self.n_words, strict=True))
        ]
        tags = np.concatenate([np.zeros(0, dtype=np.int64), *given])
        visits = random_visits(self.n_words, n_steps, rng)
        uniforms = rng.random(visits.shape)
        chain_gibbs.resample_tags(scores, *self.shape, self._table_stride, visits, uniforms, tags)
        return self.split_words(tags)

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """A one for each word's tag, and how often each transition occurs."""
        counts, n_tags = np.zeros(self.n_parts), self.n_tags
        tags = self._all_tags(structures)
        unary, tables, left = self._places
        counts[unary + tags] = 1.0
        np.add.at(counts, tables + tags[left] * n_tags + tags[left + 1], 1.0)
        return counts

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray, IntArray]:
        """The part of tag 0 of each word; of each pair of words that of tags 0, 0, and the left.

        A word has a transition to the next one, unless a sentence begins there.
        """
        starts = np.repeat(self.part_offsets[:-1], self.n_words)
        words = np.arange(len(starts)) - np.repeat(self.word_offsets[:-1], self.n_words)
        tables = starts + np.repeat(self.n_words, self.n_words) * self.n_tags
        left = np.flatnonzero(words[1:])
        return (
            starts + words * self.n_tags,
            (tables + self._table_stride * words)[left],
            left,
        )

    def _all_tags(self, structures: Sequence[Structure]) -> IntArray:
        """The tags of all words, end to end; an error names the sentence whose tags are wrong."""
        if isinstance(structures, np.ndarray) and structures.dtype == np.int64:
            # A row for each sentence, all of them full.
            tags = structures.reshape(-1)
            if not tags.size or (0 <= tags.min() and tags.max() < self.n_tags):
                return tags
        rows = [np.asarray(tags) for tags in structures]
        shapes = zip(rows, self.n_words.tolist(), strict=True)
        if all(row.shape == (n,) and row.dtype.kind in "iu" for row, n in shapes):
            tags = np.concatenate(rows, dtype=np.int64) if rows else np.zeros(0, dtype=np.int64)
            if not tags.size or (0 <= tags.min() and tags.max() < self.n_tags):
                return tags
        checked = [
            self._checked_tags(row, n, sentence)
            for sentence, (row, n) in enumerate(zip(rows, self.n_words.tolist(), strict=True))
        ]
        return np.concatenate(checked)

    def _checked_tags(self, tags: ArrayLike, n_words: int, sentence: int) -> IntArray:
        array = np.asarray(tags)
        if array.shape != (n_words,) or array.dtype.kind not in "iu":
            raise ValueError(
                f"the tags of sentence {sentence} are an array of {array.dtype} of shape "
                f"{array.shape}; expected ({n_words},) whole numbers, one for each word."
            )
        if not ((0 <= array) & (array < self.n_tags)).all():
            raise ValueError(
                f"the tags of sentence {sentence} range from {array.min()} to {array.max()}; "
                f"expected 0 to {self.n_tags - 1}."
            )
        return array.astype(np.int64)

    @cached_property
    def end_parts(self) -> tuple[IntArray, IntArray]:
        """The parts of the tags of each sentence's first and last word, (n_sentences, s) each."""
        first = self.part_offsets[:-1, None] + np.arange(self.n_tags)
        return first, first + (self.n_words[:, None] - 1) * self.n_tags

    @property
    def shape(self) -> tuple[IntArray, IntArray, int]:
        """What every chain kernel wants to know of the batch."""
        return self.part_offsets, self.word_offsets, self.n_tags

    @property
    def _table_stride(self) -> int:
        """How far the transitions of neighbouring positions lie apart; 0 where they are shared."""
        return 0 if self.shared else self.n_tags**2


@lru_cache
def _arrays(n_tags: int, shared: bool) -> tuple[PartArray, PartArray]:
    tags = (n_tags, n_tags)
    tables = PartArray("pairwise", 0, inner=tags) if shared else PartArray("pairwise", 1, -1, tags)
    return PartArray("unary", 1, inner=(n_tags,)), tables
