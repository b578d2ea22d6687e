"""Mini-batch updates that make the gradient of an attribute and follow it at once.

The features of a batch by attribute (`Columns`) say in which rows of parts an attribute occurs. Its
row of the gradient is summed up in registers and moves its row of weights: no gradient is written
to memory, and only the weights that the batch touches are read, each once. Attributes are
independent of each other, so that threads can share them out.

    gradient[attributes[c], j] = sum over k of values[k] score_gradient[rows[k] + j]

for k from offsets[c] to offsets[c + 1], in the order in which `features.rows.scatter` adds them.
What follows from it is as in `weights.updates`.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.features.rows import value_at
from partita.kernels.jit import borrowing, kernel, step
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, lane, load, spread, total
from partita.kernels.simd.partial import load_some
from partita.kernels.simd.prefetch import prefetch
from partita.kernels.weights.updates import ADAGRAD, ADAM, SGD, follow, read

AHEAD = 16
"""Rows of weights lie far apart, so each is asked for this many attributes before its use."""
LINE = 8
"""Doubles in a cache line."""
ONE = np.uint64(1)
SHARE_OF_LANE = 1.0 / N_LANES
"""What is in all lanes alike counts once."""
MOST_LINES = 8
"""Behind so many lines the processor sees by itself what comes next."""


class Columns(NamedTuple):
    """The rows in which each attribute of a batch occurs."""

    attributes: Array
    """(n_columns,), int32: the attributes that occur; ascending, unless each occurs once."""
    offsets: Array
    """(n_columns + 1,), int32: the occurrences of attribute attributes[c] begin at offsets[c].

    Empty where each occurs once: then attributes come in the order of their rows, which stay in
    the first cache, and nothing has to be guessed.
    """
    rows: Array
    """(n_occurrences,), uint16 or int32: the first part of the row of each."""
    values: Array
    """(n_occurrences,), or empty where all are 1."""


@borrowing
def fetch_row(array, j, width):
    """Ask for a row of weights."""
    # Without a loop where three lines do.
    prefetch(array, j)
    prefetch(array, j + LINE)
    prefetch(array, j + 2 * LINE)
    for at in range(3 * LINE, min(width, MOST_LINES * LINE), LINE):
        prefetch(array, j + at)
    prefetch(array, j + width - 1)


@borrowing
def sum_20(score_gradient, columns, c, column, count):
    """16 columns of the gradient of an attribute, and up to three more, in one loop.

    How often an attribute occurs is not to be foreseen, and each loop over it is a branch that the
    processor guesses wrong; most occur once, and go without.
    """
    k, end = np.uint64(columns.offsets[c]), np.uint64(columns.offsets[c + 1])
    at, value = np.int64(columns.rows[k]) + column, broadcast(value_at(columns.values, k))
    first = value * load(score_gradient, at)
    second = value * load(score_gradient, at + N_LANES)
    third = value * load(score_gradient, at + 2 * N_LANES)
    fourth = value * load(score_gradient, at + 3 * N_LANES)
    fifth = value * load_some(score_gradient, at + 4 * N_LANES, count)
    k += ONE
    while k < end:
        at, value = np.int64(columns.rows[k]) + column, broadcast(value_at(columns.values, k))
        first = fma(value, load(score_gradient, at), first)
        second = fma(value, load(score_gradient, at + N_LANES), second)
        third = fma(value, load(score_gradient, at + 2 * N_LANES), third)
        fourth = fma(value, load(score_gradient, at + 3 * N_LANES), fourth)
        fifth = fma(value, load_some(score_gradient, at + 4 * N_LANES, count), fifth)
        k += ONE
    return first, second, third, fourth, fifth


@borrowing
def sum_some(score_gradient, columns, c, column, count):
    """Up to four columns of the gradient of an attribute."""
    k, end = np.uint64(columns.offsets[c]), np.uint64(columns.offsets[c + 1])
    value = broadcast(value_at(columns.values, k))
    lanes = value * load_some(score_gradient, np.int64(columns.rows[k]) + column, count)
    k += ONE
    while k < end:
        value = broadcast(value_at(columns.values, k))
        lanes = fma(
            value, load_some(score_gradient, np.int64(columns.rows[k]) + column, count), lanes
        )
        k += ONE
    return lanes


@borrowing
def move_some(j, is_one, values, paid, scale, plain, kind, update, method, vectors):
    """`follow`, the share of the penalty times the scale of each weight; none where `plain`."""
    share = paid
    if not plain and len(scale) > 0:
        share = paid * read(scale, j, is_one)
    return follow(j, is_one, values, share, plain, kind, update, method, vectors)


@borrowing
def move_rest(j, count, values, paid, scale, plain, kind, update, method, vectors):
    """The step of up to three weights, one by one."""
    sums = broadcast(0.0)
    if count > 0:
        one = broadcast(lane(values, 0))
        sums = sums + move_some(j, True, one, paid, scale, plain, kind, update, method, vectors)
    if count > 1:
        one = broadcast(lane(values, 1))
        sums = sums + move_some(j + 1, True, one, paid, scale, plain, kind, update, method, vectors)
    if count > 2:
        one = broadcast(lane(values, 2))
        sums = sums + move_some(j + 2, True, one, paid, scale, plain, kind, update, method, vectors)
    return SHARE_OF_LANE * sums


@borrowing
def move_row(
    columns, c, score_gradient, j, width, paid, scale, plain, kind, update, method, vectors
):
    """The step of the weights of one attribute, which are those from j on."""
    sums = broadcast(0.0)
    column = 0
    while column + 4 * N_LANES <= width:
        rest = width - column - 4 * N_LANES
        count = rest if rest < N_LANES else 0
        one, two, three, four, five = sum_20(score_gradient, columns, c, column, count)
        at = j + column
        for_all = paid, scale, plain, kind, update, method, vectors
        one = move_some(at, False, one, *for_all)
        two = move_some(at + N_LANES, False, two, *for_all)
        three = move_some(at + 2 * N_LANES, False, three, *for_all)
        four = move_some(at + 3 * N_LANES, False, four, *for_all)
        five = move_rest(at + 4 * N_LANES, count, five, *for_all)
        sums = sums + ((one + two) + (three + four)) + five
        column += 4 * N_LANES + count
    while column < width:
        for_all = paid, scale, plain, kind, update, method, vectors
        count = min(N_LANES, width - column)
        values = sum_some(score_gradient, columns, c, column, count)
        if count == N_LANES:
            sums = sums + move_some(j + column, False, values, *for_all)
        else:
            sums = sums + move_rest(j + column, count, values, *for_all)
        column += N_LANES
    return sums


@borrowing
def move_single(
    columns, c, score_gradient, j, width, paid, scale, plain, kind, update, method, vectors
):
    """`move_row` of an attribute that occurs once."""
    at, value = np.int64(columns.rows[c]), broadcast(value_at(columns.values, c))
    sums, rest = broadcast(0.0), broadcast(0.0)
    column = 0
    while column + N_LANES <= width:
        values = value * load(score_gradient, at + column)
        sums = sums + move_some(
            j + column, False, values, paid, scale, plain, kind, update, method, vectors
        )
        column += N_LANES
    while column < width:
        values = value * spread(score_gradient, at + column)
        rest = rest + move_some(
            j + column, True, values, paid, scale, plain, kind, update, method, vectors
        )
        column += 1
    return sums + SHARE_OF_LANE * rest


@borrowing
def next_attribute(columns, c, end, first, width, shares, kind, vectors):
    """Where the weights of an attribute begin, and its share; asks for those of a later one."""
    attribute = columns.attributes[c]
    later = first + columns.attributes[min(c + AHEAD, end - 1)] * width
    fetch_row(vectors.weights, later, width)
    if kind != SGD:
        fetch_row(vectors.squares, later, width)
    if kind == ADAM:
        fetch_row(vectors.means, later, width)
    paid = broadcast(np.float64(shares[attribute]) if len(shares) > 0 else 0.0)
    return first + attribute * width, paid


@borrowing
def move_singles(
    columns, begin, end, score_gradient, first, width, shares, scale, plain, kind, update, method,
    vectors,
):  # fmt: skip
    """`move` of attributes that occur once."""
    sums = broadcast(0.0)
    for c in range(begin, end):
        j, paid = next_attribute(columns, c, end, first, width, shares, kind, vectors)
        sums = sums + move_single(
            columns, c, score_gradient, j, width, paid, scale, plain, kind, update, method, vectors
        )
    return total(sums)


@step
def move_columns(
    columns, begin, end, score_gradient, first, width, shares, scale, update, method, vectors
):
    """One step of the weights of the attributes from `begin` to `end`; the squared norm of their g.

    The weights of attribute a are those from first + a width on. `shares` has a number for each
    attribute (or is empty, without a penalty), `scale` for each weight (or is empty: all 1).
    """
    if len(columns.offsets) > 0:
        sums = broadcast(0.0)
        for c in range(begin, end):
            j, paid = next_attribute(columns, c, end, first, width, shares, method.kind, vectors)
            sums = sums + move_row(
                columns, c, score_gradient, j, width, paid, scale, False, method.kind, update,
                method, vectors,
            )  # fmt: skip
        return total(sums)
    # Where there is nothing but the method, the branches are taken here and not for each weight.
    if update.l1 > 0.0 or update.age > 0.0 or len(scale) > 0:
        return move_singles(
            columns, begin, end, score_gradient, first, width, shares, scale, False, method.kind,
            update, method, vectors,
        )  # fmt: skip
    if method.kind == ADAGRAD:
        return move_singles(
            columns, begin, end, score_gradient, first, width, shares, scale, True, ADAGRAD,
            update, method, vectors,
        )  # fmt: skip
    if method.kind == ADAM:
        return move_singles(
            columns, begin, end, score_gradient, first, width, shares, scale, True, ADAM,
            update, method, vectors,
        )  # fmt: skip
    return move_singles(
        columns, begin, end, score_gradient, first, width, shares, scale, True, SGD,
        update, method, vectors,
    )  # fmt: skip


@kernel
def move(columns, begin, end, score_gradient, first, width, shares, scale, update, method, vectors):
    """`move_columns`, called from Python."""
    return move_columns(
        columns, begin, end, score_gradient, first, width, shares, scale, update, method, vectors
    )
