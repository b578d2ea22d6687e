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

A number below 2^-1022 becomes 0 on the way. That loses at most 2^-1022 times what multiplies it
to a marginal, which is at most the largest beta, since alpha / c, M and exp(unary) are at most 1.
Where beta stays below `SAFE` the result stands; otherwise the sentence is reported as unsafe and
the caller takes `chains.log`.
"""

import math

import numpy as np

from partita.kernels.chains.side_by_side import (
    as_lanes,
    group_cells,
    groups,
    lengths_of,
    same_table,
    shifted,
    unary_rows,
    write_rows,
    write_tables,
)
from partita.kernels.chains.tiles import messages_times_table, pair_sums
from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    exponential,
    gather,
    lane,
    load,
    maximum,
    select,
    store,
)
from partita.kernels.simd.small_matrix import largest, weights
from partita.kernels.underflow import SAFE


@inlined
def transpose(matrix, n_tags, out):
    """out[j, i] = matrix[i, j]."""
    for i in range(n_tags):
        for j in range(n_tags):
            out[j * n_tags + i] = matrix[i * n_tags + j]


@kernel
def read_unary(scores, part_offsets, members, n_words, n_tags, ratio, shift):
    """ratio[t, j, lane] = exp(unary - shift), 0 behind the end of a sentence; fills shift[lane]."""
    for k in range(N_LANES):
        shift[k] = 0.0
        if n_words[k] > 0:
            shift[k] = largest(scores, part_offsets[members[k]], n_words[k] * n_tags)
    shifts, ends = load(shift, 0), as_lanes(n_words)
    for t in range(n_words.max()):
        rows = unary_rows(part_offsets, members, n_words, t, n_tags)
        is_word = broadcast(float(t)) < ends
        for j in range(n_tags):
            weight = exponential(gather(scores, shifted(rows, j)) - shifts)
            store(ratio, (t * n_tags + j) * N_LANES, select(is_word, weight, 0.0))


@kernel
def forward(n_words, n_tags, table, alpha, ratio, scale):
    """Forward messages of four sentences; scale[t, lane] = c, 1 behind the end of a sentence."""
    sums = np.ones(n_tags * N_LANES)
    ends, inverse = as_lanes(n_words), broadcast(1.0)
    for t in range(n_words.max()):
        row = t * n_tags * N_LANES
        if t > 0:
            messages_times_table(alpha, row - n_tags * N_LANES, table, n_tags, sums)
        total = broadcast(0.0)
        for j in range(0, n_tags * N_LANES, N_LANES):
            scaled = load(ratio, row + j) * inverse
            message = scaled * load(sums, j)
            store(ratio, row + j, scaled)
            store(alpha, row + j, message)
            total = total + message
        total = select(broadcast(float(t)) < ends, total, 1.0)
        store(scale, t * N_LANES, total)
        inverse = 1.0 / total


@kernel
def backward(n_words, n_tags, transposed, ratio, scale, beta, gain):
    """Backward messages of four sentences; returns the largest beta of each lane."""
    sums = np.zeros(n_tags * N_LANES)
    ends, limit = as_lanes(n_words), broadcast(0.0)
    most = n_words.max()
    for t in range(most - 1, -1, -1):
        row = t * n_tags * N_LANES
        if t + 1 < most:
            messages_times_table(gain, row + n_tags * N_LANES, transposed, n_tags, sums)
        last = select(broadcast(t + 1.0) == ends, 1.0 / load(scale, t * N_LANES), 0.0)
        for j in range(0, n_tags * N_LANES, N_LANES):
            outside = load(sums, j) + last
            limit = maximum(limit, outside)
            store(beta, row + j, outside)
            store(gain, row + j, load(ratio, row + j) * outside)
    return limit


@kernel
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
def multiply(left, right, out):
    """out = left * right, lane by lane."""
    for cell in range(0, len(left), N_LANES):
        store(out, cell, load(left, cell) * load(right, cell))


@kernel
def marginals(scores, part_offsets, word_offsets, n_tags, by_length, log_partition, out):
    """Log-partition and marginals of a batch with one transition table per sentence.

    Returns which sentences are safe, and for the covariance product the groups, where their
    messages start, and the messages alpha, beta and ratio.
    """
    n_table = n_tags * n_tags
    members = groups(scores, part_offsets, n_tags, by_length)
    cells = group_cells(word_offsets, members, n_tags)
    alpha, beta, ratio = np.empty(cells[-1]), np.empty(cells[-1]), np.empty(cells[-1])
    longest = np.diff(cells).max() if len(members) else 0
    gain, scale = np.empty(longest), np.empty(longest)
    matrix, transposed = np.empty(n_table), np.empty(n_table)
    pairs, shift = np.empty(n_table * N_LANES), np.empty(N_LANES)
    is_safe = np.zeros(len(log_partition), dtype=np.bool_)
    previous, table_shift = 0, 0.0
    for group in range(len(members)):
        member, span = members[group], slice(cells[group], cells[group + 1])
        n_words = lengths_of(word_offsets, member)
        table = part_offsets[member[0] + 1] - n_table
        if group == 0 or not same_table(scores, previous, table, n_table):
            table_shift = largest(scores, table, n_table)
            weights(scores, table, n_table, table_shift, matrix, 0)
            transpose(matrix, n_tags, transposed)
        previous = table
        read_unary(scores, part_offsets, member, n_words, n_tags, ratio[span], shift)
        forward(n_words, n_tags, matrix, alpha[span], ratio[span], scale)
        limit = backward(n_words, n_tags, transposed, ratio[span], scale, beta[span], gain)
        pair_sums(alpha[span], gain, n_words, n_tags, pairs)
        write_tables(pairs, matrix, part_offsets, member, n_tags, out)
        multiply(alpha[span], beta[span], gain)
        write_rows(gain, part_offsets, member, n_words, n_tags, out)
        for k in range(N_LANES):
            if member[k] >= 0:
                total = log_scale(scale, k, n_words[k])
                taken_out = n_words[k] * shift[k] + (n_words[k] - 1) * table_shift
                log_partition[member[k]] = total + taken_out
                is_safe[member[k]] = total > -np.inf and lane(limit, k) < SAFE
    return is_safe, members, cells, alpha, beta, ratio


@inlined
def longest_sentence(word_offsets):
    """Number of words of the longest sentence of a batch."""
    most = 0
    for sentence in range(len(word_offsets) - 1):
        most = max(most, word_offsets[sentence + 1] - word_offsets[sentence])
    return most
