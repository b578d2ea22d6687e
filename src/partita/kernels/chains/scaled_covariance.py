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

from partita.kernels.chains.scaled import next_two, read_table
from partita.kernels.chains.side_by_side import (
    largest_of_two,
    n_slots,
    read_row,
    rows_of,
    same_table,
    shifted,
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
    fma,
    gather,
    load,
    spread,
    store,
)
from partita.kernels.simd.prefetch import prefetch

N_AHEAD, N_LINE = 2, 8
"""Rows are fetched so many words before they are read; numbers in a line of the cache."""


@lent
def read_direction(direction, places, n_tags, out, at):
    """out[t, j, lane] = direction of tag j at word t; any finite number behind a sentence's end."""
    for t in range(places[1][3]):
        row = at + t * n_slots(n_tags) * N_LANES
        read_row(direction, rows_of(places, t, n_tags), n_tags, 0.0, out, row)


@lent
def equal_tables(direction, table, tables, n_table):
    """Whether the transitions of all four sentences move as those at `table`: mostly they do."""
    equal = True
    for k in range(N_LANES):
        equal = equal and same_table(direction, table, tables[k], n_table)
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
            value = gather(direction, shifted(tables, i * n_tags + j))
            value = spread(matrix, i * stride + j) * value
            store(moved, (i * n_tags + j) * N_LANES, value)
            store(moved_transposed, (j * n_tags + i) * N_LANES, value)


@lent
def times_lanes(messages, at, table, n_tags, out, to):
    """out[to + j, lane] = sum_i messages[at + i, lane] table[i, j, lane]."""
    for j in range(n_tags):
        total = broadcast(0.0)
        for i in range(n_tags):
            value = load(table, (i * n_tags + j) * N_LANES)
            total = fma(value, load(messages, at + i * N_LANES), total)
        store(out, to + j * N_LANES, total)


@borrowing
def n_stills(n_cells, n_tags):
    """Room for `still_sums` of the words whose messages have so many cells."""
    return n_cells // n_slots(n_tags) * 2 * table_stride(n_tags)


@lent
def still_sums(messages, starts, first, ends, moved, is_shared, n_tags, stills):
    """stills[t] = messages[t] (M V) for the words of two groups, or of the second.

    M V is one table or, where only the second is asked for, perhaps one for each lane. These sums
    come first, so that one table at a time has to stay in the cache.
    """
    width, behind = n_slots(n_tags) * N_LANES, table_stride(n_tags) * N_LANES
    for t in range(first, ends[1]):
        row, to = t * width, 2 * t * behind
        if t < ends[0]:
            two_times_table(
                messages, starts[0] + row, starts[1] + row, moved, None, 0, n_tags, stills, to
            )
        elif is_shared:
            messages_times_table(
                messages, starts[1] + row, moved, None, 0, n_tags, stills, to + behind
            )
        else:
            times_lanes(messages, starts[1] + row, moved, n_tags, stills, to + behind)


@borrowing
def move(moving, starts, are_two, matrix, stills, t, n_tags, sums):
    """sums = moving M + stills[t] of two groups, or of the second."""
    behind = table_stride(n_tags) * N_LANES
    still = 2 * t * behind
    if are_two:
        two_times_table(moving, starts[0], starts[1], matrix, stills, still, n_tags, sums, 0)
    else:
        messages_times_table(
            moving, starts[1], matrix, stills, still + behind, n_tags, sums, behind
        )


@lent
def clear(sums, n_lanes):
    """Zeros in all lanes."""
    for j in range(0, n_lanes, N_LANES):
        store(sums, j, broadcast(0.0))


