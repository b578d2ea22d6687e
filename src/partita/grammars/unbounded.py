"""D(x): all derivations of a sentence, whatever the length of the target; often too many to sum."""

import math
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray
from partita.grammars.loops import log_one_minus_exp
from partita.structures.batch import check_scores, number_array

_LOG_4 = 2.0 * math.log(2.0)


class DivergenceError(ValueError):
    """The sum over all derivations of a sentence is infinite."""


def unbounded_log_partition(
    links: ArrayLike,
    deletions: ArrayLike,
    insertion: float,
    straight: float,
    inverted: float,
    *,
    normal_form: bool = False,
) -> float:
    """log Z(x): the log sum over the derivations of a sentence with targets of every length.

    Scores are the same at every place: `links` (n,), for each word the log sum over its
    translations; `deletions` (n,); `insertion`, the log sum over the words that can be inserted;
    and the two binary rules. With a = exp(insertion), b = exp(straight) + exp(inverted) and
    c_i = exp(links_i) + exp(deletions_i), for n >= 1 words

        Z(x) = Cat(n-1) b^(n-1) c_1 ... c_n / (1 - 4ab)^(n - 1/2)      where 4ab < 1

    and infinite otherwise: among the 2^(T-1) Cat(T-1) derivations of T terminals those with ever
    more insertions outweigh the rest. In the normal form insertions follow each other in one order
    only, and the sum is finite where exp(insertion + straight) < 1. The error for an infinite sum
    is a `DivergenceError`. O(n), and O(n³) for the normal form.

    >>> quarter = math.log(0.25)
    >>> z = unbounded_log_partition([0.0], [-np.inf], quarter, math.log(0.75), -np.inf)
    >>> round(math.exp(z), 9)  # 1 / (1 - 4 * 0.25 * 0.75) ** 0.5
    2.0
    >>> unbounded_log_partition([0.0], [-np.inf], 0.0, 0.0, 0.0)
    Traceback (most recent call last):
    partita.grammars.unbounded.DivergenceError: the partition function over targets of every ...
    """
    link, deletion = _checked(links, deletions, np.array([insertion, straight, inverted]))
    if normal_form:
        return _normal(link, deletion, insertion, straight, inverted)
    binary = float(np.logaddexp(straight, inverted))
    n = len(link)
    log_odds = _LOG_4 + insertion + binary
    if n == 0:
        if log_odds > 0.0:
            diverge(insertion, straight, inverted, normal_form=False)
        return _only_insertions(insertion, log_odds)
    words = float(np.logaddexp(link, deletion).sum())
    if words == -np.inf or (n > 1 and binary == -np.inf):
        return -math.inf
    if log_odds >= 0.0:
        diverge(insertion, straight, inverted, normal_form=False)
    log_catalan = math.lgamma(2 * n - 1) - math.lgamma(n) - math.lgamma(n + 1)
    trees = log_catalan + ((n - 1) * binary if n > 1 else 0.0)
    return trees + words - (n - 0.5) * log_one_minus_exp(log_odds)


def _only_insertions(insertion: float, log_odds: float) -> float:
    """The empty sentence: E = a + b E², so E = 2a / (1 + sqrt(1 - 4ab)), finite even at 4ab = 1."""
    root = math.sqrt(-math.expm1(log_odds))
    return insertion + math.log(2.0) - math.log1p(root)


def _normal(
    link: FloatArray, deletion: FloatArray, insertion: float, straight: float, inverted: float
) -> float:
    """The recursion of the normal form on source spans, insertions summed as geometric series.

    X[s, t] = straight + inverted + L,   straight = [C X],   inverted = <D X>,
    L[s, t] = link of s, deletions behind it, and any number of insertions: 1 / (1 - q).
    """
    n = len(link)
    ratio = insertion + straight
    if ratio >= 0.0:
        nothing = n > 0 and bool((np.logaddexp(link, deletion) == -np.inf).any())
        if nothing:
            return -math.inf
        diverge(insertion, straight, inverted, normal_form=True)
    more = -log_one_minus_exp(ratio)
    X, C, D = (np.full((n + 1, n + 1), -np.inf) for _ in range(3))
    for t in range(1, n + 1):
        for s in range(t - 1, -1, -1):
            nulls = float(np.sum(straight + deletion[s + 1 : t]))
            leaf = link[s] + nulls + more
            middle = slice(s + 1, t)
            is_straight = straight + _log_sum(C[s, middle] + X[middle, t])
            is_inverted = inverted + _log_sum(D[s, middle] + X[middle, t])
            C[s, t] = np.logaddexp(is_inverted, leaf)
            D[s, t] = np.logaddexp(is_straight, leaf)
            X[s, t] = np.logaddexp(is_straight, C[s, t])
    total = X[0, n] if n else -np.inf
    for i in range(n + 1):
        # The first i words deleted, and any number of insertions, but not neither.
        before = float(np.sum(deletion[:i])) + _times(i - 1, straight) + more
        if i == 0:
            before = insertion + more
        total = np.logaddexp(total, before + (straight + X[i, n] if i < n else 0.0))
    return float(total)


def _log_sum(values: FloatArray) -> float:
    return float(np.logaddexp.reduce(values)) if len(values) else -math.inf


def _times(count: int, score: float) -> float:
    """count * score, where 0 * -inf is 0."""
    return count * score if count > 0 else 0.0


def diverge(insertion: float, straight: float, inverted: float, *, normal_form: bool) -> NoReturn:
    """A `DivergenceError` that says which product of weights is too large."""
    if normal_form:
        _diverge(math.exp(straight + insertion), "e^(straight + insertion)")
    ratio = math.exp(_LOG_4 + insertion + float(np.logaddexp(straight, inverted)))
    _diverge(ratio, "4 (e^straight + e^inverted) e^insertion")


def _diverge(value: float, name: str) -> NoReturn:
    raise DivergenceError(
        f"the partition function over targets of every length is infinite: {name} is {value:.6g}; "
        "expected less than 1, so that longer targets weigh less and less. Bound the number of "
        "target words (bounded_forest), or lower the scores of the insertions or binary rules."
    )


def _checked(
    links: ArrayLike, deletions: ArrayLike, rules: FloatArray
) -> tuple[FloatArray, FloatArray]:
    link = number_array("links", links, "(n,) numbers")
    deletion = number_array("deletions", deletions, "(n,) numbers")
    if link.ndim != 1 or link.shape != deletion.shape:
        raise ValueError(
            f"links has shape {link.shape} and deletions {deletion.shape}; expected (n,), a score "
            "for each word, in both. Sum over the translations of a word first."
        )
    check_scores("links", link)
    check_scores("deletions", deletion)
    check_scores("[insertion, straight, inverted]", rules)
    return link, deletion
