"""Sentences of a batch eight by eight, one in each lane: which, and from and to flat parts.

`members` has eight sentences for each group, end to end; a lane for which there is no sentence
repeats the last, so that it can be treated as if it were there. Messages lie in memory as
[word, tag, lane]; rows behind the end of a shorter sentence mean nothing.
"""

from partita.kernels.jit import borrowing, lent, pasted
from partita.kernels.simd.any_lanes import gather, scatter
from partita.kernels.simd.eight import (
    EIGHT,
    halves,
    joined,
    load_eight,
    store_eight,
    transpose_eight,
)
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    load,
    select,
)
from partita.kernels.simd.prefetch import prefetch
from partita.kernels.simd.small_matrix import highest_lane

MOST_SINGLE = 3
"""So many tags take as long one by one as in a square."""
N_AHEAD, N_LINE = 2, 8
"""Rows are fetched so many words before they are used; numbers in a line of the cache."""


@lent
def groups(scores, part_offsets, word_offsets, n_tags, by_length, members, cells):
    """The sentences eight by eight, in the given order, those of a group with equal transitions.

    Fills members[8 * group + lane], and where messages start, cells[group], and the end. Returns
    the number of groups. What is left over by eight goes into the first, since sentences come by
    length: the longest would leave more lanes empty.
    """
    n_table, n_groups, n_free = n_tags * n_tags, 0, 0
    n_over = len(by_length) % EIGHT
    cells[0] = 0
    for sentence in by_length:
        table = part_offsets[sentence + 1] - n_table
        first = table
        if n_groups > 0:
            first = part_offsets[members[EIGHT * (n_groups - 1)] + 1] - n_table
        if n_free == 0 or not same_table(scores, first, table, n_table):
            n_groups, n_free = n_groups + 1, EIGHT
        # The next ones take the places behind.
        for place in range(EIGHT * n_groups - n_free, EIGHT * n_groups):
            members[place] = sentence
        n_free -= 1
        if n_groups == 1 and EIGHT - n_free == n_over:
            n_free = 0
        # Sentences come by length: this one is the longest of its group so far.
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        cells[n_groups] = cells[n_groups - 1] + n_words * n_tags * EIGHT
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
def largest_group(cells, n_groups):
    """The most cells of a group."""
    most = 0
    for group in range(n_groups):
        most = max(most, cells[group + 1] - cells[group])
    return most


@borrowing
def of_each_lane(offsets, members, group, further):
    """What `offsets` says, so much further, for the sentence of each lane of a group."""
    at = EIGHT * group
    return (
        offsets[members[at] + further],
        offsets[members[at + 1] + further],
        offsets[members[at + 2] + further],
        offsets[members[at + 3] + further],
        offsets[members[at + 4] + further],
        offsets[members[at + 5] + further],
        offsets[members[at + 6] + further],
        offsets[members[at + 7] + further],
    )


@lent
def places_of(part_offsets, word_offsets, members, group):
    """Where the parts of a group's sentences start, and their numbers of words."""
    ends = of_each_lane(word_offsets, members, group, 1)
    starts = of_each_lane(word_offsets, members, group, 0)
    lengths = (
        ends[0] - starts[0],
        ends[1] - starts[1],
        ends[2] - starts[2],
        ends[3] - starts[3],
        ends[4] - starts[4],
        ends[5] - starts[5],
        ends[6] - starts[6],
        ends[7] - starts[7],
    )
    return of_each_lane(part_offsets, members, group, 0), lengths


@borrowing
def is_lone(places):
    """Whether a group has one sentence, which all lanes repeat."""
    return places[0][0] == places[0][EIGHT - 1]


@borrowing
def rows_of(places, t, n_tags):
    """Where the row of word t starts in each lane's sentence; the last row where it is shorter."""
    starts, lengths = places
    return (
        starts[0] + min(t, lengths[0] - 1) * n_tags,
        starts[1] + min(t, lengths[1] - 1) * n_tags,
        starts[2] + min(t, lengths[2] - 1) * n_tags,
        starts[3] + min(t, lengths[3] - 1) * n_tags,
        starts[4] + min(t, lengths[4] - 1) * n_tags,
        starts[5] + min(t, lengths[5] - 1) * n_tags,
        starts[6] + min(t, lengths[6] - 1) * n_tags,
        starts[7] + min(t, lengths[7] - 1) * n_tags,
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
        starts[4] + lengths[4] * n_tags,
        starts[5] + lengths[5] * n_tags,
        starts[6] + lengths[6] * n_tags,
        starts[7] + lengths[7] * n_tags,
    )


