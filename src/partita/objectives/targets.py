"""What objectives compare with, prepared once per batch from what a user has, for any structure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.structures.base import Structure, Structures


def sums_by_group(values: FloatArray, groups: IntArray, n_groups: int) -> FloatArray:
    """The sum of the values of each group."""
    return np.bincount(groups, weights=values, minlength=n_groups).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Counts:
    """How often each part occurs in one structure per sentence, sparse: most parts do not.

    >>> from partita.structures.chains import Chains
    >>> chains = Chains([2], n_tags=2, shared=True)
    >>> Counts.of(chains, [[0, 1]]).parts  # tag 0, tag 1, and the transition between them
    array([0, 3, 5])
    """

    parts: IntArray
    """The parts that occur, in ascending order."""
    values: FloatArray
    """How often each of them does."""
    sentences: IntArray
    """The sentence to which each of them belongs."""
    n_sentences: int

    @classmethod
    def of(cls, structures: Structures, given: Sequence[Structure]) -> Self:
        """The counts of one given structure (tags, heads, ...) per sentence of a batch."""
        return cls.from_flat(structures, structures.counts(given))

    @classmethod
    def from_flat(cls, structures: Structures, counts: FloatArray) -> Self:
        """From a count for every part; they may be expectations."""
        parts = np.flatnonzero(counts)
        sentences = np.searchsorted(structures.part_offsets, parts, side="right") - 1
        return cls(parts, counts[parts], sentences, structures.n_sentences)

    def score(self, scores: FloatArray) -> FloatArray:
        """<counts, scores> of each sentence."""
        return sums_by_group(self.values * scores[self.parts], self.sentences, self.n_sentences)

    def subtracted_from(self, vector: FloatArray) -> FloatArray:
        """A new vector over parts: `vector` minus the counts."""
        difference = vector.copy()
        difference[self.parts] -= self.values
        return difference


@dataclass(frozen=True)
class Observed:
    """A structure per sentence as it was given, and its counts: where a Markov chain begins.

    >>> from partita.structures.chains import Chains
    >>> Observed.of(Chains([2], n_tags=2, shared=True), [[0, 1]]).counts.parts
    array([0, 3, 5])
    """

    counts: Counts
    structures: tuple[Structure, ...]

    @classmethod
    def of(cls, structures: Structures, given: Sequence[Structure]) -> Self:
        """From a structure (tags, heads, ...) for each sentence of a batch."""
        return cls(Counts.of(structures, given), tuple(given))


@dataclass(frozen=True)
class CostedCounts:
    """A target structure per sentence, and a cost for every part."""

    counts: Counts
    cost: FloatArray


def wrong_parts(counts: Counts, n_parts: int, among: BoolArray | None = None) -> FloatArray:
    """The cost that counts wrong parts: 1 for a part that the target does not have, else 0.

    Only parts in the mask `among` are counted: for a tagger the tags and not the transitions, by
    `partita.features.tag_parts`. The number of wrong arcs or tags, (n_parts,).

    >>> from partita.structures.chains import Chains
    >>> chains = Chains([2], n_tags=2, shared=True)
    >>> wrong_parts(Counts.of(chains, [[0, 1]]), chains.n_parts)
    array([0., 1., 1., 0., 1., 0., 1., 1.])
    """
    cost = np.ones(n_parts) if among is None else among.astype(np.float64)
    cost[counts.parts] = 0.0
    return cost
