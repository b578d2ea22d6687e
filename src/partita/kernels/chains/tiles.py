"""Sums over tags of sentences side by side, in tiles whose sums stay in registers.

A sum takes four or five cycles to be ready for its next term, and two registers of four can be
begun in each. Five columns of eight sentences are ten of those, for seven loads a step, which keeps
the processor at its limit, with registers of eight doubles (AVX-512) or of four. What is left over
at an edge is computed by a tile that overlaps the one before.
"""

from partita.kernels.chains.side_by_side import (
    gather_eight,
    load_lanes,
    n_in_squares,
    n_slots,
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
from partita.kernels.simd.lanes import N_LANES, broadcast, load, store
from partita.kernels.simd.prefetch import prefetch

N_COLUMNS = 5
"""Of a tile. Tables have at least as many; those without a tag hold zeros."""
N_ROWS, N_TILE = 3, 3
"""Rows and columns of a tile of pairs, of four sentences: nine sums for six loads."""
N_ROWS_TOGETHER = 9
"""Messages of so many tags, of all words of a group, stay in the first cache."""
LINE = 8
"""Numbers in a line of the cache."""


@pasted
def table_stride(n_tags):
    """Number of columns of a table."""
    return max(n_tags, N_COLUMNS)


@borrowing
def add_products(messages, at, table, cell, n_tags, sums):
    """sums[j] + sum_i messages[at + i] table[cell + i, j] for five columns."""
    stride, (a, b, c, d, e) = table_stride(n_tags), sums
    for k in range(0, n_tags * EIGHT, EIGHT):
        message = load_eight(messages, at + k)
        a = fma(spread_eight(table, cell), message, a)
        b = fma(spread_eight(table, cell + 1), message, b)
        c = fma(spread_eight(table, cell + 2), message, c)
        d = fma(spread_eight(table, cell + 3), message, d)
        e = fma(spread_eight(table, cell + 4), message, e)
        cell += stride
    return a, b, c, d, e


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
    zero = all_eight(0.0)
    for column in range(0, n_tags, N_COLUMNS):
        first = min(column, table_stride(n_tags) - N_COLUMNS)
        sums = zero, zero, zero, zero, zero
        if start is not None:
            place = start_at + first * EIGHT
            sums = (
                load_eight(start, place),
                load_eight(start, place + EIGHT),
                load_eight(start, place + 2 * EIGHT),
                load_eight(start, place + 3 * EIGHT),
                load_eight(start, place + 4 * EIGHT),
            )
        a, b, c, d, e = add_products(messages, at, table, first, n_tags, sums)
        place = to + first * EIGHT
        store_eight(out, place, a)
        store_eight(out, place + EIGHT, b)
        store_eight(out, place + 2 * EIGHT, c)
        store_eight(out, place + 3 * EIGHT, d)
        store_eight(out, place + 4 * EIGHT, e)


@pasted
def add_nine(left, at, right, behind, sums):
    """sums[i, j] += left[at + i] right[behind + j] for three by three tags: six loads."""
    (aa, ab, ac), (ba, bb, bc), (ca, cb, cc) = sums
    a, b, c = load(left, at), load(left, at + EIGHT), load(left, at + 2 * EIGHT)
    value = load(right, behind)
    aa, ba, ca = fma(a, value, aa), fma(b, value, ba), fma(c, value, ca)
    value = load(right, behind + EIGHT)
    ab, bb, cb = fma(a, value, ab), fma(b, value, bb), fma(c, value, cb)
    value = load(right, behind + 2 * EIGHT)
    ac, bc, cc = fma(a, value, ac), fma(b, value, bc), fma(c, value, cc)
    return (aa, ab, ac), (ba, bb, bc), (ca, cb, cc)


@pasted
def store_three(out, at, sums):
    """Sums of three columns."""
    store(out, at, sums[0])
    store(out, at + EIGHT, sums[1])
    store(out, at + 2 * EIGHT, sums[2])


@lent
def pair_sums(
    left, left_at, right, right_at, still, still_at, moving, moving_at, n_terms, n_tags,
    matrix, tables, direction, at, marginals, expected, lone, room, out,
):  # fmt: skip
    """out[i, j] = M[i, j] sum_t left[t, i] right[t+1, j], to the tables of the sentences.

    Messages are read from the given places on. Unless `still` is None, still[t] moving[t+1] is
    added to the terms, the derivative of such a product, and (V - E) p to the tables. `room` is
    for the sums of some rows.
    """
    slots, zero = n_slots(n_tags), broadcast(0.0)
    width, nothing = slots * EIGHT, (zero, zero, zero)
    for top in range(0, n_tags, N_ROWS_TOGETHER):
        end = min(top + N_ROWS_TOGETHER, n_tags)
        for column in range(0, n_tags, N_TILE):
            j = min(column, slots - N_TILE)
            for row in range(top, end, N_ROWS):
                i = min(row, slots - N_ROWS)
                if column % LINE < N_TILE and n_tags > N_ROWS_TOGETHER:
                    ask_for_rows(out, tables, i * n_tags + j, n_tags)
                    if marginals is not None:
                        ask_for_rows(marginals, tables, i * n_tags + j, n_tags)
                # The last tile may begin before the first of these rows.
                to = (i - top + N_ROWS - 1) * width + j * EIGHT
                for lanes in range(0, N_LANES if lone else EIGHT, N_LANES):
                    sums = nothing, nothing, nothing
                    before, behind = left_at + i * EIGHT, right_at + width + j * EIGHT
                    for t in range(lanes, lanes + n_terms * width, width):
                        sums = add_nine(left, before + t, right, behind + t, sums)
                    if still is not None:
                        before, behind = still_at + i * EIGHT, moving_at + width + j * EIGHT
                        for t in range(lanes, lanes + n_terms * width, width):
                            sums = add_nine(still, before + t, moving, behind + t, sums)
                    if lone:
                        store_three(room, to + N_LANES, sums[0])
                        store_three(room, to + N_LANES + width, sums[1])
                        store_three(room, to + N_LANES + 2 * width, sums[2])
                    store_three(room, to + lanes, sums[0])
                    store_three(room, to + lanes + width, sums[1])
                    store_three(room, to + lanes + 2 * width, sums[2])
        for i in range(top, end):
            write_products(
                room, (i - top + N_ROWS - 1) * width, matrix, i, n_tags, direction, at, marginals,
                expected, out, tables,
            )  # fmt: skip


@borrowing
def room_for_pairs(n_tags):
    """How many numbers `pair_sums` has to keep."""
    return (min(n_tags, N_ROWS_TOGETHER) + 2 * N_ROWS - 2) * n_slots(n_tags) * EIGHT


@borrowing
def ask_for_rows(values, tables, place, n_tags):
    """Fetch a line of three rows of all tables: more rows than the processor follows."""
    for row in range(place, place + N_ROWS * n_tags, n_tags):
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
