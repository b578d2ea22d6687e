"""The shape of a hypergraph: stars, topological order, a cycle, and what is alive.

Edge e leads from the nodes tails[tail_offsets[e] : tail_offsets[e + 1]] to its head.
"""

import numpy as np

from partita.kernels.jit import kernel


@kernel
def is_sound(heads, tails, tail_offsets, n_nodes):
    """Whether there are edges, offsets ascend from 0 to all tails, and nodes are below n_nodes."""
    n_edges = len(heads)
    if n_edges == 0 or len(tail_offsets) != n_edges + 1:
        return False
    if tail_offsets[0] != 0 or tail_offsets[n_edges] != len(tails):
        return False
    for edge in range(n_edges):
        if tail_offsets[edge] > tail_offsets[edge + 1] or not 0 <= heads[edge] < n_nodes:
            return False
    for tail in tails:
        if not 0 <= tail < n_nodes:
            return False
    return True


@kernel
def is_ascending(heads, tails, tail_offsets):
    """Whether the tails of every edge have smaller numbers than its head."""
    for edge in range(len(heads)):
        for place in range(tail_offsets[edge], tail_offsets[edge + 1]):
            if tails[place] >= heads[edge]:
                return False
    return True


@kernel
def group(keys, n_groups):
    """The places of each key, as offsets and members: a counting sort, in order of place."""
    offsets = np.zeros(n_groups + 1, dtype=np.int64)
    for key in keys:
        offsets[key + 1] += 1
    for key in range(n_groups):
        offsets[key + 1] += offsets[key]
    free = offsets[:-1].copy()
    members = np.empty(len(keys), dtype=np.int64)
    for place in range(len(keys)):
        members[free[keys[place]]] = place
        free[keys[place]] += 1
    return offsets, members


@kernel
def forward_stars(tails, tail_offsets, n_nodes):
    """The edges in whose tails each node is, once for every position, as offsets and edges."""
    offsets, positions = group(tails, n_nodes)
    edge_of = np.empty(len(tails), dtype=np.int64)
    for edge in range(len(tail_offsets) - 1):
        edge_of[tail_offsets[edge] : tail_offsets[edge + 1]] = edge
    return offsets, edge_of[positions]


@kernel
def topological_order(heads, tail_offsets, forward_offsets, forward_edges):
    """The nodes, tails before heads, by Kahn's algorithm; fewer than all where there is a cycle.

    A node waits for every tail position of every edge into it; it is sorted once none is left.
    """
    n_nodes = len(forward_offsets) - 1
    n_waiting = np.zeros(n_nodes, dtype=np.int64)
    for edge in range(len(heads)):
        n_waiting[heads[edge]] += tail_offsets[edge + 1] - tail_offsets[edge]
    order = np.empty(n_nodes, dtype=np.int64)
    n_sorted = 0
    for node in range(n_nodes):
        if n_waiting[node] == 0:
            order[n_sorted] = node
            n_sorted += 1
    n_done = 0
    while n_done < n_sorted:
        node = order[n_done]
        n_done += 1
        for edge in forward_edges[forward_offsets[node] : forward_offsets[node + 1]]:
            head = heads[edge]
            n_waiting[head] -= 1
            if n_waiting[head] == 0:
                order[n_sorted] = head
                n_sorted += 1
    return order[:n_sorted]


@kernel
def find_cycle(tails, tail_offsets, star_offsets, star_edges, order):
    """The nodes of one cycle, each a tail of the one before, given the nodes that could be sorted.

    Every node that could not has a tail that could not either, so that a walk along such tails
    comes back to a node it has seen.
    """
    n_nodes = len(star_offsets) - 1
    is_sorted = np.zeros(n_nodes, dtype=np.bool_)
    is_sorted[order] = True
    place = np.full(n_nodes, -1, dtype=np.int64)
    walk = np.empty(n_nodes, dtype=np.int64)
    node, n_steps = 0, 0
    while is_sorted[node]:
        node += 1
    while place[node] < 0:
        place[node] = n_steps
        walk[n_steps] = node
        n_steps += 1
        follower = -1
        for edge in star_edges[star_offsets[node] : star_offsets[node + 1]]:
            for tail in tails[tail_offsets[edge] : tail_offsets[edge + 1]]:
                if not is_sorted[tail]:
                    follower = tail
        node = follower
    return walk[place[node] : n_steps]


@kernel
def alive_edges(tails, tail_offsets, star_offsets, star_edges, order, root):
    """Whether each edge occurs in a derivation.

    Bottom-up, a node is productive if all tails of one of its edges are; top-down from the root,
    what the productive edges lead to is reachable.
    """
    n_edges = len(tail_offsets) - 1
    productive = np.zeros(n_edges, dtype=np.bool_)
    alive = np.zeros(n_edges, dtype=np.bool_)
    can_end = np.zeros(len(order), dtype=np.bool_)
    reachable = np.zeros(len(order), dtype=np.bool_)
    for node in order:
        for edge in star_edges[star_offsets[node] : star_offsets[node + 1]]:
            productive[edge] = True
            for tail in tails[tail_offsets[edge] : tail_offsets[edge + 1]]:
                productive[edge] &= can_end[tail]
            can_end[node] |= productive[edge]
    reachable[root] = True
    for node in order[::-1]:
        for edge in star_edges[star_offsets[node] : star_offsets[node + 1]]:
            if reachable[node] and productive[edge]:
                alive[edge] = True
                for tail in tails[tail_offsets[edge] : tail_offsets[edge + 1]]:
                    reachable[tail] = True
    return alive
