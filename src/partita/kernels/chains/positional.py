"""Forward-backward with a transition table for every pair of neighbours, rescaled at every word.

The recursions and the test for underflow are those of `chains.scaled`. The exponentials of the
tables are most of the work; they are left where the marginals will be.
"""

import math

import numpy as np

from partita.kernels.jit import inlined, kernel, step
from partita.kernels.simd.lanes import N_LANES, broadcast, load, store
from partita.kernels.simd.lanes import total as lane_total
from partita.kernels.simd.small_matrix import largest, vector_times_matrix, weights
from partita.kernels.underflow import SAFE


@step
def row_times_table(row, at, values, table, n_tags, out, out_at):
    """out[j] = sum_i row[i] values[table + i, j], without padding."""
    whole = n_tags - n_tags % N_LANES
    vector_times_matrix(row, at, n_tags, values, table, n_tags, whole, out, out_at)
    for j in range(whole, n_tags):
        total = 0.0
        for i in range(n_tags):
            total += row[at + i] * values[table + i * n_tags + j]
        out[out_at + j] = total


@step
def forward(scores, start, n_words, n_tags, marginals, alpha, psi, scale):
    """Forward messages of one sentence; leaves the weights of its tables in `marginals`.

    Returns sum log c plus the maxima taken out, -inf where all mass is lost.
    """
    n_unary, n_table = n_words * n_tags, n_tags * n_tags
    unary_shift = largest(scores, start, n_unary)
    weights(scores, start, n_unary, unary_shift, psi, 0)
    total = n_words * unary_shift
    for t in range(n_words):
        row = t * n_tags
        if t == 0:
            for j in range(n_tags):
                alpha[j] = 1.0
        else:
            table = start + n_unary + (t - 1) * n_table
            shift = largest(scores, table, n_table)
            weights(scores, table, n_table, shift, marginals, table)
            total += shift
            row_times_table(alpha, row - n_tags, marginals, table, n_tags, alpha, row)
        c = 0.0
        for j in range(row, row + n_tags):
            alpha[j] *= psi[j]
            c += alpha[j]
        scale[t] = c
        if not c * SAFE > 1.0:
            return -np.inf
        for j in range(row, row + n_tags):
            alpha[j] /= c
        total += math.log(c)
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


@step
def backward(start, n_words, n_tags, marginals, alpha, psi, scale, beta, gain):
    """Turn the weights in `marginals` into marginals; returns the largest beta / c."""
    limit = 0.0
    for j in range(n_tags):
        beta[j] = 1.0
    for t in range(n_words - 1, -1, -1):
        row = t * n_tags
        for j in range(n_tags):
            marginals[start + row + j] = alpha[row + j] * beta[j]
            outside = beta[j] / scale[t]
            limit = max(limit, outside)
            gain[j] = outside * psi[row + j]
        if t > 0:
            table = start + n_words * n_tags + (t - 1) * n_tags * n_tags
            for i in range(n_tags):
                before = alpha[row - n_tags + i]
                beta[i] = scaled_row(marginals, table + i * n_tags, n_tags, gain, before)
    return limit


@kernel
def marginals(scores, part_offsets, word_offsets, n_tags, is_safe, log_partition, out):
    """Log-partition and marginals of a batch with a transition table for every pair of neighbours.

    Fills which sentences are safe. The pairwise marginals are all that the covariance product
    needs.
    """
    most = 0
    for sentence in range(len(log_partition)):
        most = max(most, word_offsets[sentence + 1] - word_offsets[sentence])
    alpha, psi, scale = np.empty(most * n_tags), np.empty(most * n_tags), np.empty(most)
    beta, gain = np.empty(n_tags), np.empty(n_tags)
    for sentence in range(len(log_partition)):
        start = part_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        total = forward(scores, start, n_words, n_tags, out, alpha, psi, scale)
        log_partition[sentence], is_safe[sentence] = total, False
        if total > -np.inf:
            limit = backward(start, n_words, n_tags, out, alpha, psi, scale, beta, gain)
            is_safe[sentence] = limit < SAFE
