"""The best second-order projective tree of every sentence, four sentences at a time.

The recursion of `siblings.scaled` with maxima in place of sums and sums in place of products. No
back-pointers: on the way back the term that attains the maximum is looked for again, O(n) a word.
"""

import numpy as np

from partita.kernels.jit import kernel, step
from partita.kernels.projective.best import best_split, cell
from partita.kernels.projective.tiles import store_both
from partita.kernels.siblings.side_by_side import fill_rows, layout, row_of
from partita.kernels.simd.lanes import N_LANES, broadcast, load, maximum, store


@step
def best_span(charts, at, i, j):
    """Best pair, right and left of one span, and the arcs between its ends."""
    row, column, lowest = i * at.stride, j * at.stride, broadcast(-np.inf)
    ahead, back = row + j * N_LANES, column + i * N_LANES
    row_right, row_left = row_of(at, i, j), row_of(at, j, i)
    pair = load(charts, at.left + back + N_LANES)
    right, left = lowest, lowest
    arc_right = load(charts, row_right + i * N_LANES) + pair
    arc_left = load(charts, row_left + j * N_LANES) + load(charts, at.right + ahead - N_LANES)
    for k in range((i + 1) * N_LANES, j * N_LANES, N_LANES):
        inner_right, inner_left = load(charts, at.arc + row + k), load(charts, at.arc + column + k)
        over = load(charts, row_right + k) + load(charts, at.pair + column + k)
        arc_right = maximum(inner_right + over, arc_right)
        over = load(charts, row_left + k) + load(charts, at.pair + row + k)
        arc_left = maximum(inner_left + over, arc_left)
        after = load(charts, at.left + column + k + N_LANES)
        pair = maximum(load(charts, at.right + row + k) + after, pair)
        right = maximum(inner_right + load(charts, at.right + column + k), right)
        left = maximum(inner_left + load(charts, at.left + row + k), left)
    store(charts, at.arc + ahead, arc_right)
    store(charts, at.arc + back, arc_left)
    store_both(charts, at.pair, at, i, j, pair)
    store_both(charts, at.right, at, i, j, maximum(arc_right, right))
    store_both(charts, at.left, at, i, j, maximum(arc_left, left))


@step
def best_spans(charts, at, totals):
    """All spans; totals[j] is the score of the best tree of the words 1 .. j."""
    zero = broadcast(0.0)
    for i in range(at.n_words, 0, -1):
        store_both(charts, at.right, at, i, i, zero)
        store_both(charts, at.left, at, i, i, zero)
        for j in range(i + 1, at.n_words + 1):
            best_span(charts, at, i, j)
    for j in range(1, at.n_words + 1):
        column, row = j * at.stride, row_of(at, 0, j)
        arc = load(charts, row) + load(charts, at.left + column + N_LANES)
        for s in range(N_LANES, j * N_LANES, N_LANES):
            over = load(charts, row + s) + load(charts, at.pair + column + s)
            arc = maximum(load(charts, at.arc + s) + over, arc)
        store(charts, at.arc + j * N_LANES, arc)
        total = broadcast(-np.inf)
        for k in range(N_LANES, (j + 1) * N_LANES, N_LANES):
            total = maximum(load(charts, at.arc + k) + load(charts, at.right + column + k), total)
        store(totals, j * N_LANES, total)


@step
def best_inner(charts, at, head, modifier, index):
    """The inner sibling under the best arc of one lane; the head itself if there is none."""
    row = row_of(at, head, modifier) + index
    if head < modifier:
        half = charts[at.left + cell(at, modifier, head + 1, index)]
    else:
        half = charts[at.right + cell(at, modifier, head - 1, index)]
    chosen, highest = head, charts[row + head * N_LANES] + half
    for s in range(min(head, modifier) + 1, max(head, modifier)):
        inner = charts[at.arc + cell(at, head, s, index)]
        value = inner + charts[row + s * N_LANES] + charts[at.pair + cell(at, modifier, s, index)]
        if value > highest:
            chosen, highest = s, value
    return chosen


@step
def trace_arc(charts, at, head, modifier, index, stack, depth, heads):
    """Heads under a best arc; spans (head, end) still to be taken apart go onto the stack."""
    while True:
        heads[modifier - 1] = head
        inner = best_inner(charts, at, head, modifier, index)
        if inner == head:
            stack[depth, 0] = modifier
            stack[depth, 1] = head + 1 if head < modifier else head - 1
            return depth + 1
        first, last = min(inner, modifier), max(inner, modifier)
        middle = first + best_split(
            charts, at.right + cell(at, first, first, index),
            at.left + cell(at, last, first + 1, index), last - first,
        )  # fmt: skip
        stack[depth, 0], stack[depth, 1] = first, middle
        stack[depth + 1, 0], stack[depth + 1, 1] = last, middle + 1
        depth += 2
        modifier = inner


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
        if head == end:
            continue
        if head < end:
            modifier = head + 1 + best_split(
                charts, at.arc + cell(at, head, head + 1, index),
                at.right + cell(at, end, head + 1, index), end - head,
            )  # fmt: skip
        else:
            modifier = end + best_split(
                charts, at.left + cell(at, end, end, index),
                at.arc + cell(at, head, end, index), head - end,
            )  # fmt: skip
        stack[depth, 0], stack[depth, 1] = modifier, end
        depth = trace_arc(charts, at, head, modifier, index, stack, depth + 1, heads)


@kernel
def argmax(scores, part_offsets, word_offsets, n_words, order, single_root, stack, heads, best):
    """Heads and score of the best tree of each sentence; heads are 0 where there is no tree.

    `stack` has room for 3 n + 3 pairs of numbers, where n is the length of the longest sentence.
    """
    for group in range(0, len(order), N_LANES):
        end = min(group + N_LANES, len(order))
        at = layout(n_words[order[end - 1]])
        charts, totals = np.empty(at.end), np.empty(at.stride)
        fill_rows(scores, part_offsets, n_words, order, group, at, single_root, -np.inf, charts)
        best_spans(charts, at, totals)
        for index in range(end - group):
            sentence = order[group + index]
            words, found = n_words[sentence], heads[word_offsets[sentence] :]
            best[sentence] = totals[words * N_LANES + index]
            for word in range(words):
                found[word] = 0
            if best[sentence] > -np.inf:
                trace(charts, at, words, index, stack, found)
