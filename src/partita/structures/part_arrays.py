"""The arrays that the parts of a sentence come as: their names, their shapes, and their order."""

import re
from functools import lru_cache
from math import prod
from typing import NamedTuple

from partita.arrays import IntArray


class Axes(NamedTuple):
    """A shape with letters: axes along the words first, then axes of the same size everywhere.

    >>> axes("n+1 n+1 l", "a score for every arc and label")
    Axes(n_axes=2, extra=1, sizes=('l',), expected='(n+1, n+1, l), a score for every arc and label')
    """

    n_axes: int
    """Number of axes along the words."""
    extra: int
    """How much longer these are than the sentence: 1 where there is a root, -1 between words."""
    sizes: tuple[str, ...]
    """Names of the sizes of the other axes."""
    expected: str
    """The shape and its meaning, for error messages."""

    @property
    def n_dimensions(self) -> int:
        """Number of axes in all."""
        return self.n_axes + len(self.sizes)


@lru_cache
def axes(shape: str, meaning: str) -> Axes:
    """Axes out of a shape such as "n s", "n-1 s s" or "n+1 n+1 l": words first, then letters."""
    names = shape.split()
    words = [name for name in names if re.fullmatch(r"n([+-]\d)?", name)]
    if names[: len(words)] != words or len(set(words)) > 1:
        raise ValueError(f"the shape is {shape!r}; expected axes along words first, and alike.")
    extra = int(words[0][1:] or 0) if words else 0
    expected = f"({', '.join(names)}{',' * (len(names) == 1)}), {meaning}"
    return Axes(len(words), extra, tuple(names[len(words) :]), expected)


class PartArray(NamedTuple):
    """An array of parts: (n + extra,) * n_axes + inner, for a sentence of n words.

    >>> PartArray("pairwise", n_axes=1, extra=-1, inner=(3, 3)).shape(10)
    (9, 3, 3)
    """

    name: str
    n_axes: int
    """Number of axes along the words; they come first."""
    extra: int = 0
    """How much longer these are than the sentence."""
    inner: tuple[int, ...] = ()
    """The other axes."""

    @property
    def n_inner(self) -> int:
        """Number of cells of the other axes."""
        return prod(self.inner)

    def shape(self, n_words: int) -> tuple[int, ...]:
        """The shape for a sentence of so many words."""
        return (n_words + self.extra,) * self.n_axes + self.inner

    def n_parts(self, n_words: IntArray) -> IntArray:
        """The number of parts for each sentence."""
        counts: IntArray = (n_words + self.extra) ** self.n_axes * self.n_inner
        return counts


VECTOR = PartArray("scores", 1)
"""One vector over the parts, for structures whose parts have no shape of their own."""
