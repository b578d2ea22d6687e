"""The O(N⁴) covariance of Druck and Smith (2009), section 2, as the report has it.

Every pair of arcs is visited: with K the Laplacian [head, modifier], R its inverse and R = 0 in a
row or column of the root,

    Cov[j -> i, l -> k] = -s(i, j) s(k, l) (R[i, k] - R[i, l]) (R[k, i] - R[k, j])

plus the marginal itself for an arc with itself. Kept as the baseline of the parser benchmark; the
library multiplies the same matrix by a vector in O(N³) and never forms it. Many roots only.
"""

import numpy as np


def gradient(arcs, direction):
    """Covariance of all arcs times `direction`, both [head, modifier]; blocks of N³ numbers."""
    n_nodes = len(arcs)
    weights = np.exp(arcs - arcs[:, 1:].max())
    np.fill_diagonal(weights, 0.0)
    weights[:, 0] = 0.0
    laplacian = np.diag(weights[:, 1:].sum(axis=0)) - weights[1:, 1:]
    inverse = np.zeros((n_nodes, n_nodes))
    inverse[1:, 1:] = np.linalg.inv(laplacian)
    # [modifier i, head j]: s(i, j), and what it is multiplied by to be a marginal.
    scores = weights.T
    marginals = scores * (np.diag(inverse)[:, None] - inverse)
    product = marginals * direction.T
    for k in range(1, n_nodes):
        # [i, j] and [i, l]: the two factors of the covariance with the arcs into word k.
        first = scores * (inverse[k][:, None] - inverse[k])
        second = scores[k] * (inverse[:, k][:, None] - inverse)
        covariance = -first[:, :, None] * second[:, None, :]
        product += covariance @ direction[:, k]
    return product.T
