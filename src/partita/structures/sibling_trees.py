"""Projective dependency trees of the second order: parts are arcs and pairs of siblings."""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.siblings import best as sibling_best
from partita.kernels.siblings import parts as sibling_parts
from partita.kernels.siblings import scaled as sibling_scaled
from partita.kernels.trees import labels as label_kernels
from partita.structures.array_structures import ArrayStructures
from partita.structures.base import (
    ALL_FORBIDDEN,
    Best,
    Inference,
    Structure,
    covariance_from_products,
)
from partita.structures.batch import largest_finite, moved_words, pieces
from partita.structures.charts import Blocks, Charts, Fill, each_block, unread
from partita.structures.part_arrays import PartArray
from partita.structures.settling import centre_arcs
from partita.structures.sibling_forests import SiblingForests, sibling_places
from partita.structures.tree_checks import check_tree, checked_row, why_empty

N_CHARTS = 8
"""Numbers in the charts of `kernels.siblings.scaled` for each arc, beside the sibling parts."""


class SiblingTrees(ArrayStructures):
    """All projective trees of sentences of `n_words` words, scored by arcs and siblings.

    The parts of a sentence are its arcs [head, modifier], (n+1, n+1), and its siblings [head,
    inner, modifier], (n+1, n+1, n+1), where `inner` is the next modifier of the head towards it on
    that side, or the head itself where there is none. So a tree has an arc and a sibling part for
    each word. Cells that belong to no tree are ignored, even NaN, and results there are 0, or -inf
    among max-marginals.

    A structure is its heads, (n,), where heads[i] is the head of word i + 1 and 0 the root. Where
    `single_root`, exactly one word hangs on the root. Everything is Eisner's algorithm with
    sibling parts (McDonald & Pereira 2006), O(n³).
    """

    one_per_word = True
    is_projective: ClassVar[bool] = True

    def __init__(self, n_words: ArrayLike, *, single_root: bool = False) -> None:
        super().__init__(n_words, [PartArray("arcs", 2, 1), PartArray("siblings", 3, 1)])
        self.single_root = single_root
        self.arc_offsets = self.part_offsets
        """Where the arcs of each sentence begin."""

    def is_same_set(self, other: Self) -> bool:
        """Sentences of the same lengths, and one root or many in both."""
        return self.single_root == other.single_root and np.array_equal(self.n_words, other.n_words)

    @cached_property
    def _blocks(self) -> Blocks:
        return Blocks(self._order, N_CHARTS * (self.n_words + 1) ** 2 + self.n_words**3 // 3)

    def _fill(
        self, scores: FloatArray, is_safe: BoolArray, log_partition: FloatArray, out: FloatArray
    ) -> Fill:
        """Inside-outside in probabilities, of some sentences."""
        return lambda order, offsets: sibling_scaled.marginals(
            scores, *self._shape, order, self.single_root, is_safe, offsets, log_partition, out
        )

    def infer(self, scores: FloatArray) -> Inference:
        """Inside-outside in probabilities; in logarithms where those would underflow."""
        log_partition, marginals = np.empty(self.n_sentences), np.zeros(self.n_parts)
        is_safe = np.empty(self.n_sentences, dtype=np.bool_)
        # What overflows or underflows is reported, and done again below.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            fill = self._fill(scores, is_safe, log_partition, marginals)
            charts = self._blocks.fill(fill, self.run)
        unsafe = np.flatnonzero(~is_safe)
        again = None
        if unsafe.size:
            forests = self._forests(unsafe)
            again = forests.infer(self._folded(scores, unsafe))
            log_partition[unsafe] = again.log_partition
            self._unfold(again.marginals, unsafe, marginals)
        return Inference(log_partition, marginals, (charts, unsafe, again))

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """Inside-outside differentiated along the direction."""
        kept, unsafe, again = inference.state
        product = np.zeros(self.n_parts)
        fill = self._fill(scores, *unread(self.n_sentences, self.n_parts))

        def multiply(order: IntArray, charts: Charts) -> None:
            sibling_scaled.covariance_product(
                direction, *self._shape, order, self.single_root, *charts, product
            )

        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            each_block(multiply, fill, kept, self.run)
        if unsafe.size:
            found = self._forests(unsafe).covariance_product(
                self._folded(scores, unsafe), again, self._folded(direction, unsafe, 0.0)
            )
            self._unfold(found, unsafe, product)
        return product

    def centred(self, scores: FloatArray, inference: Inference) -> FloatArray:
        """Each word has one arc and one sibling part: less the largest scores of those into it.

        Where one word hangs on the root, every tree has one such arc: less the largest of these.
        """
        centred = scores.copy()
        self.clear_unused(centred)
        for arcs, siblings in zip(*self.split_arrays(centred), strict=True):
            centre_arcs(arcs, single_root=self.single_root)
            siblings -= largest_finite(siblings, (0, 1))
        return centred

    def arc_covariance(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of the arcs of each sentence, ((n+1)², (n+1)²), from products: O(n⁵)."""
        return covariance_from_products(self, scores, inference, (self.n_words + 1) ** 2)

    def argmax(self, scores: FloatArray) -> Best:
        """The same recursion with maxima."""
        heads = np.empty(self.word_offsets[-1], dtype=np.int64)
        best = np.empty(self.n_sentences)
        stack = np.empty((3 * self.n_words.max(initial=0) + 3, 2), dtype=np.int64)
        sibling_best.argmax(
            scores, self.part_offsets, self.word_offsets, self.n_words, self._order,
            self.single_root, stack, heads, best,
        )  # fmt: skip
        return Best(pieces(heads, self.word_offsets), best)

    def count(self, allowed: BoolArray) -> list[int]:
        """Those of the forests."""
        scores = np.where(allowed, 0.0, -np.inf)
        return self._all_forests.count(self._folded(scores, self._everyone) > -np.inf)

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """By the forest; that of an arc is the largest of its sibling parts."""
        found = self._all_forests.max_marginals(self._folded(scores, self._everyone))
        best = np.empty(self.n_parts)
        self._unfold(found, self._everyone, best, largest=True)
        return best

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """By the forest, lazily."""
        return self._all_forests.k_best(self._folded(scores, self._everyone), k)

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """By the forest: inside once, O(n³), then each tree from the top down."""
        folded = self._folded(scores, self._everyone)
        return self._all_forests.sample(folded, self._all_forests.infer(folded), size, rng)

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """By the forest, from the top down."""
        folded = self._folded(scores, self._everyone)
        return self._all_forests.sample_distinct(folded, size, rng)

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """By the forest: a step derives a node of the derivation anew, drawn at random."""
        given = [
            self._checked_heads(structure, sentence)
            for sentence, structure in enumerate(structures)
        ]
        folded = self._folded(scores, self._everyone)
        return self._all_forests.resampled(folded, given, n_steps, rng)

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """Two ones for each word. Heads that are no tree of this set are an error."""
        counts = np.zeros(self.n_parts)
        for sentence, structure in enumerate(structures):
            head, inner, modifier = sibling_places(self._checked_heads(structure, sentence)).T
            width = len(head) + 1
            first = self.part_offsets[sentence]
            counts[first + head * width + modifier] = 1.0
            counts[first + width**2 + (head * width + inner) * width + modifier] = 1.0
        return counts

    def _checked_heads(self, structure: Structure, sentence: int) -> IntArray:
        n_words = int(self.n_words[sentence])
        heads = checked_row("heads", structure, n_words, n_words, sentence)
        check_tree(heads, sentence, is_projective=True, single_root=self.single_root)
        return heads

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """The words that no allowed arc reaches, or the root constraint that cannot be met."""
        only = np.array([sentence])
        folded = self._folded(scores, only).reshape((self.n_words[sentence] + 1,) * 3)
        return why_empty(folded.max(axis=1), single_root=self.single_root) or ALL_FORBIDDEN

    def clear_unused(self, scores: FloatArray) -> float:
        """Column 0 and the diagonal of the arcs; siblings not between head and modifier."""
        arcs, siblings = self.array_starts
        n_wrong: float = label_kernels.fill_unused(scores, self.n_words, arcs, 1, -np.inf)
        n_wrong += sibling_parts.fill_unused(
            scores, self.n_words, siblings, self.single_root, -np.inf
        )
        return n_wrong

    def moved(self, structure: Structure, places: IntArray) -> Structure:
        """Heads are words, counted from 1, or the root."""
        return moved_words(structure, np.concatenate([[0], places + 1]))

    # ------------------------------------------------------------------ folded parts

    @property
    def _shape(self) -> tuple[IntArray, IntArray]:
        return self.part_offsets, self.n_words

    @cached_property
    def _order(self) -> IntArray:
        """Sentences by length, so that those of like length are computed side by side."""
        return np.argsort(self.n_words, kind="stable")

    @cached_property
    def _everyone(self) -> IntArray:
        return np.arange(self.n_sentences)

    @cached_property
    def _all_forests(self) -> SiblingForests:
        return self._forests(self._everyone)

    def _forests(self, sentences: IntArray) -> SiblingForests:
        return SiblingForests(self.n_words[sentences], single_root=self.single_root)

    def _folded(self, values: FloatArray, sentences: IntArray, fill: float = -np.inf) -> FloatArray:
        """arcs[h, m] + siblings[h, s, m] of the named sentences, `fill` where there is no part."""
        folded = np.empty(((self.n_words[sentences] + 1) ** 3).sum())
        sibling_parts.fold(
            values, self.n_words, self.part_offsets, sentences, self.single_root, fill, folded
        )
        return folded

    def _unfold(
        self, folded: FloatArray, sentences: IntArray, out: Array, *, largest: bool = False
    ) -> None:
        """What is known of folded parts, for arcs and siblings."""
        sibling_parts.unfold(folded, self.n_words, self.part_offsets, sentences, largest, out)
