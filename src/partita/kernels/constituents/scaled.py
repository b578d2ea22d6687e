"""Inside and outside sums over binary trees in probabilities, and their derivative.

With weights relative to the best span of the sentence, that of the whole being 1, and i < j:

    inner[i, j]   = weight[i, j] sum_(i <= k < j) inner[i, k] inner[k+1, j],      inner[i, i] = 1
    outside[i, j] = sum_(l > j) outer[i, l] inner[j+1, l] + sum_(h < i) outer[h, j] inner[h, i-1]
    outer[i, j]   = weight[i, j] outside[i, j]

from outside[0, n-1] = 1 / inner[0, n-1]; the marginal of a span is inner * outside.

A number below 2^-1022 becomes 0 on the way, which loses at most 2^-1022 times its outside value.
Where these stay below `SAFE` everywhere the result stands; otherwise the sentence is reported as
unsafe and the caller sums in logarithms. A weight that becomes 0 is multiplied by the sum of its
halves as well, which is at most the number of trees, fewer than `GROWTH`^n.

The covariance of the spans times a direction is the derivative of the marginals: every product
above becomes moved * still + still * moved, and weight' = weight * direction. Where `moved` is None
a step fills `still`; otherwise `still` is full already and it fills `moved`. Numba compiles the two
cases separately. The direction is centred first: every tree has as many spans, so this changes no
result, the sum over all trees stands still, and nothing large cancels.

Every sum is a product of a row and a column, cell by cell, and a tile of two by two spans (i, j),
(i, j+1), (i+1, j), (i+1, j+1) shares them: four products for four loads. What was found last is
added last, so that most of a tile's sums do not wait for the tile before. Within a tile a span has
another as one half and a single word, which weighs 1 and does not move, as the other: there
products are sums.
"""

import math

import numpy as np

from partita.kernels.constituents.side_by_side import (
    exponentiate_spans,
    fill_spans,
    span_layout,
    write_spans,
)
from partita.kernels.jit import borrowing, kernel, lent, step
from partita.kernels.simd.either import all_lanes, doubles, load, n_lanes, room, store
from partita.kernels.simd.lanes import N_LANES, fma, maximum, select
from partita.kernels.underflow import SAFE

GROWTH = 4.0


@borrowing
def add_products(rows, columns, row, column, at, n_terms, ahead, sums):
    """To four sums, the products of two rows with two columns, so many terms each.

    From the cells at `row` and `column` on, or with -1 for `ahead` back from them.
    """
    sum_0, sum_1, sum_2, sum_3 = sums
    for _ in range(n_terms):
        a, b = load(rows, row), load(rows, row + at.stride)
        c, d = load(columns, column), load(columns, column + N_LANES)
        sum_0, sum_1 = fma(a, c, sum_0), fma(b, c, sum_1)
        sum_2, sum_3 = fma(a, d, sum_2), fma(b, d, sum_3)
        row, column = row + ahead * N_LANES, column + ahead * at.stride
    return sum_0, sum_1, sum_2, sum_3


@borrowing
def tile_sums(still, moved, row, column, at, n_terms, ahead, sums):
    """The same for charts that stand still, or for their derivative."""
    if moved is None:
        return add_products(still, still, row, column, at, n_terms, ahead, sums)
    sums = add_products(moved, still, row, column, at, n_terms, ahead, sums)
    return add_products(still, moved, row, column, at, n_terms, ahead, sums)


@borrowing
def one_sum(still, moved, row, column, at, n_terms):
    """One product of a row with a column."""
    value = all_lanes(still, 0.0)
    for _ in range(n_terms):
        if moved is None:
            value = fma(load(still, row), load(still, column), value)
        else:
            value = fma(load(moved, row), load(still, column), value)
            value = fma(load(still, row), load(moved, column), value)
        row, column = row + N_LANES, column + at.stride
    return value


