"""Covariance of the arcs of projective trees, times a direction: the charts, differentiated.

Every product of the inside and outside recursions becomes moved * still + still * moved, and
weight' = weight * direction. The direction is centred first, so that each word's expected value
is 0: every word has one head, so this changes no result, the sum over all trees stands still, and
nothing large cancels.
"""

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.projective.side_by_side import fill_lanes, layout, read_lanes
from partita.kernels.projective.tiles import (
    add_inside,
    add_inside_term,
    add_outside_left,
    add_outside_left_term,
    add_outside_right,
    add_outside_right_term,
    store_both,
)
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, store


@kernel
def close_inside(still, moved, at, i, j, pair, right, left):
    """The last terms of one span: arc' = weight pair' + arc direction."""
    ahead, back = i * at.stride + j * N_LANES, j * at.stride + i * N_LANES
    pair = pair + load(moved, at.left + back + N_LANES)
    arc_right = load(still, at.arc + ahead) * load(moved, at.weight + ahead)
    arc_right = fma(load(still, at.weight + ahead), pair, arc_right)
    arc_left = load(still, at.arc + back) * load(moved, at.weight + back)
    arc_left = fma(load(still, at.weight + back), pair, arc_left)
    store(moved, at.arc + ahead, arc_right)
    store(moved, at.arc + back, arc_left)
    store(moved, at.arc_to + back, arc_right)
    store(moved, at.arc_to + ahead, arc_left)
    store_both(moved, at.right, at, i, j, right + arc_right)
    store_both(moved, at.left, at, i, j, left + arc_left)


@kernel
def inside_term(still, moved, at, i, j, k, pair, right, left):
    """One term of the inside sums of one span."""
    pair, right, left = add_inside_term(moved, still, at, i, j, k, pair, right, left)
    return add_inside_term(still, moved, at, i, j, k, pair, right, left)


@kernel
def inside_tile(still, moved, at, i, j):
    """The four spans of a tile, as in `projective.scaled`."""
    zero = broadcast(0.0)
    zeros = (zero, zero, zero, zero)
    sums = add_inside(moved, still, at, i, j, (zeros, zeros, zeros))
    pairs, rights, lefts = add_inside(still, moved, at, i, j, sums)
    close_inside(still, moved, at, i + 1, j, pairs[2], rights[2], lefts[2])
    pair, right, left = inside_term(still, moved, at, i, j, i + 1, pairs[0], rights[0], lefts[0])
    close_inside(still, moved, at, i, j, pair, right, left)
    pair, right, left = inside_term(
        still, moved, at, i + 1, j + 1, j, pairs[3], rights[3], lefts[3]
    )
    close_inside(still, moved, at, i + 1, j + 1, pair, right, left)
    pair, right, left = inside_term(
        still, moved, at, i, j + 1, i + 1, pairs[1], rights[1], lefts[1]
    )
    pair, right, left = inside_term(still, moved, at, i, j + 1, j, pair, right, left)
    close_inside(still, moved, at, i, j + 1, pair, right, left)


@kernel
def inside_words(still, moved, at):
    """All spans of words, rows in pairs from the last to the first."""
    zero = broadcast(0.0)
    for i in range(at.n_words + 1):
        store_both(moved, at.right, at, i, i, zero)
        store_both(moved, at.left, at, i, i, zero)
    for i in range(at.n_words - 1, 0, -2):
        close_inside(still, moved, at, i, i + 1, zero, zero, zero)
        for j in range(i + 2, at.n_words, 2):
            inside_tile(still, moved, at, i, j)


@kernel
def inside_root(still, moved, at, single_root):
    """Row 0."""
    zero = broadcast(0.0)
    for j in range(1, at.n_words + 1):
        column, cell = j * at.stride, j * N_LANES
        pair, right = load(moved, at.left + column + N_LANES), zero
        for k in range(1, j):
            pair, right, _ = inside_term(still, moved, at, 0, j, k, pair, right, zero)
        arc = load(still, at.arc + cell) * load(moved, at.weight + cell)
        arc = fma(load(still, at.weight + cell), pair, arc)
        store(moved, at.arc + cell, arc)
        store(moved, at.arc_to + column, arc)
        store_both(moved, at.right, at, 0, j, zero if single_root else right + arc)
        store_both(moved, at.left, at, 0, j, zero)


@kernel
def close_outside(still, moved, at, i, j, right, left, arc_right, arc_left):
    """The last terms of one span: pair' sums weight (arc' + arc direction) over both arcs."""
    ahead, back = i * at.stride + j * N_LANES, j * at.stride + i * N_LANES
    arc_right, arc_left = arc_right + right, arc_left + left
    value = fma(load(still, at.outer_arc + back), load(moved, at.weight + back), arc_left)
    pair = load(still, at.weight + back) * value
    value = fma(load(still, at.outer_arc + ahead), load(moved, at.weight + ahead), arc_right)
    pair = fma(load(still, at.weight + ahead), value, pair)
    store(moved, at.outer_arc + ahead, arc_right)
    store(moved, at.outer_arc + back, arc_left)
    store_both(moved, at.outer_right, at, i, j, right)
    store_both(moved, at.outer_left, at, i, j, left)
    store_both(moved, at.outer_pair, at, i, j, pair)


