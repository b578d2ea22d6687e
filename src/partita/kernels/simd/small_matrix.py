"""Exponentials of a row or table, and a vector times a matrix, in SIMD lanes along the row.

`at`, `cell` and `first` are positions in flat arrays.
"""

import math

import numpy as np

from partita.kernels.jit import borrowing
from partita.kernels.simd.eight import EIGHT, all_eight, halves, load_eight, store_eight
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    exponential,
    fma,
    lane,
    load,
    maximum,
    spread,
    store,
    total,
)


@borrowing
def padded_width(n_values):
    """A number of values rounded up to whole SIMD lanes."""
    return (n_values + N_LANES - 1) // N_LANES * N_LANES


@borrowing
def highest_lane(lanes):
    """The largest of the lanes."""
    return max(max(lane(lanes, 0), lane(lanes, 1)), max(lane(lanes, 2), lane(lanes, 3)))


@borrowing
def largest(scores, first, n_values):
    """The largest of scores[first : first + n_values]; 0 if all are -inf, or there are none."""
    highest = top(scores, first, n_values)
    return highest if highest > -np.inf else 0.0


@borrowing
def top(scores, first, n_values):
    """The largest of scores[first : first + n_values]; -inf if there are none."""
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
    return highest


@borrowing
def share_out(scores, first, n_values, shares):
    """log sum exp of scores[first : first + n_values], and what each has of it, at the same place.

    shares = exp(score - log sum exp); where all scores are -inf the sum is that and shares are 0.
    """
    highest = top(scores, first, n_values)
    if highest == -np.inf:
        for k in range(first, first + n_values):
            shares[k] = 0.0
        return highest
    all_of_them = exponentials(scores, first, n_values, highest, shares)
    # One division for all, since each takes as long as half an exponential.
    multiply(shares, first, n_values, 1.0 / all_of_them)
    return highest + math.log(all_of_them)


@borrowing
def exponentials(scores, first, n_values, shift, out):
    """out = exp(scores - shift) from `first` on, so many numbers; returns their sum."""
    end, whole = first + n_values, first + n_values - n_values % N_LANES
    wide = first + n_values - n_values % EIGHT
    eights, rest = all_eight(0.0), 0.0
    for k in range(first, wide, EIGHT):
        eight = exponential(load_eight(scores, k) - shift)
        eights = eights + eight
        store_eight(out, k, eight)
    low, high = halves(eights)
    sums = low + high
    for k in range(wide, whole, N_LANES):
        value = exponential(load(scores, k) - shift)
        sums = sums + value
        store(out, k, value)
    for k in range(whole, end):
        out[k] = exponential(scores[k] - shift)
        rest += out[k]
    return total(sums) + rest


@borrowing
def multiply(values, first, n_values, factor):
    """values *= factor from `first` on, so many numbers."""
    end, whole = first + n_values, first + n_values - n_values % N_LANES
    wide = first + n_values - n_values % EIGHT
    for k in range(first, wide, EIGHT):
        store_eight(values, k, load_eight(values, k) * factor)
    for k in range(wide, whole, N_LANES):
        store(values, k, load(values, k) * factor)
    for k in range(whole, end):
        values[k] *= factor


@borrowing
def weights(scores, first, n_values, shift, out, at):
    """out[at:] = exp(scores[first:] - shift)."""
    if n_values < N_LANES:
        for k in range(n_values):
            out[at + k] = exponential(scores[first + k] - shift)
    else:
        for k in range(0, n_values - N_LANES, N_LANES):
            store(out, at + k, exponential(load(scores, first + k) - shift))
        # The last four overlap those before them: the same numbers are written again.
        k = n_values - N_LANES
        store(out, at + k, exponential(load(scores, first + k) - shift))


@borrowing
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


@borrowing
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


@borrowing
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
