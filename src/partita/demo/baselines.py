"""How the same numbers are computed without the covariance product: small versions, to be timed."""

import numpy as np

from partita.arrays import FloatArray
from partita.distribution.linear_chain import LinearChain
from partita.distribution.spanning_tree import SpanningTree

STEP = 1e-5


def entropy_gradient_by_differences(unary: FloatArray, pairwise: FloatArray) -> FloatArray:
    """Central differences of the entropy in every score: (n s + s²) times two forward passes."""
    scores = np.concatenate([unary.ravel(), pairwise.ravel()])
    gradient = np.empty_like(scores)
    for part in range(len(scores)):
        values = []
        for step in (STEP, -STEP):
            moved = scores.copy()
            moved[part] += step
            p = LinearChain(
                moved[: unary.size].reshape(unary.shape),
                moved[unary.size :].reshape(pairwise.shape),
            )
            values.append(p.entropy)
        gradient[part] = (values[0] - values[1]) / (2 * STEP)
    return gradient


def product_by_matrix(arcs: FloatArray, direction: FloatArray) -> FloatArray:
    """The covariance of all pairs of arcs, O(N⁴) numbers, times a direction."""
    product: FloatArray = SpanningTree(arcs).covariance() @ direction.ravel()
    return product.reshape(arcs.shape)


def product_by_clamping(arcs: FloatArray, direction: FloatArray) -> FloatArray:
    """The same covariance by clamping every arc in turn and inverting again: O(N⁵).

    E[arc's count times the direction's sum] - its mean times that sum's mean, with
    E[direction | arc] from the marginals of the trees that have the arc. Many roots only, and only
    for scores of moderate size: a general inverse is used, as such programs do.
    """
    weights = np.exp(arcs - arcs[:, 1:].max())
    np.fill_diagonal(weights, 0.0)
    weights[:, 0] = 0.0
    marginals = _arc_marginals(weights)
    mean = float((marginals * direction).sum())
    product = np.zeros_like(arcs)
    for head, modifier in np.argwhere(weights > 0):
        clamped = weights.copy()
        clamped[:, modifier] = 0.0
        clamped[head, modifier] = weights[head, modifier]
        given = float((_arc_marginals(clamped) * direction).sum())
        product[head, modifier] = marginals[head, modifier] * (given - mean)
    return product


def _arc_marginals(weights: FloatArray) -> FloatArray:
    """p(head -> modifier) = w (R[m, m] - R[m, h]), R the inverse of the Laplacian."""
    laplacian = np.diag(weights[:, 1:].sum(axis=0)) - weights[1:, 1:]
    inverse = np.linalg.inv(laplacian)
    gone = np.vstack([np.zeros(len(inverse)), inverse.T])
    marginals = np.zeros_like(weights)
    marginals[:, 1:] = weights[:, 1:] * (np.diag(inverse) - gone)
    return marginals
