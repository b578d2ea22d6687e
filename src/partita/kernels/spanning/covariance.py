"""Covariance of the arcs of spanning trees, times a direction: the elimination, differentiated.

Along a direction v the weights move by w' = w v, and every line of `spanning.elimination` with
them:

    d' = sum_i w'[i, k]                       q'[i] = (w'[i, k] - q[i] d') / d
    w'[i, j] += q'[i] w[k, j] + q[i] w'[k, j]
    left'[i] = sum_j G'[i, j] w[k, j] + G[i, j] w'[k, j]
    G'[i, k] = (left'[i] - sum_i' (q'[i'] left[i'] + q[i'] left'[i']) - G[i, k] d') / d
    G'[k, j] = sum_i q'[i] G[i, j] + q[i] G'[i, j]

The product is w (v G + G'): O(n³), and no matrix is inverted, so it is right at every
conditioning. A constant added to v on all arcs into one word changes nothing; the word's expected
v is taken out first, which leaves less to cancel.
"""

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, store, total
from partita.kernels.simd.small_matrix import padded_width
from partita.kernels.spanning.elimination import (
    copy_row,
    incoming,
    prepare,
    swap_words,
)


@kernel
def expected_direction(direction, marginals, first, n_words, out):
    """out[j] = sum_i marginals[i, j] direction[i, j], the direction that word j can expect."""
    out[: n_words + 1] = 0.0
    for i in range(n_words + 1):
        at = first + i * (n_words + 1)
        row, weights = direction[at : at + n_words + 1], marginals[at : at + n_words + 1]
        for j in range(1, n_words + 1):
            if weights[j] > 0.0:
                out[j] += weights[j] * row[j]


@kernel
def move(direction, first, n_words, expected, out):
    """direction - expected, with rows padded; 0 on unused cells."""
    width = padded_width(n_words + 1)
    for i in range(n_words + 1):
        at = first + i * (n_words + 1)
        row, moved = direction[at : at + n_words + 1], out[i * width : (i + 1) * width]
        for j in range(n_words + 1):
            moved[j] = row[j] - expected[j]
        moved[n_words + 1 :] = 0.0
        moved[0], moved[i] = 0.0, 0.0


@kernel
def shares(rows, moved, width, k, first, inverse, share, moved_share):
    """q_k and q_k' out of column k; returns d_k'."""
    moved_d = incoming(moved, width, k, first)
    for i in range(k):
        q = rows[i * width + k] * inverse
        share[i] = q
        moved_share[i] = (moved[i * width + k] - q * moved_d) * inverse
    return moved_d


@kernel
def pass_on(rows, moved, width, k, share, moved_share, source, moved_source):
    """w[i, j] += q[i] w[k, j] and w'[i, j] += q'[i] w[k, j] + q[i] w'[k, j], two rows at a time."""
    i = 0
    while i + 2 <= k:
        a, b = i * width, (i + 1) * width
        by_a, by_b = broadcast(share[i]), broadcast(share[i + 1])
        moved_a, moved_b = broadcast(moved_share[i]), broadcast(moved_share[i + 1])
        for j in range(0, k, N_LANES):
            w, moved_w = load(source, j), load(moved_source, j)
            store(rows, a + j, fma(by_a, w, load(rows, a + j)))
            store(rows, b + j, fma(by_b, w, load(rows, b + j)))
            low = fma(by_a, moved_w, load(moved, a + j))
            store(moved, a + j, fma(moved_a, w, low))
            low = fma(by_b, moved_w, load(moved, b + j))
            store(moved, b + j, fma(moved_b, w, low))
        i += 2
    if i < k:
        a, by_a, moved_a = i * width, broadcast(share[i]), broadcast(moved_share[i])
        for j in range(0, k, N_LANES):
            w, moved_w = load(source, j), load(moved_source, j)
            store(rows, a + j, fma(by_a, w, load(rows, a + j)))
            store(moved, a + j, fma(moved_a, w, fma(by_a, moved_w, load(moved, a + j))))


@kernel
def products(
    gradient, moved_gradient, width, k, share, moved_share, source, moved_source, left, moved_left
):
    """left, left' and row k of G and G', in one pass over G and G' of the words before k."""
    at = k * width
    i = 0
    while i < k:
        # An odd last row goes with itself, at weight 0.
        other = min(i + 1, k - 1)
        a, b = i * width, other * width
        q_a, moved_q_a = broadcast(share[i]), broadcast(moved_share[i])
        q_b, moved_q_b = broadcast(0.0), broadcast(0.0)
        if other > i:
            q_b, moved_q_b = broadcast(share[other]), broadcast(moved_share[other])
        sum_a = broadcast(0.0)
        sum_b, moved_sum_a, moved_sum_b = sum_a, sum_a, sum_a
        for j in range(0, k, N_LANES):
            w, moved_w = load(source, j), load(moved_source, j)
            g_a, moved_g_a = load(gradient, a + j), load(moved_gradient, a + j)
            g_b, moved_g_b = load(gradient, b + j), load(moved_gradient, b + j)
            sum_a, sum_b = fma(g_a, w, sum_a), fma(g_b, w, sum_b)
            moved_sum_a = fma(moved_g_a, w, fma(g_a, moved_w, moved_sum_a))
            moved_sum_b = fma(moved_g_b, w, fma(g_b, moved_w, moved_sum_b))
            low = fma(q_a, g_a, load(gradient, at + j))
            store(gradient, at + j, fma(q_b, g_b, low))
            low = fma(moved_q_a, g_a, fma(q_a, moved_g_a, load(moved_gradient, at + j)))
            store(moved_gradient, at + j, fma(moved_q_b, g_b, fma(q_b, moved_g_b, low)))
        left[i], moved_left[i] = total(sum_a), total(moved_sum_a)
        left[other], moved_left[other] = total(sum_b), total(moved_sum_b)
        i += 2


