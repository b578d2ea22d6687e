"""Charts of projective trees side by side: four sentences of like length, one in each SIMD lane.

A chart is a square of lanes over positions 0 .. n, as in `trees.side_by_side`. What belongs to a
span is stored at [i, j] if it grows to the right, and at [j, i] if it grows to the left; what
belongs to an arc at [head, modifier]. So halves that grow to the right share a square with those
that grow to the left: on its diagonal both are the same. All charts of a group have the same size:
that of its longest sentence, rounded up to an even number of words, since spans are computed in
tiles of two by two.
"""

from typing import NamedTuple

from partita.kernels.jit import inlined, pasted, step
from partita.kernels.simd.four_rows import write_four
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, scatter
from partita.kernels.trees.side_by_side import cells_of, lengths_of, n_common, rows_of


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
def layout(n_words):
    """The layout of a group whose longest sentence has `n_words` words."""
    n_words = (n_words + 1) // 2 * 2
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
    lengths, zero = lengths_of(n_words, order, first), broadcast(0.0)
    for head in range(at.n_words, -1, -1):
        rows, row = rows_of(part_offsets, order, first, lengths, head), head * at.stride
        whole = n_common(lengths, head)
        for j in range(at.n_words, max(whole, 1) - 1, -1):
            value = arc_marginal(still, moved, at, row + j * N_LANES)
            scatter(out, cells_of(rows, lengths, j), value)
        for j in range(0, whole, N_LANES):
            cell = row + j * N_LANES
            write_four(
                arc_marginal(still, moved, at, cell),
                arc_marginal(still, moved, at, cell + N_LANES),
                arc_marginal(still, moved, at, cell + 2 * N_LANES),
                arc_marginal(still, moved, at, cell + 3 * N_LANES),
                out, rows, j,
            )  # fmt: skip
        scatter(out, rows, zero)
        scatter(out, cells_of(rows, lengths, head), zero)


@inlined
def arc_marginal(still, moved, at, cell):
    """arc * outer_arc, or its derivative."""
    value = load(filled(still, moved), at.arc + cell) * load(still, at.outer_arc + cell)
    if moved is not None:
        value = fma(load(still, at.arc + cell), load(moved, at.outer_arc + cell), value)
    return value


@pasted
def filled(still, moved):
    """The charts that are being filled: `moved` if there are any."""
    if moved is None:
        return still
    return moved
