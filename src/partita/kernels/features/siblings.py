"""Hashed features of siblings: head, inner sibling and modifier, found on the way as those of arcs.

A template has a key for each word in each role, and one for "no inner sibling"; together with the
side they choose a group of eight weights, as in `features.arcs`: the plain one, and one for the
distance of the two modifiers. Templates that do not look at the head are summed once for each pair
of modifiers, not for each head.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.features.arcs import distance_slot, slot_of
from partita.kernels.features.hash import place_of
from partita.kernels.jit import inlined, kernel


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
def visit_row(
    table, is_transposed, modifiers, key, first, inner, begin, end, step, shift, values, cell
):
    """One template at a row of modifiers, from `begin` outwards, with `key` of all the rest.

    values[cell + m] += both weights; or transposed, both weights += values[cell + m].
    """
    for m in range(begin, end, step):
        place = place_of(np.uint32(key ^ modifiers[first + m]), shift)
        further = slot_of(place, distance_slot(abs(m - inner)))
        if is_transposed:
            table[place] += values[cell + m]
            table[further] += values[cell + m]
        else:
            values[cell + m] += table[place] + table[further]


@inlined
def rows_after(inner, side, n_words):
    """The modifiers beyond an inner sibling, as a range."""
    if side == 0:
        return inner + 1, n_words + 1, 1
    return inner - 1, 0, -1


@kernel
def visit_triples(table, is_transposed, keys, first, n_words, shift, start, values):
    """All templates that look at the head, at all parts of a sentence from `start` on."""
    width, n_triples = n_words + 1, keys.head.shape[0]
    for head in range(width):
        for side in range(2):
            last, step = (n_words, 1) if side == 0 else (0, -1)
            for inner in range(head, last, step):
                begin, end, _ = rows_after(inner, side, n_words)
                cell = start + (head * width + inner) * width
                for t in range(n_triples):
                    middle = keys.nobody[t] if inner == head else keys.inner[t, first + inner]
                    key = np.uint32(keys.head[t, first + head] ^ keys.side[side, t] ^ middle)
                    visit_row(
                        table, is_transposed, keys.modifier[t], key, first, inner, begin, end, step,
                        shift, values, cell,
                    )  # fmt: skip


@kernel
def visit_pairs(table, is_transposed, keys, first, n_words, shift, pairs, firsts):
    """All other templates, at pairs[inner, m] and, without inner sibling, at firsts[head, m]."""
    width, n_triples = n_words + 1, keys.head.shape[0]
    for inner in range(width):
        for side in range(2):
            begin, end, step = rows_after(inner, side, n_words)
            for t in range(n_triples, keys.inner.shape[0]):
                key = np.uint32(keys.inner[t, first + inner] ^ keys.side[side, t])
                if inner > 0:
                    visit_row(
                        table, is_transposed, keys.modifier[t], key, first, inner, begin, end, step,
                        shift, pairs, inner * width,
                    )  # fmt: skip
                key = np.uint32(keys.nobody[t] ^ keys.side[side, t])
                visit_row(
                    table, is_transposed, keys.modifier[t], key, first, inner, begin, end, step,
                    shift, firsts, inner * width,
                )  # fmt: skip


@kernel
def spread(is_transposed, n_words, start, values, pairs, firsts):
    """values[h, s, m] += pairs[s, m], or firsts[h, m] where s = h; or the transpose of that."""
    width = n_words + 1
    for head in range(width):
        for side in range(2):
            last, step = (n_words, 1) if side == 0 else (0, -1)
            for inner in range(head, last, step):
                begin, end, _ = rows_after(inner, side, n_words)
                cell, row = start + (head * width + inner) * width, inner * width
                sums = firsts if inner == head else pairs
                for m in range(begin, end, step):
                    if is_transposed:
                        sums[row + m] += values[cell + m]
                    else:
                        values[cell + m] += sums[row + m]


@kernel
def scores(table, shift, keys, n_words, first_nodes, starts, out):
    """out[part] += the weights of its features, for all sentences; unused cells stay as they are.

    The sibling parts of each sentence begin at `starts`.
    """
    longest = n_words.max() + 1
    pairs, firsts = np.empty(longest * longest), np.empty(longest * longest)
    for sentence in range(n_words.size):
        n, first, start = n_words[sentence], first_nodes[sentence], starts[sentence]
        for cell in range((n + 1) * (n + 1)):
            pairs[cell], firsts[cell] = 0.0, 0.0
        visit_pairs(table, False, keys, first, n, shift, pairs, firsts)
        spread(False, n, start, out, pairs, firsts)
        visit_triples(table, False, keys, first, n, shift, start, out)


@kernel
def gradient(score_gradient, shift, keys, n_words, first_nodes, starts, out):
    """out[weight] += the score gradients of the parts that have its feature."""
    longest = n_words.max() + 1
    pairs, firsts = np.empty(longest * longest), np.empty(longest * longest)
    for sentence in range(n_words.size):
        n, first, start = n_words[sentence], first_nodes[sentence], starts[sentence]
        for cell in range((n + 1) * (n + 1)):
            pairs[cell], firsts[cell] = 0.0, 0.0
        spread(True, n, start, score_gradient, pairs, firsts)
        visit_pairs(out, True, keys, first, n, shift, pairs, firsts)
        visit_triples(out, True, keys, first, n, shift, start, score_gradient)
