"""Scores so large that their sums lose digits, as small ones of the same distribution.

A sum that holds 1e17 is rounded to a multiple of 16. But two structures are compared by their
difference alone, so what all have in common can go, and so can the parts of structures that are
out of reach of the best: however large their scores are, their probability is 0. What is left is
small, but for sums in which large scores cancel.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray
from partita.structures.base import Structures
from partita.structures.batch import exact_sum, largest_finite

PRECISE = 2.0**30
"""Each sum of scores up to this is off by less than 1e-6 nats; larger ones are settled first."""
SMALL = 1e4
"""Sums of hundreds of scores up to this keep ten digits: they need not be smaller."""
ADDABLE, UNIT = 2.0**900, 2.0**128
"""Numbers up to the first are added up as they are; larger ones in this unit."""
SHRUNK = 2.0**24
"""The unit in which all doubles can be added up, and in which log 2 is not yet large."""
NEGLIGIBLE = 60.0
"""Structures that have less than exp(-60) of the probability, all of them together, have none."""
ROUNDING = 2.0**-49
"""What a sum of scores is off by, for each of its terms, as a share of the largest score."""


class Settled(NamedTuple):
    """Scores of the same distribution, as small as they can be made."""

    scores: FloatArray
    """Over parts; -inf for a part that no structure has whose probability is not 0."""
    sizes: FloatArray
    """The largest absolute score of each sentence: where that is still large, digits are lost."""


def settled(sets: Structures, scores: FloatArray, reach: float = 1.0) -> Settled:
    """Without what structures have in common, and without parts that are out of reach.

    `reach` is how much farther than usual structures count, as they do for a distribution that is
    p to a power below 1; with infinity all of them do.

    >>> from partita.structures.chains import Chains
    >>> one_word = Chains([1], 3, shared=True)
    >>> scores = np.concatenate([[1e17 + 32.0, 1e17, -1e18], np.zeros(9)])
    >>> settled(one_word, scores).scores[:3]
    array([  0., -32., -inf])
    """
    unit = SHRUNK if _sizes(sets, scores).max(initial=0.0) > ADDABLE else 1.0
    given = found = scores / unit
    sizes, is_closer = _sizes(sets, found), True
    while is_closer and (sizes > SMALL / unit).any():
        before, n_before = sizes, (given > -np.inf).sum()
        is_kept = _in_reach(sets, found, sizes, reach / unit)
        # From the scores as they came, so that each is rounded once.
        given = np.where(is_kept | _spread(sets, sizes <= PRECISE / unit), given, -np.inf)
        found = sets.centred(given, sets.infer(given))
        sizes = _sizes(sets, found)
        # What is left may have more in common, and then it may show that less is in reach.
        is_closer = bool((sizes < before / 2).any() or (given > -np.inf).sum() < n_before)
    with np.errstate(over="ignore"):
        is_allowed, found = found > -np.inf, found * unit
    # A difference beyond the largest double has no digits beside others; it is not forbidden.
    is_beyond = is_allowed & (found == -np.inf)
    sizes = _sizes(sets, np.where(is_beyond, np.finfo(np.float64).max, found))
    if (sizes > PRECISE).any():
        # The only structure of a sentence has all of its score in common with the others.
        is_alone = np.array(sets.count(given > -np.inf)) == 1
        found = np.where(_spread(sets, is_alone) & (given > -np.inf), 0.0, found)
        sizes = np.where(is_alone, 0.0, sizes)
    return Settled(found, sizes)


def centre_arcs(arcs: FloatArray, *, single_root: bool) -> None:
    """Less the largest score of an arc into each word, in place; of root arcs, if there is one.

    >>> arcs = np.array([[0.0, 1e12, 1e12 + 1.0], [0.0, -np.inf, 5.0], [0.0, 7.0, -np.inf]])
    >>> centre_arcs(arcs, single_root=True)
    >>> arcs[:, 1:]
    array([[ -3.,   0.],
           [-inf,   0.],
           [  0., -inf]])
    """
    labels = tuple(range(2, arcs.ndim))
    largest = largest_finite(arcs, (0, *labels))
    if single_root:
        # Root arcs are shifted by themselves, so that they are no measure where others are known.
        inner = arcs[1:].max(axis=(0, *labels), keepdims=True, initial=-np.inf)
        largest = np.where(inner > -np.inf, inner, largest)
        is_root = arcs[0] > -np.inf
        shift = np.broadcast_to(largest[0], arcs[0].shape)[is_root]
        most = (arcs[0][is_root] - shift).max(initial=-np.inf)
        arcs[0][is_root] = exact_sum(arcs[0][is_root], -shift, np.full(len(shift), -most))
        arcs[1:] -= largest
    else:
        arcs -= largest


def exact_totals(sets: Structures, counts: FloatArray, scores: FloatArray) -> list[Fraction]:
    """<counts, scores> of each sentence without any rounding; finite scores wherever it counts.

    >>> from partita.structures.chains import Chains
    >>> exact_totals(
    ...     Chains([1], 3, shared=True), np.ones(12), np.array([1e17, 3.0, -1e17] + [0.0] * 9)
    ... )
    [Fraction(3, 1)]
    """
    totals, offsets = [], sets.part_offsets.tolist()
    for start, end in zip(offsets, offsets[1:], strict=False):
        used = start + np.flatnonzero(counts[start:end])
        terms = zip(counts[used].tolist(), scores[used].tolist(), strict=True)
        totals.append(sum((Fraction(n) * Fraction(score) for n, score in terms), Fraction(0)))
    return totals


def _in_reach(sets: Structures, scores: FloatArray, sizes: FloatArray, reach: float) -> BoolArray:
    """Which parts are in a structure that is not certain to be out of reach of the best.

    A structure is, if all of them together, were they as good, would have no probability; and if
    it stays so however its score and the best one were rounded.
    """
    allowed = scores > -np.inf
    if reach == np.inf:
        return allowed
    n_structures = sets.infer(np.where(allowed, 0.0, -np.inf)).log_partition
    n_parts = sets.argmax(np.where(allowed, 1.0, -np.inf)).scores
    slack = reach * (NEGLIGIBLE + n_structures) + ROUNDING * (n_parts + 1.0) * sizes
    least = sets.argmax(scores).scores - slack
    found: BoolArray = sets.max_marginals(scores) >= _spread(sets, least)
    return found & allowed


def _sizes(sets: Structures, scores: FloatArray) -> FloatArray:
    """The largest absolute score of each sentence, of those that are finite."""
    finite = np.where(scores == -np.inf, 0.0, np.abs(scores))
    offsets = sets.part_offsets.tolist()
    ends = zip(offsets, offsets[1:], strict=False)
    return np.array([finite[start:end].max(initial=0.0) for start, end in ends])


def _spread(sets: Structures, values: Array) -> Array:
    """A value of each sentence, for each of its parts."""
    return np.repeat(values, np.diff(sets.part_offsets))