@borrowing
def close_inside(still, moved, at, i, j, value):
    """The span (i, j) from the sum over its cuts."""
    ahead = i * at.stride + j * N_LANES
    value = load(still, at.weight + ahead) * value
    if moved is None:
        store(still, at.inner + ahead, value)
    else:
        value = fma(load(still, at.inner + ahead), load(moved, at.weight + ahead), value)
        store(moved, at.inner + ahead, value)
    return value


@borrowing
def inside_tile(still, moved, at, i, j):
    """The four spans of a tile; all but (i+1, j) also need their neighbours in it."""
    zero = all_lanes(still, 0.0)
    row = at.inner + i * at.stride + (i + 1) * N_LANES
    column = at.inner + (i + 2) * at.stride + j * N_LANES
    sum_0, sum_1, sum_2, sum_3 = tile_sums(
        still, moved, row, column, at, j - i - 1, 1, (zero, zero, zero, zero)
    )
    narrow = close_inside(still, moved, at, i + 1, j, sum_1)
    left = close_inside(still, moved, at, i, j, sum_0 + narrow)
    right = close_inside(still, moved, at, i + 1, j + 1, sum_3 + narrow)
    close_inside(still, moved, at, i, j + 1, sum_2 + left + right)


@lent
def inside(still, moved, at):
    """All spans, rows in pairs from the last to the first."""
    one = all_lanes(still, 1.0 if moved is None else 0.0)
    for i in range(at.n_words):
        if moved is None:
            store(still, at.inner + i * (at.stride + N_LANES), one)
        else:
            store(moved, at.inner + i * (at.stride + N_LANES), one)
    for i in range(at.n_words - 2, -1, -2):
        close_inside(still, moved, at, i, i + 1, one)
        for j in range(i + 2, at.n_words, 2):
            inside_tile(still, moved, at, i, j)


@borrowing
def close_outside(still, moved, at, i, j, value):
    """The span (i, j) from its outside sum; returns what its halves see of it."""
    ahead, back = i * at.stride + j * N_LANES, j * at.stride + i * N_LANES
    outer = load(still, at.weight + ahead) * value
    if moved is None:
        store(still, at.weight + back, value)
        store(still, at.inner + back, outer)
    else:
        store(moved, at.weight + back, value)
        outer = fma(load(still, at.inner + back), load(moved, at.weight + ahead), outer)
        store(moved, at.inner + back, outer)
    return outer


@borrowing
def higher(value, limit):
    """The larger one, infinite where it is not safe; not-a-number counts as infinite."""
    return select(value < SAFE, maximum(value, limit), np.inf)


@borrowing
def outside_tile(still, moved, at, i, j, seeds, limit):
    """The four spans of a tile, the widest first; the others also need their neighbours in it."""
    zero = all_lanes(still, 0.0)
    sums = (zero, zero, zero, zero)
    if moved is None and i == 0:
        sums = (load(seeds, j * N_LANES), load(seeds, (j + 1) * N_LANES), zero, zero)
    # Spans that begin before word i, then those that end behind j+1, from the longest on.
    row, column = at.inner + j * at.stride, at.inner + (i - 1) * N_LANES
    sums = tile_sums(still, moved, row, column, at, i, 1, sums)
    last = at.n_words - 1
    row = at.inner + (j + 1) * at.stride + last * N_LANES
    column = at.inner + last * at.stride + i * N_LANES
    sum_0, sum_1, sum_2, sum_3 = tile_sums(still, moved, row, column, at, last - j - 1, -1, sums)
    wide = close_outside(still, moved, at, i, j + 1, sum_1)
    sum_0, sum_3 = sum_0 + wide, sum_3 + wide
    left = close_outside(still, moved, at, i, j, sum_0)
    right = close_outside(still, moved, at, i + 1, j + 1, sum_3)
    sum_2 = sum_2 + left + right
    close_outside(still, moved, at, i + 1, j, sum_2)
    if moved is None:
        limit = higher(sum_2, higher(sum_3, higher(sum_1, higher(sum_0, limit))))
    return limit


