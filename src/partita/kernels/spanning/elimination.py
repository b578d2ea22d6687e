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
it. Four sentences go side by side, or eight (`trees.side_by_side`, `simd.either`).

A number below 2^-1022 becomes 0 on the way, which moves A and every marginal by at most 2^-1022
times the gradient there. Where G stays below `SAFE`, the result stands; otherwise the sentence is
reported as unsafe and the caller takes `spanning.wide`.
"""

import math
from typing import NamedTuple

import numpy as np

from partita.kernels.jit import kernel, pasted, step
from partita.kernels.simd.either import all_lanes, doubles, load, n_lanes, room, store
from partita.kernels.simd.lanes import N_LANES, fma, maximum, select
from partita.kernels.trees.side_by_side import (
    best_arcs,
    exponentiate,
    fill_lanes,
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
    """Places in a row."""
    n_sides: int
    """Number of sentences side by side."""
    width: int
    """Doubles in a row: as many as places, or twice as many (see `simd.either`)."""


@pasted
def square(n_words, n_sides):
    """The size of `n_sides` sentences side by side, the longest of `n_words` words."""
    return Square(n_words, (n_words + 1) * N_LANES, n_sides, (n_words + 1) * n_sides)


@step
def swap_words(matrix, at, index, word):
    """Exchange word 1 and another in one lane of a matrix of doubles, as heads and as modifiers."""
    if word != 1:
        for j in range(at.n_words + 1):
            cell = j * at.n_sides + index
            a, b = at.width + cell, word * at.width + cell
            matrix[a], matrix[b] = matrix[b], matrix[a]
        for i in range(at.n_words + 1):
            cell = i * at.width + index
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
def lead(matrix, best, at, words):
    """Let the likeliest root word of each lane be word 1; fills which it was."""
    for index in range(at.n_sides):
        word = likeliest_root(matrix, at, index, best)
        words[index] = word
        swap_words(matrix, at, index, word)
        one, other = at.n_sides + index, word * at.n_sides + index
        best[one], best[other] = best[other], best[one]


@step
def swap_back(matrix, at, words):
    """Undo the exchanges of `lead` in a matrix of doubles."""
    for index in range(at.n_sides):
        swap_words(matrix, at, index, int(words[index]))


@step
def prepare(arcs, arc_offsets, n_words, order, first, at, single_root, weights, best, words):
    """weights = exp(arcs - best of each modifier); counts the arcs that are allowed in each lane.

    With a single root the word that is eliminated last must be one that can lead to all others:
    the likeliest root word changes places with word 1. `words` says which it is in each lane.
    """
    fill_lanes(arcs, arc_offsets, n_words, order, first, at, -np.inf, weights)
    best_arcs(weights, at, 1, best)
    for index in range(at.n_sides):
        words[index] = 1.0
    if single_root:
        lead(doubles(weights), doubles(best), at, words)
    for j in range(0, at.stride, N_LANES):
        store(best, j, maximum(load(best, j), load(weights, j)))
    n_allowed, _ = exponentiate(weights, at, best)
    return n_allowed


@step
def incoming(rows, at, k, first):
    """d_k = sum of w[i, k] over first <= i < k, in two sums side by side."""
    a, b = all_lanes(rows, 0.0), all_lanes(rows, 0.0)
    i = first
    while i + 2 <= k:
        a = a + load(rows, i * at.stride + k * N_LANES)
        b = b + load(rows, (i + 1) * at.stride + k * N_LANES)
        i += 2
    if i < k:
        a = a + load(rows, i * at.stride + k * N_LANES)
    return a + b


@step
def pass_ahead(rows, at, k, inverse):
    """w[i, j] += q_k[i] w[k, j] for i or j = k - 1, which is all that the next word's d needs."""
    source, column = k * at.stride, (k - 1) * N_LANES
    w = load(rows, source + column)
    for i in range(0, source, at.stride):
        q = load(rows, i + k * N_LANES) * inverse
        store(rows, i + column, fma(q, w, load(rows, i + column)))
    row = source - at.stride
    q = load(rows, row + k * N_LANES) * inverse
    for j in range(N_LANES, column, N_LANES):
        store(rows, row + j, fma(q, load(rows, source + j), load(rows, row + j)))


