"""Forward-backward in probabilities rescaled at every word: the fast path for shared transitions.

Eight sentences with the same transition table go side by side, one in each lane; messages lie in
memory as [word, tag, lane]. Scores are taken relative to the largest of their sentence or table, so
that every exponential is at most 1. With M = exp(pairwise) and c[t] = sum_j alpha[t, j],

    ratio[t, j] = exp(unary[t, j]) / c[t-1]
    alpha[t, j] = ratio[t, j] sum_i alpha[t-1, i] M[i, j]      (the sum is 1 at the first word)
    gain[t, j]  = ratio[t, j] beta[t, j]
    beta[t, i]  = sum_j M[i, j] gain[t+1, j]                   (1 / c at the last word)

Then A = sum log c + the maxima taken out, alpha * beta are the unary marginals, and
alpha[t-1, i] M[i, j] gain[t, j] the pairwise ones. Words that a shorter sentence of the eight lacks
have ratio 0, so they add nothing to its sums.

The messages of all groups lie in one array: all alpha, all gain, all ratio. A group's start at
`alpha` in each third.

A number below 2^-1022 becomes 0 on the way. That loses at most 2^-1022 times what multiplies it
to a marginal, which is at most the largest beta, since alpha / c, M and exp(unary) are at most 1.
Where beta stays below `SAFE` the result stands; otherwise the sentence is reported as unsafe and
the caller takes `chains.log`.
"""

import math

import numpy as np

from partita.kernels.chains.side_by_side import (
    groups,
    is_lone,
    largest_group,
    places_of,
    read_row,
    rows_of,
    same_table,
    tables_of,
    write_row,
)
from partita.kernels.chains.tiles import (
    OVERRUN,
    messages_times_table,
    pair_sums,
    room_for_pairs,
    table_stride,
)
from partita.kernels.jit import borrowing, kernel, lent
from partita.kernels.simd.eight import (
    EIGHT,
    aligned,
    all_eight,
    exponential,
    load_eight,
    maximum,
    select,
    store_eight,
)
from partita.kernels.simd.prefetch import prefetch_to_write
from partita.kernels.simd.small_matrix import largest, weights
from partita.kernels.underflow import SAFE


@lent
def read_table(scores, table, n_tags, matrix, transposed):
    """matrix = M and its transpose, zeros where there is no tag; returns the score taken out."""
    shift, stride = largest(scores, table, n_tags * n_tags), table_stride(n_tags)
    for cell in range(n_tags * stride):
        matrix[cell], transposed[cell] = 0.0, 0.0
    for i in range(n_tags):
        weights(scores, table + i * n_tags, n_tags, shift, matrix, i * stride)
        for j in range(n_tags):
            transposed[j * stride + i] = matrix[i * stride + j]
    return shift


@lent
def largest_scores(scores, places, n_tags, shift, ends):
    """The largest unary score and the number of words of each lane."""
    starts, lengths = places
    for k in range(EIGHT):
        shift[k] = largest(scores, starts[k], lengths[k] * n_tags)
        ends[k] = lengths[k]


@borrowing
def forward_word(scores, rows, n_tags, shift, inverse, sums, messages, alpha, ratio):
    """Ratio and alpha of a word; returns c."""
    read_row(scores, rows, n_tags, messages, ratio)
    total = all_eight(0.0)
    for j in range(0, n_tags * EIGHT, EIGHT):
        value = load_eight(messages, ratio + j) - shift
        prefetch_to_write(messages, ratio + j + n_tags * EIGHT)
        prefetch_to_write(messages, alpha + j + n_tags * EIGHT)
        value = exponential(value) * inverse
        store_eight(messages, ratio + j, value)
        value = value * load_eight(sums, j)
        store_eight(messages, alpha + j, value)
        total = total + value
    return total


@lent
def forward(scores, places, alpha, third, n_tags, table, shift, ends, messages, scale, sums):
    """Forward messages of a group; scale[t, lane] = c, 1 behind the end of a sentence."""
    width, inverse = n_tags * EIGHT, all_eight(1.0)
    for j in range(0, table_stride(n_tags) * EIGHT, EIGHT):
        store_eight(sums, j, all_eight(1.0))
    lengths, shifts, lone = load_eight(ends, 0), load_eight(shift, 0), is_lone(places)
    for t in range(places[1][EIGHT - 1]):
        row = t * width
        if t > 0:
            messages_times_table(
                messages, alpha + row - width, table, None, 0, n_tags, lone, sums, 0
            )
        is_word = lengths > float(t)
        total = forward_word(
            scores, rows_of(places, t, n_tags), n_tags, shifts, select(is_word, inverse, 0.0),
            sums, messages, alpha + row, alpha + row + 2 * third,
        )  # fmt: skip
        total = select(is_word, total, 1.0)
        store_eight(scale, t * EIGHT, total)
        inverse = 1.0 / total


