"""The parts of second-order trees, one sentence after the other: arcs, then siblings.

A word hangs on one head and has one inner sibling, so that every tree has exactly one sibling part
for each word, and the arc is known with it. So both scores are folded into one,

    folded[h, s, m] = arcs[h, m] + siblings[h, s, m],

and what is known of a folded part belongs to its sibling part and, summed over s, to its arc. Only
cells whose inner sibling lies on the way from head to modifier occur: h <= s < m or m < s <= h.
Where `single_root`, the first modifier of the root is its only one, so s = 0 where h = 0.
"""

import numpy as np

from partita.kernels.jit import kernel, step


@step
def is_part(head, inner, modifier, single_root):
    """Whether a cell of the siblings occurs in some tree."""
    if modifier == 0 or head == modifier:
        return False
    if single_root and head == 0 and inner > 0:
        return False
    if head < modifier:
        return head <= inner < modifier
    return modifier < inner <= head


@kernel
def fill_unused(values, n_words, starts, single_root, value):
    """Write `value` into the cells of siblings, from `starts` on, that occur in no tree.

    Returns how many of the numbers there were neither finite nor -inf.
    """
    n_wrong = 0.0
    for sentence in range(len(n_words)):
        width, cell = n_words[sentence] + 1, starts[sentence]
        for head in range(width):
            for inner in range(width):
                for modifier in range(width):
                    if not is_part(head, inner, modifier, single_root):
                        n_wrong += 0.0 if values[cell] < np.inf else 1.0
                        values[cell] = value
                    cell += 1
    return n_wrong


@kernel
def fold(values, n_words, part_offsets, sentences, single_root, fill, folded):
    """The folded parts of the named sentences, end to end; `fill` where no tree has any."""
    place = 0
    for sentence in sentences:
        width, first = n_words[sentence] + 1, part_offsets[sentence]
        cell = first + width * width
        for head in range(width):
            for inner in range(width):
                for modifier in range(width):
                    value = fill
                    if is_part(head, inner, modifier, single_root):
                        value = values[first + head * width + modifier] + values[cell]
                    folded[place] = value
                    cell += 1
                    place += 1


@kernel
def unfold(folded, n_words, part_offsets, sentences, largest, out):
    """What is known of folded parts, for arcs and siblings: sums over s, or the largest."""
    place = 0
    for sentence in sentences:
        width, first = n_words[sentence] + 1, part_offsets[sentence]
        cell = first + width * width
        for arc in range(first, cell):
            out[arc] = -np.inf if largest else 0.0
        for head in range(width):
            for _ in range(width):
                for arc in range(first + head * width, first + (head + 1) * width):
                    out[cell] = folded[place]
                    out[arc] = max(out[arc], folded[place]) if largest else out[arc] + folded[place]
                    cell += 1
                    place += 1


@kernel
def inner_siblings(heads, last, inner):
    """inner[m - 1]: the next modifier of the head of word m towards it, or the head itself.

    `last` has room for a number for each word and the root.
    """
    n_words = len(heads)
    for word in range(n_words + 1):
        last[word] = word
    for modifier in range(1, n_words + 1):
        head = heads[modifier - 1]
        if head < modifier:
            inner[modifier - 1] = last[head]
            last[head] = modifier
    for word in range(n_words + 1):
        last[word] = word
    for modifier in range(n_words, 0, -1):
        head = heads[modifier - 1]
        if head > modifier:
            inner[modifier - 1] = last[head]
            last[head] = modifier
