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
the caller takes `chain_log`.
"""

import math

import numpy as np

from partita.kernels.jit import inlined, kernel
from partita.kernels.lanes import (
    N_LANES,
    broadcast,
    exponential,
    fma,
    gather,
    lane,
    load,
    maximum,
    scatter,
    select,
    spread,
    store,
)
from partita.kernels.small_matrix import highest_lane, largest, weights
from partita.kernels.underflow import SAFE


@kernel
def groups(scores, part_offsets, n_tags, by_length):
    """The sentences four by four, in the given order, those of a group with equal transitions.

    Returns members[group, lane], -1 where a lane is free.
    """
    n_table = n_tags * n_tags
    members = np.full((len(by_length), N_LANES), -1, dtype=np.int64)
    group, free = -1, 0
    for sentence in by_length:
        table = part_offsets[sentence + 1] - n_table
        first = part_offsets[members[group, 0] + 1] - n_table if group >= 0 else -1
        if free == 0 or not same_table(scores, first, table, n_table):
            group, free = group + 1, N_LANES
        members[group, N_LANES - free] = sentence
        free -= 1
    return members[: group + 1]


@kernel
def same_table(scores, first, second, n_values):
    """Whether two transition tables are equal: sentences of a tagger share one."""
    differences = broadcast(0.0)
    whole = n_values - n_values % N_LANES
    for k in range(0, whole, N_LANES):
        equal = load(scores, first + k) == load(scores, second + k)
        differences = differences + select(equal, 0.0, 1.0)
    rest = 0
    for k in range(whole, n_values):
        rest += scores[first + k] != scores[second + k]
    return rest == 0 and highest_lane(differences) == 0.0


@inlined
def transpose(matrix, n_tags, out):
    """out[j, i] = matrix[i, j]."""
    for i in range(n_tags):
        for j in range(n_tags):
            out[j * n_tags + i] = matrix[i * n_tags + j]


@inlined
def lengths_of(word_offsets, members):
    """Number of words of the sentence in each lane, 0 where the lane is free."""
    n_words = np.zeros(N_LANES, dtype=np.int64)
    for k in range(N_LANES):
        if members[k] >= 0:
            n_words[k] = word_offsets[members[k] + 1] - word_offsets[members[k]]
    return n_words


@inlined
def unary_rows(part_offsets, members, n_words, t, n_tags):
    """Where the row of word t starts in each lane's sentence; the last row where it is shorter."""
    first = part_offsets[members[0]] if members[0] >= 0 else 0
    row_0 = first + max(min(t, n_words[0] - 1), 0) * n_tags
    row_1, row_2, row_3 = row_0, row_0, row_0
    if n_words[1] > 0:
        row_1 = part_offsets[members[1]] + min(t, n_words[1] - 1) * n_tags
    if n_words[2] > 0:
        row_2 = part_offsets[members[2]] + min(t, n_words[2] - 1) * n_tags
    if n_words[3] > 0:
        row_3 = part_offsets[members[3]] + min(t, n_words[3] - 1) * n_tags
    return row_0, row_1, row_2, row_3


@inlined
def shifted(rows, j):
    """Four positions, all j further."""
    return rows[0] + j, rows[1] + j, rows[2] + j, rows[3] + j


@inlined
def as_lanes(counts):
    """Four whole numbers as lanes."""
    values = np.empty(N_LANES)
    for k in range(N_LANES):
        values[k] = counts[k]
    return load(values, 0)


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
def tile_of_six(messages, at, table, n_tags, column, out):
    """Six columns of `messages_times_table`: enough sums to hide the latency of fma."""
    zero = broadcast(0.0)
    a, b, c, d, e, f = zero, zero, zero, zero, zero, zero
    for i in range(n_tags):
        message, cell = load(messages, at + i * N_LANES), i * n_tags + column
        a = fma(spread(table, cell), message, a)
        b = fma(spread(table, cell + 1), message, b)
        c = fma(spread(table, cell + 2), message, c)
        d = fma(spread(table, cell + 3), message, d)
        e = fma(spread(table, cell + 4), message, e)
        f = fma(spread(table, cell + 5), message, f)
    place = column * N_LANES
    store(out, place, a)
    store(out, place + N_LANES, b)
    store(out, place + 2 * N_LANES, c)
    store(out, place + 3 * N_LANES, d)
    store(out, place + 4 * N_LANES, e)
    store(out, place + 5 * N_LANES, f)


