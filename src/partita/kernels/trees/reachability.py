"""Which arcs can be in a tree at all, where some are forbidden.

An arc i -> j is in some tree if i can be reached from the root without passing j. The elimination
gives arcs that are allowed but in no tree a marginal of some 1e-17; here they get exactly 0.
"""

import numpy as np

from partita.kernels.jit import kernel, step


@step
def reach(allowed, n_nodes, avoided, reached, queue):
    """Add to `reached` all words that descend from it by allowed arcs past the word `avoided`.

    Returns how many words are reached.
    """
    n_queued = 0
    for i in range(1, n_nodes):
        if reached[i]:
            queue[n_queued] = i
            n_queued += 1
    position = 0
    while position < n_queued and n_queued < n_nodes - 1:
        row = queue[position] * n_nodes
        position += 1
        for j in range(1, n_nodes):
            if allowed[row + j] and not reached[j] and j != avoided:
                reached[j] = True
                queue[n_queued] = j
                n_queued += 1
    return n_queued


@step
def only_single_roots(allowed, n_nodes, reached, queue):
    """Forbid root arcs to words that do not lead to all others."""
    for word in range(1, n_nodes):
        if allowed[word]:
            for j in range(n_nodes):
                reached[j] = j == word
            allowed[word] = reach(allowed, n_nodes, 0, reached, queue) == n_nodes - 1


@kernel
def clear_impossible(
    arcs, arc_offsets, n_words, single_root, sentences, allowed, reached, queue, marginals
):
    """Set to exactly 0 the marginals of arcs that are in no tree, in the named sentences.

    Scratch: allowed has room for all arcs of the longest, reached and queue for all its nodes.
    """
    for sentence in sentences:
        first, n_nodes = arc_offsets[sentence], n_words[sentence] + 1
        for cell in range(n_nodes * n_nodes):
            is_arc = cell % n_nodes != 0 and cell % n_nodes != cell // n_nodes
            allowed[cell] = is_arc and arcs[first + cell] > -np.inf
        if single_root:
            only_single_roots(allowed, n_nodes, reached, queue)
        for j in range(1, n_nodes):
            for i in range(n_nodes):
                reached[i] = allowed[i] and i != j
            reach(allowed, n_nodes, j, reached, queue)
            reached[0] = allowed[j]
            for i in range(n_nodes):
                if not reached[i]:
                    marginals[first + i * n_nodes + j] = 0.0
