"""Structures whose parts come as named arrays, with a shape for each number of words."""

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import IntArray
from partita.structures.base import Structures
from partita.structures.batch import offsets, word_counts
from partita.structures.part_arrays import PartArray


class ArrayStructures(Structures):
    """All structures of sentences of `n_words` words, whose parts come as named arrays.

    The parts of a sentence are the cells of its arrays, one array after the other, each in C
    order.
    """

    def __init__(self, n_words: ArrayLike, arrays: Sequence[PartArray]) -> None:
        n_words = np.asarray(n_words)
        self.n_words = word_counts(n_words, n_words.size, longest=2**31)
        self.arrays = tuple(arrays)
        longest = float(self.n_words.max(initial=0))
        # Counted in floating point first, since the product of lengths can wrap around.
        most = sum((longest + a.extra) ** a.n_axes * prod(map(float, a.inner)) for a in arrays)
        if most > 2**62:
            shapes = " and ".join(str(array.shape(int(longest))) for array in arrays)
            raise ValueError(
                f"a sentence of {longest:.0f} words has arrays of shape {shapes}, more parts than "
                "can be counted in 64 bits; check n_words."
            )
        n_parts = [array.n_parts(self.n_words) for array in arrays]
        self.part_offsets = offsets(sum(n_parts, start=np.zeros_like(self.n_words)))

    @property
    def lengths(self) -> IntArray:
        """The numbers of words."""
        return self.n_words


MOST_SENTENCES = 1024
"""Structures of larger batches are not kept: making them is nothing beside using them."""

Made = TypeVar("Made", bound=ArrayStructures)


def made_once(make: Callable[..., Made], n_words: IntArray, *options: Hashable) -> Made:
    """make(n_words, *options), kept for the next batch with sentences of these lengths."""
    if len(n_words) > MOST_SENTENCES:
        return make(n_words, *options)
    made: Made = _made(make, n_words.tobytes(), *options)
    return made


@lru_cache(maxsize=64)
def _made(make: Callable[..., Any], n_words: bytes, *options: Hashable) -> Any:
    return make(np.frombuffer(n_words, dtype=np.int64), *options)
