"""Forward-backward in probabilities rescaled at every word: the fast path for shared transitions.

Four sentences with the same transition table go side by side, one in each SIMD lane, and two such
groups at a time where there are two; messages lie in memory as [word, tag, lane]. Scores are taken
relative to the largest of their sentence or table, so that every exponential is at most 1. With
M = exp(pairwise) and c[t] = sum_j alpha[t, j],

    ratio[t, j] = exp(unary[t, j]) / c[t-1]
    alpha[t, j] = ratio[t, j] sum_i alpha[t-1, i] M[i, j]      (the sum is 1 at the first word)
    gain[t, j]  = ratio[t, j] beta[t, j]
    beta[t, i]  = sum_j M[i, j] gain[t+1, j]                   (1 / c at the last word)

Then A = sum log c + the maxima taken out, alpha * beta are the unary marginals, and
alpha[t-1, i] M[i, j] gain[t, j] the pairwise ones. Words that a shorter sentence of the four lacks
have ratio 0, so they add nothing to its sums.

The messages of all groups lie in one array: all alpha, all gain, all ratio. A group's start at
`alpha` in each third. Of two groups the first is the shorter one, and has no words if the second is
alone; what is kept for the two of them has room for one behind the other.

A number below 2^-1022 becomes 0 on the way. That loses at most 2^-1022 times what multiplies it
to a marginal, which is at most the largest beta, since alpha / c, M and exp(unary) are at most 1.
Where beta stays below `SAFE` the result stands; otherwise the sentence is reported as unsafe and
the caller takes `chains.log`.
"""

import math

import numpy as np

from partita.kernels.chains.side_by_side import (
    groups,
    largest_of_two,
    n_slots,
    places_of,
    read_row,
    rows_of,
    same_table,
    tables_of,
    write_row,
)
from partita.kernels.chains.tiles import (
    messages_times_table,
    pair_sums,
    table_stride,
    two_times_table,
)
from partita.kernels.jit import borrowing, kernel, lent
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    exponential,
    load,
    maximum,
    select,
    store,
)
from partita.kernels.simd.small_matrix import largest, weights
from partita.kernels.underflow import SAFE


@lent
def read_table(scores, table, n_tags, matrix, transposed):
    """matrix = M and its transpose, zeros where there is no tag; returns the score taken out."""
    shift, stride = largest(scores, table, n_tags * n_tags), table_stride(n_tags)
    for cell in range(n_slots(n_tags) * stride):
        matrix[cell], transposed[cell] = 0.0, 0.0
    for i in range(n_tags):
        weights(scores, table + i * n_tags, n_tags, shift, matrix, i * stride)
        for j in range(n_tags):
            transposed[j * stride + i] = matrix[i * stride + j]
    return shift


@borrowing
def next_two(scores, part_offsets, word_offsets, members, cells, n_groups, group, n_tags):
    """A group, and the next one if there is one with the same table.

    Returns the places (see `places_of`) of both, where their messages start, and their numbers of
    words. The one group is the second if it is alone, and the first as well, with no words.
    """
    places = places_of(part_offsets, word_offsets, members, group)
    second, table, n_table = places, tables_of(places, n_tags)[0], n_tags * n_tags
    alphas, mosts = (cells[group], cells[group]), (0, places[1][3])
    if group + 1 < n_groups:
        others = places_of(part_offsets, word_offsets, members, group + 1)
        if same_table(scores, table, tables_of(others, n_tags)[0], n_table):
            second, alphas = others, (cells[group], cells[group + 1])
            mosts = places[1][3], others[1][3]
    return places, second, alphas, mosts


@lent
def largest_scores(scores, places, n_tags, which, shift, ends):
    """The largest unary score and the number of words of each lane of one of two groups."""
    starts, lengths = places
    for k in range(N_LANES):
        shift[which * N_LANES + k] = largest(scores, starts[k], lengths[k] * n_tags)
        ends[which * N_LANES + k] = lengths[k]


