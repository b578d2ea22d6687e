"""Feature maps that a caller brings: a matrix, or scores that no weight changes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from partita.arrays import FloatArray, IntArray
from partita.features.base import FeatureMap


class MatrixFeatures(FeatureMap):
    """The map of a matrix F, (n_parts, n_weights): an array, or any sparse matrix of SciPy.

    >>> features = MatrixFeatures(np.array([[1.0, 0.0], [1.0, 2.0]]))
    >>> features.scores(np.array([0.5, 1.0]))
    array([0.5, 2.5])
    >>> features.gradient(np.array([1.0, 1.0]))
    array([2., 2.])
    """

    def __init__(self, matrix: Any) -> None:
        self._matrix = sparse.csr_array(matrix) if sparse.issparse(matrix) else np.asarray(matrix)
        if self._matrix.ndim != 2:
            raise ValueError(
                f"matrix has shape {self._matrix.shape}; expected (n_parts, n_weights), the "
                "features of a part in its row."
            )
        self.n_parts, self.n_weights = map(int, self._matrix.shape)
        self._transposed = self._matrix.T

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """out += F weights."""
        out += self._matrix @ weights

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """out += Fᵀ score_gradient."""
        out += self._transposed @ score_gradient


class FixedScores(FeatureMap):
    """Scores that do not depend on any weight: what is forbidden (-inf), or an earlier model.

    It has no weights; join it with a map that has. Parts that are not listed get 0.

    >>> hard = FixedScores(3, parts=[1], scores=[-np.inf])
    >>> from partita.features import JoinedFeatures
    >>> features = JoinedFeatures([MatrixFeatures(np.eye(3)), hard])
    >>> features.scores(np.array([1.0, 2.0, 3.0]))
    array([  1., -inf,   3.])
    """

    n_weights = 0

    def __init__(self, n_parts: int, parts: ArrayLike, scores: ArrayLike) -> None:
        self.n_parts = n_parts
        self._parts = np.asarray(parts, dtype=np.int64)
        self._scores = np.asarray(scores, dtype=np.float64)
        if self._parts.shape != self._scores.shape or self._parts.ndim != 1:
            raise ValueError(
                f"parts has shape {self._parts.shape} and scores {self._scores.shape}; expected "
                "two vectors of the same length."
            )

    @property
    def given(self) -> tuple[IntArray, FloatArray]:
        """The parts, and their scores."""
        return self._parts, self._scores

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """out[parts] += scores."""
        np.add.at(out, self._parts, self._scores)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """Nothing: there are no weights."""
