"""Hypergraphs end to end in the order in which kernels visit them, and derivations in preorder."""

import numpy as np

from partita.kernels.jit import kernel


@kernel
def lay_out(
    order, backward_offsets, backward_edges, tails_flat, edge_tails, starts,
    edges, star_offsets, tails, tail_offsets,
):  # fmt: skip
    """Append one hypergraph to a batch: see `forests.inside` for the arrays of the second line.

    `starts` says how many nodes, edges and tails the batch has already; nodes are numbered anew
    in topological order, and edges lie in the order of their heads.
    """
    first_node, first_edge, next_tail = starts
    number = np.empty(len(order), dtype=np.int64)
    place = first_edge
    for rank in range(len(order)):
        node = order[rank]
        number[node] = first_node + rank
        for edge in backward_edges[backward_offsets[node] : backward_offsets[node + 1]]:
            edges[place] = first_edge + edge
            for tail in tails_flat[edge_tails[edge] : edge_tails[edge + 1]]:
                tails[next_tail] = number[tail]
                next_tail += 1
            place += 1
            tail_offsets[place] = next_tail
        star_offsets[first_node + rank + 1] = place
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


@kernel
def with_room(array, size):
    """The same array, or a copy with room for `size` items or more."""
    if size <= len(array):
        return array
    longer = np.empty(max(size, 2 * len(array)), dtype=array.dtype)
    for i in range(len(array)):  # the assignment of a slice would take a second to compile
        longer[i] = array[i]
    return longer
