"""Hypergraphs end to end in the order in which kernels visit them, and derivations in preorder."""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import inlined, kernel, step


class Layout(NamedTuple):
    """Forests end to end, each numbered from 0 on: nodes tails before heads, edges by their heads.

    Place i of a forest, from star_offsets[v] up to star_offsets[v + 1], is an edge into node v; it
    is an instance of part parts[i], and its tails are tails[tail_offsets[i] : tail_offsets[i + 1]].
    """

    parts: np.ndarray
    """The part of each place: n_parts where it has no score, n_parts + 1 where it is forbidden."""
    star_offsets: np.ndarray
    tails: np.ndarray
    tail_offsets: np.ndarray
    roots: np.ndarray
    starts: np.ndarray
    """(n_forests + 1, 3): how many nodes, places and tails come before each forest.

    Offsets have an entry more than what they count, so those of forest f begin f entries later.
    """


@inlined
def of_forest(layout, forest):
    """Parts, star offsets, tails and tail offsets of one forest."""
    node, place, tail = layout.starts[forest]
    last_node, last_place, last_tail = layout.starts[forest + 1]
    return (
        layout.parts[place:last_place],
        layout.star_offsets[node + forest : last_node + forest + 1],
        layout.tails[tail:last_tail],
        layout.tail_offsets[place + forest : last_place + forest + 1],
    )


@kernel
def lay_out(
    order, backward_offsets, backward_edges, tails_flat, edge_tails,
    edges, star_offsets, tails, tail_offsets,
):  # fmt: skip
    """Fill in the arrays of the second line, of a `Layout`, for one hypergraph.

    edges[i] is the edge at place i. Returns the new number of each node.
    """
    number = np.empty(len(order), dtype=np.int64)
    place, next_tail = 0, 0
    star_offsets[0], tail_offsets[0] = 0, 0
    for rank in range(len(order)):
        node = order[rank]
        number[node] = rank
        for edge in backward_edges[backward_offsets[node] : backward_offsets[node + 1]]:
            edges[place] = edge
            for tail in tails_flat[edge_tails[edge] : edge_tails[edge + 1]]:
                tails[next_tail] = number[tail]
                next_tail += 1
            place += 1
            tail_offsets[place] = next_tail
        star_offsets[rank + 1] = place
    return number


@kernel
def first_fault(derivation, heads, tails, tail_offsets, root):
    """Where an array of edges stops being a derivation in preorder, and the head wanted there.

    The nodes still to be derived are a stack, the leftmost on top; each edge must lead to the top
    and puts its tails there instead. A fault at the end wants a further edge; (-1, -1) is none,
    and a head of -1 says that the derivation was complete.
    """
    stack = np.empty(16, dtype=np.int64)
    stack[0], height = root, 1
    for index in range(len(derivation)):
        edge = derivation[index]
        if height == 0:
            return index, -1
        if heads[edge] != stack[height - 1]:
            return index, stack[height - 1]
        height -= 1
        first, end = tail_offsets[edge], tail_offsets[edge + 1]
        stack = with_room(stack, height + end - first)
        for position in range(end - 1, first - 1, -1):
            stack[height] = tails[position]
            height += 1
    if height > 0:
        return len(derivation), stack[height - 1]
    return -1, -1


@step
def with_room(array, size):
    """The same array, or a copy with room for `size` items or more."""
    if size <= len(array):
        return array
    longer = np.empty(max(size, 2 * len(array)), dtype=array.dtype)
    for i in range(len(array)):  # the assignment of a slice would take a second to compile
        longer[i] = array[i]
    return longer
