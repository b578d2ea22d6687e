"""Sentences of a batch four by four, one in each SIMD lane: which, and from and to flat parts.

`members` has four sentences for each group, end to end; a lane for which there is no sentence
repeats the last, so that it can be treated as if it were there. Messages lie in memory as
[word, slot, lane], with a slot for each tag; rows behind the end of a shorter sentence mean
nothing. Fewer than `N_TILE` tags have as many slots, since sums are computed in tiles; slots
without a tag hold zeros.
"""

import numpy as np

from partita.kernels.jit import inlined, pasted, step
from partita.kernels.simd.four_rows import store_four, write_four
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    exponential,
    gather,
    load,
    scatter,
    select,
    spread,
    store,
)
from partita.kernels.simd.small_matrix import highest_lane, largest

N_TILE = 3
"""Tiles of `tiles.pair_sums` have as many rows and columns."""


@pasted
def n_slots(n_tags):
    """Number of slots for tags."""
    return max(n_tags, N_TILE)


@step
def groups(scores, part_offsets, word_offsets, n_tags, by_length, members, cells):
    """The sentences four by four, in the given order, those of a group with equal transitions.

    Fills members[4 * group + lane], and where messages start, cells[group], and the end. Returns
    the number of groups.
    """
    n_table, n_groups, n_free = n_tags * n_tags, 0, 0
    cells[0] = 0
    for sentence in by_length:
        table = part_offsets[sentence + 1] - n_table
        first = table
        if n_groups > 0:
            first = part_offsets[members[N_LANES * (n_groups - 1)] + 1] - n_table
        if n_free == 0 or not same_table(scores, first, table, n_table):
            n_groups, n_free = n_groups + 1, N_LANES
        # The next ones take the places behind.
        for place in range(N_LANES * n_groups - n_free, N_LANES * n_groups):
            members[place] = sentence
        n_free -= 1
        # Sentences come by length: this one is the longest of its group so far.
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        cells[n_groups] = cells[n_groups - 1] + n_words * n_slots(n_tags) * N_LANES
    return n_groups


@step
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


@step
def lengths_of(word_offsets, members, first):
    """Number of words of the four sentences from members[first] on; the last is the longest."""
    a, b, c, d = members[first], members[first + 1], members[first + 2], members[first + 3]
    return (
        word_offsets[a + 1] - word_offsets[a],
        word_offsets[b + 1] - word_offsets[b],
        word_offsets[c + 1] - word_offsets[c],
        word_offsets[d + 1] - word_offsets[d],
    )


@inlined
def unary_rows(part_offsets, members, first, lengths, t, n_tags):
    """Where the row of word t starts in each lane's sentence; the last row where it is shorter."""
    return (
        part_offsets[members[first]] + min(t, lengths[0] - 1) * n_tags,
        part_offsets[members[first + 1]] + min(t, lengths[1] - 1) * n_tags,
        part_offsets[members[first + 2]] + min(t, lengths[2] - 1) * n_tags,
        part_offsets[members[first + 3]] + min(t, lengths[3] - 1) * n_tags,
    )


@inlined
def tables_of(part_offsets, members, first, n_table):
    """Where the transitions of each lane's sentence start."""
    return (
        part_offsets[members[first] + 1] - n_table,
        part_offsets[members[first + 1] + 1] - n_table,
        part_offsets[members[first + 2] + 1] - n_table,
        part_offsets[members[first + 3] + 1] - n_table,
    )


@pasted
def shifted(rows, j):
    """Four positions, all j further."""
    return rows[0] + j, rows[1] + j, rows[2] + j, rows[3] + j


@step
def read_unary(
    scores, part_offsets, members, first, lengths, n_tags, shift, ends, ratio, at, values
):
    """ratio[t, j] = exp(unary - shift) from `at` on, 0 behind the end of a sentence.

    Fills shift and ends, the largest score and the number of words of each lane; and, unless
    `values` is None, values = unary - shift, 0 where that is -inf.
    """
    for k in range(N_LANES):
        shift[k] = largest(scores, part_offsets[members[first + k]], lengths[k] * n_tags)
        ends[k] = lengths[k]
    shifts, last, slots = load(shift, 0), load(ends, 0), n_slots(n_tags)
    for t in range(lengths[3]):
        rows = unary_rows(part_offsets, members, first, lengths, t, n_tags)
        row, is_word = at + t * slots * N_LANES, last > float(t)
        for j in range(n_tags):
            # Number by number, not in fours: the exponential hides the loads.
            value = gather(scores, shifted(rows, j)) - shifts
            store(ratio, row + j * N_LANES, select(is_word, exponential(value), 0.0))
            if values is not None:
                cell = row - at + j * N_LANES
                store(values, cell, select(value > -np.inf, value, 0.0))
        for j in range(n_tags, slots):
            store(ratio, row + j * N_LANES, broadcast(0.0))
            if values is not None:
                store(values, row - at + j * N_LANES, broadcast(0.0))


@step
def write_rows(values, part_offsets, members, first, lengths, n_tags, out):
    """Values from [word, slot, lane] to the unary parts of each lane's sentence.

    From the last word to the first: what a shorter sentence lacks is written to its last row,
    before what belongs there.
    """
    for t in range(lengths[3] - 1, -1, -1):
        rows = unary_rows(part_offsets, members, first, lengths, t, n_tags)
        row = t * n_slots(n_tags) * N_LANES
        whole = n_tags - n_tags % N_LANES
        for j in range(0, whole, N_LANES):
            store_four(values, row + j * N_LANES, out, rows, j)
        for j in range(whole, n_tags):
            scatter(out, shifted(rows, j), load(values, row + j * N_LANES))


@step
def write_tables(pairs, matrix, stride, part_offsets, members, first, n_tags, out):
    """out = M * pairs, from [left slot, right slot, lane] to the table of each lane's sentence."""
    tables = tables_of(part_offsets, members, first, n_tags * n_tags)
    for i in range(n_tags):
        row, cell = i * n_slots(n_tags) * N_LANES, i * stride
        whole = n_tags - n_tags % N_LANES
        for j in range(0, whole, N_LANES):
            place = row + j * N_LANES
            write_four(
                spread(matrix, cell + j) * load(pairs, place),
                spread(matrix, cell + j + 1) * load(pairs, place + N_LANES),
                spread(matrix, cell + j + 2) * load(pairs, place + 2 * N_LANES),
                spread(matrix, cell + j + 3) * load(pairs, place + 3 * N_LANES),
                out, tables, i * n_tags + j,
            )  # fmt: skip
        for j in range(whole, n_tags):
            value = spread(matrix, cell + j) * load(pairs, row + j * N_LANES)
            scatter(out, shifted(tables, i * n_tags + j), value)