@step
def pass_on(rows, at, k, inverse, next_inverse):
    """w[i, j] += q_k[i] w[k, j] + q_l[i] w[l, j] for i, j < l = k - 1, two rows at a time.

    For each word a cell would be a load, an fma and a store, so that stores take the time; for two
    words they are half as many.
    """
    source, other, zero = k * at.stride, (k - 1) * at.stride, all_lanes(rows, 0.0)
    for i in range(0, k - 1, 2):
        # An odd last row goes with itself, at weight 0.
        a, b = i * at.stride, min(i + 1, k - 2) * at.stride
        q_a = load(rows, a + k * N_LANES) * inverse
        p_a = load(rows, a + (k - 1) * N_LANES) * next_inverse
        q_b = load(rows, b + k * N_LANES) * inverse
        p_b = load(rows, b + (k - 1) * N_LANES) * next_inverse
        if a == b:
            q_b, p_b = zero, zero
        for j in range(N_LANES, (k - 1) * N_LANES, N_LANES):
            w, x = load(rows, source + j), load(rows, other + j)
            store(rows, a + j, fma(p_a, x, fma(q_a, w, load(rows, a + j))))
            store(rows, b + j, fma(p_b, x, fma(q_b, w, load(rows, b + j))))


@step
def leave(rows, at, k, single_root, ends, inverses):
    """inverses[k] = 1 / d_k, 1 in lanes whose sentence has ended; returns it."""
    first = 1 if single_root and k > 1 else 0
    inverse = 1.0 / select(ends > float(k - 1), incoming(rows, at, k, first), 1.0)
    store(inverses, k * N_LANES, inverse)
    return inverse


@step
def eliminate(rows, at, single_root, ends, inverses):
    """Forwards, in place, two words at a time; the first word by itself if it is left over."""
    for k in range(at.n_words, 0, -2):
        inverse = leave(rows, at, k, single_root, ends, inverses)
        if k > 1:
            pass_ahead(rows, at, k, inverse)
            next_inverse = leave(rows, at, k - 1, single_root, ends, inverses)
            pass_on(rows, at, k, inverse, next_inverse)


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


@step
def products(rows, at, k, inverse, left, gradient):
    """left[i] = h[i] and G[k, j], in one pass over G; returns 1 - sum_i q_k[i] h[i].

    Three rows at a time; with fewer, the latency of the sums would show.
    """
    zero, source, rest = all_lanes(rows, 0.0), k * at.stride, all_lanes(rows, 1.0)
    for i in range(0, k, 3):
        # Rows that are not there are the last again, at weight 0.
        a, b, c = i * at.stride, min(i + 1, k - 1) * at.stride, min(i + 2, k - 1) * at.stride
        q_a = load(rows, a + k * N_LANES) * inverse
        q_b = load(rows, b + k * N_LANES) * inverse if b != a else zero
        q_c = load(rows, c + k * N_LANES) * inverse if c != b else zero
        sum_a, sum_b, sum_c = zero, zero, zero
        for j in range(N_LANES, k * N_LANES, N_LANES):
            w, low = load(rows, source + j), load(gradient, source + j)
            g = load(gradient, a + j)
            sum_a, low = fma(g, w, sum_a), fma(q_a, g, low)
            g = load(gradient, b + j)
            sum_b, low = fma(g, w, sum_b), fma(q_b, g, low)
            g = load(gradient, c + j)
            sum_c, low = fma(g, w, sum_c), fma(q_c, g, low)
            store(gradient, source + j, low)
        store(left, i * N_LANES, sum_a)
        store(left, (i + 1) * N_LANES, sum_b)
        store(left, (i + 2) * N_LANES, sum_c)
        rest = rest - q_a * sum_a - q_b * sum_b - q_c * sum_c
    return rest


@step
def differentiate(rows, at, single_root, inverses, left, gradient):
    """Backwards: fill G, which is 0."""
    for k in range(1, at.n_words + 1):
        inverse = load(inverses, k * N_LANES)
        rest = products(rows, at, k, inverse, left, gradient)
        for i in range(k):
            is_left_out, top = single_root and k > 1 and i == 0, load(left, i * N_LANES)
            g = (top if is_left_out else top + rest) * inverse
            store(gradient, i * at.stride + k * N_LANES, g)


@step
def multiply(weights, gradient, at):
    """weights *= G, the marginals; returns the largest G of each lane.

    A probability is not negative; a rounding error may be.
    """
    highest = all_lanes(weights, 0.0)
    for cell in range(0, (at.n_words + 1) * at.stride, N_LANES):
        g = load(gradient, cell)
        # The sum is not a number if any term is not; the maximum alone would lose it.
        highest = maximum(g, highest) + 0.0 * g
        store(weights, cell, maximum(load(weights, cell) * g, 0.0))
    return highest


