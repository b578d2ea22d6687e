"""Learning by comparison with other sentences: what has the observed one that they lack?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.distribution.base import Distribution
from partita.objectives.base import (
    AdditiveObjective,
    Gradient,
    Pullback,
    SentenceObjective,
    checked_weights,
    spread,
)
from partita.objectives.targets import checked_target, sums_by_group
from partita.structures.batch import boolean_array


@dataclass(frozen=True)
class Neighbourhoods:
    """Which sentences of a batch are compared with which: a row of each vector per sentence.

    Every group has at least one observed sentence and one neighbour; a sentence may be both, and
    usually the observed one is among its own neighbours.

    >>> pair = Neighbourhoods(np.array([0, 0]), np.array([True, False]), np.array([True, True]))
    >>> pair.check(n_sentences=2)
    """

    groups: IntArray
    """The group of each sentence, 0 to n_groups - 1."""
    observed: BoolArray
    """Whether it was observed."""
    neighbours: BoolArray
    """Whether it is in the neighbourhood."""

    def check(self, n_sentences: int) -> None:
        """An error unless there is a row for each sentence of a batch."""
        for name in ("groups", "observed", "neighbours"):
            found = np.shape(getattr(self, name))
            if found != (n_sentences,):
                raise ValueError(
                    f"{name} of the neighbourhoods has shape {found}; expected ({n_sentences},), a "
                    "row for each sentence of the batch."
                )

    @classmethod
    def of(cls, n_neighbours: Sequence[int]) -> Self:
        """Groups end to end, in each the observed sentence first, and all of it the neighbourhood.

        >>> Neighbourhoods.of([2, 1]).groups
        array([0, 0, 1])
        """
        groups = np.repeat(np.arange(len(n_neighbours)), n_neighbours)
        observed = np.diff(groups, prepend=-1) > 0
        return cls(groups, observed, np.ones(len(groups), dtype=np.bool_))

    @classmethod
    def halves(cls, n_pairs: int) -> Self:
        """The first half is observed, and each one's neighbourhood is its like in the second half.

        For two sets of structures of the same sentence, the smaller within the larger: the
        derivations of the observed translation, and those of all translations.

        >>> Neighbourhoods.halves(2).groups
        array([0, 1, 0, 1])
        """
        is_first = np.arange(2 * n_pairs) < n_pairs
        return cls(np.tile(np.arange(n_pairs), 2), is_first, ~is_first)


class EvidenceContrast(SentenceObjective):
    """A of the neighbourhoods - A of what was observed, each neighbourhood one item of the batch.

    Contrastive estimation where a neighbourhood is summed as a whole, by a lattice or a forest:
    the batch holds what was observed and what it is compared with in any order, and the target
    says which is which, (n_items,), True where it was observed. The gradient is the marginals,
    with a minus for what was observed. See `partita.objectives.neighbourhood_lattices`.

    >>> from partita.distribution.parts import PartDistribution
    >>> from partita.objectives.neighbourhood_lattices import deletion_lattice, sentence_lattice
    >>> from partita.structures.lattice_chains import LatticeChains
    >>> lattices = [sentence_lattice("ab"), deletion_lattice("ab")]  # a b; a b, a, b
    >>> chains = LatticeChains(lattices, n_tags=2)
    >>> p = PartDistribution.from_flat(chains, np.zeros(chains.n_parts))
    >>> statistic, pullback = EvidenceContrast()(p, np.array([True, False]))
    >>> float(np.exp(-statistic[0]).round(9))  # 4 tagged sentences of 4 + 2 + 2
    0.5
    """

    def losses(self, p: Distribution, target: BoolArray) -> tuple[FloatArray, Gradient]:
        """-A where observed, else A."""
        observed, shape = boolean_array("target", target), (p.structures.n_sentences,)
        if observed.shape != shape:
            raise ValueError(f"target has shape {observed.shape}; expected {shape}.")
        signs = np.where(observed, -1.0, 1.0)
        return signs * p.inference.log_partition, lambda: spread(p, signs) * p.inference.marginals


class ContrastiveEstimation(AdditiveObjective):
    """log sum over neighbours of exp A - log sum over observed of exp A, summed over groups.

    Minus the log-probability that the observed sentence is the right one in its neighbourhood
    (Smith and Eisner 2005): learning without labels, from what the observed sentence has that its
    neighbours lack. The batch holds the observed sentences and their neighbours (see
    `partita.objectives.neighbourhoods`), and the target, `Neighbourhoods`, says which is which;
    `sample_weights` has one number per group. With `Neighbourhoods.halves` this is the marginal
    likelihood of a model with latent variables, log Z(x) - log Z(x, y), for two forests that share
    only features. The gradient of a sentence is its marginals times (its share of the
    neighbourhood - its share of what is observed).

    >>> from partita import LinearChain
    >>> p = LinearChain([np.zeros((2, 2)), np.zeros((1, 2))], np.zeros((2, 2)))
    >>> statistic, pullback = ContrastiveEstimation()(p, Neighbourhoods.of([2]))
    >>> float(np.exp(-statistic[0]).round(9))  # 4 structures of 4 + 2
    0.666666667
    """

    def __call__(
        self, p: Distribution, target: Neighbourhoods, sample_weights: FloatArray | None = None
    ) -> tuple[FloatArray, Pullback]:
        """The weighted sum of the groups' losses, shape (1,), and its pullback."""
        target = checked_target(target, Neighbourhoods, self, "Neighbourhoods.of(...)")
        target.check(p.structures.n_sentences)
        log_partition = p.inference.log_partition
        n_groups = int(target.groups.max(initial=-1)) + 1
        weights = checked_weights(sample_weights, n_groups)
        near, near_share = _log_sums(log_partition, target.groups, target.neighbours, n_groups)
        seen, seen_share = _log_sums(log_partition, target.groups, target.observed, n_groups)

        def pullback(slope: FloatArray) -> FloatArray:
            factor = slope[0] * weights[target.groups] * (near_share - seen_share)
            return spread(p, factor) * p.inference.marginals

        return (weights @ (near - seen)).reshape(1), pullback


def _log_sums(
    values: FloatArray, groups: IntArray, members: BoolArray, n_groups: int
) -> tuple[FloatArray, FloatArray]:
    """log sum exp of the members of each group, and each sentence's share of its group's sum."""
    largest = np.full(n_groups, -np.inf)
    np.maximum.at(largest, groups[members], values[members])
    if (largest == -np.inf).any():
        raise ValueError(
            f"group {int(np.argmin(largest))} has no observed sentence, or no neighbour; expected "
            "at least one of each."
        )
    shares = np.where(members, np.exp(np.where(members, values - largest[groups], 0.0)), 0.0)
    sums = sums_by_group(shares, groups, n_groups)
    return largest + np.log(sums), shares / sums[groups]
