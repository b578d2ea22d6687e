"""How alike two words of different languages are spelt."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from partita.arrays import FloatArray


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
    return common / max(len(one), len(other)) if common >= 3 else 0.0


def likenesses(source: Sequence[str], target: Sequence[str]) -> FloatArray:
    """`likeness` of all pairs of words of two sentences, (n, m)."""
    rows = [[likeness(one, other) for other in target] for one in source]
    return np.array(rows, dtype=np.float64).reshape(len(source), len(target))
