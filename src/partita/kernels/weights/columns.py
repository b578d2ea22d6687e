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
from partita.kernels.simd.alike import all_like, load_like
from partita.kernels.simd.eight import EIGHT, all_eight, halves, load_eight
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, lane, load, total
from partita.kernels.simd.partial import load_some
from partita.kernels.simd.prefetch import prefetch_to_write
from partita.kernels.weights.updates import ADAGRAD, ADAM, SGD, follow

AHEAD = 16
"""Rows of weights lie far apart, so each is asked for this many attributes before its use."""
LINE = 8
"""Doubles in a cache line."""
ONE = np.uint64(1)
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
    """Ask for a row of weights, which will be written, and for nothing that is another thread's."""
    last = j + width - 1
    # Without a loop where three lines do.
    prefetch_to_write(array, j)
    prefetch_to_write(array, min(j + LINE, last))
    prefetch_to_write(array, min(j + 2 * LINE, last))
    for at in range(3 * LINE, min(width, MOST_LINES * LINE), LINE):
        prefetch_to_write(array, j + at)
    if width > 2 * LINE + 1:
        prefetch_to_write(array, last)


@borrowing
def sum_20(score_gradient, columns, c, column, count):
    """16 columns of the gradient of an attribute, and up to three more, in one loop.

    How often an attribute occurs is not to be foreseen, and each loop over it is a branch that the
    processor guesses wrong; most occur once, and go without.
    """
    k, end = np.uint64(columns.offsets[c]), np.uint64(columns.offsets[c + 1])
    at, value = np.int64(columns.rows[k]) + column, value_at(columns.values, k)
    first = all_eight(value) * load_eight(score_gradient, at)
    second = all_eight(value) * load_eight(score_gradient, at + EIGHT)
    third = broadcast(value) * load_some(score_gradient, at + 2 * EIGHT, count)
    k += ONE
    while k < end:
        at, value = np.int64(columns.rows[k]) + column, value_at(columns.values, k)
        first = fma(all_eight(value), load_eight(score_gradient, at), first)
        second = fma(all_eight(value), load_eight(score_gradient, at + EIGHT), second)
        third = fma(broadcast(value), load_some(score_gradient, at + 2 * EIGHT, count), third)
        k += ONE
    return first, second, third


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
def move_some(j, values, paid, scale, plain, kind, update, method, vectors):
    """`follow`, the share of the penalty times the scale of each weight; none where `plain`."""
    share = all_like(values, paid)
    if not plain and len(scale) > 0:
        share = share * load_like(values, scale, j)
    return follow(j, values, share, plain, kind, update, method, vectors)


@borrowing
def move_rest(j, count, values, paid, scale, plain, kind, update, method, vectors):
    """The step of up to three weights, one by one."""
    sums, for_all = 0.0, (paid, scale, plain, kind, update, method, vectors)
    if count > 0:
        sums += move_some(j, lane(values, 0), *for_all)
    if count > 1:
        sums += move_some(j + 1, lane(values, 1), *for_all)
    if count > 2:
        sums += move_some(j + 2, lane(values, 2), *for_all)
    return sums


@borrowing
def move_row(
    columns, c, score_gradient, j, width, paid, scale, plain, kind, update, method, vectors
):
    """The step of the weights of one attribute, which are those from j on; sums of squares."""
    sums, rest = all_eight(0.0), 0.0
    for_all = paid, scale, plain, kind, update, method, vectors
    column = 0
    while column + 2 * EIGHT <= width:
        others = width - column - 2 * EIGHT
        count = others if others < N_LANES else 0
        one, two, three = sum_20(score_gradient, columns, c, column, count)
        at = j + column
        one = move_some(at, one, *for_all)
        two = move_some(at + EIGHT, two, *for_all)
        sums, rest = sums + (one + two), rest + move_rest(at + 2 * EIGHT, count, three, *for_all)
        column += 2 * EIGHT + count
    while column < width:
        count = min(N_LANES, width - column)
        values = sum_some(score_gradient, columns, c, column, count)
        if count == N_LANES:
            rest += total(move_some(j + column, values, *for_all))
        else:
            rest += move_rest(j + column, count, values, *for_all)
        column += N_LANES
    return sums, rest


@borrowing
def move_single(
    columns, c, score_gradient, j, width, paid, scale, plain, kind, update, method, vectors
):
    """`move_row` of an attribute that occurs once."""
    at, value = np.int64(columns.rows[c]), value_at(columns.values, c)
    sums, rest = all_eight(0.0), 0.0
    for_all = paid, scale, plain, kind, update, method, vectors
    column = 0
    while column + EIGHT <= width:
        values = value * load_eight(score_gradient, at + column)
        sums = sums + move_some(j + column, values, *for_all)
        column += EIGHT
    if column + N_LANES <= width:
        values = value * load(score_gradient, at + column)
        rest += total(move_some(j + column, values, *for_all))
        column += N_LANES
    while column < width:
        values = value * load_like(0.0, score_gradient, at + column)
        rest += move_some(j + column, values, *for_all)
        column += 1
    return sums, rest


@borrowing
def sum_of(sums, rest):
    """The sum of eight lanes, and a number."""
    first, last = halves(sums)
    return total(first + last) + rest


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
    paid = np.float64(shares[attribute]) if len(shares) > 0 else 0.0
    return first + attribute * width, paid


@borrowing
def move_singles(
    columns, begin, end, score_gradient, first, width, shares, scale, plain, kind, update, method,
    vectors,
):  # fmt: skip
    """`move` of attributes that occur once."""
    sums, rest = all_eight(0.0), 0.0
    for c in range(begin, end):
        j, paid = next_attribute(columns, c, end, first, width, shares, kind, vectors)
        more, last = move_single(
            columns, c, score_gradient, j, width, paid, scale, plain, kind, update, method, vectors
        )
        sums, rest = sums + more, rest + last
    return sum_of(sums, rest)


@step
def move_columns(
    columns, begin, end, score_gradient, first, width, shares, scale, update, method, vectors
):
    """One step of the weights of the attributes from `begin` to `end`; the squared norm of their g.

    The weights of attribute a are those from first + a width on. `shares` has a number for each
    attribute (or is empty, without a penalty), `scale` for each weight (or is empty: all 1).
    """
    if len(columns.offsets) > 0:
        sums, rest = all_eight(0.0), 0.0
        for c in range(begin, end):
            j, paid = next_attribute(columns, c, end, first, width, shares, method.kind, vectors)
            more, last = move_row(
                columns, c, score_gradient, j, width, paid, scale, False, method.kind, update,
                method, vectors,
            )  # fmt: skip
            sums, rest = sums + more, rest + last
        return sum_of(sums, rest)
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
