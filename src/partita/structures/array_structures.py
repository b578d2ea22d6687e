"""Structures whose parts come as named arrays, with a shape for each number of words."""

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import IntArray
from partita.kernels.doors import lengths
from partita.structures.base import Structures
from partita.structures.batch import MOST_PARTS, too_many_parts, word_counts
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
        self.n_sentences = n_sentences = len(self.n_words)
        shapes = _shapes(self.arrays)
        starts = np.empty((len(shapes), n_sentences), dtype=np.int64)
        ends = np.empty((2, n_sentences + 1), dtype=np.int64)
        self.part_offsets, self.word_offsets = ends[0], ends[1]
        total, self.largest_length = lengths.lay_out(
            self.n_words, shapes, starts, self.part_offsets, self.word_offsets
        )
        if total > MOST_PARTS:
            raise self._too_many(total)
        self.array_starts = list(starts)
        self.n_parts = int(self.part_offsets[-1])
        if n_sentences and self.word_offsets[-1] == n_sentences * self.largest_length:
            self.n_parts_each = self.n_parts // n_sentences
        else:
            self.n_parts_each = None

    def _too_many(self, total: float) -> ValueError:
        """The error for more parts than can be counted, of one sentence or of all together."""
        longest = self.largest_length
        most = sum(float(longest + a.extra) ** a.n_axes * a.n_inner for a in self.arrays)
        if most <= MOST_PARTS:
            return too_many_parts(total)
        shapes = " and ".join(str(array.shape(longest)) for array in self.arrays)
        return ValueError(
            f"a sentence of {longest} words has arrays of shape {shapes}, more parts than can be "
            "counted in 64 bits; check n_words."
        )

    @property
    def lengths(self) -> IntArray:
        """The numbers of words."""
        return self.n_words


@lru_cache(maxsize=64)
def _shapes(arrays: tuple[PartArray, ...]) -> IntArray:
    """What `lay_out` asks about arrays; cells that nobody can count are still too many."""
    rows = [(a.n_axes, a.extra, min(a.n_inner, 2**63 - 1)) for a in arrays]
    return np.array(rows, dtype=np.int64).reshape(len(arrays), 3)


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
