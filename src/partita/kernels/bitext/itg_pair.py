"""The forest D(x, y): all derivations of a sentence pair.

Cells are (s, t, k, l), source boundaries s <= t and target boundaries k <= l; a chart holds the
node of each cell, -1 for none. A binary rule splits a cell at a source and a target boundary
(S, u): the left tail, on the source side, takes the target words before u in the straight rule, and
those behind u in the inverted one.
"""

import numpy as np

from partita.kernels.bitext.itg_edges import (
    DELETION,
    INSERTION,
    INVERTED,
    LINK,
    N_FIELDS,
    NONE,
    START,
    STRAIGHT,
    UNIT,
    finish,
    put_edge,
    put_node,
    put_single,
    put_splits,
    put_union,
    reserve,
)
from partita.kernels.jit import kernel


@kernel
def empty_chart(n, m):
    """A chart without nodes."""
    return np.full((n + 1, n + 1, m + 1, m + 1), NONE, dtype=np.int32)


@kernel
def put_straight(edges, n_edges, head, C, X, s, t, k, end, strict):
    """head <- C[s, S, k, u] X[S, t, u, l] for all splits (S, u)."""
    for S in range(s + strict, t + 1 - strict):
        for u in range(k + strict, end + 1 - strict):
            left, right = C[s, S, k, u], X[S, t, u, end]
            if left != NONE and right != NONE:
                n_edges = put_edge(edges, n_edges, head, left, right, STRAIGHT, NONE)
    return n_edges


@kernel
def put_inverted(edges, n_edges, head, D, X, s, t, k, end, strict):
    """head <- D[s, S, u, l] X[S, t, k, u] for all splits (S, u)."""
    for S in range(s + strict, t + 1 - strict):
        for u in range(k + strict, end + 1 - strict):
            left, right = D[s, S, u, end], X[S, t, k, u]
            if left != NONE and right != NONE:
                n_edges = put_edge(edges, n_edges, head, left, right, INVERTED, NONE)
    return n_edges


@kernel
def terminal_rule(links, deletions, insertions, s, t, k, end):
    """The terminal rule that derives a cell, -1 for none."""
    if t - s == 1 and end - k == 1 and links[s, k]:
        return LINK
    if t - s == 1 and end == k and deletions[s]:
        return DELETION
    if t == s and end - k == 1 and insertions[k]:
        return INSERTION
    return NONE


@kernel
def plain(links, deletions, insertions):
    """All derivations of the plain grammar; the arrays of `finish`, without edges if there is none.

    X[s, t, k, l] <- terminal | [X[s, S, k, u] X[S, t, u, l]] | <X[s, S, u, l] X[S, t, k, u]>
    """
    n, m = links.shape
    X = empty_chart(n, m)
    edges = np.empty((1024, N_FIELDS), dtype=np.int32)
    nodes = np.empty((1024, 4), dtype=np.int32)
    n_edges, n_nodes = 0, 0
    for t in range(n + 1):
        for s in range(t, -1, -1):
            for end in range(m + 1):
                for k in range(end, -1, -1):
                    edges = reserve(edges, n_edges, 2 * (t - s + 1) * (end - k + 1) + 1)
                    nodes = reserve(nodes, n_nodes, 2)
                    first = n_edges
                    rule = terminal_rule(links, deletions, insertions, s, t, k, end)
                    if rule != NONE:
                        n_edges = put_edge(edges, n_edges, n_nodes, NONE, NONE, rule, NONE)
                    n_edges = put_straight(edges, n_edges, n_nodes, X, X, s, t, k, end, 0)
                    n_edges = put_inverted(edges, n_edges, n_nodes, X, X, s, t, k, end, 0)
                    if n_edges > first:
                        X[s, t, k, end] = n_nodes
                        n_nodes = put_node(nodes, n_nodes, s, t, k, end)
    if X[0, n, 0, m] == NONE:
        return finish(edges[:0], nodes, 0)
    n_edges = put_edge(edges, n_edges, n_nodes, X[0, n, 0, m], NONE, START, NONE)
    put_node(nodes, n_nodes, 0, n, 0, m)
    return finish(edges[:n_edges], nodes, n_nodes)


@kernel
def put_nulls(deletions, insertions, edges, nodes, counts, X):
    """Nodes for each deletion, at every target boundary, and each insertion at every source one."""
    n, m = len(deletions), len(insertions)
    for i in range(n):
        for k in range(m + 1):
            if deletions[i]:
                X[i, i + 1, k, k] = put_single(
                    edges, nodes, counts, NONE, NONE, DELETION, NONE, (i, i + 1, k, k)
                )
    for k in range(m):
        for i in range(n + 1):
            if insertions[k]:
                X[i, i, k, k + 1] = put_single(
                    edges, nodes, counts, NONE, NONE, INSERTION, NONE, (i, i, k, k + 1)
                )


