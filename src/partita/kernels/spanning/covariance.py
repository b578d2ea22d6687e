"""The covariance of the arcs of spanning trees, times a direction: `elimination`, differentiated.

It is the derivative of the marginals when the weights move by w' = w v, and every line of the
elimination with them:

    d' = sum_i w'[i, k]                       q'[i] = (w'[i, k] - q[i] d') / d
    w'[i, j] += q'[i] w[k, j] + q[i] w'[k, j]
    h'[i] = sum_j G'[i, j] w[k, j] + G[i, j] w'[k, j]
    G'[i, k] = (h'[i] - sum_i' (q'[i'] h[i'] + q[i'] h'[i']) - G[i, k] d') / d
    G'[k, j] = sum_i q'[i] G[i, j] + q[i] G'[i, j]

The product is w (v G + G'): O(n³), and no matrix is inverted, so it is right at every conditioning.
What does not move was left behind by `elimination.marginals`, all but h. But h[i] is G[i, k] d_k
less what is the same for all heads that d_k sums over, and the q' of these add up to 0:

    sum_i q'[i] h[i] = d_k sum_i q'[i] G[i, k]

A constant added to the direction on all arcs into one word changes nothing; the word's expected
value is taken out first, which leaves less to cancel.
"""

import numpy as np

from partita.kernels.jit import kernel, pasted, step
from partita.kernels.simd.either import all_lanes, doubles, load, n_lanes, room, store
from partita.kernels.simd.lanes import N_LANES, fma
from partita.kernels.spanning.elimination import (
    incoming,
    kept,
    prepare,
    square,
    swap_back,
)
from partita.kernels.trees.side_by_side import fill_lanes, write_lanes


@step
def centre(directions, marginals, at, means):
    """Subtract from direction[i, j] its mean over the heads of j, sum_i p(i, j) direction[i, j]."""
    for j in range(0, at.stride, N_LANES):
        store(means, j, all_lanes(means, 0.0))
    for row in range(0, (at.n_words + 1) * at.stride, at.stride):
        for j in range(0, at.stride, N_LANES):
            p, value = load(marginals, row + j), load(directions, row + j)
            store(means, j, fma(p, value, load(means, j)))
    for row in range(0, (at.n_words + 1) * at.stride, at.stride):
        for j in range(0, at.stride, N_LANES):
            store(directions, row + j, load(directions, row + j) - load(means, j))


@pasted
def shares(rows, moved, cell, inverse, moved_d):
    """q and q' out of w[i, k] and w'[i, k] at a cell."""
    q = load(rows, cell) * inverse
    return q, (load(moved, cell) - q * moved_d) * inverse


@pasted
def pass_to(moved, cell, q, moved_q, w, moved_w):
    """w'[i, j] += q'[i] w[k, j] + q[i] w'[k, j]."""
    store(moved, cell, fma(moved_q, w, fma(q, moved_w, load(moved, cell))))


@step
def pass_ahead(rows, moved, at, k, inverse, moved_d):
    """As in `elimination`, of w'."""
    source, column = k * at.stride, (k - 1) * N_LANES
    w, moved_w = load(rows, source + column), load(moved, source + column)
    for i in range(0, source, at.stride):
        q, moved_q = shares(rows, moved, i + k * N_LANES, inverse, moved_d)
        pass_to(moved, i + column, q, moved_q, w, moved_w)
    row = source - at.stride
    q, moved_q = shares(rows, moved, row + k * N_LANES, inverse, moved_d)
    for j in range(N_LANES, column, N_LANES):
        pass_to(moved, row + j, q, moved_q, load(rows, source + j), load(moved, source + j))


