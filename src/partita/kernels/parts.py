"""Passes over all parts: memory is what they cost, so each reads what it needs once."""

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.simd.lanes import N_LANES, broadcast, lane, load, maximum, minimum, select
from partita.kernels.simd.lanes import total as lane_total


@kernel
def sum_products(counts, values, part_offsets, out):
    """out[sentence] = sum over its parts of counts * values, where 0 times infinity is 0."""
    for sentence in range(len(out)):
        start, end = part_offsets[sentence], part_offsets[sentence + 1]
        whole = end - (end - start) % (2 * N_LANES)
        first, second, rest = broadcast(0.0), broadcast(0.0), 0.0
        for part in range(start, whole, 2 * N_LANES):
            count = load(counts, part)
            first = first + select(count == 0.0, 0.0, count * load(values, part))
            count = load(counts, part + N_LANES)
            second = second + select(count == 0.0, 0.0, count * load(values, part + N_LANES))
        for part in range(whole, end):
            if counts[part] != 0.0:
                rest += counts[part] * values[part]
        out[sentence] = lane_total(first + second) + rest


@kernel
def largest(values):
    """The largest absolute value, of the finite ones; and whether all of them are finite."""
    # 0 times a finite number is 0, and 0 times anything else is NaN.
    whole = len(values) - len(values) % N_LANES
    zeros, rest = broadcast(0.0), 0.0
    high, low, most = broadcast(0.0), broadcast(0.0), 0.0
    for part in range(0, whole, N_LANES):
        value = load(values, part)
        zero = value * 0.0
        zeros = zeros + zero
        finite = select(zero == 0.0, value, 0.0)
        high, low = maximum(finite, high), minimum(finite, low)
    for part in range(whole, len(values)):
        rest += values[part] * 0.0
        if abs(values[part]) < np.inf:
            most = max(most, abs(values[part]))
    for index in range(N_LANES):
        most = max(most, lane(high, index), -lane(low, index))
    return most, lane_total(zeros) + rest == 0.0


@kernel
def clear_impossible(marginals, direction, out):
    """out = direction, but 0 where the marginal is 0; returns whether all of it is finite."""
    is_finite = True
    for part in range(len(out)):
        value = direction[part] if marginals[part] != 0.0 else 0.0
        is_finite &= abs(value) < np.inf
        out[part] = value
    return is_finite
