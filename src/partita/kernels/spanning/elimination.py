"""Log-partition and marginals of spanning trees by elimination without subtraction.

Weights w[i, j] = exp(arcs[i, j] - best arc into j) of head i and modifier j, the root as row 0.
Words leave one by one, k = n .. 1, and what went through a word stays (Grassmann, Taksar, Heyman):

    d_k = sum_i<k w[i, k],    q_k[i] = w[i, k] / d_k,    w[i, j] += q_k[i] w[k, j]  for i, j < k

and A = sum_k log d_k + the best arcs. Only positive numbers are added, so nothing cancels at any
conditioning, where an LU decomposition of the Laplacian loses all digits. With a single root the
root's row is left out of d_k until the last word.

Backwards, k = 1 .. n, G is the gradient of A with respect to w:

    h[i] = sum_j<k G[i, j] w[k, j]
    G[i, k] = (h[i] + 1 - sum_i' q_k[i'] h[i']) / d_k     (a single root: G[0, k] = h[0] / d_k)
    G[k, j] = sum_i q_k[i] G[i, j]

and the marginals are w * G. The elimination works in place and leaves behind what the way back
needs: w[k, j] as it was when k left in row k, left of the diagonal, and w[i, k] in column k, above
it. Four sentences go side by side (`trees.side_by_side`).

The covariance of the arcs times a direction v is the derivative of the marginals when the weights
move by w' = w v, and every line above with them:

    d' = sum_i w'[i, k]                       q'[i] = (w'[i, k] - q[i] d') / d
    w'[i, j] += q'[i] w[k, j] + q[i] w'[k, j]
    h'[i] = sum_j G'[i, j] w[k, j] + G[i, j] w'[k, j]
    G'[i, k] = (h'[i] - sum_i' (q'[i'] h[i'] + q[i'] h'[i']) - G[i, k] d') / d
    G'[k, j] = sum_i q'[i] G[i, j] + q[i] G'[i, j]

The product is w (v G + G'): O(n³), and no matrix is inverted, so it is right at every
conditioning. What moves has names with `moved`; where these are None nothing does, and Numba
compiles the recursion alone.

A number below 2^-1022 becomes 0 on the way, which moves A and every marginal by at most 2^-1022
times the gradient there. Where G stays below `SAFE`, the result stands; otherwise the sentence is
reported as unsafe and the caller takes `spanning.wide`.
"""

import math
from typing import NamedTuple

import numpy as np

from partita.kernels.jit import kernel, pasted, step
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    fma,
    lane,
    load,
    maximum,
    select,
    store,
)
from partita.kernels.trees.side_by_side import (
    best_arcs,
    exponentiate,
    fill_lanes,
    lengths_of,
    total_best,
    write_lanes,
)
from partita.kernels.underflow import SAFE

# Factors between these can be multiplied before one logarithm is taken of them all.
SMALL, LARGE = 1.0 / 2.0**300, 2.0**300


class Square(NamedTuple):
    """The size of the matrices of sentences side by side."""

    n_words: int
    """Number of words of the longest."""
    stride: int
    """Number of doubles in a row."""
    n_sides: int
    """Number of sentences side by side."""


@pasted
def square(n_words):
    """The size for a longest sentence of `n_words` words."""
    return Square(n_words, (n_words + 1) * N_LANES, N_LANES)


@step
def swap_words(matrix, at, index, word):
    """Exchange word 1 and another in one lane, as heads and as modifiers."""
    if word != 1:
        for j in range(at.n_words + 1):
            cell = j * at.n_sides + index
            a, b = at.stride + cell, word * at.stride + cell
            matrix[a], matrix[b] = matrix[b], matrix[a]
        for i in range(at.n_words + 1):
            cell = i * at.stride + index
            a, b = cell + at.n_sides, cell + word * at.n_sides
            matrix[a], matrix[b] = matrix[b], matrix[a]


@step
def likeliest_root(matrix, at, index, best):
    """The word whose root arc beats its best other arc by most, given the `best` of those."""
    word, most = 1, -np.inf
    for j in range(1, at.n_words + 1):
        root, other = matrix[j * at.n_sides + index], best[j * at.n_sides + index]
        if root > -np.inf:
            # Not a difference: both may be infinite.
            advantage = np.inf if other == -np.inf else root - other
            if advantage > most:
                word, most = j, advantage
    return word


