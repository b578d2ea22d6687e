"""Features with weights only for some pairs of attribute and column, such as those that occur.

Most attributes are rare and occur with one column or two; a few are frequent and occur with nearly
all. Those few have a whole row of weights, which a processor reads fastest (`RowFeatures`), with
zeros for the pairs that are not there; the others have their pairs' weights one by one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.features.base import FeatureMap
from partita.features.rows import RowFeatures
from partita.kernels.features import pairs as features_pairs
from partita.text.attributes import Attributes

ENOUGH = 0.25
"""Share of the columns from which on an attribute has a whole row."""


@dataclass(frozen=True)
class Pairs:
    """For each attribute the columns that it has weights for, attributes end to end.

    The weights are whole rows for attributes with many pairs, then single ones: (n_weights,).

    >>> rows, columns = Attributes.from_lists([[0, 1], [0]]), [7, 2]
    >>> pairs = Pairs.seen([rows], [columns], n_attributes=3, width=9)
    >>> pairs.firsts, pairs.columns  # attribute 0 with columns 2 and 7, attribute 1 with column 7
    (array([0, 2, 3, 3]), array([2, 7, 7], dtype=int32))
    """

    firsts: IntArray
    """(n_attributes + 1,): the pairs of attribute a are firsts[a] to firsts[a + 1]."""
    columns: NDArray[np.int32]
    """(n_pairs,), ascending within an attribute."""
    width: int
    """Columns are below this."""

    def __post_init__(self) -> None:
        if self.columns.size and not (0 <= self.columns.min() and self.columns.max() < self.width):
            raise ValueError(
                f"the columns of pairs range from {self.columns.min()} to {self.columns.max()}; "
                f"expected 0 to {self.width - 1}."
            )

    @classmethod
    def seen(
        cls,
        rows: Iterable[Attributes],
        columns: Iterable[ArrayLike],
        n_attributes: int,
        width: int,
    ) -> "Pairs":
        """The pairs that occur: attributes of a row with its column; -1 is none."""
        keys = [np.zeros(0, dtype=np.int64)]
        for attributes, given in zip(rows, columns, strict=True):
            column = np.repeat(np.asarray(given, dtype=np.int64), np.diff(attributes.offsets))
            known = column >= 0
            keys.append(_distinct(attributes.ids[known].astype(np.int64) * width + column[known]))
        pairs = _distinct(np.concatenate(keys))
        firsts = np.searchsorted(pairs, np.arange(n_attributes + 1, dtype=np.int64) * width)
        return cls(firsts.astype(np.int64), (pairs % width).astype(np.int32), width)

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.firsts) - 1

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.columns)

    @cached_property
    def attributes(self) -> IntArray:
        """The attribute of each pair."""
        return np.repeat(np.arange(self.n_attributes), np.diff(self.firsts))

    @cached_property
    def has_row(self) -> BoolArray:
        """For each attribute, whether it has a whole row of weights."""
        many: BoolArray = np.diff(self.firsts) >= max(ENOUGH * self.width, 1.0)
        return many

    @property
    def n_rows(self) -> int:
        """How many attributes have a whole row."""
        return int(self.has_row.sum())

    @property
    def n_weights(self) -> int:
        """Number of weights, with the zeros in whole rows."""
        return self.n_rows * self.width + len(self.single_columns)

    @cached_property
    def ranks(self) -> IntArray:
        """The number of each attribute among those of its kind."""
        return np.where(self.has_row, np.cumsum(self.has_row), np.cumsum(~self.has_row)) - 1

    @cached_property
    def row_numbers(self) -> NDArray[np.int32]:
        """The number of each attribute among those with a whole row; -1 of the others."""
        return np.where(self.has_row, self.ranks, -1).astype(np.int32)

    @cached_property
    def single_numbers(self) -> NDArray[np.int32]:
        """The number of each attribute among those without a whole row; -1 of the others."""
        return np.where(self.has_row, -1, self.ranks).astype(np.int32)

    @cached_property
    def single_firsts(self) -> IntArray:
        """As `firsts`, of the attributes without a whole row."""
        counts = np.diff(self.firsts)[~self.has_row]
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])

    @cached_property
    def single_columns(self) -> NDArray[np.int32]:
        """As `columns`, of the attributes without a whole row."""
        return self.columns[~self.has_row[self.attributes]]

    @cached_property
    def places(self) -> IntArray:
        """Where the weight of each pair is."""
        in_row = self.has_row[self.attributes]
        single = self.n_rows * self.width + np.cumsum(~in_row) - 1
        return np.where(in_row, self.ranks[self.attributes] * self.width + self.columns, single)

    @cached_property
    def zeros(self) -> IntArray:
        """The places in whole rows that belong to no pair."""
        free = np.ones(self.n_weights, dtype=np.bool_)
        free[self.places] = False
        return np.flatnonzero(free)

    @cached_property
    def zero_firsts(self) -> IntArray:
        """The `zeros` of whole row r are those from zero_firsts[r] to zero_firsts[r + 1]."""
        return np.searchsorted(self.zeros, np.arange(self.n_rows + 1) * self.width)

    def table(self, weights: FloatArray) -> FloatArray:
        """The weights as a table (n_attributes, width), 0 for what is no pair."""
        table = np.zeros((self.n_attributes, self.width))
        table[self.attributes, self.columns] = weights[self.places]
        return table

    def flat(self, table: FloatArray) -> FloatArray:
        """The inverse of `table`; entries that belong to no pair are left out."""
        weights = np.zeros(self.n_weights)
        weights[self.places] = table[self.attributes, self.columns]
        return weights


def _distinct(numbers: Array) -> Array:
    """The different ones in order; faster than np.unique, which looks each up in a table."""
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=-1) > 0]


class PairOccurrences(NamedTuple):
    """Pairs of attributes without a whole row, each time that they occur.

    Found once: to look up the pairs of an attribute, and their columns, takes longer than the sum.
    """

    pairs: NDArray[np.int32]
    values: FloatArray
    parts: NDArray[np.int32]

    @classmethod
    def of(cls, attributes: Attributes, starts: IntArray, pairs: Pairs) -> "PairOccurrences":
        """Those of rows of attributes whose scores begin at `starts`."""
        firsts = pairs.single_firsts[attributes.ids]
        counts = pairs.single_firsts[attributes.ids + 1] - firsts
        before = np.cumsum(counts) - counts
        found = np.arange(counts.sum()) + np.repeat(firsts - before, counts)
        rows = np.repeat(starts, np.diff(attributes.offsets))
        parts = np.repeat(rows, counts) + pairs.single_columns[found]
        values = attributes.values
        if len(values):
            values = np.repeat(values, counts)
        return cls(found.astype(np.int32), values, parts.astype(np.int32))


class PairFeatures(FeatureMap):
    """Rows of parts; an attribute has weights for the columns of its pairs only.

        scores[starts[r] + j] = sum over attributes a of row r with a pair (a, j)
                                of value(r, a) weights[a, j]

    As `RowFeatures`, of which it leaves out the other weights: far fewer where most attributes
    occur with few columns, and the vectors of an optimiser are so much shorter.

    >>> words = Attributes.from_lists([[0, 1], [1]])
    >>> pairs = Pairs(np.array([0, 1, 3]), np.array([7, 2, 7], np.int32), width=9)
    >>> features = PairFeatures(words, [0, 9], pairs, n_parts=18)
    >>> features.scores(np.array([1.0, 10.0, 100.0])).reshape(2, 9)[:, [2, 7]]
    array([[ 10., 101.],
           [ 10., 100.]])
    """

    def __init__(
        self, attributes: Attributes, starts: ArrayLike, pairs: Pairs, n_parts: int
    ) -> None:
        self.pairs = pairs
        self.n_parts = n_parts
        self.n_weights = pairs.n_weights
        ids = attributes.ids
        if ids.size and not (0 <= ids.min() and ids.max() < pairs.n_attributes):
            raise ValueError(
                f"attributes range from {ids.min()} to {ids.max()}; expected 0 to "
                f"{pairs.n_attributes - 1}. Were they made with this vocabulary?"
            )
        many = attributes.renumbered(pairs.row_numbers)
        self._whole = _distinct(many.ids)
        self.rows = RowFeatures(many, starts, pairs.width, pairs.n_rows, n_parts)
        singles = attributes.renumbered(pairs.single_numbers)
        self.singles = PairOccurrences.of(singles, np.asarray(starts), pairs)

    @property
    def no_pairs(self) -> tuple[NDArray[np.int32], IntArray, IntArray]:
        """What is no pair in the whole rows of its attributes, see `kernels.pairs.clear`."""
        return self._whole, self.pairs.zero_firsts, self.pairs.zeros

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """Gather: out[starts[r] + j] += sum_a value(r, a) weights[a, j]."""
        middle = self.rows.n_weights
        self.rows.add_scores(weights[:middle], out)
        features_pairs.gather(weights[middle:], *self.singles, out)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """Scatter: out[a, j] += sum_r value(r, a) score_gradient[starts[r] + j]."""
        middle = self.rows.n_weights
        self.rows.add_gradient(score_gradient, out[:middle])
        # What belongs to no pair has no gradient, and so stays 0.
        features_pairs.clear(*self.no_pairs, out)
        features_pairs.scatter(score_gradient, *self.singles, out[middle:])
