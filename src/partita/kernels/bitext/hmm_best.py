"""The likeliest hidden Markov alignment of each pair: `bitext.hmm` with max in place of sum."""

import math

import numpy as np

from partita.kernels.bitext.hmm import jump_norms, start_weights
from partita.kernels.jit import inlined, kernel, step

EMPTY, OUTSIDE = -1, -2
"""How a place was reached: by staying while the empty word is translated; from outside."""


@inlined
def log(x):
    """Natural logarithm; that of 0 is -inf."""
    return math.log(x) if x > 0.0 else -np.inf


@step
def log_jumps(jumps, starts, p0, n):
    """log p(i | k), (n + 1, n), from outside in the last row."""
    norms, start = np.empty(n), np.empty(n)
    jump_norms(jumps, n, norms)
    start_weights(starts, n, start)
    reach, table = len(jumps) // 2, np.empty((n + 1, n))
    for k in range(n):
        for i in range(n):
            distance = min(max(i - k, -reach), reach)
            table[k, i] = log((1.0 - p0) * jumps[reach + distance] / norms[k])
    for i in range(n):
        table[n, i] = log((1.0 - p0) * start[i])
    return table


@step
def best_pair(values, jumps, starts, p0, out):
    """out_j = the source place of target word j, or -1 for the empty word; O(m n²).

    `best` is the score of the likeliest way to each place, the last entry for outside, where
    nothing was translated from the source yet. Ties go to the empty word, then to the first place.
    """
    n, m = values.shape[0] - 1, values.shape[1]
    jump = log_jumps(jumps, starts, p0, n)
    came_from = np.empty((m, n), dtype=np.int64)
    best, following = np.full(n + 1, -np.inf), np.empty(n + 1)
    best[n] = 0.0
    for j in range(m):
        says_nothing = not values[0 if p0 > 0.0 else 1 :, j].sum() > 0.0
        stay = log(p0 * (1.0 if says_nothing else values[0, j]))
        for i in range(n):
            score, origin = best[n] + jump[n, i], OUTSIDE
            for k in range(n):
                if best[k] + jump[k, i] > score:
                    score, origin = best[k] + jump[k, i], k
            if not says_nothing:
                score += log(values[i + 1, j])
            if score > best[i] + stay:
                following[i], came_from[j, i] = score, origin
            else:
                following[i], came_from[j, i] = best[i] + stay, EMPTY
        following[n] = best[n] + stay
        best, following = following, best
    place = np.argmax(best)
    for j in range(m - 1, -1, -1):
        out[j] = -1
        if place < n and came_from[j, place] != EMPTY:
            out[j] = place
            place = came_from[j, place] if came_from[j, place] != OUTSIDE else n


@kernel
def best_pairs(values, cell_offsets, n_source, n_target, jumps, starts, p0, out):
    """The alignments of all pairs, target word by target word; values are flat."""
    first = 0
    for pair in range(len(n_source)):
        n, m = n_source[pair], n_target[pair]
        own = values[cell_offsets[pair] : cell_offsets[pair + 1]].reshape((n, m))
        best_pair(own, jumps, starts, p0, out[first : first + m])
        first += m
