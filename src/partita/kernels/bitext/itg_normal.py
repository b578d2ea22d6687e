"""What the normal forms of `itg_pair` and `itg_bounded` share: unions, and null words before links.

`moves` is 1 where cells are spans of target words, [k, l], and 0 where they are numbers of these,
[0, l - k]: what is inserted behind k target words lies at [k, k + 1] or at [0, 1].
"""

import numpy as np

from partita.kernels.bitext.itg_edges import (
    EDGES,
    NODES,
    NONE,
    STRAIGHT,
    UNIT,
    put_edge,
    put_if_any,
    put_single,
    put_union,
)
from partita.kernels.jit import inlined


@inlined
def put_unions(edges, counts, in_order, inverted, leaf, unit, span):
    """C = inverted or L,   D = straight or L,   X = straight or C; in this order."""
    D = put_union(edges, counts, in_order, leaf, unit, span)
    C = put_union(edges, counts, inverted, leaf, unit, span)
    return C, D, put_union(edges, counts, in_order, C, unit, span)


@inlined
def put_prefixes(edges, counts, X, n, m, moves, straight):
    """P[i, k]: the first i source words deleted, then k target words inserted."""
    P = np.full((n + 1, m + 1), NONE, dtype=np.int32)
    for i in range(n + 1):
        for k in range(m + 1):
            span = (0, i, 0, k)
            if i + k == 1:
                P[i, k] = X[0, i, 0, k]
            elif k > 0:
                first = moves * (k - 1)
                left, right = P[i, k - 1], X[i, i, first, first + 1]
                P[i, k] = put_single(edges, counts, left, right, STRAIGHT, straight, span)
            elif i > 0:
                left, right = P[i - 1, 0], X[i - 1, i, 0, 0]
                P[i, k] = put_single(edges, counts, left, right, STRAIGHT, straight, span)
    return P


@inlined
def put_top(edges, counts, P, X, n, m, moves, straight):
    """Null words before all links, and the rest; or either alone. Returns the node, -1 for none."""
    before, top, unit = counts[EDGES], counts[NODES], straight + 2
    for i in range(n):
        for k in range(m):
            first = moves * k
            left, right = P[i, k], X[i, n, first, m - k + first]
            if left != NONE and right != NONE:
                put_edge(edges, counts, top, left, right, STRAIGHT, straight)
    if n > 0 and m > 0 and X[0, n, 0, m] != NONE:
        put_edge(edges, counts, top, X[0, n, 0, m], NONE, UNIT, unit)
    if P[n, m] != NONE:
        put_edge(edges, counts, top, P[n, m], NONE, UNIT, unit)
    return put_if_any(edges, counts, before, 0, n, 0, m)
