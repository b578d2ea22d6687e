"""The best derivations of forests: Viterbi and max-marginals. Arrays as in `forests.inside`."""

import numpy as np

from partita.kernels.forests.inside import edge_value
from partita.kernels.jit import kernel


@kernel
def viterbi(scores, edges, star_offsets, tails, tail_offsets, best, choice, lengths):
    """best[v] = max over edges e into v of score[e] + sum over tails u of best[u].

    choice[v] is the place of the first edge that attains it (-1 where nothing is allowed), and
    lengths[v] the number of edges of the derivation; it can be astronomical, so it is a float.
    """
    for node in range(len(star_offsets) - 1):
        highest, chosen = -np.inf, -1
        for place in range(star_offsets[node], star_offsets[node + 1]):
            value = edge_value(scores, edges, tails, tail_offsets, best, place)
            if value > highest:
                highest, chosen = value, place
        best[node], choice[node] = highest, chosen
        length = 1.0
        if chosen >= 0:
            for position in range(tail_offsets[chosen], tail_offsets[chosen + 1]):
                length += lengths[tails[position]]
        lengths[node] = length


@kernel
def write_derivations(choice, edges, tails, tail_offsets, roots, first_parts, offsets, out):
    """The chosen edges below each root, top-down and left to right.

    Every node on the stack stands for an edge still to be written, so it is never longer than
    the derivation. Roots without derivation write nothing.
    """
    for forest in range(len(roots)):
        index, end = offsets[forest], offsets[forest + 1]
        stack = np.empty(end - index, dtype=np.int64)
        height = 0
        if end > index:
            stack[0], height = roots[forest], 1
        while height > 0:
            height -= 1
            place = choice[stack[height]]
            out[index] = edges[place] - first_parts[forest]
            index += 1
            for position in range(tail_offsets[place + 1] - 1, tail_offsets[place] - 1, -1):
                stack[height] = tails[position]
                height += 1


@kernel
def max_marginals(scores, edges, star_offsets, tails, tail_offsets, roots, best, out):
    """For each edge the score of the best derivation that uses it at least once.

    out[e]     = reached[head of e] + (value[e] - best[head of e]), the second term what e costs
    reached[v] = the largest out[e] of the edges with v among their tails; best[v] for a root
    """
    reached = np.full(len(best), -np.inf)
    for root in roots:
        reached[root] = best[root]
    for node in range(len(star_offsets) - 2, -1, -1):
        for place in range(star_offsets[node], star_offsets[node + 1]):
            value = edge_value(scores, edges, tails, tail_offsets, best, place)
            if reached[node] == -np.inf or value == -np.inf:
                out[edges[place]] = -np.inf
                continue
            total = reached[node] + (value - best[node])
            out[edges[place]] = total
            for position in range(tail_offsets[place], tail_offsets[place + 1]):
                reached[tails[position]] = max(reached[tails[position]], total)