@lent
def left_messages(
    alphas, mosts, third, n_tags, matrix, moved, is_shared, messages, values, stills, sums,
    before, left,
):  # fmt: skip
    """before[t] = left[t-1] M + alpha[t-1] (M V); left[t] = alpha[t] v[t] + ratio[t] before[t]."""
    width, space = n_slots(n_tags) * N_LANES, alphas[1] - alphas[0]
    other = table_stride(n_tags) * N_LANES
    clear(sums, 2 * other)
    ends = mosts[0] - 1, mosts[1] - 1
    still_sums(messages, alphas, 0, ends, moved, is_shared, n_tags, stills)
    for t in range(mosts[1]):
        row = t * width
        if t > 0:
            last = row - width
            move(left, (last, space + last), t < mosts[0], matrix, stills, t - 1, n_tags, sums)
        for which in range(0 if t < mosts[0] else 1, 2):
            cell, at = which * space + row, which * other
            alpha = alphas[0] + cell
            for j in range(0, width, N_LANES):
                moving = load(sums, at + j)
                store(before, cell + j, moving)
                moving = load(messages, alpha + 2 * third + j) * moving
                moving = fma(load(messages, alpha + j), load(values, cell + j), moving)
                store(left, cell + j, moving)


@lent
def expectations(places, alpha, third, n_tags, messages, values, before, cell, marginals, out, at):
    """out[at + lane] = E = sum p v + gain before at the last word of each sentence."""
    starts, lengths = places
    for k in range(N_LANES):
        t, expected = lengths[k] - 1, 0.0
        for j in range(n_tags):
            place = (t * n_slots(n_tags) + j) * N_LANES + k
            expected += marginals[starts[k] + t * n_tags + j] * values[cell + place]
            expected += messages[alpha + third + place] * before[cell + place]
        out[at + k] = expected


@borrowing
def right_word(
    rows, n_tags, sums, at, messages, alpha, third, values, before, cell, marginals, expected,
    sign, right, out,
):  # fmt: skip
    """right of a word of a group, and its part of the product, times `sign`."""
    # First p, then what becomes of it.
    read_row(marginals, rows, n_tags, 0.0, right, cell)
    for j in range(0, n_slots(n_tags) * N_LANES, N_LANES):
        behind, value, inside = load(sums, at + j), load(values, cell + j), alpha + j
        gain, p = load(messages, inside + third), load(right, cell + j)
        store(right, cell + j, fma(gain, value, load(messages, inside + 2 * third) * behind))
        moving = fma(gain, load(before, cell + j), load(messages, inside) * behind)
        store(sums, at + j, fma(p, value - expected, moving) * sign)
    write_row(sums, at, n_tags, out, rows)


@borrowing
def ask_for_rows(values, rows, n_tags):
    """Fetch a word's row of four sentences."""
    for j in range(0, n_tags, N_LINE):
        for row in rows:
            prefetch(values, row + j)


@lent
def right_messages(
    places, second, alphas, mosts, third, n_tags, transposed, moved, is_shared, messages, values,
    stills, sums, before, marginals, expected, sign, right, out,
):  # fmt: skip
    """behind[t] = M right[t+1] + (M V) gain[t+1]; right[t] = gain[t] v[t] + ratio[t] behind[t].

    And the product for tags, times `sign`; from the last word to the first, as in `backward`.
    """
    width, space = n_slots(n_tags) * N_LANES, alphas[1] - alphas[0]
    other = table_stride(n_tags) * N_LANES
    clear(sums, 2 * other)
    gains = alphas[0] + third, alphas[1] + third
    still_sums(messages, gains, 1, mosts, moved, is_shared, n_tags, stills)
    for t in range(mosts[1] - 1, -1, -1):
        row, after = t * width, (t + 1) * width
        if t + 1 < mosts[1]:
            move(
                right, (after, space + after), t + 1 < mosts[0], transposed, stills, t + 1,
                n_tags, sums,
            )  # fmt: skip
        for which in range(0 if t < mosts[0] else 1, 2):
            cell, here = which * space + row, second if which == 1 else places
            ask_for_rows(marginals, rows_of(here, max(t - N_AHEAD, 0), n_tags), n_tags)
            right_word(
                rows_of(here, t, n_tags), n_tags, sums, which * other, messages,
                alphas[0] + cell, third, values, before, cell, marginals,
                load(expected, which * N_LANES), sign, right, out,
            )  # fmt: skip


