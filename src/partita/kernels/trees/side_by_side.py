"""Trees side by side: the arcs of four sentences of like length, one sentence in each SIMD lane.

A matrix of arcs is a square over positions 0 .. n, where 0 is the root and n the length of the
longest of the four: [head, modifier, lane]. What a shorter sentence lacks are arcs of weight 0,
which change nothing, not even the last bit. A lane for which there is no sentence repeats the last
one, so that it can be treated as if it were there. In what follows `at` has the `n_words` of a
square and the `stride` of its rows, in doubles.
"""

import numpy as np

from partita.kernels.jit import borrowing, pasted, step
from partita.kernels.simd import lanes
from partita.kernels.simd.any_lanes import gather, scatter
from partita.kernels.simd.eight import EIGHT, all_eight, store_eight
from partita.kernels.simd.eight_rows import load_square
from partita.kernels.simd.either import all_lanes, doubles, load, n_lanes, store
from partita.kernels.simd.exponential import LOWEST, exponential
from partita.kernels.simd.four_rows import load_four, store_four
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    maximum,
    select,
)


@borrowing
def lengths_of(n_words, order, first):
    """Number of words of the four sentences from order[first] on."""
    last = len(order) - 1
    return (
        n_words[order[first]],
        n_words[order[min(first + 1, last)]],
        n_words[order[min(first + 2, last)]],
        n_words[order[min(first + 3, last)]],
    )


@borrowing
def rows_of(part_offsets, order, first, lengths, head):
    """Where the arcs from a head start in four sentences; those from the last word if they end."""
    last = len(order) - 1
    a, b, c, d = lengths
    return (
        part_offsets[order[first]] + min(head, a) * (a + 1),
        part_offsets[order[min(first + 1, last)]] + min(head, b) * (b + 1),
        part_offsets[order[min(first + 2, last)]] + min(head, c) * (c + 1),
        part_offsets[order[min(first + 3, last)]] + min(head, d) * (d + 1),
    )


@pasted
def cells_of(rows, lengths, modifier):
    """Where the arcs of these rows to a modifier are; those to the last word if they end."""
    return (
        rows[0] + min(modifier, lengths[0]),
        rows[1] + min(modifier, lengths[1]),
        rows[2] + min(modifier, lengths[2]),
        rows[3] + min(modifier, lengths[3]),
    )


@pasted
def n_common(lengths, head):
    """How many arcs from a head, counted from 0, are there in all four sentences; 0 below four.

    They are read and written in squares of four, the last of which ends with them, and so may
    hold some that the one before it has.
    """
    shortest = min(min(lengths[0], lengths[1]), min(lengths[2], lengths[3]))
    return shortest + 1 if head <= shortest and shortest + 1 >= N_LANES else 0


@borrowing
def starts_of_eight(part_offsets, n_words, order, first, head):
    """Where the arcs from a head start in eight sentences, all of which have it."""
    last = len(order) - 1
    a, b = order[first], order[min(first + 1, last)]
    c, d = order[min(first + 2, last)], order[min(first + 3, last)]
    e, f = order[min(first + 4, last)], order[min(first + 5, last)]
    g, h = order[min(first + 6, last)], order[min(first + 7, last)]
    return (
        part_offsets[a] + head * (n_words[a] + 1),
        part_offsets[b] + head * (n_words[b] + 1),
        part_offsets[c] + head * (n_words[c] + 1),
        part_offsets[d] + head * (n_words[d] + 1),
        part_offsets[e] + head * (n_words[e] + 1),
        part_offsets[f] + head * (n_words[f] + 1),
        part_offsets[g] + head * (n_words[g] + 1),
        part_offsets[h] + head * (n_words[h] + 1),
    )


@borrowing
def n_in_squares(n_words, order, first, n_sides, at):
    """How many arcs, from how many heads, are read and written in squares of eight; 0 for none.

    Those that all eight sentences have, where there are eight side by side, and eight at least.
    And whether there are no others. Where these fill the matrix, its rows are one.
    """
    shortest = longest = n_words[order[first]]
    for index in range(first + 1, min(first + n_sides, len(order))):
        shortest = min(shortest, n_words[order[index]])
        longest = max(longest, n_words[order[index]])
    n_alike = shortest + 1 if n_sides == EIGHT <= shortest + 1 else 0
    if n_alike > at.n_words:
        return n_alike * n_alike, 1, True
    return n_alike, n_alike, n_alike > longest