@borrowing
def backward_word(rows, n_tags, last, sums, messages, alpha, third, limit, out):
    """Gain and the unary marginals of a word; returns the larger of limit and beta."""
    for j in range(0, n_tags * EIGHT, EIGHT):
        inside, outside = alpha + j, load_eight(sums, j) + last
        prefetch_to_write(messages, inside + third - n_tags * EIGHT)
        limit = maximum(limit, outside)
        store_eight(messages, inside + third, load_eight(messages, inside + 2 * third) * outside)
        store_eight(sums, j, load_eight(messages, inside) * outside)
    write_row(sums, 0, n_tags, out, rows)
    return limit


@lent
def backward(places, alpha, third, n_tags, transposed, ends, messages, scale, sums, limits, out):
    """Backward messages of a group and its unary marginals; limits = the largest betas.

    From the last word to the first: what a shorter sentence lacks is written to its last row,
    before what belongs there.
    """
    width, most = n_tags * EIGHT, places[1][EIGHT - 1]
    for j in range(0, table_stride(n_tags) * EIGHT, EIGHT):
        store_eight(sums, j, all_eight(0.0))
    lengths, limit, lone = load_eight(ends, 0), all_eight(0.0), is_lone(places)
    for t in range(most - 1, -1, -1):
        row = alpha + t * width
        if t + 1 < most:
            messages_times_table(
                messages, row + third + width, transposed, None, 0, n_tags, lone, sums, 0
            )
        last = select(lengths == t + 1.0, 1.0 / load_eight(scale, t * EIGHT), 0.0)
        limit = backward_word(
            rows_of(places, t, n_tags), n_tags, last, sums, messages, row, third, limit, out
        )
    store_eight(limits, 0, limit)


@lent
def log_scale(scale, at, n_words):
    """sum over words of log c in one lane; -inf where some c is too small to be certain of.

    Some beta is at least 1 / c, so a c below 1 / SAFE is unsafe. One logarithm serves many
    factors: from 1e-20 on, the next one cannot underflow.
    """
    total, product = 0.0, 1.0
    for t in range(n_words):
        c = scale[t * EIGHT + at]
        if not c * SAFE > 1.0:
            total, c = -np.inf, 1.0
        product *= c
        if product < 1e-20 or product > 1e200:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@lent
def one_group(
    scores, places, alpha, third, n_tags, matrix, transposed, table_shift, members, first,
    messages, scale, sums, room, shift, ends, limits, is_safe, log_partition, out,
):  # fmt: skip
    """Everything for a group, whose sentences are members[first:]."""
    largest_scores(scores, places, n_tags, shift, ends)
    forward(scores, places, alpha, third, n_tags, matrix, shift, ends, messages, scale, sums)
    backward(places, alpha, third, n_tags, transposed, ends, messages, scale, sums, limits, out)
    tables, lengths = tables_of(places, n_tags), places[1]
    pair_sums(
        messages, alpha, messages, alpha + third, None, 0, None, 0, lengths[EIGHT - 1] - 1, n_tags,
        matrix, tables, None, tables, None, None, is_lone(places), room, out,
    )  # fmt: skip
    for k in range(EIGHT):
        total = log_scale(scale, k, lengths[k])
        taken_out = lengths[k] * shift[k] + (lengths[k] - 1) * table_shift
        log_partition[members[first + k]] = total + taken_out
        is_safe[members[first + k]] = total > -np.inf and limits[k] < SAFE


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
    n_table, stride, third = n_tags * n_tags, table_stride(n_tags), cells[n_groups]
    messages = aligned(3 * third + OVERRUN)
    scale = aligned(largest_group(cells, n_groups))
    matrix, transposed = np.empty(n_tags * stride), np.empty(n_tags * stride)
    sums, shift = aligned(stride * EIGHT), np.empty(EIGHT)
    ends, limits = np.empty(EIGHT), np.empty(EIGHT)
    room = aligned(room_for_pairs(n_tags))
    previous, table_shift = 0, 0.0
    for group in range(n_groups):
        places = places_of(part_offsets, word_offsets, members, group)
        table = tables_of(places, n_tags)[0]
        if group == 0 or not same_table(scores, previous, table, n_table):
            table_shift = read_table(scores, table, n_tags, matrix, transposed)
        previous = table
        one_group(
            scores, places, cells[group], third, n_tags, matrix, transposed, table_shift,
            members, group * EIGHT, messages, scale, sums, room, shift, ends, limits, is_safe,
            log_partition, out,
        )  # fmt: skip
    return n_groups, messages
