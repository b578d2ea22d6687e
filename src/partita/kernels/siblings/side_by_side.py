"""Charts of second-order trees side by side: four sentences of like length, one in each SIMD lane.

The charts are those of `projective.side_by_side` and one more, of pairs. The weights of the folded
parts (see `siblings.parts`) are kept in rows, one for each head and modifier, with the inner
siblings along it in ascending order: so the sum over inner siblings reads three rows.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import pasted, step
from partita.kernels.simd.any_lanes import gather, scatter
from partita.kernels.simd.exponential import LOWEST, exponential
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    fma,
    load,
    maximum,
    select,
    store,
)
from partita.kernels.trees.side_by_side import lengths_of


class SiblingLayout(NamedTuple):
    """Where the charts of a group start in one flat array, in doubles.

    The names that both have mean what they mean in `projective.side_by_side.Layout`; here `arc`
    is the arc with all that lies under it, modifiers of the head between included. A derivative of
    the charts has the same layout, with the direction in place of the weights.
    """

    right: int
    left: int
    pair: int
    """[i, j]: two halves that meet, of two modifiers in a row."""
    arc: int
    outer_right: int
    outer_left: int
    outer_pair: int
    outer_arc: int
    weight: int
    """Rows of the folded parts, see `row_of`."""
    end: int
    stride: int
    n_words: int


@pasted
def layout(n_words):
    """The layout of a group whose longest sentence has `n_words` words."""
    n_words = (n_words + 1) // 2 * 2
    size = (n_words + 1) * (n_words + 1) * N_LANES
    # There are n - h + 1 choose 2 parts to the right of head h, and h choose 2 to its left.
    n_rows = (
        n_words * (n_words + 1) * (n_words + 2) // 6 + (n_words - 1) * n_words * (n_words + 1) // 6
    )
    return SiblingLayout(
        0, size, 2 * size, 3 * size, 4 * size, 5 * size, 6 * size, 7 * size, 8 * size,
        8 * size + n_rows * N_LANES, (n_words + 1) * N_LANES, n_words,
    )  # fmt: skip


@step
def row_of(at, head, modifier):
    """Where part (head, 0, modifier) would be; part (head, s, modifier) is s * N_LANES behind.

    The parts of one head lie together, first those to its right, in both cases the nearest
    modifiers first.
    """
    n, h = at.n_words, head
    before = n * (n + 1) * (n + 2) - (n - h) * (n - h + 1) * (n - h + 2) + (h - 2) * (h - 1) * h
    if head < modifier:
        distance = modifier - head
        place = before // 6 + distance * (distance - 1) // 2 - head
    else:
        distance = head - modifier
        after = (n - h) * (n - h + 1) // 2
        place = before // 6 + after + distance * (distance - 1) // 2 - modifier - 1
    return at.weight + place * N_LANES


@step
def inner_range(head, modifier):
    """The inner siblings that a head and a modifier can have: first and end."""
    if head < modifier:
        return head, modifier
    return modifier + 1, head + 1


@step
def starts_of(part_offsets, order, first):
    """Where the parts of the four sentences from order[first] on start."""
    last = len(order) - 1
    return (
        part_offsets[order[first]],
        part_offsets[order[min(first + 1, last)]],
        part_offsets[order[min(first + 2, last)]],
        part_offsets[order[min(first + 3, last)]],
    )


@step
def place_of(start, n_words, head, modifier):
    """The arc of one sentence, its part with inner sibling 0, and how far these lie apart."""
    width = n_words + 1
    if head > n_words or modifier > n_words:
        return start, start, 0
    arc = head * width + modifier
    return start + arc, start + width * width + head * width * width + modifier, width


@step
def places_of(starts, lengths, head, modifier):
    """The same for four sentences: arcs, parts, and steps from one inner sibling to the next.

    A sentence that is too short has its first cell instead, which belongs to no tree.
    """
    a = place_of(starts[0], lengths[0], head, modifier)
    b = place_of(starts[1], lengths[1], head, modifier)
    c = place_of(starts[2], lengths[2], head, modifier)
    d = place_of(starts[3], lengths[3], head, modifier)
    return (a[0], b[0], c[0], d[0]), (a[1], b[1], c[1], d[1]), (a[2], b[2], c[2], d[2])


@pasted
def along(parts, steps, inner):
    """The parts with an inner sibling."""
    return (
        parts[0] + inner * steps[0],
        parts[1] + inner * steps[1],
        parts[2] + inner * steps[2],
        parts[3] + inner * steps[3],
    )


@step
def fill_rows(values, part_offsets, n_words, order, first, at, single_root, fill, charts):
    """The rows of folded parts of four sentences, with `fill` where there is none."""
    lengths, starts = lengths_of(n_words, order, first), starts_of(part_offsets, order, first)
    ends = np.empty(N_LANES)
    for k in range(N_LANES):
        ends[k] = lengths[k]
    last = load(ends, 0)
    for head in range(at.n_words + 1):
        for modifier in range(1, at.n_words + 1):
            if modifier == head:
                continue
            is_there = last >= float(max(head, modifier))
            arcs, parts, steps = places_of(starts, lengths, head, modifier)
            arc, row = gather(values, arcs), row_of(at, head, modifier)
            begin, end = inner_range(head, modifier)
            for inner in range(begin, end):
                value = arc + gather(values, along(parts, steps, inner))
                store(charts, row + inner * N_LANES, select(is_there, value, fill))
            if single_root and head == 0:
                for inner in range(1, end):
                    store(charts, row + inner * N_LANES, broadcast(fill))


@step
def best_parts(charts, at, best):
    """best[m] = max over heads and inner siblings of the folded parts, which may be -inf."""
    for modifier in range(at.n_words + 1):
        highest = broadcast(-np.inf)
        for head in range(at.n_words + 1):
            if modifier > 0 and modifier != head:
                row = row_of(at, head, modifier)
                begin, end = inner_range(head, modifier)
                for cell in range(row + begin * N_LANES, row + end * N_LANES, N_LANES):
                    highest = maximum(load(charts, cell), highest)
        store(best, modifier * N_LANES, highest)


@step
def exponentiate_rows(charts, at, best):
    """Rows become exp(score - best[m]), in place; counts in each lane the finite ones now 0.

    Every word has exactly one folded part, so this takes the same amount out of every tree.
    """
    n_lost = broadcast(0.0)
    for head in range(at.n_words + 1):
        for modifier in range(1, at.n_words + 1):
            if modifier == head:
                continue
            highest = load(best, modifier * N_LANES)
            shift, row = select(highest > -np.inf, highest, 0.0), row_of(at, head, modifier)
            begin, end = inner_range(head, modifier)
            for cell in range(row + begin * N_LANES, row + end * N_LANES, N_LANES):
                score = load(charts, cell) - shift
                is_finite = select(score > -np.inf, 1.0, broadcast(0.0))
                n_lost = n_lost + select(score < LOWEST, is_finite, 0.0)
                store(charts, cell, exponential(score))
    return n_lost


@step
def marginal(still, moved, at, head, inner, modifier, row):
    """Of one part, weight * outer_arc[h, m] * what lies under the arc; or its derivative.

    Under the arc are arc[h, s] and pair[s, m]; or where s = h, one half alone.
    """
    cell = head * at.stride + modifier * N_LANES
    weight, outer = load(still, row + inner * N_LANES), load(still, at.outer_arc + cell)
    if inner == head:
        under = half_under(still, at, head, modifier)
        if moved is None:
            return weight * outer * under
        outer_moved = fma(
            load(moved, row + inner * N_LANES), outer, load(moved, at.outer_arc + cell)
        )
        half = half_under(moved, at, head, modifier)
        return weight * fma(outer_moved, under, outer * half)
    arc_cell = at.arc + head * at.stride + inner * N_LANES
    pair_cell = at.pair + modifier * at.stride + inner * N_LANES
    arc, pair = load(still, arc_cell), load(still, pair_cell)
    if moved is None:
        return weight * outer * arc * pair
    outer_moved = fma(load(moved, row + inner * N_LANES), outer, load(moved, at.outer_arc + cell))
    inside = fma(load(moved, arc_cell), pair, arc * load(moved, pair_cell))
    return weight * fma(outer_moved, arc * pair, outer * inside)


@step
def half_under(charts, at, head, modifier):
    """All that lies under an arc to the first modifier: what the modifier has on that side."""
    if head < modifier:
        return load(charts, at.left + modifier * at.stride + (head + 1) * N_LANES)
    return load(charts, at.right + modifier * at.stride + (head - 1) * N_LANES)


@step
def write_parts(still, moved, at, part_offsets, n_words, order, first, out):
    """Marginals of all parts to their sentences, or the derivative of them.

    Cells that belong to no tree are left as they are, but for the first one, which becomes 0.
    """
    lengths, starts = lengths_of(n_words, order, first), starts_of(part_offsets, order, first)
    for head in range(at.n_words + 1):
        for modifier in range(1, at.n_words + 1):
            if modifier == head:
                continue
            row, sums = row_of(at, head, modifier), broadcast(0.0)
            arcs, parts, steps = places_of(starts, lengths, head, modifier)
            begin, end = inner_range(head, modifier)
            for inner in range(begin, end):
                value = marginal(still, moved, at, head, inner, modifier, row)
                scatter(out, along(parts, steps, inner), value)
                sums = sums + value
            scatter(out, arcs, sums)


@step
def centre(still, moved, at):
    """Subtract from the direction of each part of a word its mean, sum over parts p direction."""
    for modifier in range(1, at.n_words + 1):
        mean = broadcast(0.0)
        for head in range(at.n_words + 1):
            if head != modifier:
                row = row_of(at, head, modifier)
                begin, end = inner_range(head, modifier)
                for inner in range(begin, end):
                    p = marginal(still, None, at, head, inner, modifier, row)
                    mean = fma(p, load(moved, row + inner * N_LANES), mean)
        for head in range(at.n_words + 1):
            if head != modifier:
                row = row_of(at, head, modifier)
                begin, end = inner_range(head, modifier)
                for cell in range(row + begin * N_LANES, row + end * N_LANES, N_LANES):
                    store(moved, cell, load(moved, cell) - mean)
