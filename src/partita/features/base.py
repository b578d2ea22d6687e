"""What a feature map is: a linear map from weights to scores, and its transpose."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise, starmap

import numpy as np

from partita.arrays import FloatArray
from partita.features.columns import ColumnBlock
from partita.kernels.features.changes import Marks


class FeatureMap(ABC):
    """The features F of the parts of one batch: scores = F weights, gradient = Fᵀ score_gradient.

    Both operations add into an array that the caller brings, so that maps over the same weights
    or the same parts simply add up:

        scores = features.scores(weights)
        features.add_gradient(score_gradient, weight_gradient)
    """

    n_parts: int
    n_weights: int
    is_spread: bool = False
    """Whether a batch has features all over the weights, as where these are places of hashes."""

    @abstractmethod
    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """out += F weights; weights (n_weights,), out (n_parts,)."""

    @abstractmethod
    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """out += Fᵀ score_gradient; score_gradient (n_parts,), out (n_weights,)."""

    def mark(self, batch: int, marks: Marks) -> bool:
        """Mark the weights that any part has; False where only a gradient can tell."""
        return False

    def columns(self) -> tuple[ColumnBlock, ...] | None:
        """Its features by weight, where they are rows of attributes; None where they are not.

        For mini-batches, which then need no gradient as long as the weights.
        """
        return None if self.n_weights else ()

    def scores(self, weights: FloatArray) -> FloatArray:
        """F weights: the flat scores of the batch, (n_parts,)."""
        _check("weights", weights, self.n_weights)
        scores = np.zeros(self.n_parts)
        self.add_scores(weights, scores)
        return scores

    def gradient(self, score_gradient: FloatArray) -> FloatArray:
        """Fᵀ score_gradient: what a gradient with respect to the scores is to the weights."""
        _check("score_gradient", score_gradient, self.n_parts)
        gradient = np.zeros(self.n_weights)
        self.add_gradient(score_gradient, gradient)
        return gradient


class JoinedFeatures(FeatureMap):
    """Several maps onto the same parts, each with weights of its own: F = [F1 F2 ...].

    The weights lie end to end, in the order of the maps; scores add up.
    """

    def __init__(self, maps: Sequence[FeatureMap]) -> None:
        sizes = {features.n_parts for features in maps}
        if len(sizes) != 1:
            raise ValueError(
                f"the maps have {sorted(sizes)} parts; expected one or more maps onto the parts of "
                "the same batch."
            )
        self.maps = tuple(maps)
        self.n_parts = sizes.pop()
        self.n_weights = sum(features.n_weights for features in maps)
        self.is_spread = any(features.is_spread for features in maps)
        ends = np.cumsum([0, *(features.n_weights for features in maps)]).tolist()
        self._blocks = list(starmap(slice, pairwise(ends)))

    def split(self, weights: FloatArray) -> list[FloatArray]:
        """Views of each map's weights."""
        return [weights[block] for block in self._blocks]

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """out += sum_m F_m weights_m."""
        for features, block in zip(self.maps, self.split(weights), strict=True):
            features.add_scores(block, out)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """out_m += F_mᵀ score_gradient for every map m."""
        for features, block in zip(self.maps, self.split(out), strict=True):
            features.add_gradient(score_gradient, block)

    def columns(self) -> tuple[ColumnBlock, ...] | None:
        """Those of all maps, if each has them."""
        found = [features.columns() for features in self.maps]
        return (
            tuple(
                each.shifted(block.start)
                for columns, block in zip(found, self._blocks, strict=True)
                for each in columns or ()
            )
            if None not in found
            else None
        )


class RepeatedFeatures(FeatureMap):
    """A map whose scores are wanted several times over, one copy of all behind the other.

    >>> from partita.features.matrix import MatrixFeatures
    >>> RepeatedFeatures(MatrixFeatures(np.array([[1.0, 2.0]])), 2).scores(np.ones(2))
    array([3., 3.])
    """

    def __init__(self, features: FeatureMap, n_copies: int) -> None:
        self.features, self.n_copies = features, n_copies
        self.n_parts = n_copies * features.n_parts
        self.n_weights = features.n_weights

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """The same scores for every copy."""
        out.reshape(self.n_copies, -1)[:] += self.features.scores(weights)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """Summed over copies."""
        summed = score_gradient.reshape(self.n_copies, -1).sum(axis=0)
        self.features.add_gradient(summed, out)

    def mark(self, batch: int, marks: Marks) -> bool:
        """The same weights for every copy."""
        return self.features.mark(batch, marks)


def _check(name: str, values: FloatArray, n_values: int) -> None:
    if values.shape != (n_values,):
        raise ValueError(f"{name} has shape {values.shape}; expected ({n_values},).")