@kernel
def add_word(
    gradient, moved_gradient, width, k, first, inverse, moved_d,
    share, moved_share, left, moved_left,
):  # fmt: skip
    """Column k of G and G', given left and left'."""
    rest, moved_rest = 1.0, 0.0
    for i in range(k):
        rest -= share[i] * left[i]
        moved_rest -= moved_share[i] * left[i] + share[i] * moved_left[i]
    for i in range(k):
        top, moved_top = left[i], moved_left[i]
        if i >= first:
            top, moved_top = top + rest, moved_top + moved_rest
        gradient[i * width + k] = top * inverse
        moved_gradient[i * width + k] = (moved_top - top * inverse * moved_d) * inverse


@kernel
def sentence(n_words, single_root, rows, moved, gradient, moved_gradient):
    """Fill G and G' of a sentence; its weights and their derivatives are used up."""
    width = padded_width(n_words + 1)
    share, moved_share = np.empty(width), np.empty(width)
    source, moved_source = np.empty(width), np.empty(width)
    left, moved_left = np.empty(width), np.empty(width)
    inverses = np.empty(width)
    for k in range(n_words, 0, -1):
        first = 1 if single_root and k > 1 else 0
        inverses[k] = 1.0 / incoming(rows, width, k, first)
        shares(rows, moved, width, k, first, inverses[k], share, moved_share)
        copy_row(rows, k * width, k, source)
        copy_row(moved, k * width, k, moved_source)
        pass_on(rows, moved, width, k, share, moved_share, source, moved_source)
    gradient[: (n_words + 1) * width] = 0.0
    moved_gradient[: (n_words + 1) * width] = 0.0
    for k in range(1, n_words + 1):
        first = 1 if single_root and k > 1 else 0
        moved_d = shares(rows, moved, width, k, first, inverses[k], share, moved_share)
        copy_row(rows, k * width, k, source)
        copy_row(moved, k * width, k, moved_source)
        products(
            gradient, moved_gradient, width, k, share, moved_share, source, moved_source,
            left, moved_left,
        )  # fmt: skip
        add_word(
            gradient, moved_gradient, width, k, first, inverses[k], moved_d,
            share, moved_share, left, moved_left,
        )  # fmt: skip


@kernel
def write_product(direction, marginals, expected, moved, first, n_words, out):
    """w (v G + G') = marginals (direction - expected) + moved, given moved = w G'."""
    width = padded_width(n_words + 1)
    for i in range(n_words + 1):
        at = first + i * (n_words + 1)
        row, weights = direction[at : at + n_words + 1], marginals[at : at + n_words + 1]
        result, change = out[at : at + n_words + 1], moved[i * width : (i + 1) * width]
        for j in range(n_words + 1):
            moves = weights[j] > 0.0
            result[j] = weights[j] * (row[j] - expected[j]) + change[j] if moves else 0.0


@kernel
def product(arcs, direction, marginals, arc_offsets, n_words, single_root, is_safe, out):
    """The covariance product of the safe sentences of a batch."""
    most = 0
    for n in n_words:
        most = max(most, n)
    size = (most + 1) * padded_width(most + 1)
    weights, rows, moved = np.empty(size), np.empty(size), np.empty(size)
    gradient, moved_gradient = np.empty(size), np.empty(size)
    best, expected = np.empty(padded_width(most + 1)), np.empty(padded_width(most + 1))
    for b in range(len(n_words)):
        n, first = n_words[b], arc_offsets[b]
        if not is_safe[b]:
            continue
        n_cells = (n + 1) * padded_width(n + 1)
        _, word = prepare(arcs, first, n, single_root, weights, best)
        expected_direction(direction, marginals, first, n, expected)
        move(direction, first, n, expected, moved)
        swap_words(moved, n, word)
        for cell in range(0, n_cells, N_LANES):
            store(rows, cell, load(weights, cell))
            store(moved, cell, load(weights, cell) * load(moved, cell))
        sentence(n, single_root, rows, moved, gradient, moved_gradient)
        for cell in range(0, n_cells, N_LANES):
            store(moved_gradient, cell, load(weights, cell) * load(moved_gradient, cell))
        swap_words(moved_gradient, n, word)
        write_product(direction, marginals, expected, moved_gradient, first, n, out)
