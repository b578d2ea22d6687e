"""Inside-outside of second-order projective trees in probabilities, and its derivative.

The weight w of a folded part (see `siblings.parts`) is relative to the best one of its modifier, so
that it is at most 1. With i < j and, for the arcs, h < m (to the left is the mirror image):

    pair[i, j]  = sum_(i <= k < j) right[i, k] left[k+1, j]
    arc[h, m]   = w[h, h, m] left[h+1, m] + sum_(h < s < m) w[h, s, m] arc[h, s] pair[s, m]
    right[i, j] = sum_(i < k <= j) arc[i, k] right[k, j]
    left[i, j]  = sum_(i <= k < j) left[i, k] arc[j, k]

with right[i, i] = left[i, i] = 1. Every projective tree is counted once; the sum over all trees is
right[0, n]. A single root is a matter of weights: the root's second modifiers have none.

Pairs, rights and lefts are summed in tiles as those of the first order (`projective.tiles`). The
outside values of arcs and pairs are pushed down from each arc when its own is known.

A number below 2^-1022 becomes 0 on the way, which loses at most 2^-1022 times its outside value:
the certificate is that of `projective.scaled`, and so is the derivative, with its charts `still`
and `moved`: where `moved` is None a step fills `still`, otherwise it fills `moved`, and the
direction is centred first.
"""

import math

import numpy as np

from partita.kernels.jit import kernel, step
from partita.kernels.projective.scaled import GROWTH, seed
from partita.kernels.projective.side_by_side import filled
from partita.kernels.projective.tiles import (
    inside_sums,
    inside_term,
    outside_left_sums,
    outside_left_term,
    outside_right_sums,
    outside_right_term,
    store_both,
)
from partita.kernels.siblings.side_by_side import (
    best_parts,
    centre,
    exponentiate_rows,
    fill_rows,
    layout,
    row_of,
    write_parts,
)
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, lane, load, maximum, select, store
from partita.kernels.trees.side_by_side import total_best
from partita.kernels.underflow import SAFE


@step
def first_modifier(still, moved, place, half):
    """The term of an arc without inner sibling: its weight, at `place`, times the half under it."""
    weight = load(still, place)
    if moved is None:
        return weight * load(still, half)
    return weight * fma(load(moved, place), load(still, half), load(moved, half))


@step
def add_sibling(still, moved, place, arc, pair, sums):
    """One more term of an arc: its weight, at `place`, times an inner arc and a pair."""
    weight, a, b = load(still, place), load(still, arc), load(still, pair)
    if moved is None:
        return fma(weight, a * b, sums)
    change = fma(load(moved, arc), b, a * load(moved, pair))
    return fma(weight, fma(load(moved, place), a * b, change), sums)


@step
def close_inside(still, moved, at, i, j, pair, right, left):
    """The last terms of the sums of one span: k = i, and the arcs between its ends."""
    charts = filled(still, moved)
    row, column = i * at.stride, j * at.stride
    ahead, back = row + j * N_LANES, column + i * N_LANES
    row_right, row_left = row_of(at, i, j), row_of(at, j, i)
    store_both(charts, at.pair, at, i, j, pair + load(charts, at.left + back + N_LANES))
    arc_right = first_modifier(still, moved, row_right + i * N_LANES, at.left + back + N_LANES)
    arc_left = first_modifier(still, moved, row_left + j * N_LANES, at.right + ahead - N_LANES)
    for s in range((i + 1) * N_LANES, j * N_LANES, N_LANES):
        arc_right = add_sibling(
            still, moved, row_right + s, at.arc + row + s, at.pair + column + s, arc_right
        )
        arc_left = add_sibling(
            still, moved, row_left + s, at.arc + column + s, at.pair + row + s, arc_left
        )
    store(charts, at.arc + ahead, arc_right)
    store(charts, at.arc + back, arc_left)
    store_both(charts, at.right, at, i, j, right + arc_right)
    store_both(charts, at.left, at, i, j, left + arc_left)