@step
def prepare(arcs, arc_offsets, n_words, order, first, at, single_root, weights, best, words):
    """weights = exp(arcs - best of each modifier); counts the arcs that are allowed in each lane.

    With a single root the word that is eliminated last must be one that can lead to all others:
    the likeliest root word changes places with word 1. `words` says which it is in each lane.
    """
    fill_lanes(arcs, arc_offsets, n_words, order, first, at, -np.inf, weights)
    best_arcs(weights, at, 1, best)
    for index in range(N_LANES):
        words[index] = 1.0
        if single_root:
            word = likeliest_root(weights, at, index, best)
            words[index] = word
            swap_words(weights, at, index, word)
            one, other = N_LANES + index, word * N_LANES + index
            best[one], best[other] = best[other], best[one]
    for j in range(0, at.stride, N_LANES):
        store(best, j, maximum(load(best, j), load(weights, j)))
    n_allowed, _ = exponentiate(weights, at, best)
    return n_allowed


@step
def incoming(rows, at, k, first):
    """d_k = sum of w[i, k] over first <= i < k, in two sums side by side."""
    a, b = broadcast(0.0), broadcast(0.0)
    i = first
    while i + 2 <= k:
        a = a + load(rows, i * at.stride + k * N_LANES)
        b = b + load(rows, (i + 1) * at.stride + k * N_LANES)
        i += 2
    if i < k:
        a = a + load(rows, i * at.stride + k * N_LANES)
    return a + b


@pasted
def shares(rows, moved, cell, inverse, moved_d):
    """q and q' out of w[i, k] and w'[i, k] at a cell; q twice where nothing moves."""
    q = load(rows, cell) * inverse
    if moved is None:
        return q, q
    return q, (load(moved, cell) - q * moved_d) * inverse


@pasted
def pass_to(rows, moved, cell, q, moved_q, w, moved_w):
    """w[i, j] += q[i] w[k, j], and its derivative."""
    store(rows, cell, fma(q, w, load(rows, cell)))
    if moved is not None:
        store(moved, cell, fma(moved_q, w, fma(q, moved_w, load(moved, cell))))


@step
def pass_ahead(rows, moved, at, k, inverse, moved_d):
    """w[i, j] += q_k[i] w[k, j] for i or j = k - 1, which is all that the next word's d needs."""
    source, column = k * at.stride, (k - 1) * N_LANES
    w = load(rows, source + column)
    moved_w = w if moved is None else load(moved, source + column)
    for i in range(0, source, at.stride):
        q, moved_q = shares(rows, moved, i + k * N_LANES, inverse, moved_d)
        pass_to(rows, moved, i + column, q, moved_q, w, moved_w)
    row = source - at.stride
    q, moved_q = shares(rows, moved, row + k * N_LANES, inverse, moved_d)
    for j in range(N_LANES, column, N_LANES):
        w = load(rows, source + j)
        moved_w = w if moved is None else load(moved, source + j)
        pass_to(rows, moved, row + j, q, moved_q, w, moved_w)


@step
def pass_on(rows, moved, at, k, inverse, moved_d, next_inverse, next_d):
    """w[i, j] += q_k[i] w[k, j] + q_l[i] w[l, j] for i, j < l = k - 1, two rows at a time.

    For each word a cell would be a load, an fma and a store, so that stores take the time; for two
    words they are half as many.
    """
    source, other = k * at.stride, (k - 1) * at.stride
    for i in range(0, k - 1, 2):
        # An odd last row goes with itself, at weight 0.
        a, b = i * at.stride, min(i + 1, k - 2) * at.stride
        q_a, moved_q_a = shares(rows, moved, a + k * N_LANES, inverse, moved_d)
        p_a, moved_p_a = shares(rows, moved, a + (k - 1) * N_LANES, next_inverse, next_d)
        q_b, moved_q_b = shares(rows, moved, b + k * N_LANES, inverse, moved_d)
        p_b, moved_p_b = shares(rows, moved, b + (k - 1) * N_LANES, next_inverse, next_d)
        if a == b:
            q_b, moved_q_b, p_b, moved_p_b = zeros()
        for j in range(N_LANES, (k - 1) * N_LANES, N_LANES):
            w, x = load(rows, source + j), load(rows, other + j)
            moved_w = w if moved is None else load(moved, source + j)
            moved_x = x if moved is None else load(moved, other + j)
            pass_both(rows, moved, a + j, q_a, moved_q_a, w, moved_w, p_a, moved_p_a, x, moved_x)
            pass_both(rows, moved, b + j, q_b, moved_q_b, w, moved_w, p_b, moved_p_b, x, moved_x)


@pasted
def zeros():
    """Four times 0."""
    zero = broadcast(0.0)
    return zero, zero, zero, zero


@pasted
def pass_both(rows, moved, cell, q, moved_q, w, moved_w, p, moved_p, x, moved_x):
    """`pass_to` from two words in turn."""
    store(rows, cell, fma(p, x, fma(q, w, load(rows, cell))))
    if moved is not None:
        moving = fma(moved_q, w, fma(q, moved_w, load(moved, cell)))
        store(moved, cell, fma(moved_p, x, fma(p, moved_x, moving)))


