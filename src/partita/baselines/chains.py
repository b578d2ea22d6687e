"""Gradients of a chain's entropy, of one sentence, as they were computed before Mann & McCallum."""

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray
from partita.distribution.linear_chain import ChainParts, LinearChain


def entropy_gradient_by_quadratic_expectations(unary: ArrayLike, pairwise: ArrayLike) -> ChainParts:
    """-covariance times scores as Jiao et al. (2006) have it, O(n² s³).

    "An Efficient Form of the Entropy Gradient" (Mann & McCallum 2007, section 3) quotes it:
    d(-H)/d theta = cov[F] theta, and the quadratic expectations E[F_j F_k] take a loop over all
    pairs of positions inside forward-backward. Here for the scores themselves: a part with
    marginal p has -p (E[score | part] - E[score]), and E[score | part] sums over every other
    position through the s x s matrix of p(tag there | tag here). Shapes are those of
    `LinearChain`; the marginals are its own.

    >>> p = LinearChain(np.eye(2), np.zeros((2, 2)))
    >>> gradient = entropy_gradient_by_quadratic_expectations(np.eye(2), np.zeros((2, 2)))
    >>> np.allclose(gradient.unary, p.entropy_gradient().unary)
    True
    """
    p = LinearChain(unary, pairwise).by_position
    # A forbidden part has probability 0, and what it would score does not matter.
    tags, tables = (
        np.where(scores > -np.inf, scores, 0.0) for (scores,) in p.structures.split(p.scores)
    )
    marginals, pairs = p.marginals
    forward = _conditional(pairs, marginals[:-1, :, None])
    backward = _conditional(pairs, marginals[1:, None, :]).transpose(0, 2, 1)
    # Expected score of one step on (its transition and the tag it leads to), and of one step back.
    ahead = (forward * (tables + tags[1:, None, :])).sum(axis=2)
    behind = (backward * (tables + tags[:-1, :, None]).transpose(0, 2, 1)).sum(axis=2)
    suffix = _expected_ahead(forward, ahead)
    prefix = _expected_ahead(backward[::-1], behind[::-1])[::-1]
    given_tag = prefix + tags + suffix
    left, right = (prefix + tags)[:-1, :, None], (tags + suffix)[1:, None, :]
    mean = (marginals * tags).sum() + (pairs * tables).sum()
    gradient = -pairs * (left + tables + right - mean)
    if np.ndim(pairwise) == 2:
        gradient = gradient.sum(axis=0)
    return ChainParts(-marginals * (given_tag - mean), gradient)


def _conditional(joint: FloatArray, given: FloatArray) -> FloatArray:
    """p(a | b) from p(a, b) and p(b), 0 where b cannot be."""
    found: FloatArray = np.divide(joint, given, out=np.zeros_like(joint), where=given > 0.0)
    return found


def _expected_ahead(steps: FloatArray, values: FloatArray) -> FloatArray:
    """What lies ahead of each position, given its tag: the extra loop, over all distances.

    sum over d of there_d[t] values[t + d], where there_d[t] = steps[t] ... steps[t + d - 1].
    """
    n_steps, n_tags = values.shape
    expected = np.zeros((n_steps + 1, n_tags))
    there = np.broadcast_to(np.eye(n_tags), steps.shape)
    for distance in range(n_steps):
        expected[: n_steps - distance] += np.einsum("tjk,tk->tj", there, values[distance:])
        there = there[:-1] @ steps[distance : n_steps - 1]
    return expected


def entropy_gradient_by_differences(
    unary: ArrayLike, pairwise: ArrayLike, step: float = 1e-5
) -> ChainParts:
    """Central differences of the entropy in every score: (n s + s²) times two forward passes."""
    parts = [np.array(scores, dtype=np.float64) for scores in (unary, pairwise)]
    gradients = [np.empty_like(scores) for scores in parts]
    for scores, gradient in zip(parts, gradients, strict=True):
        for index, score in np.ndenumerate(scores):
            values = []
            for moved in (score + step, score - step):
                scores[index] = moved
                values.append(LinearChain(*parts).entropy)
            scores[index] = score
            gradient[index] = (values[0] - values[1]) / (2 * step)
    return ChainParts(*gradients)
