"""Forward-backward with a transition table for every pair of neighbours, rescaled at every word.

The recursions and the test for underflow are those of `chains.scaled`. The exponentials of the
tables are most of the work; they are left where the marginals will be.
"""

import math

import numpy as np

from partita.kernels.chains.scaled import longest_sentence
from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.lanes import N_LANES, broadcast, load, store
from partita.kernels.simd.lanes import total as lane_total
from partita.kernels.simd.small_matrix import largest, vector_times_matrix, weights
from partita.kernels.underflow import SAFE


@kernel
def row_times_table(row, values, table, n_tags, out):
    """out[j] = sum_i row[i] values[table + i, j], without padding."""
    whole = n_tags - n_tags % N_LANES
    vector_times_matrix(row, 0, n_tags, values, table, n_tags, whole, out, 0)
    for j in range(whole, n_tags):
        out[j] = 0.0
        for i in range(n_tags):
            out[j] += row[i] * values[table + i * n_tags + j]


@kernel
def forward(scores, start, n_words, n_tags, marginals, alpha, psi, scale):
    """Forward messages of one sentence; leaves the weights of its tables in `marginals`.

    Returns sum log c plus the maxima taken out, -inf where all mass is lost.
    """
    unary_shift = largest(scores, start, n_words * n_tags)
    total = n_words * unary_shift
    for t in range(n_words):
        weights(scores, start + t * n_tags, n_tags, unary_shift, psi[t], 0)
        if t == 0:
            alpha[0] = psi[0]
        else:
            table = start + n_words * n_tags + (t - 1) * n_tags * n_tags
            shift = largest(scores, table, n_tags * n_tags)
            weights(scores, table, n_tags * n_tags, shift, marginals, table)
            total += shift
            row_times_table(alpha[t - 1], marginals, table, n_tags, alpha[t])
            for j in range(n_tags):
                alpha[t, j] *= psi[t, j]
        scale[t] = alpha[t].sum()
        if not scale[t] * SAFE > 1.0:
            return -np.inf
        alpha[t] /= scale[t]
        total += math.log(scale[t])
    return total


@inlined
def scaled_row(values, first, n_tags, gain, left):
    """values[j] *= left gain[j] along one row of a table; returns sum_j values[j] gain[j]."""
    total = 0.0
    lanes = broadcast(0.0)
    before = broadcast(left)
    whole = n_tags - n_tags % N_LANES
    for j in range(0, whole, N_LANES):
        outside = load(values, first + j) * load(gain, j)
        lanes = lanes + outside
        store(values, first + j, before * outside)
    for j in range(whole, n_tags):
        outside = values[first + j] * gain[j]
        total += outside
        values[first + j] = left * outside
    return total + lane_total(lanes)


@kernel
def backward(start, n_words, n_tags, marginals, alpha, psi, scale):
    """Turn the weights in `marginals` into marginals; returns the largest beta / c."""
    beta, gain = np.ones(n_tags), np.empty(n_tags)
    limit = 0.0
    for t in range(n_words - 1, -1, -1):
        for j in range(n_tags):
            marginals[start + t * n_tags + j] = alpha[t, j] * beta[j]
            gain[j] = beta[j] / scale[t]
            limit = max(limit, gain[j])
            gain[j] *= psi[t, j]
        if t > 0:
            table = start + n_words * n_tags + (t - 1) * n_tags * n_tags
            for i in range(n_tags):
                row = table + i * n_tags
                beta[i] = scaled_row(marginals, row, n_tags, gain, alpha[t - 1, i])
    return limit


@kernel
def marginals(scores, part_offsets, word_offsets, n_tags, log_partition, out):
    """Log-partition and marginals of a batch with a transition table for every pair of neighbours.

    Returns which sentences are safe, in a tuple. The pairwise marginals are all that the
    covariance product needs.
    """
    is_safe = np.zeros(len(log_partition), dtype=np.bool_)
    most = longest_sentence(word_offsets)
    alpha, psi = np.empty((most, n_tags)), np.empty((most, n_tags))
    scale = np.empty(most)
    for sentence in range(len(log_partition)):
        start = part_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        total = forward(scores, start, n_words, n_tags, out, alpha, psi, scale)
        log_partition[sentence] = total
        if total > -np.inf:
            limit = backward(start, n_words, n_tags, out, alpha, psi, scale)
            is_safe[sentence] = limit < SAFE
    return (is_safe,)
