"""The inner sums of Eisner's recursions over two tiles, one above the other: four rows by two.

With AVX-512 there are 32 registers, so that 24 sums stay in them: three quarters of what tiles of
two by two read, and half of what these read of columns, which come from the second cache.
"""

from partita.kernels.jit import pasted, step
from partita.kernels.simd.either import all_lanes
from partita.kernels.simd.lanes import N_LANES
from partita.kernels.simd.products import add_products, moved, place


@step
def tall_inside_sums(charts, at, i, j):
    """The terms i+3 < k < j of the inside sums of the tiles (i, j) and (i+2, j).

    As in `tiles.add_inside`, but with k in rising order: the tile before this one, on the left, is
    asked last. Of each tile: pairs, rights and lefts.
    """
    zero = all_lanes(charts, 0.0)
    pair = right = left = (zero, zero, zero, zero, zero, zero, zero, zero)
    row, k = i * at.stride, (i + 4) * N_LANES
    column, down = j * at.stride + k, (i + 4) * at.stride
    right_i, arc_i = place(charts, at.right + row + k), place(charts, at.arc + row + k)
    left_j, arc_j = place(charts, at.left + column + N_LANES), place(charts, at.arc + column)
    left_k = place(charts, at.left + down + i * N_LANES)
    right_k = place(charts, at.right + down + j * N_LANES)
    for _ in range(i + 4, j):
        pair = add_products(pair, charts, right_i, at.stride, left_j, at.stride)
        right = add_products(right, charts, arc_i, at.stride, right_k, N_LANES)
        left = add_products(left, charts, left_k, N_LANES, arc_j, at.stride)
        right_i, arc_i = moved(charts, right_i, N_LANES), moved(charts, arc_i, N_LANES)
        left_j, arc_j = moved(charts, left_j, N_LANES), moved(charts, arc_j, N_LANES)
        left_k, right_k = moved(charts, left_k, at.stride), moved(charts, right_k, at.stride)
    return (
        (upper_half(pair), upper_half(right), upper_half(left)),
        (lower_half(pair), lower_half(right), lower_half(left)),
    )


@step
def tall_outside_sums(charts, at, i, j, begun):
    """What spans (k, j) with k < i, and (i, k) with k > j + 1, add to tiles (i, j) and (i+2, j).

    As in `tiles.add_outside_left` and `add_outside_right`; of each tile rights, lefts, arcs to the
    right and to the left. Rights of the first row begin with what is `begun`. The tile before this
    one, on the right, is asked last.
    """
    zero = all_lanes(charts, 0.0)
    left = ahead = back = (zero, zero, zero, zero, zero, zero, zero, zero)
    right = (begun[0], begun[1], zero, zero, zero, zero, zero, zero)
    right, left, back = add_before(charts, at, i, j, right, left, back)
    right, left, ahead = add_behind(charts, at, i, j, right, left, ahead)
    return (
        (upper_half(right), upper_half(left), upper_half(ahead), upper_half(back)),
        (lower_half(right), lower_half(left), lower_half(ahead), lower_half(back)),
    )


@pasted
def add_before(charts, at, i, j, right, left, back):
    """The terms of spans (k, j) with k < i."""
    outer_right = place(charts, at.outer_right + j * N_LANES)
    outer_pair = place(charts, at.outer_pair + j * N_LANES)
    outer_left = place(charts, at.outer_left + j * at.stride)
    arc, before = place(charts, at.arc + i * N_LANES), place(charts, at.right + (i - 1) * N_LANES)
    inner = place(charts, at.left + i * at.stride)
    for _ in range(i):
        right = add_products(right, charts, arc, N_LANES, outer_right, N_LANES)
        left = add_products(left, charts, before, N_LANES, outer_pair, N_LANES)
        back = add_products(back, charts, inner, at.stride, outer_left, at.stride)
        outer_right = moved(charts, outer_right, at.stride)
        outer_pair = moved(charts, outer_pair, at.stride)
        arc, before = moved(charts, arc, at.stride), moved(charts, before, at.stride)
        outer_left, inner = moved(charts, outer_left, N_LANES), moved(charts, inner, N_LANES)
    return right, left, back


@pasted
def add_behind(charts, at, i, j, right, left, ahead):
    """The terms of spans (i, k) with k > j + 1."""
    row, end, down = i * at.stride, at.n_words * N_LANES, at.n_words * at.stride
    outer_pair = place(charts, at.outer_pair + row + end)
    outer_right = place(charts, at.outer_right + row + end)
    outer_left = place(charts, at.outer_left + down + i * N_LANES)
    behind = place(charts, at.left + down + (j + 1) * N_LANES)
    arc, inner = (
        place(charts, at.arc + down + j * N_LANES),
        place(charts, at.right + j * at.stride + end),
    )
    for _ in range(at.n_words, j + 1, -1):
        right = add_products(right, charts, outer_pair, at.stride, behind, N_LANES)
        left = add_products(left, charts, outer_left, N_LANES, arc, N_LANES)
        ahead = add_products(ahead, charts, outer_right, at.stride, inner, at.stride)
        outer_pair = moved(charts, outer_pair, -N_LANES)
        outer_right = moved(charts, outer_right, -N_LANES)
        outer_left, behind = (
            moved(charts, outer_left, -at.stride),
            moved(charts, behind, -at.stride),
        )
        arc, inner = moved(charts, arc, -at.stride), moved(charts, inner, -N_LANES)
    return right, left, ahead


@pasted
def upper_half(sums):
    """Those of the tile above."""
    return sums[0], sums[1], sums[2], sums[3]


@pasted
def lower_half(sums):
    """Those of the tile below."""
    return sums[4], sums[5], sums[6], sums[7]
