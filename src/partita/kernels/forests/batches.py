"""All sentences of a batch in one call: sentence b has the forest which[b] of a `Layout`.

Sentences with the same forest share its arrays, which then stay in the cache. What kernels keep
for every node or place of a sentence lies from node_offsets[b] or place_offsets[b] on.
"""

import numpy as np

from partita.kernels.forests import best as forest_best
from partita.kernels.forests import inside as forest_inside
from partita.kernels.forests.layout import of_forest
from partita.kernels.jit import inlined, kernel


@inlined
def read_parts(vector, part_offsets, sentence, no_score, forbidden, out):
    """Values of a sentence's parts, then those of edges without a score and of forbidden ones.

    Returns the number of parts.
    """
    first = part_offsets[sentence]
    n_parts = part_offsets[sentence + 1] - first
    for part in range(n_parts):
        out[part] = vector[first + part]
    out[n_parts], out[n_parts + 1] = no_score, forbidden
    return n_parts


@inlined
def scratch(part_offsets):
    """Room for the values of the parts of any sentence, see `read_parts`."""
    most = 0
    for sentence in range(len(part_offsets) - 1):
        most = max(most, part_offsets[sentence + 1] - part_offsets[sentence])
    return np.empty(most + 2)


@kernel
def marginals(
    scores, part_offsets, layout, which, node_offsets, place_offsets,
    inside, units, weights, counts, log_partition, out,
):  # fmt: skip
    """Log-partition and marginals, and in the second line what other questions need of them."""
    values, sums = scratch(part_offsets), scratch(part_offsets)
    for b in range(len(which)):
        n_parts = read_parts(scores, part_offsets, b, 0.0, -np.inf, values)
        parts, stars, tails, tail_offsets = of_forest(layout, which[b])
        root = layout.roots[which[b]]
        node, node_end = node_offsets[b], node_offsets[b + 1]
        place, place_end = place_offsets[b], place_offsets[b + 1]
        mine, unit = inside[node:node_end], units[node:node_end]
        weight, count = weights[place:place_end], counts[node:node_end]
        forest_inside.inside_and_weights(
            values, parts, stars, tails, tail_offsets, mine, unit, weight
        )
        log_partition[b] = mine[root]
        for part in range(n_parts + 2):
            sums[part] = 0.0
        forest_inside.expected_counts(
            parts, stars, tails, tail_offsets, root, unit, weight, count, sums
        )
        for part in range(n_parts):
            out[part_offsets[b] + part] = sums[part]


@kernel
def covariance_product(
    direction, part_offsets, layout, which, node_offsets, place_offsets,
    units, weights, counts, out,
):  # fmt: skip
    """Covariance of the part counts times a direction, given what `marginals` kept."""
    values, sums = scratch(part_offsets), scratch(part_offsets)
    for b in range(len(which)):
        n_parts = read_parts(direction, part_offsets, b, 0.0, 0.0, values)
        parts, stars, tails, tail_offsets = of_forest(layout, which[b])
        node, node_end = node_offsets[b], node_offsets[b + 1]
        place, place_end = place_offsets[b], place_offsets[b + 1]
        for part in range(n_parts + 2):
            sums[part] = 0.0
        forest_inside.covariance_product(
            values, parts, stars, tails, tail_offsets, units[node:node_end],
            weights[place:place_end], counts[node:node_end], sums,
        )  # fmt: skip
        for part in range(n_parts):
            out[part_offsets[b] + part] = sums[part]


@kernel
def outside(scores, part_offsets, layout, which, node_offsets, inside, out):
    """Log outside of every node, given its inside."""
    values = scratch(part_offsets)
    for b in range(len(which)):
        read_parts(scores, part_offsets, b, 0.0, -np.inf, values)
        parts, stars, tails, tail_offsets = of_forest(layout, which[b])
        node, end = node_offsets[b], node_offsets[b + 1]
        forest_inside.outside(
            values, parts, stars, tails, tail_offsets, layout.roots[which[b]],
            inside[node:end], out[node:end],
        )  # fmt: skip


@kernel
def viterbi(scores, part_offsets, layout, which, node_offsets, best, choice, lengths):
    """Score, top edge and length of the best derivation of every node."""
    values = scratch(part_offsets)
    for b in range(len(which)):
        read_parts(scores, part_offsets, b, 0.0, -np.inf, values)
        parts, stars, tails, tail_offsets = of_forest(layout, which[b])
        node, end = node_offsets[b], node_offsets[b + 1]
        forest_best.viterbi(
            values, parts, stars, tails, tail_offsets,
            best[node:end], choice[node:end], lengths[node:end],
        )  # fmt: skip


@kernel
def write_derivations(layout, edges, which, node_offsets, choice, starts, out):
    """The best derivation of each sentence, from starts[b] on; none where it has no room."""
    for b in range(len(which)):
        if starts[b + 1] > starts[b]:
            place, place_end = layout.starts[which[b], 1], layout.starts[which[b] + 1, 1]
            _, _, tails, tail_offsets = of_forest(layout, which[b])
            forest_best.write_derivation(
                choice[node_offsets[b] : node_offsets[b + 1]], edges[place:place_end],
                tails, tail_offsets, layout.roots[which[b]], out[starts[b] : starts[b + 1]],
            )  # fmt: skip


@kernel
def max_marginals(scores, part_offsets, layout, which, node_offsets, best, out):
    """For each part the score of the best derivation that uses it; -inf where none does."""
    values, bests = scratch(part_offsets), scratch(part_offsets)
    for b in range(len(which)):
        n_parts = read_parts(scores, part_offsets, b, 0.0, -np.inf, values)
        parts, stars, tails, tail_offsets = of_forest(layout, which[b])
        for part in range(n_parts + 2):
            bests[part] = -np.inf
        forest_best.max_marginals(
            values, parts, stars, tails, tail_offsets, layout.roots[which[b]],
            best[node_offsets[b] : node_offsets[b + 1]], bests,
        )  # fmt: skip
        for part in range(n_parts):
            out[part_offsets[b] + part] = bests[part]
