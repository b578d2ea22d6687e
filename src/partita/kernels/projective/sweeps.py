"""The order in which Eisner's recursions compute the spans of a chart, and all of them together.

What is read of each column serves two tiles, one above the other: with AVX-512 in one loop (see
`tall`), else in turn, so that the second has it from the first cache. Derivatives, which read twice
as much, go by rows.
"""

from partita.kernels.jit import inlined, step
from partita.kernels.projective.side_by_side import filled
from partita.kernels.projective.spans import (
    close_inside,
    close_inside_tile,
    close_outside_tile,
    inside_root,
    inside_tile,
    outside_neighbours,
    outside_root,
    outside_tile,
)
from partita.kernels.projective.tall import tall_inside_sums, tall_outside_sums
from partita.kernels.projective.tiles import add_inside, add_outside_left
from partita.kernels.simd.either import all_lanes, load, store
from partita.kernels.simd.lanes import N_LANES
from partita.kernels.simd.sums import IS_LONG

BAND = 4
"""Rows of two tiles."""


@inlined
def _inside_in_turn(charts, at, i, j):
    """The tiles (i+2, j), if there is one, and (i, j), which needs it."""
    if j > i + 2:
        inside_tile(charts, None, at, i + 2, j)
    inside_tile(charts, None, at, i, j)


@inlined
def _inside_at_once(charts, at, i, j):
    """The same with one loop for both."""
    upper, lower = tall_inside_sums(charts, at, i, j)
    if j > i + 2:
        close_inside_tile(charts, None, at, i + 2, j, lower)
        upper = add_inside(charts, charts, at, i, j, i + BAND, upper)
    close_inside_tile(charts, None, at, i, j, upper)


@inlined
def _outside_in_turn(charts, at, i, j, seeds, limit):
    """The tiles (i, j) and (i+2, j), if there is one, which needs the first."""
    limit = outside_tile(charts, None, at, i, j, seeds, limit)
    if j > i + 2:
        limit = outside_tile(charts, None, at, i + 2, j, seeds, limit)
    return limit


@inlined
def _outside_at_once(charts, at, i, j, seeds, limit):
    """The same with two loops for both."""
    cell = (at.stride if i > 0 else 0) + j * N_LANES
    begun = load(seeds, cell), load(seeds, cell + N_LANES)
    upper, lower = tall_outside_sums(charts, at, i, j, begun)
    limit = close_outside_tile(charts, None, at, i, j, upper, limit)
    if j > i + 2:
        rights, lefts, aheads, backs = lower
        sums = (rights, lefts, backs)
        rights, lefts, backs = add_outside_left(charts, charts, at, i + 2, j, i, sums)
        lower = (rights, lefts, aheads, backs)
        limit = close_outside_tile(charts, None, at, i + 2, j, lower, limit)
    return limit


_inside_pair = _inside_at_once if IS_LONG else _inside_in_turn
_outside_pair = _outside_at_once if IS_LONG else _outside_in_turn


@step
def inside_words(still, moved, at, first):
    """All spans from `first` on, rows in bands from the last to the first.

    The root is a word that has no head: nothing grows from it to the left, since its arcs weigh 0.
    """
    charts, zero = filled(still, moved), all_lanes(still, 0.0)
    one = all_lanes(still, 1.0 if moved is None else 0.0)
    for i in range(at.n_words + 1):
        cell = i * (at.stride + N_LANES)
        store(charts, at.right + cell, one)
        store(charts, at.left + cell, one)
        # What belongs to no tree is multiplied as all else is.
        for unused in (cell, i * at.stride):
            store(charts, at.arc + unused, zero)
            store(charts, at.outer_arc + unused, zero)
    if moved is None:
        last_band = first + (at.n_words - 1 - first) // BAND * BAND
        for top in range(last_band, first - 1, -BAND):
            for i in range(top, min(top + BAND, at.n_words), 2):
                close_inside(still, moved, at, i, i + 1, one, zero, zero)
            for j in range(top + 2, at.n_words, 2):
                _inside_pair(still, at, top, j)
    else:
        for i in range(at.n_words - 1, first - 1, -2):
            close_inside(still, moved, at, i, i + 1, one, zero, zero)
            for j in range(i + 2, at.n_words, 2):
                inside_tile(still, moved, at, i, j)


@step
def outside_words(still, moved, at, first, seeds, limit):
    """All spans from `first` on, rows in bands from the first to the last.

    The root's halves begin with what `seeds` has in its first row, all others with the zeros of
    its second.
    """
    if moved is None:
        for top in range(first, at.n_words, BAND):
            for j in range(at.n_words - 1, top, -2):
                limit = _outside_pair(still, at, top, j, seeds, limit)
            for i in range(top, min(top + BAND, at.n_words), 2):
                limit = outside_neighbours(still, moved, at, i, seeds, limit)
    else:
        for i in range(first, at.n_words, 2):
            for j in range(at.n_words - 1, i + 1, -2):
                limit = outside_tile(still, moved, at, i, j, seeds, limit)
            limit = outside_neighbours(still, moved, at, i, seeds, limit)
    return limit


@step
def inside(still, moved, at, single_root, totals):
    """All spans; totals[j] is the sum over the trees of the words 1 .. j."""
    if single_root:
        inside_words(still, moved, at, 1)
        inside_root(still, moved, at, totals)
    else:
        inside_words(still, moved, at, 0)
        for cell in range(0, at.stride, N_LANES):
            store(totals, cell, load(filled(still, moved), at.right + cell))


@step
def outside(still, moved, at, single_root, seeds):
    """All spans, from the outside values `seeds` of the whole sentences; returns the limit.

    These do not move, since the direction is centred: then `seeds` are zeros.
    """
    limit, first = all_lanes(still, 0.0), 1 if single_root else 0
    if single_root:
        limit = outside_root(still, moved, at, seeds)
    return outside_words(still, moved, at, first, seeds, limit)
