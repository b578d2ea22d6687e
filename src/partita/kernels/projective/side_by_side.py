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

from partita.kernels.jit import kernel
from partita.kernels.simd.lanes import N_LANES, broadcast, store


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


@kernel
def layout(n_words):
    """The layout of a group whose longest sentence has `n_words` words."""
    n_words = (n_words + 1) // 2 * 2
    size = (n_words + 1) * (n_words + 1) * N_LANES
    return Layout(
        0, size, 2 * size, 3 * size, 4 * size, 5 * size, 6 * size, 7 * size, 8 * size, 9 * size,
        (n_words + 1) * N_LANES, n_words,
    )  # fmt: skip


@kernel
def group_offsets(n_words, order):
    """Where the charts of each group start, and the end; the last of a group is its longest."""
    n_groups = (len(order) + N_LANES - 1) // N_LANES
    offsets = np.zeros(n_groups + 1, dtype=np.int64)
    for group in range(n_groups):
        last = min((group + 1) * N_LANES, len(order)) - 1
        offsets[group + 1] = offsets[group] + layout(n_words[order[last]]).end
    return offsets


@kernel
def square(values, start, n_words):
    """The arcs [head, modifier] of a sentence, as a view."""
    size = n_words + 1
    return values[start : start + size * size].reshape(size, size)


@kernel
def lanes_square(values, at):
    """The first chart of a group, [head, modifier, lane], as a view."""
    return values[: at.right].reshape(at.n_words + 1, at.n_words + 1, N_LANES)


@kernel
def fill_lane(arcs, index, chart):
    """Lane `index` of chart[h, m] = arcs[h, m]; column 0 and the diagonal are not read."""
    for head in range(len(arcs)):
        source, target = arcs[head], chart[head]
        for modifier in range(1, head):
            target[modifier, index] = source[modifier]
        for modifier in range(head + 1, len(arcs)):
            target[modifier, index] = source[modifier]


@kernel
def fill_lanes(values, part_offsets, n_words, sentences, at, fill, charts):
    """The first chart of a group from the arcs of its sentences, with `fill` in all other cells."""
    for cell in range(0, at.right, N_LANES):
        store(charts, cell, broadcast(fill))
    chart = lanes_square(charts, at)
    for index in range(len(sentences)):
        sentence = sentences[index]
        arcs = square(values, part_offsets[sentence], n_words[sentence])
        fill_lane(arcs, index, chart)


@kernel
def read_lane(chart, index, arcs):
    """arcs[h, m] = lane `index` of chart[h, m]; zeros in column 0 and on the diagonal."""
    for head in range(len(arcs)):
        source, target = chart[head], arcs[head]
        for modifier in range(len(arcs)):
            target[modifier] = source[modifier, index]
        target[0] = 0.0
        target[head] = 0.0


@kernel
def read_lanes(chart, at, part_offsets, n_words, sentences, out):
    """Copy a chart of arcs from lanes to sentences."""
    for index in range(len(sentences)):
        sentence = sentences[index]
        arcs = square(out, part_offsets[sentence], n_words[sentence])
        read_lane(lanes_square(chart, at), index, arcs)
