"""The forest D(x, y): all derivations of a sentence pair.

Cells are (s, t, k, l), source boundaries s <= t and target boundaries k <= l; a chart holds the
node of each cell, -1 for none. A binary rule splits a cell at a source and a target boundary
(S, u): the left tail, on the source side, takes the target words before u in the straight rule, and
those behind u in the inverted one. Charts of which the target's first boundary varies have a
transposed twin, [s, t, l, k], so that the loop over u reads both tails side by side.

Parts are those of flat `RuleScores`: links (n, m), deletions (n,), insertions (m,), straight,
inverted; edges without a score have the part behind the last.
"""

import numpy as np

from partita.kernels.bitext.itg_edges import (
    DELETION,
    EDGES,
    INSERTION,
    INVERTED,
    LINK,
    NODES,
    NONE,
    START,
    STRAIGHT,
    put_edge,
    put_if_any,
    put_node,
    put_single,
    put_splits,
    start,
)
from partita.kernels.bitext.itg_normal import put_prefixes, put_top, put_unions
from partita.kernels.jit import inlined, kernel, step


@inlined
def empty_chart(n, m):
    """A chart without nodes."""
    return np.full((n + 1, n + 1, m + 1, m + 1), NONE, dtype=np.int32)


@inlined
def put_terminal(edges, counts, links, deletions, insertions, s, t, k, end):
    """next node <- the terminal rule that derives a cell, if there is one."""
    n, m = links.shape
    if t - s == 1 and end - k == 1 and links[s, k]:
        put_edge(edges, counts, counts[NODES], NONE, NONE, LINK, s * m + k)
    elif t - s == 1 and end == k and deletions[s]:
        put_edge(edges, counts, counts[NODES], NONE, NONE, DELETION, n * m + s)
    elif t == s and end - k == 1 and insertions[k]:
        put_edge(edges, counts, counts[NODES], NONE, NONE, INSERTION, n * m + n + k)


@kernel
def plain(links, deletions, insertions, edges, counts):
    """All derivations of the plain grammar; no edges if there is none. See `itg_edges`.

    X[s, t, k, l] <- terminal | [X[s, S, k, u] X[S, t, u, l]] | <X[s, S, u, l] X[S, t, k, u]>
    """
    n, m = links.shape
    X, XT = empty_chart(n, m), empty_chart(n, m)
    straight = n * m + n + m
    start(edges, counts)
    for t in range(n + 1):
        for s in range(t, -1, -1):
            for end in range(m + 1):
                for k in range(end, -1, -1):
                    before, node = counts[EDGES], counts[NODES]
                    put_terminal(edges, counts, links, deletions, insertions, s, t, k, end)
                    cell = (s, t, k, end, k, end)
                    put_splits(edges, counts, node, X, XT, cell, 0, 0, STRAIGHT, straight)
                    cell = (s, t, end, k, k, end)
                    put_splits(edges, counts, node, XT, X, cell, 0, 0, INVERTED, straight + 1)
                    node = put_if_any(edges, counts, before, s, t, k, end)
                    X[s, t, k, end], XT[s, t, end, k] = node, node
    if X[0, n, 0, m] == NONE:
        start(edges, counts)
        return
    top = put_node(edges, counts, 0, n, 0, m)
    put_edge(edges, counts, top, X[0, n, 0, m], NONE, START, straight + 2)


@inlined
def put_nulls(deletions, insertions, edges, counts, X):
    """Nodes for each deletion, at every target boundary, and each insertion at every source one."""
    n, m = len(deletions), len(insertions)
    for i in range(n):
        for k in range(m + 1):
            if deletions[i]:
                X[i, i + 1, k, k] = put_single(
                    edges, counts, NONE, NONE, DELETION, n * m + i, (i, i + 1, k, k)
                )
    for k in range(m):
        for i in range(n + 1):
            if insertions[k]:
                X[i, i, k, k + 1] = put_single(
                    edges, counts, NONE, NONE, INSERTION, n * m + n + k, (i, i, k, k + 1)
                )


