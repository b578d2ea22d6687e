"""Dictionaries of features to numbers, without making their names.

A feature is looked up in a dictionary of its key, from its value to its number, so that neither a
name `key:value` nor a pair is made for every feature of every word; what is left is mostly the time
to fetch the user's text from memory.
"""

import math
from collections.abc import Sequence
from itertools import chain
from operator import getitem
from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.text.attributes import Attributes
from partita.text.vocabulary import Vocabulary

NUMBERS = (bool, int, float)
MOST_KEPT = 2**20
"""Values of a key that are remembered: there is no end to text."""


class FeatureColumns:
    """The numbers of features in dictionaries, by key and value; those seen are remembered.

    >>> columns = FeatureColumns(Vocabulary(["word:dog", "capital", "length"]))
    >>> rows = columns.rows([{"word": "dog", "capital": True}, {"length": 2.5, "word": "cat"}])
    >>> rows.ids, rows.offsets, rows.values
    (array([0, 1, 2], dtype=int32), array([0, 2, 3]), array([1. , 1. , 2.5]))
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._keys = _KeyNumbers(vocabulary)

    def rows(self, tokens: Sequence[Any]) -> Attributes | None:
        """The known features of each token; None where they are no plain dictionaries.

        Plain are those whose values are text, truth values and finite numbers.
        """
        if not all(type(token) is dict for token in tokens):
            return None
        sizes = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
        by_key = map(self._keys.__getitem__, chain.from_iterable(tokens))
        try:
            numbers = np.fromiter(
                map(getitem, by_key, chain.from_iterable(map(dict.values, tokens))),
                dtype=np.int32,
                count=int(sizes.sum()),
            )
        except (_NotPlain, TypeError):
            # TypeError: a list cannot be looked up.
            return None
        known = numbers >= 0
        before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(known)])
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        values = np.zeros(0)
        if any(each.has_sizes for each in self._keys.values()):
            values = _sizes(tokens, len(numbers))[known]
        return Attributes(numbers[known], before[ends], values)


class _NotPlain(Exception):  # noqa: N818 (a signal, not an error)
    """A feature has a value that is neither text nor a finite number."""


class _KeyNumbers(dict[str, "_Values"]):
    """The dictionary of each key."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, key: str) -> "_Values":
        self[key] = _Values(key, self._vocabulary)
        return self[key]


class _Values(dict[Any, int]):
    """The number of each value of a key, -1 where the feature is not known or says nothing."""

    has_sizes = False
    """Whether a value was a number other than 0 and 1."""

    def __init__(self, key: str, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._key = key
        self._vocabulary = vocabulary

    def __missing__(self, value: Any) -> int:
        if type(value) is str:
            number = self._vocabulary.get(f"{self._key}:{value}", -1)
        elif type(value) in NUMBERS and math.isfinite(value):
            number = self._vocabulary.get(self._key, -1) if value else -1
            self.has_sizes = self.has_sizes or value not in (0, 1)
        else:
            raise _NotPlain
        if len(self) >= MOST_KEPT:
            self.clear()
        self[value] = number
        return number


def _sizes(tokens: Sequence[dict[str, Any]], n_features: int) -> FloatArray:
    """The value of each feature of all tokens: numbers as they are, 1 for text."""
    values = chain.from_iterable(map(dict.values, tokens))
    sizes = (1.0 if type(value) is str else value for value in values)
    return np.fromiter(sizes, dtype=np.float64, count=n_features)
