"""What objectives compare with, prepared once per batch from what a user has, for any structure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.structures.base import Structure, Structures
from partita.structures.batch import boolean_array, flat_vector, number_array
from partita.structures.forms import Form


def sums_by_group(values: FloatArray, groups: IntArray, n_groups: int) -> FloatArray:
    """The sum of the values of each group."""
    return np.bincount(groups, weights=values, minlength=n_groups).astype(np.float64, copy=False)


Target = TypeVar("Target")


def checked_cost(cost: Any, n_parts: int, objective: object) -> FloatArray:
    """A cost for every part, as an objective got it; NaN is none."""
    name = f"the cost of {type(objective).__name__}"
    vector = number_array(name, cost, f"({n_parts},), a number for each part of the batch")
    vector = flat_vector(name, vector, n_parts)
    if np.isnan(vector).any():
        raise ValueError(f"{name} is NaN at part {np.flatnonzero(np.isnan(vector))[0]}.")
    return vector


def checked_target(target: Any, kind: type[Target], objective: object, how: str) -> Target:
    """The target of an objective, or an error that says what came and how to make the right one."""
    if not isinstance(target, kind):
        shape = f" of shape {target.shape}" if isinstance(target, np.ndarray) else ""
        raise ValueError(
            f"the target of {type(objective).__name__} is a {type(target).__name__}{shape}; "
            f"expected {how}."
        )
    return target


def refuse_target(target: Any, objective: object) -> None:
    """An error for what came to an objective that compares with nothing."""
    checked_target(target, type(None), objective, "None: it compares with nothing")


def checked_counts(target: Any, structures: Structures, objective: object) -> "Counts":
    """A target that must be the counts of one structure per sentence of the same batch."""
    how = "Counts.of(p.structures, [a structure for each sentence])"
    counts = checked_target(target, Counts, objective, how)
    counts.check(structures)
    return counts


@dataclass(frozen=True, eq=False)
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
    structures: Structures
    """What they are parts of."""

    @property
    def n_sentences(self) -> int:
        """Number of sentences in the batch.

        >>> from partita.structures.chains import Chains
        >>> Counts.of(Chains([2, 1], n_tags=2, shared=True), [[0, 1], [1]]).n_sentences
        2
        """
        return self.structures.n_sentences

    @classmethod
    def of(cls, structures: Structures, given: Sequence[Structure]) -> Self:
        """The counts of one given structure (tags, heads, ...) per sentence of a batch."""
        each = Form("list").one_each("structures", given, structures.n_sentences)
        return cls.from_flat(structures, structures.counts(each))

    @classmethod
    def from_flat(cls, structures: Structures, counts: FloatArray) -> Self:
        """From a count for every part; they may be expectations.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.zeros((1, 2)), np.zeros((2, 2)))
        >>> Counts.from_flat(p.structures, p.inference.marginals).values
        array([0.5, 0.5])
        """
        counts = flat_vector("counts", counts, structures.n_parts)
        parts = np.flatnonzero(counts)
        sentences = np.searchsorted(structures.part_offsets, parts, side="right") - 1
        return cls(parts, counts[parts], sentences, structures)

    def check(self, structures: Structures) -> None:
        """An error if they were counted in other structures than the given ones.

        >>> from partita.structures.chains import Chains
        >>> Counts.of(Chains([2], n_tags=2, shared=True), [[0, 1]]).check(
        ...     Chains([1], 2, shared=True)
        ... )
        Traceback (most recent call last):
        ValueError: the counts are of Chains, 1 sentences with 8 parts; the batch has Chains, ...
        """
        mine = self.structures
        if mine is structures or (type(mine) is type(structures) and mine.is_same_set(structures)):
            return
        raise ValueError(
            f"the counts are of {type(mine).__name__}, {mine.n_sentences} sentences with "
            f"{mine.n_parts} parts; the batch has {type(structures).__name__}, "
            f"{structures.n_sentences} sentences with {structures.n_parts} parts, or other "
            "structures of these. Count with Counts.of(p.structures, ...)."
        )

    def score(self, scores: FloatArray) -> FloatArray:
        """<counts, scores> of each sentence.

        >>> from partita.structures.chains import Chains
        >>> Counts.of(Chains([2], n_tags=2, shared=True), [[0, 1]]).score(
        ...     np.arange(8.0)
        ... )  # 0 + 3 + 5
        array([8.])
        """
        return sums_by_group(self.values * scores[self.parts], self.sentences, self.n_sentences)

    def subtracted_from(self, vector: FloatArray) -> FloatArray:
        """A new vector over parts: `vector` minus the counts.

        >>> from partita.structures.chains import Chains
        >>> Counts.of(Chains([2], n_tags=2, shared=True), [[0, 1]]).subtracted_from(np.ones(8))
        array([0., 1., 1., 0., 1., 0., 1., 1.])
        """
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
    """A target structure per sentence, and a cost for every part.

    >>> from partita.structures.chains import Chains
    >>> counts = Counts.of(Chains([2], n_tags=2, shared=True), [[0, 1]])
    >>> CostedCounts(counts, wrong_parts(counts)).cost
    array([0., 1., 1., 0., 1., 0., 1., 1.])
    """

    counts: Counts
    cost: FloatArray


def wrong_parts(counts: Counts, among: BoolArray | None = None) -> FloatArray:
    """The cost that counts wrong parts: 1 for a part that the target does not have, else 0.

    Only parts in the mask `among` are counted: for a tagger the tags and not the transitions, by
    `partita.features.tag_parts`. The number of wrong arcs or tags, (n_parts,).

    >>> from partita.structures.chains import Chains
    >>> chains = Chains([2], n_tags=2, shared=True)
    >>> wrong_parts(Counts.of(chains, [[0, 1]]))
    array([0., 1., 1., 0., 1., 0., 1., 1.])
    """
    n_parts = counts.structures.n_parts
    cost = np.ones(n_parts)
    if among is not None:
        if np.shape(among) != (n_parts,):
            raise ValueError(f"among has shape {np.shape(among)}; expected ({n_parts},).")
        cost = boolean_array("among", among).astype(np.float64)
    cost[counts.parts] = 0.0
    return cost
