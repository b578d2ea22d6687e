"""Sparse rows of attributes, each attribute with a dense row of weights."""

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray
from partita.features.base import FeatureMap
from partita.features.columns import ColumnBlock, by_attribute
from partita.kernels.features import rows as features_rows
from partita.text.attributes import Attributes


class RowFeatures(FeatureMap):
    """Rows of `width` neighbouring parts; each attribute has a weight for every part of a row.

        scores[starts[r] + j] = sum over attributes a of row r of value(r, a) weights[a, j]

    With `width` tags, rows are the words of a tagger; with labels, the arcs of a parser; with
    width 1 they are single parts. The weights are (n_attributes, width) in C order. Costs about
    10 ns an attribute of a row both ways at 17 tags where the weights outgrow the caches; if
    frequent attributes have low numbers (see `VocabularyBuilder`) they stay in them.

    >>> words = Attributes.from_lists([[0, 2], [1]])
    >>> features = RowFeatures(words, starts=[0, 2], width=2, n_attributes=3, n_parts=4)
    >>> features.scores(np.array([1.0, 2.0, 10.0, 20.0, 100.0, 200.0]))
    array([101., 202.,  10.,  20.])
    >>> features.gradient(np.array([1.0, 0.0, 0.0, 1.0]))
    array([1., 0., 0., 1., 1., 0.])
    """

    def __init__(
        self, attributes: Attributes, starts: ArrayLike, width: int, n_attributes: int, n_parts: int
    ) -> None:
        self.attributes = attributes
        self.width = width
        self.n_attributes = n_attributes
        self.n_parts = n_parts
        self.n_weights = n_attributes * width
        self._starts = np.ascontiguousarray(starts, dtype=np.int64)
        self._check()

    @property
    def starts(self) -> IntArray:
        """The first part of each row."""
        return self._starts

    def table(self, weights: FloatArray) -> FloatArray:
        """The weights as a view [attribute, part of a row]."""
        return weights.reshape(self.n_attributes, self.width)

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """Gather: out[starts[r] + j] += sum_a value(r, a) weights[a, j]."""
        rows = self.attributes
        features_rows.gather(
            weights, self.width, rows.ids, rows.values, rows.offsets, self._starts, out
        )

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """Scatter: out[a, j] += sum_r value(r, a) score_gradient[starts[r] + j]."""
        rows = self.attributes
        features_rows.scatter(
            score_gradient, self.width, rows.ids, rows.values, rows.offsets, self._starts, out
        )

    def columns(self) -> tuple[ColumnBlock, ...]:
        """The rows of each attribute."""
        columns = by_attribute(self.attributes, self._starts)
        return (ColumnBlock(0, self.width, self.n_attributes, *columns),)

    def _check(self) -> None:
        """The kernels check nothing, so that what goes into them is checked here, once."""
        ids, starts = self.attributes.ids, self._starts
        if starts.shape != (self.attributes.n_rows,):
            raise ValueError(
                f"starts has shape {starts.shape}; expected ({self.attributes.n_rows},), the first "
                "part of each row."
            )
        if ids.size and not (0 <= ids.min() and ids.max() < self.n_attributes):
            raise ValueError(
                f"attributes range from {ids.min()} to {ids.max()}; expected 0 to "
                f"{self.n_attributes - 1}. Were they made with this vocabulary?"
            )
        if starts.size and not (0 <= starts.min() and starts.max() + self.width <= self.n_parts):
            raise ValueError(
                f"rows of {self.width} parts start at {starts.min()} to {starts.max()}; expected "
                f"them to end within the {self.n_parts} parts of the batch."
            )
