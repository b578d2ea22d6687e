"""Sums over tags of sentences side by side, in tiles whose sums stay in registers (`simd.sums`).

Messages times a table: a row of columns of eight sentences. Pairs of messages: a square of tags, of
as many sentences as a register has lanes. What is left over at an edge is computed by a tile that
overlaps the one before.
"""

from partita.kernels.chains.side_by_side import (
    gather_eight,
    load_lanes,
    n_in_squares,
    scatter_eight,
)
from partita.kernels.jit import borrowing, lent, pasted
from partita.kernels.simd.eight import (
    EIGHT,
    all_eight,
    fma,
    load_eight,
    spread_eight,
    store_eight,
    transpose_eight,
)
from partita.kernels.simd.prefetch import prefetch, prefetch_to_write
from partita.kernels.simd.sums import (
    IS_LONG,
    N_COLUMNS,
    N_MOVING_COLUMNS,
    REGISTER,
    SIDE,
    SMALL_SIDE,
    add_columns,
    add_square,
    add_squares,
    load_columns,
    store_columns,
    store_square,
    store_squares,
    zero_columns,
    zero_moving_columns,
    zero_square,
    zero_squares,
)

N_ROWS_TOGETHER = 2 * SIDE if IS_LONG else 3 * SIDE
"""Messages of so many tags, of all words of a group, stay in the first cache."""
N_MOVING_TOGETHER = 9 if IS_LONG else 8
"""The same where messages move: whole squares of the small side."""
OVERRUN = SIDE * EIGHT
"""Numbers behind the last message that a square may reach where tags are few; nothing comes of it.
"""
LINE = 8
"""Numbers in a line of the cache."""


@pasted
def table_stride(n_tags):
    """Number of columns of a table, at least those of a tile; zeros where there is no tag."""
    return max(n_tags, N_COLUMNS)


@lent
def lone_times_table(messages, at, table, start, start_at, n_tags, out, to):
    """`messages_times_table` of one sentence, which all lanes repeat: they go along the columns."""
    stride, zero = table_stride(n_tags), all_eight(0.0)
    last = stride - EIGHT
    for column in range(0, n_tags, 3 * EIGHT):
        second, third = min(column + EIGHT, last), min(column + 2 * EIGHT, last)
        first, cell, a, b, c = min(column, last), 0, zero, zero, zero
        for k in range(at, at + n_tags * EIGHT, EIGHT):
            message = spread_eight(messages, k)
            a = fma(message, load_eight(table, cell + first), a)
            b = fma(message, load_eight(table, cell + second), b)
            c = fma(message, load_eight(table, cell + third), c)
            cell += stride
        repeat(a, start, start_at + first * EIGHT, out, to + first * EIGHT)
        repeat(b, start, start_at + second * EIGHT, out, to + second * EIGHT)
        repeat(c, start, start_at + third * EIGHT, out, to + third * EIGHT)


@borrowing
def repeat(value, start, start_at, out, to):
    """Each lane of a value in all lanes, to eight places in a row; plus what `start` has there."""
    values = transpose_eight(value, value, value, value, value, value, value, value)
    for k in range(EIGHT):
        one = values[k]
        if start is not None:
            one = one + load_eight(start, start_at + k * EIGHT)
        store_eight(out, to + k * EIGHT, one)


@borrowing
def messages_times_table(messages, at, table, start, start_at, n_tags, lone, out, to):
    """out[to + j, lane] = sum_i messages[at + i, lane] table[i, j].

    Unless `start` is None, the sums begin with start[start_at + j, lane]. `lone` says that all
    lanes are alike.
    """
    if lone and n_tags >= EIGHT:
        lone_times_table(messages, at, table, start, start_at, n_tags, out, to)
        return
    stride = table_stride(n_tags)
    for column in range(0, n_tags, N_COLUMNS):
        first, sums = min(column, stride - N_COLUMNS), zero_columns()
        if start is not None:
            sums = load_columns(start, start_at + first * EIGHT)
        cell = first
        for k in range(at, at + n_tags * EIGHT, EIGHT):
            sums = add_columns(sums, load_eight(messages, k), table, cell)
            cell += stride
        store_columns(out, to + first * EIGHT, sums)