@step
def pass_on(rows, moved, at, k, inverse, moved_d, next_inverse, next_d):
    """As in `elimination`, of w'."""
    source, other, zero = k * at.stride, (k - 1) * at.stride, all_lanes(rows, 0.0)
    for i in range(0, k - 1, 2):
        a, b = i * at.stride, min(i + 1, k - 2) * at.stride
        q_a, moved_q_a = shares(rows, moved, a + k * N_LANES, inverse, moved_d)
        p_a, moved_p_a = shares(rows, moved, a + (k - 1) * N_LANES, next_inverse, next_d)
        q_b, moved_q_b = shares(rows, moved, b + k * N_LANES, inverse, moved_d)
        p_b, moved_p_b = shares(rows, moved, b + (k - 1) * N_LANES, next_inverse, next_d)
        if a == b:
            q_b, moved_q_b, p_b, moved_p_b = zero, zero, zero, zero
        for j in range(N_LANES, (k - 1) * N_LANES, N_LANES):
            w, moved_w = load(rows, source + j), load(moved, source + j)
            x, moved_x = load(rows, other + j), load(moved, other + j)
            moving = fma(moved_q_a, w, fma(q_a, moved_w, load(moved, a + j)))
            store(moved, a + j, fma(moved_p_a, x, fma(p_a, moved_x, moving)))
            moving = fma(moved_q_b, w, fma(q_b, moved_w, load(moved, b + j)))
            store(moved, b + j, fma(moved_p_b, x, fma(p_b, moved_x, moving)))


@step
def leave(moved, at, k, single_root, moved_ds):
    """moved_ds[k] = d'; returns it."""
    moved_d = incoming(moved, at, k, 1 if single_root and k > 1 else 0)
    store(moved_ds, k * N_LANES, moved_d)
    return moved_d


@step
def eliminate(rows, moved, at, single_root, inverses, moved_ds):
    """Forwards, in place."""
    for k in range(at.n_words, 0, -2):
        inverse, moved_d = load(inverses, k * N_LANES), leave(moved, at, k, single_root, moved_ds)
        if k > 1:
            pass_ahead(rows, moved, at, k, inverse, moved_d)
            next_inverse = load(inverses, (k - 1) * N_LANES)
            next_d = leave(moved, at, k - 1, single_root, moved_ds)
            pass_on(rows, moved, at, k, inverse, moved_d, next_inverse, next_d)


@pasted
def add_row(gradient, moved_gradient, cell, q, moved_q, w, moved_w, sums, low):
    """What G[i, j] and G'[i, j] add to h'[i], in two sums, and to G'[k, j]."""
    g, moved_g = load(gradient, cell), load(moved_gradient, cell)
    sums = fma(moved_g, w, sums[0]), fma(g, moved_w, sums[1])
    return sums, fma(moved_q, g, fma(q, moved_g, low))


@step
def products(rows, moved, at, k, inverse, moved_d, moved_left, gradient, moved_gradient):
    """moved_left[i] = h'[i] and G'[k, j], in one pass over G and G'.

    Returns -sum_i q[i] h'[i] and -sum_i q'[i] G[i, k].
    """
    zero, column, source = all_lanes(rows, 0.0), k * N_LANES, k * at.stride
    rest, moved_rest = zero, zero
    for i in range(0, k, 3):
        a, b, c = i * at.stride, min(i + 1, k - 1) * at.stride, min(i + 2, k - 1) * at.stride
        q_a, moved_q_a = shares(rows, moved, a + column, inverse, moved_d)
        q_b, moved_q_b = shares(rows, moved, b + column, inverse, moved_d)
        q_c, moved_q_c = shares(rows, moved, c + column, inverse, moved_d)
        if b == a:
            q_b, moved_q_b = zero, zero
        if c == b:
            q_c, moved_q_c = zero, zero
        sums_a, sums_b, sums_c = (zero, zero), (zero, zero), (zero, zero)
        for j in range(N_LANES, column, N_LANES):
            w, moved_w = load(rows, source + j), load(moved, source + j)
            low = load(moved_gradient, source + j)
            sums_a, low = add_row(
                gradient, moved_gradient, a + j, q_a, moved_q_a, w, moved_w, sums_a, low
            )
            sums_b, low = add_row(
                gradient, moved_gradient, b + j, q_b, moved_q_b, w, moved_w, sums_b, low
            )
            sums_c, low = add_row(
                gradient, moved_gradient, c + j, q_c, moved_q_c, w, moved_w, sums_c, low
            )
            store(moved_gradient, source + j, low)
        left_a, left_b, left_c = sums_a[0] + sums_a[1], sums_b[0] + sums_b[1], sums_c[0] + sums_c[1]
        store(moved_left, i * N_LANES, left_a)
        store(moved_left, (i + 1) * N_LANES, left_b)
        store(moved_left, (i + 2) * N_LANES, left_c)
        rest = rest - q_a * left_a - q_b * left_b - q_c * left_c
        moved_rest = moved_rest - moved_q_a * load(gradient, a + column)
        moved_rest = moved_rest - moved_q_b * load(gradient, b + column)
        moved_rest = moved_rest - moved_q_c * load(gradient, c + column)
    return rest, moved_rest


