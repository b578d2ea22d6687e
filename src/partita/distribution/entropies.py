"""Entropies of a distribution from its log-partition and marginals, without lost digits.

Every one is a small difference of large numbers where the scores are large, or where the order of
Rényi's entropy is close to 1. What all structures of a sentence have in common is taken out of
large scores first (`Distribution.settled`); and near order 1 the difference of two log-partitions
is an integral of the expectation between them,

    A(alpha s) - A(s) = integral from 1 to alpha of <s, marginals(t s)> dt

so that H_alpha = A(s) - mean over t of <s, marginals(t s)>, and its gradient
-alpha mean over t of covariance(t s) s.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from partita.arrays import FloatArray

if TYPE_CHECKING:
    from partita.distribution.base import Distribution

NEAR_ONE = 0.01
"""Orders closer to 1 than this are integrated: a quotient would keep less than ten digits."""
N_PLACES = 5
"""Of Gauss and Legendre. Over an interval of 0.01 the expectation is a polynomial of far lower
degree than the 9 that they integrate exactly, to double precision."""


def entropy(p: "Distribution") -> FloatArray:
    """A - <scores, marginals> of each sentence; where rounding would leave less than nothing, 0."""
    found = p.known_entropy
    if found is None:
        q = p.settled
        found = q.inference.log_partition - q.flat_expectation(q.scores)
    return np.maximum(found, 0.0)


def entropy_gradient(p: "Distribution") -> FloatArray:
    """-covariance_product(scores), over the parts of all sentences; the caller may overwrite it."""
    gradient = p.take_entropy_gradient()
    if gradient is None:
        q = p.settled
        gradient = q.flat_covariance_product(q.scores)
        np.negative(gradient, out=gradient)
    return gradient


def renyi_entropy(p: "Distribution", alpha: float) -> FloatArray:
    """(A(alpha scores) - alpha A(scores)) / (1 - alpha) of each sentence, for any order from 0."""
    if alpha == 1:
        return entropy(p)
    if alpha == 0:
        # The logarithm of how many there are, however large scores are.
        return p.tempered(alpha).inference.log_partition
    p = p.settled
    log_partition = p.inference.log_partition
    if alpha == np.inf:
        return log_partition - p.best.scores
    if abs(alpha - 1) < NEAR_ONE:
        expected = (share * p.tempered(t).flat_expectation(p.scores) for t, share in places(alpha))
        return log_partition - sum(expected, np.zeros_like(log_partition))
    return (p.tempered(alpha).inference.log_partition - alpha * log_partition) / (1 - alpha)


def renyi_gradient(p: "Distribution", alpha: float) -> FloatArray:
    """alpha (marginals(alpha scores) - marginals(scores)) / (1 - alpha), over all parts."""
    if alpha == 1:
        return entropy_gradient(p)
    p = p.settled
    if alpha == np.inf:
        return p.inference.marginals - p.structures.counts(p.best.structures)
    if abs(alpha - 1) < NEAR_ONE:
        products = (
            -alpha * share * p.tempered(t).flat_covariance_product(p.scores)
            for t, share in places(alpha)
        )
        return sum(products, np.zeros_like(p.scores))
    tempered = p.tempered(alpha).inference.marginals
    return (alpha / (1 - alpha)) * (tempered - p.inference.marginals)


def places(alpha: float) -> Iterator[tuple[float, float]]:
    """Places between 1 and alpha, and the share that each has of a mean over the interval.

    >>> round(sum(share * t for t, share in places(1.5)), 12)
    1.25
    """
    nodes, weights = np.polynomial.legendre.leggauss(N_PLACES)
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        yield 1 + (alpha - 1) * (1 + node) / 2, weight / 2
