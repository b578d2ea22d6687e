"""Structures whose parts come as named arrays, with a shape for each number of words."""

from collections.abc import Sequence
from math import prod

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
        self.part_offsets = offsets(
            np.sum([array.n_parts(self.n_words) for array in arrays], axis=0, dtype=np.int64)
        )

    @property
    def lengths(self) -> IntArray:
        """The numbers of words."""
        return self.n_words
