"""Sentence pairs as cells, in both directions: what models of alignment look words up for."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from partita.arrays import Array, IntArray
from partita.structures.batch import offsets as offsets_of


class DirectionParts(NamedTuple):
    """The share of one direction in a vector over parts; its target words come from its source."""

    cells: Array
    """A number for every place of a source and a target word, pair after pair, in C order."""
    jumps: Array
    """(2 D + 1,), or nothing."""
    starts: Array
    """(D + 1,), or nothing."""
    departures: Array
    """(longest, longest): from each place of sentences of each length; or nothing."""


@dataclass(frozen=True)
class BitextCells:
    """Pairs whose words meet: of both directions cells, and what jumps of places depend on.

    Both sides have an empty word before the first, which only the source of a direction shows. The
    parts of all pairs lie together, direction after direction.

    >>> cells = BitextCells(np.array([1]), np.array([2]), reach=1)
    >>> cells.n_parts, [len(each.cells) for each in cells.split(np.zeros(cells.n_parts))]
    (30, [4, 3])
    """

    n_source: IntArray
    """Words of each source sentence."""
    n_target: IntArray
    reach: int | None = None
    """D, the distance from which on jumps are alike; None where no places follow places."""

    @cached_property
    def shapes(self) -> tuple[tuple[IntArray, IntArray, IntArray], ...]:
        """Of each direction where the cells of each pair begin, and its rows and columns."""
        sides = (self.n_source, self.n_target), (self.n_target, self.n_source)
        return tuple((offsets_of((n + 1) * m), n + 1, m) for n, m in sides)

    @cached_property
    def longest(self) -> tuple[int, ...]:
        """Rows of the longest pair in each direction."""
        return tuple(int(n.max(initial=1)) for _, n, _ in self.shapes)

    @cached_property
    def n_parts(self) -> int:
        """Of both directions."""
        return int(self._ends[-1])

    @property
    def n_sentences(self) -> int:
        """Pairs."""
        return len(self.n_source)

    @property
    def n_words(self) -> IntArray:
        """Of both sides of each pair."""
        return self.n_source + self.n_target

    def split(self, parts: Array) -> list[DirectionParts]:
        """Views of a vector over parts, of each direction."""
        views = [parts[start:end] for start, end in pairwise(self._ends)]
        found = []
        for k, side in enumerate(self._sides):
            cells, jumps, starts, departures = views[4 * k : 4 * k + 4]
            found.append(DirectionParts(cells, jumps, starts, departures.reshape(side, side)))
        return found

    @property
    def _sides(self) -> tuple[int, ...]:
        """Rows of the departures of each direction."""
        return (0, 0) if self.reach is None else self.longest

    @cached_property
    def _ends(self) -> list[int]:
        jumps = (0, 0) if self.reach is None else (2 * self.reach + 1, self.reach + 1)
        sizes = [
            (int(offsets[-1]), *jumps, side**2)
            for (offsets, *_), side in zip(self.shapes, self._sides, strict=True)
        ]
        ends: list[int] = np.cumsum([0, *chain(*sizes)]).tolist()
        return ends
