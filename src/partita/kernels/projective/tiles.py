"""The inner sums of Eisner's recursions, over tiles of two rows and two columns of spans.

A tile has the spans (i, j), (i, j+1), (i+1, j) and (i+1, j+1), where i+1 < j. Each sum multiplies
a row or column of one chart with one of another, cell by cell: a cell fills a register, so that
columns are read as fast as rows, and a second, transposed copy of each chart would only cost what
writing it costs (a sixth of all). Two rows with two columns give four products for four
loads; three charts are summed at once, so that twelve sums are under way: enough to hide the
latency of fma, and with the four operands as many as there are vector registers (16). Three by
three tiles would have no place for their operands; where there are 32 registers, `tall` takes two
tiles at once. What the spans of a tile need of each other stays in registers: half of the time went
into waiting for it to come back from memory.

Sums with `moved` charts are those of the derivative, moved * still + still * moved.
"""

from partita.kernels.jit import inlined, pasted, step
from partita.kernels.simd.either import all_lanes, load, store
from partita.kernels.simd.lanes import N_LANES, fma


@pasted
def inside_sums(still, moved, at, i, j):
    """The terms i+1 < k < j of the inside sums of a tile: pairs, rights and lefts."""
    zero = all_lanes(still, 0.0)
    zeros = (zero, zero, zero, zero)
    if moved is None:
        return add_inside(still, still, at, i, j, j, (zeros, zeros, zeros))
    sums = add_inside(moved, still, at, i, j, j, (zeros, zeros, zeros))
    return add_inside(still, moved, at, i, j, j, sums)


@pasted
def inside_term(still, moved, at, i, j, k, pair, right, left):
    """One term of the inside sums of one span."""
    if moved is None:
        return add_inside_term(still, still, at, i, j, k, pair, right, left)
    pair, right, left = add_inside_term(moved, still, at, i, j, k, pair, right, left)
    return add_inside_term(still, moved, at, i, j, k, pair, right, left)


@pasted
def outside_left_sums(still, moved, at, i, j, right, left):
    """What spans (i', j) with i' < i add to a tile: rights, lefts, and arcs to the left."""
    zero = all_lanes(still, 0.0)
    sums = (right, left, (zero, zero, zero, zero))
    if moved is None:
        return add_outside_left(still, still, at, i, j, 0, sums)
    sums = add_outside_left(moved, still, at, i, j, 0, sums)
    return add_outside_left(still, moved, at, i, j, 0, sums)


@pasted
def outside_right_sums(still, moved, at, i, j, right, left):
    """What spans (i, j') with j' > j+1 add to a tile: rights, lefts, and arcs to the right."""
    zero = all_lanes(still, 0.0)
    sums = (right, left, (zero, zero, zero, zero))
    if moved is None:
        return add_outside_right(still, still, at, i, j, sums)
    sums = add_outside_right(moved, still, at, i, j, sums)
    return add_outside_right(still, moved, at, i, j, sums)


@pasted
def outside_right_term(still, moved, at, i, j, k, right, left, arc):
    """What the span (i, k), k > j, adds to the outside sums of one span."""
    if moved is None:
        return add_outside_right_term(still, still, at, i, j, k, right, left, arc)
    right, left, arc = add_outside_right_term(moved, still, at, i, j, k, right, left, arc)
    return add_outside_right_term(still, moved, at, i, j, k, right, left, arc)


@pasted
def outside_left_term(still, moved, at, i, j, k, right, left, arc):
    """What the span (k, j), k < i, adds to the outside sums of one span."""
    if moved is None:
        return add_outside_left_term(still, still, at, i, j, k, right, left, arc)
    right, left, arc = add_outside_left_term(moved, still, at, i, j, k, right, left, arc)
    return add_outside_left_term(still, moved, at, i, j, k, right, left, arc)


