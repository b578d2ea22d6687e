"""Features of which every part has exactly one: its score is a weight."""

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray
from partita.features.base import FeatureMap
from partita.kernels.features import picks


class PickedWeights(FeatureMap):
    """The score of part k is weights[ids[k]]; O(parts), 4 bytes each.

    >>> features = PickedWeights([2, 0, 2], n_weights=3)
    >>> features.scores(np.array([0.5, 0.0, 1.5]))
    array([1.5, 0.5, 1.5])
    >>> features.gradient(np.array([1.0, 1.0, 1.0]))
    array([1., 0., 2.])
    """

    def __init__(self, ids: ArrayLike, n_weights: int) -> None:
        if n_weights > np.iinfo(np.int32).max:
            raise ValueError(
                f"there are {n_weights:,} weights; expected at most {np.iinfo(np.int32).max:,}. "
                "Train on a part of the data, or leave rare words out (min_count)."
            )
        self._ids = np.ascontiguousarray(ids, dtype=np.int32)
        if self._ids.size and not 0 <= self._ids.min() <= self._ids.max() < n_weights:
            raise ValueError(
                f"ids are from {self._ids.min()} to {self._ids.max()}; expected numbers of "
                f"weights, 0 to {n_weights - 1}."
            )
        self.n_parts, self.n_weights = len(self._ids), n_weights

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """out[k] += weights[ids[k]]."""
        picks.gather(weights, self._ids, out)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """out[ids[k]] += score_gradient[k]."""
        picks.scatter(score_gradient, self._ids, out)
