"""The elimination of `spanning.elimination` in numbers without bounds: never underflows, slower.

Every number comes with its derivative along a direction: weights w and w' = w v; then

    q'[i] = (w'[i, k] - q[i] d') / d,    w'[i, j] += q'[i] w[k, j] + q[i] w'[k, j]

and so on for each line of the elimination, so that one run gives the log-partition, the marginals
w G and the covariance product w (v G + G').
"""

import numpy as np

from partita.kernels.jit import kernel, step
from partita.kernels.simd.wide import (
    ONE,
    ZERO,
    add,
    divide,
    exponential,
    logarithm,
    multiply,
    multiply_add,
    narrow,
    negative,
    widen,
)
from partita.kernels.spanning.arborescence import arborescence, load_rows, scratch

# The largest sum of scores whose exponential has an exponent that is exact.
LARGEST = 2.0**60


@step
def get(array, i, j):
    """The number at [i, j]."""
    return array[i, j, 0], array[i, j, 1]


@step
def put(array, i, j, x):
    """Write the number at [i, j]."""
    array[i, j, 0], array[i, j, 1] = x


@step
def elimination_order(arcs, n_words, single_root):
    """The words in an order in which the first leads to all others, and the heads of the best tree.

    With a single root that is the root word of the best tree. Empty if there is no tree.
    """
    order = np.arange(n_words + 1)
    work, heads = scratch(n_words), np.zeros(n_words, dtype=np.int64)
    load_rows(arcs, 0, n_words, single_root, work.rows)
    # Sums and differences of the largest doubles must not overflow.
    for cell in range(len(work.rows)):
        work.rows[cell] *= 2.0**-64
    if not arborescence(work, n_words, single_root, heads, 0):
        return order[:0], heads
    if single_root:
        for j in range(1, n_words + 1):
            if heads[j - 1] == 0:
                order[1], order[j] = j, 1
    return order, heads


@step
def load_weights(arcs, direction, order, heads, single_root, weights, moved):
    """weights = exp(arcs - that of the best tree), moved = weights * direction; sums that tree.

    The best arc of a word may be in no good tree; to take it out of all of them, and put it back
    by the logarithms of the rest, would lose the digits of the sum.

    Exponents of products of weights must be whole numbers, so below 2^53, which bounds the scores.
    An arc that is worse by more than all others together can make good is in no tree that counts;
    where one is better by that much the result is not a number.
    """
    n_nodes = len(order)
    bound = LARGEST / n_nodes
    # With a single root, word 1 of the order has the root arc, and every tree has one of those.
    root = arcs[order[1]] if single_root else 0.0
    shift = root
    weights[:], moved[:] = 0.0, 0.0
    for j in range(1, n_nodes):
        best = 0.0
        if not (single_root and j == 1):
            best = arcs[heads[order[j] - 1] * n_nodes + order[j]]
        shift += best
        for i in range(n_nodes):
            if i != j:
                part = order[i] * n_nodes + order[j]
                score = arcs[part] - (root if i == 0 else 0.0) - best
                if not score < bound / n_nodes:
                    return np.nan
                weight = exponential(score) if score > -2.0 * bound else ZERO
                put(weights, i, j, weight)
                put(moved, i, j, multiply(weight, widen(direction[part], 0.0)))
    return shift


@step
def shares(weights, moved, k, first, share, moved_share):
    """q_k and q_k' of all heads i < k; returns d_k and d_k'."""
    d, moved_d = ZERO, ZERO
    for i in range(first, k):
        d = add(d, get(weights, i, k))
        moved_d = add(moved_d, get(moved, i, k))
    for i in range(k):
        q = divide(get(weights, i, k), d)
        rest = add(get(moved, i, k), negative(multiply(q, moved_d)))
        put(share, k, i, q)
        put(moved_share, k, i, divide(rest, d))
    return d, moved_d


@step
def pass_on(weights, moved, k, share, moved_share):
    """w[i, j] += q_k[i] w[k, j], and its derivative, for i, j < k."""
    for i in range(k):
        q, moved_q = get(share, k, i), get(moved_share, k, i)
        for j in range(1, k):
            w, moved_w = get(weights, k, j), get(moved, k, j)
            put(weights, i, j, multiply_add(q, w, get(weights, i, j)))
            change = multiply_add(q, moved_w, get(moved, i, j))
            put(moved, i, j, multiply_add(moved_q, w, change))


@step
def row_sums(gradient, moved_gradient, weights, moved, k, i):
    """sum_j<k G[i, j] w[k, j] and its derivative."""
    left, moved_left = ZERO, ZERO
    for j in range(1, k):
        g, w = get(gradient, i, j), get(weights, k, j)
        left = multiply_add(g, w, left)
        moved_left = multiply_add(g, get(moved, k, j), moved_left)
        moved_left = multiply_add(get(moved_gradient, i, j), w, moved_left)
    return left, moved_left