@step
def inside_tile(still, moved, at, i, j):
    """The four spans of a tile; those above and on the right also need their neighbours in it."""
    pairs, rights, lefts = inside_sums(still, moved, at, i, j)
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


@step
def inside_words(still, moved, at):
    """All spans of words, rows in pairs from the last to the first."""
    charts, zero = filled(still, moved), broadcast(0.0)
    one = broadcast(1.0 if moved is None else 0.0)
    for i in range(at.n_words + 1):
        cell = i * (at.stride + N_LANES)
        store(charts, at.right + cell, one)
        store(charts, at.left + cell, one)
    for i in range(at.n_words - 1, 0, -2):
        close_inside(still, moved, at, i, i + 1, zero, zero, zero)
        for j in range(i + 2, at.n_words, 2):
            inside_tile(still, moved, at, i, j)


@step
def inside_root(still, moved, at, totals):
    """The arcs from the root; totals[j] is the sum over the trees of the words 1 .. j."""
    charts, zero = filled(still, moved), broadcast(0.0)
    for j in range(1, at.n_words + 1):
        column, cell, row = j * at.stride, j * N_LANES, row_of(at, 0, j)
        # Nothing above reads these charts of the root, but tiles multiply them by zeros.
        store_both(charts, at.right, at, 0, j, zero)
        store_both(charts, at.left, at, 0, j, zero)
        arc = first_modifier(still, moved, row, at.left + column + N_LANES)
        for s in range(N_LANES, cell, N_LANES):
            arc = add_sibling(still, moved, row + s, at.arc + s, at.pair + column + s, arc)
        store(charts, at.arc + cell, arc)
        if moved is None:
            total = zero
            for k in range(N_LANES, cell + N_LANES, N_LANES):
                total = fma(load(still, at.arc + k), load(still, at.right + column + k), total)
            store(totals, cell, total)


@step
def push(still, moved, at, row, arcs, pairs, outer_arcs, outer_pairs, outer, change):
    """What an arc with an outside value gives to one inner arc and one pair under it.

    Of a part with weight w: outer_arc[h, s] += w outer pair[s, m], outer_pair[s, m] += w outer
    arc[h, s]. `change` is the derivative of `outer`.
    """
    charts = filled(still, moved)
    weight, arc, pair = load(still, row), load(still, arcs), load(still, pairs)
    to_arc, to_pair = load(charts, outer_arcs), load(charts, outer_pairs)
    share = weight * outer
    if moved is not None:
        to_arc = fma(share, load(moved, pairs), to_arc)
        to_pair = fma(share, load(moved, arcs), to_pair)
        share = weight * fma(load(moved, row), outer, change)
    store(charts, outer_arcs, fma(share, pair, to_arc))
    store(charts, outer_pairs, fma(share, arc, to_pair))


@step
def first_share(still, moved, at, head, modifier):
    """What an arc gives to the half under it, where it has no inner sibling."""
    place = row_of(at, head, modifier) + head * N_LANES
    cell = at.outer_arc + head * at.stride + modifier * N_LANES
    if moved is None:
        return load(still, place) * load(still, cell)
    return load(still, place) * fma(load(moved, place), load(still, cell), load(moved, cell))


