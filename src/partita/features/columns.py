"""Features by weight: in which rows of parts each attribute of a batch occurs.

The transpose of `Attributes`, for steps that move the weights of one attribute after the other.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from partita.arrays import Array, IntArray
from partita.kernels.weights import columns as kernels
from partita.text.attributes import Attributes

CHUNKS = 4
"""Into so many the columns of a batch are cut, for threads to share."""
FEW = 2**14
"""Columns that are not worth it: moving them takes no longer than waking a thread."""
MOVE = 4


@dataclass(frozen=True)
class ColumnBlock:
    """Weights (n_attributes, width), from weight `first` on, and the attributes that occur."""

    first: int
    width: int
    n_attributes: int
    columns: kernels.Columns

    @property
    def layout(self) -> tuple[int, int, int]:
        """Which weights they are: the same for all batches of a model."""
        return self.first, self.width, self.n_attributes

    @cached_property
    def ends(self) -> IntArray:
        """Where chunks of columns begin, and the end: about as much work each; one if it is little.

        Chunks depend on the features alone, so that sums over them are the same for any threads.
        """
        offsets, n_columns = self.columns.offsets, len(self.columns.attributes)
        if n_columns < FEW:
            return np.array([0, n_columns])
        # To move a row of weights takes as long as to add up a few rows of a gradient.
        work = offsets + MOVE * np.arange(n_columns + 1)
        ends: IntArray = np.searchsorted(work, work[-1] * np.arange(CHUNKS + 1) // CHUNKS)
        return ends

    def shifted(self, n_weights: int) -> "ColumnBlock":
        """Behind so many other weights."""
        return ColumnBlock(self.first + n_weights, self.width, self.n_attributes, self.columns)


def sorted_by_attribute(attributes: Attributes, starts: Array) -> kernels.Columns:
    """The occurrences of each attribute, in the order of the rows, which start at parts `starts`.

    An attribute whose values are all 0 does not occur. Costs some nanoseconds an occurrence.

    >>> rows = Attributes.from_lists([[5, 2], [5]])
    >>> columns = sorted_by_attribute(rows, np.array([0, 3]))
    >>> columns.attributes, columns.offsets, columns.rows
    (array([2, 5], dtype=int32), array([0, 1, 3], dtype=int32), array([0, 0, 3], dtype=uint16))
    """
    # Batches mostly have fewer parts than that, and these are as many numbers as their features.
    is_short = starts.max(initial=0) < 2**16
    starts = starts.astype(np.uint16 if is_short else np.int32)
    ids, rows = attributes.ids, np.repeat(starts, np.diff(attributes.offsets))
    values = attributes.values
    if len(values):
        used = values != 0.0
        ids, rows, values = ids[used], rows[used], values[used]
    order = np.argsort(ids, kind="stable")
    found, counts = np.unique(ids, return_counts=True)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    return kernels.Columns(
        found.astype(np.int32),
        offsets.astype(np.int32),
        rows[order],
        values[order] if len(values) else values,
    )
