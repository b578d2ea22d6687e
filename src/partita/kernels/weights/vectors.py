"""Arithmetic on a stretch of long vectors, from `start` to `end`, each number read once.

Sums are taken in lanes, in an order that depends on nothing but the stretch.
"""

import numpy as np

from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.any_lanes import load_any, store_any
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    fma,
    load,
    store,
    total,
)

BLOCK = 2**13
"""Stretches of four vectors of this length stay in a second-level cache together."""
ROWS = 4
"""Rows that are worked on at a time: one alone waits for its own sums, and reads columns again."""


@inlined
def dot_product(left, right, start, end):
    """sum_j left_j right_j."""
    even, odd = broadcast(0.0), broadcast(0.0)
    j = start
    while j + 2 * N_LANES <= end:
        even = even + load(left, j) * load(right, j)
        odd = odd + load(left, j + N_LANES) * load(right, j + N_LANES)
        j += 2 * N_LANES
    result = total(even + odd)
    while j < end:
        result += left[j] * right[j]
        j += 1
    return result


@kernel
def dot(left, right, start, end):
    """sum_j left_j right_j."""
    return dot_product(left, right, start, end)


@kernel
def squares_of_quotients(left, right, start, end):
    """sum_j (left_j / right_j)²."""
    sums = broadcast(0.0)
    j = start
    while j + N_LANES <= end:
        values = load(left, j) / load(right, j)
        sums = sums + values * values
        j += N_LANES
    result = total(sums)
    while j < end:
        value = left[j] / right[j]
        result += value * value
        j += 1
    return result


@inlined
def add_dots(a, b, c, d, first, second, third, start, end, out, row, column):
    """out[row + i, column + k] += the dot product of row i of four with column k of three.

    The third column is in double precision.
    """
    zero = broadcast(0.0)
    a_one, a_two, a_three, b_one, b_two, b_three = zero, zero, zero, zero, zero, zero
    c_one, c_two, c_three, d_one, d_two, d_three = zero, zero, zero, zero, zero, zero
    j = start
    while j + N_LANES <= end:
        one, two, three = load_any(first, j), load_any(second, j), load_any(third, j)
        values = load_any(a, j)
        a_one, a_two = fma(values, one, a_one), fma(values, two, a_two)
        a_three = fma(values, three, a_three)
        values = load_any(b, j)
        b_one, b_two = fma(values, one, b_one), fma(values, two, b_two)
        b_three = fma(values, three, b_three)
        values = load_any(c, j)
        c_one, c_two = fma(values, one, c_one), fma(values, two, c_two)
        c_three = fma(values, three, c_three)
        values = load_any(d, j)
        d_one, d_two = fma(values, one, d_one), fma(values, two, d_two)
        d_three = fma(values, three, d_three)
        j += N_LANES
    add_three(total(a_one), total(a_two), total(a_three), out, row, column)
    add_three(total(b_one), total(b_two), total(b_three), out, row + 1, column)
    add_three(total(c_one), total(c_two), total(c_three), out, row + 2, column)
    add_three(total(d_one), total(d_two), total(d_three), out, row + 3, column)
    while j < end:
        one, two, three = np.float64(first[j]), np.float64(second[j]), third[j]
        add_three(a[j] * one, a[j] * two, a[j] * three, out, row, column)
        add_three(b[j] * one, b[j] * two, b[j] * three, out, row + 1, column)
        add_three(c[j] * one, c[j] * two, c[j] * three, out, row + 2, column)
        add_three(d[j] * one, d[j] * two, d[j] * three, out, row + 3, column)
        j += 1


@inlined
def add_three(one, two, three, out, row, column):
    """Add to three neighbours."""
    out[row, column] += one
    out[row, column + 1] += two
    out[row, column + 2] += three


@inlined
def add_products(rows, n_rows, first, second, third, start, end, out, column):
    """out[:, column : column + 3] += the dot products of all rows with three columns.

    `out` has room for a multiple of four rows; what is beyond the last means nothing.
    """
    for i in range(0, n_rows, ROWS):
        add_dots(
            rows[i], rows[i + 1], rows[i + 2], rows[i + 3], first, second, third, start, end,
            out, i, column,
        )  # fmt: skip


@inlined
def note_step(length, direction, start, end, out):
    """out_j = length direction_j, rounded to single precision."""
    lengths = broadcast(length)
    j = start
    while j + N_LANES <= end:
        store_any(out, j, lengths * load(direction, j))
        j += N_LANES
    while j < end:
        out[j] = length * direction[j]
        j += 1


@inlined
def note_change(left, right, start, end, out):
    """out_j = left_j - right_j, rounded to single precision."""
    j = start
    while j + N_LANES <= end:
        store_any(out, j, load(left, j) - load(right, j))
        j += N_LANES
    while j < end:
        out[j] = left[j] - right[j]
        j += 1


@kernel
def pair_products(
    rows, n_rows, length, direction, gradient, old_gradient, slope, step, change, start, end, out
):
    """out[i] += the dot products of rows[i] with step, change and slope, a block at a time.

    On the way, step = length * direction and change = gradient - old_gradient, which are two of
    the rows.
    """
    for block in range(start, end, BLOCK):
        last = min(block + BLOCK, end)
        note_step(length, direction, block, last, step)
        note_change(gradient, old_gradient, block, last, change)
        add_products(rows, n_rows, step, change, slope, block, last, out, 0)


