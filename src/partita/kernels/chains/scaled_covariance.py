"""Covariance product of chains with shared transitions, from the messages of `chains.scaled`.

With prefix and suffix expectations of the direction as in `covariance`, left = alpha * prefix
and right = gain * (v + suffix) obey the recursions of alpha and gain, differentiated:

    left[t]  = alpha[t] v[t] + ratio[t] (left[t-1] M + alpha[t-1] (M V))
    right[t] = gain[t] v[t] + ratio[t] behind[t],   behind[t] = M right[t+1] + (M V) gain[t+1]

and with E = sum left beta + alpha behind at the first word, the product is

    left beta + alpha (behind - E beta)                                     for tags
    M (sum_t left[t-1] gain[t] + alpha[t-1] right[t]) + (V - E) p           for transitions.
"""

import numpy as np

from partita.kernels.chains.scaled import read_table
from partita.kernels.chains.side_by_side import (
    lengths_of,
    n_slots,
    same_table,
    shifted,
    tables_of,
    unary_rows,
    write_rows,
    write_tables,
)
from partita.kernels.chains.tiles import (
    messages_times_table,
    moving_times_table,
    pair_sums,
    table_stride,
)
from partita.kernels.jit import kernel, step
from partita.kernels.simd.four_rows import load_four
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    fma,
    gather,
    lane,
    load,
    spread,
    store,
)


@step
def read_direction(direction, part_offsets, members, first, lengths, n_tags, out):
    """out[t, j, lane] = direction of tag j at word t; any finite number behind a sentence's end."""
    slots = n_slots(n_tags)
    for t in range(lengths[3]):
        rows = unary_rows(part_offsets, members, first, lengths, t, n_tags)
        row, whole = t * slots * N_LANES, n_tags - n_tags % N_LANES
        for j in range(0, whole, N_LANES):
            load_four(direction, rows, j, out, row + j * N_LANES)
        for j in range(whole, n_tags):
            store(out, row + j * N_LANES, gather(direction, shifted(rows, j)))
        for j in range(n_tags, slots):
            store(out, (t * slots + j) * N_LANES, broadcast(0.0))


@step
def equal_tables(direction, tables, n_table):
    """Whether the transitions of all four sentences move alike, as they mostly do."""
    equal = True
    for k in range(1, N_LANES):
        equal = equal and same_table(direction, tables[0], tables[k], n_table)
    return equal


@step
def moved_table(matrix, direction, table, n_tags, moved, moved_transposed):
    """M V and its transpose, where all four sentences have one direction."""
    stride = table_stride(n_tags)
    for i in range(n_tags):
        for j in range(stride):
            moved[i * stride + j], moved_transposed[i * stride + j] = 0.0, 0.0
    for i in range(n_tags):
        for j in range(n_tags):
            value = matrix[i * stride + j] * direction[table + i * n_tags + j]
            moved[i * stride + j] = value
            moved_transposed[j * stride + i] = value


@step
def moved_lanes(matrix, direction, tables, n_tags, moved, moved_transposed):
    """M V and its transpose as [.., .., lane], where the sentences have directions of their own."""
    stride = table_stride(n_tags)
    for i in range(n_tags):
        for j in range(n_tags):
            value = gather(direction, shifted(tables, i * n_tags + j))
            value = spread(matrix, i * stride + j) * value
            store(moved, (i * n_tags + j) * N_LANES, value)
            store(moved_transposed, (j * n_tags + i) * N_LANES, value)


@step
def messages_times_lanes(messages, at, table, n_tags, out):
    """out[j, lane] = sum_i messages[at + i, lane] table[i, j, lane]."""
    for j in range(n_tags):
        total = broadcast(0.0)
        for i in range(n_tags):
            value = load(table, (i * n_tags + j) * N_LANES)
            total = fma(value, load(messages, at + i * N_LANES), total)
        store(out, j * N_LANES, total)


@step
def move(moving, at, still, still_at, matrix, moved, is_shared, n_tags, out, scratch):
    """out = moving M + still (M V), with M V as one table or as one for each lane."""
    if is_shared:
        moving_times_table(moving, at, matrix, still, still_at, moved, n_tags, out)
        return
    messages_times_table(moving, at, matrix, n_tags, out)
    messages_times_lanes(still, still_at, moved, n_tags, scratch)
    for j in range(0, n_tags * N_LANES, N_LANES):
        store(out, j, load(out, j) + load(scratch, j))


@step
def clear(sums, n_lanes):
    """Zeros in all lanes."""
    for j in range(0, n_lanes, N_LANES):
        store(sums, j, broadcast(0.0))


@step
def left_messages(
    values, most, n_tags, matrix, moved, is_shared, messages, alpha, ratio, sums, scratch, left
):
    """left[t] = alpha[t] v[t] + ratio[t] (left[t-1] M + alpha[t-1] (M V))."""
    width = n_slots(n_tags) * N_LANES
    clear(sums, width)
    for t in range(most):
        row = t * width
        if t > 0:
            move(
                left, row - width, messages, alpha + row - width, matrix, moved, is_shared,
                n_tags, sums, scratch,
            )  # fmt: skip
        for j in range(0, width, N_LANES):
            moving = load(messages, ratio + row + j) * load(sums, j)
            value = fma(load(messages, alpha + row + j), load(values, row + j), moving)
            store(left, row + j, value)


