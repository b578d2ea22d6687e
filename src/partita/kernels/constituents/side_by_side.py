"""Charts of binary trees side by side: four sentences of like length, one in each SIMD lane.

A chart is a square of lanes over the words 0 .. n-1, and holds two numbers of every span, one above
its diagonal and one below. A cell fills a register, so that columns are read as fast as rows. All
charts of a group have the size of its longest sentence, rounded up to an even number of words,
since spans are computed in tiles of two by two. Spans that a shorter sentence lacks have weight 0,
which changes nothing. A lane for which there is no sentence repeats the last one.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import inlined, pasted, step
from partita.kernels.simd.exponential import LOWEST, exponential
from partita.kernels.simd.four_rows import load_four, write_four
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    fma,
    lane,
    load,
    maximum,
    select,
    store,
)


class SpanLayout(NamedTuple):
    """Where the charts of a group start in one flat array, in doubles.

    A derivative of the charts has the same layout, with the direction in place of the weights.
    """

    weight: int
    """[i, j], i < j: of the span alone; at [j, i] its outside value over the sum of all trees."""
    inner: int
    """[i, j], i <= j: all trees of the words i .. j; at [j, i], i < j, outside value times weight,
    which is what the two halves of the span see."""
    end: int
    """Number of doubles in all charts."""
    stride: int
    """Number of doubles from a row of a chart to the next; those behind the last word are unset."""
    n_words: int
    """Number of words of the longest sentence, rounded up to whole tiles."""


@pasted
def span_layout(n_words):
    """The layout of a group whose longest sentence has `n_words` words."""
    n_words = (n_words + 1) // 2 * 2
    # Rows are an odd number of cache lines, so that a column is not crowded into a few places.
    stride = (n_words + (2 if n_words % 4 == 0 else 0)) * N_LANES
    return SpanLayout(0, n_words * stride, 2 * n_words * stride, stride, n_words)


@step
def n_whole(n_words, order, first, i):
    """How many spans from word i on, in fours, are in all four sentences, counted from 0."""
    # The first of a group is its shortest.
    shortest = n_words[order[first]]
    return shortest // N_LANES * N_LANES if i < shortest else 0


@step
def rows_of(part_offsets, n_words, order, first, i):
    """Where the spans from word i on start in four sentences."""
    last = len(order) - 1
    a, b = order[first], order[min(first + 1, last)]
    c, d = order[min(first + 2, last)], order[min(first + 3, last)]
    return (
        part_offsets[a] + i * n_words[a],
        part_offsets[b] + i * n_words[b],
        part_offsets[c] + i * n_words[c],
        part_offsets[d] + i * n_words[d],
    )


@step
def fill_spans(values, part_offsets, n_words, order, first, at, fill, charts):
    """Weights [i, j], i < j, from the scores of four sentences, with `fill` where there is none.

    Cells at and below the diagonal that come along are written again before they are read.
    """
    for i in range(at.n_words):
        row, whole = at.weight + i * at.stride, n_whole(n_words, order, first, i)
        rows = rows_of(part_offsets, n_words, order, first, i)
        for j in range((i + 1) // N_LANES * N_LANES, whole, N_LANES):
            load_four(values, rows, j, charts, row + j * N_LANES, N_LANES)
        for index in range(N_LANES):
            words = n_words[order[min(first + index, len(order) - 1)]]
            for j in range(max(i + 1, whole), at.n_words):
                inside = i < words and j < words
                charts[row + j * N_LANES + index] = values[rows[index] + j] if inside else fill


@step
def exponentiate_spans(charts, at):
    """Weights = exp(score - best), in place, with best the highest score of a span of each lane.

    Every tree of n words has n - 2 spans of more than one word and less than all, so that the same
    amount is taken out of all. Returns the best ones (0 where no span is allowed), and
    which lanes have scores whose weight has become 0.
    """
    highest, n_lost = broadcast(-np.inf), broadcast(0.0)
    for i in range(at.n_words):
        row = at.weight + i * at.stride
        for cell in range(row + (i + 1) * N_LANES, row + at.n_words * N_LANES, N_LANES):
            highest = maximum(load(charts, cell), highest)
    highest = select(highest > -np.inf, highest, 0.0)
    for i in range(at.n_words):
        row = at.weight + i * at.stride
        for cell in range(row + (i + 1) * N_LANES, row + at.n_words * N_LANES, N_LANES):
            score = load(charts, cell) - highest
            is_finite = select(score > -np.inf, 1.0, broadcast(0.0))
            n_lost = n_lost + select(score < LOWEST, is_finite, 0.0)
            store(charts, cell, exponential(score))
    return highest, n_lost


@step
def write_spans(still, moved, at, part_offsets, n_words, order, first, end, out):
    """Marginals of all spans to their sentences, inner * outside, or the derivative of them.

    A word is in every tree, so its marginal is 1 and does not move.
    """
    for i in range(at.n_words):
        whole = n_whole(n_words, order, first, i)
        rows = rows_of(part_offsets, n_words, order, first, i)
        # From the first four that are all above the diagonal.
        above = (i + N_LANES) // N_LANES * N_LANES
        for j in range(above, whole, N_LANES):
            write_four(
                span_marginal(still, moved, at, i, j),
                span_marginal(still, moved, at, i, j + 1),
                span_marginal(still, moved, at, i, j + 2),
                span_marginal(still, moved, at, i, j + 3),
                out, rows, j,
            )  # fmt: skip
        for index in range(end - first):
            words, start = n_words[order[first + index]], rows[index]
            if i >= words:
                continue
            for j in range(i):
                out[start + j] = 0.0
            out[start + i] = 1.0 if moved is None else 0.0
            for j in range(i + 1, min(above, words)):
                out[start + j] = lane(span_marginal(still, moved, at, i, j), index)
            for j in range(max(above, whole), words):
                out[start + j] = lane(span_marginal(still, moved, at, i, j), index)


@inlined
def span_marginal(still, moved, at, i, j):
    """inner * outside of one span, or its derivative."""
    inner = at.inner + i * at.stride + j * N_LANES
    outside = at.weight + j * at.stride + i * N_LANES
    if moved is None:
        return load(still, inner) * load(still, outside)
    changed = load(still, inner) * load(moved, outside)
    return fma(load(moved, inner), load(still, outside), changed)
