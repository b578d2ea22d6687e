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
from partita.kernels.jit import borrowing, kernel
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, total
from partita.kernels.simd.partial import load_some
from partita.kernels.simd.prefetch import prefetch
from partita.kernels.weights.updates import follow

AHEAD = 8
"""Rows of weights lie far apart, so each is asked for this many attributes before its use."""
LINE = 8
"""Doubles in a cache line."""
ONE = np.uint64(1)
MOST_LINES = 8
"""Behind so many lines the processor sees by itself what comes next."""


class Columns(NamedTuple):
    """The rows in which each attribute of a batch occurs."""

    attributes: Array
    """(n_columns,), int32: the attributes that occur, ascending."""
    offsets: Array
    """(n_columns + 1,), int32: the occurrences of attribute attributes[c] begin at offsets[c]."""
    rows: Array
    """(n_occurrences,), uint16 or int32: the first part of the row of each."""
    values: Array
    """(n_occurrences,), or empty where all are 1."""


@borrowing
def fetch_row(array, j, width):
    """Ask for a row of weights, unless the array is empty."""
    if len(array) > 0:
        # Without a loop where three lines do.
        prefetch(array, j)
        prefetch(array, j + LINE)
        prefetch(array, j + 2 * LINE)
        for at in range(3 * LINE, min(width, MOST_LINES * LINE), LINE):
            prefetch(array, j + at)
        prefetch(array, j + width - 1)


@borrowing
def sum_20(score_gradient, columns, c, column, count):
    """16 columns of the gradient of an attribute, and up to four more, in one loop.

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
def move_some(j, count, values, paid, scale, update, method, vectors):
    """`follow`, the share of the penalty times the scale of each weight."""
    share = paid * load_some(scale, j, count) if len(scale) > 0 else paid
    return follow(j, count, values, share, update, method, vectors)


@borrowing
def move_row(columns, c, score_gradient, j, width, paid, scale, update, method, vectors):
    """The step of the weights of one attribute, which are those from j on."""
    sums = broadcast(0.0)
    column = 0
    while column + 4 * N_LANES <= width:
        count = min(N_LANES, width - column - 4 * N_LANES)
        one, two, three, four, rest = sum_20(score_gradient, columns, c, column, count)
        at = j + column
        one = move_some(at, N_LANES, one, paid, scale, update, method, vectors)
        two = move_some(at + N_LANES, N_LANES, two, paid, scale, update, method, vectors)
        three = move_some(at + 2 * N_LANES, N_LANES, three, paid, scale, update, method, vectors)
        four = move_some(at + 3 * N_LANES, N_LANES, four, paid, scale, update, method, vectors)
        sums = sums + ((one + two) + (three + four))
        if count > 0:
            sums = sums + move_some(
                at + 4 * N_LANES, count, rest, paid, scale, update, method, vectors
            )
        column += 4 * N_LANES + count
    while column < width:
        count = min(N_LANES, width - column)
        values = sum_some(score_gradient, columns, c, column, count)
        sums = sums + move_some(j + column, count, values, paid, scale, update, method, vectors)
        column += N_LANES
    return sums


@borrowing
def move_column(
    columns, c, end, score_gradient, first, width, shares, scale, update, method, vectors
):
    """The step of one attribute; asks for the weights of one that comes later."""
    attribute = columns.attributes[c]
    later = first + columns.attributes[min(c + AHEAD, end - 1)] * width
    fetch_row(vectors.weights, later, width)
    fetch_row(vectors.squares, later, width)
    fetch_row(vectors.means, later, width)
    paid = broadcast(np.float64(shares[attribute]) if len(shares) > 0 else 0.0)
    j = first + attribute * width
    return move_row(columns, c, score_gradient, j, width, paid, scale, update, method, vectors)


@kernel
def move(
    columns, ends, begin, end, score_gradient, first, width, shares, scale, update, method,
    vectors, squares,
):  # fmt: skip
    """One step of the weights of the attributes of chunks `begin` to `end`.

    Chunk i has the attributes from ends[i] to ends[i + 1]; squares[i] = the squared norm of its g.
    The weights of attribute a are those from first + a width on. `shares` has a number for each
    attribute (or is empty, without a penalty), `scale` for each weight (or is empty: all 1).
    """
    for chunk in range(begin, end):
        sums = broadcast(0.0)
        for c in range(ends[chunk], ends[chunk + 1]):
            sums = sums + move_column(
                columns, c, ends[chunk + 1], score_gradient, first, width, shares, scale, update,
                method, vectors,
            )  # fmt: skip
        squares[chunk] = total(sums)