@step
def differentiate(
    rows, moved, at, single_root, inverses, moved_ds, moved_left, gradient, moved_gradient
):
    """Backwards: fill G', which is 0."""
    for k in range(1, at.n_words + 1):
        inverse, moved_d = load(inverses, k * N_LANES), load(moved_ds, k * N_LANES)
        rest, moved_rest = products(
            rows, moved, at, k, inverse, moved_d, moved_left, gradient, moved_gradient
        )
        for i in range(k):
            cell, top = i * at.stride + k * N_LANES, load(moved_left, i * N_LANES)
            top = top - load(gradient, cell) * moved_d
            if single_root and k > 1 and i == 0:
                store(moved_gradient, cell, top * inverse)
            else:
                store(moved_gradient, cell, fma(top + rest, inverse, moved_rest))


@kernel
def covariance_product(
    arcs, direction, marginals, arc_offsets, n_words, order, single_root, state, offsets, out
):
    """The covariance product of a batch, from its marginals and what these have left behind.

    Right for the sentences that are safe.
    """
    if len(order) == 0:
        return
    n_sides = n_lanes(state)
    most = square(n_words[order[-1]], n_sides)
    size = (most.n_words + 1) * most.stride
    weights, directions, moved = room(state, size), room(state, size), room(state, size)
    moved_gradient, best, words = room(state, size), room(state, most.stride), np.empty(n_sides)
    moved_ds, moved_left = room(state, most.stride), room(state, most.stride + 2 * N_LANES)
    for group in range(len(offsets) - 1):
        first, end = group * n_sides, min((group + 1) * n_sides, len(order))
        at = square(n_words[order[end - 1]], n_sides)
        start, (second, third, stop) = offsets[group], kept(at)
        rows, gradient = state[start : start + second], state[start + second : start + third]
        inverses = state[start + third : start + stop]
        prepare(arcs, arc_offsets, n_words, order, first, at, single_root, weights, best, words)
        fill_lanes(direction, arc_offsets, n_words, order, first, at, 0.0, directions)
        fill_lanes(marginals, arc_offsets, n_words, order, first, at, 0.0, moved)
        centre(directions, moved, at, moved_ds)
        if single_root:
            swap_back(doubles(directions), at, words)
        for cell in range(0, (at.n_words + 1) * at.stride, N_LANES):
            store(moved, cell, load(weights, cell) * load(directions, cell))
            store(moved_gradient, cell, all_lanes(moved_gradient, 0.0))
        eliminate(rows, moved, at, single_root, inverses, moved_ds)
        differentiate(
            rows, moved, at, single_root, inverses, moved_ds, moved_left, gradient, moved_gradient
        )
        for cell in range(0, (at.n_words + 1) * at.stride, N_LANES):
            change = fma(load(directions, cell), load(gradient, cell), load(moved_gradient, cell))
            store(weights, cell, load(weights, cell) * change)
        if single_root:
            swap_back(doubles(weights), at, words)
        write_lanes(weights, at, arc_offsets, n_words, order, first, out)
