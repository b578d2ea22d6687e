"""Forward and backward in rescaled probabilities: the fast path, tags side by side in SIMD lanes.

With W[i, e, y] = exp(segment from word i to before e, tag y) and M = exp(pairwise),

    before[i, y] = sum_x alpha[i, x] M[x, y]       (1 at the first word)
    alpha[e, y]  = sum_i W[i, e, y] before[i, y]   divided by c[e]
    gain[i, y]   = sum_e W[i, e, y] beta[e, y]
    beta[e, x]   = sum_y M[x, y] gain[e, y] / c[e] (1 / c at the end of the sentence)

with c their sum at the end of the sentence, and before that the power of 2 below their sum, whose
logarithm is no work. Any potential of the boundaries between words can be taken out of the scores
of segments: a cut goes through them from the first to the last, so all structures lose the same.
Here it is, up to a factor of 2, the log of what has been summed up to there. So W[i, e] is taken
relative to the largest that ends at e, each exponential is at most 1, and boundaries of any
likelihood have sums of their own. Then before[i] W[i, e] beta[e] are the marginals of segments, and
alpha[i, x] M[x, y] gain[i, y], summed over boundaries, those of transitions. A boundary that no
segment reaches has c = 0.

A number below 2^-1022 becomes 0 on the way. That loses at most 2^-1022 times what multiplies it to
a marginal, which is at most twice the number of tags times lengths times the largest beta, since
alpha / 2, before / 2 s, M and W are at most 1. Where beta stays below `SAFE` the result stands;
otherwise the sentence is reported as unsafe and the caller takes `segments.log`.

The messages of all sentences lie in one array: all alpha, before, beta and gain, [boundary, tag].
"""

import math

import numpy as np

from partita.kernels.chains.side_by_side import same_table
from partita.kernels.jit import kernel, step
from partita.kernels.segments.rows import block, cell_of, fill, read_table, write_block
from partita.kernels.simd.lanes import N_LANES, broadcast, exponential, fma, load, maximum, store
from partita.kernels.simd.lanes import total as lane_total
from partita.kernels.simd.powers import log_of_power, power_below
from partita.kernels.simd.small_matrix import highest_lane, padded_width, vector_times_matrix
from partita.kernels.underflow import SAFE


@step
def highest_ending(scores, start, end, longest, n_tags, shifts):
    """The largest score of a segment that ends at a boundary, with the shift of where it begins."""
    lanes = broadcast(-np.inf)
    for first in range(max(0, end - longest), end):
        row = start + cell_of(first, end - first - 1, longest) * n_tags
        for k in range(0, n_tags, N_LANES):
            lanes = maximum(block(scores, row, k, n_tags) + shifts[first], lanes)
    return highest_lane(lanes)


@step
def sum_ending(
    scores, start, end, longest, n_tags, shifts, top, weights, cell, messages, before, alpha
):  # fmt: skip
    """Fill W of the segments that end at a boundary, and alpha, not yet divided; returns c."""
    width, c = padded_width(n_tags), broadcast(0.0)
    for k in range(0, width, N_LANES):
        summed = broadcast(0.0)
        for first in range(max(0, end - longest), end):
            place = cell_of(first, end - first - 1, longest)
            # Added as for the top, so that it is at most 1 where a large shift takes all digits.
            moved = block(scores, start + place * n_tags, k, n_tags) + shifts[first]
            weight = exponential(moved - top)
            store(weights, cell + place * width + k, weight)
            summed = fma(weight, load(messages, before + first * width + k), summed)
        store(messages, alpha + end * width + k, summed)
        c = c + summed
    return lane_total(c)


@step
def divide(messages, row, width, c):
    """messages[row : row + width] /= c."""
    inverse = 1.0 / c
    for k in range(row, row + width, N_LANES):
        store(messages, k, load(messages, k) * inverse)


@step
def forward(
    scores, start, n_words, longest, n_tags, matrix, table_shift,
    weights, cell, messages, alpha, before, scale, at, shifts,
):  # fmt: skip
    """Fill W, alpha, before and c of a sentence; returns its log-partition, -inf if uncertain.

    shifts[i] is the potential at boundary i, less that of the last one that was reached, plus what
    was taken out of the transition there; so it stays small in long sentences.
    """
    width, total = padded_width(n_tags), 0.0
    fill(messages, before, before + n_tags, 1.0)
    fill(messages, before + n_tags, before + width, 0.0)
    shifts[0] = 0.0
    for end in range(1, n_words + 1):
        top = highest_ending(scores, start, end, longest, n_tags, shifts)
        is_reached = top > -np.inf
        c = sum_ending(
            scores, start, end, longest, n_tags, shifts, top if is_reached else 0.0,
            weights, cell, messages, before, alpha,
        )  # fmt: skip
        if is_reached and not c * SAFE > 1.0:
            return -np.inf
        if is_reached and end < n_words:
            c = power_below(c)
        scale[at + end] = c
        row, next_row = alpha + end * width, before + end * width
        if not is_reached:
            # Nothing that begins here is in any structure.
            shifts[end] = -np.inf
            fill(messages, next_row, next_row + width, 0.0)
            continue
        divide(messages, row, width, c)
        gained = top + (log_of_power(c) if end < n_words else math.log(c))
        total += gained
        for first in range(max(0, end + 1 - longest), end):
            shifts[first] -= gained
        shifts[end] = table_shift
        vector_times_matrix(messages, row, n_tags, matrix, 0, width, width, messages, next_row)
    return total if is_reached else -np.inf


