"""Eisner's inside-outside in probabilities: the fast path.

Weights are relative to the best arc of each modifier, so that they are at most 1:

    pair[i, j]  = sum_(i <= k < j) right[i, k] left[k+1, j]
    arc[i, j]   = weight[i, j] pair[i, j],    arc[j, i] = weight[j, i] pair[i, j]
    right[i, j] = sum_(i < k <= j) arc[i, k] right[k, j]
    left[i, j]  = sum_(i <= k < j) left[i, k] arc[j, k]

with right[i, i] = left[i, i] = 1, i < j. Every projective tree is counted once. The sum over all
trees is right[0, n]; with a single root, pair[0, j] is left[1, j] alone.

A number below 2^-1022 becomes 0 on the way, which loses at most 2^-1022 times its outside value.
Where these stay below `SAFE` everywhere the result stands; otherwise the sentence is reported as
unsafe and the caller takes `log`. A weight that becomes 0 is multiplied by a pair as well,
which is at most the number of trees, fewer than `GROWTH`^n.
"""

import math

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.projective.side_by_side import fill_lanes, group_offsets, layout, read_lanes
from partita.kernels.projective.tiles import (
    add_inside,
    add_inside_term,
    add_outside_left,
    add_outside_left_term,
    add_outside_right,
    add_outside_right_term,
    store_both,
)
from partita.kernels.simd.exponential import LOWEST, exponential
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, lane, load, maximum, select, store
from partita.kernels.underflow import SAFE

GROWTH = 6.75


@kernel
def close_inside(charts, at, i, j, pair, right, left):
    """The last terms of the sums of one span: k = i, and the arcs between its ends."""
    ahead, back = i * at.stride + j * N_LANES, j * at.stride + i * N_LANES
    pair = pair + load(charts, at.left + back + N_LANES)
    arc_right = load(charts, at.weight + ahead) * pair
    arc_left = load(charts, at.weight + back) * pair
    store(charts, at.arc + ahead, arc_right)
    store(charts, at.arc + back, arc_left)
    store(charts, at.arc_to + back, arc_right)
    store(charts, at.arc_to + ahead, arc_left)
    store_both(charts, at.right, at, i, j, right + arc_right)
    store_both(charts, at.left, at, i, j, left + arc_left)


@kernel
def inside_tile(charts, at, i, j):
    """The four spans of a tile; those above and on the right also need their neighbours in it."""
    zero = broadcast(0.0)
    zeros = (zero, zero, zero, zero)
    pairs, rights, lefts = add_inside(charts, charts, at, i, j, (zeros, zeros, zeros))
    close_inside(charts, at, i + 1, j, pairs[2], rights[2], lefts[2])
    pair, right, left = add_inside_term(
        charts, charts, at, i, j, i + 1, pairs[0], rights[0], lefts[0]
    )
    close_inside(charts, at, i, j, pair, right, left)
    pair, right, left = add_inside_term(
        charts, charts, at, i + 1, j + 1, j, pairs[3], rights[3], lefts[3]
    )
    close_inside(charts, at, i + 1, j + 1, pair, right, left)
    pair, right, left = add_inside_term(
        charts, charts, at, i, j + 1, i + 1, pairs[1], rights[1], lefts[1]
    )
    pair, right, left = add_inside_term(charts, charts, at, i, j + 1, j, pair, right, left)
    close_inside(charts, at, i, j + 1, pair, right, left)


@kernel
def inside_words(charts, at):
    """All spans of words, rows in pairs from the last to the first."""
    zero, one = broadcast(0.0), broadcast(1.0)
    for i in range(at.n_words + 1):
        store_both(charts, at.right, at, i, i, one)
        store_both(charts, at.left, at, i, i, one)
    for i in range(at.n_words - 1, 0, -2):
        close_inside(charts, at, i, i + 1, zero, zero, zero)
        for j in range(i + 2, at.n_words, 2):
            inside_tile(charts, at, i, j)