@lent
def outside(still, moved, at, seeds):
    """All spans of two words and more, rows in pairs from the first to the last.

    Returns the largest outside value, infinite where one is not safe. Those of whole sentences,
    `seeds`, do not move, since the direction is centred.
    """
    limit = all_lanes(still, 0.0)
    for i in range(0, at.n_words, 2):
        for j in range(at.n_words - 2, i + 1, -2):
            limit = outside_tile(still, moved, at, i, j, seeds, limit)
        row, column = at.inner + (i + 1) * at.stride, at.inner + (i - 1) * N_LANES
        value = one_sum(still, moved, row, column, at, i)
        row = at.inner + (i + 2) * (at.stride + N_LANES)
        column = at.inner + (i + 2) * at.stride + i * N_LANES
        value = value + one_sum(still, moved, row, column, at, at.n_words - i - 2)
        if moved is None:
            if i == 0:
                value = value + load(seeds, N_LANES)
            limit = higher(value, limit)
        close_outside(still, moved, at, i, i + 1, value)
    return limit


@borrowing
def take_out_tops(scores, part_offsets, n_words, order, first, apart, weights, tops):
    """The whole sentence is in every tree: its score neither counts as best nor is compared.

    Weights and tops are doubles here, and cells of weights are `apart`.
    """
    for index in range(apart):
        sentence = order[min(first + index, len(order) - 1)]
        words = n_words[sentence]
        tops[index] = scores[part_offsets[sentence] + words - 1]
        if words > 1:
            weights[(words - 1) * apart + index] = -np.inf


@borrowing
def put_in_tops(n_words, order, first, apart, tops, weights):
    """Its weight is 1, or 0 if it is forbidden."""
    for index in range(apart):
        words = n_words[order[min(first + index, len(order) - 1)]]
        if words > 1:
            weights[(words - 1) * apart + index] = 1.0 if tops[index] > -np.inf else 0.0


@borrowing
def seed(n_words, order, first, apart, n_cells, totals, seeds):
    """seeds = 1 / the sum over the trees of each lane's sentence, where that ends; else 0."""
    for cell in range(n_cells * apart):
        seeds[cell] = 0.0
    for index in range(apart):
        words = n_words[order[min(first + index, len(order) - 1)]]
        cell = (words - 1) * apart + index
        seeds[cell] = 1.0 / totals[cell] if totals[cell] > 0.0 else 0.0


@step
def place_charts(n_words, order, kind, is_kept, offsets):
    """Where the charts of each group start, and the end of all; returns how many numbers they take.

    Unless they are kept, all groups have the same place.
    """
    offsets[0], most, n_each = 0, 0, n_lanes(kind)
    for group in range(len(offsets) - 1):
        last = min((group + 1) * n_each, len(order)) - 1
        end = span_layout(n_words[order[last]]).end
        most = max(most, end)
        offsets[group + 1] = offsets[group] + end if is_kept else 0
    return max(offsets[-1], most)


