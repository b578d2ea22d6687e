"""Arithmetic on a stretch of long vectors, from `start` to `end`, each number read once.

Sums are taken in lanes, in an order that depends on nothing but the stretch.
"""

import numpy as np

from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    load,
    load_any,
    store,
    store_single,
    total,
)

BLOCK = 2**13
"""Stretches of four vectors of this length stay in a second-level cache together."""


@kernel
def dot(left, right, start, end):
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
def dot_of_products(left, right, is_quotient, start, end):
    """sum_j (left_j right_j)², or of (left_j / right_j)²."""
    sums = broadcast(0.0)
    j = start
    while j + N_LANES <= end:
        values, others = load(left, j), load(right, j)
        scaled = values / others if is_quotient else values * others
        sums = sums + scaled * scaled
        j += N_LANES
    result = total(sums)
    while j < end:
        scaled = left[j] / right[j] if is_quotient else left[j] * right[j]
        result += scaled * scaled
        j += 1
    return result


@inlined
def subtract(left, right, start, end, out):
    """out_j = left_j - right_j, rounded to single precision."""
    j = start
    while j + N_LANES <= end:
        store_single(out, j, load(left, j) - load(right, j))
        j += N_LANES
    while j < end:
        out[j] = left[j] - right[j]
        j += 1


@inlined
def row_dot(row, column, start, end):
    """The dot product of a row of single precision with a column."""
    even, odd = broadcast(0.0), broadcast(0.0)
    j = start
    while j + 2 * N_LANES <= end:
        even = even + load_any(row, j) * load(column, j)
        odd = odd + load_any(row, j + N_LANES) * load(column, j + N_LANES)
        j += 2 * N_LANES
    result = total(even + odd)
    while j < end:
        result += row[j] * column[j]
        j += 1
    return result


@inlined
def three_dots(row, first, second, third, start, end):
    """The dot products of a row with two others and with a column, all but that single."""
    one, two, three = broadcast(0.0), broadcast(0.0), broadcast(0.0)
    j = start
    while j + N_LANES <= end:
        values = load_any(row, j)
        one = one + values * load_any(first, j)
        two = two + values * load_any(second, j)
        three = three + values * load(third, j)
        j += N_LANES
    a, b, c = total(one), total(two), total(three)
    while j < end:
        value = np.float64(row[j])
        a += value * first[j]
        b += value * second[j]
        c += value * third[j]
        j += 1
    return a, b, c


@kernel
def pair_products(
    rows, n_rows, weights, old_weights, gradient, old_gradient, slope, step, change, start, end, out
):
    """out[i] += the dot products of rows[i] with step, change and slope, a block at a time.

    On the way, step = weights - old_weights and change = gradient - old_gradient, which are two of
    the rows.
    """
    for block in range(start, end, BLOCK):
        last = min(block + BLOCK, end)
        subtract(weights, old_weights, block, last, step)
        subtract(gradient, old_gradient, block, last, change)
        for i in range(n_rows):
            found = three_dots(rows[i], step, change, slope, block, last)
            for column in range(3):
                out[i, column] += found[column]


@kernel
def row_products(rows, n_rows, column, start, end, out):
    """out[i] += the dot product of rows[i] with a column, a block at a time."""
    for block in range(start, end, BLOCK):
        for i in range(n_rows):
            out[i] += row_dot(rows[i], column, block, min(block + BLOCK, end))


@inlined
def add_row(factor, row, start, end, out):
    """out_j += factor row_j, the row in single precision."""
    factors = broadcast(factor)
    j = start
    while j + N_LANES <= end:
        store(out, j, load(out, j) + factors * load_any(row, j))
        j += N_LANES
    while j < end:
        out[j] += factor * row[j]
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
    """out_j = factor column_j + sum_i coefficients_i rows_ij, a block at a time."""
    for block in range(start, end, BLOCK):
        last = min(block + BLOCK, end)
        scale_into(factor, column, block, last, out)
        for i in range(n_rows):
            add_row(coefficients[i], rows[i], block, last, out)


@kernel
def add_scaled_weights(factor, scale, weights, start, end, out):
    """out_j += factor scale_j weights_j; returns sum_j scale_j weights_j². No scale: all 1."""
    squares = broadcast(0.0)
    factors = broadcast(factor)
    j = start
    while j + N_LANES <= end:
        values = load(weights, j)
        scaled = values * load(scale, j) if len(scale) > 0 else values
        squares = squares + scaled * values
        store(out, j, load(out, j) + factors * scaled)
        j += N_LANES
    result = total(squares)
    while j < end:
        scaled = weights[j] * scale[j] if len(scale) > 0 else weights[j]
        result += scaled * weights[j]
        out[j] += factor * scaled
        j += 1
    return result
