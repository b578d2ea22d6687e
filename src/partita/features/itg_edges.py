"""Features of the rules of an ITG: tables of values, with a row for each rule."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray
from partita.features.base import FeatureMap


class TableFeatures(FeatureMap):
    """Parts that are instances of the rows of a table: values with shared weights, and own ones.

        scores[parts[p]] = sum_d values[rows[p], d] weights[d] + own[rows[p]]

    A link of the words x and y is an instance of the pair (x, y), wherever it stands; the values
    are those of the pair, such as its probability in another model. Without `has_own`, a row has no
    weight of its own. The weights are the shared ones, then one for each row. Other parts get 0.

    >>> features = TableFeatures(
    ...     np.array([[2.0], [3.0]]), rows=[1, 0, 1], parts=[0, 2, 3], n_parts=4
    ... )
    >>> features.scores(np.array([1.0, 10.0, 20.0]))
    array([23.,  0., 12., 23.])
    >>> features.gradient(np.ones(4))
    array([8., 1., 2.])
    """

    def __init__(
        self,
        values: FloatArray,
        rows: ArrayLike,
        parts: ArrayLike,
        n_parts: int,
        *,
        has_own: bool = True,
    ) -> None:
        self.values = values
        self.rows, self.parts = _integers(rows), _integers(parts)
        self._value_rows = self.rows
        self.n_parts, self.has_own = n_parts, has_own
        n_rows, self.n_shared = values.shape
        self.n_weights = self.n_shared + (n_rows if has_own else 0)
        if self.rows.shape != self.parts.shape:
            raise ValueError(
                f"rows has shape {self.rows.shape} and parts {self.parts.shape}; expected two "
                "vectors of the same length, a row of the table for each part."
            )
        for name, indices, n in (("rows", self.rows, n_rows), ("parts", self.parts, n_parts)):
            if indices.size and not 0 <= indices.min() <= indices.max() < n:
                raise ValueError(
                    f"{name} range from {indices.min()} to {indices.max()}; expected 0 to {n - 1}."
                )

    def __getstate__(self) -> dict[str, Any]:
        # A batch on its way to a file or a worker takes the rows along that it has, not the table.
        used, places = np.unique(self._value_rows, return_inverse=True)
        return {**vars(self), "values": self.values[used], "_value_rows": places}

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """out[parts] += values[rows] shared + own[rows]."""
        scores = self.values[self._value_rows] @ weights[: self.n_shared]
        if self.has_own:
            scores += weights[self.n_shared + self.rows]
        np.add.at(out, self.parts, scores)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """The transpose."""
        slopes = score_gradient[self.parts]
        out[: self.n_shared] += slopes @ self.values[self._value_rows]
        if self.has_own:
            np.add.at(out, self.n_shared + self.rows, slopes)


def _integers(values: ArrayLike) -> IntArray:
    return np.ascontiguousarray(values, dtype=np.int64)
