"""Forward and backward in rescaled probabilities: the fast path, tags side by side in SIMD lanes.

With W[i, e, y] = exp(segment from word i to before e, tag y) and M = exp(pairwise), both relative
to what `potentials` takes out,

    before[i, y] = sum_x alpha[i, x] M[x, y]       (1 at the first word)
    alpha[e, y]  = sum_i W[i, e, y] before[i, y]   divided by c[e]
    gain[i, y]   = sum_e W[i, e, y] beta[e, y]
    beta[e, x]   = sum_y M[x, y] gain[e, y] / c[e] (1 / c at the end of the sentence)

with c their sum at the end of the sentence. Before that c is 1 as long as the sum is neither very
large nor very small, and then the power of 2 below it; as this is one more potential of a boundary,
W of the segments that go across it is divided by c, too. Then before[i] W[i, e] beta[e] are the
marginals of segments, and alpha[i, x] M[x, y] gain[i, y], summed over boundaries, those of
transitions. A boundary that no segment reaches has c = 0.

A number below 2^-1022 becomes 0 on the way. That loses at most 2^-1022 times what multiplies it to
a marginal. With a the largest 1 / c of boundaries in a row that some segment goes across, but at
least 1, that is at most `LARGE` times a, times the largest beta, times twice the number of tags
times lengths: alpha and before / s are at most `LARGE`, M at most 1, W at most a, and what became 0
in an exponential grew no more than that. Where the product of the first three stays below `SAFE`
the result stands; otherwise the sentence is reported as unsafe and the caller takes
`segments.log`.

The messages of all sentences lie in one array: all alpha, before, beta and gain, [boundary, tag];
W lies as the scores do, and is 0 where they have the table of transitions.
"""

import math

import numpy as np

from partita.kernels.chains.side_by_side import same_table
from partita.kernels.jit import kernel, step
from partita.kernels.segments.potentials import segment_weights
from partita.kernels.segments.rows import cell_of, fill, read_table, write_block
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, maximum, store
from partita.kernels.simd.lanes import total as lane_total
from partita.kernels.simd.powers import log_of_power, power_below
from partita.kernels.simd.small_matrix import highest_lane, padded_width, vector_times_matrix
from partita.kernels.underflow import SAFE

LARGE = 2.0**64
"""Messages whose sum lies between this and its inverse are not scaled."""


@step
def sum_ending(start, end, longest, n_tags, weights, messages, before, alpha):
    """Fill alpha of a boundary, not yet divided; returns c."""
    width, c = padded_width(n_tags), broadcast(0.0)
    for k in range(0, width, N_LANES):
        summed = broadcast(0.0)
        for first in range(max(0, end - longest), end):
            # Behind the last tag there are other numbers, which zeros of `before` multiply.
            row = start + cell_of(first, end - first - 1, longest) * n_tags
            summed = fma(load(weights, row + k), load(messages, before + first * width + k), summed)
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
def divide_across(start, end, longest, n_tags, c, weights, grown):
    """W /= c of segments that go across a boundary; returns what W has grown by at most."""
    inverse, most = 1.0 / c, 1.0
    for first in range(max(0, end + 1 - longest), end):
        # What became 0 at a small number grows with all that comes later.
        grown[first] = max(1.0, grown[first]) * inverse
        most = max(most, grown[first])
        row = start + cell_of(first, 0, longest) * n_tags
        for part in range(row + (end - first) * n_tags, row + longest * n_tags):
            weights[part] *= inverse
    return most


@step
def forward(
    start, n_words, longest, n_tags, matrix, weights, befores, grown,
    messages, alpha, before, scale, at,
):  # fmt: skip
    """Fill alpha, before and c of a sentence, and divide W.

    Returns the sum of log c, -inf if it is uncertain, and what W has grown by at most.
    """
    width, total, most, c = padded_width(n_tags), 0.0, 1.0, 0.0
    fill(messages, before, before + n_tags, 1.0)
    fill(messages, before + n_tags, before + width, 0.0)
    for end in range(1, n_words + 1):
        row, next_row = alpha + end * width, before + end * width
        c = sum_ending(start, end, longest, n_tags, weights, messages, before, alpha)
        grown[end - 1] = 1.0
        if befores[end] == -np.inf:
            # Nothing that begins here is in any structure.
            scale[at + end] = 0.0
            fill(messages, next_row, next_row + width, 0.0)
            continue
        if not 1.0 / SAFE < c < SAFE:
            return -np.inf, most
        if end < n_words:
            c = 1.0 if 1.0 / LARGE < c < LARGE else power_below(c)
        scale[at + end] = c
        if end == n_words:
            divide(messages, row, width, c)
            total += math.log(c)
        elif c != 1.0:
            divide(messages, row, width, c)
            total += log_of_power(c)
            most = max(most, divide_across(start, end, longest, n_tags, c, weights, grown))
            if most * LARGE > SAFE:
                return -np.inf, most
        vector_times_matrix(messages, row, n_tags, matrix, 0, width, width, messages, next_row)
    return total, most


@step
def backward(
    n_words, longest, n_tags, transposed, weights,
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
                part = start + cell_of(first, length, longest) * n_tags
                value = load(messages, beta + (first + length + 1) * width + k)
                value = load(weights, part + k) * value
                summed = summed + value
                write_block(value * left, out, part, k, n_tags)
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
    pairs, columns = np.empty(n_tags * width), np.empty(n_tags * most)
    potentials, befores = np.empty((most + 1) * n_tags), np.empty(most + 1)
    tops, grown, table, table_shift = np.empty(most * longest), np.empty(most), 0, 0.0
    for sentence in range(n_sentences):
        start, word = part_offsets[sentence], word_offsets[sentence]
        n_words, at = word_offsets[sentence + 1] - word, word + sentence
        alpha = at * width
        before, beta, gain = alpha + quarter, alpha + 2 * quarter, alpha + 3 * quarter
        previous, table = table, part_offsets[sentence + 1] - n_tags * n_tags
        if sentence == 0 or not same_table(scores, previous, table, n_tags * n_tags):
            table_shift = read_table(scores, table, n_tags, width, matrix, transposed)
        # Weights have room for as many numbers more.
        fill(weights, table, table + N_LANES, 0.0)
        best = segment_weights(
            scores, start, n_words, longest, n_tags, table_shift, tops, befores, potentials, weights
        )
        total, growth = forward(
            start, n_words, longest, n_tags, matrix, weights, befores, grown,
            messages, alpha, before, scale, at,
        )  # fmt: skip
        log_partition[sentence] = best + total
        is_safe[sentence] = best + total > -np.inf
        if not is_safe[sentence]:
            continue
        limit = backward(
            n_words, longest, n_tags, transposed, weights,
            messages, before, beta, gain, scale, at, out, start,
        )  # fmt: skip
        is_safe[sentence] = limit * growth < SAFE / LARGE
        pair_sums(messages, alpha, messages, gain, n_words, n_tags, columns, pairs)
        for x in range(n_tags):
            for y in range(n_tags):
                part = x * width + y
                out[table + x * n_tags + y] = matrix[part] * pairs[part]