@lent
def move_two(
    places, second, alphas, mosts, third, n_tags, matrix, transposed, moved, moved_transposed,
    is_shared, messages, values, stills, sums, before, left, right, marginals, expected, sign,
    out,
):  # fmt: skip
    """Messages that move, and the product for tags, times `sign`, of two groups; fills E."""
    left_messages(
        alphas, mosts, third, n_tags, matrix, moved, is_shared, messages, values, stills, sums,
        before, left,
    )  # fmt: skip
    for which in range(0 if mosts[0] > 0 else 1, 2):
        here, alpha = (second, alphas[1]) if which == 1 else (places, alphas[0])
        expectations(
            here, alpha, third, n_tags, messages, values, before, alpha - alphas[0], marginals,
            expected, which * N_LANES,
        )  # fmt: skip
    right_messages(
        places, second, alphas, mosts, third, n_tags, transposed, moved_transposed, is_shared,
        messages, values, stills, sums, before, marginals, expected, sign, right, out,
    )  # fmt: skip


@lent
def moved_tables(
    here, alpha, at, lanes, third, n_tags, matrix, direction, direction_at, messages, left, right,
    marginals, expected, out,
):  # fmt: skip
    """The product for the transitions of one group, whose messages that move start at `at`."""
    pair_sums(
        left, at, messages, alpha + third, messages, alpha, right, at, here[1][3] - 1, n_tags,
        matrix, tables_of(here, n_tags), direction, direction_at, marginals, expected, lanes, out,
    )  # fmt: skip


@kernel
def product(
    scores, direction, part_offsets, word_offsets, n_tags, marginals,
    members, cells, n_groups, messages, out,
):  # fmt: skip
    """The covariance product of a batch with one transition table per sentence."""
    n_table, stride, third = n_tags * n_tags, table_stride(n_tags), cells[n_groups]
    longest, size = largest_of_two(cells, n_groups), n_slots(n_tags) * stride
    values, left, right = np.empty(longest), np.empty(longest), np.empty(longest)
    before, matrix, transposed = np.empty(longest), np.empty(size), np.empty(size)
    sums, expected = np.empty(2 * stride * N_LANES), np.empty(2 * N_LANES)
    stills = np.empty(n_stills(longest, n_tags))
    # Either one table, or one for each lane.
    moved, moved_transposed = np.empty(size * N_LANES), np.empty(size * N_LANES)
    group, previous, is_shared = 0, 0, False
    while group < n_groups:
        places, second, alphas, mosts = next_two(
            scores, part_offsets, word_offsets, members, cells, n_groups, group, n_tags
        )
        tables = tables_of(places, n_tags)
        table = tables[0]
        is_new = group == 0 or not same_table(scores, previous, table, n_table)
        if is_new:
            read_table(scores, table, n_tags, matrix, transposed)
        was_shared, is_shared = is_shared, equal_tables(direction, table, tables, n_table)
        if mosts[0] > 0 and not (
            is_shared and equal_tables(direction, table, tables_of(second, n_tags), n_table)
        ):
            # One at a time where they move in ways of their own.
            second, alphas, mosts = places, (alphas[0], alphas[0]), (0, mosts[0])
        if not is_shared:
            moved_lanes(matrix, direction, tables, n_tags, moved, moved_transposed)
        elif is_new or not was_shared or not same_table(direction, previous, table, n_table):
            moved_table(matrix, direction, table, n_tags, moved, moved_transposed)
        previous = table
        for which in range(0 if mosts[0] > 0 else 1, 2):
            here, alpha = (second, alphas[1]) if which == 1 else (places, alphas[0])
            read_direction(direction, here, n_tags, values, alpha - alphas[0])
        move_two(
            places, second, alphas, mosts, third, n_tags, matrix, transposed,
            moved, moved_transposed, is_shared, messages, values, stills, sums, before, left,
            right, marginals, expected, 1.0, out,
        )  # fmt: skip
        for which in range(0 if mosts[0] > 0 else 1, 2):
            here, alpha = (second, alphas[1]) if which == 1 else (places, alphas[0])
            moved_tables(
                here, alpha, alpha - alphas[0], which * N_LANES, third, n_tags, matrix, direction,
                (table, table, table, table) if is_shared else tables_of(here, n_tags),
                messages, left, right, marginals, expected, out,
            )  # fmt: skip
        group += 2 if mosts[0] > 0 else 1