@borrowing
def forward_word(
    scores, rows, n_tags, shift, is_word, inverse, sums, at, messages, alpha, ratio, values, cell
):
    """Ratio and alpha of a word of a group; returns c. Fills values = unary - shift if not None."""
    read_row(scores, rows, n_tags, -np.inf, messages, ratio)
    total = broadcast(0.0)
    for j in range(0, n_slots(n_tags) * N_LANES, N_LANES):
        value = load(messages, ratio + j) - shift
        if values is not None:
            store(values, cell + j, select(value > -np.inf, value, 0.0))
        value = select(is_word, exponential(value), 0.0) * inverse
        store(messages, ratio + j, value)
        value = value * load(sums, at + j)
        store(messages, alpha + j, value)
        total = total + value
    return total


@lent
def forward(
    scores, places, second, alphas, mosts, third, n_tags, table, shift, ends,
    messages, values, scale, sums,
):  # fmt: skip
    """Forward messages of two groups; scale[t, lane] = c, 1 behind the end of a sentence."""
    width, behind = n_slots(n_tags) * N_LANES, table_stride(n_tags) * N_LANES
    for j in range(0, 2 * behind, N_LANES):
        store(sums, j, broadcast(1.0))
    for t in range(mosts[1]):
        row = t * width
        if 0 < t < mosts[0]:
            two_times_table(
                messages, alphas[0] + row - width, alphas[1] + row - width, table,
                None, 0, n_tags, sums, 0,
            )  # fmt: skip
        elif t > 0:
            messages_times_table(
                messages, alphas[1] + row - width, table, None, 0, n_tags, sums, behind
            )
        for which in range(0 if t < mosts[0] else 1, 2):
            here, alpha = (second, alphas[1]) if which == 1 else (places, alphas[0])
            lanes, at = which * N_LANES, (which * mosts[0] + t) * N_LANES
            is_word, inverse = load(ends, lanes) > float(t), broadcast(1.0)
            if t > 0:
                inverse = inverse / load(scale, at - N_LANES)
            total = forward_word(
                scores, rows_of(here, t, n_tags), n_tags, load(shift, lanes), is_word, inverse,
                sums, which * behind, messages, alpha + row, alpha + row + 2 * third,
                values, alpha + row - alphas[0],
            )  # fmt: skip
            store(scale, at, select(is_word, total, 1.0))


@borrowing
def backward_word(rows, n_tags, last, sums, at, messages, alpha, third, limit, out):
    """Gain and the unary marginals of a word of a group; returns the larger of limit and beta."""
    for j in range(0, n_slots(n_tags) * N_LANES, N_LANES):
        inside, outside = alpha + j, load(sums, at + j) + last
        limit = maximum(limit, outside)
        store(messages, inside + third, load(messages, inside + 2 * third) * outside)
        store(sums, at + j, load(messages, inside) * outside)
    write_row(sums, at, n_tags, out, rows)
    return limit


@lent
def backward(
    places, second, alphas, mosts, third, n_tags, transposed, ends, messages, scale, sums,
    limits, out,
):  # fmt: skip
    """Backward messages of two groups and their unary marginals; limits = the largest betas.

    From the last word to the first: what a shorter sentence lacks is written to its last row,
    before what belongs there.
    """
    width, behind = n_slots(n_tags) * N_LANES, table_stride(n_tags) * N_LANES
    for j in range(0, 2 * behind, N_LANES):
        store(sums, j, broadcast(0.0))
    for lanes in range(0, 2 * N_LANES, N_LANES):
        store(limits, lanes, broadcast(0.0))
    for t in range(mosts[1] - 1, -1, -1):
        row, after = t * width, third + (t + 1) * width
        if t + 1 < mosts[0]:
            two_times_table(
                messages, alphas[0] + after, alphas[1] + after, transposed,
                None, 0, n_tags, sums, 0,
            )  # fmt: skip
        elif t + 1 < mosts[1]:
            messages_times_table(
                messages, alphas[1] + after, transposed, None, 0, n_tags, sums, behind
            )
        for which in range(0 if t < mosts[0] else 1, 2):
            here, alpha = (second, alphas[1]) if which == 1 else (places, alphas[0])
            lanes, at = which * N_LANES, (which * mosts[0] + t) * N_LANES
            last = select(load(ends, lanes) == t + 1.0, 1.0 / load(scale, at), 0.0)
            limit = backward_word(
                rows_of(here, t, n_tags), n_tags, last, sums, which * behind,
                messages, alpha + row, third, load(limits, lanes), out,
            )  # fmt: skip
            store(limits, lanes, limit)


