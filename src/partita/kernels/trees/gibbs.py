"""Gibbs sampling of dependency trees: one word after the other is hung elsewhere, with its subtree.

With a single root a word alone cannot take the root's place. So each visited word has a partner,
drawn without looking at the tree: where one of the two is the root word, both are hung anew
together, and either may become the root; else only the visited word is. Which of the two cases
it is does not depend on the heads that are drawn, so that each visit is a Gibbs step.
"""

import numpy as np

from partita.kernels.chains.sample import draw
from partita.kernels.jit import kernel, step

NOBODY = 0
"""In place of a second word that is hung anew."""


@step
def find_tops(heads, word, partner, tops):
    """tops[x] = `word` or `partner` if x descends from it (each descends from itself), else 0.

    Both are cut off from their heads. O(n): each node is climbed past once.
    """
    tops[:] = -1
    tops[0], tops[word], tops[partner] = 0, word, partner
    for start in range(1, len(tops)):
        node = start
        while tops[node] < 0:
            node = heads[node - 1]
        top, node = tops[node], start
        while tops[node] < 0:
            tops[node] = top
            node = heads[node - 1]


@step
def crosses(head, modifier, other_head, other_modifier):
    """Whether two arcs cross: one begins under the other and ends outside."""
    left, right = min(head, modifier), max(head, modifier)
    first, last = min(other_head, other_modifier), max(other_head, other_modifier)
    return (left < first < right < last) or (first < left < last < right)


@step
def find_blocked(heads, word, partner, modifier, blocked):
    """blocked[h] > 0 where the arc h -> modifier crosses an arc of a word beside the two. O(n).

    An arc over the modifier keeps its heads within; one beside it keeps them out of what it spans.
    """
    n_words = len(heads)
    blocked[:] = 0
    lowest, highest = 0, n_words
    for other in range(1, n_words + 1):
        if other != word and other != partner:
            left, right = min(heads[other - 1], other), max(heads[other - 1], other)
            if left < modifier < right:
                lowest, highest = max(lowest, left), min(highest, right)
            elif modifier < left or modifier > right:
                blocked[left + 1] += 1
                blocked[right] -= 1
    total = 0
    for head in range(n_words + 1):
        total += blocked[head]
        blocked[head] = total
        if head < lowest or head > highest:
            blocked[head] = 1


@step
def hang_word(arcs, is_projective, single_root, word, uniform, heads, tops, blocked, logs, weights):
    """Draw the head of one word among all that leave a tree; arcs is (n+1, n+1)."""
    find_tops(heads, word, NOBODY, tops)
    blocked[:] = 0
    if is_projective:
        find_blocked(heads, word, NOBODY, word, blocked)
    # With a single root the root word is another, and the root has no place for a second.
    blocked[0] += single_root
    for head in range(len(heads) + 1):
        logs[head] = -np.inf
        if tops[head] != word and blocked[head] == 0:
            logs[head] = arcs[head, word]
    if logs.max() > -np.inf:
        heads[word - 1] = draw(logs, uniform, weights)


@step
def hang_both(arcs, is_projective, word, partner, uniform, heads, tops, blocked, logs, weights):
    """Draw the heads of the root word and another: one hangs on the root, the other below it.

    All other words descend from one of the two, so that a head of the lower one says which it is.
    """
    find_tops(heads, word, partner, tops)
    logs[:] = -np.inf
    for upper, lower in ((word, partner), (partner, word)):
        blocked[:] = 0
        if is_projective:
            find_blocked(heads, word, partner, upper, blocked)
            if blocked[0] > 0:
                continue
            find_blocked(heads, word, partner, lower, blocked)
        for head in range(1, len(heads) + 1):
            is_free = not is_projective or not crosses(0, upper, head, lower)
            if tops[head] == upper and blocked[head] == 0 and is_free:
                logs[head] = arcs[0, upper] + arcs[head, lower]
    if logs.max() > -np.inf:
        head = draw(logs, uniform, weights)
        upper = tops[head]
        heads[upper - 1] = 0
        heads[word + partner - upper - 1] = head


@kernel
def visit(
    arcs, is_projective, single_root, word, partner, uniform, heads, tops, blocked, logs, weights
):
    """Hang a word anew, or with a single root the root word and another; arcs is (n+1, n+1)."""
    room = (tops, blocked, logs, weights)
    has_root = heads[word - 1] == 0 or (partner != NOBODY and heads[partner - 1] == 0)
    if not single_root or not has_root:
        hang_word(arcs, is_projective, single_root, word, uniform, heads, *room)
    elif partner != NOBODY:
        hang_both(arcs, is_projective, word, partner, uniform, heads, *room)


@kernel
def resample_heads(
    arcs, arc_offsets, word_offsets, is_projective, single_root, visits, partners, uniforms, heads
):
    """Draw the heads of the visited words anew, in place; O(n) a visit.

    Row k of `visits` holds, for each sentence, the words (from 1) of round k in the order of the
    visits; `partners` beside it a second word of the sentence for each, 0 where there is none.
    """
    for sentence in range(len(arc_offsets) - 1):
        first, end = word_offsets[sentence], word_offsets[sentence + 1]
        width = end - first + 1
        mine = heads[first:end]
        scores = arcs[arc_offsets[sentence] : arc_offsets[sentence + 1]].reshape(width, width)
        tops, blocked = np.empty(width, dtype=np.int64), np.empty(width + 1, dtype=np.int64)
        room = (tops, blocked, np.empty(width), np.empty(width))
        kind = (is_projective, single_root)
        for k in range(len(visits)):
            for i in range(first, end):
                pair = (visits[k, i], partners[k, i])
                visit(scores, *kind, *pair, uniforms[k, i], mine, *room)
