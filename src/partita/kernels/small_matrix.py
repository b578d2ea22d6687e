"""Products of small vectors and matrices in SIMD lanes, and the exponentials they are made of.

Rows are padded with zeros to whole lanes where a function speaks of a width; `at`, `cell` and
`first` are positions in flat arrays.
"""

import numpy as np

from partita.kernels.jit import inlined
from partita.kernels.lanes import (
    N_LANES,
    broadcast,
    exponential,
    fma,
    lane,
    load,
    maximum,
    spread,
    store,
)


@inlined
def padded_width(n_tags):
    """The number of tags rounded up to whole SIMD lanes."""
    return (n_tags + N_LANES - 1) // N_LANES * N_LANES


@inlined
def highest_lane(lanes):
    """The largest of the lanes."""
    return max(max(lane(lanes, 0), lane(lanes, 1)), max(lane(lanes, 2), lane(lanes, 3)))


@inlined
def largest(scores, first, n_values):
    """The largest of scores[first : first + n_values]; 0 if all are -inf, or there are none."""
    highest = -np.inf
    if n_values >= N_LANES:
        lanes = load(scores, first)
        for k in range(N_LANES, n_values - N_LANES + 1, N_LANES):
            lanes = maximum(lanes, load(scores, first + k))
        # The last four overlap those before them, which does no harm to a maximum.
        highest = highest_lane(maximum(lanes, load(scores, first + n_values - N_LANES)))
    else:
        for k in range(first, first + n_values):
            highest = max(highest, scores[k])
    return highest if highest > -np.inf else 0.0


@inlined
def weights(scores, first, n_values, shift, out, at):
    """out[at:] = exp(scores[first:] - shift)."""
    if n_values < N_LANES:
        for k in range(n_values):
            out[at + k] = exponential(scores[first + k] - shift)
        return
    for k in range(0, n_values - N_LANES, N_LANES):
        store(out, at + k, exponential(load(scores, first + k) - shift))
    # The last four overlap those before them: the same numbers are written again.
    k = n_values - N_LANES
    store(out, at + k, exponential(load(scores, first + k) - shift))


@inlined
def products(left, right, at, n_values, out, first):
    """out[first:] = left[at:] * right[at:]."""
    if n_values < N_LANES:
        for k in range(n_values):
            out[first + k] = left[at + k] * right[at + k]
        return
    for k in range(0, n_values - N_LANES, N_LANES):
        store(out, first + k, load(left, at + k) * load(right, at + k))
    k = n_values - N_LANES
    store(out, first + k, load(left, at + k) * load(right, at + k))


@inlined
def vector_times_matrix(vector, at, n_rows, matrix, cell, stride, width, out, out_at):
    """out[j] = sum_i vector[i] matrix[i, j] for j < width, a multiple of the lanes.

    The matrix starts at `cell` and its rows lie `stride` apart. Sums of up to 24 columns are held
    in registers.
    """
    column = 0
    while column + 6 * N_LANES <= width:
        six_lanes(vector, at, n_rows, matrix, cell + column, stride, out, out_at + column)
        column += 6 * N_LANES
    while column + 3 * N_LANES <= width:
        three_lanes(vector, at, n_rows, matrix, cell + column, stride, out, out_at + column)
        column += 3 * N_LANES
    while column < width:
        lanes = broadcast(0.0)
        for i in range(n_rows):
            row = cell + i * stride + column
            lanes = fma(spread(vector, at + i), load(matrix, row), lanes)
        store(out, out_at + column, lanes)
        column += N_LANES


@inlined
def three_lanes(vector, at, n_rows, matrix, cell, stride, out, out_at):
    """Twelve columns of `vector_times_matrix`."""
    zero = broadcast(0.0)
    a, b, c = zero, zero, zero
    for i in range(n_rows):
        value, row = spread(vector, at + i), cell + i * stride
        a = fma(value, load(matrix, row), a)
        b = fma(value, load(matrix, row + N_LANES), b)
        c = fma(value, load(matrix, row + 2 * N_LANES), c)
    store(out, out_at, a)
    store(out, out_at + N_LANES, b)
    store(out, out_at + 2 * N_LANES, c)


