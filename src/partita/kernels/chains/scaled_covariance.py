"""Covariance product of chains with shared transitions, from the messages of `chains.scaled`.

With prefix and suffix expectations of the direction as in `covariance`, left = alpha * prefix
and right = gain * (v + suffix) obey the recursions of alpha and gain, differentiated:

    left[t]  = alpha[t] v[t] + ratio[t] before[t],  before[t] = left[t-1] M + alpha[t-1] (M V)
    right[t] = gain[t] v[t] + ratio[t] behind[t],   behind[t] = M right[t+1] + (M V) gain[t+1]

and with E = sum p v + gain before at the last word, p the marginals, the product is

    gain before + alpha behind + (v - E) p                                  for tags
    M (sum_t left[t-1] gain[t] + alpha[t-1] right[t]) + (V - E) p           for transitions.

Prefixes come first, so that E is known when the suffixes are.
"""

import numpy as np

from partita.kernels.chains.scaled import read_table
from partita.kernels.chains.side_by_side import (
    N_AHEAD,
    ask_for_words,
    gather_eight,
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
    fma,
    load_eight,
    spread_eight,
    store_eight,
)
from partita.kernels.simd.prefetch import prefetch_to_write


@lent
def read_direction(direction, places, n_tags, out):
    """out[t, j, lane] = direction of tag j at word t; any finite number behind a sentence's end."""
    for t in range(places[1][EIGHT - 1]):
        row = t * n_tags * EIGHT
        read_row(direction, rows_of(places, t, n_tags), n_tags, out, row)


@lent
def equal_tables(direction, tables, n_table):
    """Whether the transitions of all sentences of a group move alike: mostly they do."""
    equal = True
    for k in range(1, EIGHT):
        equal = equal and same_table(direction, tables[0], tables[k], n_table)
    return equal


@lent
def moved_table(matrix, direction, table, n_tags, moved, moved_transposed):
    """M V and its transpose, where all sentences have one direction."""
    stride = table_stride(n_tags)
    for cell in range(n_tags * stride):
        moved[cell], moved_transposed[cell] = 0.0, 0.0
    for i in range(n_tags):
        for j in range(n_tags):
            value = matrix[i * stride + j] * direction[table + i * n_tags + j]
            moved[i * stride + j] = value
            moved_transposed[j * stride + i] = value


@lent
def moved_lanes(matrix, direction, tables, n_tags, moved, moved_transposed):
    """M V and its transpose as [.., .., lane], where the sentences have directions of their own."""
    stride = table_stride(n_tags)
    for i in range(n_tags):
        for j in range(n_tags):
            value = gather_eight(direction, tables, i * n_tags + j)
            value = spread_eight(matrix, i * stride + j) * value
            store_eight(moved, (i * n_tags + j) * EIGHT, value)
            store_eight(moved_transposed, (j * n_tags + i) * EIGHT, value)


@lent
def times_lanes(messages, at, table, n_tags, out, to):
    """out[to + j, lane] = sum_i messages[at + i, lane] table[i, j, lane]."""
    for j in range(n_tags):
        total = all_eight(0.0)
        for i in range(n_tags):
            value = load_eight(table, (i * n_tags + j) * EIGHT)
            total = fma(value, load_eight(messages, at + i * EIGHT), total)
        store_eight(out, to + j * EIGHT, total)


@borrowing
def n_stills(n_cells, n_tags):
    """Room for `still_sums` of the words whose messages have so many cells."""
    return n_cells // n_tags * table_stride(n_tags)


@lent
def still_sums(messages, start, first, end, moved, is_shared, n_tags, lone, stills):
    """stills[t] = messages[t] (M V) for the words of a group.

    M V is one table, or one for each lane. These sums come first, so that one table at a time has
    to stay in the cache.
    """
    width, still = n_tags * EIGHT, table_stride(n_tags) * EIGHT
    for t in range(first, end):
        if is_shared:
            messages_times_table(
                messages, start + t * width, moved, None, 0, n_tags, lone, stills, t * still
            )
        else:
            times_lanes(messages, start + t * width, moved, n_tags, stills, t * still)


@lent
def clear(sums, n_lanes):
    """Zeros in all lanes."""
    for j in range(0, n_lanes, EIGHT):
        store_eight(sums, j, all_eight(0.0))


@lent
def left_messages(
    places, alpha, third, n_tags, matrix, moved, is_shared, messages, values, stills, sums,
    before, left,
):  # fmt: skip
    """before[t] = left[t-1] M + alpha[t-1] (M V); left[t] = alpha[t] v[t] + ratio[t] before[t]."""
    width, still = n_tags * EIGHT, table_stride(n_tags) * EIGHT
    most, lone = places[1][EIGHT - 1], is_lone(places)
    clear(sums, still)
    still_sums(messages, alpha, 0, most - 1, moved, is_shared, n_tags, lone, stills)
    for t in range(most):
        row = t * width
        if t > 0:
            messages_times_table(
                left, row - width, matrix, stills, (t - 1) * still, n_tags, lone, sums, 0
            )
        for j in range(0, width, EIGHT):
            moving = load_eight(sums, j)
            prefetch_to_write(before, row + width + j)
            prefetch_to_write(left, row + width + j)
            store_eight(before, row + j, moving)
            moving = load_eight(messages, alpha + 2 * third + row + j) * moving
            moving = fma(load_eight(messages, alpha + row + j), load_eight(values, row + j), moving)
            store_eight(left, row + j, moving)


