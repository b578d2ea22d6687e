"""Dependency trees: an arc from a head to every word. Labels of arcs are handled here, once."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.trees import gibbs as tree_gibbs
from partita.kernels.trees import labels as label_kernels
from partita.structures.array_structures import ArrayStructures
from partita.structures.base import ALL_FORBIDDEN, Best, Inference, Structure
from partita.structures.batch import moved_words, offsets, pieces
from partita.structures.distinct import distinct_by_words
from partita.structures.labelled import best_labellings, labelled_covariance
from partita.structures.part_arrays import PartArray
from partita.structures.resampling import random_partners, random_visits
from partita.structures.settling import centre_arcs
from partita.structures.tree_checks import are_trees, check_tree, checked_row, why_empty

MOST_COMPARED = 2**22
"""Pairs of arcs that are compared at once to see whether they cross."""


class Trees(ArrayStructures):
    """All dependency trees of sentences of `n_words` words; subclasses say which kind of tree.

    The parts of a sentence of n words are its arcs, [head, modifier] of shape (n+1, n+1) in C
    order with the root as row 0; with labels, (n+1, n+1, n_labels). Column 0 and the diagonal
    belong to no tree: what is there is ignored, even NaN, and results there are 0, or -inf among
    max-marginals.

    A structure is its heads, (n,), where heads[i] is the head of word i + 1 and 0 the root; with
    labels it is a tuple (heads, labels). Where `single_root`, exactly one word hangs on the root.

    A subclass supplies the methods on unlabelled arcs, below; their `arcs` are flat, with the
    (n+1)² arcs of sentence b from `arc_offsets[b]` on, and unused cells must not be read.
    """

    one_per_word = True
    reads_unused = False
    is_projective: ClassVar[bool]
    """Whether trees with crossing arcs are left out."""

    def __init__(
        self, n_words: ArrayLike, n_labels: int | None = None, *, single_root: bool = False
    ) -> None:
        labels = () if n_labels is None else (n_labels,)
        super().__init__(n_words, [PartArray("arcs", 2, 1, labels)])
        self.n_labels = n_labels
        self.single_root = single_root
        self.arc_offsets = (
            self.part_offsets if n_labels is None else offsets((self.n_words + 1) ** 2)
        )

    def is_same_set(self, other: Self) -> bool:
        """Sentences of the same lengths, the same labels, and one root or many in both."""
        mine, theirs = (self.n_labels, self.single_root), (other.n_labels, other.single_root)
        return mine == theirs and np.array_equal(self.n_words, other.n_words)

    @cached_property
    def _order(self) -> IntArray:
        """Sentences by length, so that those of like length are computed side by side."""
        return np.argsort(self.n_words, kind="stable")

    # ------------------------------------------------------------------ unlabelled arcs, by kind

    @abstractmethod
    def _infer_arcs(self, arcs: FloatArray, *, keep: bool) -> Inference:
        """Log-partition and marginals of unlabelled arcs; `keep` what covariance products need."""

    @abstractmethod
    def _arc_covariance_product(
        self, arcs: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """Covariance of the arcs times a direction that is 0 wherever the marginal is."""

    @abstractmethod
    def _arc_covariance(self, arcs: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of the arcs, ((n+1)², (n+1)²) for each sentence."""

    @abstractmethod
    def _best_heads(self, arcs: FloatArray) -> tuple[IntArray, FloatArray]:
        """Heads of the best trees, all words end to end, and their scores (-inf where none)."""

    @abstractmethod
    def _arc_max_marginals(self, arcs: FloatArray) -> FloatArray:
        """For each arc the score of the best tree that uses it; -inf if none does."""

    @abstractmethod
    def _k_best_heads(self, arcs: FloatArray, k: int) -> list[list[tuple[IntArray, float]]]:
        """The k best trees of each sentence, best first; fewer if there are fewer."""

    @abstractmethod
    def _count_trees(self, arcs: Array) -> int:
        """Trees of a sentence, each as often as the product of its whole numbers in arcs says."""

    @abstractmethod
    def _sample_heads(
        self, arcs: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[IntArray]:
        """`size` independent trees of each sentence, (size, n)."""

    # ------------------------------------------------------------------ log-partition and gradient

    def infer(self, scores: FloatArray) -> Inference:
        """Labels are summed out, log sum_l exp(score), and shared out again: p(l | arc) p(arc)."""
        return self._infer(scores, keep=True)

    def infer_once(self, scores: FloatArray) -> Inference:
        """Without keeping the charts, which then need not leave the cache."""
        return self._infer(scores, keep=False)

    def _infer(self, scores: FloatArray, *, keep: bool) -> Inference:
        if self.n_labels is None:
            return self._infer_arcs(scores, keep=keep)
        marginals = np.empty(self.n_parts)
        arcs = self._summed_arcs(scores, marginals)
        inference = self._infer_arcs(arcs, keep=keep)
        label_kernels.spread(inference.marginals, self.n_labels, marginals)
        return Inference(inference.log_partition, marginals, (arcs, inference))

    def centred(self, scores: FloatArray, inference: Inference) -> FloatArray:
        """Each word has one head (and label): less the largest score of an arc into it.

        Where one word hangs on the root, every tree has one such arc: less the largest of these.
        """
        centred = scores.copy()
        self.clear_unused(centred)
        for arcs in self.split_arrays(centred)[0]:
            centre_arcs(arcs, single_root=self.single_root)
        return centred

    def arc_inference(
        self, scores: FloatArray, inference: Inference
    ) -> tuple[FloatArray, Inference]:
        """Scores and inference of the arcs, labels summed out, behind those of all parts."""
        if self.n_labels is None:
            return scores, inference
        arcs, inner = inference.state
        return arcs, inner

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """q (arc_product(D) + p(arc) (d - D)), with q = p(l | arc) and D(arc) = sum_l q d."""
        if self.n_labels is None:
            return self._arc_covariance_product(scores, inference, direction)
        arcs, inner = self.arc_inference(scores, inference)
        means, product = np.empty(self.arc_offsets[-1]), np.empty(self.n_parts)
        both = inference.marginals, inner.marginals, direction
        label_kernels.mean_direction(*both, self.n_labels, means)
        arc_product = self._arc_covariance_product(arcs, inner, means)
        label_kernels.spread_product(*both, means, arc_product, self.n_labels, product)
        return product

    def covariance(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of each sentence, from that of its arcs."""
        matrices = self.arc_covariance(scores, inference)
        if self.n_labels is None:
            return matrices
        _, inner = self.arc_inference(scores, inference)
        all_marginals = self.split(inference.marginals), self.split_arcs(inner.marginals)
        return [
            labelled_covariance(matrix, marginals, arc_marginals)
            for matrix, marginals, arc_marginals in zip(matrices, *all_marginals, strict=True)
        ]

    def arc_covariance(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of the arcs of each sentence, labels summed out."""
        return self._arc_covariance(*self.arc_inference(scores, inference))

    # ------------------------------------------------------------------ best trees and samples

    def argmax(self, scores: FloatArray) -> Best:
        """The best tree with the best label on each arc."""
        heads, best = self._best_heads(self._best_arcs(scores))
        if self.n_labels is None:
            return Best(self._split_words(heads), best)
        labels = np.empty_like(heads)
        label_kernels.choose_labels(
            scores, heads, self.n_words, self.arc_offsets, self.word_offsets, self.n_labels, labels
        )
        return Best(
            list(zip(self._split_words(heads), self._split_words(labels), strict=True)), best
        )

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """That of the arc, minus its best label, plus the label."""
        arcs = self._best_arcs(scores)
        arc_bests = self._arc_max_marginals(arcs)
        if self.n_labels is None:
            return arc_bests
        bests = np.empty(self.n_parts)
        label_kernels.spread_best(scores, arcs, arc_bests, self.n_labels, bests)
        return bests

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """The k best trees; with labels, the k best labellings of these, merged.

        The k best labelled trees have their heads among the k best heads, each with its best
        labels.
        """
        found = self._k_best_heads(self._best_arcs(scores), k)
        if self.n_labels is None:
            return found
        return [
            best_labellings(arcs, trees, k)
            for arcs, trees in zip(self.split(scores), found, strict=True)
        ]

    def count(self, allowed: BoolArray) -> list[int]:
        """With labels, as many for each arc as are allowed."""
        sentences: list[Array] = self.split(allowed)
        if self.n_labels is not None:
            sentences = [labels.sum(axis=2) for labels in sentences]
        return [self._count_trees(arcs) for arcs in sentences]

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Heads first, then a label for each arc."""
        arcs, inner = self.arc_inference(scores, inference)
        return self._with_labels(scores, self._sample_heads(arcs, inner, size, rng), rng)

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """Heads (and labels) from left to right, without replacement."""

        def arcs_into_words(n_words: int) -> list[IntArray]:
            size = n_words + 1, n_words + 1, self.n_labels or 1
            arcs = np.arange(np.prod(size)).reshape(size)
            return [
                np.delete(arcs[:, word], word, axis=0).ravel() for word in range(1, n_words + 1)
            ]

        def make(n_words: IntArray) -> Trees:
            return type(self)(n_words, self.n_labels, single_root=self.single_root)

        return distinct_by_words(self, scores, make, arcs_into_words, size, rng)

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """Gibbs sampling, O(n²) a step: each word is hung elsewhere, in random order.

        A word takes its subtree along; with a single root, it may also take the root's place. So
        every tree can be reached where every arc is allowed. Labels are drawn at the end.
        """
        given = [
            self._checked(structure, int(n_words), sentence)[0]
            for sentence, (n_words, structure) in enumerate(
                zip(self.n_words, structures, strict=True)
            )
        ]
        heads = np.concatenate([np.zeros(0, dtype=np.int64), *given])
        visits = random_visits(self.n_words, n_steps, rng)
        partners = random_partners(self.n_words, visits, rng)
        tree_gibbs.resample_heads(
            self._summed_arcs(scores), self.arc_offsets, self.word_offsets, self.is_projective,
            self.single_root, visits + 1, partners + 1, rng.random(visits.shape), heads,
        )  # fmt: skip
        rows = [row[np.newaxis] for row in self._split_words(heads)]
        return [_first(structure) for structure in self._with_labels(scores, rows, rng)]

    def _with_labels(
        self, scores: FloatArray, heads: list[IntArray], rng: np.random.Generator
    ) -> list[Structure]:
        """Trees of each sentence, (size, n), each arc with a label where arcs have any."""
        if self.n_labels is None:
            return list(heads)
        labelled = []
        for first_arc, rows in zip(self.arc_offsets[:-1], heads, strict=True):
            labels = np.empty_like(rows)
            label_kernels.draw_labels(
                scores, first_arc, rows, rng.random(rows.shape), self.n_labels, labels
            )
            labelled.append((rows, labels))
        return labelled

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """A one for each arc of a tree. Heads that are no tree of this set are an error."""
        n_labels = self.n_labels or 1
        counts = np.zeros(self.n_parts)
        if self.n_labels is None and (heads := self._all_heads(structures)) is not None:
            counts[self._first_arcs + heads * np.repeat(self.n_words + 1, self.n_words)] = 1.0
            return counts
        for sentence, (n_words, structure) in enumerate(zip(self.n_words, structures, strict=True)):
            heads, labels = self._checked(structure, int(n_words), sentence)
            arcs = heads * (n_words + 1) + np.arange(1, n_words + 1)
            counts[self.part_offsets[sentence] + arcs * n_labels + labels] = 1.0
        return counts

    def _all_heads(self, structures: Sequence[Structure]) -> IntArray | None:
        """The heads of all words, end to end; nothing where not all are trees without doubt."""
        rows = list(structures)
        are_plain = len(rows) == self.n_sentences > 0 and all(
            type(row) is np.ndarray and row.dtype == np.int64 and row.shape == (n,)
            for row, n in zip(rows, self.n_words.tolist(), strict=True)
        )
        # Beyond this, what would be compared with each other takes too much memory.
        if not are_plain or self.n_sentences * self.largest_length**2 > MOST_COMPARED:
            return None
        heads = np.concatenate(rows)
        one_root = self.single_root
        is_sure = are_trees(
            heads, self.n_words, is_projective=self.is_projective, single_root=one_root
        )
        return heads if is_sure else None

    @cached_property
    def _first_arcs(self) -> IntArray:
        """The arc from the root to each word, among the arcs of all sentences."""
        words = np.arange(self.word_offsets[-1]) - np.repeat(self.word_offsets[:-1], self.n_words)
        arcs: IntArray = np.repeat(self.arc_offsets[:-1], self.n_words) + words + 1
        return arcs

    def _checked(self, structure: Structure, n_words: int, sentence: int) -> tuple[Array, Array]:
        """Heads and labels (0 without labels) of a caller's structure, or an error."""
        labels = np.zeros(n_words, dtype=np.int64)
        heads = structure
        if self.n_labels is not None:
            if not (isinstance(structure, tuple | list) and len(structure) == 2):
                raise ValueError(
                    f"the structure of sentence {sentence} is a {type(structure).__name__}; "
                    "expected a tuple (heads, labels), since the arcs have labels."
                )
            heads, labels = structure
            labels = checked_row("labels", labels, n_words, self.n_labels - 1, sentence)
        heads = checked_row("heads", heads, n_words, n_words, sentence)
        check_tree(heads, sentence, is_projective=self.is_projective, single_root=self.single_root)
        return heads, labels

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """The words that no arc reaches, or the root constraint that cannot be met."""
        arcs = self.split_arcs(self._best_arcs(scores))[sentence]
        return why_empty(arcs, single_root=self.single_root) or ALL_FORBIDDEN

    def clear_unused(self, scores: FloatArray) -> float:
        """Column 0 and the diagonal."""
        n_labels = self.n_labels or 1
        wrong: float = label_kernels.fill_unused(
            scores, self.n_words, self.part_offsets, n_labels, -np.inf
        )
        return wrong

    def moved(self, structure: Structure, places: IntArray) -> Structure:
        """Heads are words, counted from 1, or the root."""
        heads = structure[0] if isinstance(structure, tuple) else structure
        moved = moved_words(heads, np.concatenate([[0], places + 1]))
        return (moved, structure[1]) if isinstance(structure, tuple) else moved

    # ------------------------------------------------------------------ shapes

    def split(self, parts: Array) -> list[Array]:
        """Views of each sentence's part of a flat vector: (n+1, n+1), or with labels behind."""
        (arcs,) = self.split_arrays(parts)
        return arcs

    def split_arcs(self, arcs: Array) -> list[Array]:
        """Views of each sentence's part of a flat vector over unlabelled arcs: (n+1, n+1)."""
        return [
            arcs[start:end].reshape(n + 1, n + 1)
            for start, end, n in zip(
                self.arc_offsets[:-1], self.arc_offsets[1:], self.n_words, strict=True
            )
        ]

    def _split_words(self, values: Array) -> list[Array]:
        return pieces(values, self.word_offsets)

    def _summed_arcs(self, scores: FloatArray, shares: FloatArray | None = None) -> FloatArray:
        """The log sum of each arc's labels; p(label | arc) is written to `shares`, (n_parts,)."""
        if self.n_labels is None:
            return scores
        arcs = np.empty(self.arc_offsets[-1])
        if shares is None:
            shares = np.empty(self.n_parts)
        label_kernels.sum_labels(
            scores, self.n_words, self.arc_offsets, self.n_labels, arcs, shares
        )
        return arcs

    def _best_arcs(self, scores: FloatArray) -> FloatArray:
        """The score of each arc with its best label."""
        if self.n_labels is None:
            return scores
        arcs = np.empty(self.arc_offsets[-1])
        label_kernels.best_labels(scores, self.n_words, self.arc_offsets, self.n_labels, arcs)
        return arcs


def _first(structure: Structure) -> Structure:
    """The first of several trees of a sentence: heads, or heads and labels."""
    return tuple(rows[0] for rows in structure) if isinstance(structure, tuple) else structure[0]
