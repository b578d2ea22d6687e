"""The recursions of Eisner's algorithm in probabilities, for a group of sentences side by side.

They are written down in `scaled`, which calls them: arcs to weights, all spans from the shortest to
the longest, and the way back. `still` and `moved` are charts, as there.
"""

import numpy as np

from partita.kernels.jit import inlined, step
from partita.kernels.projective.side_by_side import filled
from partita.kernels.projective.tiles import (
    add_product,
    computed,
    inside_sums,
    inside_term,
    kept,
    latest,
    neighbours,
    outside_left_sums,
    outside_left_term,
    outside_right_sums,
    outside_right_term,
    store_ahead,
    store_back,
)
from partita.kernels.simd.either import all_lanes, load, store
from partita.kernels.simd.exponential import LOWEST
from partita.kernels.simd.lanes import N_LANES, fma, maximum, minimum, select
from partita.kernels.simd.tabled import lane_exponential


@step
def clear(row, start, n_values):
    """Zeros in so many places from `start` on."""
    for cell in range(start, start + n_values, N_LANES):
        store(row, cell, all_lanes(row, 0.0))


@step
def best_arcs(scores, at, best):
    """best[m] = max over heads h of scores[h, m], which may be -inf; returns the sum of others.

    And how many words in each lane have a finite score whose weight, beside the best, is lost.
    """
    total, n_lost = all_lanes(scores, 0.0), all_lanes(scores, 0.0)
    for modifier in range(0, at.stride, N_LANES):
        highest, lowest = all_lanes(scores, -np.inf), all_lanes(scores, np.inf)
        for row in range(0, (at.n_words + 1) * at.stride, at.stride):
            score = load(scores, row + modifier)
            highest = maximum(score, highest)
            lowest = minimum(select(score > -np.inf, score, np.inf), lowest)
        store(best, modifier, highest)
        total = total + select(highest > -np.inf, highest, 0.0)
        n_lost = n_lost + select(lowest - highest < LOWEST, 1.0, all_lanes(scores, 0.0))
    return total, n_lost


@step
def exponentiate(scores, at, best):
    """scores = exp(scores - best), in place.

    Every word has exactly one head, so taking best[m] out of every arc to m takes the same
    amount out of every tree. Where best[m] is -inf nothing is taken out. The root has no head.
    """
    for row in range(0, (at.n_words + 1) * at.stride, at.stride):
        store(scores, row, all_lanes(scores, 0.0))
    for modifier in range(N_LANES, at.stride, N_LANES):
        highest = load(best, modifier)
        highest = select(highest > -np.inf, highest, 0.0)
        for row in range(0, (at.n_words + 1) * at.stride, at.stride):
            score = load(scores, row + modifier) - highest
            store(scores, row + modifier, lane_exponential(score))


@inlined
def close_inside(still, moved, at, i, j, pair, right, left):
    """The last terms of the sums of one span, the arcs between its ends; returns what was stored.

    Arcs to the right and left, and right and left; see `tiles.computed`.
    """
    charts = filled(still, moved)
    ahead, back = i * at.stride + j * N_LANES, j * at.stride + i * N_LANES
    weight_right, weight_left = load(still, at.weight + ahead), load(still, at.weight + back)
    if moved is None:
        arc_right, arc_left = weight_right * pair, weight_left * pair
    else:
        changed = load(still, at.arc + ahead) * load(moved, at.weight + ahead)
        arc_right, right = fma(weight_right, pair, changed), right + changed
        changed = load(still, at.arc + back) * load(moved, at.weight + back)
        arc_left, left = fma(weight_left, pair, changed), left + changed
    # Not arc_right + right, which would have to wait for the arc.
    right, left = fma(weight_right, pair, right), fma(weight_left, pair, left)
    store(charts, at.arc + ahead, arc_right)
    store(charts, at.arc + back, arc_left)
    store(charts, at.right + ahead, right)
    store(charts, at.left + back, left)
    return (
        computed(still, moved, at.arc + ahead, arc_right),
        computed(still, moved, at.arc + back, arc_left),
        computed(still, moved, at.right + ahead, right),
        computed(still, moved, at.left + back, left),
    )


