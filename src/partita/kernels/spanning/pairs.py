"""The full covariance of the arcs of spanning trees, from one elimination in O(n⁴).

With R the inverse of the Laplacian and G[i, j] = R[j, j] - R[j, i], Druck and Smith's two-edge
marginals amount to

    Cov[(i, j), (k, l)] = -w[i, j] w[k, l] T[j, k, l] T[l, i, j] + [same arc] p(i, j)
    T[j, k, l] = R[j, l] - R[j, k] = G[k, j] - G[l, j]

The differences are not taken, since they cancel where the Laplacian is nearly singular. They obey
the recursions of G by themselves (see `spanning.elimination`): for i, i' < k

    T[k, i, i'] = sum_j<k w[k, j] T[j, i, i'] / d_k        T[k, i, k] = G[i, k]
    T[j, k, i'] = sum_i<k q_k[i] T[j, i, i']               T[j, i', k] = -T[j, k, i']

With a single root all root arcs enter the matrix in one place, and T[j, 0, l] = G[0, j].
"""

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.simd.small_matrix import padded_width
from partita.kernels.spanning.elimination import (
    differentiate,
    eliminate,
    prepare,
)


@kernel
def add_column(differences, rows, width, k, inverse):
    """T[k, i, i'] = sum_j<k w[k, j] T[j, i, i'] / d_k for i, i' < k."""
    for j in range(1, k):
        factor = rows[k * width + j] * inverse
        for i in range(k):
            target, source = differences[k, i, :k], differences[j, i, :k]
            for other in range(k):
                target[other] += factor * source[other]


@kernel
def add_row(differences, rows, width, k, inverse, single_root):
    """T[j, k, i'] = sum_i<k q_k[i] T[j, i, i'] = -T[j, i', k] for i' < k."""
    for j in range(1, k):
        target = differences[j, k, :k]
        for i in range(k):
            factor, source = rows[i * width + k] * inverse, differences[j, i, :k]
            for other in range(k):
                target[other] += factor * source[other]
        if single_root:
            differences[j, k, 0] = 0.0
            differences[j, 0, k] = differences[j, 0, j]
        for other in range(1 if single_root else 0, k):
            differences[j, other, k] = -differences[j, k, other]


@kernel
def fill_differences(rows, inverses, gradient, n_words, single_root, differences):
    """T for all words, in the order of elimination."""
    width = padded_width(n_words + 1)
    differences[:] = 0.0
    for k in range(1, n_words + 1):
        add_column(differences, rows, width, k, inverses[k])
        for i in range(k):
            differences[k, i, k] = gradient[i * width + k]
            if i > 0 or not single_root:
                differences[k, k, i] = -gradient[i * width + k]
        add_row(differences, rows, width, k, inverses[k], single_root)


@kernel
def write_covariance(weights, differences, order, marginals, out):
    """Cov = -w[i, j] T[l, i, j] w[k, l] T[j, k, l], and p - p² on the diagonal; 0 where p is 0."""
    n_nodes = len(order)
    left = np.empty(n_nodes)
    out[:] = 0.0
    for i in range(n_nodes):
        for j in range(1, n_nodes):
            row = order[i] * n_nodes + order[j]
            if marginals[row] == 0.0:
                continue
            for m in range(n_nodes):
                left[m] = -weights[i, j] * differences[m, i, j]
            for k in range(n_nodes):
                for m in range(1, n_nodes):
                    column = order[k] * n_nodes + order[m]
                    if marginals[column] != 0.0:
                        out[row, column] = left[m] * (weights[k, m] * differences[j, k, m])
            out[row, row] += marginals[row]


@kernel
def covariance(arcs, first, n_words, single_root, marginals, out):
    """Dense covariance of one safe sentence, ((n+1)², (n+1)²), given its own marginals."""
    width = padded_width(n_words + 1)
    size = (n_words + 1) * width
    weights, rows, gradient = np.empty(size), np.empty(size), np.empty(size)
    best, inverses = np.empty(width), np.empty(width)
    source, left = np.empty(width), np.empty(width)
    _, word = prepare(arcs, first, n_words, single_root, weights, best)
    rows[:] = weights
    eliminate(n_words, single_root, rows, inverses, source)
    differentiate(n_words, single_root, rows, inverses, source, left, gradient)
    differences = np.empty((n_words + 1, n_words + 1, n_words + 1))
    fill_differences(rows, inverses, gradient, n_words, single_root, differences)
    order = np.arange(n_words + 1)
    order[1], order[word] = word, 1
    square = weights.reshape(n_words + 1, width)
    write_covariance(square, differences, order, marginals, out)