@lent
def expectations(places, alpha, third, n_tags, messages, values, before, marginals, out):
    """out[lane] = E = sum p v + gain before at the last word of each sentence."""
    starts, lengths = places
    for k in range(EIGHT):
        t, expected = lengths[k] - 1, 0.0
        for j in range(n_tags):
            place = (t * n_tags + j) * EIGHT + k
            expected += marginals[starts[k] + t * n_tags + j] * values[place]
            expected += messages[alpha + third + place] * before[place]
        out[k] = expected


@borrowing
def right_word(
    rows, n_tags, sums, messages, alpha, third, values, before, cell, marginals, expected, right,
    out,
):  # fmt: skip
    """right of a word, and its part of the product."""
    # First p, then what becomes of it.
    read_row(marginals, rows, n_tags, right, cell)
    for j in range(0, n_tags * EIGHT, EIGHT):
        behind, value, inside = load_eight(sums, j), load_eight(values, cell + j), alpha + j
        prefetch_to_write(right, cell + j - n_tags * EIGHT)
        gain, p = load_eight(messages, inside + third), load_eight(right, cell + j)
        moved = load_eight(messages, inside + 2 * third) * behind
        store_eight(right, cell + j, fma(gain, value, moved))
        moving = fma(gain, load_eight(before, cell + j), load_eight(messages, inside) * behind)
        store_eight(sums, j, fma(p, value - expected, moving))
    write_row(sums, 0, n_tags, out, rows)


@lent
def right_messages(
    places, alpha, third, n_tags, transposed, moved, is_shared, messages, values, stills, sums,
    before, marginals, expected, right, out,
):  # fmt: skip
    """behind[t] = M right[t+1] + (M V) gain[t+1]; right[t] = gain[t] v[t] + ratio[t] behind[t].

    And the product for tags; from the last word to the first, as in `backward`.
    """
    width, still = n_tags * EIGHT, table_stride(n_tags) * EIGHT
    most, middle, lone = places[1][EIGHT - 1], load_eight(expected, 0), is_lone(places)
    clear(sums, still)
    still_sums(messages, alpha + third, 1, most, moved, is_shared, n_tags, lone, stills)
    for t in range(most - 1, -1, -1):
        row = t * width
        if t + 1 < most:
            messages_times_table(
                right, row + width, transposed, stills, (t + 1) * still, n_tags, lone, sums, 0
            )
        ask_for_words(marginals, rows_of(places, max(t - N_AHEAD, 0), n_tags), n_tags)
        right_word(
            rows_of(places, t, n_tags), n_tags, sums, messages, alpha + row, third, values,
            before, row, marginals, middle, right, out,
        )  # fmt: skip


@kernel
def product(
    scores, direction, part_offsets, word_offsets, n_tags, marginals,
    members, cells, n_groups, messages, out,
):  # fmt: skip
    """The covariance product of a batch with one transition table per sentence."""
    n_table, stride, third = n_tags * n_tags, table_stride(n_tags), cells[n_groups]
    longest, size = largest_group(cells, n_groups), n_tags * stride
    values, before = aligned(longest), aligned(longest)
    left, right = aligned(longest + OVERRUN), aligned(longest + OVERRUN)
    matrix, transposed = np.empty(size), np.empty(size)
    sums, expected = aligned(stride * EIGHT), np.empty(EIGHT)
    stills, room = aligned(n_stills(longest, n_tags)), aligned(room_for_pairs(n_tags))
    # Either one table, or one for each lane.
    moved, moved_transposed = aligned(size * EIGHT), aligned(size * EIGHT)
    previous, is_shared = 0, False
    for group in range(n_groups):
        places, alpha = places_of(part_offsets, word_offsets, members, group), cells[group]
        tables = tables_of(places, n_tags)
        table = tables[0]
        is_new = group == 0 or not same_table(scores, previous, table, n_table)
        if is_new:
            read_table(scores, table, n_tags, matrix, transposed)
        was_shared, is_shared = is_shared, equal_tables(direction, tables, n_table)
        if not is_shared:
            moved_lanes(matrix, direction, tables, n_tags, moved, moved_transposed)
        elif is_new or not was_shared or not same_table(direction, previous, table, n_table):
            moved_table(matrix, direction, table, n_tags, moved, moved_transposed)
        previous = table
        read_direction(direction, places, n_tags, values)
        left_messages(
            places, alpha, third, n_tags, matrix, moved, is_shared, messages, values, stills, sums,
            before, left,
        )  # fmt: skip
        expectations(places, alpha, third, n_tags, messages, values, before, marginals, expected)
        right_messages(
            places, alpha, third, n_tags, transposed, moved_transposed, is_shared, messages,
            values, stills, sums, before, marginals, expected, right, out,
        )  # fmt: skip
        if is_shared:
            # All from one place, which stays in the cache.
            tables = table, table, table, table, table, table, table, table
        pair_sums(
            left, 0, messages, alpha + third, messages, alpha, right, 0, places[1][EIGHT - 1] - 1,
            n_tags, matrix, tables_of(places, n_tags), direction, tables, marginals, expected,
            is_lone(places), room, out,
        )  # fmt: skip