@step
def backward(
    n_words, longest, n_tags, transposed, weights, cell,
    messages, before, beta, gain, scale, at, out, start,
):  # fmt: skip
    """Fill beta and gain of a sentence, and the marginals of its segments; returns the largest
    beta.
    """
    width = padded_width(n_tags)
    last, limit = beta + n_words * width, broadcast(1.0 / scale[at + n_words])
    fill(messages, last, last + n_tags, 1.0 / scale[at + n_words])
    fill(messages, last + n_tags, last + width, 0.0)
    for first in range(n_words - 1, -1, -1):
        row, most = gain + first * width, min(longest, n_words - first)
        for k in range(0, width, N_LANES):
            summed, left = broadcast(0.0), load(messages, before + first * width + k)
            for length in range(most):
                place = cell_of(first, length, longest)
                value = load(messages, beta + (first + length + 1) * width + k)
                value = load(weights, cell + place * width + k) * value
                summed = summed + value
                write_block(value * left, out, start + place * n_tags, k, n_tags)
            store(messages, row + k, summed)
        unused = start + cell_of(first, most, longest) * n_tags
        fill(out, unused, start + cell_of(first + 1, 0, longest) * n_tags, 0.0)
        if first > 0:
            outside, c = beta + first * width, scale[at + first]
            inverse = 1.0 / c if c > 0.0 else 0.0
            vector_times_matrix(
                messages, row, n_tags, transposed, 0, width, width, messages, outside
            )
            for k in range(outside, outside + width, N_LANES):
                value = load(messages, k) * inverse
                store(messages, k, value)
                # In this order an overflow stays, although it may become NaN in later sums.
                limit = maximum(value, limit)
    return highest_lane(limit)


@step
def pair_sums(left, left_at, right, right_at, n_words, n_tags, columns, out):
    """out[x, y] = sum over the boundaries between words of left[i, x] right[i, y]."""
    width = padded_width(n_tags)
    for i in range(1, n_words):
        for x in range(n_tags):
            columns[x * n_words + i - 1] = left[left_at + i * width + x]
    for x in range(n_tags):
        vector_times_matrix(
            columns, x * n_words, n_words - 1, right, right_at + width, width, width,
            out, x * width,
        )  # fmt: skip


@kernel
def marginals(
    scores, part_offsets, word_offsets, longest, n_tags,
    weights, messages, scale, is_safe, log_partition, out,
):  # fmt: skip
    """Log-partition and marginals of a batch.

    Fills which sentences are safe, and for the covariance product W, the messages and c.
    """
    n_sentences, width, most = len(log_partition), padded_width(n_tags), 0
    quarter = (word_offsets[n_sentences] + n_sentences) * width
    for sentence in range(n_sentences):
        most = max(most, word_offsets[sentence + 1] - word_offsets[sentence])
    matrix, transposed = np.empty(n_tags * width), np.empty(n_tags * width)
    pairs, columns, shifts = np.empty(n_tags * width), np.empty(n_tags * most), np.empty(most + 1)
    table, table_shift = 0, 0.0
    for sentence in range(n_sentences):
        start, word = part_offsets[sentence], word_offsets[sentence]
        n_words, at = word_offsets[sentence + 1] - word, word + sentence
        cell, alpha = word * longest * width, at * width
        before, beta, gain = alpha + quarter, alpha + 2 * quarter, alpha + 3 * quarter
        previous, table = table, part_offsets[sentence + 1] - n_tags * n_tags
        if sentence == 0 or not same_table(scores, previous, table, n_tags * n_tags):
            table_shift = read_table(scores, table, n_tags, width, matrix, transposed)
        total = forward(
            scores, start, n_words, longest, n_tags, matrix, table_shift,
            weights, cell, messages, alpha, before, scale, at, shifts,
        )  # fmt: skip
        log_partition[sentence] = total
        is_safe[sentence] = total > -np.inf
        if not is_safe[sentence]:
            continue
        limit = backward(
            n_words, longest, n_tags, transposed, weights, cell,
            messages, before, beta, gain, scale, at, out, start,
        )  # fmt: skip
        is_safe[sentence] = limit < SAFE
        pair_sums(messages, alpha, messages, gain, n_words, n_tags, columns, pairs)
        for x in range(n_tags):
            for y in range(n_tags):
                part = x * width + y
                out[table + x * n_tags + y] = matrix[part] * pairs[part]