@borrowing
def messages_times_tables(
    messages, at, moving, moving_at, table, moved, n_tags, lone, stills, out, moving_out
):
    """out[j] = sum_i messages[at + i] table[i, j], and the same differentiated.

    moving_out[j] = sum_i messages[at + i] moved[i, j] + moving[moving_at + i] table[i, j]. `stills`
    is room for the first half of it.
    """
    if lone and n_tags >= EIGHT:
        lone_times_table(messages, at, table, None, 0, n_tags, out, 0)
        lone_times_table(messages, at, moved, None, 0, n_tags, stills, 0)
        lone_times_table(moving, moving_at, table, stills, 0, n_tags, moving_out, 0)
        return
    stride, further = table_stride(n_tags), moving_at - at
    for column in range(0, n_tags, N_MOVING_COLUMNS):
        first = min(column, stride - N_MOVING_COLUMNS)
        cell, sums, moving_sums = first, zero_moving_columns(), zero_moving_columns()
        for k in range(at, at + n_tags * EIGHT, EIGHT):
            message = load_eight(messages, k)
            sums = add_columns(sums, message, table, cell)
            moving_sums = add_columns(moving_sums, message, moved, cell)
            moving_sums = add_columns(moving_sums, load_eight(moving, k + further), table, cell)
            cell += stride
        store_columns(out, first * EIGHT, sums)
        store_columns(moving_out, first * EIGHT, moving_sums)


@lent
def pair_sums(
    left, left_at, right, right_at, still, still_at, moving, moving_at, n_terms, n_tags,
    matrix, tables, direction, at, marginals, expected, lone, room, out,
):  # fmt: skip
    """out[i, j] = M[i, j] sum_t left[t, i] right[t+1, j], to the tables of the sentences.

    Messages are read from the given places on. Unless `still` is None, still[t] moving[t+1] is
    added to the terms, the derivative of such a product, and (V - E) p to the tables. `room` is
    for the sums of some rows. Where tags are fewer than the side of a square, it reaches into what
    lies behind them, and those sums are not written.
    """
    most, n_different = max(n_tags, SIDE), REGISTER if lone else EIGHT
    width, row_width = n_tags * EIGHT, most * EIGHT
    for top in range(0, n_tags, N_ROWS_TOGETHER):
        end = min(top + N_ROWS_TOGETHER, n_tags)
        for column in range(0, n_tags, SIDE):
            j = min(column, most - SIDE)
            for row in range(top, end, SIDE):
                i = min(row, most - SIDE)
                if marginals is not None and column % LINE < SIDE and n_tags > N_ROWS_TOGETHER:
                    ask_for_rows(marginals, tables, i * n_tags + j, n_tags)
                # The last square may begin before the first of these rows.
                to = (i - top + SIDE - 1) * row_width + j * EIGHT
                for lanes in range(0, n_different, REGISTER):
                    sums = zero_square()
                    before, behind = left_at + i * EIGHT, right_at + width + j * EIGHT
                    for t in range(lanes, lanes + n_terms * width, width):
                        sums = add_square(sums, left, before + t, right, behind + t)
                    if still is not None:
                        before, behind = still_at + i * EIGHT, moving_at + width + j * EIGHT
                        for t in range(lanes, lanes + n_terms * width, width):
                            sums = add_square(sums, still, before + t, moving, behind + t)
                    store_square(room, to + lanes, row_width, sums)
                    if n_different < EIGHT:
                        store_square(room, to + REGISTER, row_width, sums)
        for i in range(top, end):
            write_products(
                room, (i - top + SIDE - 1) * row_width, matrix, i, n_tags, direction, at, marginals,
                expected, out, tables,
            )  # fmt: skip


@borrowing
def room_for_pairs(n_tags):
    """How many numbers `pair_sums` has to keep."""
    return (min(n_tags, N_ROWS_TOGETHER) + 2 * SIDE - 2) * max(n_tags, SIDE) * EIGHT


@lent
def moving_pair_sums(
    messages, alpha, gain, left, right, n_terms, n_tags, matrix, values, tables, expected, lone,
    room, moving_room, marginals, out,
):  # fmt: skip
    """p[i, j] = M[i, j] sum_t alpha[t, i] gain[t+1, j] to the tables of the sentences in marginals.

    And to those in `out` (E - V) p - M sum_t left[t, i] gain[t+1, j] + alpha[t, i] right[t+1, j].
    """
    most, n_different = max(n_tags, SIDE), REGISTER if lone else EIGHT
    width, row_width = n_tags * EIGHT, most * EIGHT
    for top in range(0, n_tags, N_MOVING_TOGETHER):
        end = min(top + N_MOVING_TOGETHER, n_tags)
        for column in range(0, n_tags, SMALL_SIDE):
            j = min(column, most - SMALL_SIDE)
            before = j * EIGHT + width
            for row in range(top, end, SMALL_SIDE):
                i = min(row, most - SMALL_SIDE)
                at, to = i * EIGHT, (i - top + SIDE - 1) * row_width + j * EIGHT
                for lanes in range(0, n_different, REGISTER):
                    sums = zero_squares()
                    for t in range(lanes, lanes + n_terms * width, width):
                        sums = add_squares(
                            sums, messages, alpha + at + t, messages, gain + before + t,
                            left, at + t, right, before + t,
                        )  # fmt: skip
                    store_squares(room, moving_room, to + lanes, row_width, sums)
                    if n_different < EIGHT:
                        store_squares(room, moving_room, to + REGISTER, row_width, sums)
        for i in range(top, end):
            write_moving_products(
                room, moving_room, (i - top + SIDE - 1) * row_width, matrix, values, i, n_tags,
                expected, tables, marginals, out,
            )  # fmt: skip


