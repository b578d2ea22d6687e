"""Features that are one weight each: part k has the score weights[ids[k]]."""

from partita.kernels.jit import kernel
from partita.kernels.simd.prefetch import prefetch

AHEAD = 32
"""Places that are asked for before their use."""


@kernel
def gather(weights, ids, out):
    """out[k] += weights[ids[k]]."""
    for k in range(len(ids)):
        prefetch(weights, ids[min(k + AHEAD, len(ids) - 1)])
        out[k] += weights[ids[k]]


@kernel
def scatter(gradient, ids, out):
    """out[ids[k]] += gradient[k]."""
    for k in range(len(ids)):
        prefetch(out, ids[min(k + AHEAD, len(ids) - 1)])
        out[ids[k]] += gradient[k]
