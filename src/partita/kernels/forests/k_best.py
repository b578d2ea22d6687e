"""The k best derivations, lazily: algorithm 3 of Huang and Chiang, "Better k-best parsing" (2005).

An item is a derivation of a node: the place of its top edge and, for every tail position, a rank
in the list of the tail's own derivations. Each node keeps the items found so far, best first, and
a heap of candidates. Rank r + 1 of a tail is looked for only once rank r was used.

The successors of an item raise one rank by one. Only positions from the last raised one on are
raised, so that every vector of ranks has one predecessor and no candidate comes twice.

Item v, for every node v, is the best derivation of v; see `Layout` for the arrays.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.forests.inside import edge_value
from partita.kernels.forests.layout import with_room
from partita.kernels.heaps import N_LINKS, NONE, with_item, without_top
from partita.kernels.jit import inlined, kernel, step

# Columns of `items` behind the links of their heap: the top edge, and where the ranks begin.
PLACE, RANKS = N_LINKS, N_LINKS + 1
# Columns of `nodes`: the top of the heap, the list of items behind the first, and the states.
HEAP, START, ROOM, N_FOUND, STATE = 0, 1, 2, 3, 4
FRESH, OPEN, EXHAUSTED = 0, 1, 2


class Search(NamedTuple):
    """Everything known about the derivations of all nodes."""

    nodes: np.ndarray
    """(n_nodes, 5) integers."""
    items: np.ndarray
    """(room, 4) integers."""
    values: np.ndarray
    """The score of each item."""
    ranks: np.ndarray
    """Ranks of the tails of items; the first ones are 0 and shared by all edges' best items."""
    found: np.ndarray
    """Items behind the best one of each node, in order."""
    n_used: np.ndarray
    """How many items, ranks and places of `found` are taken."""


@step
def start_search(best, choice, most_tails):
    """The search that knows the best derivation of every node."""
    n_nodes = len(best)
    nodes = np.zeros((n_nodes, 5), dtype=np.int64)
    items = np.zeros((n_nodes, 4), dtype=np.int64)
    for node in range(n_nodes):
        nodes[node, HEAP] = NONE
        nodes[node, N_FOUND] = 1 if choice[node] >= 0 else 0
        nodes[node, STATE] = FRESH if choice[node] >= 0 else EXHAUSTED
        items[node, PLACE] = choice[node]
    ranks = np.zeros(most_tails + 1, dtype=np.int64)
    n_used = np.array([n_nodes, most_tails, 0])
    return Search(nodes, items, best.copy(), ranks, np.empty(16, dtype=np.int64), n_used)


@step
def needed_room(nodes, items, found, star_offsets, tail_offsets, node):
    """How many items, ranks and places of `found` one more derivation of the node may take."""
    place = items[item_at(nodes, found, node, nodes[node, N_FOUND] - 1), PLACE]
    n_tails = tail_offsets[place + 1] - tail_offsets[place]
    n_edges = star_offsets[node + 1] - star_offsets[node]
    return n_tails + n_edges, n_tails * n_tails, 2 * nodes[node, ROOM] + 4


@step
def grown(search, room):
    """The same search with that much more room."""
    values = with_room(search.values, search.n_used[0] + room[0])
    items = np.empty((len(values), 4), dtype=np.int64)
    for item in range(len(search.items)):
        for column in range(4):
            items[item, column] = search.items[item, column]
    ranks = with_room(search.ranks, search.n_used[1] + room[1])
    found = with_room(search.found, search.n_used[2] + room[2])
    return Search(search.nodes, items, values, ranks, found, search.n_used)


@inlined
def item_at(nodes, found, node, rank):
    """The item of a rank in a node's list."""
    return node if rank == 0 else found[nodes[node, START] + rank - 1]


@inlined
def push(nodes, items, values, n_used, node, place, first_rank, value):
    """A new candidate of the node."""
    item = n_used[0]
    n_used[0] += 1
    items[item, PLACE] = place
    items[item, RANKS] = first_rank
    values[item] = value
    nodes[node, HEAP] = with_item(items, values, nodes[node, HEAP], item)


@inlined
def first_raised(items, ranks, item, n_tails):
    """The first position that may be raised: the last whose rank is not 0, or the first of all."""
    for position in range(n_tails - 1, 0, -1):
        if ranks[items[item, RANKS] + position] > 0:
            return position
    return 0


@inlined
def missing_tail(nodes, items, ranks, found, node, tails, tail_offsets):
    """A tail whose next derivation is needed for the successors of the node's last item."""
    last = item_at(nodes, found, node, nodes[node, N_FOUND] - 1)
    place, first_rank = items[last, PLACE], items[last, RANKS]
    first, n_tails = tail_offsets[place], tail_offsets[place + 1] - tail_offsets[place]
    for position in range(first_raised(items, ranks, last, n_tails), n_tails):
        tail = tails[first + position]
        is_there = nodes[tail, N_FOUND] > ranks[first_rank + position] + 1
        if not is_there and nodes[tail, STATE] != EXHAUSTED:
            return tail
    return NONE


@inlined
def open_heap(nodes, items, values, n_used, node, scores, parts, star_offsets, tails, tail_offsets):
    """All edges into the node but its best one become candidates, with the best of their tails."""
    nodes[node, STATE] = OPEN
    for place in range(star_offsets[node], star_offsets[node + 1]):
        value = edge_value(scores, parts, tails, tail_offsets, values, place)
        if place != items[node, PLACE] and value > -np.inf:
            push(nodes, items, values, n_used, node, place, 0, value)


