"""Nodes of the trees of sentences, and hashes of what fields see at them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from partita.arrays import Array, BoolArray, IntArray
from partita.kernels.features.mixtures import Mixtures, SeenValues
from partita.structures.batch import offsets
from partita.text.fields import Field
from partita.text.hashing import States, hashes
from partita.text.known_values import EDGE, ROOT, KnownValues, Sight
from partita.text.words import Words


class Nodes:
    """The root and the words of each sentence in turn, and behind them one node that is nobody.

    What lies beyond a sentence is nobody; `values` are `EDGE` there, and `ROOT` at roots.
    """

    def __init__(self, words: Words, known: KnownValues) -> None:
        self.words, self.known = words, known
        starts = words.first_nodes
        self.n_nodes = int(starts[-1])
        """Without nobody, which has this number."""
        self.is_word: BoolArray = np.ones(self.n_nodes + 1, dtype=np.bool_)
        self.is_word[starts] = False
        sentences = np.arange(len(words.n_words))
        self._sentence = np.append(np.repeat(sentences, words.n_words + 1), -1)
        self._root, self._edge = hashes([ROOT, EDGE])
        self._values: dict[Sight, States] = {}
        self._moved: dict[int, IntArray] = {}
        self._fields: dict[Field, States] = {}

    def seen(self, field: Field) -> States:
        """The hash of what a field sees from each node, (n_nodes,)."""
        if field not in self._fields:
            values = self.values((str(field.column), field.view))
            self._fields[field] = values[self.moved(np.arange(self.n_nodes), field.offset)]
        return self._fields[field]

    def values(self, sight: Sight) -> States:
        """The hash of what a view of a column sees at each node, (n_nodes + 1,)."""
        if sight not in self._values:
            hashed = self.known.hashed(sight, self.words.columns[sight[0]].values)
            values = np.full(self.n_nodes + 1, self._root, dtype=np.uint64)
            values[self.is_word] = hashed[self.words.columns[sight[0]].numbers]
            values[-1] = self._edge
            self._values[sight] = values
        return self._values[sight]

    def moved(self, nodes: IntArray, offset: int) -> IntArray:
        """The nodes so many words further on; nobody beyond a sentence, and for roots."""
        if offset == 0:
            return nodes
        if offset not in self._moved:
            here = np.arange(self.n_nodes + 1)
            there = np.clip(here + offset, 0, self.n_nodes)
            inside = self.is_word & self.is_word[there]
            inside &= self._sentence == self._sentence[there]
            self._moved[offset] = np.where(inside, there, self.n_nodes)
        return self._moved[offset][nodes]

    def seen_by(self, looks: "Looks") -> SeenValues:
        """What there is to be seen for templates."""
        everywhere = np.arange(self.n_nodes + 1)
        moved = np.empty((len(looks.moves), self.n_nodes + 1), dtype=np.int64)
        for row, offset in enumerate(looks.moves):
            moved[row] = self.moved(everywhere, offset)
        values = np.empty((len(looks.sights), self.n_nodes + 1), dtype=np.uint64)
        for row, sight in enumerate(looks.sights):
            values[row] = self.values(sight)
        return SeenValues(values, moved)

    def numbers(self, column: str) -> IntArray:
        """The number of each node's value in a column; roots and nobody have the next."""
        found = self.words.columns[column]
        numbers = np.full(self.n_nodes + 1, len(found.values), dtype=np.int64)
        numbers[self.is_word] = found.numbers
        return numbers


class Looks(NamedTuple):
    """Templates as kernels take them, and where they look, at what: the same for all sentences."""

    mixtures: Mixtures
    moves: tuple[int, ...]
    """How many words further on."""
    sights: tuple[Sight, ...]

    @classmethod
    def of(cls, seeds: States, fields: Sequence[Sequence[tuple[int, Field]]]) -> "Looks":
        """Each template has a seed, and fields with the numbers of their roles."""
        moves: dict[int, int] = {}
        sights: dict[Sight, int] = {}
        rows = [
            (
                role,
                moves.setdefault(field.offset, len(moves)),
                sights.setdefault((str(field.column), field.view), len(sights)),
            )
            for own in fields
            for role, field in own
        ]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()
        starts = offsets(np.array([len(own) for own in fields], dtype=np.int64))
        return cls(Mixtures(seeds, starts, *columns), tuple(moves), tuple(sights))


def within_groups(counts: IntArray) -> IntArray:
    """0, 1, ... for each of some groups, end to end.

    >>> within_groups(np.array([2, 0, 3]))
    array([0, 1, 0, 1, 2])
    """
    places: Array = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return places
