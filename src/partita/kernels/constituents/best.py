"""The best binary tree of each sentence: the recursion of `scaled` with maxima in place of sums.

    best[i, j] = score[i, j] + max_(i <= k < j) best[i, k] + best[k+1, j]
    best[i, i] = score[i, i]

Four sentences at a time, in tiles of two by two spans. No cut is kept on the way: each span of the
best tree finds its own again, O(n²) in all, which is less than writing down O(n²) of them four at a
time.
"""

import numpy as np

from partita.kernels.constituents.side_by_side import fill_spans, span_layout
from partita.kernels.jit import kernel, step
from partita.kernels.simd.lanes import N_LANES, broadcast, load, maximum, store


@step
def close_best(charts, at, i, j, value):
    """The span (i, j) from the best of its cuts."""
    ahead, back = i * at.stride + j * N_LANES, j * at.stride + i * N_LANES
    value = load(charts, at.weight + ahead) + value
    store(charts, at.inner + ahead, value)
    store(charts, at.inner + back, value)


@step
def better(charts, left, right, value):
    """One more cut."""
    return maximum(load(charts, left) + load(charts, right), value)


@step
def best_tile(charts, at, i, j):
    """The four spans of a tile; all but (i+1, j) also need their neighbours in it."""
    nothing = broadcast(-np.inf)
    best_0, best_1, best_2, best_3 = nothing, nothing, nothing, nothing
    top, bottom = at.inner + i * at.stride, at.inner + (i + 1) * at.stride
    first, second = at.inner + j * at.stride, at.inner + (j + 1) * at.stride
    for k in range((i + 1) * N_LANES, j * N_LANES, N_LANES):
        a, b = load(charts, top + k), load(charts, bottom + k)
        c, d = load(charts, first + k + N_LANES), load(charts, second + k + N_LANES)
        best_0, best_1 = maximum(a + c, best_0), maximum(a + d, best_1)
        best_2, best_3 = maximum(b + c, best_2), maximum(b + d, best_3)
    word_left, word_right = top + i * N_LANES, second + (j + 1) * N_LANES
    after, before = (i + 1) * N_LANES, j * N_LANES
    close_best(charts, at, i + 1, j, best_2)
    close_best(charts, at, i, j, better(charts, word_left, first + after, best_0))
    close_best(charts, at, i + 1, j + 1, better(charts, bottom + before, word_right, best_3))
    best_1 = better(charts, word_left, second + after, best_1)
    close_best(charts, at, i, j + 1, better(charts, top + before, word_right, best_1))


@step
def write_tree(charts, at, index, n_words, stack, rows, row):
    """The spans of the best tree of one lane from the top down, into rows from `row` on."""
    stack[0], stack[1], n_open = 0, n_words - 1, 1
    while n_open > 0:
        n_open -= 1
        i, j = stack[2 * n_open], stack[2 * n_open + 1]
        rows[row, 0], rows[row, 1] = i, j
        row += 1
        if i == j:
            continue
        left, right = at.inner + i * at.stride + index, at.inner + j * at.stride + index
        cut, highest = i, -np.inf
        for k in range(i, j):
            value = charts[left + k * N_LANES] + charts[right + (k + 1) * N_LANES]
            if value > highest:
                cut, highest = k, value
        stack[2 * n_open], stack[2 * n_open + 1] = cut + 1, j
        stack[2 * n_open + 2], stack[2 * n_open + 3] = i, cut
        n_open += 2


@kernel
def best_trees(scores, part_offsets, n_words, order, row_offsets, rows, best):
    """Fills the spans (first, last) of the best trees, all sentences end to end, and their scores.

    The rows of sentence b are row_offsets[b] : row_offsets[b + 1].
    """
    for first in range(0, len(order), N_LANES):
        end = min(first + N_LANES, len(order))
        at = span_layout(n_words[order[end - 1]])
        charts = np.empty(at.end)
        stack = np.empty(2 * at.n_words + 2, dtype=np.int64)
        fill_spans(scores, part_offsets, n_words, order, first, at, -np.inf, charts)
        for index in range(N_LANES):
            sentence = order[min(first + index, len(order) - 1)]
            words, start = n_words[sentence], part_offsets[sentence]
            for i in range(at.n_words):
                cell = at.inner + i * (at.stride + N_LANES) + index
                charts[cell] = scores[start + i * words + i] if i < words else -np.inf
        for i in range(at.n_words - 2, -1, -2):
            corner = at.inner + i * (at.stride + N_LANES)
            pair = load(charts, corner) + load(charts, corner + at.stride + N_LANES)
            close_best(charts, at, i, i + 1, pair)
            for j in range(i + 2, at.n_words, 2):
                best_tile(charts, at, i, j)
        for index in range(end - first):
            sentence = order[first + index]
            words = n_words[sentence]
            best[sentence] = charts[at.inner + (words - 1) * N_LANES + index]
            write_tree(charts, at, index, words, stack, rows, row_offsets[sentence])
