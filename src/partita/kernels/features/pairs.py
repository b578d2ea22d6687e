"""Sparse features with weights for some columns only: as `features.rows`, for chosen pairs.

Attribute a has weights for the columns columns[firsts[a] : firsts[a + 1]], one each:

    scores[starts[r] + columns[p]] += values[k] weights[p]       for p of ids[k]    (gather)
    gradient[p]                    += values[k] score_gradient[starts[r] + columns[p]]  (scatter)

An empty `values` means that all are 1. What an attribute needs is asked for in two steps, since
where its weights lie is itself to be looked up.
"""

from partita.kernels.features.rows import AHEAD, value_at
from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.prefetch import prefetch


@inlined
def ask_ahead(firsts, columns, weights, ids, k):
    """Prefetch where the weights of a later attribute lie, and the weights of a nearer one."""
    last = len(ids) - 1
    prefetch(firsts, ids[min(k + AHEAD, last)])
    near = firsts[ids[min(k + AHEAD // 2, last)]]
    prefetch(columns, near)
    prefetch(weights, near)


@kernel
def gather(weights, firsts, columns, ids, values, offsets, starts, out):
    """out += the scores of all rows; weights has shape (n_pairs,)."""
    for row in range(len(starts)):
        start = starts[row]
        for k in range(offsets[row], offsets[row + 1]):
            ask_ahead(firsts, columns, weights, ids, k)
            value = value_at(values, k)
            for pair in range(firsts[ids[k]], firsts[ids[k] + 1]):
                out[start + columns[pair]] += value * weights[pair]


@kernel
def scatter(gradient, firsts, columns, ids, values, offsets, starts, out):
    """out += the gradient of all weights; out has shape (n_pairs,)."""
    for row in range(len(starts)):
        start = starts[row]
        for k in range(offsets[row], offsets[row + 1]):
            ask_ahead(firsts, columns, out, ids, k)
            value = value_at(values, k)
            for pair in range(firsts[ids[k]], firsts[ids[k] + 1]):
                out[pair] += value * gradient[start + columns[pair]]


@kernel
def clear(rows, firsts, zeros, out):
    """out = 0 in some rows, at zeros[firsts[r] : firsts[r + 1]] for row r."""
    for row in rows:
        for k in range(firsts[row], firsts[row + 1]):
            out[zeros[k]] = 0.0