@step
def add_inside(rows, columns, at, i, j, end, sums):
    """The terms i+1 < k < end of the inside sums of a tile.

    pair[i, j]  += right[i, k] left[k+1, j]
    right[i, j] += arc[i, k] right[k, j]
    left[i, j]  += left[i, k] arc[j, k]
    """
    pair_0, pair_1, pair_2, pair_3 = sums[0]
    right_0, right_1, right_2, right_3 = sums[1]
    left_0, left_1, left_2, left_3 = sums[2]
    top, bottom = i * at.stride, (i + 1) * at.stride
    first, second = j * at.stride, (j + 1) * at.stride
    for middle in range(end - 1, i + 1, -1):
        k, down = middle * N_LANES, middle * at.stride
        ahead, back = down + j * N_LANES, down + i * N_LANES
        a, b = load(rows, at.right + top + k), load(rows, at.right + bottom + k)
        c = load(columns, at.left + first + k + N_LANES)
        pair_0, pair_2 = fma(a, c, pair_0), fma(b, c, pair_2)
        c = load(columns, at.left + second + k + N_LANES)
        pair_1, pair_3 = fma(a, c, pair_1), fma(b, c, pair_3)
        a, b = load(rows, at.arc + top + k), load(rows, at.arc + bottom + k)
        c = load(columns, at.right + ahead)
        right_0, right_2 = fma(a, c, right_0), fma(b, c, right_2)
        c = load(columns, at.right + ahead + N_LANES)
        right_1, right_3 = fma(a, c, right_1), fma(b, c, right_3)
        a, b = load(rows, at.left + back), load(rows, at.left + back + N_LANES)
        c = load(columns, at.arc + first + k)
        left_0, left_2 = fma(a, c, left_0), fma(b, c, left_2)
        c = load(columns, at.arc + second + k)
        left_1, left_3 = fma(a, c, left_1), fma(b, c, left_3)
    return (
        (pair_0, pair_1, pair_2, pair_3),
        (right_0, right_1, right_2, right_3),
        (left_0, left_1, left_2, left_3),
    )


@step
def add_inside_term(rows, columns, at, i, j, k, pair, right, left):
    """One term of the inside sums of one span."""
    row, column, down, middle = i * at.stride, j * at.stride, k * at.stride, k * N_LANES
    pair = fma(
        load(rows, at.right + row + middle),
        load(columns, at.left + column + middle + N_LANES),
        pair,
    )
    after = load(columns, at.right + down + j * N_LANES)
    right = fma(load(rows, at.arc + row + middle), after, right)
    before = load(rows, at.left + down + i * N_LANES)
    left = fma(before, load(columns, at.arc + column + middle), left)
    return pair, right, left


@step
def add_outside_right(outer, inner, at, i, j, sums):
    """What spans (i, j') with j' > j+1 add to the outside sums of a tile.

    right[i, j]     += pair'[i, j'] left[j+1, j']
    left[i, j]      += left'[i, j'] arc[j', j]
    arc_right[i, j] += right'[i, j'] right[j, j']        (primes: outside)
    """
    right_0, right_1, right_2, right_3 = sums[0]
    left_0, left_1, left_2, left_3 = sums[1]
    arc_0, arc_1, arc_2, arc_3 = sums[2]
    top, bottom = i * at.stride, (i + 1) * at.stride
    first, second = j * at.stride, (j + 1) * at.stride
    # The latest come last: by then the tile before this one is done.
    for end in range(at.n_words, j + 1, -1):
        k, down = end * N_LANES, end * at.stride
        ahead, back = down + j * N_LANES, down + i * N_LANES
        a, b = load(outer, at.outer_pair + top + k), load(outer, at.outer_pair + bottom + k)
        c = load(inner, at.left + ahead + N_LANES)
        right_0, right_2 = fma(a, c, right_0), fma(b, c, right_2)
        c = load(inner, at.left + ahead + 2 * N_LANES)
        right_1, right_3 = fma(a, c, right_1), fma(b, c, right_3)
        a, b = load(outer, at.outer_left + back), load(outer, at.outer_left + back + N_LANES)
        c = load(inner, at.arc + ahead)
        left_0, left_2 = fma(a, c, left_0), fma(b, c, left_2)
        c = load(inner, at.arc + ahead + N_LANES)
        left_1, left_3 = fma(a, c, left_1), fma(b, c, left_3)
        a, b = load(outer, at.outer_right + top + k), load(outer, at.outer_right + bottom + k)
        c = load(inner, at.right + first + k)
        arc_0, arc_2 = fma(a, c, arc_0), fma(b, c, arc_2)
        c = load(inner, at.right + second + k)
        arc_1, arc_3 = fma(a, c, arc_1), fma(b, c, arc_3)
    return (
        (right_0, right_1, right_2, right_3),
        (left_0, left_1, left_2, left_3),
        (arc_0, arc_1, arc_2, arc_3),
    )


