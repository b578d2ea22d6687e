"""The numbers of the affixes of many texts, among the values that each view had in training."""

from typing import NamedTuple

from numpy import int64, uint64

from partita.arrays import Array
from partita.kernels.features.hash import BASIS, ONE, PRIME
from partita.kernels.features.keys import ABSENT
from partita.kernels.features.lookup import number_of
from partita.kernels.jit import borrowing, kernel


class Texts(NamedTuple):
    """Texts end to end: the code points of their characters."""

    points: Array
    offsets: Array
    """(n_texts + 1,)"""


class Affixes(NamedTuple):
    """What views see of a text: so many characters of it."""

    size: Array
    is_last: Array
    """Whether they are the last ones."""
    is_inside: Array
    """Whether nothing is seen of a text that is no longer than that."""
    first: Array
    """Where the values of each view begin among those of all."""


@borrowing
def is_same(texts, begin, size, values, value):
    """Whether characters of a text are a value."""
    start = values.offsets[value]
    if values.offsets[value + 1] - start != size:
        return False
    for k in range(size):
        if texts.points[begin + k] != values.points[start + k]:
            return False
    return True


@kernel
def find(texts, affixes, tables, values, out):
    """out[v, i]: the number of what view v sees of text i; -1 for none of its values.

    A key is the upper 63 bits of the hash of a value, as `fnv1a` has it for code points.
    """
    for view in range(len(affixes.size)):
        for i in range(len(texts.offsets) - 1):
            begin, end = texts.offsets[i], texts.offsets[i + 1]
            out[view, i] = ABSENT
            if affixes.is_inside[view] and end - begin <= affixes.size[view]:
                continue
            size = min(end - begin, affixes.size[view])
            if affixes.is_last[view]:
                begin = end - size
            value = BASIS
            for k in range(begin, begin + size):
                value = (value ^ uint64(texts.points[k])) * PRIME
            number = number_of(int64(value >> ONE), view, tables)
            # Texts that training did not have can have the hash of others.
            if number >= 0 and is_same(texts, begin, size, values, affixes.first[view] + number):
                out[view, i] = number