@step
def leave(rows, moved, at, k, single_root, ends, inverses, moved_ds):
    """inverses[k] = 1 / d_k, 1 in lanes whose sentence has ended, and d'; returns both."""
    first = 1 if single_root and k > 1 else 0
    inverse = 1.0 / select(ends >= float(k), incoming(rows, at, k, first), 1.0)
    store(inverses, k * N_LANES, inverse)
    if moved is None:
        return inverse, inverse
    moved_d = incoming(moved, at, k, first)
    store(moved_ds, k * N_LANES, moved_d)
    return inverse, moved_d


@step
def eliminate(rows, moved, at, single_root, ends, inverses, moved_ds):
    """Forwards, in place, two words at a time; the first word by itself if it is left over."""
    for k in range(at.n_words, 0, -2):
        inverse, moved_d = leave(rows, moved, at, k, single_root, ends, inverses, moved_ds)
        if k > 1:
            pass_ahead(rows, moved, at, k, inverse, moved_d)
            next_inverse, next_d = leave(
                rows, moved, at, k - 1, single_root, ends, inverses, moved_ds
            )
            pass_on(rows, moved, at, k, inverse, moved_d, next_inverse, next_d)


@step
def log_product(inverses, at, n_words, index):
    """sum_k log d_k of one lane; not a number where some d_k is too close to 0 or to infinity."""
    result, product = 0.0, 1.0
    for k in range(n_words, 0, -1):
        inverse = inverses[k * at.n_sides + index]
        if not 1.0 / SAFE < inverse < SAFE:
            return np.nan
        if SMALL < inverse < LARGE:
            product *= inverse
        else:
            result -= math.log(inverse)
        if not SMALL < product < LARGE:
            result -= math.log(product)
            product = 1.0
    return result - math.log(product)


@pasted
def add_row(gradient, moved_gradient, cell, q, moved_q, w, moved_w, sums, lows):
    """What G[i, j] adds to h[i] and to G[k, j], and to their derivatives."""
    g = load(gradient, cell)
    moved_sum, moved_low = sums[1], lows[1]
    if moved_gradient is not None:
        moved_g = load(moved_gradient, cell)
        moved_sum = fma(moved_g, w, fma(g, moved_w, moved_sum))
        moved_low = fma(moved_q, g, fma(q, moved_g, moved_low))
    return (fma(g, w, sums[0]), moved_sum), (fma(q, g, lows[0]), moved_low)


@step
def products(rows, moved, at, k, inverse, moved_d, left, moved_left, gradient, moved_gradient):
    """left[i] = h[i] and G[k, j], in one pass over G; returns 1 - sum_i q_k[i] h[i].

    Three rows at a time: with their sums and shares, and those of the derivative, as many as there
    are vector registers for; with fewer, the latency of the sums would show.
    """
    zero, source = broadcast(0.0), k * at.stride
    rest, moved_rest = broadcast(1.0), zero
    for i in range(0, k, 3):
        # Rows that are not there are the last again, at weight 0.
        a, b, c = i * at.stride, min(i + 1, k - 1) * at.stride, min(i + 2, k - 1) * at.stride
        q_a, moved_q_a = shares(rows, moved, a + k * N_LANES, inverse, moved_d)
        q_b, moved_q_b = shares(rows, moved, b + k * N_LANES, inverse, moved_d)
        q_c, moved_q_c = shares(rows, moved, c + k * N_LANES, inverse, moved_d)
        if b == a:
            q_b, moved_q_b = zero, zero
        if c == b:
            q_c, moved_q_c = zero, zero
        sums_a, sums_b, sums_c = (zero, zero), (zero, zero), (zero, zero)
        for j in range(N_LANES, k * N_LANES, N_LANES):
            w = load(rows, source + j)
            moved_w = w if moved is None else load(moved, source + j)
            low = load(gradient, source + j)
            lows = (low, low if moved is None else load(moved_gradient, source + j))
            sums_a, lows = add_row(
                gradient, moved_gradient, a + j, q_a, moved_q_a, w, moved_w, sums_a, lows
            )
            sums_b, lows = add_row(
                gradient, moved_gradient, b + j, q_b, moved_q_b, w, moved_w, sums_b, lows
            )
            sums_c, lows = add_row(
                gradient, moved_gradient, c + j, q_c, moved_q_c, w, moved_w, sums_c, lows
            )
            store(gradient, source + j, lows[0])
            if moved is not None:
                store(moved_gradient, source + j, lows[1])
        store(left, i * N_LANES, sums_a[0])
        store(left, (i + 1) * N_LANES, sums_b[0])
        store(left, (i + 2) * N_LANES, sums_c[0])
        rest = rest - q_a * sums_a[0] - q_b * sums_b[0] - q_c * sums_c[0]
        if moved is not None:
            store(moved_left, i * N_LANES, sums_a[1])
            store(moved_left, (i + 1) * N_LANES, sums_b[1])
            store(moved_left, (i + 2) * N_LANES, sums_c[1])
            moved_rest = moved_rest - moved_q_a * sums_a[0] - q_a * sums_a[1]
            moved_rest = moved_rest - moved_q_b * sums_b[0] - q_b * sums_b[1]
            moved_rest = moved_rest - moved_q_c * sums_c[0] - q_c * sums_c[1]
    return rest, moved_rest


