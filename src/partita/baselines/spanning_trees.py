"""Spanning trees by the inverse of the Kirchhoff matrix (Druck & Smith 2009, Koo et al. 2007).

Scores of arcs come as (n+1, n+1), [head, modifier], with the root as row 0, of one sentence. The
report writes s(i, j) for the weight of the arc j -> i, K for the matrix and R for its inverse. All
of it has the weaknesses of a general inverse: beyond a condition number of some 1e16 the answers
mean nothing, and scores that differ by hundreds underflow.
"""

from collections.abc import Iterator

import numpy as np

from partita.arrays import FloatArray


def arc_marginals(weights: FloatArray, single_root: bool = False) -> FloatArray:
    """p(head -> modifier) from weights, both [head, modifier]; O(N³).

    With many roots K[j, i] = -s(i, j) and K[i, i] = sum_j s(i, j) over all heads, so det K = Z and

        p(j -> i) = s(i, j) (R[i, i] - R[i, j]),    R[i, 0] = 0

    (Smith & Smith 2007, equation 13). With a single root, root arcs leave the diagonal and their
    weights replace the first row of K (Koo et al. 2007): then p(0 -> i) = s(i, 0) R[i, 1], and for
    other heads R[1, 1] and R[i, 1] do not count above.
    """
    words, root = weights[1:, 1:], weights[0, 1:]
    kirchhoff = np.diag(words.sum(axis=0)) - words
    if single_root:
        kirchhoff[0] = root
    else:
        kirchhoff += np.diag(root)
    inverse = np.linalg.inv(kirchhoff)
    modifiers, heads = inverse.diagonal().copy(), inverse.T.copy()
    from_root = modifiers.copy()
    if single_root:
        from_root = inverse[:, 0]
        modifiers[0] = 0.0
        heads[0] = 0.0
    marginals = np.zeros_like(weights)
    marginals[0, 1:] = root * from_root
    marginals[1:, 1:] = words * (modifiers - heads)
    return marginals


def pair_marginals_by_clamping(arcs: FloatArray, single_root: bool = False) -> FloatArray:
    """p(both arcs), [head, modifier, head2, modifier2], from N² + 1 inversions: O(N⁵).

    The method that the report improves on (section 1.1): for each arc all others into its modifier
    get weight 0, the matrix of what is left is inverted again, and p(both) = p(second | first)
    p(first).
    """
    weights = arc_weights(arcs)
    marginals = arc_marginals(weights, single_root)
    pairs = np.zeros(weights.shape * 2)
    for arc, given in clamped_marginals(weights, single_root):
        pairs[arc] = marginals[arc] * given
    return pairs


def product_by_clamping(
    arcs: FloatArray, direction: FloatArray, single_root: bool = False
) -> FloatArray:
    """The covariance of all pairs of arcs times a direction, in the same way: O(N⁵).

    p(arc) (E[direction | arc] - E[direction]) for each arc.
    """
    weights = arc_weights(arcs)
    marginals = arc_marginals(weights, single_root)
    mean = (marginals * direction).sum()
    product = np.zeros_like(weights)
    for arc, given in clamped_marginals(weights, single_root):
        product[arc] = marginals[arc] * ((given * direction).sum() - mean)
    return product


def product_by_pairs_of_arcs(arcs: FloatArray, direction: FloatArray) -> FloatArray:
    """The same product by visiting every pair of arcs, many roots: O(N⁴), equation 2.

    Cov[j -> i, l -> k] = -s(i, j) s(k, l) (R[i, k] - R[i, l]) (R[k, i] - R[k, j]), which is the
    report's sum of four products, plus the marginal itself for an arc with itself. Blocks of N³
    numbers are in memory at a time.
    """
    weights = arc_weights(arcs)
    n_nodes = len(weights)
    inverse = np.zeros((n_nodes, n_nodes))
    kirchhoff = np.diag(weights[:, 1:].sum(axis=0)) - weights[1:, 1:]
    inverse[1:, 1:] = np.linalg.inv(kirchhoff)
    # As in the report, [modifier i, head j].
    scores = weights.T
    product = scores * (inverse.diagonal()[:, None] - inverse) * direction.T
    for k in range(1, n_nodes):
        # [i, j] and [i, l]: the two factors of the covariance with the arcs into word k.
        first = scores * (inverse[k][:, None] - inverse[k])
        second = scores[k] * (inverse[:, k][:, None] - inverse)
        covariance = -first[:, :, None] * second[:, None, :]
        product += covariance @ direction[:, k]
    transposed: FloatArray = product.T
    return transposed


def arc_weights(arcs: FloatArray) -> FloatArray:
    """exp of the scores, shifted, and 0 for what is no arc.

    >>> arc_weights(np.zeros((2, 2)))
    array([[0., 1.],
           [0., 0.]])
    """
    weights: FloatArray = np.exp(arcs - arcs[:, 1:].max())
    np.fill_diagonal(weights, 0.0)
    weights[:, 0] = 0.0
    return weights


def clamped_marginals(
    weights: FloatArray, single_root: bool = False
) -> Iterator[tuple[tuple[int, int], FloatArray]]:
    """Each arc of a weight, and the marginals of the trees that have it: an inversion each, O(N³).

    >>> [(arc, given)] = clamped_marginals(arc_weights(np.zeros((2, 2))))
    >>> arc, float(given[arc])
    ((0, 1), 1.0)
    """
    for head, modifier in np.argwhere(weights > 0).tolist():
        clamped = weights.copy()
        clamped[:, modifier] = 0.0
        clamped[head, modifier] = weights[head, modifier]
        yield (head, modifier), arc_marginals(clamped, single_root)