@kernel
def right_term(still, moved, at, i, j, k, right, left, arc):
    """What the span (i, k), k > j, adds to the outside sums of one span."""
    right, left, arc = add_outside_right_term(moved, still, at, i, j, k, right, left, arc)
    return add_outside_right_term(still, moved, at, i, j, k, right, left, arc)


@kernel
def left_term(still, moved, at, i, j, k, right, left, arc):
    """What the span (k, j), k < i, adds to the outside sums of one span."""
    right, left, arc = add_outside_left_term(moved, still, at, i, j, k, right, left, arc)
    return add_outside_left_term(still, moved, at, i, j, k, right, left, arc)


@kernel
def outside_tile(still, moved, at, i, j):
    """The four spans of a tile, as in `projective.scaled`."""
    zero = broadcast(0.0)
    zeros = (zero, zero, zero, zero)
    rights, lefts, aheads = add_outside_right(moved, still, at, i, j, zeros, zeros, zeros)
    rights, lefts, aheads = add_outside_right(still, moved, at, i, j, rights, lefts, aheads)
    rights, lefts, backs = add_outside_left(moved, still, at, i, j, rights, lefts, zeros)
    rights, lefts, backs = add_outside_left(still, moved, at, i, j, rights, lefts, backs)
    close_outside(still, moved, at, i, j + 1, rights[1], lefts[1], aheads[1], backs[1])
    right, left, ahead = right_term(still, moved, at, i, j, j + 1, rights[0], lefts[0], aheads[0])
    close_outside(still, moved, at, i, j, right, left, ahead, backs[0])
    right, left, back = left_term(still, moved, at, i + 1, j + 1, i, rights[3], lefts[3], backs[3])
    close_outside(still, moved, at, i + 1, j + 1, right, left, aheads[3], back)
    right, left, back = left_term(still, moved, at, i + 1, j, i, rights[2], lefts[2], backs[2])
    right, left, ahead = right_term(still, moved, at, i + 1, j, j + 1, right, left, aheads[2])
    close_outside(still, moved, at, i + 1, j, right, left, ahead, back)


@kernel
def outside_words(still, moved, at):
    """All spans of words, rows in pairs from the first to the last."""
    zero = broadcast(0.0)
    for i in range(1, at.n_words, 2):
        for j in range(at.n_words - 1, i + 1, -2):
            outside_tile(still, moved, at, i, j)
        right, left, ahead, back = zero, zero, zero, zero
        for k in range(i + 2, at.n_words + 1):
            right, left, ahead = right_term(still, moved, at, i, i + 1, k, right, left, ahead)
        for k in range(i):
            right, left, back = left_term(still, moved, at, i, i + 1, k, right, left, back)
        close_outside(still, moved, at, i, i + 1, right, left, ahead, back)


@kernel
def outside_root(still, moved, at, single_root):
    """Row 0; the outside value of the whole sentence does not move."""
    zero = broadcast(0.0)
    for j in range(at.n_words, 0, -1):
        cell = j * N_LANES
        right, arc = zero, zero
        for k in range(j + 1, at.n_words + 1):
            right, _, arc = right_term(still, moved, at, 0, j, k, right, zero, arc)
        if single_root:
            right = zero
        store_both(moved, at.outer_right, at, 0, j, right)
        arc = arc + right
        store(moved, at.outer_arc + cell, arc)
        value = fma(load(still, at.outer_arc + cell), load(moved, at.weight + cell), arc)
        store_both(moved, at.outer_pair, at, 0, j, load(still, at.weight + cell) * value)
        store_both(moved, at.outer_left, at, 0, j, zero)


@kernel
def centre(still, directions, at):
    """Subtract from direction[h, m] its mean over the heads of m, sum_h p(h, m) direction(h, m)."""
    for modifier in range(0, at.stride, N_LANES):
        mean = broadcast(0.0)
        for row in range(0, at.right, at.stride):
            # The unused cells of the charts hold anything: the diagonal, column 0 and its row.
            if row // at.stride != modifier // N_LANES and modifier > 0:
                cell = row + modifier
                p = load(still, at.arc + cell) * load(still, at.outer_arc + cell)
                mean = fma(p, load(directions, cell), mean)
        for row in range(0, at.right, at.stride):
            store(directions, row + modifier, load(directions, row + modifier) - mean)


@kernel
def product(direction, part_offsets, n_words, order, single_root, state, offsets, out):
    """The covariance product of a batch, from the charts kept by `eisner_scaled.marginals`."""
    largest = 0
    for group in range(len(offsets) - 1):
        largest = max(largest, offsets[group + 1] - offsets[group])
    scratch = np.empty(largest)
    for group in range(len(offsets) - 1):
        sentences = order[group * N_LANES : (group + 1) * N_LANES]
        at = layout(n_words[sentences[-1]])
        still, moved = state[offsets[group] : offsets[group + 1]], scratch[: at.end]
        fill_lanes(direction, part_offsets, n_words, sentences, at, 0.0, moved)
        centre(still, moved, at)
        inside_words(still, moved, at)
        inside_root(still, moved, at, single_root)
        outside_root(still, moved, at, single_root)
        outside_words(still, moved, at)
        result = np.empty(at.right)
        for cell in range(0, at.right, N_LANES):
            value = load(moved, at.arc + cell) * load(still, at.outer_arc + cell)
            inner, outer = load(still, at.arc + cell), load(moved, at.outer_arc + cell)
            store(result, cell, fma(inner, outer, value))
        read_lanes(result, at, part_offsets, n_words, sentences, out)
