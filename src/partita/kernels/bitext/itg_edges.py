"""Edges and nodes of a translation forest as they are found, and what of them the root needs.

A forest is built twice by the same kernel: first it only counts (its `edges` are None), then it
writes into arrays that have just the right size. An edge has a head, up to two tails, a rule and a
part (the place of its score); a node has a span (first and last source boundary, first and last
target boundary). Tails have smaller numbers than heads, and edges come in the order of their heads.
`counts` holds the numbers of edges, tails and nodes so far.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import inlined, kernel

START, STRAIGHT, INVERTED, LINK, DELETION, INSERTION, UNIT = range(7)
NONE = -1
EDGES, TAILS, NODES = range(3)
"""Places in `counts`."""


class Edges(NamedTuple):
    """The arrays of a forest."""

    heads: np.ndarray
    tails: np.ndarray
    """Of all edges, end to end."""
    tail_offsets: np.ndarray
    rule: np.ndarray
    part: np.ndarray
    spans: np.ndarray
    """Of the nodes, (n_nodes, 4)."""


@inlined
def start(edges, counts):
    """Nothing was found yet."""
    for what in range(len(counts)):
        counts[what] = 0
    if edges is not None:
        edges.tail_offsets[0] = 0


@inlined
def put_edge(edges, counts, head, left, right, rule, part):
    """The next edge; `left` and `right` are NONE where it has fewer tails."""
    edge, tail = counts[EDGES], counts[TAILS]
    n_tails = int(left != NONE) + int(right != NONE)
    if edges is not None:
        edges.heads[edge] = head
        if left != NONE:
            edges.tails[tail] = left
        if right != NONE:
            edges.tails[tail + 1] = right
        edges.tail_offsets[edge + 1] = tail + n_tails
        edges.rule[edge] = rule
        edges.part[edge] = part
    counts[EDGES] = edge + 1
    counts[TAILS] = tail + n_tails


@inlined
def put_node(edges, counts, s, t, k, end):
    """The next node, whose number is returned."""
    node = counts[NODES]
    if edges is not None:
        edges.spans[node, 0] = s
        edges.spans[node, 1] = t
        edges.spans[node, 2] = k
        edges.spans[node, 3] = end
    counts[NODES] = node + 1
    return node


@inlined
def put_splits(edges, counts, head, lefts, rights, cell, shift, strict, rule, part):
    """head <- lefts[s, S, i, u] rights[S, t, j, u + shift] for all S and u where both are there.

    `cell` is (s, t, i, j, first u, last u); S is between s and t. With `strict` (1, else 0) neither
    S nor u is at an end.
    """
    s, t, i, j, first, last = cell
    edge, tail = counts[EDGES], counts[TAILS]
    for middle in range(s + strict, t + 1 - strict):
        for u in range(first + strict, last + 1 - strict):
            left, right = lefts[s, middle, i, u], rights[middle, t, j, u + shift]
            if left != NONE and right != NONE:
                if edges is not None:
                    edges.heads[edge] = head
                    edges.tails[tail] = left
                    edges.tails[tail + 1] = right
                    edges.tail_offsets[edge + 1] = tail + 2
                    edges.rule[edge] = rule
                    edges.part[edge] = part
                edge += 1
                tail += 2
    counts[EDGES], counts[TAILS] = edge, tail


@inlined
def put_union(edges, counts, first, second, part, span):
    """The node that derives what either node derives: one of them if the other is not there."""
    if first == NONE or second == NONE:
        return max(first, second)
    s, t, k, end = span
    node = put_node(edges, counts, s, t, k, end)
    put_edge(edges, counts, node, first, NONE, UNIT, part)
    put_edge(edges, counts, node, second, NONE, UNIT, part)
    return node


@inlined
def put_single(edges, counts, left, right, rule, part, span):
    """A new node with one edge into it; none where a binary rule (left, right) lacks a tail."""
    if rule == STRAIGHT and (left == NONE or right == NONE):
        return NONE
    s, t, k, end = span
    node = put_node(edges, counts, s, t, k, end)
    put_edge(edges, counts, node, left, right, rule, part)
    return node


@inlined
def put_if_any(edges, counts, n_before, s, t, k, end):
    """The node of the edges that came since there were `n_before`; none if there are none."""
    if counts[EDGES] == n_before:
        return NONE
    return put_node(edges, counts, s, t, k, end)


@kernel
def keep_needed(edges, counts):
    """Keep what the root, the last node, leads to; numbered anew, in place. Updates the counts."""
    n_nodes = counts[NODES]
    number = np.empty(n_nodes, dtype=np.int32)
    for node in range(n_nodes):
        number[node] = NONE
    number[n_nodes - 1] = 0
    for e in range(counts[EDGES] - 1, -1, -1):
        if number[edges.heads[e]] != NONE:
            for place in range(edges.tail_offsets[e], edges.tail_offsets[e + 1]):
                number[edges.tails[place]] = 0
    kept = 0
    for node in range(n_nodes):
        if number[node] != NONE:
            number[node] = kept
            for place in range(4):
                edges.spans[kept, place] = edges.spans[node, place]
            kept += 1
    if kept == n_nodes:
        return
    counts[NODES] = kept
    n_edges, edge, tail = counts[EDGES], 0, 0
    first = edges.tail_offsets[0]
    for e in range(n_edges):
        last = edges.tail_offsets[e + 1]
        if number[edges.heads[e]] != NONE:
            edges.heads[edge] = number[edges.heads[e]]
            for place in range(first, last):
                edges.tails[tail] = number[edges.tails[place]]
                tail += 1
            edges.rule[edge] = edges.rule[e]
            edges.part[edge] = edges.part[e]
            edge += 1
            edges.tail_offsets[edge] = tail
        first = last
    counts[EDGES], counts[TAILS] = edge, tail