@kernel
def put_block(links, edges, nodes, counts, L, X, s, t, k, end):
    """A link of words s and k, deletions behind it up to t, then insertions behind it up to l.

    L[s, t, k, l] <- [L[s, t, k, l-1] insertion] or, for l = k + 1, [L[s, t-1, k, l] deletion].
    """
    if not links[s, k]:
        return NONE
    span = (s, t, k, end)
    if end > k + 1:
        left, right = L[s, t, k, end - 1], X[t, t, end - 1, end]
        return put_single(edges, nodes, counts, left, right, STRAIGHT, NONE, span)
    if t > s + 1:
        left, right = L[s, t - 1, k, end], X[t - 1, t, end, end]
        return put_single(edges, nodes, counts, left, right, STRAIGHT, NONE, span)
    return put_single(edges, nodes, counts, NONE, NONE, LINK, NONE, span)


@kernel
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


@kernel
def put_cell(edges, nodes, counts, L, X, C, D, s, t, k, end):
    """Straight and inverted rules over a cell, and the unions that leave one of them out.

    D = straight or L,   C = inverted or L,   X = straight or C;   [C X],   <D X>.
    """
    span = (s, t, k, end)
    straight, inverted = NONE, NONE
    before = counts[0]
    counts[0] = put_straight(edges, before, counts[1], C, X, s, t, k, end, 1)
    if counts[0] > before:
        straight = counts[1]
        counts[1] = put_node(nodes, straight, s, t, k, end)
    before = counts[0]
    counts[0] = put_inverted(edges, before, counts[1], D, X, s, t, k, end, 1)
    if counts[0] > before:
        inverted = counts[1]
        counts[1] = put_node(nodes, inverted, s, t, k, end)
    D[s, t, k, end] = put_union(edges, nodes, counts, straight, L[s, t, k, end], span)
    C[s, t, k, end] = put_union(edges, nodes, counts, inverted, L[s, t, k, end], span)
    X[s, t, k, end] = put_union(edges, nodes, counts, straight, C[s, t, k, end], span)


@kernel
def put_prefixes(edges, nodes, counts, X, n, m):
    """P[i, k]: the first i source words deleted, then the first k target words inserted."""
    P = np.full((n + 1, m + 1), NONE, dtype=np.int32)
    for i in range(n + 1):
        for k in range(m + 1):
            span = (0, i, 0, k)
            if i + k == 1:
                P[i, k] = X[0, i, 0, k]
            elif k > 0:
                left, right = P[i, k - 1], X[i, i, k - 1, k]
                P[i, k] = put_single(edges, nodes, counts, left, right, STRAIGHT, NONE, span)
            elif i > 0:
                left, right = P[i - 1, 0], X[i - 1, i, 0, 0]
                P[i, k] = put_single(edges, nodes, counts, left, right, STRAIGHT, NONE, span)
    return P


@kernel
def normal(links, deletions, insertions):
    """One derivation for every alignment; the arrays of `finish`, without edges if there is none.

    Null words are attached to the link before them, on their own side: first the deletions, then
    the insertions, all by straight rules (`put_block`). Such blocks lie one behind the other on
    both sides, so they are combined as words are in the normal form of a one-to-one grammar: the
    left child of a straight rule is not straight, that of an inverted rule not inverted. Null words
    before every link stand to the left of all the rest (`put_prefixes`).
    """
    n, m = links.shape
    L, X, C, D = empty_chart(n, m), empty_chart(n, m), empty_chart(n, m), empty_chart(n, m)
    n_nulls = n * (m + 1) + m * (n + 1)
    edges = np.empty((1024 + n_nulls, N_FIELDS), dtype=np.int32)
    nodes = np.empty((1024 + n_nulls, 4), dtype=np.int32)
    counts = np.zeros(2, dtype=np.int64)
    put_nulls(deletions, insertions, edges, nodes, counts, X)
    sources, targets = next_links(links)
    for t in range(1, n + 1):
        for s in range(t - 1, -1, -1):
            for end in range(1, m + 1):
                for k in range(end - 1, -1, -1):
                    # A block starts with linked words on both sides.
                    if sources[s, k] >= t or targets[s, k] >= end:
                        continue
                    edges = reserve(edges, counts[0], 2 * (t - s) * (end - k) + 7)
                    nodes = reserve(nodes, counts[1], 6)
                    L[s, t, k, end] = put_block(links, edges, nodes, counts, L, X, s, t, k, end)
                    put_cell(edges, nodes, counts, L, X, C, D, s, t, k, end)
    n_more = (n + 1) * (m + 1)
    edges = reserve(edges, counts[0], 2 * n_more + 3)
    nodes = reserve(nodes, counts[1], n_more + 2)
    P = put_prefixes(edges, nodes, counts, X, n, m)
    n_edges, top = counts
    n_edges = put_splits(edges, n_edges, top, P[:n, :m], X[:n, n, :m, m], STRAIGHT)
    if n > 0 and m > 0 and X[0, n, 0, m] != NONE:
        n_edges = put_edge(edges, n_edges, top, X[0, n, 0, m], NONE, UNIT, NONE)
    if P[n, m] != NONE:
        n_edges = put_edge(edges, n_edges, top, P[n, m], NONE, UNIT, NONE)
    if n_edges == counts[0]:
        return finish(edges[:0], nodes, 0)
    put_node(nodes, top, 0, n, 0, m)
    put_node(nodes, top + 1, 0, n, 0, m)
    n_edges = put_edge(edges, n_edges, top + 1, top, NONE, START, NONE)
    return finish(edges[:n_edges], nodes, top + 1)