@step
def right_messages(
    values, most, n_tags, matrix, moved, is_shared, messages, beta, ratio,
    sums, scratch, gain, behind, right,
):  # fmt: skip
    """behind[t] = M right[t+1] + (M V) gain[t+1]; right[t] = gain[t] v[t] + ratio[t] behind[t]."""
    width = n_slots(n_tags) * N_LANES
    clear(sums, width)
    for t in range(most - 1, -1, -1):
        row = t * width
        if t + 1 < most:
            move(
                right, row + width, gain, row + width, matrix, moved, is_shared,
                n_tags, sums, scratch,
            )  # fmt: skip
        for j in range(0, width, N_LANES):
            factor, moving = load(messages, ratio + row + j), load(sums, j)
            outside = factor * load(messages, beta + row + j)
            store(gain, row + j, outside)
            store(behind, row + j, moving)
            store(right, row + j, fma(outside, load(values, row + j), factor * moving))


@step
def combine(n_cells, width, messages, alpha, beta, left, behind, sign):
    """The unary part of the product, times `sign`, in the place of `behind`; returns E."""
    expected = broadcast(0.0)
    for j in range(0, width, N_LANES):
        expected = fma(load(left, j), load(messages, beta + j), expected)
        expected = fma(load(messages, alpha + j), load(behind, j), expected)
    for j in range(0, n_cells, N_LANES):
        outside = load(messages, beta + j)
        moving = load(messages, alpha + j) * (load(behind, j) - expected * outside)
        store(behind, j, fma(load(left, j), outside, moving) * sign)
    return expected


@step
def add_moved_tables(members, first, expected, direction, at, tables, marginals, n_table, out):
    """out += (V - E) p for the transitions of each sentence of a group.

    V starts at[k] numbers into the direction. A lane without a sentence repeats the one before.
    """
    for k in range(N_LANES):
        if k > 0 and members[first + k] == members[first + k - 1]:
            continue
        mean, table, values = lane(expected, k), tables[k], at[k]
        whole = n_table - n_table % N_LANES
        for part in range(0, whole, N_LANES):
            moved = load(direction, values + part) - mean
            sums = fma(moved, load(marginals, table + part), load(out, table + part))
            store(out, table + part, sums)
        for part in range(whole, n_table):
            moved = direction[values + part] - mean
            out[table + part] += moved * marginals[table + part]


@kernel
def product(
    scores, direction, part_offsets, word_offsets, n_tags, marginals,
    members, cells, n_groups, messages, out,
):  # fmt: skip
    """The covariance product of a batch with one transition table per sentence."""
    n_table, stride, slots = n_tags * n_tags, table_stride(n_tags), n_slots(n_tags)
    third, longest, width = cells[n_groups], 0, slots * N_LANES
    for group in range(n_groups):
        longest = max(longest, cells[group + 1] - cells[group])
    values, left, right = np.empty(longest), np.empty(longest), np.empty(longest)
    gain, behind = np.empty(longest), np.empty(longest)
    matrix, transposed = np.empty(n_tags * stride), np.empty(n_tags * stride)
    sums, scratch = np.empty(stride * N_LANES), np.empty(stride * N_LANES)
    # Either one table, or one for each lane.
    size = n_tags * stride * N_LANES
    moved, moved_transposed = np.empty(size), np.empty(size)
    pairs = np.empty(slots * width)
    previous, is_shared = 0, False
    for group in range(n_groups):
        first, alpha = group * N_LANES, cells[group]
        beta, ratio = alpha + third, alpha + 2 * third
        lengths = lengths_of(word_offsets, members, first)
        most, tables = lengths[3], tables_of(part_offsets, members, first, n_table)
        is_new = group == 0 or not same_table(scores, previous, tables[0], n_table)
        if is_new:
            read_table(scores, tables[0], n_tags, matrix, transposed)
        was_shared, is_shared = is_shared, equal_tables(direction, tables, n_table)
        if not is_shared:
            moved_lanes(matrix, direction, tables, n_tags, moved, moved_transposed)
        elif is_new or not was_shared or not same_table(direction, previous, tables[0], n_table):
            moved_table(matrix, direction, tables[0], n_tags, moved, moved_transposed)
        previous = tables[0]
        read_direction(direction, part_offsets, members, first, lengths, n_tags, values)
        left_messages(
            values, most, n_tags, matrix, moved, is_shared, messages, alpha, ratio,
            sums, scratch, left,
        )  # fmt: skip
        right_messages(
            values, most, n_tags, transposed, moved_transposed, is_shared, messages, beta, ratio,
            sums, scratch, gain, behind, right,
        )  # fmt: skip
        pair_sums(left, 0, gain, messages, alpha, right, most - 1, n_tags, pairs)
        expected = combine(most * width, width, messages, alpha, beta, left, behind, 1.0)
        write_tables(pairs, matrix, stride, part_offsets, members, first, n_tags, out)
        add_moved_tables(
            members, first, expected, direction, tables, tables, marginals, n_table, out
        )
        write_rows(behind, part_offsets, members, first, lengths, n_tags, out)
