"""Two-edge marginals as they were computed before: clamp an arc, invert the Laplacian again.

The O(N⁵) method that section 1.1 of Druck and Smith improves on, kept as the baseline of the tree
benchmark. For each of the N² arcs, all competing arcs into its modifier get weight 0, the Laplacian
of what is left is inverted in O(N³), and

    p(both arcs) = p(second arc | first arc) p(first arc)

Many roots only, and with all the weaknesses of a general inverse: beyond a condition number of
some 1e16 its answers mean nothing. Nothing in the library uses it.
"""

import numpy as np


def arc_marginals(weights):
    """p(head -> modifier) = w (R[m, m] - R[m, h]), R the inverse Laplacian, [head, modifier]."""
    laplacian = np.diag(weights[:, 1:].sum(axis=0)) - weights[1:, 1:]
    inverse = np.linalg.inv(laplacian)
    # Row h of `gone` is R[m, h] for each modifier m; the root has no row in R, and counts as 0.
    gone = np.vstack([np.zeros(len(inverse)), inverse.T])
    marginals = np.zeros_like(weights)
    marginals[:, 1:] = weights[:, 1:] * (np.diag(inverse) - gone)
    return marginals


def pair_marginals(arcs):
    """p(both arcs) of one sentence, [head, modifier, head2, modifier2], from N² + 1 inversions."""
    weights = np.exp(arcs - arcs[:, 1:].max())
    np.fill_diagonal(weights, 0.0)
    weights[:, 0] = 0.0
    marginals = arc_marginals(weights)
    pairs = np.zeros(weights.shape * 2)
    for head, modifier in np.argwhere(weights > 0):
        clamped = weights.copy()
        clamped[:, modifier] = 0.0
        clamped[head, modifier] = weights[head, modifier]
        pairs[head, modifier] = marginals[head, modifier] * arc_marginals(clamped)
    return pairs
