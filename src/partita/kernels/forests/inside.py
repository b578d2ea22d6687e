"""Inside, marginals and covariance product of one forest; see `Layout` for its arrays.

Edges may share a part (`parts[i]` at place i), whose score is theirs and whose counts add up.

The weight of an edge is exp(its inside value - the largest of its node's), and the unit of a node
1 / the sum of these, so that unit times weight is the probability of the edge given its head.
They come with the inside sums, and everything else is sums of products of them: repeated tails
are counted position by position, nothing is subtracted, and there are no further exponentials.
"""

import math

import numpy as np

from partita.kernels.jit import inlined, kernel, step
from partita.kernels.simd.exponential import exponential
from partita.kernels.simd.lanes import N_LANES, broadcast, load, store
from partita.kernels.simd.lanes import total as lane_total


@inlined
def edge_value(scores, parts, tails, tail_offsets, inside, place):
    """Score of an edge plus the inside of each of its tails."""
    value = scores[parts[place]]
    first, end = tail_offsets[place], tail_offsets[place + 1]
    # Most edges have two tails: without the loop they are a third faster.
    if end - first == 2:
        return value + inside[tails[first]] + inside[tails[first + 1]]
    for position in range(first, end):
        value += inside[tails[position]]
    return value


@inlined
def add_to_tails(amount, tails, tail_offsets, place, sums):
    """Add an amount to sums[u] for each tail position u of an edge."""
    first, end = tail_offsets[place], tail_offsets[place + 1]
    if end - first == 2:
        sums[tails[first]] += amount
        sums[tails[first + 1]] += amount
        return
    for position in range(first, end):
        sums[tails[position]] += amount


@inlined
def exponentials(values, first, end, largest):
    """values[i] = exp(values[i] - largest) from first to end; returns their sum."""
    lanes, rest = broadcast(0.0), 0.0
    whole = end - (end - first) % N_LANES
    for i in range(first, whole, N_LANES):
        four = exponential(load(values, i) - largest)
        store(values, i, four)
        lanes = lanes + four
    for i in range(whole, end):
        values[i] = exponential(values[i] - largest)
        rest += values[i]
    return rest + lane_total(lanes)


@kernel
def inside_and_weights(scores, parts, star_offsets, tails, tail_offsets, inside, units, weights):
    """inside[v] = log sum over edges e into v of exp(score[e] + sum over tails u of inside[u]).

    weights[e] is the exponential, divided by the largest, and units[v] = 1 / their sum. A node
    without derivation has inside -inf, unit 0 and weights 0; one whose sums are beyond the doubles
    has inside infinity, and so has every node that it can be part of.
    """
    for node in range(len(star_offsets) - 1):
        first, end = star_offsets[node], star_offsets[node + 1]
        largest = -np.inf
        for place in range(first, end):
            value = edge_value(scores, parts, tails, tail_offsets, inside, place)
            weights[place] = value
            if value > largest:
                largest = value
        inside[node] = largest
        if not abs(largest) < np.inf:
            weights[first:end] = 0.0
            units[node] = 0.0
        elif end - first == 1:
            weights[first] = 1.0
            units[node] = 1.0
        else:
            total = exponentials(weights, first, end, largest)
            inside[node] = largest + math.log(total)
            units[node] = 1.0 / total


@step
def expected_counts(
    parts, star_offsets, tails, tail_offsets, root, units, weights, counts, marginals
):
    """counts[v] = [v is the root] + sum over tail positions that hold v of the edge's marginal.

    marginals[part of e] += counts[head of e] p(e given its head); a node that the root does not
    lead to has count 0.
    """
    counts[:] = 0.0
    counts[root] = 1.0
    for node in range(len(star_offsets) - 2, -1, -1):
        scale = counts[node] * units[node]
        for place in range(star_offsets[node], star_offsets[node + 1]):
            marginal = scale * weights[place]
            marginals[parts[place]] += marginal
            add_to_tails(marginal, tails, tail_offsets, place, counts)


@step
def covariance_product(
    direction, parts, star_offsets, tails, tail_offsets, units, weights, counts, product
):
    """The recursions of probabilities and counts, differentiated along a direction d.

    With p(e) the probability of an edge given its head, and value(e) = d[e] + sum over tails u of
    expected[u],

    expected[v] = sum over edges into v of p(e) value(e)
    p'(e)       = p(e) (value(e) - expected[head])
    count'[v]   = sum over tail positions that hold v of product[e]
    product[part of e] += count'[head] p(e) + count[head] p'(e)
    """
    n_nodes = len(star_offsets) - 1
    expected = np.empty(n_nodes)
    values = np.empty(len(weights))
    for node in range(n_nodes):
        total = 0.0
        for place in range(star_offsets[node], star_offsets[node + 1]):
            values[place] = edge_value(direction, parts, tails, tail_offsets, expected, place)
            total += weights[place] * values[place]
        expected[node] = units[node] * total
    moved = np.zeros(n_nodes)
    for node in range(n_nodes - 1, -1, -1):
        scale, mean = units[node] * counts[node], expected[node]
        moved_scale = units[node] * moved[node]
        for place in range(star_offsets[node], star_offsets[node + 1]):
            change = weights[place] * (moved_scale + scale * (values[place] - mean))
            product[parts[place]] += change
            add_to_tails(change, tails, tail_offsets, place, moved)


@step
def outside(scores, parts, star_offsets, tails, tail_offsets, root, inside, out):
    """out[v] = log of the sum of everything around v in a derivation, 0 for the root.

    out[v] = log sum over tail positions that hold v, in edges e,
             of exp(out[head of e] + score[e] + sum of inside over the other positions of e)
    """
    out[:] = -np.inf
    out[root] = 0.0
    for node in range(len(star_offsets) - 2, -1, -1):
        for place in range(star_offsets[node], star_offsets[node + 1]):
            around = out[node] + scores[parts[place]]
            if around == -np.inf:
                continue
            first, end = tail_offsets[place], tail_offsets[place + 1]
            for position in range(first, end):
                value = around
                for other in range(first, end):
                    if other != position:
                        value += inside[tails[other]]
                tail = tails[position]
                largest, smallest = max(out[tail], value), min(out[tail], value)
                if smallest > -np.inf:
                    largest += math.log1p(math.exp(smallest - largest))
                out[tail] = largest