@kernel
def inside_root(charts, at, single_root, totals):
    """Row 0; totals[j] is the sum over the trees of the words 1 .. j.

    With a single root, right[0, j] is not to be continued, so it is 0 in the chart.
    """
    zero = broadcast(0.0)
    for j in range(1, at.n_words + 1):
        column = j * at.stride
        pair, right = load(charts, at.left + column + N_LANES), zero
        for k in range(N_LANES, j * N_LANES, N_LANES):
            left = load(charts, at.left + column + k + N_LANES)
            pair = fma(load(charts, at.right + k), left, pair)
            right = fma(load(charts, at.arc + k), load(charts, at.right + column + k), right)
        arc = load(charts, at.weight + j * N_LANES) * pair
        right = right + arc
        store(totals, j * N_LANES, right)
        store(charts, at.arc + j * N_LANES, arc)
        store(charts, at.arc_to + column, arc)
        store_both(charts, at.right, at, 0, j, zero if single_root else right)
        store_both(charts, at.left, at, 0, j, zero)


@kernel
def close_outside(charts, at, i, j, right, left, arc_right, arc_left, limit):
    """The last terms of the sums of one span; `limit` becomes infinite where they are not safe."""
    ahead, back = i * at.stride + j * N_LANES, j * at.stride + i * N_LANES
    arc_right, arc_left = arc_right + right, arc_left + left
    pair = load(charts, at.weight + back) * arc_left
    pair = fma(load(charts, at.weight + ahead), arc_right, pair)
    store(charts, at.outer_arc + ahead, arc_right)
    store(charts, at.outer_arc + back, arc_left)
    store_both(charts, at.outer_right, at, i, j, right)
    store_both(charts, at.outer_left, at, i, j, left)
    store_both(charts, at.outer_pair, at, i, j, pair)
    # No other outside value of the span is larger; not-a-number counts as infinite.
    largest = arc_right + arc_left
    return select(largest < SAFE, maximum(largest, limit), np.inf)


@kernel
def outside_tile(charts, at, i, j, limit):
    """The four spans of a tile, the widest first; the others also need their neighbours in it."""
    zero = broadcast(0.0)
    zeros = (zero, zero, zero, zero)
    rights, lefts, aheads = add_outside_right(charts, charts, at, i, j, zeros, zeros, zeros)
    rights, lefts, backs = add_outside_left(charts, charts, at, i, j, rights, lefts, zeros)
    limit = close_outside(charts, at, i, j + 1, rights[1], lefts[1], aheads[1], backs[1], limit)
    right, left, ahead = add_outside_right_term(
        charts, charts, at, i, j, j + 1, rights[0], lefts[0], aheads[0]
    )
    limit = close_outside(charts, at, i, j, right, left, ahead, backs[0], limit)
    right, left, back = add_outside_left_term(
        charts, charts, at, i + 1, j + 1, i, rights[3], lefts[3], backs[3]
    )
    limit = close_outside(charts, at, i + 1, j + 1, right, left, aheads[3], back, limit)
    right, left, back = add_outside_left_term(
        charts, charts, at, i + 1, j, i, rights[2], lefts[2], backs[2]
    )
    right, left, ahead = add_outside_right_term(
        charts, charts, at, i + 1, j, j + 1, right, left, aheads[2]
    )
    return close_outside(charts, at, i + 1, j, right, left, ahead, back, limit)


@kernel
def outside_neighbours(charts, at, i, limit):
    """The span (i, i+1), which belongs to no tile."""
    zero = broadcast(0.0)
    right, left, ahead, back = zero, zero, zero, zero
    for k in range(i + 2, at.n_words + 1):
        right, left, ahead = add_outside_right_term(
            charts, charts, at, i, i + 1, k, right, left, ahead
        )
    for k in range(i):
        right, left, back = add_outside_left_term(
            charts, charts, at, i, i + 1, k, right, left, back
        )
    return close_outside(charts, at, i, i + 1, right, left, ahead, back, limit)


@kernel
def outside_root(charts, at, single_root, seeds):
    """Row 0, from the outside values `seeds` of the whole sentences; returns the largest value."""
    zero = broadcast(0.0)
    limit = zero
    for j in range(at.n_words, 0, -1):
        column = j * at.stride
        right, arc = load(seeds, j * N_LANES), zero
        if not single_root:
            for k in range((j + 1) * N_LANES, at.stride, N_LANES):
                left = load(charts, at.left + column + at.stride + k)
                right = fma(load(charts, at.outer_pair + k), left, right)
        store_both(charts, at.outer_right, at, 0, j, right)
        for k in range(j * N_LANES, at.stride, N_LANES):
            inner = load(charts, at.right + column + k)
            arc = fma(load(charts, at.outer_right + k), inner, arc)
        store(charts, at.outer_arc + j * N_LANES, arc)
        pair = load(charts, at.weight + j * N_LANES) * arc
        store_both(charts, at.outer_pair, at, 0, j, pair)
        store_both(charts, at.outer_left, at, 0, j, zero)
        limit = select(arc < SAFE, maximum(arc, limit), np.inf)
    return limit