@inlined
def push_successors(
    nodes, items, values, ranks, found, n_used, node, scores, parts, tails, tail_offsets
):
    """The successors of the node's last item become candidates."""
    last = item_at(nodes, found, node, nodes[node, N_FOUND] - 1)
    place, old = items[last, PLACE], items[last, RANKS]
    first, n_tails = tail_offsets[place], tail_offsets[place + 1] - tail_offsets[place]
    for raised in range(first_raised(items, ranks, last, n_tails), n_tails):
        if nodes[tails[first + raised], N_FOUND] <= ranks[old + raised] + 1:
            continue
        new, value = n_used[1], scores[parts[place]]
        n_used[1] += n_tails
        for position in range(n_tails):
            ranks[new + position] = ranks[old + position] + (1 if position == raised else 0)
            tail = tails[first + position]
            value += values[item_at(nodes, found, tail, ranks[new + position])]
        push(nodes, items, values, n_used, node, place, new, value)


@inlined
def take_best(nodes, items, values, found, n_used, node):
    """Move the best candidate to the end of the node's list; without one it is exhausted."""
    top = nodes[node, HEAP]
    if top == NONE:
        nodes[node, STATE] = EXHAUSTED
        return
    nodes[node, HEAP] = without_top(items, values, top)
    n_listed = nodes[node, N_FOUND] - 1
    if n_listed == nodes[node, ROOM]:
        # The list moves to the end of `found`, where there is twice the room.
        start = n_used[2]
        for rank in range(n_listed):
            found[start + rank] = found[nodes[node, START] + rank]
        nodes[node, START], nodes[node, ROOM] = start, 2 * n_listed + 4
        n_used[2] += nodes[node, ROOM]
    found[nodes[node, START] + n_listed] = top
    nodes[node, N_FOUND] += 1


@step
def extend(search, k, root, scores, parts, star_offsets, tails, tail_offsets, stack):
    """Find derivations until the root has k, or all; returns the room still needed for that.

    The stack is a path downwards: its top is extended once its tails have what it needs. It can
    be left at any time and begun anew at the root.
    """
    nodes, items, values, ranks, found, n_used = search
    height = 0
    while nodes[root, N_FOUND] < k and nodes[root, STATE] != EXHAUSTED:
        if height == 0:
            stack[0], height = root, 1
        node = stack[height - 1]
        tail = missing_tail(nodes, items, ranks, found, node, tails, tail_offsets)
        if tail != NONE:
            stack[height] = tail
            height += 1
            continue
        room = needed_room(nodes, items, found, star_offsets, tail_offsets, node)
        is_short = n_used[0] + room[0] > len(values) or n_used[1] + room[1] > len(ranks)
        if is_short or n_used[2] + room[2] > len(found):
            return room
        if nodes[node, STATE] == FRESH:
            open_heap(
                nodes, items, values, n_used, node, scores, parts, star_offsets, tails, tail_offsets
            )
        push_successors(
            nodes, items, values, ranks, found, n_used, node, scores, parts, tails, tail_offsets
        )
        take_best(nodes, items, values, found, n_used, node)
        height -= 1
    return 0, 0, 0


@kernel
def k_best(scores, parts, star_offsets, tails, tail_offsets, root, k, best, choice, most_tails):
    """The search that knows the k best derivations of the root, or all where there are fewer."""
    search = start_search(best, choice, most_tails)
    stack = np.empty(len(best), dtype=np.int64)
    while True:
        room = extend(search, k, root, scores, parts, star_offsets, tails, tail_offsets, stack)
        if room[0] == 0:
            return search
        search = grown(search, room)


@kernel
def item_lengths(search, tails, tail_offsets):
    """The number of edges of each item, as a float since it can be astronomical.

    The items of the tails were there before an item, so that their numbers are smaller.
    """
    nodes, items, _, ranks, found, n_used = search
    lengths = np.ones(n_used[0])
    for item in range(n_used[0]):
        place, first_rank = items[item, PLACE], items[item, RANKS]
        if place == NONE:
            continue
        first = tail_offsets[place]
        for position in range(first, tail_offsets[place + 1]):
            rank = ranks[first_rank + position - first]
            lengths[item] += lengths[item_at(nodes, found, tails[position], rank)]
    return lengths


@kernel
def root_items(search, root):
    """The items of the root, best first."""
    items = np.empty(search.nodes[root, N_FOUND], dtype=np.int64)
    for rank in range(len(items)):
        items[rank] = item_at(search.nodes, search.found, root, rank)
    return items


@kernel
def write_items(search, listed, edges, tails, tail_offsets, offsets, out):
    """The edges of each item, top-down and left to right; see `forests.best.write_derivation`."""
    nodes, items, _, ranks, found, _ = search
    longest = 0
    for index in range(len(listed)):
        longest = max(longest, offsets[index + 1] - offsets[index])
    stack = np.empty(longest, dtype=np.int64)
    for index in range(len(listed)):
        here = offsets[index]
        stack[0], height = listed[index], 1
        while height > 0:
            height -= 1
            place, first_rank = items[stack[height], PLACE], items[stack[height], RANKS]
            out[here] = edges[place]
            here += 1
            first = tail_offsets[place]
            for position in range(tail_offsets[place + 1] - 1, first - 1, -1):
                rank = ranks[first_rank + position - first]
                stack[height] = item_at(nodes, found, tails[position], rank)
                height += 1
