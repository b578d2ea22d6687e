"""Sums over tags of sentences side by side, in tiles whose sums stay in registers.

A sum takes four or five cycles to be ready for its next term, and two can be begun in each. So nine
under way keep the processor busy, and fewer would take as long. Two groups of sentences share the
numbers of a table, which leaves time for the other loads: five columns of two groups run at the
processor's limit, nine of one at five sixths of it. What is left over at an edge is computed by a
tile that overlaps the one before.
"""

from partita.kernels.chains.side_by_side import N_TILE, n_slots, write_columns
from partita.kernels.jit import borrowing, lent, pasted
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, spread, store
from partita.kernels.simd.prefetch import prefetch

N_COLUMNS = 9
"""Of a tile of one group. Tables have at least as many; those without a tag hold zeros."""
N_COLUMNS_OF_TWO = 5
"""Of a tile of two groups."""
N_ROWS = 3
"""Of a tile of pairs, which has `N_TILE` columns."""
N_ROWS_TOGETHER = 9
"""Messages of so many tags, of all words of a group, stay in the first cache."""


@pasted
def table_stride(n_tags):
    """Number of columns of a table."""
    return max(n_tags, N_COLUMNS)


@borrowing
def add_products(messages, at, table, cell, n_tags, sums):
    """sums[j] + sum_i messages[at + i] table[cell + i, j] for nine columns: ten loads a step."""
    stride, (a, b, c, d, e, f, g, h, i) = table_stride(n_tags), sums
    for k in range(n_tags):
        message = load(messages, at + k * N_LANES)
        a = fma(spread(table, cell), message, a)
        b = fma(spread(table, cell + 1), message, b)
        c = fma(spread(table, cell + 2), message, c)
        d = fma(spread(table, cell + 3), message, d)
        e = fma(spread(table, cell + 4), message, e)
        f = fma(spread(table, cell + 5), message, f)
        g = fma(spread(table, cell + 6), message, g)
        h = fma(spread(table, cell + 7), message, h)
        i = fma(spread(table, cell + 8), message, i)
        cell += stride
    return a, b, c, d, e, f, g, h, i


@borrowing
def messages_times_table(messages, at, table, start, start_at, n_tags, out, to):
    """out[to + j, lane] = sum_i messages[at + i, lane] table[i, j].

    Unless `start` is None, the sums begin with start[start_at + j, lane].
    """
    zero = broadcast(0.0)
    for column in range(0, n_tags, N_COLUMNS):
        first = min(column, table_stride(n_tags) - N_COLUMNS)
        sums = zero, zero, zero, zero, zero, zero, zero, zero, zero
        if start is not None:
            place = start_at + first * N_LANES
            a, b, c = load_three(start, place)
            d, e, f = load_three(start, place + 3 * N_LANES)
            g, h, i = load_three(start, place + 6 * N_LANES)
            sums = a, b, c, d, e, f, g, h, i
        a, b, c, d, e, f, g, h, i = add_products(messages, at, table, first, n_tags, sums)
        place = to + first * N_LANES
        store_three(out, place, a, b, c)
        store_three(out, place + 3 * N_LANES, d, e, f)
        store_three(out, place + 6 * N_LANES, g, h, i)


@borrowing
def add_products_of_two(messages, at, second_at, table, cell, n_tags, sums):
    """`add_products` of two groups, for five columns: ten sums and seven loads a step."""
    stride, ((a, b, c, d, e), (f, g, h, i, j)) = table_stride(n_tags), sums
    for k in range(0, n_tags * N_LANES, N_LANES):
        first, second = load(messages, at + k), load(messages, second_at + k)
        factor = spread(table, cell)
        a, f = fma(factor, first, a), fma(factor, second, f)
        factor = spread(table, cell + 1)
        b, g = fma(factor, first, b), fma(factor, second, g)
        factor = spread(table, cell + 2)
        c, h = fma(factor, first, c), fma(factor, second, h)
        factor = spread(table, cell + 3)
        d, i = fma(factor, first, d), fma(factor, second, i)
        factor = spread(table, cell + 4)
        e, j = fma(factor, first, e), fma(factor, second, j)
        cell += stride
    return (a, b, c, d, e), (f, g, h, i, j)


@borrowing
def two_times_table(messages, at, second_at, table, start, start_at, n_tags, out, to):
    """`messages_times_table` of two groups; the second starts and ends a table's row further."""
    zero, behind = broadcast(0.0), table_stride(n_tags) * N_LANES
    for column in range(0, n_tags, N_COLUMNS_OF_TWO):
        first = min(column, table_stride(n_tags) - N_COLUMNS_OF_TWO)
        sums = (zero, zero, zero, zero, zero), (zero, zero, zero, zero, zero)
        if start is not None:
            place = start_at + first * N_LANES
            sums = load_five(start, place), load_five(start, place + behind)
        sums = add_products_of_two(messages, at, second_at, table, first, n_tags, sums)
        (a, b, c, d, e), (f, g, h, i, j) = sums
        store_five(out, to + first * N_LANES, a, b, c, d, e)
        store_five(out, to + behind + first * N_LANES, f, g, h, i, j)


