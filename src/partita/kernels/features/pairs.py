"""Sparse features with weights for some columns only: as `features.rows`, for chosen pairs.

What occurs is a list of pairs with the parts that each adds to, in the order of the parts' rows:

    scores[parts[k]]   += values[k] weights[pairs[k]]          (gather)
    gradient[pairs[k]] += values[k] score_gradient[parts[k]]   (scatter)

An empty `values` means that all are 1.
"""

from partita.kernels.features.rows import value_at
from partita.kernels.jit import kernel
from partita.kernels.simd.prefetch import prefetch

FAR = 64
"""Weights are asked for so many pairs before their use: what is done for one takes a nanosecond."""


@kernel
def gather(weights, pairs, values, parts, out):
    """out += the scores; weights has shape (n_pairs,)."""
    last = len(pairs) - 1
    for k in range(len(pairs)):
        prefetch(weights, pairs[min(k + FAR, last)])
        out[parts[k]] += value_at(values, k) * weights[pairs[k]]


@kernel
def scatter(gradient, pairs, values, parts, out):
    """out += the gradient of all weights; out has shape (n_pairs,)."""
    last = len(pairs) - 1
    for k in range(len(pairs)):
        prefetch(out, pairs[min(k + FAR, last)])
        out[pairs[k]] += value_at(values, k) * gradient[parts[k]]


@kernel
def clear(rows, firsts, zeros, out):
    """out = 0 in some rows, at zeros[firsts[r] : firsts[r + 1]] for row r."""
    for row in rows:
        for k in range(firsts[row], firsts[row + 1]):
            out[zeros[k]] = 0.0
