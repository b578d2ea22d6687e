"""Sums over tags of four sentences side by side, in tiles whose sums stay in registers.

Messages lie in memory as [word, tag, lane].
"""

from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, spread, store


@inlined
def messages_times_table(messages, at, table, n_tags, out):
    """out[j, lane] = sum_i messages[at + i, lane] table[i, j]."""
    column = 0
    while column + 6 <= n_tags:
        tile_of_six(messages, at, table, n_tags, column, out)
        column += 6
    while column < n_tags:
        tile_of_three(messages, at, table, n_tags, column, out)
        column += 3


@inlined
def tile_of_six(messages, at, table, n_tags, column, out):
    """Six columns of `messages_times_table`: enough sums to hide the latency of fma."""
    zero = broadcast(0.0)
    a, b, c, d, e, f = zero, zero, zero, zero, zero, zero
    for i in range(n_tags):
        message, cell = load(messages, at + i * N_LANES), i * n_tags + column
        a = fma(spread(table, cell), message, a)
        b = fma(spread(table, cell + 1), message, b)
        c = fma(spread(table, cell + 2), message, c)
        d = fma(spread(table, cell + 3), message, d)
        e = fma(spread(table, cell + 4), message, e)
        f = fma(spread(table, cell + 5), message, f)
    place = column * N_LANES
    store(out, place, a)
    store(out, place + N_LANES, b)
    store(out, place + 2 * N_LANES, c)
    store(out, place + 3 * N_LANES, d)
    store(out, place + 4 * N_LANES, e)
    store(out, place + 5 * N_LANES, f)


@inlined
def tile_of_three(messages, at, table, n_tags, column, out):
    """Three columns of `messages_times_table`, or as many as there are."""
    zero = broadcast(0.0)
    a, b, c = zero, zero, zero
    # At the end the last column is computed again in place of those that are not there.
    second, third = min(column + 1, n_tags - 1), min(column + 2, n_tags - 1)
    for i in range(n_tags):
        message, row = load(messages, at + i * N_LANES), i * n_tags
        a = fma(spread(table, row + column), message, a)
        b = fma(spread(table, row + second), message, b)
        c = fma(spread(table, row + third), message, c)
    store(out, column * N_LANES, a)
    store(out, second * N_LANES, b)
    store(out, third * N_LANES, c)


@kernel
def pair_sums(left, right, n_words, n_tags, out):
    """out[i, j, lane] = sum_t left[t, i, lane] right[t+1, j, lane], in tiles of 3 by 4 tags."""
    n_terms = n_words.max() - 1
    i = 0
    while i + 3 <= n_tags:
        j = 0
        while j + 4 <= n_tags:
            pair_tile(left, right, n_terms, n_tags, i, j, out)
            j += 4
        while j < n_tags:
            pair_column(left, right, n_terms, n_tags, i, j, out)
            j += 1
        i += 3
    while i < n_tags:
        j = 0
        while j < n_tags:
            # The last four overlap those before them: the same sums are written again.
            pair_row(left, right, n_terms, n_tags, i, max(0, min(j, n_tags - 4)), out)
            j += 4
        i += 1


@inlined
def pair_tile(left, right, n_terms, n_tags, i, j, out):
    """Three rows and four columns of `pair_sums`: 12 sums in registers for every 7 loads."""
    stride = n_tags * N_LANES
    zero = broadcast(0.0)
    a0, a1, a2, a3 = zero, zero, zero, zero
    b0, b1, b2, b3 = zero, zero, zero, zero
    c0, c1, c2, c3 = zero, zero, zero, zero
    for t in range(n_terms):
        at, behind = t * stride + i * N_LANES, (t + 1) * stride + j * N_LANES
        a, b = load(left, at), load(left, at + N_LANES)
        c = load(left, at + 2 * N_LANES)
        value = load(right, behind)
        a0, b0, c0 = fma(a, value, a0), fma(b, value, b0), fma(c, value, c0)
        value = load(right, behind + N_LANES)
        a1, b1, c1 = fma(a, value, a1), fma(b, value, b1), fma(c, value, c1)
        value = load(right, behind + 2 * N_LANES)
        a2, b2, c2 = fma(a, value, a2), fma(b, value, b2), fma(c, value, c2)
        value = load(right, behind + 3 * N_LANES)
        a3, b3, c3 = fma(a, value, a3), fma(b, value, b3), fma(c, value, c3)
    cell = (i * n_tags + j) * N_LANES
    store_four(out, cell, a0, a1, a2, a3)
    store_four(out, cell + stride, b0, b1, b2, b3)
    store_four(out, cell + 2 * stride, c0, c1, c2, c3)


@inlined
def pair_row(left, right, n_terms, n_tags, i, j, out):
    """One row and four columns of `pair_sums`, or as many as there are."""
    stride = n_tags * N_LANES
    zero = broadcast(0.0)
    a, b, c, d = zero, zero, zero, zero
    # Fewer than four tags: the last is computed again in place of those that are not there.
    second, third, fourth = min(j + 1, n_tags - 1), min(j + 2, n_tags - 1), min(j + 3, n_tags - 1)
    for t in range(n_terms):
        message, behind = load(left, t * stride + i * N_LANES), (t + 1) * stride
        a = fma(message, load(right, behind + j * N_LANES), a)
        b = fma(message, load(right, behind + second * N_LANES), b)
        c = fma(message, load(right, behind + third * N_LANES), c)
        d = fma(message, load(right, behind + fourth * N_LANES), d)
    row = i * n_tags
    store(out, (row + j) * N_LANES, a)
    store(out, (row + second) * N_LANES, b)
    store(out, (row + third) * N_LANES, c)
    store(out, (row + fourth) * N_LANES, d)


@inlined
def pair_column(left, right, n_terms, n_tags, i, j, out):
    """Three rows and one column of `pair_sums`."""
    stride = n_tags * N_LANES
    zero = broadcast(0.0)
    a, b, c = zero, zero, zero
    for t in range(n_terms):
        at, value = t * stride + i * N_LANES, load(right, (t + 1) * stride + j * N_LANES)
        a = fma(load(left, at), value, a)
        b = fma(load(left, at + N_LANES), value, b)
        c = fma(load(left, at + 2 * N_LANES), value, c)
    cell = (i * n_tags + j) * N_LANES
    store(out, cell, a)
    store(out, cell + stride, b)
    store(out, cell + 2 * stride, c)


@inlined
def store_four(out, cell, a, b, c, d):
    """Write four neighbouring lanes to an array."""
    store(out, cell, a)
    store(out, cell + N_LANES, b)
    store(out, cell + 2 * N_LANES, c)
    store(out, cell + 3 * N_LANES, d)