@step
def clear(matrix, at, index, n_sentences):
    """Nothing in a lane of a matrix of doubles, nor in those that repeat the last of a group."""
    for side in range(index, at.n_sides if index == n_sentences - 1 else index + 1):
        for cell in range(side, (at.n_words + 1) * at.width, at.n_sides):
            matrix[cell] = 0.0


@step
def copy(weights, at, rows, gradient):
    """rows = weights, gradient = 0."""
    for cell in range(0, (at.n_words + 1) * at.stride, N_LANES):
        store(rows, cell, load(weights, cell))
        store(gradient, cell, all_lanes(gradient, 0.0))


@step
def fill_ends(n_words, order, first, ends):
    """Number of words of the sentences side by side from order[first] on."""
    for index in range(len(ends)):
        ends[index] = n_words[order[min(first + index, len(order) - 1)]]


@pasted
def kept(at):
    """What is left behind of a group: where G and 1 / d start behind w, and the end."""
    size = (at.n_words + 1) * at.stride
    return size, 2 * size, 2 * size + at.stride


@step
def place_groups(n_words, order, n_sides, is_kept, offsets):
    """Where what each group leaves behind starts, and the end of all; returns how long it is.

    Unless it is kept, all groups have the same place.
    """
    offsets[0], most = 0, 0
    for group in range(len(offsets) - 1):
        last = min((group + 1) * n_sides, len(order)) - 1
        end = kept(square(n_words[order[last]], n_sides))[2]
        most = max(most, end)
        offsets[group + 1] = offsets[group] + end if is_kept else 0
    return max(offsets[-1], most)


@kernel
def marginals(
    arcs, arc_offsets, n_words, order, single_root, kind, is_kept,
    is_safe, is_restricted, offsets, log_partition, out,
):  # fmt: skip
    """Log-partition and marginals of a batch, sentences taken in `order`.

    Four at a time, or eight, by the `kind` of matrices (see `either`). Fills which sentences are
    safe, in which of them some arcs are forbidden, and where what is left behind of each group
    starts (as many numbers as groups, and the end). Returns that; of the last group alone unless
    it is kept.
    """
    n_sides = n_lanes(kind)
    state = room(kind, place_groups(n_words, order, n_sides, is_kept, offsets))
    if len(order) == 0:
        return state
    most = square(n_words[order[-1]], n_sides)
    weights, best = room(kind, (most.n_words + 1) * most.stride), room(kind, most.stride)
    left, words = room(kind, most.stride + 2 * N_LANES), np.empty(n_sides)
    ends, signs = room(kind, N_LANES), room(kind, 2 * N_LANES)
    # Views are made once: each counts references, as long as several vector operations take.
    matrix, bests, factors = doubles(weights), doubles(best), doubles(state)
    lengths, counts_and_limits = doubles(ends), doubles(signs)
    for group in range(len(offsets) - 1):
        first, end = group * n_sides, min((group + 1) * n_sides, len(order))
        at = square(n_words[order[end - 1]], n_sides)
        start, (second, third, stop) = offsets[group], kept(at)
        rows, gradient = state[start : start + second], state[start + second : start + third]
        inverses = state[start + third : start + stop]
        n_allowed = prepare(
            arcs, arc_offsets, n_words, order, first, at, single_root, weights, best, words
        )
        copy(weights, at, rows, gradient)
        fill_ends(n_words, order, first, lengths)
        eliminate(rows, at, single_root, load(ends, 0), inverses)
        differentiate(rows, at, single_root, inverses, left, gradient)
        store(signs, 0, n_allowed)
        store(signs, N_LANES, multiply(weights, gradient, at))
        for index in range(end - first):
            sentence = order[first + index]
            n = n_words[sentence]
            shift = total_best(bests, n_sides, n, index)
            inverse = (start + third) // N_LANES * n_sides + index
            total = shift + log_product(factors, at, n, inverse)
            is_empty, limit = shift == -np.inf, counts_and_limits[n_sides + index]
            is_safe[sentence] = is_empty or (total < np.inf and limit < SAFE)
            is_restricted[sentence] = counts_and_limits[index] < n * n
            log_partition[sentence] = shift if is_empty else total
            if is_empty:
                clear(matrix, at, index, end - first)
        if single_root:
            swap_back(matrix, at, words)
        write_lanes(weights, at, arc_offsets, n_words, order, first, out)
    return state
