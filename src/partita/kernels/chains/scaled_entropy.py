"""Marginals, entropy and its gradient of chains with shared transitions, in one pass.

The gradient of the entropy is minus the covariance product along the scores, a direction that is
known beforehand. A constant of all tags of a word, or of all transitions, changes nothing: the
direction is what the exponentials are taken of,

    v = unary - its largest,   V = pairwise - its largest,   M = exp(V)

So what `scaled_covariance` sweeps for afterwards goes along with the recursions of `scaled`, word
by word, and every number is read once: forwards, with prefix expectations of v and V,

    left[t] = alpha[t] v[t] + ratio[t] (left[t-1] M + alpha[t-1] (M V))

of which E = <v, marginals> is the sum at the last word over its c, and the entropy sum log c - E;
and backwards, with suffix expectations,

    behind[t] = M right[t+1] + (M V) gain[t+1],   right[t] = ratio[t] (beta[t] v[t] + behind[t])

where a word is left for good. Minus the product is, p being the marginals,

    alpha (E beta - behind) - beta left                                           for tags
    (E - V) p - M (sum_t left[t-1] gain[t] + alpha[t-1] right[t])                 for transitions.
"""

import numpy as np

from partita.kernels.chains.scaled import largest_scores, log_scale, read_table
from partita.kernels.chains.scaled_covariance import moved_table
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
    messages_times_tables,
    moving_pair_sums,
    room_for_pairs,
    table_stride,
)
from partita.kernels.jit import borrowing, kernel, lent
from partita.kernels.simd.eight import (
    EIGHT,
    aligned,
    all_eight,
    exponential,
    fma,
    load_eight,
    maximum,
    select,
    store_eight,
)
from partita.kernels.simd.prefetch import prefetch_to_write
from partita.kernels.underflow import SAFE


@lent
def read_values(scores, table, n_table, shift, values):
    """values = V, 0 where that is -inf."""
    for k in range(n_table):
        value = scores[table + k] - shift
        values[k] = value if value > -np.inf else 0.0


@lent
def start_sums(sums, moving, n_lanes, value):
    """All sums are `value`, and those that move 0."""
    for j in range(0, n_lanes, EIGHT):
        store_eight(sums, j, all_eight(value))
        store_eight(moving, j, all_eight(0.0))


@borrowing
def forward_word(
    scores, rows, n_tags, shift, inverse, sums, moving, messages, alpha, third, values, left, cell
):
    """Ratio, alpha, v and left of a word; returns c, and the sum of left."""
    ratio = alpha + 2 * third
    read_row(scores, rows, n_tags, messages, ratio)
    total, moved = all_eight(0.0), all_eight(0.0)
    for j in range(0, n_tags * EIGHT, EIGHT):
        value = load_eight(messages, ratio + j) - shift
        ahead = j + n_tags * EIGHT
        prefetch_to_write(messages, ratio + ahead)
        prefetch_to_write(messages, alpha + ahead)
        prefetch_to_write(values, cell + ahead)
        prefetch_to_write(left, cell + ahead)
        weight = exponential(value) * inverse
        value = select(value > -np.inf, value, 0.0)
        inside = weight * load_eight(sums, j)
        moving_inside = fma(inside, value, weight * load_eight(moving, j))
        store_eight(messages, ratio + j, weight)
        store_eight(messages, alpha + j, inside)
        store_eight(values, cell + j, value)
        store_eight(left, cell + j, moving_inside)
        total, moved = total + inside, moved + moving_inside
    return total, moved


@lent
def forward(
    scores, places, alpha, third, n_tags, table, moved_table, shift, ends, messages, values, left,
    scale, stills, sums, moving, expected,
):  # fmt: skip
    """Forward messages of a group, those that move too, and E; scale[t, lane] as in `scaled`."""
    width, inverse = n_tags * EIGHT, all_eight(1.0)
    start_sums(sums, moving, table_stride(n_tags) * EIGHT, 1.0)
    lengths, shifts, lone = load_eight(ends, 0), load_eight(shift, 0), is_lone(places)
    found = all_eight(0.0)
    for t in range(places[1][EIGHT - 1]):
        row = t * width
        if t > 0:
            messages_times_tables(
                messages, alpha + row - width, left, row - width, table, moved_table, n_tags, lone,
                stills, sums, moving,
            )  # fmt: skip
        is_word = lengths > float(t)
        total, moved = forward_word(
            scores, rows_of(places, t, n_tags), n_tags, shifts, select(is_word, inverse, 0.0),
            sums, moving, messages, alpha + row, third, values, left, row,
        )  # fmt: skip
        total = select(is_word, total, 1.0)
        store_eight(scale, t * EIGHT, total)
        inverse = 1.0 / total
        found = select(lengths == t + 1.0, moved * inverse, found)
    store_eight(expected, 0, found)


