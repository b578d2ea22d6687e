"""What views see of values, as rows of numbers."""

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partita.kernels.features.keys import ABSENT

Tables = Mapping[str, NDArray[np.int32]]
"""For each view its numbers at each of some words, (most things it sees in one, n)."""


class CodeRows(NamedTuple):
    """A row for each value: what all views see of it comes into the cache at once.

    >>> rows = CodeRows.empty({"lower": 1, "each": 2}, 2)
    >>> rows.put(slice(2), {"lower": np.array([[4, 2]]), "each": np.array([[0, 1], [-1, 3]])})
    >>> rows.codes
    array([[ 4,  0, -1],
           [ 2,  1,  3]], dtype=int32)
    >>> rows.columns
    {'lower': (0, 1), 'each': (1, 3)}
    """

    codes: NDArray[np.int32]
    """(n, width), -1 where a view sees nothing (more), or nothing known."""
    columns: dict[str, tuple[int, int]]
    """Where those of each view begin and end."""

    @classmethod
    def empty(cls, widths: Mapping[str, int], n_values: int) -> "CodeRows":
        """Of values of which nothing is seen; with room for so many numbers of each view."""
        ends = list(accumulate(widths.values(), initial=0))
        codes = np.full((n_values, ends[-1]), ABSENT, dtype=np.int32)
        return cls(codes, dict(zip(widths, pairwise(ends), strict=True)))

    @property
    def widths(self) -> dict[str, int]:
        """How many numbers there are of each view."""
        return {view: end - start for view, (start, end) in self.columns.items()}

    @property
    def tables(self) -> dict[str, NDArray[np.int32]]:
        """What each view sees, as views of these rows."""
        return {view: self.codes[:, start:end].T for view, (start, end) in self.columns.items()}

    def put(self, place: slice, tables: Tables) -> None:
        """Write what views see of some of the values, as much as there is room for."""
        for view, table in tables.items():
            start = self.columns[view][0]
            self.codes[place, start : start + len(table)] = table.T

    def with_room(self, widths: Mapping[str, int]) -> "CodeRows":
        """The same with room for so many numbers of each view at least."""
        own = self.widths
        least = {view: max(width, widths.get(view, 0)) for view, width in own.items()}
        if least == own:
            return self
        wider = CodeRows.empty(least, len(self.codes))
        wider.put(slice(None), self.tables)
        return wider