@step
def close_outside(still, moved, at, i, j, right, left, arc_right, arc_left, limit):
    """The last terms of the sums of one span; `limit` becomes infinite where they are not safe."""
    charts = filled(still, moved)
    row, column = i * at.stride, j * at.stride
    ahead, back = row + j * N_LANES, column + i * N_LANES
    # The halves under an arc between i and j + 1, or between i - 1 and j.
    if j < at.n_words:
        right = right + first_share(still, moved, at, j + 1, i)
    left = left + first_share(still, moved, at, i - 1, j)
    arc_right = arc_right + right + load(charts, at.outer_arc + ahead)
    arc_left = arc_left + left + load(charts, at.outer_arc + back)
    # Heads on the left have pushed their share of the pair to one side, those on the right to
    # the other.
    pair = load(charts, at.outer_pair + ahead) + load(charts, at.outer_pair + back)
    store(charts, at.outer_arc + ahead, arc_right)
    store(charts, at.outer_arc + back, arc_left)
    store_both(charts, at.outer_right, at, i, j, right)
    store_both(charts, at.outer_left, at, i, j, left)
    store_both(charts, at.outer_pair, at, i, j, pair)
    outer_right, outer_left = arc_right, arc_left
    if moved is None:
        # No other outside value of the span is larger; not-a-number counts as infinite.
        largest = arc_right + arc_left + pair
        limit = select(largest < SAFE, maximum(largest, limit), np.inf)
    else:
        outer_right = load(still, at.outer_arc + ahead)
        outer_left = load(still, at.outer_arc + back)
    row_right, row_left = row_of(at, i, j), row_of(at, j, i)
    for s in range((i + 1) * N_LANES, j * N_LANES, N_LANES):
        push(
            still, moved, at, row_right + s, at.arc + row + s, at.pair + column + s,
            at.outer_arc + row + s, at.outer_pair + column + s, outer_right, arc_right,
        )  # fmt: skip
        push(
            still, moved, at, row_left + s, at.arc + column + s, at.pair + row + s,
            at.outer_arc + column + s, at.outer_pair + row + s, outer_left, arc_left,
        )  # fmt: skip
    return limit


@step
def outside_tile(still, moved, at, i, j, limit):
    """The four spans of a tile, the widest first; the others also need their neighbours in it."""
    zero = broadcast(0.0)
    zeros = (zero, zero, zero, zero)
    rights, lefts, backs = outside_left_sums(still, moved, at, i, j, zeros, zeros)
    rights, lefts, aheads = outside_right_sums(still, moved, at, i, j, rights, lefts)
    limit = close_outside(
        still, moved, at, i, j + 1, rights[1], lefts[1], aheads[1], backs[1], limit
    )
    right, left, ahead = outside_right_term(
        still, moved, at, i, j, j + 1, rights[0], lefts[0], aheads[0]
    )
    limit = close_outside(still, moved, at, i, j, right, left, ahead, backs[0], limit)
    right, left, back = outside_left_term(
        still, moved, at, i + 1, j + 1, i, rights[3], lefts[3], backs[3]
    )
    limit = close_outside(still, moved, at, i + 1, j + 1, right, left, aheads[3], back, limit)
    right, left, back = outside_left_term(
        still, moved, at, i + 1, j, i, rights[2], lefts[2], backs[2]
    )
    right, left, ahead = outside_right_term(
        still, moved, at, i + 1, j, j + 1, right, left, aheads[2]
    )
    return close_outside(still, moved, at, i + 1, j, right, left, ahead, back, limit)


@step
def outside_words(still, moved, at, limit):
    """All spans of words, rows in pairs from the first to the last; (i, i+1) is in no tile."""
    zero = broadcast(0.0)
    for i in range(1, at.n_words, 2):
        for j in range(at.n_words - 1, i + 1, -2):
            limit = outside_tile(still, moved, at, i, j, limit)
        right, left, ahead, back = zero, zero, zero, zero
        for k in range(i + 2, at.n_words + 1):
            right, left, ahead = outside_right_term(
                still, moved, at, i, i + 1, k, right, left, ahead
            )
        for k in range(i):
            right, left, back = outside_left_term(still, moved, at, i, i + 1, k, right, left, back)
        limit = close_outside(still, moved, at, i, i + 1, right, left, ahead, back, limit)
    return limit


