"""How alike two words of different languages are spelt."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from partita.arrays import FloatArray, IntArray

LEAST = 3
"""Letters of a common beginning that says something."""


@lru_cache(maxsize=2**20)
def likeness(one: str, other: str) -> float:
    """How alike two words are spelt, from 0 to 1: their common beginning over the longer of both.

    Beginnings of fewer than three letters say nothing, unless the words are equal; capitals count
    as small letters.

    >>> likeness("Government", "gouvernement"), likeness("nation", "national"), likeness("7", "7")
    (0.0, 0.75, 1.0)
    """
    one, other = one.lower(), other.lower()
    if one == other:
        return 1.0
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    return common / max(len(one), len(other)) if common >= LEAST else 0.0


def pair_likenesses(
    source: Sequence[str], target: Sequence[str], x: IntArray, y: IntArray
) -> FloatArray:
    """`likeness` of the words source[x] and target[y], for each pair of numbers.

    Only words that begin alike are looked at, one pair in a hundred.

    >>> pair_likenesses(
    ...     ["nation", "7"], ["national", "7", "seven"], np.array([0, 1, 1]), np.array([0, 1, 2])
    ... )
    array([0.75, 1.  , 0.  ])
    """
    numbers: dict[str, int] = {}
    one, other = (
        np.array([numbers.setdefault(word.lower()[:LEAST], len(numbers)) for word in words])
        for words in (source, target)
    )
    found, alike = np.zeros(len(x)), np.flatnonzero(one[x] == other[y])
    pairs = zip(x[alike].tolist(), y[alike].tolist(), strict=True)
    found[alike] = [likeness(source[i], target[j]) for i, j in pairs]
    return found


def likenesses(source: Sequence[str], target: Sequence[str]) -> FloatArray:
    """`likeness` of all pairs of words of two sentences, (n, m)."""
    rows = [[likeness(one, other) for other in target] for one in source]
    return np.array(rows, dtype=np.float64).reshape(len(source), len(target))