@step
def add_outside_left(outer, inner, at, i, j, first, sums):
    """What spans (i', j) with first <= i' < i add to the outside sums of a tile.

    right[i, j]    += right'[i', j] arc[i', i]
    left[i, j]     += pair'[i', j] right[i', i-1]
    arc_left[i, j] += left'[i', j] left[i', i]        (primes: outside)
    """
    right_0, right_1, right_2, right_3 = sums[0]
    left_0, left_1, left_2, left_3 = sums[1]
    arc_0, arc_1, arc_2, arc_3 = sums[2]
    top, bottom = i * at.stride, (i + 1) * at.stride
    left, right = j * at.stride, (j + 1) * at.stride
    for start in range(first, i):
        k, down = start * N_LANES, start * at.stride
        ahead, back = down + j * N_LANES, down + i * N_LANES
        a, b = load(outer, at.outer_right + ahead), load(outer, at.outer_right + ahead + N_LANES)
        c = load(inner, at.arc + back)
        right_0, right_1 = fma(a, c, right_0), fma(b, c, right_1)
        c = load(inner, at.arc + back + N_LANES)
        right_2, right_3 = fma(a, c, right_2), fma(b, c, right_3)
        a, b = load(outer, at.outer_pair + ahead), load(outer, at.outer_pair + ahead + N_LANES)
        c = load(inner, at.right + back - N_LANES)
        left_0, left_1 = fma(a, c, left_0), fma(b, c, left_1)
        c = load(inner, at.right + back)
        left_2, left_3 = fma(a, c, left_2), fma(b, c, left_3)
        a, b = load(outer, at.outer_left + left + k), load(outer, at.outer_left + right + k)
        c = load(inner, at.left + top + k)
        arc_0, arc_1 = fma(a, c, arc_0), fma(b, c, arc_1)
        c = load(inner, at.left + bottom + k)
        arc_2, arc_3 = fma(a, c, arc_2), fma(b, c, arc_3)
    return (
        (right_0, right_1, right_2, right_3),
        (left_0, left_1, left_2, left_3),
        (arc_0, arc_1, arc_2, arc_3),
    )


@step
def add_outside_right_term(outer, inner, at, i, j, k, right, left, arc_right):
    """The products of one such term."""
    row, column, down, end = i * at.stride, j * at.stride, k * at.stride, k * N_LANES
    pair, ahead = load(outer, at.outer_pair + row + end), down + j * N_LANES
    right = fma(pair, load(inner, at.left + ahead + N_LANES), right)
    left = fma(load(outer, at.outer_left + down + i * N_LANES), load(inner, at.arc + ahead), left)
    arc_right = fma(
        load(outer, at.outer_right + row + end), load(inner, at.right + column + end), arc_right
    )
    return right, left, arc_right


@step
def add_outside_left_term(outer, inner, at, i, j, k, right, left, arc_left):
    """The products of one such term."""
    row, column, down, start = i * at.stride, j * at.stride, k * at.stride, k * N_LANES
    ahead, back = down + j * N_LANES, down + i * N_LANES
    right = fma(load(outer, at.outer_right + ahead), load(inner, at.arc + back), right)
    left = fma(load(outer, at.outer_pair + ahead), load(inner, at.right + back - N_LANES), left)
    arc_left = fma(
        load(outer, at.outer_left + column + start), load(inner, at.left + row + start), arc_left
    )
    return right, left, arc_left


@inlined
def computed(still, moved, cell, value):
    """A number that has just been computed, and its derivative: (number, None) without `moved`."""
    if moved is None:
        return value, None
    return load(still, cell), value


@inlined
def kept(still, moved, cell):
    """The same of what is in the charts."""
    if moved is None:
        return load(still, cell), None
    return load(still, cell), load(moved, cell)


@inlined
def neighbours(still, moved, at, i):
    """Of the words i and i + 1: both arcs between them, right and left."""
    ahead, back = i * at.stride + (i + 1) * N_LANES, (i + 1) * at.stride + i * N_LANES
    arcs = kept(still, moved, at.arc + ahead), kept(still, moved, at.arc + back)
    return arcs, kept(still, moved, at.right + ahead), kept(still, moved, at.left + back)


@inlined
def latest(moved, value):
    """Of a number and its derivative the one that is being computed."""
    if moved is None:
        return value[0]
    return value[1]


@inlined
def add_product(moved, a, b, total):
    """total + a b, or total + (a b)'."""
    if moved is None:
        return fma(a[0], b[0], total)
    return fma(a[1], b[0], fma(a[0], b[1], total))


@pasted
def store_ahead(charts, start, at, i, j, value):
    """chart[i, j] = value, in the chart at `start`."""
    store(charts, start + i * at.stride + j * N_LANES, value)


@pasted
def store_back(charts, start, at, i, j, value):
    """chart[j, i] = value: where what grows to the left has its place."""
    store(charts, start + j * at.stride + i * N_LANES, value)


@pasted
def store_both(charts, start, at, i, j, value):
    """chart[i, j] = chart[j, i] = value, in the chart at `start`."""
    store(charts, start + i * at.stride + j * N_LANES, value)
    store(charts, start + j * at.stride + i * N_LANES, value)
