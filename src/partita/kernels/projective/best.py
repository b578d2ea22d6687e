"""The best projective tree of every sentence: Eisner's algorithm, four sentences at a time.

The recursion of `projective.scaled` with maxima in place of sums and sums in place of products. No
back-pointers: on the way back the split that attains the maximum is looked for again, O(n) a word.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import kernel, pasted, step
from partita.kernels.projective.tiles import store_both
from partita.kernels.simd.lanes import N_LANES, broadcast, load, maximum, store
from partita.kernels.trees.side_by_side import fill_lanes


class BestLayout(NamedTuple):
    """As `projective.side_by_side.ChartLayout`; halves have squares of their own, stored twice."""

    weight: int
    right: int
    left: int
    arc: int
    end: int
    stride: int
    n_words: int


@pasted
def layout(n_words):
    """The layout of a group whose longest sentence has `n_words` words."""
    size = (n_words + 1) * (n_words + 1) * N_LANES
    return BestLayout(0, size, 2 * size, 3 * size, 4 * size, (n_words + 1) * N_LANES, n_words)


@step
def best_span(charts, at, i, j):
    """Best pair, right and left of one span; the arcs between its ends come in last."""
    row, column, lowest = i * at.stride, j * at.stride, broadcast(-np.inf)
    pair = load(charts, at.left + column + (i + 1) * N_LANES)
    right, left = lowest, lowest
    for k in range((i + 1) * N_LANES, j * N_LANES, N_LANES):
        after = load(charts, at.left + column + k + N_LANES)
        pair = maximum(load(charts, at.right + row + k) + after, pair)
        after = load(charts, at.right + column + k)
        right = maximum(load(charts, at.arc + row + k) + after, right)
        after = load(charts, at.arc + column + k)
        left = maximum(load(charts, at.left + row + k) + after, left)
    ahead, back = row + j * N_LANES, column + i * N_LANES
    arc_right = load(charts, at.weight + ahead) + pair
    arc_left = load(charts, at.weight + back) + pair
    store(charts, at.arc + ahead, arc_right)
    store(charts, at.arc + back, arc_left)
    return maximum(arc_right, right), maximum(arc_left, left)


@step
def best_spans(charts, at, single_root, totals):
    """All spans; totals[j] is the score of the best tree of the words 1 .. j."""
    zero, lowest = broadcast(0.0), broadcast(-np.inf)
    for i in range(at.n_words, -1, -1):
        store_both(charts, at.right, at, i, i, zero)
        store_both(charts, at.left, at, i, i, zero)
        for j in range(i + 1, at.n_words + 1):
            right, left = best_span(charts, at, i, j)
            if i == 0:
                store(totals, j * N_LANES, right)
                if single_root:
                    right = lowest
            store_both(charts, at.right, at, i, j, right)
            store_both(charts, at.left, at, i, j, left)


@step
def best_split(charts, first, second, n_terms):
    """The k that maximises a[k] + b[k], for rows that start at `first` and `second`, one lane."""
    chosen, highest = 0, -np.inf
    for k in range(n_terms):
        value = charts[first + k * N_LANES] + charts[second + k * N_LANES]
        if value > highest:
            chosen, highest = k, value
    return chosen


@pasted
def cell(at, i, j, index):
    """Where [i, j] lies in a chart, in lane `index`."""
    return i * at.stride + j * N_LANES + index


@step
def trace(charts, at, n_words, index, stack, heads):
    """Heads of the best tree of one lane; heads[m - 1] is the head of word m.

    `stack` holds spans (head, end) still to be taken apart: right of the head if head < end.
    """
    stack[0, 0], stack[0, 1] = 0, n_words
    depth = 1
    while depth > 0:
        depth -= 1
        head, end = stack[depth, 0], stack[depth, 1]
        if head < end:
            first, last = head, head + 1 + best_split(
                charts, at.arc + cell(at, head, head + 1, index),
                at.right + cell(at, end, head + 1, index), end - head,
            )  # fmt: skip
            modifier = last
        elif head > end:
            first, last = end + best_split(
                charts, at.left + cell(at, end, end, index),
                at.arc + cell(at, head, end, index), head - end,
            ), head  # fmt: skip
            modifier = first
        else:
            continue
        heads[modifier - 1] = head
        middle = first + best_split(
            charts, at.right + cell(at, first, first, index),
            at.left + cell(at, last, first + 1, index), last - first,
        )  # fmt: skip
        stack[depth, 0], stack[depth, 1] = modifier, end
        stack[depth + 1, 0], stack[depth + 1, 1] = first, middle
        stack[depth + 2, 0], stack[depth + 2, 1] = last, middle + 1
        depth += 3


@kernel
def argmax(scores, part_offsets, word_offsets, n_words, order, single_root, stack, heads, best):
    """Heads and score of the best tree of each sentence; heads are 0 where there is no tree.

    `stack` has room for 3 n + 3 pairs of numbers, where n is the length of the longest sentence.
    """
    for group in range(0, len(order), N_LANES):
        end = min(group + N_LANES, len(order))
        at = layout(n_words[order[end - 1]])
        charts, totals = np.empty(at.end), np.empty(at.stride)
        fill_lanes(scores, part_offsets, n_words, order, group, at, -np.inf, charts)
        best_spans(charts, at, single_root, totals)
        for index in range(end - group):
            sentence = order[group + index]
            words, found = n_words[sentence], heads[word_offsets[sentence] :]
            best[sentence] = totals[words * N_LANES + index]
            found[:words] = 0
            if best[sentence] > -np.inf:
                trace(charts, at, words, index, stack, found)
