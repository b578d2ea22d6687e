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

from partita.kernels.chains.scaled import transpose
from partita.kernels.chains.side_by_side import (
    lengths_of,
    same_table,
    shifted,
    unary_rows,
    write_rows,
)
from partita.kernels.chains.tiles import messages_times_table, pair_sums
from partita.kernels.jit import kernel
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, gather, load, store
from partita.kernels.simd.small_matrix import largest, weights


@kernel
def read_direction(direction, part_offsets, members, n_words, n_tags, out):
    """out[t, j, lane] = direction of tag j at word t; any finite number behind a sentence's end."""
    for t in range(n_words.max()):
        rows = unary_rows(part_offsets, members, n_words, t, n_tags)
        for j in range(n_tags):
            store(out, (t * n_tags + j) * N_LANES, gather(direction, shifted(rows, j)))


@kernel
def equal_tables(direction, part_offsets, members, n_tags):
    """Whether the transitions of all four sentences move alike, as they mostly do."""
    n_table = n_tags * n_tags
    first = part_offsets[members[0] + 1] - n_table
    equal = True
    for k in range(1, N_LANES):
        if members[k] >= 0:
            table = part_offsets[members[k] + 1] - n_table
            equal = equal and same_table(direction, first, table, n_table)
    return equal


@kernel
def moved_table(matrix, direction, table, n_tags, moved, moved_transposed):
    """M V and its transpose, where all four sentences have one direction."""
    for i in range(n_tags):
        for j in range(n_tags):
            cell = i * n_tags + j
            moved[cell] = matrix[cell] * direction[table + cell]
            moved_transposed[j * n_tags + i] = moved[cell]


@kernel
def moved_lanes(matrix, direction, part_offsets, members, n_tags, moved, moved_transposed):
    """M V and its transpose as [.., .., lane], where the sentences have directions of their own."""
    n_table = n_tags * n_tags
    moved[:], moved_transposed[:] = 0.0, 0.0
    for k in range(N_LANES):
        if members[k] >= 0:
            table = part_offsets[members[k] + 1] - n_table
            for i in range(n_tags):
                for j in range(n_tags):
                    value = matrix[i * n_tags + j] * direction[table + i * n_tags + j]
                    moved[(i * n_tags + j) * N_LANES + k] = value
                    moved_transposed[(j * n_tags + i) * N_LANES + k] = value


@kernel
def messages_times_lanes(messages, at, table, n_tags, out):
    """out[j, lane] = sum_i messages[at + i, lane] table[i, j, lane]."""
    for j in range(n_tags):
        total = broadcast(0.0)
        for i in range(n_tags):
            value = load(table, (i * n_tags + j) * N_LANES)
            total = fma(value, load(messages, at + i * N_LANES), total)
        store(out, j * N_LANES, total)


@kernel
def step(moving, still, at, matrix, moved, n_tags, out, scratch):
    """out = moving M + still (M V), with M V as one table or as one for each lane."""
    messages_times_table(moving, at, matrix, n_tags, out)
    if len(moved) == n_tags * n_tags:
        messages_times_table(still, at, moved, n_tags, scratch)
    else:
        messages_times_lanes(still, at, moved, n_tags, scratch)
    for j in range(0, n_tags * N_LANES, N_LANES):
        store(out, j, load(out, j) + load(scratch, j))


@kernel
def left_messages(values, most, n_tags, matrix, moved, alpha, ratio, left):
    """left[t] = alpha[t] v[t] + ratio[t] (left[t-1] M + alpha[t-1] (M V))."""
    width = n_tags * N_LANES
    sums, scratch = np.zeros(width), np.empty(width)
    for t in range(most):
        row = t * width
        if t > 0:
            step(left, alpha, row - width, matrix, moved, n_tags, sums, scratch)
        for j in range(row, row + width, N_LANES):
            moving = load(ratio, j) * load(sums, j - row)
            store(left, j, fma(load(alpha, j), load(values, j), moving))