@step
def fill_lanes(values, part_offsets, n_words, order, first, at, fill, matrix):
    """A matrix from the arcs of four sentences, or eight, with `fill` where there is none.

    What the arcs have in column 0 and on the diagonal has no effect.
    """
    whole, ends, apart = doubles(matrix), np.empty(n_lanes(matrix)), n_lanes(matrix)
    for index in range(apart):
        ends[index] = n_words[order[min(first + index, len(order) - 1)]]
    n_alike, n_heads, is_all = n_in_squares(n_words, order, first, apart, at)
    for head in range(at.n_words + 1):
        row, done = head * (at.n_words + 1) * apart, n_alike if head < n_heads else 0
        if done > 0:
            rows = starts_of_eight(part_offsets, n_words, order, first, head)
            for j in range(0, done, EIGHT):
                square = min(j, done - EIGHT)
                load_square(values, rows, square, whole, row + square * apart, apart)
        if is_all:
            for j in range(done if n_heads > 1 else at.n_words + 1, at.n_words + 1):
                store_eight(whole, row + j * apart, all_eight(fill))
            store_eight(whole, row, all_eight(fill))
            store_eight(whole, row + head * apart, all_eight(fill))
            continue
        for half in range(0, apart, N_LANES):
            start = min(first + half, len(order) - 1)
            places = part_offsets, order, start, lengths_of(n_words, order, start)
            fill_row(
                values, places, head, at, lanes.load(ends, half), fill, whole, apart, half, done
            )


@borrowing
def fill_row(values, places, head, at, ends, fill, matrix, apart, half, done):
    """A row of four lanes of a matrix of doubles whose cells are `apart`, from lane `half` on.

    So many cells are `done` already.
    """
    part_offsets, order, first, lengths = places
    rows = rows_of(part_offsets, order, first, lengths, head)
    row, common = head * (at.n_words + 1) * apart + half, n_common(lengths, head)
    for j in range(done, common, N_LANES):
        square = min(j, common - N_LANES)
        load_four(values, rows, square, matrix, row + square * apart, apart)
    for j in range(max(common, 1), at.n_words + 1):
        value = gather(values, cells_of(rows, lengths, j))
        value = select(ends >= float(max(head, j)), value, fill)
        lanes.store(matrix, row + j * apart, value)
    lanes.store(matrix, row, broadcast(fill))
    lanes.store(matrix, row + head * apart, broadcast(fill))


@step
def write_lanes(matrix, at, part_offsets, n_words, order, first, out):
    """A matrix to the arcs of its sentences, with zeros in column 0 and on the diagonal.

    From the last cell to the first: what a shorter sentence lacks is written to its last row or
    column, before what belongs there.
    """
    whole, apart = doubles(matrix), n_lanes(matrix)
    for half in range(0, apart, N_LANES):
        start = min(first + half, len(order) - 1)
        lengths = lengths_of(n_words, order, start)
        for head in range(at.n_words, -1, -1):
            rows = rows_of(part_offsets, order, start, lengths, head)
            cell = head * (at.n_words + 1) * apart + half
            write_row(whole, cell, apart, at, head, lengths, rows, out)


@borrowing
def write_row(matrix, row, apart, at, head, lengths, rows, out):
    """Four lanes of a row of a matrix of doubles whose cells are `apart`."""
    zero, common = broadcast(0.0), n_common(lengths, head)
    for j in range(at.n_words, max(common, 1) - 1, -1):
        scatter(out, cells_of(rows, lengths, j), lanes.load(matrix, row + j * apart))
    for j in range(0, common, N_LANES):
        square = min(j, common - N_LANES)
        store_four(matrix, row + square * apart, apart, out, rows, square)
    scatter(out, rows, zero)
    scatter(out, cells_of(rows, lengths, head), zero)


@step
def best_arcs(scores, at, first, best):
    """best[m] = max over heads h >= first of scores[h, m], which may be -inf."""
    for modifier in range(0, at.stride, N_LANES):
        highest = all_lanes(scores, -np.inf)
        for row in range(first * at.stride, (at.n_words + 1) * at.stride, at.stride):
            highest = maximum(load(scores, row + modifier), highest)
        store(best, modifier, highest)


@step
def exponentiate(scores, at, best):
    """scores = exp(scores - best), in place; counts in each lane the finite ones, and those now 0.

    Every word has exactly one head, so taking best[m] out of every arc to m takes the same
    amount out of every tree. Where best[m] is -inf nothing is taken out.
    """
    n_finite, n_lost = all_lanes(scores, 0.0), all_lanes(scores, 0.0)
    for row in range(0, (at.n_words + 1) * at.stride, at.stride):
        for modifier in range(0, at.stride, N_LANES):
            highest = load(best, modifier)
            score = load(scores, row + modifier) - select(highest > -np.inf, highest, 0.0)
            is_finite = select(score > -np.inf, 1.0, all_lanes(scores, 0.0))
            n_finite = n_finite + is_finite
            n_lost = n_lost + select(score < LOWEST, is_finite, 0.0)
            store(scores, row + modifier, exponential(score))
    return n_finite, n_lost


@step
def total_best(best, n_sides, n_words, index):
    """What was taken out of the trees of one of the lanes, given as doubles.

    -inf if a word has no arc.
    """
    total = 0.0
    for word in range(1, n_words + 1):
        total += best[word * n_sides + index]
    return total
