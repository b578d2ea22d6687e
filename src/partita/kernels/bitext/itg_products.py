"""Sums of products of upper-triangular matrices, the inner loops of bitext parsing.

A chart holds a matrix over target words for every pair of source boundaries: what derives the
source words s .. t-1 and the target words k .. l, both included, is entry (s, t, k, l) of a flat
array, at ((s * (n + 1) + t) * width + k) * width + l, where `width` is the number of target words
rounded up to whole lanes. What lies below the diagonal, or beyond the last word, is zero. Where
one block ends with the word u, the next one begins with u + 1.
"""

from partita.kernels.jit import borrowing, inlined, lent
from partita.kernels.simd.eight import EIGHT, all_eight, load_eight, spread_eight, store_eight
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, spread, store

# Which inner indices u a product needs, when its factors are upper-triangular.
UPPER = 0  # out[k, l] = sum_u P[k, u] Q[u + 1, l]: from k to l - 1
RIGHT = 1  # out[k, l] = sum_u G[k, u] Q[l + 1, u]: from l + 1 on
LEFT = 2  # out[k + 1, l] = sum_u P[u, k] G[u, l]: up to k


@inlined
def padded_width(n_words):
    """The number of target words rounded up to whole lanes."""
    return (n_words + N_LANES - 1) // N_LANES * N_LANES


@borrowing
def add_wide_tile(
    left, at, steps, right, right_at, right_step, n_terms, factors, bounds, out, cell
):
    """out[k, l] += sum_q f_q sum_u left_q[k, u] right_q[u, l] for 4 rows k and 8 columns l.

    Sums stay in registers; `steps` are the strides of `left` between terms, rows and inner
    indices, so that a transposed factor needs no copy. `factors` has the numbers f_q, the place of
    the first and their stride; or it is None, and all are 1. They are taken into the right factor,
    which costs one product for four sums, and into the left one it would be four.
    """
    term_step, row_step, inner_step = steps
    first, last, width = bounds
    sum_0 = all_eight(0.0)
    sum_1, sum_2, sum_3 = sum_0, sum_0, sum_0
    for q in range(n_terms):
        a = at + q * term_step + first * inner_step
        b = right_at + q * right_step + first * width
        if factors is not None:
            factor = spread_eight(factors[0], factors[1] + q * factors[2])
        for _ in range(first, last):
            value = load_eight(right, b)
            if factors is not None:
                value = factor * value
            sum_0 = fma(spread_eight(left, a), value, sum_0)
            sum_1 = fma(spread_eight(left, a + row_step), value, sum_1)
            sum_2 = fma(spread_eight(left, a + 2 * row_step), value, sum_2)
            sum_3 = fma(spread_eight(left, a + 3 * row_step), value, sum_3)
            a += inner_step
            b += width
    store_eight(out, cell, load_eight(out, cell) + sum_0)
    store_eight(out, cell + width, load_eight(out, cell + width) + sum_1)
    store_eight(out, cell + 2 * width, load_eight(out, cell + 2 * width) + sum_2)
    store_eight(out, cell + 3 * width, load_eight(out, cell + 3 * width) + sum_3)


@borrowing
def add_narrow_tile(
    left, at, steps, right, right_at, right_step, n_terms, factors, bounds, out, cell
):
    """`add_wide_tile` for 4 rows and 4 columns."""
    term_step, row_step, inner_step = steps
    first, last, width = bounds
    sum_0 = broadcast(0.0)
    sum_1, sum_2, sum_3 = sum_0, sum_0, sum_0
    for q in range(n_terms):
        a = at + q * term_step + first * inner_step
        b = right_at + q * right_step + first * width
        if factors is not None:
            factor = spread(factors[0], factors[1] + q * factors[2])
        for _ in range(first, last):
            value = load(right, b)
            if factors is not None:
                value = factor * value
            sum_0 = fma(spread(left, a), value, sum_0)
            sum_1 = fma(spread(left, a + row_step), value, sum_1)
            sum_2 = fma(spread(left, a + 2 * row_step), value, sum_2)
            sum_3 = fma(spread(left, a + 3 * row_step), value, sum_3)
            a += inner_step
            b += width
    store(out, cell, load(out, cell) + sum_0)
    store(out, cell + width, load(out, cell + width) + sum_1)
    store(out, cell + 2 * width, load(out, cell + 2 * width) + sum_2)
    store(out, cell + 3 * width, load(out, cell + 3 * width) + sum_3)


@inlined
def inner_bounds(shape, row, column, column_end, size):
    """The first inner index that a tile needs, and the one after the last."""
    if shape == UPPER:
        return row, min(column_end, size) - 1
    if shape == RIGHT:
        return column + 1, size
    return 0, min(row + N_LANES, size - 1)


@lent
def add_products(left, left_at, steps, right, right_at, right_step, terms, factors, out):
    """out += sum_q f_q left_q right_q, for the tiles of `out` that reach the upper triangle.

    `terms` is (number of terms, shape, number of target words), `factors` as in `add_wide_tile`.
    `out` is one matrix, C order, of width `padded_width(size)`, and a row for what LEFT leaves
    behind it. Entries below the diagonal are right for the shape UPPER (zero) and meaningless for
    the others. For UPPER and RIGHT, row u of `right` is that of Q[u + 1] and of the transposed Q
    without its first column.
    """
    n_terms, shape, size = terms
    width = padded_width(size)
    first_row = width if shape == LEFT else 0
    # The last row has nothing: its block of one word cannot be divided.
    for row in range(0, size - 1, N_LANES):
        left_factor = (left, left_at + row * steps[1], steps)
        column = row
        while column < width:
            is_wide = column + EIGHT <= width
            end = column + EIGHT if is_wide else column + N_LANES
            first, last = inner_bounds(shape, row, column, end, size)
            right_factor = (right, right_at + column, right_step)
            rest = ((first, last, width), out, first_row + row * width + column)
            if is_wide:
                add_wide_tile(*left_factor, *right_factor, n_terms, factors, *rest)
            else:
                add_narrow_tile(*left_factor, *right_factor, n_terms, factors, *rest)
            column = end