@inlined
def put_block(links, edges, counts, L, X, s, t, k, end):
    """A link of words s and k, deletions behind it up to t, then insertions behind it up to l.

    L[s, t, k, l] <- [L[s, t, k, l-1] insertion] or, for l = k + 1, [L[s, t-1, k, l] deletion].
    """
    n, m = links.shape
    if not links[s, k]:
        return NONE
    span, straight = (s, t, k, end), n * m + n + m
    if end > k + 1:
        left, right = L[s, t, k, end - 1], X[t, t, end - 1, end]
        return put_single(edges, counts, left, right, STRAIGHT, straight, span)
    if t > s + 1:
        left, right = L[s, t - 1, k, end], X[t - 1, t, end, end]
        return put_single(edges, counts, left, right, STRAIGHT, straight, span)
    return put_single(edges, counts, NONE, NONE, LINK, s * m + k, span)


@step
def next_links(links):
    """For words s and k: the first source word from s on that k links, and the first target word
    from k on that s links; n and m where there is none.
    """
    n, m = links.shape
    sources, targets = np.full((n + 1, m), n), np.full((n, m + 1), m)
    for s in range(n - 1, -1, -1):
        for k in range(m - 1, -1, -1):
            sources[s, k] = s if links[s, k] else sources[s + 1, k]
            targets[s, k] = k if links[s, k] else targets[s, k + 1]
    return sources, targets


@inlined
def put_cell(edges, counts, L, X, XT, C, DT, s, t, k, end, straight):
    """Straight and inverted rules over a cell, and the unions that leave one of them out.

    D = straight or L,   C = inverted or L,   X = straight or C;   [C X],   <D X>.
    """
    span, leaf, unit = (s, t, k, end), L[s, t, k, end], straight + 2
    before, node = counts[EDGES], counts[NODES]
    cell = (s, t, k, end, k, end)
    put_splits(edges, counts, node, C, XT, cell, 0, 1, STRAIGHT, straight)
    in_order = put_if_any(edges, counts, before, s, t, k, end)
    before, node = counts[EDGES], counts[NODES]
    cell = (s, t, end, k, k, end)
    put_splits(edges, counts, node, DT, X, cell, 0, 1, INVERTED, straight + 1)
    inverted = put_if_any(edges, counts, before, s, t, k, end)
    C[s, t, k, end], DT[s, t, end, k], whole = put_unions(
        edges, counts, in_order, inverted, leaf, unit, span
    )
    X[s, t, k, end], XT[s, t, end, k] = whole, whole


@kernel
def normal(links, deletions, insertions, edges, counts):
    """One derivation for every alignment; no edges if there is none. See `itg_edges`.

    Null words are attached to the link before them, on their own side: first the deletions, then
    the insertions, all by straight rules (`put_block`). Such blocks lie one behind the other on
    both sides, so they are combined as words are in the normal form of a one-to-one grammar: the
    left child of a straight rule is not straight, that of an inverted rule not inverted. Null words
    before every link stand to the left of all the rest (`put_prefixes`).
    """
    n, m = links.shape
    L, C, DT = empty_chart(n, m), empty_chart(n, m), empty_chart(n, m)
    X, XT = empty_chart(n, m), empty_chart(n, m)
    straight = n * m + n + m
    start(edges, counts)
    put_nulls(deletions, insertions, edges, counts, X)
    sources, targets = next_links(links)
    for t in range(1, n + 1):
        for s in range(t - 1, -1, -1):
            for end in range(1, m + 1):
                for k in range(end - 1, -1, -1):
                    # A block starts with linked words on both sides.
                    if sources[s, k] < t and targets[s, k] < end:
                        L[s, t, k, end] = put_block(links, edges, counts, L, X, s, t, k, end)
                        put_cell(edges, counts, L, X, XT, C, DT, s, t, k, end, straight)
    P = put_prefixes(edges, counts, X, n, m, 1, straight)
    top = put_top(edges, counts, P, X, n, m, 1, straight)
    if top == NONE:
        start(edges, counts)
        return
    root = put_node(edges, counts, 0, n, 0, m)
    put_edge(edges, counts, root, top, NONE, START, straight + 2)
