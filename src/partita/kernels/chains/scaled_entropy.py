"""Marginals, entropy and its gradient of chains with shared transitions, in one pass.

The gradient of the entropy is minus the covariance product along the scores, a direction that is
known beforehand. So the recursions of `scaled_covariance` follow those of `scaled` group by group,
while messages and tables are in the cache, and the scores are read once. A constant of all tags of
a word, or of all transitions, changes nothing: the direction is what the exponentials are taken of,

    v = unary - its largest,   V = pairwise - its largest,   M = exp(V)

and with E = <v, marginals> the entropy is sum log c - E.
"""

import numpy as np

from partita.kernels.chains.scaled import backward, forward, log_scale, read_table
from partita.kernels.chains.scaled_covariance import (
    add_moved_tables,
    combine,
    left_messages,
    moved_table,
    right_messages,
)
from partita.kernels.chains.side_by_side import (
    groups,
    lengths_of,
    n_slots,
    read_unary,
    same_table,
    tables_of,
    write_rows,
    write_tables,
)
from partita.kernels.chains.tiles import pair_sums, table_stride
from partita.kernels.jit import kernel, step
from partita.kernels.simd.lanes import N_LANES, lane, load, store
from partita.kernels.underflow import SAFE


@step
def read_values(scores, table, n_table, shift, values):
    """values = V, 0 where that is -inf."""
    for k in range(n_table):
        value = scores[table + k] - shift
        values[k] = value if value > -np.inf else 0.0


@step
def negate(values, n_values, out):
    """out = -values."""
    for k in range(n_values):
        out[k] = -values[k]


@kernel
def entropy(
    scores, part_offsets, word_offsets, n_tags, by_length,
    members, cells, is_safe, log_partition, marginals, entropies, out,
):  # fmt: skip
    """What `scaled.marginals` fills and returns, and entropies and their gradient."""
    n_groups = groups(scores, part_offsets, word_offsets, n_tags, by_length, members, cells)
    n_table, stride, slots = n_tags * n_tags, table_stride(n_tags), n_slots(n_tags)
    third, longest, width = cells[n_groups], 0, slots * N_LANES
    for group in range(n_groups):
        longest = max(longest, cells[group + 1] - cells[group])
    messages, gain, scale = np.empty(3 * third), np.empty(longest), np.empty(longest)
    values, left, right = np.empty(longest), np.empty(longest), np.empty(longest)
    matrix, transposed = np.empty(n_tags * stride), np.empty(n_tags * stride)
    moved, moved_transposed = np.empty(n_tags * stride), np.empty(n_tags * stride)
    sums, scratch = np.empty(stride * N_LANES), np.empty(stride * N_LANES)
    minus_matrix, minus_values = np.empty(n_tags * stride), np.empty(n_table)
    pairs, behind, table_values = np.empty(slots * width), np.empty(longest), np.empty(n_table)
    shift, ends = np.empty(N_LANES), np.empty(N_LANES)
    previous, table_shift = 0, 0.0
    for group in range(n_groups):
        first, alpha = group * N_LANES, cells[group]
        beta, ratio = alpha + third, alpha + 2 * third
        lengths = lengths_of(word_offsets, members, first)
        most, tables = lengths[3], tables_of(part_offsets, members, first, n_table)
        if group == 0 or not same_table(scores, previous, tables[0], n_table):
            table_shift = read_table(scores, tables[0], n_tags, matrix, transposed)
            read_values(scores, tables[0], n_table, table_shift, table_values)
            moved_table(matrix, table_values, 0, n_tags, moved, moved_transposed)
            negate(matrix, n_tags * stride, minus_matrix)
            negate(table_values, n_table, minus_values)
        previous = tables[0]
        read_unary(
            scores, part_offsets, members, first, lengths, n_tags, shift, ends, messages, ratio,
            values,
        )  # fmt: skip
        forward(messages, alpha, ratio, most, n_tags, matrix, ends, scale, sums)
        limit = backward(messages, beta, ratio, most, n_tags, transposed, ends, scale, gain, sums)
        left_messages(
            values, most, n_tags, matrix, moved, True, messages, alpha, ratio, sums, scratch, left
        )
        right_messages(
            values, most, n_tags, transposed, moved_transposed, True, messages, beta, ratio,
            sums, scratch, gain, behind, right,
        )  # fmt: skip
        pair_sums(messages, alpha, gain, None, 0, None, most - 1, n_tags, pairs)
        write_tables(pairs, matrix, stride, part_offsets, members, first, n_tags, marginals)
        pair_sums(left, 0, gain, messages, alpha, right, most - 1, n_tags, pairs)
        write_tables(pairs, minus_matrix, stride, part_offsets, members, first, n_tags, out)
        expected = combine(most * width, width, messages, alpha, beta, left, behind, -1.0)
        add_moved_tables(
            members, first, -expected, minus_values, (0, 0, 0, 0), tables, marginals, n_table, out
        )
        for cell in range(0, most * width, N_LANES):
            store(gain, cell, load(messages, alpha + cell) * load(messages, beta + cell))
        write_rows(gain, part_offsets, members, first, lengths, n_tags, marginals)
        write_rows(behind, part_offsets, members, first, lengths, n_tags, out)
        for k in range(N_LANES):
            sentence, total = members[first + k], log_scale(scale, k, lengths[k])
            taken_out = lengths[k] * shift[k] + (lengths[k] - 1) * table_shift
            log_partition[sentence] = total + taken_out
            entropies[sentence] = total - lane(expected, k)
            is_safe[sentence] = total > -np.inf and lane(limit, k) < SAFE
    return n_groups, messages
