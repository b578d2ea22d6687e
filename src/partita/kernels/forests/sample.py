"""Exact samples of derivations, top-down; see `Layout` for the arrays."""

import numpy as np

from partita.kernels.forests.layout import with_room
from partita.kernels.jit import kernel, step


@step
def cumulate(weights, star_offsets, cumulative):
    """Running sums of the weights of each node's edges."""
    for node in range(len(star_offsets) - 1):
        total = 0.0
        for place in range(star_offsets[node], star_offsets[node + 1]):
            total += weights[place]
            cumulative[place] = total


@step
def draw(cumulative, first, end, uniform):
    """The first place whose running sum exceeds the uniform number's part of the total.

    A place of weight 0 adds nothing to the sum, so it is never the first. Whatever the numbers are,
    the answer is one of the places.
    """
    threshold = uniform * cumulative[end - 1]
    low, high = first, end - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > threshold:
            high = middle
        else:
            low = middle + 1
    # Rounding may put the threshold at the total: step back to a place that has weight.
    while low > first and cumulative[low] == cumulative[low - 1]:
        low -= 1
    return low


@step
def derive(cumulative, edges, star_offsets, tails, tail_offsets, node, rng, out, index):
    """Append a derivation of a node to `out` from `index` on; returns `out` and where it ends.

    The leftmost node still to be derived gets an edge with probability proportional to its
    weight: one uniform number for each, except where a node has one edge only.
    """
    stack = np.empty(16, dtype=np.int64)
    stack[0], height = node, 1
    while height > 0:
        height -= 1
        place, end = star_offsets[stack[height]], star_offsets[stack[height] + 1]
        if end - place > 1:
            place = draw(cumulative, place, end, rng.random())
        out = with_room(out, index + 1)
        out[index] = edges[place]
        index += 1
        stack = with_room(stack, height + tail_offsets[place + 1] - tail_offsets[place])
        for position in range(tail_offsets[place + 1] - 1, tail_offsets[place] - 1, -1):
            stack[height] = tails[position]
            height += 1
    return out, index


@kernel
def sample(weights, edges, star_offsets, tails, tail_offsets, root, size, rng, offsets):
    """`size` derivations of the root, end to end; offsets[d] is where each starts."""
    cumulative = np.empty(len(weights))
    cumulate(weights, star_offsets, cumulative)
    out = np.empty(16, dtype=np.int64)
    index = 0
    shape = (edges, star_offsets, tails, tail_offsets)
    for item in range(size):
        out, index = derive(cumulative, *shape, root, rng, out, index)
        offsets[item + 1] = index
    return out[:index]