@step
def add_word(weights, moved, share, moved_share, k, first, d, gradient, moved_gradient):
    """G[i, k] and G[k, j] for i, j < k, and their derivatives; d is (d_k, d_k')."""
    rest, moved_rest = ONE, ZERO
    for i in range(k):
        left, moved_left = row_sums(gradient, moved_gradient, weights, moved, k, i)
        q, moved_q = get(share, k, i), get(moved_share, k, i)
        rest = add(rest, negative(multiply(q, left)))
        moved_rest = add(moved_rest, negative(multiply(moved_q, left)))
        moved_rest = add(moved_rest, negative(multiply(q, moved_left)))
        put(gradient, i, k, left)
        put(moved_gradient, i, k, moved_left)
        for j in range(1, k):
            g = get(gradient, i, j)
            put(gradient, k, j, multiply_add(q, g, get(gradient, k, j)))
            change = multiply_add(moved_q, g, get(moved_gradient, k, j))
            change = multiply_add(q, get(moved_gradient, i, j), change)
            put(moved_gradient, k, j, change)
    for i in range(k):
        top, moved_top = get(gradient, i, k), get(moved_gradient, i, k)
        if i >= first:
            top, moved_top = add(top, rest), add(moved_top, moved_rest)
        g = divide(top, d[0])
        put(gradient, i, k, g)
        moved_top = add(moved_top, negative(multiply(g, d[1])))
        put(moved_gradient, i, k, divide(moved_top, d[0]))


@step
def sentence(arcs, direction, n_words, single_root, marginals, product):
    """Marginals and covariance product of one sentence; returns its log-partition."""
    order, heads = elimination_order(arcs, n_words, single_root)
    marginals[:], product[:] = 0.0, 0.0
    if len(order) == 0:
        return -np.inf
    shape = (n_words + 1, n_words + 1, 2)
    weights, moved = np.empty(shape), np.empty(shape)
    share, moved_share = np.empty(shape), np.empty(shape)
    gradient, moved_gradient = np.zeros(shape), np.zeros(shape)
    factor = ONE
    shift = load_weights(arcs, direction, order, heads, single_root, weights, moved)
    if np.isnan(shift):
        return shift
    start_weights = weights.copy()
    d = [(ZERO, ZERO)] * (n_words + 1)
    for k in range(n_words, 0, -1):
        d[k] = shares(weights, moved, k, 1 if single_root and k > 1 else 0, share, moved_share)
        factor = multiply(factor, d[k][0])
        pass_on(weights, moved, k, share, moved_share)
    for k in range(1, n_words + 1):
        lowest = 1 if single_root and k > 1 else 0
        add_word(weights, moved, share, moved_share, k, lowest, d[k], gradient, moved_gradient)
    for i in range(n_words + 1):
        for j in range(1, n_words + 1):
            part = order[i] * (n_words + 1) + order[j]
            w, g = get(start_weights, i, j), get(gradient, i, j)
            marginals[part] = max(narrow(multiply(w, g)), 0.0)
            change = multiply_add(widen(direction[part], 0.0), g, get(moved_gradient, i, j))
            if w[0] != 0.0:
                product[part] = narrow(multiply(w, change))
    return shift + logarithm(factor)


@step
def expected_direction(direction, marginals, first, n_words, out):
    """out[j] = sum_i marginals[i, j] direction[i, j], the direction that word j can expect."""
    out[:] = 0.0
    for i in range(n_words + 1):
        for j in range(1, n_words + 1):
            cell = first + i * (n_words + 1) + j
            if marginals[cell] > 0.0:
                out[j] += marginals[cell] * direction[cell]


@kernel
def marginals(arcs, arc_offsets, n_words, single_root, sentences, log_partition, out):
    """Log-partition and marginals of the named sentences."""
    for b in sentences:
        first, end = arc_offsets[b], arc_offsets[b + 1]
        nothing, product = np.zeros(end - first), np.empty(end - first)
        log_partition[b] = sentence(
            arcs[first:end], nothing, n_words[b], single_root, out[first:end], product
        )


@kernel
def covariance_product(
    arcs, direction, marginals, arc_offsets, n_words, single_root, sentences, out
):
    """The covariance product of the named sentences, given their marginals."""
    for b in sentences:
        first, end, n_nodes = arc_offsets[b], arc_offsets[b + 1], n_words[b] + 1
        expected = np.empty(n_nodes)
        expected_direction(direction, marginals, first, n_words[b], expected)
        centred = direction[first:end].copy()
        for j in range(n_nodes):
            centred[j::n_nodes] -= expected[j]
        ignored = np.empty(end - first)
        sentence(arcs[first:end], centred, n_words[b], single_root, ignored, out[first:end])
        for part in range(first, end):
            if marginals[part] == 0.0:
                out[part] = 0.0
