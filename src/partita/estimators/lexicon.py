"""The values of a column as numbers, and what every view sees of them."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from partita.arrays import IntArray
from partita.estimators.keys import ABSENT
from partita.estimators.views import find_view


class Lexicon:
    """The different values of a column in training, and for each view the values it takes there.

    A view is computed once for every different value, not for every word of a text.

    >>> lexicon = Lexicon(["The", "the", "dog"], views=["lower"])
    >>> lexicon.values["lower"]
    ['the', 'dog']
    >>> lexicon.codes(["dog", "THE", "cat"])["lower"]
    array([ 1,  0, -1])
    """

    def __init__(self, words: Iterable[str], views: Iterable[str]) -> None:
        self.words = list(dict.fromkeys(words))
        self._ids = {word: number for number, word in enumerate(self.words)}
        self.values: dict[str, list[str]] = {}
        self._functions = {view: find_view(view) for view in views}
        self._value_ids: dict[str, dict[str, int]] = {}
        self._tables: dict[str, IntArray] = {}
        for view, function in self._functions.items():
            seen = list(map(function, self.words))
            values = list(dict.fromkeys(value for value in seen if value is not None))
            self.values[view] = values
            self._value_ids[view] = {value: number for number, value in enumerate(values)}
            self._tables[view] = self._numbers(view, seen)

    def codes(self, words: Sequence[str]) -> Mapping[str, IntArray]:
        """For each view its number at each word; -1 where it sees nothing, or nothing known."""
        known = self._ids.get
        ids = np.array([known(word, ABSENT) for word in words], dtype=np.int64)
        unseen = np.flatnonzero(ids < 0)
        # Words that training did not see follow those that it saw.
        new: dict[str, int] = {}
        for place in unseen.tolist():
            ids[place] = len(self.words) + new.setdefault(words[place], len(new))
        return {view: self._table(view, new)[ids] for view in self._functions}

    def _table(self, view: str, new: Mapping[str, int]) -> IntArray:
        if not new:
            return self._tables[view]
        seen = map(self._functions[view], new)
        return np.concatenate([self._tables[view], self._numbers(view, seen)])

    def _numbers(self, view: str, seen: Iterable[str | None]) -> IntArray:
        known = self._value_ids[view].get
        return np.array(
            [ABSENT if value is None else known(value, ABSENT) for value in seen], dtype=np.int64
        )
