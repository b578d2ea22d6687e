"""Projective dependency trees: arcs drawn above the sentence do not cross."""

from functools import cached_property

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.kernels.projective import best as eisner_best
from partita.kernels.projective import covariance as eisner_covariance
from partita.kernels.projective import log as eisner_log
from partita.kernels.projective import sample as eisner_sample
from partita.kernels.projective import scaled as eisner_scaled
from partita.structures.base import Inference, covariance_from_products
from partita.structures.projective_k_best import BestTrees
from partita.structures.trees import Trees


class ProjectiveTrees(Trees):
    """All projective trees: whatever lies between a head and its modifier descends from the head.

    Everything is Eisner's algorithm, O(n³).
    """

    is_projective = True

    def _infer_arcs(self, arcs: FloatArray) -> Inference:
        """Inside-outside in probabilities; in logarithms where those would underflow."""
        log_partition, marginals = np.empty(self.n_sentences), np.empty(self.arc_offsets[-1])
        # What overflows or underflows is reported, and done again below.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            is_safe, *state = eisner_scaled.marginals(
                arcs, *self._shape, self._order, self.single_root, log_partition, marginals
            )
        unsafe = np.flatnonzero(~is_safe)
        if unsafe.size:
            unmoved = np.zeros_like(arcs), np.empty_like(arcs)
            self._infer_in_logarithms(arcs, unsafe, log_partition, marginals, *unmoved)
        return Inference(log_partition, marginals, (*state, unsafe))

    def _arc_covariance_product(
        self, arcs: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """Inside-outside differentiated along the direction."""
        *charts, unsafe = inference.state
        product = np.empty_like(arcs)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            eisner_covariance.product(
                direction, *self._shape, self._order, self.single_root, *charts, product
            )
        if unsafe.size:
            again = np.empty(self.n_sentences), np.empty_like(arcs)
            self._infer_in_logarithms(arcs, unsafe, *again, direction, product)
        return product

    def _arc_covariance(self, arcs: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of the arcs of each sentence, from products: O(n⁵)."""
        unlabelled = ProjectiveTrees(self.n_words, single_root=self.single_root)
        return covariance_from_products(unlabelled, arcs, inference)

    def _best_heads(self, arcs: FloatArray) -> tuple[IntArray, FloatArray]:
        """Eisner's algorithm."""
        heads = np.empty(self.word_offsets[-1], dtype=np.int64)
        best = np.empty(self.n_sentences)
        eisner_best.argmax(
            arcs, self.arc_offsets, self.word_offsets, self.n_words, self._order, self.single_root,
            heads, best,
        )  # fmt: skip
        return heads, best

    def _arc_max_marginals(self, arcs: FloatArray) -> FloatArray:
        """Eisner's algorithm inside and outside."""
        best = np.empty_like(arcs)
        eisner_log.max_marginals(arcs, *self._shape, self.single_root, best)
        return best

    def _k_best_heads(self, arcs: FloatArray, k: int) -> list[list[tuple[IntArray, float]]]:
        """One chart, then each tree at about the cost of the items that it changes."""
        return [
            BestTrees(sentence, single_root=self.single_root).first(k)
            for sentence in self.split_arcs(arcs)
        ]

    def _sample_heads(
        self, arcs: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[IntArray]:
        """Inside once, O(n³), then O(n²) a sample at most."""
        samples = []
        for sentence, n_words in zip(self.split_arcs(arcs), self.n_words.tolist(), strict=True):
            heads = np.empty((size, n_words), dtype=np.int64)
            uniforms = rng.random((size, 2 * n_words))
            eisner_sample.sample(sentence, self.single_root, uniforms, heads)
            samples.append(heads)
        return samples

    def _infer_in_logarithms(
        self,
        arcs: FloatArray,
        sentences: IntArray,
        log_partition: FloatArray,
        marginals: FloatArray,
        direction: FloatArray,
        product: FloatArray,
    ) -> None:
        """Fill in log-partition, marginals and covariance product of the given sentences."""
        eisner_log.marginals(
            arcs, direction, *self._shape, self.single_root, sentences,
            log_partition, marginals, product,
        )  # fmt: skip

    @property
    def _shape(self) -> tuple[IntArray, IntArray]:
        return self.arc_offsets, self.n_words

    @cached_property
    def _order(self) -> IntArray:
        """Sentences by length, so that those of like length are computed side by side."""
        return np.argsort(self.n_words, kind="stable")
