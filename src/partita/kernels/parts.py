"""Sums over parts, in one pass."""

import numpy as np

from partita.kernels.jit import kernel


@kernel
def sum_products(counts, values, part_offsets, out):
    """out[sentence] = sum over its parts of counts * values, where 0 times infinity is 0."""
    for sentence in range(len(out)):
        total = 0.0
        for part in range(part_offsets[sentence], part_offsets[sentence + 1]):
            if counts[part] != 0.0:
                total += counts[part] * values[part]
        out[sentence] = total


@kernel
def clear_impossible(marginals, direction, out):
    """out = direction, but 0 where the marginal is 0; returns whether all of it is finite."""
    is_finite = True
    for part in range(len(out)):
        value = direction[part] if marginals[part] != 0.0 else 0.0
        is_finite &= abs(value) < np.inf
        out[part] = value
    return is_finite
