"""Charts of projective trees side by side: four sentences of like length, one in each SIMD lane.

A chart is a square of lanes over positions 0 .. n, as in `trees.side_by_side`. What belongs to a
span is stored at [i, j] if it grows to the right, and at [j, i] if it grows to the left; what
belongs to an arc at [head, modifier]. So halves that grow to the right share a square with those
that grow to the left: on its diagonal both are the same. All charts of a group have the same size:
that of its longest sentence, rounded up so that spans can be computed in tiles of two by two.
"""

from typing import NamedTuple

from partita.kernels.jit import borrowing, pasted, step
from partita.kernels.simd.any_lanes import scatter
from partita.kernels.simd.eight import EIGHT, load_eight
from partita.kernels.simd.eight_rows import write_square
from partita.kernels.simd.either import doubles, n_lanes
from partita.kernels.simd.four_rows import write_four
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    fma,
    load,
)
from partita.kernels.trees.side_by_side import (
    cells_of,
    lengths_of,
    n_common,
    n_in_squares,
    rows_of,
    starts_of_eight,
)


class ChartLayout(NamedTuple):
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
    """[m, h]: the same, transposed; in `log` alone, whose cells are single numbers."""
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
def layout(n_words, single_root):
    """The layout of a group whose longest sentence has `n_words` words.

    Tiles begin with the root; with a single one, which is another recursion, behind it.
    """
    n_words = n_words + n_words % 2 if single_root else n_words + 1 - n_words % 2
    size = (n_words + 1) * (n_words + 1) * N_LANES
    return ChartLayout(
        0, size, size, 2 * size, 3 * size, 3 * size, 3 * size, 4 * size, 5 * size, 6 * size,
        (n_words + 1) * N_LANES, n_words,
    )  # fmt: skip


@step
def write_arcs(still, moved, at, part_offsets, n_words, order, first, out):
    """Marginals of all arcs to their sentences, arc * outer_arc, or the derivative of them.

    In the order of `trees.side_by_side.write_lanes`, without a matrix in between.
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
    n_alike, n_heads, is_all = n_in_squares(n_words, order, first, apart, at)
    for head in range(n_heads - 1 if is_all else at.n_words, -1, -1):
        done = n_alike if head < n_heads else 0
        for half in range(0, 0 if is_all else apart, N_LANES):
            start = min(first + half, len(order) - 1)
            lengths = lengths_of(n_words, order, start)
            rows = rows_of(part_offsets, order, start, lengths, head)
            write_row(still, moved, at, head, lengths, rows, apart, half, done, out)
        if done > 0:
            starts = starts_of_eight(part_offsets, n_words, order, first, head)
            for j in range(0, done, EIGHT):
                write_eight(still, moved, at, head, min(j, done - EIGHT), starts, out)


@borrowing
def write_row(still, moved, at, head, lengths, rows, apart, half, done, out):
    """Those of a head, of the lanes from `half` on, in charts whose cells are `apart`.

    The first ones, so many as are `done`, are left to `write_eight`.
    """
    n_doubles = apart // N_LANES
    arc, outer = n_doubles * at.arc + half, n_doubles * at.outer_arc + half
    row, common = head * (at.n_words + 1), n_common(lengths, head)
    for j in range(at.n_words, max(common, 1) - 1, -1):
        value = arc_marginal(still, moved, arc, outer, (row + j) * apart)
        scatter(out, cells_of(rows, lengths, j), value)
    for j in range(done, common, N_LANES):
        square = min(j, common - N_LANES)
        cell = (row + square) * apart
        write_four(
            arc_marginal(still, moved, arc, outer, cell),
            arc_marginal(still, moved, arc, outer, cell + apart),
            arc_marginal(still, moved, arc, outer, cell + 2 * apart),
            arc_marginal(still, moved, arc, outer, cell + 3 * apart),
            out, rows, square,
        )  # fmt: skip
    if common == 0:
        scatter(out, rows, broadcast(0.0))


@borrowing
def write_eight(still, moved, at, head, square, starts, out):
    """The arcs from a head to eight words, from `square` on, in charts of eight lanes."""
    cell = (head * (at.n_words + 1) + square) * EIGHT
    arc, outer = EIGHT // N_LANES * at.arc + cell, EIGHT // N_LANES * at.outer_arc + cell
    write_square(
        (
            arcs_marginal(still, moved, arc, outer, 0),
            arcs_marginal(still, moved, arc, outer, EIGHT),
            arcs_marginal(still, moved, arc, outer, 2 * EIGHT),
            arcs_marginal(still, moved, arc, outer, 3 * EIGHT),
            arcs_marginal(still, moved, arc, outer, 4 * EIGHT),
            arcs_marginal(still, moved, arc, outer, 5 * EIGHT),
            arcs_marginal(still, moved, arc, outer, 6 * EIGHT),
            arcs_marginal(still, moved, arc, outer, 7 * EIGHT),
        ),
        out, starts, square,
    )  # fmt: skip


@borrowing
def arc_marginal(still, moved, arc, outer, cell):
    """arc * outer_arc, or its derivative; of four sentences."""
    value = load(filled(still, moved), arc + cell) * load(still, outer + cell)
    if moved is not None:
        value = fma(load(still, arc + cell), load(moved, outer + cell), value)
    return value


@borrowing
def arcs_marginal(still, moved, arc, outer, cell):
    """The same, of eight sentences."""
    value = load_eight(filled(still, moved), arc + cell) * load_eight(still, outer + cell)
    if moved is not None:
        value = fma(load_eight(still, arc + cell), load_eight(moved, outer + cell), value)
    return value


@pasted
def filled(still, moved):
    """The charts that are being filled: `moved` if there are any."""
    if moved is None:
        return still
    return moved
