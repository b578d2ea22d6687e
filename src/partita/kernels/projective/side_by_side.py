"""Projective trees side by side: four sentences of like length, one in each SIMD lane.

A chart is a square of lanes over positions 0 .. n, where 0 is the root. What belongs to a span is
stored twice, at [i, j] and at [j, i], so that every sum of the recursions reads two rows; what
belongs to an arc is stored at [head, modifier]. All charts of a group have the same size: that of
its longest sentence, rounded up to an even number of words, since spans are computed in tiles of
two by two. The words that a shorter sentence lacks have no arcs, so their weights are exact zeros
and change nothing, not even the last bit.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import pasted, step
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    fma,
    gather,
    load,
    scatter,
    select,
    store,
)

N_CHARTS = 9


class Layout(NamedTuple):
    """Where the charts of a group start in one flat array, in doubles.

    A derivative of the charts has the same layout, with the direction in place of the weights.
    """

    weight: int
    """[h, m]: of the arc alone."""
    right: int
    """[i, j]: i with all that it governs in i+1 .. j."""
    left: int
    """[i, j]: j with all that it governs in i .. j-1."""
    arc: int
    """[h, m]: the arc, with the two halves that meet under it."""
    arc_to: int
    """[m, h]: the same, transposed."""
    outer_right: int
    """Outside values, divided by the sum over all trees: of right[i, j]."""
    outer_left: int
    """Of left[i, j]."""
    outer_pair: int
    """Of two halves that meet in [i, j], before an arc joins i and j."""
    outer_arc: int
    """Of arc[h, m]; the product of both is the marginal."""
    end: int
    """Number of doubles in all charts."""
    stride: int
    """Number of doubles in a row of a chart."""
    n_words: int
    """Number of words of the longest sentence, rounded up to whole tiles."""


@pasted
def layout(n_words):
    """The layout of a group whose longest sentence has `n_words` words."""
    n_words = (n_words + 1) // 2 * 2
    size = (n_words + 1) * (n_words + 1) * N_LANES
    return Layout(
        0, size, 2 * size, 3 * size, 4 * size, 5 * size, 6 * size, 7 * size, 8 * size, 9 * size,
        (n_words + 1) * N_LANES, n_words,
    )  # fmt: skip


@step
def lengths_of(n_words, order, first):
    """Number of words of four sentences; a free lane repeats the last sentence, exactly."""
    last = len(order) - 1
    return (
        n_words[order[first]],
        n_words[order[min(first + 1, last)]],
        n_words[order[min(first + 2, last)]],
        n_words[order[min(first + 3, last)]],
    )


@step
def rows_of(part_offsets, order, first, lengths, head):
    """Where the arcs from a head start in four sentences; those from the last word if they end."""
    last = len(order) - 1
    a, b, c, d = lengths
    return (
        part_offsets[order[first]] + min(head, a) * (a + 1),
        part_offsets[order[min(first + 1, last)]] + min(head, b) * (b + 1),
        part_offsets[order[min(first + 2, last)]] + min(head, c) * (c + 1),
        part_offsets[order[min(first + 3, last)]] + min(head, d) * (d + 1),
    )


@pasted
def cells_of(rows, lengths, modifier):
    """Where the arcs of these rows to a modifier are; those to the last word if they end."""
    return (
        rows[0] + min(modifier, lengths[0]),
        rows[1] + min(modifier, lengths[1]),
        rows[2] + min(modifier, lengths[2]),
        rows[3] + min(modifier, lengths[3]),
    )


@step
def fill_lanes(values, part_offsets, n_words, order, first, at, fill, charts):
    """The first chart from the arcs of four sentences in `order`, with `fill` where there is none.

    What the arcs have in column 0 and on the diagonal has no effect.
    """
    lengths, ends = lengths_of(n_words, order, first), np.empty(N_LANES)
    for head in range(at.n_words + 1):
        for k in range(N_LANES):
            ends[k] = lengths[k] if head <= lengths[k] else 0
        rows = rows_of(part_offsets, order, first, lengths, head)
        row, last = head * at.stride, load(ends, 0)
        for j in range(1, at.n_words + 1):
            value = gather(values, cells_of(rows, lengths, j))
            store(charts, row + j * N_LANES, select(last >= float(j), value, fill))
        store(charts, row, broadcast(fill))
        store(charts, row + head * N_LANES, broadcast(fill))


@step
def write_arcs(still, moved, at, part_offsets, n_words, order, first, out):
    """Marginals of all arcs to their sentences, arc * outer_arc, or the derivative of them.

    Zeros in column 0 and on the diagonal. From the last cell to the first: what a shorter sentence
    lacks is written to its last row or column, before what belongs there.
    """
    lengths, zero = lengths_of(n_words, order, first), broadcast(0.0)
    for head in range(at.n_words, -1, -1):
        rows, row = rows_of(part_offsets, order, first, lengths, head), head * at.stride
        for j in range(at.n_words, 0, -1):
            cell = row + j * N_LANES
            value = load(filled(still, moved), at.arc + cell) * load(still, at.outer_arc + cell)
            if moved is not None:
                inner, outer = load(still, at.arc + cell), load(moved, at.outer_arc + cell)
                value = fma(inner, outer, value)
            scatter(out, cells_of(rows, lengths, j), value)
        scatter(out, rows, zero)
        scatter(out, cells_of(rows, lengths, head), zero)


@pasted
def filled(still, moved):
    """The charts that are being filled: `moved` if there are any."""
    if moved is None:
        return still
    return moved
