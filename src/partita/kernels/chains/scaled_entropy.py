"""Marginals, entropy and its gradient of chains with shared transitions, in one pass.

The gradient of the entropy is minus the covariance product along the scores, a direction that is
known beforehand. So the recursions of `scaled_covariance` follow those of `scaled` group by group,
while messages and tables are in the cache, and the scores are read once. A constant of all tags of
a word, or of all transitions, changes nothing: the direction is what the exponentials are taken of,

    v = unary - its largest,   V = pairwise - its largest,   M = exp(V)

and with E = <v, marginals> the entropy is sum log c - E.
"""

import numpy as np

from partita.kernels.chains.scaled import one_group, read_table
from partita.kernels.chains.scaled_covariance import (
    move_group,
    moved_table,
    moved_tables,
    n_stills,
)
from partita.kernels.chains.side_by_side import (
    groups,
    largest_group,
    places_of,
    same_table,
    tables_of,
)
from partita.kernels.chains.tiles import OVERRUN, room_for_pairs, table_stride
from partita.kernels.jit import kernel, lent
from partita.kernels.simd.eight import EIGHT, aligned


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
    longest, size = largest_group(cells, n_groups), n_tags * stride
    messages, scale, values = aligned(3 * third + OVERRUN), aligned(longest), aligned(longest)
    before, left, right = aligned(longest), aligned(longest + OVERRUN), aligned(longest + OVERRUN)
    matrix, transposed, minus_matrix = np.empty(size), np.empty(size), np.empty(size)
    moved, moved_transposed = np.empty(size), np.empty(size)
    stills, room = aligned(n_stills(longest, n_tags)), aligned(room_for_pairs(n_tags))
    table_values, minus_values = np.empty(n_table), np.empty(n_table)
    sums, shift, ends = aligned(stride * EIGHT), np.empty(EIGHT), np.empty(EIGHT)
    totals, expected = np.empty(EIGHT), np.empty(EIGHT)
    previous, table_shift = 0, 0.0
    for group in range(n_groups):
        places, alpha = places_of(part_offsets, word_offsets, members, group), cells[group]
        table = tables_of(places, n_tags)[0]
        if group == 0 or not same_table(scores, previous, table, n_table):
            table_shift = read_table(scores, table, n_tags, matrix, transposed)
            read_values(scores, table, n_table, table_shift, table_values)
            moved_table(matrix, table_values, 0, n_tags, moved, moved_transposed)
            negate(matrix, size, minus_matrix)
            negate(table_values, n_table, minus_values)
        previous = table
        one_group(
            scores, places, alpha, third, n_tags, matrix, transposed, table_shift, members,
            group * EIGHT, messages, values, scale, sums, room, shift, ends, totals,
            is_safe, log_partition, marginals,
        )  # fmt: skip
        move_group(
            places, alpha, third, n_tags, matrix, transposed, moved, moved_transposed, True,
            messages, values, stills, sums, before, left, right, marginals, expected, -1.0, out,
        )  # fmt: skip
        negate(expected, EIGHT, expected)
        moved_tables(
            places, alpha, third, n_tags, minus_matrix, minus_values, (0, 0, 0, 0, 0, 0, 0, 0),
            messages, left, right, marginals, expected, room, out,
        )  # fmt: skip
        for k in range(EIGHT):
            entropies[members[group * EIGHT + k]] = totals[k] + expected[k]
    return n_groups, messages