@kernel
def outside_words(charts, at, limit):
    """All spans of words, rows in pairs from the first to the last."""
    for i in range(1, at.n_words, 2):
        for j in range(at.n_words - 1, i + 1, -2):
            limit = outside_tile(charts, at, i, j, limit)
        limit = outside_neighbours(charts, at, i, limit)
    return limit


@kernel
def best_arcs(scores, at, best):
    """best[m] = max over heads h of scores[h, m], 0 where all are -inf; returns their sum.

    Every word has exactly one head, so taking best[m] out of every arc to m takes the same
    amount out of every tree.
    """
    total = broadcast(0.0)
    for modifier in range(0, at.stride, N_LANES):
        highest = broadcast(-np.inf)
        for row in range(0, at.right, at.stride):
            highest = maximum(load(scores, row + modifier), highest)
        highest = select(highest > -np.inf, highest, 0.0)
        store(best, modifier, highest)
        total = total + highest
    return total


@kernel
def exponentiate(scores, at, best):
    """scores = exp(scores - best), in place; returns 0 in lanes where no finite one became 0."""
    lost = broadcast(0.0)
    for row in range(0, at.right, at.stride):
        for modifier in range(0, at.stride, N_LANES):
            score = load(scores, row + modifier) - load(best, modifier)
            is_low = select(score < LOWEST, 1.0, broadcast(0.0))
            lost = select(score > -np.inf, is_low + lost, lost)
            store(scores, row + modifier, exponential(score))
    return lost


@kernel
def group_inference(charts, at, single_root, n_words, sentences, totals):
    """Inside and outside of a group; totals[l] is the sum over the trees of lane l.

    Returns the largest outside value of each lane.
    """
    by_end, seeds = np.empty(at.stride), np.zeros(at.stride)
    inside_words(charts, at)
    inside_root(charts, at, single_root, by_end)
    for index in range(len(sentences)):
        cell = n_words[sentences[index]] * N_LANES + index
        totals[index] = by_end[cell]
        if totals[index] > 0.0:
            seeds[cell] = 1.0 / totals[index]
    limit = outside_root(charts, at, single_root, seeds)
    return outside_words(charts, at, limit)


@kernel
def marginals(scores, part_offsets, n_words, order, single_root, log_partition, out):
    """Log-partition and arc marginals of a batch, sentences taken in `order`, four at a time.

    Returns which sentences are safe, the charts of all groups and where those of each start.
    """
    offsets = group_offsets(n_words, order)
    state = np.empty(offsets[-1])
    is_safe = np.zeros(len(log_partition), dtype=np.bool_)
    totals = np.zeros(N_LANES)
    for group in range(len(offsets) - 1):
        sentences = order[group * N_LANES : (group + 1) * N_LANES]
        at = layout(n_words[sentences[-1]])
        charts = state[offsets[group] : offsets[group + 1]]
        fill_lanes(scores, part_offsets, n_words, sentences, at, -np.inf, charts)
        best = np.empty(at.stride)
        shift = best_arcs(charts, at, best)
        lost = exponentiate(charts, at, best)
        limit = group_inference(charts, at, single_root, n_words, sentences, totals)
        product = np.empty(at.right)
        for cell in range(0, at.right, N_LANES):
            inner, outer = load(charts, at.arc + cell), load(charts, at.outer_arc + cell)
            store(product, cell, inner * outer)
        read_lanes(product, at, part_offsets, n_words, sentences, out)
        for index in range(len(sentences)):
            sentence, total = sentences[index], totals[index]
            safe = SAFE
            if lane(lost, index) > 0.0:
                safe *= GROWTH ** -float(n_words[sentence])
            is_positive = 0.0 < total < np.inf
            is_safe[sentence] = is_positive and lane(limit, index) < safe
            log_partition[sentence] = -np.inf
            if is_positive:
                log_partition[sentence] = lane(shift, index) + math.log(total)
    return is_safe, state, offsets