@inlined
def inside_tile(still, moved, at, i, j):
    """The four spans of a tile; those above and on the right also need their neighbours in it.

    These come in registers: from memory they would come late, and nobody has anything else to do.
    """
    close_inside_tile(still, moved, at, i, j, inside_sums(still, moved, at, i, j))


@inlined
def close_inside_tile(still, moved, at, i, j, sums):
    """The rest."""
    pairs, rights, lefts = sums
    arc_i, right_i, left_i = neighbours(still, moved, at, i)
    arc_j, right_j, _ = neighbours(still, moved, at, j)
    behind = kept(still, moved, at.left + j * at.stride + (i + 2) * N_LANES)
    behind_next = kept(still, moved, at.left + (j + 1) * at.stride + (i + 2) * N_LANES)

    arc_right, arc_left, right, left = close_inside(
        still, moved, at, i + 1, j, pairs[2] + latest(moved, behind), rights[2], lefts[2]
    )
    above_arc, _, above_right, above_left = close_inside(
        still, moved, at, i, j,
        add_product(moved, right_i, behind, pairs[0]) + latest(moved, left),
        add_product(moved, arc_i[0], right, rights[0]),
        add_product(moved, left_i, arc_left, lefts[0]),
    )  # fmt: skip
    _, beside_arc, beside_right, beside_left = close_inside(
        still, moved, at, i + 1, j + 1,
        (pairs[3] + latest(moved, behind_next)) + latest(moved, right),
        add_product(moved, arc_right, right_j, rights[3]),
        add_product(moved, left, arc_j[1], lefts[3]),
    )  # fmt: skip
    pair = add_product(moved, right_i, behind_next, pairs[1])
    right = add_product(moved, arc_i[0], beside_right, rights[1])
    left = add_product(moved, left_i, beside_arc, lefts[1])
    close_inside(
        still, moved, at, i, j + 1,
        (pair + latest(moved, above_right)) + latest(moved, beside_left),
        add_product(moved, above_arc, right_j, right),
        add_product(moved, above_left, arc_j[1], left),
    )  # fmt: skip


@step
def inside_root(still, moved, at, totals):
    """Row 0 with a single root; totals[j] is the sum over the trees of the words 1 .. j.

    There right[0, j] is not to be continued, so it is 0 in the chart.
    """
    charts, zero = filled(still, moved), all_lanes(still, 0.0)
    for j in range(1, at.n_words + 1):
        column, cell = j * at.stride, j * N_LANES
        pair, right = load(charts, at.left + column + N_LANES), zero
        for k in range(1, j):
            pair, right, _ = inside_term(still, moved, at, 0, j, k, pair, right, zero)
        arc = load(still, at.weight + cell) * pair
        if moved is not None:
            arc = fma(load(still, at.arc + cell), load(moved, at.weight + cell), arc)
        right = right + arc
        store(totals, cell, right)
        store(charts, at.arc + cell, arc)
        store_ahead(charts, at.right, at, 0, j, zero)
        store_back(charts, at.left, at, 0, j, zero)


@inlined
def close_outside(still, moved, at, i, j, right, left, arc_right, arc_left, limit):
    """The last terms of the sums of one span; returns right, left and pair, and the new `limit`.

    The sum of all, which is infinite or not-a-number where one is.
    """
    charts = filled(still, moved)
    ahead, back = i * at.stride + j * N_LANES, j * at.stride + i * N_LANES
    arc_right, arc_left = arc_right + right, arc_left + left
    store(charts, at.outer_arc + ahead, arc_right)
    store(charts, at.outer_arc + back, arc_left)
    store(charts, at.outer_right + ahead, right)
    store(charts, at.outer_left + back, left)
    if moved is None:
        # No other outside value of the span is larger.
        limit = limit + (arc_right + arc_left)
    else:
        direction = load(moved, at.weight + ahead)
        arc_right = fma(load(still, at.outer_arc + ahead), direction, arc_right)
        direction = load(moved, at.weight + back)
        arc_left = fma(load(still, at.outer_arc + back), direction, arc_left)
    pair = load(still, at.weight + back) * arc_left
    pair = fma(load(still, at.weight + ahead), arc_right, pair)
    store(charts, at.outer_pair + ahead, pair)
    return (
        computed(still, moved, at.outer_right + ahead, right),
        computed(still, moved, at.outer_left + back, left),
        computed(still, moved, at.outer_pair + ahead, pair),
        limit,
    )


