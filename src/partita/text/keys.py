"""Combinations of codes as single whole numbers, and tables from those numbers to attributes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partita.arrays import IntArray
from partita.kernels.features import keys as key_kernels
from partita.kernels.features import lookup as lookup_kernels
from partita.kernels.features.keys import ABSENT

LARGEST = 2**62
"""Products of sizes below this are whole numbers that fit into 64 bits."""
Seen = tuple[NDArray[np.integer[Any]], IntArray]
"""Codes of a field, (most at one place, n), and which of them each place sees, (n_places,)."""


class Combination:
    """The key of several codes, each below a size: their digits in a number of mixed base.

    A code of -1 makes the key -1. Where a product of sizes would not fit into 64 bits, the digits
    so far are first replaced by their rank among those that occurred in training, `seen`.

    >>> combination = Combination([10, 10])
    >>> both = np.arange(2)
    >>> combination.keys([(np.array([[4, -1]]), both), (np.array([[2, 2]]), both)])
    array([[42, -1]])
    >>> combination.codes(42)
    [4, 2]
    """

    def __init__(self, sizes: Sequence[int], seen: Sequence[IntArray] = ()) -> None:
        self.sizes = tuple(sizes)
        self.seen = list(seen)

    @property
    def space(self) -> int:
        """Keys are below this."""
        space = 1
        for size, table in self.steps():
            space = (space if table is None else max(len(table), 1)) * size
        return space

    def keys(self, fields: Sequence[Seen], *, learn: bool = False) -> IntArray:
        """A key for each place, (most codes that a field has at one, n_places).

        With `learn`, these are the training data.
        """
        shape = max(len(codes) for codes, _ in fields), len(fields[0][1])
        keys = np.zeros(shape, dtype=np.int64)
        replaced, space = 0, 1
        for (codes, places), size in zip(fields, self.sizes, strict=True):
            if space * size >= LARGEST:
                if learn:
                    self.seen.append(np.unique(keys[keys >= 0]))
                keys = ranks(self.seen[replaced], keys)
                space = max(len(self.seen[replaced]), 1)
                replaced += 1
            key_kernels.combine(codes, places, size, keys)
            space *= size
        return keys

    def codes(self, key: int) -> list[int]:
        """The codes of a key."""
        codes = []
        for size, table in reversed(list(self.steps())):
            key, code = divmod(key, size)
            codes.append(code)
            key = key if table is None else int(table[key])
        return codes[::-1]

    def steps(self) -> Iterator[tuple[int, IntArray | None]]:
        """The size of each field, and the table by which the digits before it are replaced."""
        space, replaced = 1, 0
        for size in self.sizes:
            table = None
            if space * size >= LARGEST:
                table, replaced = self.seen[replaced], replaced + 1
                space = max(len(table), 1)
            yield size, table
            space *= size


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
    """From the keys of a template to numbers of attributes; see `lookup` for how they are found.

    >>> KeyTable(np.array([2, 5]), np.array([7, 8], np.int32), 6).by_key()
    array([-1, -1,  7, -1, -1,  8], dtype=int32)
    """

    known: IntArray
    """Keys in ascending order."""
    numbers: NDArray[np.int32]
    """The attribute of each."""
    space: int
    """All keys are below this."""

    def by_key(self) -> NDArray[np.int32] | None:
        """A number for every possible key, where that is small."""
        if self.space > 8 * len(self.known) + 2**16:
            return None
        dense = np.full(self.space, ABSENT, dtype=np.int32)
        dense[self.known] = self.numbers
        return dense

    def in_buckets(self) -> tuple[NDArray[np.int32], int, IntArray, NDArray[np.int32]]:
        """Where buckets begin, the shift that leads to them, and the keys and numbers in them."""
        n_bits = max((len(self.known) // 2).bit_length(), 1)
        starts = np.empty(2**n_bits + 1, dtype=np.int32)
        keys, numbers = np.empty_like(self.known), np.empty_like(self.numbers)
        shift = 64 - n_bits
        lookup_kernels.fill_buckets(self.known, self.numbers, shift, starts, keys, numbers)
        return starts, shift, keys, numbers


class JoinedTables:
    """The tables of several templates, end to end."""

    def __init__(self, combinations: Sequence[Combination], tables: Sequence[KeyTable]) -> None:
        shifts, firsts = [], []
        dense, numbers = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
        starts, keys = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
        n_dense = n_starts = n_keys = 0
        for table in tables:
            by_key = table.by_key()
            if by_key is not None:
                shifts.append(lookup_kernels.DENSE)
                firsts.append(n_dense)
                dense.append(by_key)
                n_dense += len(by_key)
            else:
                its_starts, shift, its_keys, its_numbers = table.in_buckets()
                shifts.append(shift)
                firsts.append(n_starts)
                starts.append(its_starts + np.int32(n_keys))
                keys.append(its_keys)
                numbers.append(its_numbers)
                n_starts, n_keys = n_starts + len(its_starts), n_keys + len(its_keys)
        seen = [each for combination in combinations for each in combination.seen]
        self.tables = lookup_kernels.Tables(
            np.array(shifts, dtype=np.int64),
            np.array(firsts, dtype=np.int64),
            np.concatenate(dense),
            np.concatenate(starts),
            np.concatenate(keys),
            np.concatenate(numbers),
            np.concatenate([np.zeros(0, dtype=np.int64), *seen]),
        )