@pasted
def shifted(rows, j):
    """Four positions, all j further."""
    return rows[0] + j, rows[1] + j, rows[2] + j, rows[3] + j


@borrowing
def ask_for_words(values, rows, n_tags):
    """Fetch a word's row of the sentences."""
    for j in range(0, n_tags, N_LINE):
        for row in rows:
            prefetch(values, row + j)


@borrowing
def gather_eight(values, rows, j):
    """The numbers j behind the beginnings of eight rows."""
    return joined(
        gather(values, shifted(rows[:N_LANES], j)), gather(values, shifted(rows[N_LANES:], j))
    )


@borrowing
def read_square(values, rows, j):
    """Eight numbers of each of eight rows, from j behind their beginnings on, as lanes."""
    return transpose_eight(
        load_eight(values, rows[0] + j),
        load_eight(values, rows[1] + j),
        load_eight(values, rows[2] + j),
        load_eight(values, rows[3] + j),
        load_eight(values, rows[4] + j),
        load_eight(values, rows[5] + j),
        load_eight(values, rows[6] + j),
        load_eight(values, rows[7] + j),
    )


@borrowing
def load_lanes(values, at):
    """Eight neighbouring lanes of an array, as rows of the eight sentences."""
    return transpose_eight(
        load_eight(values, at),
        load_eight(values, at + EIGHT),
        load_eight(values, at + 2 * EIGHT),
        load_eight(values, at + 3 * EIGHT),
        load_eight(values, at + 4 * EIGHT),
        load_eight(values, at + 5 * EIGHT),
        load_eight(values, at + 6 * EIGHT),
        load_eight(values, at + 7 * EIGHT),
    )


@pasted
def n_in_squares(n_tags):
    """How many tags go in squares of eight by eight, of which the last overlaps if it saves work.

    Those behind go one by one, and all of them where there are fewer than eight.
    """
    rest = n_tags % EIGHT
    return n_tags if rest >= MOST_SINGLE and n_tags > EIGHT else n_tags - rest


@borrowing
def read_row(values, rows, n_tags, out, at):
    """out[at + j, lane] = values[rows[lane] + j]."""
    whole = n_in_squares(n_tags)
    for first in range(0, whole, EIGHT):
        j = min(first, whole - EIGHT)
        cell = at + j * EIGHT
        a, b, c, d, e, f, g, h = read_square(values, rows, j)
        store_eight(out, cell, a)
        store_eight(out, cell + EIGHT, b)
        store_eight(out, cell + 2 * EIGHT, c)
        store_eight(out, cell + 3 * EIGHT, d)
        store_eight(out, cell + 4 * EIGHT, e)
        store_eight(out, cell + 5 * EIGHT, f)
        store_eight(out, cell + 6 * EIGHT, g)
        store_eight(out, cell + 7 * EIGHT, h)
    for j in range(whole, n_tags):
        store_eight(out, at + j * EIGHT, gather_eight(values, rows, j))


@borrowing
def scatter_eight(out, rows, j, value):
    """Lanes to the places j behind the beginnings of eight rows."""
    first, last = halves(value)
    scatter(out, shifted(rows[:N_LANES], j), first)
    scatter(out, shifted(rows[N_LANES:], j), last)


@borrowing
def write_row(values, at, n_tags, out, rows):
    """out[rows[lane] + j] = values[at + j, lane]; where two rows are the same, the later stays."""
    whole = n_in_squares(n_tags)
    for first in range(0, whole, EIGHT):
        j = min(first, whole - EIGHT)
        a, b, c, d, e, f, g, h = load_lanes(values, at + j * EIGHT)
        store_eight(out, rows[0] + j, a)
        store_eight(out, rows[1] + j, b)
        store_eight(out, rows[2] + j, c)
        store_eight(out, rows[3] + j, d)
        store_eight(out, rows[4] + j, e)
        store_eight(out, rows[5] + j, f)
        store_eight(out, rows[6] + j, g)
        store_eight(out, rows[7] + j, h)
    for j in range(whole, n_tags):
        scatter_eight(out, rows, j, load_eight(values, at + j * EIGHT))
