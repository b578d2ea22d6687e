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

from partita.kernels.jit import kernel, step
from partita.kernels.projective.side_by_side import layout, write_arcs
from partita.kernels.projective.spans import best_arcs, clear, exponentiate
from partita.kernels.projective.sweeps import inside, outside
from partita.kernels.simd.either import all_lanes, doubles, load, n_lanes, room, store
from partita.kernels.simd.lanes import N_LANES, fma
from partita.kernels.trees.side_by_side import fill_lanes
from partita.kernels.underflow import SAFE

GROWTH = 6.75


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
