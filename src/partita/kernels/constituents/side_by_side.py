"""Charts of binary trees side by side: four or eight sentences of like length, one in each lane.

A chart is a square of lanes over the words 0 .. n-1, and holds two numbers of every span, one above
its diagonal and one below. A cell fills a register, so that columns are read as fast as rows. All
charts of a group have the size of its longest sentence, rounded up to an even number of words,
since spans are computed in tiles of two by two. Spans that a shorter sentence lacks have weight 0,
which changes nothing. A lane for which there is no sentence repeats the last one.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import borrowing, pasted, step
from partita.kernels.simd import lanes
from partita.kernels.simd.eight import EIGHT, all_eight, store_eight
from partita.kernels.simd.either import all_lanes, doubles, load, n_lanes, store
from partita.kernels.simd.exponential import LOWEST, exponential
from partita.kernels.simd.four_rows import load_four, write_four
from partita.kernels.simd.lanes import N_LANES, fma, lane, maximum, select


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


@borrowing
def lengths_of(n_words, order, first):
    """Number of words of the four sentences from order[first] on."""
    last = len(order) - 1
    return (
        n_words[order[min(first, last)]],
        n_words[order[min(first + 1, last)]],
        n_words[order[min(first + 2, last)]],
        n_words[order[min(first + 3, last)]],
    )


@borrowing
def starts_of(part_offsets, order, first):
    """Where the spans of the four sentences from order[first] on start."""
    last = len(order) - 1
    return (
        part_offsets[order[min(first, last)]],
        part_offsets[order[min(first + 1, last)]],
        part_offsets[order[min(first + 2, last)]],
        part_offsets[order[min(first + 3, last)]],
    )


@pasted
def next_rows(rows, lengths):
    """Where the spans from the next word start in four sentences."""
    return (
        rows[0] + lengths[0],
        rows[1] + lengths[1],
        rows[2] + lengths[2],
        rows[3] + lengths[3],
    )


@pasted
def n_common(lengths, i):
    """How many spans from word i on, counted from 0, are in all four sentences; 0 below four.

    They are read and written in squares of four, the last of which ends with them, and so may
    hold some that the one before it has, or that are below the diagonal.
    """
    # The first of a group is its shortest.
    return lengths[0] if i < lengths[0] and lengths[0] >= N_LANES else 0


@step
def fill_spans(values, part_offsets, n_words, order, first, at, fill, charts):
    """Weights [i, j], i < j, from the scores of the sentences, with `fill` where there is none.

    Cells at and below the diagonal that come along are written again before they are read.
    """
    weights, apart = doubles(charts), n_lanes(charts)
    for half in range(0, apart, N_LANES):
        lengths = lengths_of(n_words, order, first + half)
        rows = starts_of(part_offsets, order, first + half)
        for i in range(at.n_words):
            row = i * (at.stride // N_LANES) * apart + half
            fill_row(values, rows, lengths, i, at.n_words, fill, weights, row, apart)
            rows = next_rows(rows, lengths)


@borrowing
def fill_row(values, rows, lengths, i, n_words, fill, weights, row, apart):
    """A row of four lanes of weights, which begin at `row` and are `apart`."""
    common = n_common(lengths, i)
    for j in range(i + 1, common, N_LANES):
        square = min(j, common - N_LANES)
        load_four(values, rows, square, weights, row + square * apart, apart)
    for index in range(N_LANES):
        words = lengths[index] if i < lengths[index] else 0
        for j in range(max(i + 1, common), n_words):
            weights[row + j * apart + index] = values[rows[index] + j] if j < words else fill


@step
def exponentiate_spans(charts, at):
    """Weights = exp(score - best), in place, with best the highest score of a span of each lane.

    Every tree of n words has n - 2 spans of more than one word and less than all, so that the same
    amount is taken out of all. Returns the best ones (0 where no span is allowed), and
    which lanes have scores whose weight has become 0.
    """
    highest, n_lost = all_lanes(charts, -np.inf), all_lanes(charts, 0.0)
    for i in range(at.n_words):
        row = at.weight + i * at.stride
        for cell in range(row + (i + 1) * N_LANES, row + at.n_words * N_LANES, N_LANES):
            highest = maximum(load(charts, cell), highest)
    highest = select(highest > -np.inf, highest, 0.0)
    for i in range(at.n_words):
        row = at.weight + i * at.stride
        for cell in range(row + (i + 1) * N_LANES, row + at.n_words * N_LANES, N_LANES):
            score = load(charts, cell) - highest
            is_finite = select(score > -np.inf, 1.0, all_lanes(charts, 0.0))
            n_lost = n_lost + select(score < LOWEST, is_finite, 0.0)
            store(charts, cell, exponential(score))
    return highest, n_lost


@step
def write_spans(still, moved, at, part_offsets, n_words, order, first, out):
    """Marginals of all spans to their sentences, inner * outside, or the derivative of them.

    A word is in every tree, so its marginal is 1 and does not move.
    """
    batch, apart = (part_offsets, n_words, order), n_lanes(still)
    if moved is None:
        write_rows(doubles(still), None, at, batch, first, apart, out)
    else:
        write_rows(doubles(still), doubles(moved), at, batch, first, apart, out)


@borrowing
def write_rows(still, moved, at, batch, first, apart, out):
    """The same, of charts as doubles, whose cells are `apart`."""
    part_offsets, n_words, order = batch
    for half in range(0, apart, N_LANES):
        lengths = lengths_of(n_words, order, first + half)
        rows = starts_of(part_offsets, order, first + half)
        for i in range(at.n_words):
            write_row(still, moved, at, i, lengths, rows, apart, half, out)
            rows = next_rows(rows, lengths)


@borrowing
def write_row(still, moved, at, i, lengths, rows, apart, half, out):
    """The spans from word i on, of the lanes from `half` on, in charts whose cells are `apart`."""
    n_doubles, common = apart // N_LANES, n_common(lengths, i)
    inner = n_doubles * (at.inner + i * at.stride) + half
    outside, down = n_doubles * (at.weight + i * N_LANES) + half, n_doubles * at.stride
    for j in range(i + 1, common, N_LANES):
        square = min(j, common - N_LANES)
        cell, back = inner + square * apart, outside + square * down
        write_four(
            span_marginal(still, moved, cell, back),
            span_marginal(still, moved, cell + apart, back + down),
            span_marginal(still, moved, cell + 2 * apart, back + 2 * down),
            span_marginal(still, moved, cell + 3 * apart, back + 3 * down),
            out, rows, square,
        )  # fmt: skip
    for index in range(N_LANES):
        words, start = lengths[index], rows[index]
        if i < words:
            clear(out, start, i)
            out[start + i] = 1.0 if moved is None else 0.0
            for j in range(max(i + 1, common), words):
                value = span_marginal(still, moved, inner + j * apart, outside + j * down)
                out[start + j] = lane(value, index)


@borrowing
def clear(out, start, n_cells):
    """Zeros in so many cells, eight at a time where they are eight: the last end with them."""
    if n_cells >= EIGHT:
        for cell in range(0, n_cells, EIGHT):
            store_eight(out, start + min(cell, n_cells - EIGHT), all_eight(0.0))
    else:
        for cell in range(n_cells):
            out[start + cell] = 0.0


@borrowing
def span_marginal(still, moved, inner, outside):
    """inner * outside of one span, or its derivative; of four sentences."""
    if moved is None:
        return lanes.load(still, inner) * lanes.load(still, outside)
    changed = lanes.load(still, inner) * lanes.load(moved, outside)
    return fma(lanes.load(moved, inner), lanes.load(still, outside), changed)
