"""Spanning trees of one sentence alone, with the arcs of a head along the SIMD lanes.

The recursions are those of `spanning.elimination`, where each lane has a sentence of its own, so
that three of four would have nothing to do. Sums are added up in the same order, so that a sentence
has the same marginals to the last bit, alone or in a batch: sums over j go to lanes of different i,
which takes the gradient G both by rows and by columns.

Matrices have n + 1 rows of `padded_width(n + 1)` columns.
"""

import numpy as np

from partita.kernels.jit import kernel, step
from partita.kernels.simd.exponential import exponential
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    fma,
    load,
    maximum,
    select,
    store,
)
from partita.kernels.simd.lanes import total as lane_total
from partita.kernels.simd.small_matrix import highest_lane, padded_width, vector_times_matrix
from partita.kernels.spanning.elimination import Square, likeliest_root, log_product, swap_words
from partita.kernels.underflow import SAFE


@step
def read(arcs, at, weights):
    """The arcs of the sentence in padded rows, -inf on unused cells."""
    for i in range(at.n_words + 1):
        row, arc = i * at.stride, i * (at.n_words + 1)
        for j in range(1, at.n_words + 1):
            weights[row + j] = arcs[arc + j]
        for j in range(at.n_words + 1, at.stride):
            weights[row + j] = -np.inf
        weights[row] = -np.inf
        weights[row + i] = -np.inf


@step
def prepare(arcs, at, single_root, weights, best):
    """weights = exp(arcs - best of each modifier); returns how many are allowed, and a word.

    That word has changed places with word 1, as in `elimination.prepare`.
    """
    read(arcs, at, weights)
    for j in range(0, at.stride, N_LANES):
        highest = broadcast(-np.inf)
        for i in range(1, at.n_words + 1):
            highest = maximum(load(weights, i * at.stride + j), highest)
        store(best, j, highest)
    word = 1
    if single_root:
        word = likeliest_root(weights, at, 0, best)
        swap_words(weights, at, 0, word)
        best[1], best[word] = best[word], best[1]
    n_allowed = broadcast(0.0)
    for j in range(0, at.stride, N_LANES):
        highest = maximum(load(best, j), load(weights, j))
        store(best, j, highest)
        taken_out = select(highest > -np.inf, highest, 0.0)
        for cell in range(j, (at.n_words + 1) * at.stride, at.stride):
            score = load(weights, cell) - taken_out
            n_allowed = n_allowed + select(score > -np.inf, 1.0, broadcast(0.0))
            store(weights, cell, exponential(score))
    return lane_total(n_allowed), word


@step
def incoming(rows, at, k, first):
    """d_k = sum of w[i, k] over first <= i < k, in two sums side by side."""
    a, b, i = 0.0, 0.0, first
    while i + 2 <= k:
        a += rows[i * at.stride + k]
        b += rows[(i + 1) * at.stride + k]
        i += 2
    if i < k:
        a += rows[i * at.stride + k]
    return a + b


@step
def pass_on(rows, at, k, inverse, source):
    """w[i, j] += q_k[i] w[k, j] for i, j < k.

    `source` is for w[k, :k], and zeros up to whole lanes: they leave the columns behind as they
    are, where w[i, k] must stay.
    """
    for j in range(padded_width(k)):
        source[j] = rows[k * at.stride + j] if j < k else 0.0
    for i in range(0, k, 2):
        # An odd last row goes with itself, at weight 0.
        a, b = i * at.stride, min(i + 1, k - 1) * at.stride
        q_a, q_b = rows[a + k] * inverse, rows[b + k] * inverse
        by_a, by_b = broadcast(q_a), broadcast(0.0 if a == b else q_b)
        for j in range(0, k, N_LANES):
            w = load(source, j)
            store(rows, a + j, fma(by_a, w, load(rows, a + j)))
            store(rows, b + j, fma(by_b, w, load(rows, b + j)))


@step
def times(vector, at, n_rows, matrix, cell, stride, n_columns, out):
    """out[j] = sum_i vector[at + i] matrix[i, j], the matrix from `cell` on."""
    vector_times_matrix(vector, at, n_rows, matrix, cell, stride, padded_width(n_columns), out, 0)


@step
def differentiate(rows, at, single_root, inverses, q, left, low, gradient, turned):
    """Backwards: fill G, by rows and by columns."""
    for cell in range(0, (at.n_words + 1) * at.stride, N_LANES):
        store(gradient, cell, broadcast(0.0))
        store(turned, cell, broadcast(0.0))
    for k in range(1, at.n_words + 1):
        inverse, row = inverses[k], k * at.stride
        for i in range(k):
            q[i] = rows[i * at.stride + k] * inverse
        times(rows, row + 1, k - 1, turned, at.stride, at.stride, k, left)
        times(q, 0, k, gradient, 0, at.stride, k, low)
        rest = 1.0
        for i in range(k):
            rest -= q[i] * left[i]
        for i in range(k):
            is_left_out = single_root and k > 1 and i == 0
            g = (left[i] if is_left_out else left[i] + rest) * inverse
            gradient[i * at.stride + k] = g
            turned[row + i] = g
            gradient[row + i] = low[i]
            turned[i * at.stride + k] = low[i]


@step
def multiply(weights, gradient, at):
    """gradient = weights * G, the marginals; returns the largest G, or not a number."""
    highest = broadcast(0.0)
    for cell in range(0, (at.n_words + 1) * at.stride, N_LANES):
        g = load(gradient, cell)
        highest = maximum(g, highest) + 0.0 * g
        store(gradient, cell, maximum(load(weights, cell) * g, 0.0))
    return highest_lane(highest) + 0.0 * lane_total(highest)


@kernel
def marginals(arcs, n_words, single_root, is_safe, is_restricted, log_partition, out):
    """Log-partition and marginals of one sentence, as `elimination.marginals` fills them."""
    width = padded_width(n_words + 1)
    at = Square(n_words, width, 1, width)
    size = (n_words + 1) * at.stride
    weights, rows, gradient, turned = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    best, inverses, source = np.empty(at.stride), np.empty(at.stride), np.empty(at.stride)
    left, low = np.empty(at.stride), np.empty(at.stride)
    n_allowed, word = prepare(arcs, at, single_root, weights, best)
    is_restricted[0] = n_allowed < n_words * n_words
    shift = 0.0
    for j in range(1, n_words + 1):
        shift += best[j]
    log_partition[0], is_safe[0] = shift, True
    if shift == -np.inf:
        for arc in range(len(out)):
            out[arc] = 0.0
        return
    for cell in range(0, size, N_LANES):
        store(rows, cell, load(weights, cell))
    for k in range(n_words, 0, -1):
        inverses[k] = 1.0 / incoming(rows, at, k, 1 if single_root and k > 1 else 0)
        pass_on(rows, at, k, inverses[k], source)
    log_partition[0] += log_product(inverses, at, n_words, 0)
    differentiate(rows, at, single_root, inverses, source, left, low, gradient, turned)
    is_safe[0] = log_partition[0] < np.inf and multiply(weights, gradient, at) < SAFE
    swap_words(gradient, at, 0, word)
    for i in range(n_words + 1):
        for j in range(n_words + 1):
            out[i * (n_words + 1) + j] = gradient[i * at.stride + j]