@borrowing
def write_moving_products(
    sums, moving, first, matrix, values, i, n_tags, expected, tables, marginals, out
):
    """A row of p = M times its sums, and of (E - V) p - M times those that move, to all tables."""
    cell, place, whole = i * table_stride(n_tags), i * n_tags, n_in_squares(n_tags)
    for begin in range(0, whole, EIGHT):
        j = min(begin, whole - EIGHT)
        weights, value, k = load_eight(matrix, cell + j), load_eight(values, place + j), place + j
        still, moved = load_lanes(sums, first + j * EIGHT), load_lanes(moving, first + j * EIGHT)
        for lane in range(EIGHT):
            table = tables[lane] + k
            prefetch_to_write(marginals, table + n_tags)
            prefetch_to_write(out, table + n_tags)
            p = still[lane] * weights
            store_eight(marginals, table, p)
            p = p * (spread_eight(expected, lane) - value) - moved[lane] * weights
            store_eight(out, table, p)
    for j in range(whole, n_tags):
        weight = spread_eight(matrix, cell + j)
        p = load_eight(sums, first + j * EIGHT) * weight
        scatter_eight(marginals, tables, place + j, p)
        p = p * (load_eight(expected, 0) - values[place + j])
        p = p - load_eight(moving, first + j * EIGHT) * weight
        scatter_eight(out, tables, place + j, p)


@borrowing
def ask_for_rows(values, tables, place, n_tags):
    """Fetch a line of some rows of all tables: more rows than the processor follows."""
    for row in range(place, place + SIDE * n_tags, n_tags):
        for table in tables:
            prefetch(values, table + row)


@borrowing
def write_products(sums, first, matrix, i, n_tags, direction, at, marginals, expected, out, tables):
    """A row of M times its sums, and (V - E) p unless `direction` is None, to all tables."""
    cell, place, whole = i * table_stride(n_tags), i * n_tags, n_in_squares(n_tags)
    for begin in range(0, whole, EIGHT):
        j = min(begin, whole - EIGHT)
        a, b, c, d, e, f, g, h = load_lanes(sums, first + j * EIGHT)
        weights, k = load_eight(matrix, cell + j), place + j
        for table in tables:
            prefetch_to_write(out, table + k + n_tags)
        a, b, c, d = a * weights, b * weights, c * weights, d * weights
        e, f, g, h = e * weights, f * weights, g * weights, h * weights
        if direction is not None:
            a = add_moved(a, direction, at[0] + k, expected, 0, marginals, tables[0] + k)
            b = add_moved(b, direction, at[1] + k, expected, 1, marginals, tables[1] + k)
            c = add_moved(c, direction, at[2] + k, expected, 2, marginals, tables[2] + k)
            d = add_moved(d, direction, at[3] + k, expected, 3, marginals, tables[3] + k)
            e = add_moved(e, direction, at[4] + k, expected, 4, marginals, tables[4] + k)
            f = add_moved(f, direction, at[5] + k, expected, 5, marginals, tables[5] + k)
            g = add_moved(g, direction, at[6] + k, expected, 6, marginals, tables[6] + k)
            h = add_moved(h, direction, at[7] + k, expected, 7, marginals, tables[7] + k)
        store_eight(out, tables[0] + k, a)
        store_eight(out, tables[1] + k, b)
        store_eight(out, tables[2] + k, c)
        store_eight(out, tables[3] + k, d)
        store_eight(out, tables[4] + k, e)
        store_eight(out, tables[5] + k, f)
        store_eight(out, tables[6] + k, g)
        store_eight(out, tables[7] + k, h)
    for j in range(whole, n_tags):
        value = load_eight(sums, first + j * EIGHT) * spread_eight(matrix, cell + j)
        if direction is not None:
            moved = gather_eight(direction, at, place + j) - load_eight(expected, 0)
            value = fma(moved, gather_eight(marginals, tables, place + j), value)
        scatter_eight(out, tables, place + j, value)


@pasted
def add_moved(value, direction, moved_at, expected, lane, marginals, place):
    """value + (V - E) p for eight neighbouring tags of a sentence."""
    moved = load_eight(direction, moved_at) - spread_eight(expected, lane)
    return fma(moved, load_eight(marginals, place), value)
