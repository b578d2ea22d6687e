"""The values of a column as numbers, and what every view sees of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, repeat
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partita.kernels.features.keys import ABSENT
from partita.text.affixes import AffixNumbers
from partita.text.code_rows import CodeRows, Tables
from partita.text.columns import Column
from partita.text.views import ViewedTexts, find_parts, is_multiple

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
        tables: dict[str, NDArray[np.int32]] = {}
        for view in views:
            seen = _seen(view, texts)
            found = dict.fromkeys(chain.from_iterable(seen) if is_multiple(view) else seen)
            found.pop(None, None)
            self.values[view] = list(found)
            self._value_ids[view] = {value: number for number, value in enumerate(found)}
            tables[view] = self._numbers(view, seen)
        # The last row serves the words that are not here.
        widths = {view: len(table) for view, table in tables.items()}
        self._codes, self._columns = rows = CodeRows.empty(widths, len(words) + 1)
        rows.put(slice(len(words)), tables)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: each for name, each in self.__dict__.items() if name != "_affixes"}
        return {**kept, "_later": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "_later": _LaterWords()}

    def codes(self, column: Column) -> Mapping[str, NDArray[np.int32]]:
        """For each view its numbers at each word, (most things it sees in one, n).

        -1 where it sees nothing (more), or nothing known.
        """
        tables = self.rows(column.values).tables
        return {view: table[:, column.numbers] for view, table in tables.items()}

    def rows(self, values: Sequence[str]) -> CodeRows:
        """The numbers of all views at different values."""
        numbers = np.fromiter(map(self._ids.get, values, repeat(ABSENT)), np.int64, len(values))
        rows = CodeRows(self._codes[numbers], self._columns)
        later = np.flatnonzero(numbers == ABSENT)
        if len(later):
            words = [values[place] for place in later.tolist()]
            new = self._later.rows(words, self._looked_at, rows.widths)
            rows = rows.with_room(new.widths)
            rows.codes[later] = new.codes
        return rows

    def _looked_at(self, words: Sequence[str]) -> Tables:
        """The numbers of each view for words that training did not have."""
        texts = ViewedTexts(words)
        found = self._affixes.of(texts)
        for view in self._columns.keys() - found.keys():
            of_kinds = texts.of_kinds(view)
            if of_kinds is None:
                found[view] = self._numbers(view, _seen(view, texts))
            else:
                numbers, seen = of_kinds
                found[view] = self._numbers(view, seen)[:, numbers]
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
        self._rows = CodeRows.empty({}, ROOM)
        self._lock = Lock()

    def rows(
        self,
        words: Sequence[str],
        look: Callable[[Sequence[str]], Tables],
        widths: Mapping[str, int],
    ) -> CodeRows:
        """The numbers of all views at different words, by `look` for those that are not here.

        There is room for `widths` numbers of each view at least.
        """
        if len(words) > ROOM:
            tables = look(words)
            rows = CodeRows.empty(_widest(widths, tables), len(words))
            rows.put(slice(None), tables)
            return rows
        with self._lock:
            new = [word for word in words if word not in self._ids]
            if len(self._ids) + len(new) > ROOM:
                self._ids.clear()
                new = list(words)
            if new:
                self._remember(new, look(new), widths)
            numbers = np.fromiter(map(self._ids.__getitem__, words), np.int64, len(words))
            return CodeRows(self._rows.codes[numbers], self._rows.columns)

    def _remember(self, new: Sequence[str], tables: Tables, widths: Mapping[str, int]) -> None:
        first = len(self._ids)
        end = first + len(new)
        if not self._rows.columns:
            self._rows = CodeRows.empty(widths, ROOM)
        self._rows = self._rows.with_room(_widest(widths, tables))
        self._rows.codes[first:end] = ABSENT
        self._rows.put(slice(first, end), tables)
        self._ids.update(zip(new, range(first, end), strict=True))


def _widest(widths: Mapping[str, int], tables: Tables) -> dict[str, int]:
    return {view: max(width, len(tables[view])) for view, width in widths.items()}


def _seen(view: str, texts: ViewedTexts) -> Sequence[Any]:
    """What a view sees of each text: one thing or None, or a list where it may be several."""
    if is_multiple(view):
        return list(map(find_parts(view), texts.seen_by("")))  # type: ignore[arg-type]
    return texts.seen_by(view)
