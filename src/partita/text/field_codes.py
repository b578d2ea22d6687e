"""What fields see at every word of some sentences, as codes."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from partita.arrays import IntArray
from partita.kernels.features.keys import ABSENT
from partita.text.column_views import ColumnViews
from partita.text.fields import Field, Template
from partita.text.keys import Combination
from partita.text.words import Words


class FieldCodes:
    """What fields see at every word of some sentences, as codes."""

    def __init__(self, words: Words, seen: Mapping[str, ColumnViews], reach: int) -> None:
        self._codes = {name: dict(views.codes(words.columns[name])) for name, views in seen.items()}
        self._seen = seen
        self._reach = reach
        self._n_words = words.n_words
        self._places: dict[int, IntArray] = {}
        self._extended: dict[tuple[str, str], NDArray[np.int32]] = {}

    def size(self, field: Field) -> int:
        """Codes of a field are below this."""
        return field_size(field, self._seen, self._reach)

    def keys(
        self, template: Template, combination: Combination, *, learn: bool = False
    ) -> IntArray:
        """The keys of a template at every word, (most that it has at one, n)."""
        if not template.fields:
            return np.zeros((1, int(self._n_words.sum())), dtype=np.int64)
        fields = [(self._of(field), self._offset(field.offset)) for field in template.fields]
        return combination.keys(fields, learn=learn)

    def _of(self, field: Field) -> NDArray[np.int32]:
        """The codes of all words, and of what lies before and behind a sentence."""
        column = (str(field.column), field.view)
        if column not in self._extended:
            size = len(self._seen[column[0]].values[field.view])
            # From now on the extended ones are there.
            codes = self._codes[column[0]].pop(field.view)
            n_inside = codes.shape[1]
            # What lies outside is one thing, even for a view that sees none or several inside.
            shape = max(len(codes), 1), n_inside + 2 * self._reach
            extended = np.full(shape, ABSENT, dtype=np.int32)
            extended[: len(codes), :n_inside] = codes
            extended[0, n_inside:] = size + np.arange(2 * self._reach)
            self._extended[column] = extended
        return self._extended[column]

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
