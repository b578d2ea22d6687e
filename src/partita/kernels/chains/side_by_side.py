"""Sentences of a batch four by four, one in each SIMD lane: which, and from and to flat parts.

Messages lie in memory as [word, tag, lane]; a sentence that is shorter than the longest of its
four has rows that mean nothing.
"""

import numpy as np

from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.lanes import N_LANES, broadcast, load, scatter, select
from partita.kernels.simd.small_matrix import highest_lane


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
def write_rows(values, part_offsets, members, n_words, n_tags, out):
    """Values from [word, tag, lane] to the unary parts of each lane's sentence."""
    shortest = n_words.min()
    for t in range(shortest):
        rows = unary_rows(part_offsets, members, n_words, t, n_tags)
        for j in range(n_tags):
            scatter(out, shifted(rows, j), load(values, (t * n_tags + j) * N_LANES))
    for k in range(N_LANES):
        for t in range(shortest, n_words[k]):
            row = part_offsets[members[k]] + t * n_tags
            for j in range(n_tags):
                out[row + j] = values[(t * n_tags + j) * N_LANES + k]


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
def group_cells(word_offsets, members, n_tags):
    """Where the messages of each group start, and the end."""
    cells = np.zeros(len(members) + 1, dtype=np.int64)
    for group in range(len(members)):
        n_words = lengths_of(word_offsets, members[group]).max()
        cells[group + 1] = cells[group] + n_words * n_tags * N_LANES
    return cells
