"""Numbers of a distribution whose scores are very large: sums in fractions, rounded once.

`Distribution.certain` has small scores, from which every structure's own score follows: what was
taken from it is the same for all structures, and known exactly from one of them.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.arrays import FloatArray
from partita.distribution.checks import beyond_doubles, check_precision
from partita.structures.base import Structure
from partita.structures.batch import pieces
from partita.structures.settling import ADDABLE, NEGLIGIBLE, UNIT, exact_totals

if TYPE_CHECKING:
    from partita.distribution.base import Distribution


def log_partition(p: "Distribution") -> FloatArray:
    """A of each sentence."""
    terms = zip(_taken(p), _fractions(p.certain.inference.log_partition), strict=True)
    return _rounded("the log-partition", (taken + rest for taken, rest in terms))


def score(p: "Distribution", counts: FloatArray) -> FloatArray:
    """<counts, scores> of each sentence; -inf if forbidden."""
    return _rounded("the score", _scores(p, counts))


def log_prob(p: "Distribution", counts: FloatArray) -> FloatArray:
    """The same minus A."""
    smaller = p.certain.inference.log_partition
    terms = zip(_scores(p, counts), _taken(p), _fractions(smaller), strict=True)
    logs = (None if own is None else own - taken - rest for own, taken, rest in terms)
    return _rounded("the log-probability", logs)


def max_marginals(p: "Distribution") -> FloatArray:
    """For each part the score of the best structure that uses it.

    Of parts in a structure that competes with the best one, to the last digit.
    """
    sets, q = p.structures, p.certain
    found, near = p.flat_max_marginals(), q.flat_max_marginals()
    is_near = near >= np.repeat(q.best.scores, np.diff(sets.part_offsets)) - NEGLIGIBLE
    offsets, smallest = sets.part_offsets.tolist(), []
    for start, end, taken in zip(offsets[:-1], offsets[1:], _taken(p), strict=True):
        mine, is_mine = found[start:end], is_near[start:end]
        sums = (taken + score for score in _fractions(near[start:end][is_mine]))
        mine[is_mine] = _rounded("a max-marginal", sums)
        smallest.append(np.abs(mine[~is_mine]).min(initial=np.inf))
    _check_far(p, "a max-marginal", smallest)
    return found


def k_best(p: "Distribution", k: int) -> list[list[tuple[Structure, float]]]:
    """The k best structures of each sentence: those that compete with the best, then others."""
    pairs = zip(p.certain.flat_k_best(k), p.flat_k_best(k), strict=True)
    found = [
        list({_key(structure): structure for structure, _ in [*near, *far]}.values())
        for near, far in pairs
    ]
    # Structures are counted one for each sentence; the last goes on where there are fewer.
    ranks = range(max(map(len, found), default=0))
    rows = [[each[min(rank, len(each) - 1)] for each in found] for rank in ranks]
    totals = [exact_totals(p.structures, p.structures.counts(row), p.scores) for row in rows]
    lists, smallest = [], []
    for sentence, structures in enumerate(found):
        scores = [totals[rank][sentence] for rank in range(len(structures))]
        best = sorted(range(len(scores)), key=lambda rank: -scores[rank])[:k]
        far = [scores[rank] for rank in best if scores[best[0]] - scores[rank] > NEGLIGIBLE]
        smallest.append(np.abs(_rounded("a score", far)).min(initial=np.inf))
        rounded = _rounded("a score", [scores[rank] for rank in best]).tolist()
        lists.append([(structures[rank], score) for rank, score in zip(best, rounded, strict=True)])
    _check_far(p, "a score", smallest)
    return lists


def _check_far(p: "Distribution", what: str, sizes: list[float]) -> None:
    """Scores of structures out of reach are more than the rounding of sums; infinity for none."""
    sets, smallest = p.structures, np.array(sizes)
    n_parts = sets.argmax(np.where(p.scores > -np.inf, 1.0, -np.inf)).scores
    unit = UNIT if p.largest > ADDABLE else 1.0
    added = np.where(smallest < np.inf, p.largest / unit * n_parts, 0.0)
    check_precision(sets, what, np.nan_to_num(smallest) / unit, added)


def _taken(p: "Distribution") -> list[Fraction]:
    """What every structure of each sentence has lost in `certain`, by the best one."""
    q = p.certain
    counts = q.structures.counts(q.best.structures)
    sums = exact_totals(p.structures, counts, p.scores)
    return [a - b for a, b in zip(sums, exact_totals(p.structures, counts, q.scores), strict=True)]


def _scores(p: "Distribution", counts: FloatArray) -> list[Fraction | None]:
    """The score of a structure of each sentence; None if forbidden."""
    forbidden, sets = (counts > 0) & (p.scores == -np.inf), p.structures
    totals = exact_totals(sets, np.where(forbidden, 0.0, counts), p.scores)
    is_forbidden = pieces(forbidden, sets.part_offsets)
    return [
        None if parts.any() else total for parts, total in zip(is_forbidden, totals, strict=True)
    ]


def _fractions(values: FloatArray) -> list[Fraction]:
    return [Fraction(value) for value in values.tolist()]


def _rounded(what: str, values: Iterable[Fraction | None]) -> FloatArray:
    """The nearest doubles; -inf for None."""
    try:
        return np.array([-np.inf if value is None else float(value) for value in values])
    except OverflowError:
        raise beyond_doubles(what) from None


def _key(structure: Structure) -> tuple[bytes, ...]:
    """The same for the same structure."""
    arrays: Any = structure if isinstance(structure, tuple) else (structure,)
    return tuple(np.asarray(array).tobytes() for array in arrays)
