"""The best derivations of one forest: Viterbi and max-marginals; see `Layout` for its arrays."""

import numpy as np

from partita.kernels.forests.inside import edge_value
from partita.kernels.jit import step


@step
def viterbi(scores, parts, star_offsets, tails, tail_offsets, best, choice, lengths):
    """best[v] = max over edges e into v of score[e] + sum over tails u of best[u].

    choice[v] is the place of the first edge that attains it (-1 where nothing is allowed), and
    lengths[v] the number of edges of the derivation; it can be astronomical, so it is a float.
    """
    for node in range(len(star_offsets) - 1):
        highest, chosen = -np.inf, -1
        for place in range(star_offsets[node], star_offsets[node + 1]):
            value = edge_value(scores, parts, tails, tail_offsets, best, place)
            if value > highest:
                highest, chosen = value, place
        best[node], choice[node] = highest, chosen
        length = 1.0
        if chosen >= 0:
            for position in range(tail_offsets[chosen], tail_offsets[chosen + 1]):
                length += lengths[tails[position]]
        lengths[node] = length


@step
def write_derivation(choice, edges, tails, tail_offsets, root, out):
    """The chosen edges below the root, top-down and left to right, where `out` has room for them.

    Every node on the stack stands for an edge still to be written, so it is never longer than
    the derivation.
    """
    stack = np.empty(len(out), dtype=np.int64)
    stack[0], height, index = root, 1, 0
    while height > 0:
        height -= 1
        place = choice[stack[height]]
        out[index] = edges[place]
        index += 1
        for position in range(tail_offsets[place + 1] - 1, tail_offsets[place] - 1, -1):
            stack[height] = tails[position]
            height += 1


@step
def max_marginals(scores, parts, star_offsets, tails, tail_offsets, root, best, out):
    """For each part the score of the best derivation that uses it at least once.

    total[e]   = reached[head of e] + (value[e] - best[head of e]), the second term what e costs
    reached[v] = the largest total[e] of the edges with v among their tails; best[v] for the root
    out[part]  = the largest total[e] of the part's edges; it must be -inf before
    """
    reached = np.full(len(best), -np.inf)
    reached[root] = best[root]
    for node in range(len(star_offsets) - 2, -1, -1):
        for place in range(star_offsets[node], star_offsets[node + 1]):
            value = edge_value(scores, parts, tails, tail_offsets, best, place)
            if reached[node] == -np.inf or value == -np.inf:
                continue
            total = reached[node] + (value - best[node])
            out[parts[place]] = max(out[parts[place]], total)
            for position in range(tail_offsets[place], tail_offsets[place + 1]):
                reached[tails[position]] = max(reached[tails[position]], total)