@pasted
def load_three(values, cell):
    """Three neighbouring lanes of an array."""
    return load(values, cell), load(values, cell + N_LANES), load(values, cell + 2 * N_LANES)


@pasted
def load_five(values, cell):
    """Five neighbouring lanes of an array."""
    a, b, c = load_three(values, cell)
    return a, b, c, load(values, cell + 3 * N_LANES), load(values, cell + 4 * N_LANES)


@pasted
def store_three(out, cell, a, b, c):
    """Write three neighbouring lanes to an array."""
    store(out, cell, a)
    store(out, cell + N_LANES, b)
    store(out, cell + 2 * N_LANES, c)


@pasted
def store_five(out, cell, a, b, c, d, e):
    """Write five neighbouring lanes to an array."""
    store_three(out, cell, a, b, c)
    store(out, cell + 3 * N_LANES, d)
    store(out, cell + 4 * N_LANES, e)


@pasted
def add_twelve(left, at, right, behind, sums):
    """sums[i, j] += left[at + i] right[behind + j] for three by four tags: seven loads."""
    (aa, ab, ac, ad), (ba, bb, bc, bd), (ca, cb, cc, cd) = sums
    a, b, c = load(left, at), load(left, at + N_LANES), load(left, at + 2 * N_LANES)
    value = load(right, behind)
    aa, ba, ca = fma(a, value, aa), fma(b, value, ba), fma(c, value, ca)
    value = load(right, behind + N_LANES)
    ab, bb, cb = fma(a, value, ab), fma(b, value, bb), fma(c, value, cb)
    value = load(right, behind + 2 * N_LANES)
    ac, bc, cc = fma(a, value, ac), fma(b, value, bc), fma(c, value, cc)
    value = load(right, behind + 3 * N_LANES)
    ad, bd, cd = fma(a, value, ad), fma(b, value, bd), fma(c, value, cd)
    return (aa, ab, ac, ad), (ba, bb, bc, bd), (ca, cb, cc, cd)


@lent
def pair_sums(
    left, left_at, right, right_at, still, still_at, moving, moving_at, n_terms, n_tags,
    matrix, tables, direction, at, marginals, expected, lanes, out,
):  # fmt: skip
    """out[i, j] = M[i, j] sum_t left[t, i] right[t+1, j], to the tables of each lane's sentence.

    Messages are read from the given places on. Unless `still` is None, still[t] moving[t+1] is
    added to the terms, the derivative of such a product, and (V - E) p to the tables.
    """
    slots, stride, zero = n_slots(n_tags), table_stride(n_tags), broadcast(0.0)
    width, nothing = slots * N_LANES, (zero, zero, zero, zero)
    for top in range(0, n_tags, N_ROWS_TOGETHER):
        for column in range(0, slots, N_TILE):
            j = min(column, slots - N_TILE)
            for row in range(top, min(top + N_ROWS_TOGETHER, n_tags), N_ROWS):
                i = min(row, slots - N_ROWS)
                before, behind = left_at + i * N_LANES, right_at + width + j * N_LANES
                sums = nothing, nothing, nothing
                if n_tags > N_ROWS_TOGETHER:
                    ask_for_rows(out, tables, i * n_tags + j, n_tags, top == 0)
                    if marginals is not None:
                        ask_for_rows(marginals, tables, i * n_tags + j, n_tags, top == 0)
                for t in range(0, n_terms * width, width):
                    sums = add_twelve(left, before + t, right, behind + t, sums)
                if still is not None:
                    before, behind = still_at + i * N_LANES, moving_at + width + j * N_LANES
                    for t in range(0, n_terms * width, width):
                        sums = add_twelve(still, before + t, moving, behind + t, sums)
                cell, place = i * stride + j, i * n_tags + j
                for_rows = n_tags, direction, at, marginals, expected, lanes, out, tables
                write_products(matrix, cell, sums[0], place, *for_rows)
                if i + 1 < n_tags:
                    write_products(matrix, cell + stride, sums[1], place + n_tags, *for_rows)
                if i + 2 < n_tags:
                    write_products(
                        matrix, cell + 2 * stride, sums[2], place + 2 * n_tags, *for_rows
                    )


@borrowing
def ask_for_rows(values, tables, place, n_tags, is_first):
    """Fetch three rows of four tables, `N_ROWS_TOGETHER` rows before they are needed.

    A tile reads and writes twelve rows, more than the processor follows by itself.
    """
    ahead = N_ROWS_TOGETHER * n_tags
    for row in range(place, place + N_ROWS * n_tags, n_tags):
        for table in tables:
            prefetch(values, table + row + ahead)
            if is_first:
                prefetch(values, table + row)


@borrowing
def write_products(
    matrix, cell, sums, place, n_tags, direction, at, marginals, expected, lanes, out, tables
):  # fmt: skip
    """Four columns of a row of M, times their sums, to the tables of four sentences."""
    a, b = spread(matrix, cell) * sums[0], spread(matrix, cell + 1) * sums[1]
    c, d = spread(matrix, cell + 2) * sums[2], spread(matrix, cell + 3) * sums[3]
    write_columns(a, b, c, d, n_tags, direction, at, marginals, expected, lanes, out, tables, place)
