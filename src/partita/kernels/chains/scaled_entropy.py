"""Marginals, entropy and its gradient of chains with shared transitions, in one pass.

The gradient of the entropy is minus the covariance product along the scores, a direction that is
known beforehand. So the recursions of `scaled_covariance` follow those of `scaled` group by group,
while messages and tables are in the cache, and the scores are read once. A constant of all tags of
a word, or of all transitions, changes nothing: the direction is what the exponentials are taken of,

    v = unary - its largest,   V = pairwise - its largest,   M = exp(V)

and with E = <v, marginals> the entropy is sum log c - E.
"""

import numpy as np

from partita.kernels.chains.scaled import next_two, read_table, two_groups
from partita.kernels.chains.scaled_covariance import (
    move_two,
    moved_table,
    moved_tables,
    n_stills,
)
from partita.kernels.chains.side_by_side import (
    groups,
    largest_of_two,
    n_slots,
    same_table,
    tables_of,
)
from partita.kernels.chains.tiles import table_stride
from partita.kernels.jit import kernel, lent
from partita.kernels.simd.lanes import N_LANES


@lent
def read_values(scores, table, n_table, shift, values):
    """values = V, 0 where that is -inf."""
    for k in range(n_table):
        value = scores[table + k] - shift
        values[k] = value if value > -np.inf else 0.0


@lent
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
    n_table, stride, third = n_tags * n_tags, table_stride(n_tags), cells[n_groups]
    longest, size = largest_of_two(cells, n_groups), n_slots(n_tags) * stride
    messages, scale, values = np.empty(3 * third), np.empty(longest), np.empty(longest)
    before, left, right = np.empty(longest), np.empty(longest), np.empty(longest)
    matrix, transposed, minus_matrix = np.empty(size), np.empty(size), np.empty(size)
    moved, moved_transposed = np.empty(size), np.empty(size)
    stills = np.empty(n_stills(longest, n_tags))
    table_values, minus_values = np.empty(n_table), np.empty(n_table)
    sums, shift = np.empty(2 * stride * N_LANES), np.empty(2 * N_LANES)
    ends, totals, expected = np.empty(2 * N_LANES), np.empty(2 * N_LANES), np.empty(2 * N_LANES)
    group, previous, table_shift = 0, 0, 0.0
    while group < n_groups:
        places, second, alphas, mosts = next_two(
            scores, part_offsets, word_offsets, members, cells, n_groups, group, n_tags
        )
        table = tables_of(second, n_tags)[0]
        if group == 0 or not same_table(scores, previous, table, n_table):
            table_shift = read_table(scores, table, n_tags, matrix, transposed)
            read_values(scores, table, n_table, table_shift, table_values)
            moved_table(matrix, table_values, 0, n_tags, moved, moved_transposed)
            negate(matrix, size, minus_matrix)
            negate(table_values, n_table, minus_values)
        previous = table
        two_groups(
            scores, places, second, alphas, mosts, third, n_tags, matrix, transposed, table_shift,
            members, group, messages, values, scale, sums, shift, ends, totals,
            is_safe, log_partition, marginals,
        )  # fmt: skip
        move_two(
            places, second, alphas, mosts, third, n_tags, matrix, transposed,
            moved, moved_transposed, True, messages, values, stills, sums, before, left, right,
            marginals, expected, -1.0, out,
        )  # fmt: skip
        negate(expected, 2 * N_LANES, expected)
        for which in range(0 if mosts[0] > 0 else 1, 2):
            here, alpha = (second, alphas[1]) if which == 1 else (places, alphas[0])
            moved_tables(
                here, alpha, alpha - alphas[0], which * N_LANES, third, n_tags, minus_matrix,
                minus_values, (0, 0, 0, 0), messages, left, right, marginals, expected, out,
            )  # fmt: skip
            first = (group + which if mosts[0] > 0 else group) * N_LANES
            for k in range(N_LANES):
                lane = which * N_LANES + k
                entropies[members[first + k]] = totals[lane] + expected[lane]
        group += 2 if mosts[0] > 0 else 1
    return n_groups, messages
