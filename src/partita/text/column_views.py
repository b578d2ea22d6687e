"""The values of a column as numbers, and what every view sees of them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partita.text.columns import Column
from partita.text.keys import ABSENT
from partita.text.views import find_parts


class ColumnViews:
    """The different values of a column in training, and for each view the values it takes there.

    A view is computed once for every different value, not for every word of a text. A view that
    sees several things in a value has several rows of numbers, as many as it needs.

    >>> seen = ColumnViews(["The", "the", "dog"], views=["lower"])
    >>> seen.values["lower"]
    ['the', 'dog']
    >>> seen.codes(Column.of(["dog", "THE", "cat"]))["lower"]
    array([[ 1,  0, -1]], dtype=int32)
    >>> ColumnViews(["a|b", "c"], views=["each"]).codes(Column.of(["c", "b|a|a"]))["each"]
    array([[ 2,  1],
           [-1,  0]], dtype=int32)
    """

    def __init__(self, words: Sequence[str], views: Iterable[str]) -> None:
        """`words` are different from each other."""
        self.words = list(words)
        self._ids = {word: number for number, word in enumerate(self.words)}
        self.values: dict[str, list[str]] = {}
        self._functions = {view: find_parts(view) for view in views}
        self._value_ids: dict[str, dict[str, int]] = {}
        self._tables: dict[str, NDArray[np.int32]] = {}
        for view, function in self._functions.items():
            seen = list(map(function, self.words))
            values = list(dict.fromkeys(chain.from_iterable(seen)))
            self.values[view] = values
            self._value_ids[view] = {value: number for number, value in enumerate(values)}
            self._tables[view] = self._numbers(view, seen)

    def __getstate__(self) -> dict[str, Any]:
        # Functions of views cannot be pickled, but found again by their names.
        return {**self.__dict__, "_functions": list(self._functions)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "_functions": {v: find_parts(v) for v in state["_functions"]}}

    def codes(self, column: Column) -> Mapping[str, NDArray[np.int32]]:
        """For each view its numbers at each word, (most things it sees in one, n).

        -1 where it sees nothing (more), or nothing known.
        """
        # Values that training did not see follow those that it saw.
        new = [value for value in column.values if value not in self._ids]
        ids = dict(zip(new, range(len(self.words), len(self.words) + len(new)), strict=True))
        known = self._ids.get
        numbers = np.array(
            [ids[v] if (id := known(v)) is None else id for v in column.values], dtype=np.int64
        )
        places = numbers[column.numbers]
        return {view: self._table(view, new)[:, places] for view in self._functions}

    def _table(self, view: str, new: Sequence[str]) -> NDArray[np.int32]:
        known = self._tables[view]
        if not new:
            return known
        more = self._numbers(view, list(map(self._functions[view], new)))
        n_rows = max(len(known), len(more))
        return np.hstack([_with_rows(known, n_rows), _with_rows(more, n_rows)])

    def _numbers(self, view: str, seen: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        known = self._value_ids[view].get
        n_rows = max(map(len, seen), default=0)
        table = [
            [known(parts[row], ABSENT) if row < len(parts) else ABSENT for parts in seen]
            for row in range(n_rows)
        ]
        return np.array(table, dtype=np.int32).reshape(n_rows, len(seen))


def _with_rows(table: NDArray[np.int32], n_rows: int) -> NDArray[np.int32]:
    return np.pad(table, ((0, n_rows - len(table)), (0, 0)), constant_values=ABSENT)
