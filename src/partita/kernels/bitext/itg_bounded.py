"""The forest D_n(x): all derivations of a source sentence with at most n target words.

Cells are (s, t, length): source boundaries s <= t and a number of target words. Straight and
inverted rules over the same split have the same tails, and two tails may be the same node: three
insertions at one place are one and two of them, in either order.

`n_choices[i]` is the number of terminals x_i/y that are told apart; a single one may stand for the
sum over all target words. An insertion always stands for the sum over all words to be inserted.
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
    put_union,
    reserve,
)
from partita.kernels.jit import kernel


@kernel
def put_binary(edges, n_edges, head, left_chart, X, s, t, length, rule, strict):
    """head <- left_chart[s, S, u] X[S, t, length - u] for all splits (S, u)."""
    for S in range(s + strict, t + 1 - strict):
        for u in range(strict, length + 1 - strict):
            left, right = left_chart[s, S, u], X[S, t, length - u]
            if left != NONE and right != NONE:
                n_edges = put_edge(edges, n_edges, head, left, right, rule, NONE)
    return n_edges


@kernel
def put_terminals(edges, n_edges, head, first_choice, n_choices, can_delete, can_insert, cell):
    """head <- x/y for every choice of y, x/eps or eps/y, where the cell has that form."""
    s, t, length = cell
    if t - s == 1 and length == 1:
        for choice in range(n_choices[s]):
            n_edges = put_edge(edges, n_edges, head, NONE, NONE, LINK, first_choice[s] + choice)
    if t - s == 1 and length == 0 and can_delete[s]:
        n_edges = put_edge(edges, n_edges, head, NONE, NONE, DELETION, NONE)
    if t == s and length == 1 and can_insert:
        n_edges = put_edge(edges, n_edges, head, NONE, NONE, INSERTION, NONE)
    return n_edges


@kernel
def close(edges, n_edges, nodes, n_nodes, tops, n):
    """The root: S <- X for every allowed number of target words."""
    if tops.max() == NONE:
        return finish(edges[:0], nodes, 0)
    for top in tops:
        if top != NONE:
            n_edges = put_edge(edges, n_edges, n_nodes, top, NONE, START, NONE)
    put_node(nodes, n_nodes, 0, n, 0, len(tops) - 1)
    return finish(edges[:n_edges], nodes, n_nodes)


@kernel
def plain(first_choice, n_choices, can_delete, can_insert, longest):
    """All derivations of the plain grammar; the arrays of `finish`, without edges if there is none.

    X[s, t, length] <- terminal | [X[s, S, u] X[S, t, length - u]] | <the same two>
    """
    n = len(n_choices)
    X = np.full((n + 1, n + 1, longest + 1), NONE, dtype=np.int32)
    most = n_choices.max() if n > 0 else 0
    edges = np.empty((1024, N_FIELDS), dtype=np.int32)
    nodes = np.empty((1024, 4), dtype=np.int32)
    n_edges, n_nodes = 0, 0
    for t in range(n + 1):
        for s in range(t, -1, -1):
            for length in range(longest + 1):
                edges = reserve(edges, n_edges, 2 * (t - s + 1) * (length + 1) + most + 2)
                nodes = reserve(nodes, n_nodes, 1)
                first = n_edges
                cell = (s, t, length)
                n_edges = put_terminals(
                    edges, n_edges, n_nodes, first_choice, n_choices, can_delete, can_insert, cell
                )
                for rule in (STRAIGHT, INVERTED):
                    n_edges = put_binary(edges, n_edges, n_nodes, X, X, s, t, length, rule, 0)
                if n_edges > first:
                    X[s, t, length] = n_nodes
                    n_nodes = put_node(nodes, n_nodes, s, t, 0, length)
    edges = reserve(edges, n_edges, longest + 1)
    nodes = reserve(nodes, n_nodes, 1)
    return close(edges, n_edges, nodes, n_nodes, X[0, n], n)


@kernel
def put_nulls(can_delete, can_insert, edges, nodes, counts, X, longest):
    """A node for the deletion of each word, and for an insertion at each source boundary."""
    n = len(can_delete)
    for i in range(n + 1):
        if i < n and can_delete[i]:
            X[i, i + 1, 0] = put_single(
                edges, nodes, counts, NONE, NONE, DELETION, NONE, (i, i + 1, 0, 0)
            )
        if can_insert and longest > 0:
            X[i, i, 1] = put_single(edges, nodes, counts, NONE, NONE, INSERTION, NONE, (i, i, 0, 1))


@kernel
def put_block(first_choice, n_choices, edges, nodes, counts, L, X, s, t, length):
    """A link of word s, the words behind it up to t deleted, then length - 1 insertions.

    L[s, t, length] <- [L[s, t, length-1] insertion] or, for length 1, [L[s, t-1, 1] deletion].
    """
    span = (s, t, 0, length)
    if length > 1:
        left, right = L[s, t, length - 1], X[t, t, 1]
        return put_single(edges, nodes, counts, left, right, STRAIGHT, NONE, span)
    if t > s + 1:
        left, right = L[s, t - 1, 1], X[t - 1, t, 0]
        return put_single(edges, nodes, counts, left, right, STRAIGHT, NONE, span)
    if n_choices[s] == 0:
        return NONE
    node = put_single(edges, nodes, counts, NONE, NONE, LINK, first_choice[s], span)
    for choice in range(1, n_choices[s]):
        word = first_choice[s] + choice
        counts[0] = put_edge(edges, counts[0], node, NONE, NONE, LINK, word)
    return node


@kernel
def put_cell(edges, nodes, counts, L, X, C, D, s, t, length):
    """Straight and inverted rules over a cell, and the unions that leave one of them out.

    D = straight or L,   C = inverted or L,   X = straight or C;   [C X],   <D X>.
    """
    span = (s, t, 0, length)
    straight, inverted = NONE, NONE
    before = counts[0]
    counts[0] = put_binary(edges, before, counts[1], C, X, s, t, length, STRAIGHT, 1)
    if counts[0] > before:
        straight = counts[1]
        counts[1] = put_node(nodes, straight, *span)
    before = counts[0]
    counts[0] = put_binary(edges, before, counts[1], D, X, s, t, length, INVERTED, 1)
    if counts[0] > before:
        inverted = counts[1]
        counts[1] = put_node(nodes, inverted, *span)
    D[s, t, length] = put_union(edges, nodes, counts, straight, L[s, t, length], span)
    C[s, t, length] = put_union(edges, nodes, counts, inverted, L[s, t, length], span)
    X[s, t, length] = put_union(edges, nodes, counts, straight, C[s, t, length], span)


@kernel
def put_prefixes(edges, nodes, counts, X, n, longest):
    """P[i, k]: the first i source words deleted, then k target words inserted."""
    P = np.full((n + 1, longest + 1), NONE, dtype=np.int32)
    for i in range(n + 1):
        for k in range(longest + 1):
            span = (0, i, 0, k)
            if i + k == 1:
                P[i, k] = X[0, i, k]
            elif k > 0:
                left, right = P[i, k - 1], X[i, i, 1]
                P[i, k] = put_single(edges, nodes, counts, left, right, STRAIGHT, NONE, span)
            elif i > 0:
                left, right = P[i - 1, 0], X[i - 1, i, 0]
                P[i, k] = put_single(edges, nodes, counts, left, right, STRAIGHT, NONE, span)
    return P


@kernel
def put_top(edges, nodes, counts, P, X, n, length):
    """Null words before all links, and the rest; or either alone. Returns the node, -1 for none."""
    top, n_edges = counts[1], counts[0]
    for i in range(n):
        for k in range(length):
            left, right = P[i, k], X[i, n, length - k]
            if left != NONE and right != NONE:
                n_edges = put_edge(edges, n_edges, top, left, right, STRAIGHT, NONE)
    if n > 0 and length > 0 and X[0, n, length] != NONE:
        n_edges = put_edge(edges, n_edges, top, X[0, n, length], NONE, UNIT, NONE)
    if P[n, length] != NONE:
        n_edges = put_edge(edges, n_edges, top, P[n, length], NONE, UNIT, NONE)
    if n_edges == counts[0]:
        return NONE
    counts[0] = n_edges
    counts[1] = put_node(nodes, top, 0, n, 0, length)
    return top


@kernel
def normal(first_choice, n_choices, can_delete, can_insert, longest):
    """One derivation for every alignment and number of words; see `itg_pair.normal`."""
    n = len(n_choices)
    shape = (n + 1, n + 1, longest + 1)
    L, X = np.full(shape, NONE, dtype=np.int32), np.full(shape, NONE, dtype=np.int32)
    C, D = np.full(shape, NONE, dtype=np.int32), np.full(shape, NONE, dtype=np.int32)
    most = n_choices.max() if n > 0 else 0
    edges = np.empty((1024 + 2 * n, N_FIELDS), dtype=np.int32)
    nodes = np.empty((1024 + 2 * n, 4), dtype=np.int32)
    counts = np.zeros(2, dtype=np.int64)
    put_nulls(can_delete, can_insert, edges, nodes, counts, X, longest)
    for t in range(1, n + 1):
        for s in range(t - 1, -1, -1):
            for length in range(1, longest + 1):
                edges = reserve(edges, counts[0], 2 * (t - s) * length + most + 7)
                nodes = reserve(nodes, counts[1], 6)
                L[s, t, length] = put_block(
                    first_choice, n_choices, edges, nodes, counts, L, X, s, t, length
                )
                put_cell(edges, nodes, counts, L, X, C, D, s, t, length)
    n_more = (n + 1) * (longest + 1)
    edges = reserve(edges, counts[0], n_more)
    nodes = reserve(nodes, counts[1], n_more + longest + 2)
    P = put_prefixes(edges, nodes, counts, X, n, longest)
    tops = np.empty(longest + 1, dtype=np.int32)
    for length in range(longest + 1):
        edges = reserve(edges, counts[0], n * length + longest + 3)
        tops[length] = put_top(edges, nodes, counts, P, X, n, length)
    return close(edges, counts[0], nodes, counts[1], tops, n)
