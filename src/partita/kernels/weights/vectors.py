"""Arithmetic on a stretch of long vectors, from `start` to `end`, each number read once.

Sums are taken in lanes, in an order that depends on nothing but the stretch.
"""

from partita.kernels.jit import kernel
from partita.kernels.simd.lanes import N_LANES, broadcast, load, store, total

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
def three_dots(row, first, second, third, start, end):
    """The dot products of one row with three columns."""
    one, two, three = broadcast(0.0), broadcast(0.0), broadcast(0.0)
    j = start
    while j + N_LANES <= end:
        values = load(row, j)
        one = one + values * load(first, j)
        two = two + values * load(second, j)
        three = three + values * load(third, j)
        j += N_LANES
    a, b, c = total(one), total(two), total(three)
    while j < end:
        a += row[j] * first[j]
        b += row[j] * second[j]
        c += row[j] * third[j]
        j += 1
    return a, b, c


@kernel
def products(rows, n_rows, first, second, third, start, end, out):
    """out[i] += the dot products of rows[i] with three columns, a block at a time."""
    for block in range(start, end, BLOCK):
        for i in range(n_rows):
            found = three_dots(rows[i], first, second, third, block, min(block + BLOCK, end))
            for column in range(3):
                out[i, column] += found[column]


@kernel
def combination(coefficients, rows, n_rows, start, end, out):
    """out_j += sum_i coefficients_i rows_ij, a block at a time."""
    for block in range(start, end, BLOCK):
        for i in range(n_rows):
            add_scaled(coefficients[i], rows[i], block, min(block + BLOCK, end), out)


@kernel
def add_scaled(factor, row, start, end, out):
    """out_j += factor row_j."""
    factors = broadcast(factor)
    j = start
    while j + N_LANES <= end:
        store(out, j, load(out, j) + factors * load(row, j))
        j += N_LANES
    while j < end:
        out[j] += factor * row[j]
        j += 1


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
