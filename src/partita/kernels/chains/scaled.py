"""Forward-backward in probabilities rescaled at every word: the fast path for shared transitions.

Four sentences with the same transition table go side by side, one in each SIMD lane; messages lie
in memory as [word, tag, lane]. Scores are taken relative to the largest of their sentence or
table, so that every exponential is at most 1. With M = exp(pairwise) and c[t] = sum_j alpha[t, j],

    ratio[t, j] = exp(unary[t, j]) / c[t-1]
    alpha[t, j] = ratio[t, j] sum_i alpha[t-1, i] M[i, j]      (the sum is 1 at the first word)
    gain[t, j]  = ratio[t, j] beta[t, j]
    beta[t, i]  = sum_j M[i, j] gain[t+1, j]                   (1 / c at the last word)

Then A = sum log c + the maxima taken out, alpha * beta are the unary marginals, and
alpha[t-1, i] M[i, j] gain[t, j] the pairwise ones. Words that a shorter sentence of the four lacks
have ratio 0, so they add nothing to its sums.

The messages of all groups lie in one array: all alpha, all beta, all ratio. `at` is where those of
a group start in each third.

A number below 2^-1022 becomes 0 on the way. That loses at most 2^-1022 times what multiplies it
to a marginal, which is at most the largest beta, since alpha / c, M and exp(unary) are at most 1.
Where beta stays below `SAFE` the result stands; otherwise the sentence is reported as unsafe and
the caller takes `chains.log`.
"""

import math

import numpy as np

from partita.kernels.chains.side_by_side import (
    groups,
    lengths_of,
    n_slots,
    read_unary,
    same_table,
    write_rows,
    write_tables,
)
from partita.kernels.chains.tiles import messages_times_table, pair_sums, table_stride
from partita.kernels.jit import kernel, step
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    lane,
    load,
    maximum,
    select,
    store,
)
from partita.kernels.simd.small_matrix import largest, weights
from partita.kernels.underflow import SAFE


@step
def read_table(scores, table, n_tags, matrix, transposed):
    """matrix = M and its transpose, zeros in columns without a tag; returns the score taken out."""
    shift, stride = largest(scores, table, n_tags * n_tags), table_stride(n_tags)
    for i in range(n_tags):
        weights(scores, table + i * n_tags, n_tags, shift, matrix, i * stride)
        for j in range(n_tags):
            transposed[j * stride + i] = matrix[i * stride + j]
        for j in range(n_tags, stride):
            matrix[i * stride + j] = 0.0
            transposed[i * stride + j] = 0.0
    return shift


@step
def forward(messages, alpha, ratio, most, n_tags, table, ends, scale, sums):
    """Forward messages of four sentences; scale[t, lane] = c, 1 behind the end of a sentence."""
    width, inverse = n_slots(n_tags) * N_LANES, broadcast(1.0)
    for j in range(0, width, N_LANES):
        store(sums, j, inverse)
    for t in range(most):
        row = t * width
        if t > 0:
            messages_times_table(messages, alpha + row - width, table, n_tags, sums)
        total = broadcast(0.0)
        for j in range(0, width, N_LANES):
            scaled = load(messages, ratio + row + j) * inverse
            message = scaled * load(sums, j)
            store(messages, ratio + row + j, scaled)
            store(messages, alpha + row + j, message)
            total = total + message
        total = select(load(ends, 0) > float(t), total, 1.0)
        store(scale, t * N_LANES, total)
        inverse = 1.0 / total


@step
def backward(messages, beta, ratio, most, n_tags, transposed, ends, scale, gain, sums):
    """Backward messages of four sentences; returns the largest beta of each lane."""
    width, limit = n_slots(n_tags) * N_LANES, broadcast(0.0)
    for j in range(0, width, N_LANES):
        store(sums, j, limit)
    for t in range(most - 1, -1, -1):
        row = t * width
        if t + 1 < most:
            messages_times_table(gain, row + width, transposed, n_tags, sums)
        last = select(load(ends, 0) == t + 1.0, 1.0 / load(scale, t * N_LANES), 0.0)
        for j in range(0, width, N_LANES):
            outside = load(sums, j) + last
            limit = maximum(limit, outside)
            store(messages, beta + row + j, outside)
            store(gain, row + j, load(messages, ratio + row + j) * outside)
    return limit


@step
def log_scale(scale, k, n_words):
    """sum over words of log c in one lane; -inf where some c is too small to be certain of.

    Some beta is at least 1 / c, so a c below 1 / SAFE is unsafe. One logarithm serves many
    factors: from 1e-20 on, the next one cannot underflow.
    """
    total, product = 0.0, 1.0
    for t in range(n_words):
        c = scale[t * N_LANES + k]
        if not c * SAFE > 1.0:
            total, c = -np.inf, 1.0
        product *= c
        if product < 1e-20 or product > 1e200:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@kernel
def marginals(
    scores, part_offsets, word_offsets, n_tags, by_length,
    members, cells, is_safe, log_partition, out,
):  # fmt: skip
    """Log-partition and marginals of a batch with one transition table per sentence.

    Fills which sentences are safe, and for the covariance product the groups (see `side_by_side`;
    there is room for as many as sentences). Returns their number, and the messages.
    """
    n_groups = groups(scores, part_offsets, word_offsets, n_tags, by_length, members, cells)
    n_table, stride, slots = n_tags * n_tags, table_stride(n_tags), n_slots(n_tags)
    third, longest = cells[n_groups], 0
    for group in range(n_groups):
        longest = max(longest, cells[group + 1] - cells[group])
    messages, gain, scale = np.empty(3 * third), np.empty(longest), np.empty(longest)
    matrix, transposed = np.empty(n_tags * stride), np.empty(n_tags * stride)
    pairs, sums = np.empty(slots * slots * N_LANES), np.empty(stride * N_LANES)
    shift, ends = np.empty(N_LANES), np.empty(N_LANES)
    previous, table_shift = 0, 0.0
    for group in range(n_groups):
        first, alpha = group * N_LANES, cells[group]
        beta, ratio = alpha + third, alpha + 2 * third
        lengths = lengths_of(word_offsets, members, first)
        most = lengths[3]
        table = part_offsets[members[first] + 1] - n_table
        if group == 0 or not same_table(scores, previous, table, n_table):
            table_shift = read_table(scores, table, n_tags, matrix, transposed)
        previous = table
        read_unary(
            scores, part_offsets, members, first, lengths, n_tags, shift, ends, messages, ratio,
            None,
        )  # fmt: skip
        forward(messages, alpha, ratio, most, n_tags, matrix, ends, scale, sums)
        limit = backward(messages, beta, ratio, most, n_tags, transposed, ends, scale, gain, sums)
        pair_sums(messages, alpha, gain, None, 0, None, most - 1, n_tags, pairs)
        write_tables(pairs, matrix, stride, part_offsets, members, first, n_tags, out)
        for cell in range(0, most * slots * N_LANES, N_LANES):
            store(gain, cell, load(messages, alpha + cell) * load(messages, beta + cell))
        write_rows(gain, part_offsets, members, first, lengths, n_tags, out)
        for k in range(N_LANES):
            total = log_scale(scale, k, lengths[k])
            taken_out = lengths[k] * shift[k] + (lengths[k] - 1) * table_shift
            log_partition[members[first + k]] = total + taken_out
            is_safe[members[first + k]] = total > -np.inf and lane(limit, k) < SAFE
    return n_groups, messages
