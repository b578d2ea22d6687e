"""Distributions on flat vectors over parts: the numbers that everything else is derived from."""

from functools import cached_property

import numpy as np

from partita.arrays import FloatArray
from partita.distribution.checks import check_shape, check_shapes, check_support
from partita.kernels import parts
from partita.structures.base import Best, Inference, Structures
from partita.structures.batch import flat_vector


class FlatDistribution:
    """p(structure) = exp(score(structure) - A) of a batch, asked in flat vectors over its parts."""

    structures: Structures
    scores: FloatArray
    """One score per part of all sentences, flat."""

    @cached_property
    def inference(self) -> Inference:
        """Flat log-partition and marginals, computed once; no structure at all is an error."""
        inference = self.structures.infer(self.scores)
        check_shapes(self.structures, inference)
        check_support(self.structures, self.scores, inference.log_partition)
        return inference

    def flat_covariance_product(self, direction: FloatArray) -> FloatArray:
        """`covariance_product` on flat vectors over parts.

        A part whose marginal is 0 does not vary, so its direction (often the score -inf) counts
        as 0.
        """
        inference = self.inference
        direction = flat_vector("direction", direction, self.structures.n_parts)
        if not parts.all_finite(direction):
            possible = np.empty_like(direction)
            if not parts.clear_impossible(inference.marginals, direction, possible):
                raise ValueError(
                    "direction has a value that is not finite at a part that can occur; expected "
                    "finite numbers wherever the marginal is above 0."
                )
            direction = possible
        product = self.structures.covariance_product(self.scores, inference, direction)
        check_shape(self.structures, "covariance_product", "values", product)
        return product

    def flat_expectation(self, values: FloatArray) -> FloatArray:
        """`expectation` of a flat vector over parts, for each sentence.

        0 times infinity is 0 here: a part that never occurs contributes nothing.
        """
        values = flat_vector("values", values, self.structures.n_parts)
        return self._sum_by_sentence(self.inference.marginals, values)

    def flat_score(self, counts: FloatArray) -> FloatArray:
        """Score of a structure per sentence given by its flat part counts."""
        counts = flat_vector("counts", counts, self.structures.n_parts)
        return self._sum_by_sentence(counts, self.scores)

    @cached_property
    def best(self) -> Best:
        """The best structure of each sentence with its score."""
        best = self.structures.argmax(self.scores)
        check_support(self.structures, self.scores, best.scores)
        return best

    def _sum_by_sentence(self, counts: FloatArray, values: FloatArray) -> FloatArray:
        sums = np.empty(self.structures.n_sentences)
        parts.sum_products(counts, values, self.structures.part_offsets, sums)
        return sums
