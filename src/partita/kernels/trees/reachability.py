"""Which arcs can be in a tree at all, where some are forbidden.

An arc i -> j is in some tree if i can be reached from the root without passing j. The elimination
gives arcs that are allowed but in no tree a marginal of some 1e-17; here they get exactly 0.
"""

import numpy as np

from partita.kernels.jit import kernel


@kernel
def reach(allowed, avoided, reached, queue):
    """Add to `reached` all words that descend from it by allowed arcs past the word `avoided`.

    Returns how many words are reached.
    """
    n_nodes = len(allowed)
    n_queued = 0
    for i in range(1, n_nodes):
        if reached[i]:
            queue[n_queued] = i
            n_queued += 1
    position = 0
    while position < n_queued and n_queued < n_nodes - 1:
        row = allowed[queue[position]]
        position += 1
        for j in range(1, n_nodes):
            if row[j] and not reached[j] and j != avoided:
                reached[j] = True
                queue[n_queued] = j
                n_queued += 1
    return n_queued


@kernel
def only_single_roots(allowed, reached, queue):
    """Forbid root arcs to words that do not lead to all others."""
    n_nodes = len(allowed)
    for word in range(1, n_nodes):
        if allowed[0, word]:
            reached[:] = False
            reached[word] = True
            allowed[0, word] = reach(allowed, 0, reached, queue) == n_nodes - 1


@kernel
def clear_impossible(arcs, first, n_words, single_root, marginals):
    """Set to exactly 0 the marginals of arcs that are in no tree of a sentence."""
    n_nodes = n_words + 1
    allowed = np.zeros((n_nodes, n_nodes), dtype=np.bool_)
    n_forbidden = 0
    for i in range(n_nodes):
        for j in range(1, n_nodes):
            if i != j:
                allowed[i, j] = arcs[first + i * n_nodes + j] > -np.inf
                n_forbidden += not allowed[i, j]
    if n_forbidden == 0:
        return
    reached, queue = np.empty(n_nodes, dtype=np.bool_), np.empty(n_nodes, dtype=np.int64)
    if single_root:
        only_single_roots(allowed, reached, queue)
    for j in range(1, n_nodes):
        reached[:] = allowed[0]
        reached[j] = False
        reach(allowed, j, reached, queue)
        reached[0] = allowed[0, j]
        for i in range(n_nodes):
            if not reached[i]:
                marginals[first + i * n_nodes + j] = 0.0
