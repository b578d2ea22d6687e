"""The values of a column as numbers, and what every view sees of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise, repeat
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partita.kernels.features.keys import ABSENT
from partita.text.affixes import AffixNumbers
from partita.text.columns import Column
from partita.text.views import ViewedTexts, find_parts, is_multiple

Tables = dict[str, NDArray[np.int32]]
"""For each view its numbers at each of some words, (most things it sees in one, n)."""
ROOM = 2**15
"""Values that training did not have, of which is remembered what views see of them."""


class ColumnViews:
    """The different values of a column in training, and for each view the values it takes there.

    A view is computed once for every different value, not for every word of a text; of values that
    training did not have, the last some ten thousand are remembered. A view that sees several
    things in a value has several rows of numbers, as many as it needs.

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
        self._value_ids: dict[str, dict[str | None, int]] = {}
        self._later = _LaterWords()
        texts = ViewedTexts(self.words)
        tables: Tables = {}
        for view in views:
            seen = _seen(view, texts)
            found = dict.fromkeys(chain.from_iterable(seen) if is_multiple(view) else seen)
            found.pop(None, None)
            self.values[view] = list(found)
            self._value_ids[view] = {value: number for number, value in enumerate(found)}
            # The last entry serves the words that are not here.
            tables[view] = extended(self._numbers(view, seen), n_columns=len(words) + 1)
        ends = list(accumulate(map(len, tables.values())))
        self._columns = dict(zip(tables, pairwise([0, *ends]), strict=True))
        # What all views see of a value lies together, so that it comes into the cache at once.
        empty = np.zeros((0, len(words) + 1), dtype=np.int32)
        self._codes = np.concatenate([empty, *tables.values()]).T.copy()

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: each for name, each in self.__dict__.items() if name != "_affixes"}
        return {**kept, "_later": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "_later": _LaterWords()}

    def codes(self, column: Column) -> Mapping[str, NDArray[np.int32]]:
        """For each view its numbers at each word, (most things it sees in one, n).

        -1 where it sees nothing (more), or nothing known.
        """
        tables = self.codes_of_values(column.values)
        return {view: table[:, column.numbers] for view, table in tables.items()}

    def codes_of_values(self, values: Sequence[str]) -> Tables:
        """For each view its numbers at different values, (most things it sees in one, n)."""
        numbers = np.fromiter(map(self._ids.get, values, repeat(ABSENT)), np.int64, len(values))
        codes = self._codes[numbers]
        tables = {view: codes[:, slice(*ends)].T for view, ends in self._columns.items()}
        later = np.flatnonzero(numbers == ABSENT)
        if len(later):
            new = self._later.tables([values[place] for place in later.tolist()], self._looked_at)
            for view, more in new.items():
                table = tables[view] = extended(tables[view], n_rows=len(more))
                table[: len(more), later] = more
        return tables

    def _looked_at(self, words: Sequence[str]) -> Tables:
        """The numbers of each view for words that training did not have."""
        texts = ViewedTexts(words)
        found: Tables = {**self._affixes.of(texts)}
        for view in self._columns.keys() - found.keys():
            found[view] = self._numbers(view, _seen(view, texts))
        return found

    @cached_property
    def _affixes(self) -> AffixNumbers:
        return AffixNumbers(self._value_ids)

    def _numbers(self, view: str, seen: Sequence[Any]) -> NDArray[np.int32]:
        known = self._value_ids[view].get
        if not is_multiple(view):
            return np.fromiter(map(known, seen, repeat(ABSENT)), np.int32, len(seen))[None]
        n_rows = max(map(len, seen), default=0)
        table = [
            [known(parts[row], ABSENT) if row < len(parts) else ABSENT for parts in seen]
            for row in range(n_rows)
        ]
        return np.array(table, dtype=np.int32).reshape(n_rows, len(seen))


class _LaterWords:
    """What views see of words that training did not have; only the last of them are kept."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._tables: Tables = {}
        self._lock = Lock()

    def tables(self, words: Sequence[str], look: Callable[[Sequence[str]], Tables]) -> Tables:
        """The numbers of each view for different words, by `look` for those that are not here."""
        if len(words) > ROOM:
            return look(words)
        with self._lock:
            new = [word for word in words if word not in self._ids]
            if len(self._ids) + len(new) > ROOM:
                self._ids.clear()
                new = list(words)
            first = len(self._ids)
            for view, more in look(new).items() if new else ():
                empty = np.zeros((0, ROOM), dtype=np.int32)
                table = extended(self._tables.get(view, empty), n_rows=len(more))
                table[:, first : first + len(new)] = extended(more, n_rows=len(table))
                self._tables[view] = table
            self._ids.update(zip(new, range(first, first + len(new)), strict=True))
            numbers = np.fromiter(map(self._ids.__getitem__, words), np.int64, len(words))
            return {view: table[:, numbers] for view, table in self._tables.items()}


def _seen(view: str, texts: ViewedTexts) -> Sequence[Any]:
    """What a view sees of each text: one thing or None, or a list where it may be several."""
    if is_multiple(view):
        return list(map(find_parts(view), texts.seen_by("")))  # type: ignore[arg-type]
    return texts.seen_by(view)


def extended(table: NDArray[np.int32], *, n_rows: int = 0, n_columns: int = 0) -> NDArray[np.int32]:
    """A table with so many rows and columns at least, which are absent where they are new."""
    more = max(n_rows - len(table), 0), max(n_columns - table.shape[1], 0)
    if not any(more):
        return table
    return np.pad(table, ((0, more[0]), (0, more[1])), constant_values=ABSENT)
