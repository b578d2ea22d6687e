"""Columns of words: each distinct value once, and a number for every word."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from partita.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Column(Sequence[str]):
    """A value for each word of all sentences, end to end; views look at the distinct ones only.

    >>> column = Column.of(["the", "dog", "the"])
    >>> column.values, column.numbers, list(column)
    (('the', 'dog'), array([0, 1, 0]), ['the', 'dog', 'the'])
    """

    values: tuple[str, ...]
    """The distinct ones, as they came."""
    numbers: IntArray
    """(n_words,): which of them each word has."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Column":
        """From the values of all words; one look into a dictionary for each."""
        table = ValueNumbers()
        numbers = np.fromiter(map(table.__getitem__, texts), dtype=np.int64)
        return cls(tuple(table), numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self.values[number] for number in self.numbers[index].tolist()]
        return self.values[int(self.numbers[index])]

    def __iter__(self) -> Iterator[str]:
        return map(self.values.__getitem__, self.numbers.tolist())

    @property
    def counts(self) -> IntArray:
        """How many words have each value, (n_values,)."""
        return np.bincount(self.numbers, minlength=len(self.values))


class ValueNumbers(dict[str, int]):
    """A number for every value, in the order in which they came."""

    def __missing__(self, value: str) -> int:
        self[value] = number = len(self)
        return number