@kernel
def right_messages(values, most, n_tags, matrix, moved, beta, ratio, gain, behind, right):
    """behind[t] = M right[t+1] + (M V) gain[t+1]; right[t] = gain[t] v[t] + ratio[t] behind[t]."""
    width = n_tags * N_LANES
    sums, scratch = np.zeros(width), np.empty(width)
    for t in range(most - 1, -1, -1):
        row = t * width
        if t + 1 < most:
            step(right, gain, row + width, matrix, moved, n_tags, sums, scratch)
        for j in range(row, row + width, N_LANES):
            factor, moving = load(ratio, j), load(sums, j - row)
            outside = factor * load(beta, j)
            store(gain, j, outside)
            store(behind, j, moving)
            store(right, j, fma(outside, load(values, j), factor * moving))


@kernel
def combine(most, n_tags, alpha, beta, left, behind):
    """The unary part of the product, in the place of `behind`; returns E of each lane."""
    width = n_tags * N_LANES
    expected = broadcast(0.0)
    for j in range(0, width, N_LANES):
        expected = fma(load(left, j), load(beta, j), expected)
        expected = fma(load(alpha, j), load(behind, j), expected)
    for j in range(0, most * width, N_LANES):
        outside = load(beta, j)
        moving = load(alpha, j) * (load(behind, j) - expected * outside)
        store(behind, j, fma(load(left, j), outside, moving))
    return expected


@kernel
def write_pairs(
    first, second, matrix, expected, direction, marginals, part_offsets, members, n_tags, out
):
    """The pairwise part of the product, to each lane's sentence."""
    n_table = n_tags * n_tags
    for k in range(N_LANES):
        if members[k] >= 0:
            table = part_offsets[members[k] + 1] - n_table
            for cell in range(n_table):
                constant = (direction[table + cell] - expected[k]) * marginals[table + cell]
                sums = first[cell * N_LANES + k] + second[cell * N_LANES + k]
                out[table + cell] = matrix[cell] * sums + constant


@kernel
def product(
    scores, direction, part_offsets, word_offsets, n_tags, marginals,
    members, cells, alpha, beta, ratio, out,
):  # fmt: skip
    """The covariance product of a batch with one transition table per sentence."""
    n_table = n_tags * n_tags
    longest = np.diff(cells).max() if len(members) else 0
    values, left, right = np.empty(longest), np.empty(longest), np.empty(longest)
    gain, behind = np.empty(longest), np.empty(longest)
    matrix, transposed = np.empty(n_table), np.empty(n_table)
    moved, moved_transposed = np.empty(n_table * N_LANES), np.empty(n_table * N_LANES)
    first, second = np.empty(n_table * N_LANES), np.empty(n_table * N_LANES)
    expected = np.empty(N_LANES)
    previous, used = 0, 0
    for group in range(len(members)):
        member, span = members[group], slice(cells[group], cells[group + 1])
        n_words = lengths_of(word_offsets, member)
        most = n_words.max()
        table = part_offsets[member[0] + 1] - n_table
        is_new = group == 0 or not same_table(scores, previous, table, n_table)
        if is_new:
            weights(scores, table, n_table, largest(scores, table, n_table), matrix, 0)
            transpose(matrix, n_tags, transposed)
        if not equal_tables(direction, part_offsets, member, n_tags):
            used = n_table * N_LANES
            moved_lanes(matrix, direction, part_offsets, member, n_tags, moved, moved_transposed)
        elif is_new or used > n_table or not same_table(direction, previous, table, n_table):
            used = n_table
            moved_table(matrix, direction, table, n_tags, moved, moved_transposed)
        previous = table
        read_direction(direction, part_offsets, member, n_words, n_tags, values)
        left_messages(values, most, n_tags, matrix, moved[:used], alpha[span], ratio[span], left)
        right_messages(
            values, most, n_tags, transposed, moved_transposed[:used], beta[span], ratio[span],
            gain, behind, right,
        )  # fmt: skip
        pair_sums(left, gain, n_words, n_tags, first)
        pair_sums(alpha[span], right, n_words, n_tags, second)
        store(expected, 0, combine(most, n_tags, alpha[span], beta[span], left, behind))
        write_pairs(
            first, second, matrix, expected, direction, marginals, part_offsets, member, n_tags, out
        )
        write_rows(behind, part_offsets, member, n_words, n_tags, out)
