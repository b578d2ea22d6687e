"""Projective dependency trees: arcs drawn above the sentence do not cross."""

from functools import cached_property

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.projective import best as eisner_best
from partita.kernels.projective import k_best as eisner_k_best
from partita.kernels.projective import log as eisner_log
from partita.kernels.projective import sample as eisner_sample
from partita.kernels.projective import scaled as eisner_scaled
from partita.structures.base import Inference, covariance_from_products
from partita.structures.batch import where_false
from partita.structures.charts import Blocks, Charts, Fill, each_block, kind_of, n_in_eights, unread
from partita.structures.counting import count_projective_trees
from partita.structures.trees import Trees

N_CHARTS = 6
"""Numbers in the charts of `kernels.projective.scaled` for each arc."""


class ProjectiveTrees(Trees):
    """All projective trees: whatever lies between a head and its modifier descends from the head.

    Everything is Eisner's algorithm, O(n³).
    """

    is_projective = True

    @property
    def takes_single(self) -> bool:
        """Of arcs without labels, which kernels read as they are."""
        return self.n_labels is None

    @cached_property
    def _blocks(self) -> Blocks:
        sizes = N_CHARTS * np.diff(self.arc_offsets)
        n_wide = n_in_eights(self.n_words[self._order], sizes[self._order])
        return Blocks(self._order, sizes, n_wide, is_reused=True)

    def _fill(
        self,
        arcs: FloatArray,
        is_safe: BoolArray,
        log_partition: FloatArray,
        marginals: FloatArray,
        *,
        is_kept: bool = True,
    ) -> Fill:
        """Inside-outside in probabilities, of some sentences."""

        def fill(order: IntArray, offsets: IntArray) -> Array:
            kind = kind_of(order, offsets)
            charts: Array = eisner_scaled.marginals(
                arcs, *self._shape, order, self.single_root, kind, is_kept,
                is_safe, offsets, log_partition, marginals,
            )  # fmt: skip
            return charts

        return fill

    def _infer_arcs(self, arcs: FloatArray, *, keep: bool) -> Inference:
        """Inside-outside in probabilities; in logarithms where those would underflow."""
        log_partition, marginals = np.empty(self.n_sentences), np.empty(len(arcs), arcs.dtype)
        is_safe = np.empty(self.n_sentences, dtype=np.bool_)
        is_kept = keep and self._blocks.is_kept
        fill = self._fill(arcs, is_safe, log_partition, marginals, is_kept=is_kept)
        blocks = self._blocks.fill(fill, self.run, keep=keep)
        # What overflows or underflows is reported, and done again.
        unsafe = where_false(is_safe)
        if unsafe.size and arcs.dtype == np.float32:
            found = self._infer_arcs(arcs.astype(np.float64), keep=keep)
            return found._replace(marginals=found.marginals.astype(np.float32))
        if unsafe.size:
            eisner_log.marginals(
                arcs, *self._shape, self.single_root, unsafe, log_partition, marginals
            )
        return Inference(log_partition, marginals, (blocks, unsafe))

    def _arc_covariance_product(
        self, arcs: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """Inside-outside differentiated along the direction."""
        blocks, unsafe = inference.state
        product = np.empty_like(arcs)
        fill = self._fill(arcs, *unread(self.n_sentences, len(arcs)))

        def multiply(order: IntArray, charts: Charts) -> None:
            eisner_scaled.covariance_product(
                direction, *self._shape, order, self.single_root, *charts, product
            )

        each_block(multiply, fill, blocks, self.run)
        if unsafe.size:
            eisner_log.covariance_product(
                arcs, direction, *self._shape, self.single_root, unsafe,
                np.empty_like(arcs), product,
            )  # fmt: skip
        return product

    def _arc_covariance(self, arcs: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of the arcs of each sentence, from products: O(n⁵)."""
        unlabelled = ProjectiveTrees(self.n_words, single_root=self.single_root)
        return covariance_from_products(unlabelled, arcs, inference)

    def _best_heads(self, arcs: FloatArray) -> tuple[IntArray, FloatArray]:
        """Eisner's algorithm."""
        heads = np.empty(self.word_offsets[-1], dtype=np.int64)
        best = np.empty(self.n_sentences)
        stack = np.empty((3 * self.n_words.max(initial=0) + 3, 2), dtype=np.int64)
        eisner_best.argmax(
            arcs, self.arc_offsets, self.word_offsets, self.n_words, self._order, self.single_root,
            stack, heads, best,
        )  # fmt: skip
        return heads, best

    def _arc_max_marginals(self, arcs: FloatArray) -> FloatArray:
        """Eisner's algorithm inside and outside."""
        best = np.empty_like(arcs)
        eisner_log.max_marginals(arcs, *self._shape, self.single_root, best)
        return best

    def _k_best_heads(self, arcs: FloatArray, k: int) -> list[list[tuple[IntArray, float]]]:
        """One chart, then each tree at about the cost of the spans that it changes."""
        lists, starts = [], self.arc_offsets[:-1].tolist()
        for start, n_words in zip(starts, self.n_words.tolist(), strict=True):
            search, charts, n_found, shared = eisner_k_best.k_best(
                arcs, start, n_words, self.single_root, k
            )
            heads, scores = np.empty((n_found, n_words), dtype=np.int64), np.empty(n_found)
            eisner_k_best.write_trees(search, charts, n_words, shared, heads, scores)
            lists.append(list(zip(heads, scores.tolist(), strict=True)))
        return lists

    def _count_trees(self, arcs: Array) -> int:
        return count_projective_trees(arcs, single_root=self.single_root)

    def _sample_heads(
        self, arcs: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[IntArray]:
        """Inside once, O(n³), then O(n²) a sample at most."""
        samples = []
        for sentence, n_words in zip(self.split_arcs(arcs), self.n_words.tolist(), strict=True):
            heads = np.empty((size, n_words), dtype=np.int64)
            uniforms = rng.random((size, 2 * n_words))
            stack = np.empty((3 * n_words + 3, 2), dtype=np.int64)
            eisner_sample.sample(
                sentence.ravel(), n_words, self.single_root, uniforms, stack, heads
            )
            samples.append(heads)
        return samples

    @property
    def _shape(self) -> tuple[IntArray, IntArray]:
        return self.arc_offsets, self.n_words