@step
def differentiate(
    rows, moved, at, single_root, inverses, moved_ds, left, moved_left, gradient, moved_gradient
):
    """Backwards: fill G, and G', which are 0."""
    for k in range(1, at.n_words + 1):
        inverse = load(inverses, k * N_LANES)
        moved_d = inverse if moved is None else load(moved_ds, k * N_LANES)
        rest, moved_rest = products(
            rows, moved, at, k, inverse, moved_d, left, moved_left, gradient, moved_gradient
        )
        for i in range(k):
            cell, is_left_out = i * at.stride + k * N_LANES, single_root and k > 1 and i == 0
            top = load(left, i * N_LANES)
            g = (top if is_left_out else top + rest) * inverse
            store(gradient, cell, g)
            if moved is not None:
                top = load(moved_left, i * N_LANES)
                top = top if is_left_out else top + moved_rest
                store(moved_gradient, cell, (top - g * moved_d) * inverse)


@step
def multiply(weights, gradient, at):
    """gradient = weights * G, the marginals; returns the largest G of each lane.

    A probability is not negative; a rounding error may be.
    """
    highest = broadcast(0.0)
    for cell in range(0, (at.n_words + 1) * at.stride, N_LANES):
        g = load(gradient, cell)
        # The sum is not a number if any term is not; the maximum alone would lose it.
        highest = maximum(g, highest) + 0.0 * g
        store(gradient, cell, maximum(load(weights, cell) * g, 0.0))
    return highest


@step
def copy(weights, at, rows, gradient):
    """rows = weights, gradient = 0."""
    for cell in range(0, (at.n_words + 1) * at.stride, N_LANES):
        store(rows, cell, load(weights, cell))
        store(gradient, cell, broadcast(0.0))


@step
def as_lanes(lengths):
    """Four whole numbers as lanes."""
    values = np.empty(N_LANES)
    for index in range(N_LANES):
        values[index] = lengths[index]
    return load(values, 0)


@kernel
def marginals(
    arcs, arc_offsets, n_words, order, single_root, is_safe, is_restricted, log_partition, out
):
    """Log-partition and marginals of a batch, sentences taken in `order`, four at a time.

    Fills which sentences are safe, and in which of them some arcs are forbidden. Everything else is
    scratch, which stays in the cache from group to group: to run the elimination again costs less
    than to keep its matrices.
    """
    if len(order) == 0:
        return
    most = square(n_words[order[-1]])
    size = (most.n_words + 1) * most.stride
    weights, rows, gradient = np.empty(size), np.empty(size), np.empty(size)
    best, inverses, words = np.empty(most.stride), np.empty(most.stride), np.empty(N_LANES)
    left = np.empty(most.stride + 2 * N_LANES)
    for first in range(0, len(order), N_LANES):
        last = min(first + N_LANES, len(order)) - 1
        at, lengths = square(n_words[order[last]]), lengths_of(n_words, order, first)
        n_allowed = prepare(
            arcs, arc_offsets, n_words, order, first, at, single_root, weights, best, words
        )
        copy(weights, at, rows, gradient)
        eliminate(rows, None, at, single_root, as_lanes(lengths), inverses, None)
        differentiate(rows, None, at, single_root, inverses, None, left, None, gradient, None)
        limit = multiply(weights, gradient, at)
        for index in range(N_LANES):
            sentence, n = order[min(first + index, last)], lengths[index]
            shift = total_best(best, n, index)
            total = shift + log_product(inverses, at, n, index)
            is_empty = shift == -np.inf
            is_safe[sentence] = is_empty or (total < np.inf and lane(limit, index) < SAFE)
            is_restricted[sentence] = lane(n_allowed, index) < n * n
            log_partition[sentence] = shift if is_empty else total
            if is_empty:
                for cell in range(index, (at.n_words + 1) * at.stride, N_LANES):
                    gradient[cell] = 0.0
            swap_words(gradient, at, index, int(words[index]))
        write_lanes(gradient, at, arc_offsets, n_words, order, first, out)
