"""Edges and nodes of a translation forest as they are found, and what of them the root needs.

An edge is a row (head, left tail, right tail, rule, word), -1 for a tail that is not there; `word`
is the choice among several terminals over the same span. A node is a row (first and last source
boundary, first and last target boundary). Tails have smaller numbers than heads, and edges come in
the order of their heads.
"""

import numpy as np

from partita.kernels.jit import kernel

START, STRAIGHT, INVERTED, LINK, DELETION, INSERTION, UNIT = range(7)
N_FIELDS = 5
NONE = -1


@kernel
def reserve(rows, n_used, n_more):
    """The rows, or a copy with twice the room, so that n_more can be added."""
    if n_used + n_more <= len(rows):
        return rows
    larger = np.empty((2 * (n_used + n_more), rows.shape[1]), dtype=rows.dtype)
    larger[:n_used] = rows[:n_used]
    return larger


@kernel
def put_edge(edges, n_edges, head, left, right, rule, word):
    """Write an edge into row n_edges, where there must be room; returns the number of edges."""
    edges[n_edges, 0] = head
    edges[n_edges, 1] = left
    edges[n_edges, 2] = right
    edges[n_edges, 3] = rule
    edges[n_edges, 4] = word
    return n_edges + 1


@kernel
def put_node(nodes, n_nodes, s, t, k, end):
    """Write a node into row n_nodes, where there must be room; returns the number of nodes."""
    nodes[n_nodes, 0] = s
    nodes[n_nodes, 1] = t
    nodes[n_nodes, 2] = k
    nodes[n_nodes, 3] = end
    return n_nodes + 1


@kernel
def put_union(edges, nodes, counts, first, second, span):
    """The node that derives what either node derives: one of them if the other is not there.

    `counts` holds the numbers of edges and nodes, and is updated.
    """
    if first == NONE or second == NONE:
        return max(first, second)
    node = counts[1]
    counts[1] = put_node(nodes, node, *span)
    counts[0] = put_edge(edges, counts[0], node, first, NONE, UNIT, NONE)
    counts[0] = put_edge(edges, counts[0], node, second, NONE, UNIT, NONE)
    return node


@kernel
def put_single(edges, nodes, counts, left, right, rule, word, span):
    """A new node with one edge into it; none where a binary rule (left, right) lacks a tail."""
    if rule == STRAIGHT and (left == NONE or right == NONE):
        return NONE
    node = counts[1]
    counts[1] = put_node(nodes, node, *span)
    counts[0] = put_edge(edges, counts[0], node, left, right, rule, word)
    return node


@kernel
def needed(edges, root):
    """The new number of every node that the root leads to (-1 for the others), and how many."""
    number = np.full(root + 1, NONE)
    number[root] = 0
    for e in range(len(edges) - 1, -1, -1):
        if number[edges[e, 0]] != NONE:
            for position in range(1, 3):
                if edges[e, position] != NONE:
                    number[edges[e, position]] = 0
    n_nodes = 0
    for node in range(root + 1):
        if number[node] != NONE:
            number[node] = n_nodes
            n_nodes += 1
    return number, n_nodes


@kernel
def finish(edges, nodes, root):
    """What the root leads to, numbered anew.

    Returns heads, tails_flat, tail_offsets, rule and word of the edges, and the spans of the nodes;
    the root is the last node.
    """
    number, n_nodes = needed(edges, root)
    n_edges, n_tails = 0, 0
    for e in range(len(edges)):
        if number[edges[e, 0]] != NONE:
            n_edges += 1
            for position in range(1, 3):
                if edges[e, position] != NONE:
                    n_tails += 1
    heads, tails = np.empty(n_edges, dtype=np.int64), np.empty(n_tails, dtype=np.int64)
    tail_offsets = np.zeros(n_edges + 1, dtype=np.int64)
    rule, word = np.empty(n_edges, dtype=np.int8), np.empty(n_edges, dtype=np.int64)
    kept, tail = 0, 0
    for e in range(len(edges)):
        if number[edges[e, 0]] != NONE:
            heads[kept] = number[edges[e, 0]]
            for position in range(1, 3):
                if edges[e, position] != NONE:
                    tails[tail] = number[edges[e, position]]
                    tail += 1
            rule[kept] = edges[e, 3]
            word[kept] = edges[e, 4]
            kept += 1
            tail_offsets[kept] = tail
    spans = np.empty((n_nodes, 4), dtype=np.int64)
    for node in range(root + 1):
        if number[node] != NONE:
            spans[number[node]] = nodes[node]
    return heads, tails, tail_offsets, rule, word, spans


@kernel
def put_splits(edges, n_edges, head, lefts, rights, rule):
    """An edge for every pair of a left and a right tail that both are there.

    `lefts` and `rights` are matrices over the splits, of equal shape.
    """
    for i in range(lefts.shape[0]):
        for j in range(lefts.shape[1]):
            if lefts[i, j] != NONE and rights[i, j] != NONE:
                n_edges = put_edge(edges, n_edges, head, lefts[i, j], rights[i, j], rule, NONE)
    return n_edges


@kernel
def places(heads, rule, word, spans, n_source, n_links, n_insertions):
    """The place of each edge's score among links, deletions, insertions, straight and inverted.

    A link without a choice of its own is (source word, target word) of a table with a column for
    each insertion. Edges without a score have the place behind the last.
    """
    part = np.empty(len(heads), dtype=np.int64)
    binary = n_links + n_source + n_insertions
    for e in range(len(heads)):
        s, k = spans[heads[e], 0], spans[heads[e], 2]
        if rule[e] == STRAIGHT:
            part[e] = binary
        elif rule[e] == INVERTED:
            part[e] = binary + 1
        elif rule[e] == LINK:
            part[e] = s * n_insertions + k if word[e] == NONE else word[e]
        elif rule[e] == DELETION:
            part[e] = n_links + s
        elif rule[e] == INSERTION:
            part[e] = n_links + n_source + k
        else:
            part[e] = binary + 2
    return part