@kernel
def marginals(
    scores, part_offsets, n_words, order, kind, is_kept, is_safe, offsets, log_partition, out
):
    """Log-partition and marginals of a batch, sentences taken in `order`.

    Four at a time, or eight, by the `kind` of charts (see `either`). Fills which sentences are
    safe, and where the charts of each group start (as many numbers as groups, and the end).
    Returns the charts, which hold the last group's alone unless they are kept.
    """
    n_each, longest = n_lanes(kind), 0
    for sentence in order:
        longest = max(longest, n_words[sentence])
    width = span_layout(longest).stride
    state = room(kind, place_charts(n_words, order, kind, is_kept, offsets))
    rows = room(kind, width + 3 * N_LANES)
    seeds, signs = rows[:width], rows[width:]
    for group in range(len(offsets) - 1):
        first, end = group * n_each, min((group + 1) * n_each, len(order))
        # The last of a group is its longest.
        at = span_layout(n_words[order[end - 1]])
        charts = state[offsets[group] :]
        fill_spans(scores, part_offsets, n_words, order, first, at, -np.inf, charts)
        weights, values = doubles(charts), doubles(seeds)
        take_out_tops(scores, part_offsets, n_words, order, first, n_each, weights, values)
        best, n_lost = exponentiate_spans(charts, at)
        put_in_tops(n_words, order, first, n_each, values, weights)
        inside(charts, None, at)
        totals = weights[at.inner // N_LANES * n_each :]
        seed(n_words, order, first, n_each, at.n_words, totals, values)
        limit = outside(charts, None, at, seeds)
        write_spans(charts, None, at, part_offsets, n_words, order, first, out)
        store(signs, 0, best)
        store(signs, N_LANES, n_lost)
        store(signs, 2 * N_LANES, limit)
        for index in range(end - first):
            conclude(
                scores, part_offsets, n_words, order[first + index], index, n_each, totals,
                doubles(signs), is_safe, log_partition,
            )  # fmt: skip
    return state


@borrowing
def conclude(
    scores, part_offsets, n_words, sentence, index, apart, totals, signs, is_safe, log_partition
):
    """The log-partition of the sentence in one lane, and whether it is safe.

    By the sum over its trees, and by `signs`: the best score of a span, how many weights were
    lost, and the largest outside value.
    """
    words, start, safe = n_words[sentence], part_offsets[sentence], SAFE
    total, best = totals[(words - 1) * apart + index], signs[index]
    if signs[apart + index] > 0.0:
        safe *= GROWTH ** -float(words)
    always = scores[start + words - 1] if words > 1 else 0.0
    for i in range(words):
        always += scores[start + i * words + i]
    is_positive = 0.0 < total < np.inf and always > -np.inf
    is_safe[sentence] = is_positive and signs[2 * apart + index] < safe
    log_partition[sentence] = -np.inf
    if is_positive:
        log_partition[sentence] = best * max(words - 2, 0) + always + math.log(total)


@step
def centre(still, moved, at, n_words, order, first):
    """Subtract from the direction its mean over the spans of the trees of each lane."""
    mean = all_lanes(still, 0.0)
    for i in range(at.n_words):
        for j in range(i + 1, at.n_words):
            ahead, back = i * at.stride + j * N_LANES, j * at.stride + i * N_LANES
            p = load(still, at.inner + ahead) * load(still, at.weight + back)
            mean = fma(p, load(moved, at.weight + ahead), mean)
    n_each, shares = n_lanes(still), room(still, N_LANES)
    for index in range(n_each):
        words = n_words[order[min(first + index, len(order) - 1)]]
        doubles(shares)[index] = 1.0 / max(words - 1, 1)
    mean = mean * load(shares, 0)
    for i in range(at.n_words):
        row = at.weight + i * at.stride
        for cell in range(row + (i + 1) * N_LANES, row + at.n_words * N_LANES, N_LANES):
            store(moved, cell, load(moved, cell) - mean)


@kernel
def covariance_product(direction, part_offsets, n_words, order, state, offsets, out):
    """The covariance product of a batch, from the charts and offsets of `marginals`."""
    largest, n_each = 0, n_lanes(state)
    for group in range(len(offsets) - 1):
        largest = max(largest, offsets[group + 1] - offsets[group])
    scratch = room(state, largest)
    for group in range(len(offsets) - 1):
        first, end = group * n_each, min((group + 1) * n_each, len(order))
        at = span_layout(n_words[order[end - 1]])
        still, moved = state[offsets[group] : offsets[group + 1]], scratch[: at.end]
        nothing = room(state, at.stride)
        fill_spans(direction, part_offsets, n_words, order, first, at, 0.0, moved)
        centre(still, moved, at, n_words, order, first)
        inside(still, moved, at)
        outside(still, moved, at, nothing)
        write_spans(still, moved, at, part_offsets, n_words, order, first, out)
