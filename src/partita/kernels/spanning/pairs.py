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

from partita.kernels.jit import kernel, step
from partita.kernels.simd.lanes import N_LANES, load
from partita.kernels.spanning.elimination import (
    copy,
    differentiate,
    eliminate,
    fill_ends,
    prepare,
    square,
)


@step
def add_column(differences, rows, at, k, inverse):
    """T[k, i, i'] = sum_j<k w[k, j] T[j, i, i'] / d_k for i, i' < k."""
    for j in range(1, k):
        factor = rows[k * at.stride + j * N_LANES] * inverse
        for i in range(k):
            target, source = differences[k, i], differences[j, i]
            for other in range(k):
                target[other] += factor * source[other]


@step
def add_row(differences, rows, at, k, inverse, single_root):
    """T[j, k, i'] = sum_i<k q_k[i] T[j, i, i'] = -T[j, i', k] for i' < k."""
    for j in range(1, k):
        target = differences[j, k]
        for i in range(k):
            factor, source = rows[i * at.stride + k * N_LANES] * inverse, differences[j, i]
            for other in range(k):
                target[other] += factor * source[other]
        if single_root:
            differences[j, k, 0] = 0.0
            differences[j, 0, k] = differences[j, 0, j]
        for other in range(1 if single_root else 0, k):
            differences[j, other, k] = -differences[j, k, other]


@step
def fill_differences(rows, inverses, gradient, at, single_root, differences):
    """T for all words, in the order of elimination, from lane 0."""
    differences[:] = 0.0
    for k in range(1, at.n_words + 1):
        inverse = inverses[k * N_LANES]
        add_column(differences, rows, at, k, inverse)
        for i in range(k):
            g = gradient[i * at.stride + k * N_LANES]
            differences[k, i, k] = g
            if i > 0 or not single_root:
                differences[k, k, i] = -g
        add_row(differences, rows, at, k, inverse, single_root)


@step
def swapped(node, word):
    """Where a node was before `word` and word 1 changed places."""
    if node == 1:
        return word
    return 1 if node == word else node


@step
def write_covariance(weights, differences, at, word, marginals, left, out):
    """Cov = -w[i, j] T[l, i, j] w[k, l] T[j, k, l], and p - p² on the diagonal; 0 where p is 0."""
    n_nodes = at.n_words + 1
    out[:] = 0.0
    for i in range(n_nodes):
        for j in range(1, n_nodes):
            row = swapped(i, word) * n_nodes + swapped(j, word)
            if marginals[row] == 0.0:
                continue
            for m in range(n_nodes):
                left[m] = -weights[i * at.stride + j * N_LANES] * differences[m, i, j]
            for k in range(n_nodes):
                for m in range(1, n_nodes):
                    column = swapped(k, word) * n_nodes + swapped(m, word)
                    if marginals[column] != 0.0:
                        factor = weights[k * at.stride + m * N_LANES] * differences[j, k, m]
                        out[row, column] = left[m] * factor
            out[row, row] += marginals[row]


@kernel
def covariance(arcs, arc_offsets, n_words, only, single_root, marginals, differences, out):
    """Dense covariance of the safe sentence that `only` names, given its own marginals.

    ((n+1)², (n+1)²); `differences` is scratch, (n+1, n+1, n+1).
    """
    at, ends = square(n_words[only[0]], N_LANES), np.empty(N_LANES)
    size = (at.n_words + 1) * at.stride
    weights, rows, gradient = np.empty(size), np.empty(size), np.empty(size)
    best, inverses, words = np.empty(at.stride), np.empty(at.stride), np.empty(N_LANES)
    left = np.empty(at.stride + 2 * N_LANES)
    prepare(arcs, arc_offsets, n_words, only, 0, at, single_root, weights, best, words)
    copy(weights, at, rows, gradient)
    fill_ends(n_words, only, 0, ends)
    eliminate(rows, at, single_root, load(ends, 0), inverses)
    differentiate(rows, at, single_root, inverses, left, gradient)
    fill_differences(rows, inverses, gradient, at, single_root, differences)
    write_covariance(weights, differences, at, int(words[0]), marginals, left, out)