@inlined
def outside_tile(still, moved, at, i, j, seeds, limit):
    """The four spans of a tile, the widest first; the others also need their neighbours in it."""
    zero, cell = all_lanes(still, 0.0), (at.stride if i > 0 else 0) + j * N_LANES
    begun = (load(seeds, cell), load(seeds, cell + N_LANES), zero, zero)
    lefts = (zero, zero, zero, zero)
    if moved is None:
        rights, lefts, aheads = outside_right_sums(still, moved, at, i, j, begun, lefts)
        rights, lefts, backs = outside_left_sums(still, moved, at, i, j, rights, lefts)
    else:
        rights, lefts, backs = outside_left_sums(still, moved, at, i, j, begun, lefts)
        rights, lefts, aheads = outside_right_sums(still, moved, at, i, j, rights, lefts)
    return close_outside_tile(still, moved, at, i, j, (rights, lefts, aheads, backs), limit)


@inlined
def close_outside_tile(still, moved, at, i, j, sums, limit):
    """The rest."""
    rights, lefts, aheads, backs = sums
    arc_i, _, left_i = neighbours(still, moved, at, i)
    arc_j, right_j, _ = neighbours(still, moved, at, j)

    right, left, pair, limit = close_outside(
        still, moved, at, i, j + 1, rights[1], lefts[1], aheads[1], backs[1], limit
    )
    before_right, before_left, before_pair, limit = close_outside(
        still, moved, at, i, j,
        rights[0] + latest(moved, pair),
        add_product(moved, left, arc_j[1], lefts[0]),
        add_product(moved, right, right_j, aheads[0]),
        backs[0], limit,
    )  # fmt: skip
    below_right, below_left, below_pair, limit = close_outside(
        still, moved, at, i + 1, j + 1,
        add_product(moved, right, arc_i[0], rights[3]),
        lefts[3] + latest(moved, pair),
        aheads[3],
        add_product(moved, left, left_i, backs[3]), limit,
    )  # fmt: skip
    right = add_product(moved, before_right, arc_i[0], rights[2])
    left = lefts[2] + latest(moved, before_pair)
    _, _, _, limit = close_outside(
        still, moved, at, i + 1, j,
        right + latest(moved, below_pair),
        add_product(moved, below_left, arc_j[1], left),
        add_product(moved, below_right, right_j, aheads[2]),
        add_product(moved, before_left, left_i, backs[2]), limit,
    )  # fmt: skip
    return limit


@inlined
def outside_neighbours(still, moved, at, i, seeds, limit):
    """The span (i, i+1), which is in no tile."""
    zero, shift = all_lanes(still, 0.0), at.stride if i > 0 else 0
    right, left, ahead, back = load(seeds, shift + (i + 1) * N_LANES), zero, zero, zero
    for k in range(i):
        right, left, back = outside_left_term(still, moved, at, i, i + 1, k, right, left, back)
    for k in range(at.n_words, i + 1, -1):
        right, left, ahead = outside_right_term(still, moved, at, i, i + 1, k, right, left, ahead)
    _, _, _, limit = close_outside(still, moved, at, i, i + 1, right, left, ahead, back, limit)
    return limit


@step
def outside_root(still, moved, at, seeds):
    """Row 0 with a single root, from the outside values `seeds` of the whole sentences.

    Returns the sum of those of the arcs.
    """
    charts, zero = filled(still, moved), all_lanes(still, 0.0)
    limit = zero
    for j in range(at.n_words, 0, -1):
        cell = j * N_LANES
        right, arc = zero if moved is not None else load(seeds, cell), zero
        for k in range(at.n_words, j, -1):
            _, _, arc = outside_right_term(still, moved, at, 0, j, k, zero, zero, arc)
        arc = arc + right
        store_ahead(charts, at.outer_right, at, 0, j, right)
        store(charts, at.outer_arc + cell, arc)
        store_back(charts, at.outer_left, at, 0, j, zero)
        if moved is None:
            limit = limit + arc
        else:
            arc = fma(load(still, at.outer_arc + cell), load(moved, at.weight + cell), arc)
        store_ahead(charts, at.outer_pair, at, 0, j, load(still, at.weight + cell) * arc)
    return limit
