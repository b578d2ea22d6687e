"""Metropolis sampling of derivations: what lies below a node is derived anew.

See `Layout` for the arrays.
"""

import numpy as np

from partita.kernels.forests.sample import cumulate, derive
from partita.kernels.jit import kernel, step


@step
def subtree_end(derivation, first, n_tails):
    """The place behind the last edge of the sub-derivation that begins at `first`, in preorder."""
    n_open, place = 1, first
    while n_open > 0:
        n_open += n_tails[derivation[place]] - 1
        place += 1
    return place


@kernel
def resample(weights, edges, star_offsets, tails, tail_offsets, given, n_steps, rng):
    """What a derivation has become after `n_steps` Metropolis steps.

    A step takes one edge of the derivation d, each with probability 1 / |d|, and derives its head
    anew, with the probability of each derivation given the node. The new derivation d' is kept with
    probability min(1, |d| / |d'|), since it would choose the same place with 1 / |d'|; so the step
    is in balance with p(d). The root is among the places: every derivation can be reached.
    """
    cumulative = np.empty(len(weights))
    cumulate(weights, star_offsets, cumulative)
    n_tails, nodes = np.empty(len(edges), dtype=np.int64), np.empty(len(edges), dtype=np.int64)
    for node in range(len(star_offsets) - 1):
        for place in range(star_offsets[node], star_offsets[node + 1]):
            n_tails[edges[place]] = tail_offsets[place + 1] - tail_offsets[place]
            nodes[edges[place]] = node
    new = np.empty(16, dtype=np.int64)
    shape = (edges, star_offsets, tails, tail_offsets)
    current = given.copy()
    for _ in range(n_steps):
        first = int(rng.random() * len(current))
        end = subtree_end(current, first, n_tails)
        node = nodes[current[first]]
        if cumulative[star_offsets[node + 1] - 1] == 0.0:
            continue  # the given derivation is forbidden, and so is any other of this node
        new, length = derive(cumulative, *shape, node, rng, new, 0)
        after = len(current) - (end - first) + length
        if rng.random() * after < len(current):
            longer = np.empty(after, dtype=np.int64)
            longer[:first] = current[:first]
            longer[first : first + length] = new[:length]
            longer[first + length :] = current[end:]
            current = longer
    return current
