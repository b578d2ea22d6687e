"""Combinations of codes as single whole numbers, and tables from those numbers to attributes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partita.arrays import IntArray

LARGEST = 2**62
"""Products of sizes below this are whole numbers that fit into 64 bits."""
ABSENT = -1


class Combination:
    """The key of several codes, each below a size: their digits in a number of mixed base.

    A code of -1 makes the key -1. Where a product of sizes would not fit into 64 bits, the digits
    so far are first replaced by their rank among those that occurred in training, `seen`.

    >>> combination = Combination([10, 10])
    >>> combination.keys([np.array([4, -1]), np.array([2, 2])])
    array([42, -1])
    >>> combination.codes(42)
    [4, 2]
    """

    def __init__(self, sizes: Sequence[int], seen: Sequence[IntArray] = ()) -> None:
        self.sizes = tuple(sizes)
        self.seen = list(seen)
        self.space = 1
        """Keys are below this."""

    def keys(self, codes: Sequence[NDArray[np.integer[Any]]], *, learn: bool = False) -> IntArray:
        """A key for each place; with `learn`, these are the training data."""
        keys = np.zeros(codes[0].shape if codes else 1, dtype=np.int64)
        replaced, space = 0, 1
        for column, size in zip(codes, self.sizes, strict=True):
            if space * size >= LARGEST:
                if learn:
                    self.seen.append(np.unique(keys[keys >= 0]))
                keys = ranks(self.seen[replaced], keys)
                space = max(len(self.seen[replaced]), 1)
                replaced += 1
            absent = (keys < 0) | (column < 0)
            keys = keys * size + column
            keys[absent] = ABSENT
            space *= size
        # Set at the end, since several threads may ask at once.
        self.space = space
        return keys

    def codes(self, key: int) -> list[int]:
        """The codes of a key."""
        space, replaced, steps = 1, 0, []
        for size in self.sizes:
            table = None
            if space * size >= LARGEST:
                table, replaced = self.seen[replaced], replaced + 1
                space = max(len(table), 1)
            steps.append((size, table))
            space *= size
        codes = []
        for size, table in reversed(steps):
            key, code = divmod(key, size)
            codes.append(code)
            key = key if table is None else int(table[key])
        return codes[::-1]


def ranks(table: IntArray, keys: IntArray) -> IntArray:
    """Where each key stands in a sorted table, -1 where it does not.

    >>> ranks(np.array([2, 5]), np.array([5, 3, 2, -1]))
    array([ 1, -1,  0, -1])
    """
    if not len(table):
        return np.full(keys.shape, ABSENT, dtype=np.int64)
    places = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    places[table[places] != keys] = ABSENT
    return places


@dataclass(frozen=True)
class KeyTable:
    """From the keys of a template to numbers of attributes; keys that are not there give -1.

    >>> KeyTable(np.array([2, 5]), np.array([7, 8], np.int32), 10).attributes(np.array([5, 4, -1]))
    array([ 8, -1, -1], dtype=int32)
    """

    known: IntArray
    """Keys in ascending order."""
    numbers: NDArray[np.int32]
    """The attribute of each."""
    space: int
    """All keys are below this."""

    @cached_property
    def _dense(self) -> NDArray[np.int32] | None:
        """A number for every possible key, where that is small; its last entry serves -1."""
        if self.space > 8 * len(self.known) + 2**16:
            return None
        dense = np.full(self.space + 1, ABSENT, dtype=np.int32)
        dense[self.known] = self.numbers
        return dense

    def attributes(self, keys: IntArray) -> NDArray[np.int32]:
        """The attribute of each key."""
        if self._dense is not None:
            return self._dense[keys]
        places = ranks(self.known, keys)
        found = self.numbers[places] if len(self.numbers) else np.empty(keys.shape, np.int32)
        found[places < 0] = ABSENT
        return found
