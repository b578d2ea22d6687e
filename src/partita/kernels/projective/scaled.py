"""Eisner's inside-outside in probabilities, and its derivative: the fast path.

Weights are relative to the best arc of each modifier, so that they are at most 1:

    pair[i, j]  = sum_(i <= k < j) right[i, k] left[k+1, j]
    arc[i, j]   = weight[i, j] pair[i, j],    arc[j, i] = weight[j, i] pair[i, j]
    right[i, j] = sum_(i < k <= j) arc[i, k] right[k, j]
    left[i, j]  = sum_(i <= k < j) left[i, k] arc[j, k]

with right[i, i] = left[i, i] = 1, i < j. Every projective tree is counted once. The sum over all
trees is right[0, n]: the root is a word whose weights weight[j, 0] are 0. With a single root,
pair[0, j] is left[1, j] alone, so that its row is a recursion of its own.

A number below 2^-1022 becomes 0 on the way, which loses at most 2^-1022 times its outside value.
Where the sum of these stays below `SAFE` the result stands; otherwise the sentence is reported as
unsafe and the caller takes `log`. A weight that becomes 0 is multiplied by a pair as well,
which is at most the number of trees, fewer than `GROWTH`^n.

The covariance of the arcs times a direction is the derivative of the marginals: every product
above becomes moved * still + still * moved, and weight' = weight * direction. So each step takes
two sets of charts, `still` and `moved`. Where `moved` is None it fills `still`; otherwise `still`
is full already and it fills `moved`. Numba compiles the two cases separately, and drops from each
what belongs to the other. The direction is centred first, so that each word's expected value is 0:
every word has one head, so this changes no result, the sum over all trees stands still, and nothing
large cancels.
"""

import math

import numpy as np

from partita.kernels.jit import inlined, kernel, step
from partita.kernels.projective.side_by_side import filled, layout, write_arcs
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
from partita.kernels.simd.either import all_lanes, doubles, load, n_lanes, room, store
from partita.kernels.simd.exponential import LOWEST, exponential
from partita.kernels.simd.lanes import N_LANES, fma, maximum, minimum, select
from partita.kernels.trees.side_by_side import fill_lanes
from partita.kernels.underflow import SAFE

GROWTH = 6.75
BAND = 4
"""Rows whose tiles take turns, so that what they read of each column comes from the first cache."""


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
            store(scores, row + modifier, exponential(score))


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
    pairs, rights, lefts = inside_sums(still, moved, at, i, j)
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
def inside_words(still, moved, at, first):
    """All spans from `first` on, rows in pairs from the last to the first.

    The root is a word that has no head: nothing grows from it to the left, since its arcs weigh 0.
    """
    charts, zero = filled(still, moved), all_lanes(still, 0.0)
    one = all_lanes(still, 1.0 if moved is None else 0.0)
    for i in range(at.n_words + 1):
        cell = i * (at.stride + N_LANES)
        store(charts, at.right + cell, one)
        store(charts, at.left + cell, one)
        # What belongs to no tree is multiplied as all else is.
        for unused in (cell, i * at.stride):
            store(charts, at.arc + unused, zero)
            store(charts, at.outer_arc + unused, zero)
    if moved is None:
        for last in range(at.n_words - 1, first - 1, -BAND):
            top = max(last - BAND + 2, first)
            for j in range(top, at.n_words, 2):
                if j <= last:
                    close_inside(still, moved, at, j, j + 1, one, zero, zero)
                for i in range(min(last, j - 2), top - 1, -2):
                    inside_tile(still, moved, at, i, j)
    else:
        for i in range(at.n_words - 1, first - 1, -2):
            close_inside(still, moved, at, i, i + 1, one, zero, zero)
            for j in range(i + 2, at.n_words, 2):
                inside_tile(still, moved, at, i, j)


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
def outside_words(still, moved, at, first, seeds, limit):
    """All spans from `first` on, rows in pairs from the first to the last.

    The root's halves begin with what `seeds` has in its first row, all others with the zeros of
    its second.
    """
    if moved is None:
        for top in range(first, at.n_words, BAND):
            end = min(top + BAND, at.n_words)
            for j in range(at.n_words - 1, top - 1, -2):
                for i in range(top, min(j, end), 2):
                    limit = outside_tile(still, moved, at, i, j, seeds, limit)
                if j < end:
                    limit = outside_neighbours(still, moved, at, j, seeds, limit)
    else:
        for i in range(first, at.n_words, 2):
            for j in range(at.n_words - 1, i + 1, -2):
                limit = outside_tile(still, moved, at, i, j, seeds, limit)
            limit = outside_neighbours(still, moved, at, i, seeds, limit)
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


@step
def inside(still, moved, at, single_root, totals):
    """All spans; totals[j] is the sum over the trees of the words 1 .. j."""
    if single_root:
        inside_words(still, moved, at, 1)
        inside_root(still, moved, at, totals)
    else:
        inside_words(still, moved, at, 0)
        for cell in range(0, at.stride, N_LANES):
            store(totals, cell, load(filled(still, moved), at.right + cell))


@step
def outside(still, moved, at, single_root, seeds):
    """All spans, from the outside values `seeds` of the whole sentences; returns the limit.

    These do not move, since the direction is centred: then `seeds` are zeros.
    """
    limit, first = all_lanes(still, 0.0), 1 if single_root else 0
    if single_root:
        limit = outside_root(still, moved, at, seeds)
    return outside_words(still, moved, at, first, seeds, limit)


