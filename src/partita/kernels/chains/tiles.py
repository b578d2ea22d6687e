"""Sums over tags of four sentences side by side, in tiles whose sums stay in registers.

A sum takes four or five cycles to be ready for its next term, and two can be begun in each. So nine
under way keep the processor busy, and fewer would take as long: there are tiles of nine only, and
what is left over at an edge is computed by a tile that overlaps the one before.
"""

from partita.kernels.chains.side_by_side import N_TILE, n_slots
from partita.kernels.jit import inlined, pasted, step
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, spread, store

N_COLUMNS = 9
"""Tables have at least as many columns; those without a tag hold zeros."""


@pasted
def table_stride(n_tags):
    """Number of columns of a table."""
    return max(n_tags, N_COLUMNS)


@inlined
def messages_times_table(messages, at, table, n_tags, out):
    """out[j, lane] = sum_i messages[at + i, lane] table[i, j].

    Nine columns at a time: nine sums for one load and nine broadcasts of a number.
    """
    stride, zero = table_stride(n_tags), broadcast(0.0)
    for column in range(0, stride, N_COLUMNS):
        first = min(column, stride - N_COLUMNS)
        a, b, c, d, e, f, g, h, i = zero, zero, zero, zero, zero, zero, zero, zero, zero
        for k in range(n_tags):
            message, cell = load(messages, at + k * N_LANES), k * stride + first
            a = fma(spread(table, cell), message, a)
            b = fma(spread(table, cell + 1), message, b)
            c = fma(spread(table, cell + 2), message, c)
            d = fma(spread(table, cell + 3), message, d)
            e = fma(spread(table, cell + 4), message, e)
            f = fma(spread(table, cell + 5), message, f)
            g = fma(spread(table, cell + 6), message, g)
            h = fma(spread(table, cell + 7), message, h)
            i = fma(spread(table, cell + 8), message, i)
        place = first * N_LANES
        store_three(out, place, a, b, c)
        store_three(out, place + 3 * N_LANES, d, e, f)
        store_three(out, place + 6 * N_LANES, g, h, i)


@inlined
def moving_times_table(moving, at, table, still, still_at, moved, n_tags, out):
    """out = moving table + still moved: two such sums in one, for the derivative of the first."""
    stride, zero = table_stride(n_tags), broadcast(0.0)
    for column in range(0, stride, N_COLUMNS):
        first = min(column, stride - N_COLUMNS)
        a, b, c, d, e, f, g, h, i = zero, zero, zero, zero, zero, zero, zero, zero, zero
        for k in range(n_tags):
            cell, message = k * stride + first, load(moving, at + k * N_LANES)
            other = load(still, still_at + k * N_LANES)
            a = fma(spread(moved, cell), other, fma(spread(table, cell), message, a))
            b = fma(spread(moved, cell + 1), other, fma(spread(table, cell + 1), message, b))
            c = fma(spread(moved, cell + 2), other, fma(spread(table, cell + 2), message, c))
            d = fma(spread(moved, cell + 3), other, fma(spread(table, cell + 3), message, d))
            e = fma(spread(moved, cell + 4), other, fma(spread(table, cell + 4), message, e))
            f = fma(spread(moved, cell + 5), other, fma(spread(table, cell + 5), message, f))
            g = fma(spread(moved, cell + 6), other, fma(spread(table, cell + 6), message, g))
            h = fma(spread(moved, cell + 7), other, fma(spread(table, cell + 7), message, h))
            i = fma(spread(moved, cell + 8), other, fma(spread(table, cell + 8), message, i))
        place = first * N_LANES
        store_three(out, place, a, b, c)
        store_three(out, place + 3 * N_LANES, d, e, f)
        store_three(out, place + 6 * N_LANES, g, h, i)


@pasted
def add_nine(left, at, right, behind, sums):
    """sums[i, j] += left[at + i] right[behind + j] for three by three tags: six loads."""
    (aa, ab, ac), (ba, bb, bc), (ca, cb, cc) = sums
    a, b, c = load(left, at), load(left, at + N_LANES), load(left, at + 2 * N_LANES)
    value = load(right, behind)
    aa, ba, ca = fma(a, value, aa), fma(b, value, ba), fma(c, value, ca)
    value = load(right, behind + N_LANES)
    ab, bb, cb = fma(a, value, ab), fma(b, value, bb), fma(c, value, cb)
    value = load(right, behind + 2 * N_LANES)
    ac, bc, cc = fma(a, value, ac), fma(b, value, bc), fma(c, value, cc)
    return (aa, ab, ac), (ba, bb, bc), (ca, cb, cc)


@step
def pair_sums(left, left_at, right, still, still_at, moving, n_terms, n_tags, out):
    """out[i, j, lane] = sum_t left[t, i, lane] right[t+1, j, lane], from the given places on.

    Unless `still` is None, still[t] moving[t+1] is added: the derivative of such a product.
    """
    slots, zero = n_slots(n_tags), broadcast(0.0)
    stride = slots * N_LANES
    for row in range(0, slots, N_TILE):
        i = min(row, slots - N_TILE)
        for column in range(0, slots, N_TILE):
            j = min(column, slots - N_TILE)
            at, other = left_at + i * N_LANES, still_at + i * N_LANES
            sums = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
            for t in range(0, n_terms * stride, stride):
                behind = t + stride + j * N_LANES
                sums = add_nine(left, at + t, right, behind, sums)
                if still is not None:
                    sums = add_nine(still, other + t, moving, behind, sums)
            cell = (i * slots + j) * N_LANES
            (aa, ab, ac), (ba, bb, bc), (ca, cb, cc) = sums
            store_three(out, cell, aa, ab, ac)
            store_three(out, cell + stride, ba, bb, bc)
            store_three(out, cell + 2 * stride, ca, cb, cc)


@pasted
def store_three(out, cell, a, b, c):
    """Write three neighbouring lanes to an array."""
    store(out, cell, a)
    store(out, cell + N_LANES, b)
    store(out, cell + 2 * N_LANES, c)