@kernel
def messages_times_table(messages, at, table, n_tags, out):
    """out[j, lane] = sum_i messages[at + i, lane] table[i, j]."""
    column = 0
    while column + 6 <= n_tags:
        tile_of_six(messages, at, table, n_tags, column, out)
        column += 6
    while column + 3 <= n_tags:
        zero = broadcast(0.0)
        a, b, c = zero, zero, zero
        for i in range(n_tags):
            message, cell = load(messages, at + i * N_LANES), i * n_tags + column
            a = fma(spread(table, cell), message, a)
            b = fma(spread(table, cell + 1), message, b)
            c = fma(spread(table, cell + 2), message, c)
        store(out, column * N_LANES, a)
        store(out, (column + 1) * N_LANES, b)
        store(out, (column + 2) * N_LANES, c)
        column += 3
    while column < n_tags:
        a = broadcast(0.0)
        for i in range(n_tags):
            value = spread(table, i * n_tags + column)
            a = fma(value, load(messages, at + i * N_LANES), a)
        store(out, column * N_LANES, a)
        column += 1


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
def write_rows(values, part_offsets, members, n_words, n_tags, out):
    """Values from [word, tag, lane] to the unary parts of each lane's sentence."""
    shortest = n_words.min()
    for t in range(n_words.max()):
        rows = unary_rows(part_offsets, members, n_words, t, n_tags)
        for j in range(n_tags):
            at = (t * n_tags + j) * N_LANES
            if t < shortest:
                scatter(out, shifted(rows, j), load(values, at))
            else:
                for k in range(N_LANES):
                    if t < n_words[k]:
                        out[rows[k] + j] = values[at + k]


@kernel
def pair_sums(left, right, n_words, n_tags, out):
    """out[i, j, lane] = sum_t left[t, i, lane] right[t+1, j, lane], in tiles of 3 by 4 tags."""
    n_terms = n_words.max() - 1
    i = 0
    while i + 3 <= n_tags:
        j = 0
        while j + 4 <= n_tags:
            pair_tile(left, right, n_terms, n_tags, i, j, out)
            j += 4
        for row in range(i, i + 3):
            pair_row(left, right, n_terms, n_tags, row, j, out)
        i += 3
    for row in range(i, n_tags):
        pair_row(left, right, n_terms, n_tags, row, 0, out)


@inlined
def pair_row(left, right, n_terms, n_tags, i, first, out):
    """One row of `pair_sums`, from column `first` on."""
    stride = n_tags * N_LANES
    for j in range(first, n_tags):
        total = broadcast(0.0)
        for t in range(n_terms):
            message = load(left, t * stride + i * N_LANES)
            total = fma(message, load(right, (t + 1) * stride + j * N_LANES), total)
        store(out, (i * n_tags + j) * N_LANES, total)


@inlined
def pair_tile(left, right, n_terms, n_tags, i, j, out):
    """Three rows and four columns of `pair_sums`: 12 sums in registers for every 7 loads."""
    stride = n_tags * N_LANES
    zero = broadcast(0.0)
    a0, a1, a2, a3 = zero, zero, zero, zero
    b0, b1, b2, b3 = zero, zero, zero, zero
    c0, c1, c2, c3 = zero, zero, zero, zero
    for t in range(n_terms):
        at, behind = t * stride + i * N_LANES, (t + 1) * stride + j * N_LANES
        a, b = load(left, at), load(left, at + N_LANES)
        c = load(left, at + 2 * N_LANES)
        value = load(right, behind)
        a0, b0, c0 = fma(a, value, a0), fma(b, value, b0), fma(c, value, c0)
        value = load(right, behind + N_LANES)
        a1, b1, c1 = fma(a, value, a1), fma(b, value, b1), fma(c, value, c1)
        value = load(right, behind + 2 * N_LANES)
        a2, b2, c2 = fma(a, value, a2), fma(b, value, b2), fma(c, value, c2)
        value = load(right, behind + 3 * N_LANES)
        a3, b3, c3 = fma(a, value, a3), fma(b, value, b3), fma(c, value, c3)
    cell = (i * n_tags + j) * N_LANES
    store_four(out, cell, a0, a1, a2, a3)
    store_four(out, cell + stride, b0, b1, b2, b3)
    store_four(out, cell + 2 * stride, c0, c1, c2, c3)


@inlined
def store_four(out, cell, a, b, c, d):
    """Write four neighbouring lanes to an array."""
    store(out, cell, a)
    store(out, cell + N_LANES, b)
    store(out, cell + 2 * N_LANES, c)
    store(out, cell + 3 * N_LANES, d)


@kernel
def write_tables(pairs, matrix, part_offsets, members, n_tags, out):
    """out = M * pairs, from [left tag, right tag, lane] to the table of each lane's sentence."""
    n_table = n_tags * n_tags
    for k in range(N_LANES):
        if members[k] >= 0:
            table = part_offsets[members[k] + 1] - n_table
            for cell in range(n_table):
                out[table + cell] = matrix[cell] * pairs[cell * N_LANES + k]


@kernel
def multiply(left, right, out):
    """out = left * right, lane by lane."""
    for cell in range(0, len(left), N_LANES):
        store(out, cell, load(left, cell) * load(right, cell))


@kernel
def group_cells(word_offsets, members, n_tags):
    """Where the messages of each group start, and the end."""
    cells = np.zeros(len(members) + 1, dtype=np.int64)
    for group in range(len(members)):
        n_words = lengths_of(word_offsets, members[group]).max()
        cells[group + 1] = cells[group] + n_words * n_tags * N_LANES
    return cells


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