@kernel
def row_products(rows, n_rows, column, start, end, out):
    """out[i, 2] += the dot product of rows[i] with a column, a block at a time."""
    for block in range(start, end, BLOCK):
        last = min(block + BLOCK, end)
        add_products(rows, n_rows, rows[0], rows[0], column, block, last, out, 0)


@inlined
def convert(row, numerator, denominator, start, end):
    """row_j *= numerator_j / denominator_j, the row in single precision."""
    j = start
    while j + N_LANES <= end:
        ratio = load(numerator, j) / load(denominator, j)
        store_any(row, j, load_any(row, j) * ratio)
        j += N_LANES
    while j < end:
        row[j] = row[j] * (numerator[j] / denominator[j])
        j += 1


@kernel
def convert_pairs(rows, n_pairs, before, after, gradient, start, end, out):
    """Steps and changes in other units, and out[i, 3 k + 0, 1, 2] += the dot products of rows[i]
    with rows 2 k and 2 k + 1, and with the gradient, which is in these units.
    """
    for block in range(start, end, BLOCK):
        last = min(block + BLOCK, end)
        for i in range(n_pairs):
            convert(rows[i], before, after, block, last)
            convert(rows[n_pairs + i], after, before, block, last)
        for k in range(n_pairs):
            first, second = rows[2 * k], rows[2 * k + 1]
            add_products(rows, 2 * n_pairs, first, second, gradient, block, last, out, 3 * k)


@inlined
def add_rows(first, second, third, fourth, coefficients, i, start, end, out):
    """out_j += the sum of four rows in single precision, each times its coefficient."""
    a, b = coefficients[i], coefficients[i + 1]
    c, d = coefficients[i + 2], coefficients[i + 3]
    all_a, all_b, all_c, all_d = broadcast(a), broadcast(b), broadcast(c), broadcast(d)
    j = start
    while j + N_LANES <= end:
        value = fma(all_a, load_any(first, j), load(out, j))
        value = fma(all_b, load_any(second, j), value)
        value = fma(all_c, load_any(third, j), value)
        store(out, j, fma(all_d, load_any(fourth, j), value))
        j += N_LANES
    while j < end:
        out[j] += a * first[j] + b * second[j] + (c * third[j] + d * fourth[j])
        j += 1


@inlined
def scale_into(factor, column, start, end, out):
    """out_j = factor column_j."""
    factors = broadcast(factor)
    j = start
    while j + N_LANES <= end:
        store(out, j, factors * load(column, j))
        j += N_LANES
    while j < end:
        out[j] = factor * column[j]
        j += 1


@kernel
def combination(coefficients, rows, n_rows, factor, column, start, end, out):
    """out_j = factor column_j + sum_i coefficients_i rows_ij, a block at a time.

    Returns the dot product of that with the column. There are coefficients for a multiple of four
    rows, 0 for those beyond the last.
    """
    result = 0.0
    for block in range(start, end, BLOCK):
        last = min(block + BLOCK, end)
        scale_into(factor, column, block, last, out)
        for i in range(0, n_rows, ROWS):
            add_rows(
                rows[i], rows[i + 1], rows[i + 2], rows[i + 3], coefficients, i, block, last, out
            )
        result += dot_product(out, column, block, last)
    return result


@inlined
def lanes_or_one(array, j):
    """Four numbers of an array, or ones where it is empty."""
    return load(array, j) if len(array) > 0 else broadcast(1.0)


@inlined
def number_or_one(array, j):
    """A number of an array, or 1 where it is empty."""
    return array[j] if len(array) > 0 else 1.0


@kernel
def move(weights, step, direction, units, start, end, out):
    """out_j = weights_j + step units_j direction_j; no units: all 1."""
    steps = broadcast(step)
    j = start
    while j + N_LANES <= end:
        distance = steps * lanes_or_one(units, j) * load(direction, j)
        store(out, j, load(weights, j) + distance)
        j += N_LANES
    while j < end:
        out[j] = weights[j] + step * number_or_one(units, j) * direction[j]
        j += 1


@kernel
def finish_gradient(l2, scale, weights, units, direction, start, end, gradient, out):
    """gradient_j = units_j (gradient_j + l2 scale_j weights_j), and four sums on the way.

    out += the sums of scale_j weights_j² and of weights_j², of the squares of the gradient before
    it is in units, and of its products with the direction in units. No scale, units or direction:
    all 1.
    """
    factors, zero = broadcast(l2), broadcast(0.0)
    penalties, squares, slopes, along = zero, zero, zero, zero
    j = start
    while j + N_LANES <= end:
        values = load(weights, j)
        scaled = values * lanes_or_one(scale, j)
        penalties, squares = penalties + scaled * values, squares + values * values
        slope = load(gradient, j) + factors * scaled
        slopes = slopes + slope * slope
        slope = slope * lanes_or_one(units, j)
        along = along + slope * lanes_or_one(direction, j)
        store(gradient, j, slope)
        j += N_LANES
    out[0] += total(penalties)
    out[1] += total(squares)
    out[2] += total(slopes)
    out[3] += total(along)
    while j < end:
        scaled = weights[j] * number_or_one(scale, j)
        slope = gradient[j] + l2 * scaled
        out[0] += scaled * weights[j]
        out[1] += weights[j] * weights[j]
        out[2] += slope * slope
        gradient[j] = slope * number_or_one(units, j)
        out[3] += gradient[j] * number_or_one(direction, j)
        j += 1