@step
def outside_root(still, moved, at, seeds):
    """The arcs from the root, from the outside values `seeds` of the whole sentences.

    These seeds do not move, since the direction is centred. Returns the largest value.
    """
    charts, zero = filled(still, moved), broadcast(0.0)
    limit = zero
    for cell in range(at.outer_pair, at.weight, N_LANES):
        store(charts, cell, zero)
    for j in range(1, at.n_words + 1):
        store_both(
            charts, at.outer_right, at, 0, j, load(seeds, j * N_LANES) if moved is None else zero
        )
        store_both(charts, at.outer_left, at, 0, j, zero)
    for j in range(at.n_words, 0, -1):
        column, cell, row = j * at.stride, j * N_LANES, row_of(at, 0, j)
        arc = load(charts, at.outer_arc + cell)
        for k in range(cell, at.stride, N_LANES):
            whole = load(still, at.outer_right + k)
            arc = fma(whole, load(charts, at.right + column + k), arc)
        store(charts, at.outer_arc + cell, arc)
        outer = arc
        if moved is None:
            limit = select(arc < SAFE, maximum(arc, limit), np.inf)
        else:
            outer = load(still, at.outer_arc + cell)
        for s in range(N_LANES, cell, N_LANES):
            push(
                still, moved, at, row + s, at.arc + s, at.pair + column + s,
                at.outer_arc + s, at.outer_pair + column + s, outer, arc,
            )  # fmt: skip
    return limit


@kernel
def marginals(
    scores, part_offsets, n_words, order, single_root, is_safe, offsets, log_partition, out
):
    """Log-partition and marginals of a batch, sentences taken in `order`, four at a time.

    Fills which sentences are safe, and where the charts of each group of four start (as many
    numbers as groups, and the end). `out` must be 0 in cells that belong to no tree. Returns the
    charts.
    """
    offsets[0] = 0
    for group in range(len(offsets) - 1):
        last = min((group + 1) * N_LANES, len(order)) - 1
        offsets[group + 1] = offsets[group] + layout(n_words[order[last]]).end
    state = np.empty(offsets[-1])
    for group in range(len(offsets) - 1):
        first, end = group * N_LANES, min((group + 1) * N_LANES, len(order))
        # The last of a group is its longest.
        at = layout(n_words[order[end - 1]])
        charts = state[offsets[group] : offsets[group + 1]]
        best, totals, seeds = np.empty(at.stride), np.empty(at.stride), np.empty(at.stride)
        fill_rows(scores, part_offsets, n_words, order, first, at, single_root, -np.inf, charts)
        best_parts(charts, at, best)
        n_lost = exponentiate_rows(charts, at, best)
        inside_words(charts, None, at)
        inside_root(charts, None, at, totals)
        seed(n_words, order, first, totals, at, seeds)
        limit = outside_root(charts, None, at, seeds)
        limit = outside_words(charts, None, at, limit)
        write_parts(charts, None, at, part_offsets, n_words, order, first, out)
        for index in range(end - first):
            sentence = order[first + index]
            words, safe = n_words[sentence], SAFE
            total = totals[words * N_LANES + index]
            if lane(n_lost, index) > 0.0:
                safe *= GROWTH ** -float(words)
            is_positive = 0.0 < total < np.inf
            is_safe[sentence] = is_positive and lane(limit, index) < safe
            log_partition[sentence] = -np.inf
            if is_positive:
                log_partition[sentence] = total_best(best, N_LANES, words, index) + math.log(total)
    return state


@kernel
def covariance_product(direction, part_offsets, n_words, order, single_root, state, offsets, out):
    """The covariance product of a batch, from the charts and offsets of `marginals`."""
    largest = 0
    for group in range(len(offsets) - 1):
        largest = max(largest, offsets[group + 1] - offsets[group])
    scratch = np.empty(largest)
    for group in range(len(offsets) - 1):
        first, end = group * N_LANES, min((group + 1) * N_LANES, len(order))
        at = layout(n_words[order[end - 1]])
        still, moved = state[offsets[group] : offsets[group + 1]], scratch[: at.end]
        nothing = np.empty(at.stride)
        fill_rows(direction, part_offsets, n_words, order, first, at, single_root, 0.0, moved)
        centre(still, moved, at)
        inside_words(still, moved, at)
        inside_root(still, moved, at, nothing)
        limit = outside_root(still, moved, at, nothing)
        outside_words(still, moved, at, limit)
        write_parts(still, moved, at, part_offsets, n_words, order, first, out)
