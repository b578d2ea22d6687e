"""What fields see at every word of some sentences, as codes."""

from collections.abc import Mapping

import numpy as np

from partita.arrays import IntArray
from partita.text.column_views import ColumnViews
from partita.text.fields import Field, Template
from partita.text.keys import ABSENT, Combination
from partita.text.words import Words


class FieldCodes:
    """What fields see at every word of some sentences, as codes."""

    def __init__(self, words: Words, seen: Mapping[str, ColumnViews], reach: int) -> None:
        self._codes = {name: views.codes(words.columns[name]) for name, views in seen.items()}
        self._seen = seen
        self._reach = reach
        self._n_words = words.n_words
        self._places: dict[int, IntArray] = {}
        self._extended: dict[tuple[str, str], IntArray] = {}

    def size(self, field: Field) -> int:
        """Codes of a field are below this."""
        return field_size(field, self._seen, self._reach)

    def keys(
        self, template: Template, combination: Combination, *, learn: bool = False
    ) -> IntArray:
        """The keys of a template at every word, (most that it has at one, n)."""
        if not template.fields:
            return np.zeros((1, int(self._n_words.sum())), dtype=np.int64)
        return combination.keys([self._at(field) for field in template.fields], learn=learn)

    def _at(self, field: Field) -> IntArray:
        column = (str(field.column), field.view)
        if column not in self._extended:
            size = len(self._seen[column[0]].values[field.view])
            codes = self._codes[column[0]][field.view]
            # What lies outside is one thing, even for a view that sees none or several inside.
            outside = np.full((max(len(codes), 1), 2 * self._reach), ABSENT)
            outside[0] = size + np.arange(2 * self._reach)
            inside = np.full((len(outside), codes.shape[1]), ABSENT)
            inside[: len(codes)] = codes
            self._extended[column] = np.hstack([inside, outside])
        return self._extended[column][:, self._offset(field.offset)]

    def _offset(self, offset: int) -> IntArray:
        """Where each word's neighbour stands; before the first word and after the last, beyond.

        The places beyond the N words are for one, two, ... words before a sentence, then for one,
        two, ... words behind it.
        """
        if offset not in self._places:
            n_words, n_all = self._n_words, int(self._n_words.sum())
            lengths = np.repeat(n_words, n_words)
            position = np.arange(n_all) - np.repeat(np.cumsum(n_words) - n_words, n_words) + offset
            places = np.arange(n_all) + offset
            before, behind = position < 0, position >= lengths
            places[before] = n_all - position[before] - 1
            places[behind] = n_all + self._reach + (position - lengths)[behind]
            self._places[offset] = places
        return self._places[offset]


def field_size(field: Field, seen: Mapping[str, ColumnViews], reach: int) -> int:
    """Codes of a field are below this: its values, and places outside of a sentence."""
    return len(seen[str(field.column)].values[field.view]) + 2 * reach
