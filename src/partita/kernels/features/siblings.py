"""Hashed features of siblings: head, inner sibling and modifier, found on the way as those of arcs.

A template has a key for each word in each role, and one for "no inner sibling"; together with the
side they choose a group of eight weights, as in `features.arcs`: the plain one, and one for the
distance of the two modifiers. Templates that do not look at the head are summed once for each pair
of modifiers, not for each head.

The modifiers beyond an inner sibling are a row: the places of all its features are computed, and
asked for, while those of the row before it are used.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.features.arcs import distance_slot, slot_of
from partita.kernels.features.hash import place_of
from partita.kernels.jit import borrowing, inlined, kernel, step
from partita.kernels.simd.prefetch import prefetch


class SiblingKeys(NamedTuple):
    """The keys of all templates of all nodes, uint32; those with a head first.

    Sides are 0 where the head stands before the modifier, else 1.
    """

    head: Array
    """(n_triples, n_nodes): of templates that look at the head."""
    inner: Array
    """(n_templates, n_nodes)."""
    nobody: Array
    """(n_templates,): in place of `inner`, where there is none."""
    modifier: Array
    """(n_templates, n_nodes)."""
    side: Array
    """(2, n_templates)."""


@inlined
def row_beyond(inner, side, n_words):
    """The modifiers beyond an inner sibling: the first, and the end."""
    if side == 0:
        return inner + 1, n_words + 1
    return 1, inner


@borrowing
def ask_for_row(table, modifiers, bases, template, first, begin, end, shift, places, start, width):
    """places[start + t * width + m] of the features of a row; and ask for their groups.

    bases[t] has what all else says to template `template` + t, and the row of each node's keys
    what it says as modifier.
    """
    for t in range(bases.size):
        base, row = bases[t], start + t * width
        for m in range(begin, end):
            place = place_of(np.uint32(base ^ modifiers[template + t, first + m]), shift)
            places[row + m] = place
            prefetch(table, np.int64(place))


@borrowing
def use_row(
    table, is_transposed, n_templates, inner, begin, end, slots, places, start, width, values, cell
):
    """values[cell + m] += both weights of all places; or transposed, these += values[cell + m]."""
    for t in range(n_templates):
        row = start + t * width
        for m in range(begin, end):
            place = places[row + m]
            further = slot_of(place, slots[abs(m - inner)])
            if is_transposed:
                table[place] += values[cell + m]
                table[further] += values[cell + m]
            else:
                values[cell + m] += table[place] + table[further]


@step
def visit_triples(table, is_transposed, keys, first, n_words, shift, slots, start, values):
    """All templates that look at the head, at all parts of a sentence from `start` on."""
    width, n_triples = n_words + 1, keys.head.shape[0]
    bases = np.empty(n_triples, dtype=np.uint32)
    places = np.empty(2 * n_triples * width, dtype=np.uint32)
    # The row that waits: its inner sibling, the first modifier, the end, and its place.
    here, waiting = 0, (0, 0, 0, start)
    for head in range(width):
        for side in range(2):
            last, step = (n_words, 1) if side == 0 else (0, -1)
            for inner in range(head, last, step):
                for t in range(n_triples):
                    middle = keys.nobody[t] if inner == head else keys.inner[t, first + inner]
                    bases[t] = keys.head[t, first + head] ^ keys.side[side, t] ^ middle
                begin, end = row_beyond(inner, side, n_words)
                ask_for_row(
                    table, keys.modifier, bases, 0, first, begin, end, shift, places, here, width
                )
                here = n_triples * width - here
                use_row(
                    table, is_transposed, n_triples, waiting[0], waiting[1], waiting[2], slots,
                    places, here, width, values, waiting[3],
                )  # fmt: skip
                waiting = (inner, begin, end, start + (head * width + inner) * width)
    use_row(
        table, is_transposed, n_triples, waiting[0], waiting[1], waiting[2], slots, places,
        n_triples * width - here, width, values, waiting[3],
    )  # fmt: skip


@step
def visit_pairs(table, is_transposed, keys, first, n_words, shift, slots, sums):
    """All other templates, at sums[inner, m] and, without inner sibling, at sums[head, m] behind.

    `sums` has room for (2, n+1, n+1) numbers.
    """
    width, n_triples, n_templates = n_words + 1, keys.head.shape[0], keys.inner.shape[0]
    n_pairs = n_templates - n_triples
    bases = np.empty(n_pairs, dtype=np.uint32)
    places = np.empty(2 * n_pairs * width, dtype=np.uint32)
    here, waiting = 0, (0, 0, 0, 0)
    for is_alone in range(2):
        for inner in range(1 - is_alone, width):
            for side in range(2):
                for t in range(n_triples, n_templates):
                    middle = keys.nobody[t] if is_alone else keys.inner[t, first + inner]
                    bases[t - n_triples] = keys.side[side, t] ^ middle
                begin, end = row_beyond(inner, side, n_words)
                ask_for_row(
                    table, keys.modifier, bases, n_triples, first, begin, end, shift, places, here,
                    width,
                )  # fmt: skip
                here = n_pairs * width - here
                use_row(
                    table, is_transposed, n_pairs, waiting[0], waiting[1], waiting[2], slots,
                    places, here, width, sums, waiting[3],
                )  # fmt: skip
                waiting = (inner, begin, end, (is_alone * width + inner) * width)
    use_row(
        table, is_transposed, n_pairs, waiting[0], waiting[1], waiting[2], slots, places,
        n_pairs * width - here, width, sums, waiting[3],
    )  # fmt: skip


@step
def spread(is_transposed, n_words, start, values, sums):
    """values[h, s, m] += what `visit_pairs` sums up for s and m; or the transpose of that."""
    width = n_words + 1
    for head in range(width):
        for side in range(2):
            last, step = (n_words, 1) if side == 0 else (0, -1)
            for inner in range(head, last, step):
                begin, end = row_beyond(inner, side, n_words)
                cell, row = start + (head * width + inner) * width, inner * width
                if inner == head:
                    row += width * width
                for m in range(begin, end):
                    if is_transposed:
                        sums[row + m] += values[cell + m]
                    else:
                        values[cell + m] += sums[row + m]


@step
def scratch(n_words):
    """The slot of every distance, and room for the sums of `visit_pairs`, for the longest."""
    longest = 0
    for n in n_words:
        longest = max(longest, n + 1)
    slots = np.empty(longest, dtype=np.uint32)
    for distance in range(longest):
        slots[distance] = distance_slot(distance)
    return slots, np.empty(2 * longest * longest)


@kernel
def scores(table, shift, keys, n_words, first_nodes, starts, out):
    """out[part] += the weights of its features, for all sentences; unused cells stay as they are.

    The sibling parts of each sentence begin at `starts`.
    """
    slots, sums = scratch(n_words)
    for sentence in range(n_words.size):
        n, first, start = n_words[sentence], first_nodes[sentence], starts[sentence]
        for cell in range(2 * (n + 1) * (n + 1)):
            sums[cell] = 0.0
        visit_pairs(table, False, keys, first, n, shift, slots, sums)
        spread(False, n, start, out, sums)
        visit_triples(table, False, keys, first, n, shift, slots, start, out)


@kernel
def gradient(score_gradient, shift, keys, n_words, first_nodes, starts, out):
    """out[weight] += the score gradients of the parts that have its feature."""
    slots, sums = scratch(n_words)
    for sentence in range(n_words.size):
        n, first, start = n_words[sentence], first_nodes[sentence], starts[sentence]
        for cell in range(2 * (n + 1) * (n + 1)):
            sums[cell] = 0.0
        spread(True, n, start, score_gradient, sums)
        visit_pairs(out, True, keys, first, n, shift, slots, sums)
        visit_triples(out, True, keys, first, n, shift, slots, start, score_gradient)