@borrowing
def backward_word(
    rows, n_tags, last, expected, sums, moving, messages, alpha, third, values, left, right, cell,
    limit, marginals, out,
):  # fmt: skip
    """Gain, right, marginals and gradient of a word; returns the larger of limit and beta."""
    before = n_tags * EIGHT
    for j in range(0, n_tags * EIGHT, EIGHT):
        at = alpha + j
        prefetch_to_write(messages, at + third - before)
        prefetch_to_write(right, cell + j - before)
        outside, behind = load_eight(sums, j) + last, load_eight(moving, j)
        inside, ratio = load_eight(messages, at), load_eight(messages, at + 2 * third)
        limit = maximum(limit, outside)
        store_eight(messages, at + third, ratio * outside)
        moved = ratio * fma(outside, load_eight(values, cell + j), behind)
        store_eight(right, cell + j, moved)
        store_eight(sums, j, inside * outside)
        moved = inside * (expected * outside - behind) - outside * load_eight(left, cell + j)
        store_eight(moving, j, moved)
    write_row(sums, 0, n_tags, marginals, rows)
    write_row(moving, 0, n_tags, out, rows)
    return limit


@lent
def backward(
    places, alpha, third, n_tags, transposed, moved_transposed, ends, messages, values, left,
    right, scale, stills, sums, moving, expected, limits, marginals, out,
):  # fmt: skip
    """Backward messages of a group, its unary marginals and their part of the gradient.

    From the last word to the first, as in `scaled`; limits = the largest betas.
    """
    width, most = n_tags * EIGHT, places[1][EIGHT - 1]
    start_sums(sums, moving, table_stride(n_tags) * EIGHT, 0.0)
    lengths, limit, lone = load_eight(ends, 0), all_eight(0.0), is_lone(places)
    middle = load_eight(expected, 0)
    for t in range(most - 1, -1, -1):
        row = t * width
        if t + 1 < most:
            messages_times_tables(
                messages, alpha + third + row + width, right, row + width, transposed,
                moved_transposed, n_tags, lone, stills, sums, moving,
            )  # fmt: skip
        last = select(lengths == t + 1.0, 1.0 / load_eight(scale, t * EIGHT), 0.0)
        limit = backward_word(
            rows_of(places, t, n_tags), n_tags, last, middle, sums, moving, messages, alpha + row,
            third, values, left, right, row, limit, marginals, out,
        )  # fmt: skip
    store_eight(limits, 0, limit)


@kernel
def entropy(
    scores, part_offsets, word_offsets, n_tags, by_length,
    members, cells, is_safe, log_partition, marginals, entropies, out,
):  # fmt: skip
    """What `scaled.marginals` fills and returns, and entropies and their gradient."""
    n_groups = groups(scores, part_offsets, word_offsets, n_tags, by_length, members, cells)
    n_table, stride, third = n_tags * n_tags, table_stride(n_tags), cells[n_groups]
    longest, size = largest_group(cells, n_groups), n_tags * stride
    messages, scale, values = aligned(3 * third + OVERRUN), aligned(longest), aligned(longest)
    left, right = aligned(longest + OVERRUN), aligned(longest + OVERRUN)
    matrix, transposed = np.empty(size), np.empty(size)
    moved, moved_transposed = np.empty(size), np.empty(size)
    room, moving_room = aligned(room_for_pairs(n_tags)), aligned(room_for_pairs(n_tags))
    table_values = np.empty(n_table)
    sums, moving = aligned(stride * EIGHT), aligned(stride * EIGHT)
    stills = aligned(stride * EIGHT)
    shift, ends, limits = np.empty(EIGHT), np.empty(EIGHT), np.empty(EIGHT)
    expected, previous, table_shift = np.empty(EIGHT), 0, 0.0
    for group in range(n_groups):
        places, alpha = places_of(part_offsets, word_offsets, members, group), cells[group]
        tables, lengths = tables_of(places, n_tags), places[1]
        if group == 0 or not same_table(scores, previous, tables[0], n_table):
            table_shift = read_table(scores, tables[0], n_tags, matrix, transposed)
            read_values(scores, tables[0], n_table, table_shift, table_values)
            moved_table(matrix, table_values, 0, n_tags, moved, moved_transposed)
        previous = tables[0]
        largest_scores(scores, places, n_tags, shift, ends)
        forward(
            scores, places, alpha, third, n_tags, matrix, moved, shift, ends, messages, values,
            left, scale, stills, sums, moving, expected,
        )  # fmt: skip
        backward(
            places, alpha, third, n_tags, transposed, moved_transposed, ends, messages, values,
            left, right, scale, stills, sums, moving, expected, limits, marginals, out,
        )  # fmt: skip
        moving_pair_sums(
            messages, alpha, alpha + third, left, right, lengths[EIGHT - 1] - 1, n_tags, matrix,
            table_values, tables, expected, is_lone(places), room, moving_room, marginals, out,
        )  # fmt: skip
        for k in range(EIGHT):
            sentence, total = members[group * EIGHT + k], log_scale(scale, k, lengths[k])
            taken_out = lengths[k] * shift[k] + (lengths[k] - 1) * table_shift
            log_partition[sentence] = total + taken_out
            entropies[sentence] = total - expected[k]
            is_safe[sentence] = total > -np.inf and limits[k] < SAFE
    return n_groups, messages