@lent
def log_scale(scale, at, n_words):
    """sum over words of log c in one lane; -inf where some c is too small to be certain of.

    Some beta is at least 1 / c, so a c below 1 / SAFE is unsafe. One logarithm serves many
    factors: from 1e-20 on, the next one cannot underflow.
    """
    total, product = 0.0, 1.0
    for t in range(n_words):
        c = scale[t * N_LANES + at]
        if not c * SAFE > 1.0:
            total, c = -np.inf, 1.0
        product *= c
        if product < 1e-20 or product > 1e200:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@lent
def two_groups(
    scores, places, second, alphas, mosts, third, n_tags, matrix, transposed, table_shift,
    members, group, messages, values, scale, sums, shift, ends, limits,
    is_safe, log_partition, out,
):  # fmt: skip
    """Everything for two groups; leaves sum log c of each lane in `limits`."""
    if mosts[0] > 0:
        largest_scores(scores, places, n_tags, 0, shift, ends)
    largest_scores(scores, second, n_tags, 1, shift, ends)
    forward(
        scores, places, second, alphas, mosts, third, n_tags, matrix, shift, ends,
        messages, values, scale, sums,
    )  # fmt: skip
    backward(
        places, second, alphas, mosts, third, n_tags, transposed, ends, messages, scale, sums,
        limits, out,
    )  # fmt: skip
    for which in range(0 if mosts[0] > 0 else 1, 2):
        here, alpha = (second, alphas[1]) if which == 1 else (places, alphas[0])
        tables, lengths = tables_of(here, n_tags), here[1]
        pair_sums(
            messages, alpha, messages, alpha + third, None, 0, None, 0, lengths[3] - 1, n_tags,
            matrix, tables, None, tables, None, None, 0, out,
        )  # fmt: skip
        first = (group + which if mosts[0] > 0 else group) * N_LANES
        for k in range(N_LANES):
            lane = which * N_LANES + k
            total = log_scale(scale, which * mosts[0] * N_LANES + k, lengths[k])
            taken_out = lengths[k] * shift[lane] + (lengths[k] - 1) * table_shift
            log_partition[members[first + k]] = total + taken_out
            is_safe[members[first + k]] = total > -np.inf and limits[lane] < SAFE
            limits[lane] = total


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
    messages, scale = np.empty(3 * third), np.empty(largest_of_two(cells, n_groups))
    matrix, transposed = np.empty(n_slots(n_tags) * stride), np.empty(n_slots(n_tags) * stride)
    sums, shift = np.empty(2 * stride * N_LANES), np.empty(2 * N_LANES)
    ends, limits = np.empty(2 * N_LANES), np.empty(2 * N_LANES)
    group, previous, table_shift = 0, 0, 0.0
    while group < n_groups:
        places, second, alphas, mosts = next_two(
            scores, part_offsets, word_offsets, members, cells, n_groups, group, n_tags
        )
        table = tables_of(second, n_tags)[0]
        if group == 0 or not same_table(scores, previous, table, n_table):
            table_shift = read_table(scores, table, n_tags, matrix, transposed)
        previous = table
        two_groups(
            scores, places, second, alphas, mosts, third, n_tags, matrix, transposed, table_shift,
            members, group, messages, None, scale, sums, shift, ends, limits,
            is_safe, log_partition, out,
        )  # fmt: skip
        group += 2 if mosts[0] > 0 else 1
    return n_groups, messages
