"""What holds of words, arcs or hyperedges: sparse rows of numbered attributes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from partita.arrays import FloatArray, IntArray


def _no_values() -> FloatArray:
    return np.empty(0)


@dataclass(frozen=True)
class Attributes:
    """What holds of each row (a word, an arc, a hyperedge): a sparse matrix, rows by attributes.

    Row r has the attributes `ids[offsets[r] : offsets[r + 1]]`, with the values at the same
    places of `values`, or all 1 where `values` is empty. An attribute that is listed twice counts
    twice.

    >>> words = Attributes.from_lists([[0, 2], [1]])
    >>> words.n_rows, words.ids
    (2, array([0, 2, 1], dtype=int32))
    """

    ids: NDArray[np.int32]
    offsets: IntArray
    values: FloatArray = field(default_factory=_no_values)

    def __post_init__(self) -> None:
        if len(self.values) not in (0, len(self.ids)):
            raise ValueError(
                f"{len(self.values)} values came for {len(self.ids)} attributes; expected one for "
                "each, or none where all are 1."
            )
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.ids):
            raise ValueError(
                f"offsets run from {self.offsets[0]} to {self.offsets[-1]}; expected 0 to "
                f"{len(self.ids)}, the number of attributes of all rows."
            )

    @classmethod
    def from_lists(
        cls, rows: Sequence[Sequence[int]], values: Iterable[Iterable[float]] | None = None
    ) -> Self:
        """From a list of attribute numbers for each row, and their values."""
        counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        ids = np.fromiter((i for row in rows for i in row), dtype=np.int32, count=counts.sum())
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        if values is None:
            return cls(ids, offsets)
        return cls(ids, offsets, np.array([v for row in values for v in row], dtype=np.float64))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Self:
        """From an array or a sparse matrix of SciPy, (n_rows, n_attributes)."""
        csr = sparse.csr_array(matrix)
        values = np.asarray(csr.data, dtype=np.float64)
        ids, offsets = csr.indices.astype(np.int32), csr.indptr.astype(np.int64)
        return cls(ids, offsets, _no_values() if (values == 1.0).all() else values)

    @classmethod
    def joined(cls, pieces: "Sequence[Attributes]") -> Self:
        """The rows of several, one after the other."""
        n_ids = np.cumsum([0, *(len(piece.ids) for piece in pieces)])
        ends = [piece.offsets[1:] + n for piece, n in zip(pieces, n_ids[:-1], strict=True)]
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), *ends])
        ids = np.concatenate([np.zeros(0, dtype=np.int32), *(piece.ids for piece in pieces)])
        if not any(len(piece.values) for piece in pieces):
            return cls(ids, offsets)
        values = [p.values if len(p.values) else np.ones(len(p.ids)) for p in pieces]
        return cls(ids, offsets, np.concatenate(values))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, rows: slice) -> "Attributes":
        """Some neighbouring rows; the ids are a view."""
        first, last, step = rows.indices(self.n_rows)
        if step != 1:
            raise ValueError(f"the step is {step}; expected neighbouring rows, a step of 1.")
        begin, end = self.offsets[first], self.offsets[max(first, last)]
        offsets = self.offsets[first : max(first, last) + 1] - begin
        return Attributes(self.ids[begin:end], offsets, self.values[begin:end])

    def renumbered(self, new_ids: IntArray | NDArray[np.int32]) -> "Attributes":
        """With new_ids[i] in place of attribute i, and without those where it is negative."""
        ids = new_ids[self.ids]
        kept = ids >= 0
        before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])
        values = self.values[kept] if len(self.values) else self.values
        return Attributes(ids[kept].astype(np.int32, copy=False), before[self.offsets], values)