@step
def seed(n_words, order, first, totals, at, seeds):
    """seeds = 1 / the sum over the trees of each lane's sentence, where that ends; else 0."""
    clear(seeds, 0, at.stride)
    sums, values, n_each = doubles(totals), doubles(seeds), n_lanes(seeds)
    for index in range(n_each):
        cell = n_words[order[min(first + index, len(order) - 1)]] * n_each + index
        if sums[cell] > 0.0:
            values[cell] = 1.0 / sums[cell]


@step
def clear(row, start, n_values):
    """Zeros in so many places from `start` on."""
    for cell in range(start, start + n_values, N_LANES):
        store(row, cell, all_lanes(row, 0.0))


@step
def place_charts(n_words, order, single_root, kind, is_kept, offsets):
    """Where the charts of each group start, and the end of all; returns how many numbers they take.

    Unless they are kept, all groups have the same place.
    """
    offsets[0], most, n_each = 0, 0, n_lanes(kind)
    for group in range(len(offsets) - 1):
        last = min((group + 1) * n_each, len(order)) - 1
        end = layout(n_words[order[last]], single_root).end
        most = max(most, end)
        offsets[group + 1] = offsets[group] + end if is_kept else 0
    return max(offsets[-1], most)


@kernel
def marginals(
    scores, part_offsets, n_words, order, single_root, kind, is_kept, is_safe, offsets,
    log_partition, out,
):  # fmt: skip
    """Log-partition and arc marginals of a batch, sentences taken in `order`.

    Four at a time, or eight, by the `kind` of charts (see `either`). Fills which sentences are
    safe, and where the charts of each group start (as many numbers as groups, and the end).
    Returns the charts, which hold the last group's alone unless they are kept.
    """
    n_each, longest = n_lanes(kind), 0
    for sentence in order:
        longest = max(longest, n_words[sentence])
    width = layout(longest, single_root).stride
    state = room(kind, place_charts(n_words, order, single_root, kind, is_kept, offsets))
    rows = room(kind, 4 * width + 3 * N_LANES)
    best, totals, seeds = rows[:width], rows[width : 2 * width], rows[2 * width : 4 * width]
    signs = rows[4 * width :]
    for group in range(len(offsets) - 1):
        first, end = group * n_each, min((group + 1) * n_each, len(order))
        # The last of a group is its longest.
        at = layout(n_words[order[end - 1]], single_root)
        charts = state[offsets[group] :]
        fill_lanes(scores, part_offsets, n_words, order, first, at, -np.inf, charts)
        shift, n_lost = best_arcs(charts, at, best)
        exponentiate(charts, at, best)
        inside(charts, None, at, single_root, totals)
        seed(n_words, order, first, totals, at, seeds)
        clear(seeds, at.stride, at.stride)
        limit = outside(charts, None, at, single_root, seeds)
        write_arcs(charts, None, at, part_offsets, n_words, order, first, out)
        store(signs, 0, n_lost)
        store(signs, N_LANES, limit)
        store(signs, 2 * N_LANES, shift)
        conclude(n_words, order, first, end, totals, signs, is_safe, log_partition)
    return state


@step
def conclude(n_words, order, first, end, totals, signs, is_safe, log_partition):
    """Log-partitions of a group, and which of them are safe.

    By its `signs`: how many weights were lost, the limit, and what was taken out of all trees.
    """
    sums, found, n_each = doubles(totals), doubles(signs), n_lanes(totals)
    for index in range(end - first):
        sentence = order[first + index]
        words, safe = n_words[sentence], SAFE
        total = sums[words * n_each + index]
        if found[index] > 0.0:
            safe *= GROWTH ** -float(words)
        is_positive = 0.0 < total < np.inf
        is_safe[sentence] = is_positive and found[n_each + index] < safe
        log_partition[sentence] = -np.inf
        if is_positive:
            log_partition[sentence] = found[2 * n_each + index] + math.log(total)


@step
def centre(still, moved, at, means):
    """Subtract from direction[h, m] its mean over the heads of m, sum_h p(h, m) direction(h, m)."""
    for modifier in range(0, at.stride, N_LANES):
        store(means, modifier, all_lanes(means, 0.0))
    for head in range(at.n_words + 1):
        row = head * at.stride
        for modifier in range(N_LANES, at.stride, N_LANES):
            # The unused cells of the charts hold anything: the diagonal, column 0 and its row.
            if modifier != head * N_LANES:
                cell = row + modifier
                p = load(still, at.arc + cell) * load(still, at.outer_arc + cell)
                store(means, modifier, fma(p, load(moved, cell), load(means, modifier)))
    for row in range(0, at.right, at.stride):
        for modifier in range(0, at.stride, N_LANES):
            cell = row + modifier
            store(moved, cell, load(moved, cell) - load(means, modifier))


@kernel
def covariance_product(direction, part_offsets, n_words, order, single_root, state, offsets, out):
    """The covariance product of a batch, from the charts and offsets of `marginals`."""
    largest, n_each = 0, n_lanes(state)
    for group in range(len(offsets) - 1):
        largest = max(largest, offsets[group + 1] - offsets[group])
    scratch = room(state, largest)
    for group in range(len(offsets) - 1):
        first, end = group * n_each, min((group + 1) * n_each, len(order))
        at = layout(n_words[order[end - 1]], single_root)
        still, moved = state[offsets[group] : offsets[group + 1]], scratch[: at.end]
        nothing = room(state, 2 * at.stride)
        fill_lanes(direction, part_offsets, n_words, order, first, at, 0.0, moved)
        centre(still, moved, at, nothing)
        inside(still, moved, at, single_root, nothing)
        clear(nothing, 0, 2 * at.stride)
        outside(still, moved, at, single_root, nothing)
        write_arcs(still, moved, at, part_offsets, n_words, order, first, out)
