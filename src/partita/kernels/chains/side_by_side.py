"""Sentences of a batch four by four, one in each SIMD lane: which, and from and to flat parts.

`members` has four sentences for each group, end to end; a lane for which there is no sentence
repeats the last, so that it can be treated as if it were there. Messages lie in memory as
[word, slot, lane], with a slot for each tag; rows behind the end of a shorter sentence mean
nothing. Fewer than `N_TILE` tags have as many slots, since sums are computed in tiles; slots
without a tag hold zeros.
"""

from partita.kernels.jit import borrowing, lent, pasted
from partita.kernels.simd.four_rows import load_four, store_four
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    fma,
    gather,
    load,
    scatter,
    select,
    spread,
    store,
    transpose,
)
from partita.kernels.simd.small_matrix import highest_lane

N_TILE = 4
"""Tiles of `tiles.pair_sums` have as many columns."""


@pasted
def n_slots(n_tags):
    """Number of slots for tags."""
    return max(n_tags, N_TILE)


@lent
def groups(scores, part_offsets, word_offsets, n_tags, by_length, members, cells):
    """The sentences four by four, in the given order, those of a group with equal transitions.

    Fills members[4 * group + lane], and where messages start, cells[group], and the end. Returns
    the number of groups.
    """
    n_table, n_groups, n_free = n_tags * n_tags, 0, 0
    cells[0] = 0
    for sentence in by_length:
        table = part_offsets[sentence + 1] - n_table
        first = table
        if n_groups > 0:
            first = part_offsets[members[N_LANES * (n_groups - 1)] + 1] - n_table
        if n_free == 0 or not same_table(scores, first, table, n_table):
            n_groups, n_free = n_groups + 1, N_LANES
        # The next ones take the places behind.
        for place in range(N_LANES * n_groups - n_free, N_LANES * n_groups):
            members[place] = sentence
        n_free -= 1
        # Sentences come by length: this one is the longest of its group so far.
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        cells[n_groups] = cells[n_groups - 1] + n_words * n_slots(n_tags) * N_LANES
    return n_groups


@lent
def same_table(scores, first, second, n_values):
    """Whether two transition tables are equal: sentences of a tagger share one."""
    # Four sums: one alone would wait for each addition.
    zero = broadcast(0.0)
    a, b, c, d, k = zero, zero, zero, zero, 0
    while k + 4 * N_LANES <= n_values:
        x, y = first + k, second + k
        a = a + differs(scores, x, y)
        b = b + differs(scores, x + N_LANES, y + N_LANES)
        c = c + differs(scores, x + 2 * N_LANES, y + 2 * N_LANES)
        d = d + differs(scores, x + 3 * N_LANES, y + 3 * N_LANES)
        k += 4 * N_LANES
    rest = 0
    for place in range(k, n_values):
        rest += scores[first + place] != scores[second + place]
    return rest == 0 and highest_lane((a + b) + (c + d)) == 0.0


@pasted
def differs(scores, first, second):
    """1 in the lanes where four numbers differ from four others, else 0."""
    return select(load(scores, first) == load(scores, second), 0.0, 1.0)


@lent
def largest_of_two(cells, n_groups):
    """The most cells of two neighbouring groups."""
    most = 0
    for group in range(n_groups):
        most = max(most, cells[group + 1] - cells[max(group - 1, 0)])
    return most


@lent
def places_of(part_offsets, word_offsets, members, group):
    """Where the parts of a group's four sentences start, and their numbers of words."""
    a, b = members[N_LANES * group], members[N_LANES * group + 1]
    c, d = members[N_LANES * group + 2], members[N_LANES * group + 3]
    lengths = (
        word_offsets[a + 1] - word_offsets[a],
        word_offsets[b + 1] - word_offsets[b],
        word_offsets[c + 1] - word_offsets[c],
        word_offsets[d + 1] - word_offsets[d],
    )
    return (part_offsets[a], part_offsets[b], part_offsets[c], part_offsets[d]), lengths


@borrowing
def rows_of(places, t, n_tags):
    """Where the row of word t starts in each lane's sentence; the last row where it is shorter."""
    starts, lengths = places
    return (
        starts[0] + min(t, lengths[0] - 1) * n_tags,
        starts[1] + min(t, lengths[1] - 1) * n_tags,
        starts[2] + min(t, lengths[2] - 1) * n_tags,
        starts[3] + min(t, lengths[3] - 1) * n_tags,
    )


@borrowing
def tables_of(places, n_tags):
    """Where the transitions of each lane's sentence start."""
    starts, lengths = places
    return (
        starts[0] + lengths[0] * n_tags,
        starts[1] + lengths[1] * n_tags,
        starts[2] + lengths[2] * n_tags,
        starts[3] + lengths[3] * n_tags,
    )


@pasted
def shifted(rows, j):
    """Four positions, all j further."""
    return rows[0] + j, rows[1] + j, rows[2] + j, rows[3] + j


@borrowing
def read_row(values, rows, n_tags, missing, out, at):
    """out[at + j, lane] = values[rows[lane] + j]; `missing` in slots without a tag."""
    whole = n_tags - n_tags % N_LANES
    for j in range(0, whole, N_LANES):
        load_four(values, rows, j, out, at + j * N_LANES)
    for j in range(whole, n_tags):
        store(out, at + j * N_LANES, gather(values, shifted(rows, j)))
    for j in range(n_tags, n_slots(n_tags)):
        store(out, at + j * N_LANES, broadcast(missing))


@borrowing
def write_row(values, at, n_tags, out, rows):
    """out[rows[lane] + j] = values[at + j, lane]."""
    whole = n_tags - n_tags % N_LANES
    for j in range(0, whole, N_LANES):
        store_four(values, at + j * N_LANES, out, rows, j)
    for j in range(whole, n_tags):
        scatter(out, shifted(rows, j), load(values, at + j * N_LANES))


@borrowing
def write_columns(a, b, c, d, n_tags, direction, at, marginals, expected, lanes, out, rows, j):
    """Lanes of tags j .. j + 3 to the rows of four sentences.

    Unless `direction` is None, (v - E) p is added, with v from at[lane] + j on, p where the result
    goes, and E of the lanes from `lanes` on.
    """
    if n_tags >= N_TILE:
        a, b, c, d = transpose(a, b, c, d)
        if direction is not None:
            a = fma(
                load(direction, at[0] + j) - spread(expected, lanes + 0),
                load(marginals, rows[0] + j),
                a,
            )
            b = fma(
                load(direction, at[1] + j) - spread(expected, lanes + 1),
                load(marginals, rows[1] + j),
                b,
            )
            c = fma(
                load(direction, at[2] + j) - spread(expected, lanes + 2),
                load(marginals, rows[2] + j),
                c,
            )
            d = fma(
                load(direction, at[3] + j) - spread(expected, lanes + 3),
                load(marginals, rows[3] + j),
                d,
            )
        store(out, rows[0] + j, a)
        store(out, rows[1] + j, b)
        store(out, rows[2] + j, c)
        store(out, rows[3] + j, d)
    else:
        for k in range(n_tags):
            value, place = a, shifted(rows, j + k)
            if direction is not None:
                moved = gather(direction, shifted(at, j + k)) - load(expected, lanes)
                value = fma(moved, gather(marginals, place), a)
            scatter(out, place, value)
            a, b, c = b, c, d
