"""Features by weight: in which rows of parts each attribute of a batch occurs.

The transpose of `Attributes`, for steps that move the weights of one attribute after the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

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
    repeated: kernels.Columns
    """The attributes that occur more than once in the batch."""
    single: kernels.Columns
    """Those that occur once: most of them."""

    @property
    def layout(self) -> tuple[int, int, int]:
        """Which weights they are: the same for all batches of a model."""
        return self.first, self.width, self.n_attributes

    @property
    def repeated_work(self) -> IntArray:
        """How much is to be done before each column of `repeated`, and in all."""
        # To move a row of weights takes as long as to add up a few rows of a gradient.
        return self.repeated.offsets + MOVE * np.arange(len(self.repeated.attributes) + 1)

    @property
    def single_work(self) -> IntArray:
        """The same for `single`."""
        return np.arange(len(self.single.attributes) + 1)

    @cached_property
    def chunks(self) -> list[tuple[kernels.Columns, int, int]]:
        """Columns from one to before another, for threads to share; one chunk if there are few."""
        return [
            (columns, begin, end)
            for columns, work in (
                (self.repeated, self.repeated_work),
                (self.single, self.single_work),
            )
            for begin, end in shared_out(work, CHUNKS if len(work) > FEW else 1)
        ]

    def shifted(self, n_weights: int) -> "ColumnBlock":
        """Behind so many other weights."""
        return replace(self, first=self.first + n_weights)


def shared_out(work: IntArray, n_chunks: int = CHUNKS) -> Iterator[tuple[int, int]]:
    """Chunks of about as much work each, by what is to be done before each item, and in all.

    They depend on the features alone, so that sums over them are the same for any threads.

    >>> list(shared_out(np.array([0, 3, 4, 6]), 2))
    [(0, 1), (1, 3)]
    """
    ends = np.searchsorted(work, work[-1] * np.arange(n_chunks + 1) // n_chunks).tolist()
    return ((begin, end) for begin, end in pairwise(ends) if begin < end)


def by_attribute(attributes: Attributes, starts: Array) -> tuple[kernels.Columns, kernels.Columns]:
    """The rows of each attribute, which start at parts `starts`: of repeated ones, and of others.

    The occurrences of an attribute come in the order of the rows. An attribute whose values are all
    0 does not occur. Costs some nanoseconds an occurrence.

    >>> rows = Attributes.from_lists([[5, 2], [5]])
    >>> repeated, single = by_attribute(rows, np.array([0, 3]))
    >>> repeated.attributes, repeated.offsets, repeated.rows
    (array([5], dtype=int32), array([0, 2], dtype=int32), array([0, 3], dtype=uint16))
    >>> single.attributes, single.rows
    (array([2], dtype=int32), array([0], dtype=uint16))
    """
    # Batches mostly have fewer parts than that, and these are as many numbers as their features.
    is_short = starts.max(initial=0) < 2**16
    starts = starts.astype(np.uint16 if is_short else np.int32)
    ids, rows = attributes.ids, np.repeat(starts, np.diff(attributes.offsets))
    values = attributes.values
    if len(values):
        used = values != 0.0
        ids, rows, values = ids[used], rows[used], values[used]
    found, places, counts = np.unique(ids, return_inverse=True, return_counts=True)
    is_repeated = counts > 1
    occurs_again = is_repeated[places]
    again, once = np.flatnonzero(occurs_again), np.flatnonzero(~occurs_again)
    again = again[np.argsort(ids[again], kind="stable")]
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts[is_repeated])])
    has_values = len(values) > 0
    return (
        kernels.Columns(
            found[is_repeated].astype(np.int32),
            offsets.astype(np.int32),
            rows[again],
            values[again] if has_values else values,
        ),
        kernels.Columns(
            ids[once].astype(np.int32),
            np.zeros(0, dtype=np.int32),
            rows[once],
            values[once] if has_values else values,
        ),
    )