@inlined
def six_lanes(vector, at, n_rows, matrix, cell, stride, out, out_at):
    """Twenty-four columns of `vector_times_matrix`: enough sums to hide the latency of fma."""
    zero = broadcast(0.0)
    a, b, c, d, e, f = zero, zero, zero, zero, zero, zero
    for i in range(n_rows):
        value, row = spread(vector, at + i), cell + i * stride
        a = fma(value, load(matrix, row), a)
        b = fma(value, load(matrix, row + N_LANES), b)
        c = fma(value, load(matrix, row + 2 * N_LANES), c)
        d = fma(value, load(matrix, row + 3 * N_LANES), d)
        e = fma(value, load(matrix, row + 4 * N_LANES), e)
        f = fma(value, load(matrix, row + 5 * N_LANES), f)
    store(out, out_at, a)
    store(out, out_at + N_LANES, b)
    store(out, out_at + 2 * N_LANES, c)
    store(out, out_at + 3 * N_LANES, d)
    store(out, out_at + 4 * N_LANES, e)
    store(out, out_at + 5 * N_LANES, f)


@inlined
def outer_sums(left, first, right, second, n_terms, width, out):
    """out[i, j] = sum_t left[first + t, i] right[second + t, j] for t < n_terms.

    Tiles of 4 rows and up to 12 columns are held in registers.
    """
    for row in range(0, width, 4):
        column = 0
        while column + 3 * N_LANES <= width:
            outer_tile(left, first, right, second, n_terms, width, row, column, out)
            column += 3 * N_LANES
        while column < width:
            outer_column(left, first, right, second, n_terms, width, row, column, out)
            column += N_LANES


@inlined
def outer_column(left, first, right, second, n_terms, width, row, column, out):
    """A tile of 4 rows and 4 columns of `outer_sums`."""
    zero = broadcast(0.0)
    a, b, c, d = zero, zero, zero, zero
    for t in range(n_terms):
        values = load(right, (second + t) * width + column)
        at = (first + t) * width + row
        a = fma(spread(left, at), values, a)
        b = fma(spread(left, at + 1), values, b)
        c = fma(spread(left, at + 2), values, c)
        d = fma(spread(left, at + 3), values, d)
    cell = row * width + column
    store(out, cell, a)
    store(out, cell + width, b)
    store(out, cell + 2 * width, c)
    store(out, cell + 3 * width, d)


@inlined
def outer_tile(left, first, right, second, n_terms, width, row, column, out):
    """A tile of 4 rows and 12 columns of `outer_sums`: 12 sums for every 7 loads."""
    zero = broadcast(0.0)
    a0, a1, a2, a3 = zero, zero, zero, zero
    b0, b1, b2, b3 = zero, zero, zero, zero
    c0, c1, c2, c3 = zero, zero, zero, zero
    for t in range(n_terms):
        at = (first + t) * width + row
        behind = (second + t) * width + column
        a, b = load(right, behind), load(right, behind + N_LANES)
        c = load(right, behind + 2 * N_LANES)
        value = spread(left, at)
        a0, b0, c0 = fma(value, a, a0), fma(value, b, b0), fma(value, c, c0)
        value = spread(left, at + 1)
        a1, b1, c1 = fma(value, a, a1), fma(value, b, b1), fma(value, c, c1)
        value = spread(left, at + 2)
        a2, b2, c2 = fma(value, a, a2), fma(value, b, b2), fma(value, c, c2)
        value = spread(left, at + 3)
        a3, b3, c3 = fma(value, a, a3), fma(value, b, b3), fma(value, c, c3)
    cell = row * width + column
    store_three(out, cell, a0, b0, c0)
    store_three(out, cell + width, a1, b1, c1)
    store_three(out, cell + 2 * width, a2, b2, c2)
    store_three(out, cell + 3 * width, a3, b3, c3)


@inlined
def store_three(out, cell, a, b, c):
    """Write three neighbouring lanes to an array."""
    store(out, cell, a)
    store(out, cell + N_LANES, b)
    store(out, cell + 2 * N_LANES, c)
