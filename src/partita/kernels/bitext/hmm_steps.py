"""Hidden Markov alignment of a bitext: posteriors, and the counts of expectation-maximisation.

Arrays that belong together come as tuples:

    shape  = (cell_offsets, n_source, n_target)           of each pair; the empty word counts
    model  = (jumps, starts, p0)                          see `bitext.hmm`
    counts = (jump_counts, departures, start_counts)      departures[n, 0] from outside, [n, 1 + k]

Posteriors of pairs lie end to end, in the order of the cells.
"""

import math

import numpy as np

from partita.kernels.bitext.hmm import infer, padding, room_for, whole_lanes
from partita.kernels.jit import inlined, kernel


@inlined
def infer_pair(values, jumps, starts, p0, room, posteriors, counts):
    """Posteriors and expected jumps of one pair, from its translation probabilities (n + 1, m).

    A target word that nothing can be translated to says nothing about its place: all its
    probabilities count as 1. (With p0 = 0 there is no empty word to be translated.) Where the
    source is empty, every target word is from the empty word. Each word's largest probability is
    taken out first, so that nothing underflows. Returns the log-likelihood.
    """
    n, m = values.shape[0] - 1, values.shape[1]
    if n == 0 or m == 0:
        for j in range(m):
            posteriors[0, j] = 1.0
        return 0.0
    pad, width = padding(jumps), whole_lanes(n) + 2 * padding(jumps)
    for j in range(m):
        room.largest[j] = 0.0
    for i in range(0 if p0 > 0.0 else 1, n + 1):
        for j in range(m):
            room.largest[j] = max(room.largest[j], values[i, j])
    taken_out, product = 0.0, 1.0
    for j in range(m):
        at, largest = j * width + pad, room.largest[j]
        if largest == 0.0:
            room.empty[j] = p0
            for i in range(n):
                room.emissions[at + i] = 1.0 - p0
        else:
            room.empty[j] = p0 * (values[0, j] / largest)
            for i in range(n):
                room.emissions[at + i] = (1.0 - p0) * (values[i + 1, j] / largest)
            # One logarithm serves many factors, none of which takes their product to 0.
            if largest < 1e-100:
                taken_out += math.log(largest)
            else:
                product *= largest
            if product < 1e-100:
                taken_out += math.log(product)
                product = 1.0
        for i in range(n, whole_lanes(n)):
            room.emissions[at + i] = 0.0
    taken_out += math.log(product)
    jump_counts, departures, start_counts = counts
    log_likelihood = infer(
        n, m, jumps, starts, p0, room, posteriors, jump_counts, departures[n, 1:], start_counts
    )
    for k in range(n):
        departures[n, 0] += room.start[k] * room.first_gain[k]
    return log_likelihood + taken_out


@inlined
def longest(n_words, start, end):
    """The most words of the sentences from `start` to `end`."""
    most = 0
    for pair in range(start, end):
        most = max(most, n_words[pair])
    return most


@kernel
def infer_pairs(values, shape, model, weights, counts, out, log_likelihood):
    """Posteriors of all pairs from their translation probabilities, both flat; log-likelihoods.

    Expected jumps are added to the counts, those of each pair times its weight.
    """
    cell_offsets, n_source, n_target = shape
    jumps, starts, p0 = model
    own_counts = (np.empty_like(counts[0]), np.empty_like(counts[1]), np.empty_like(counts[2]))
    most_source = max(longest(n_source, 0, len(n_source)), 1)
    most_target = longest(n_target, 0, len(n_target))
    room = room_for(most_source, most_target, jumps)
    for pair in range(len(n_source)):
        cells = slice(cell_offsets[pair], cell_offsets[pair + 1])
        sizes = (n_source[pair], n_target[pair])
        is_plain = weights[pair] == 1.0
        used = counts if is_plain else own_counts
        # Places are left in sentences of this length only.
        n = sizes[0] - 1
        if not is_plain:
            own_counts[0][:] = 0.0
            own_counts[1][n] = 0.0
            own_counts[2][:] = 0.0
        log_likelihood[pair] = infer_pair(
            values[cells].reshape(sizes), jumps, starts, p0, room, out[cells].reshape(sizes), used
        )
        if not is_plain:
            counts[0][:] += weights[pair] * own_counts[0]
            counts[1][n] += weights[pair] * own_counts[1][n]
            counts[2][:] += weights[pair] * own_counts[2]


@kernel
def agree(shape, other_shape, posteriors, others):
    """Both directions' posteriors of a link become their product; the empty words get the rest.

    Liang, Taskar & Klein (2006): what only one direction believes counts for neither.
    """
    cell_offsets, n_source, n_target = shape
    other_offsets = other_shape[0]
    for pair in range(len(n_source)):
        n, m = n_source[pair] - 1, n_target[pair]
        first, other_first = cell_offsets[pair], other_offsets[pair]
        one = posteriors[first : first + (n + 1) * m].reshape((n + 1, m))
        two = others[other_first : other_first + (m + 1) * n].reshape((m + 1, n))
        one[0], two[0] = 1.0, 1.0
        for i in range(n):
            for j in range(m):
                product = one[i + 1, j] * two[j + 1, i]
                one[i + 1, j], two[j + 1, i] = product, product
                one[0, j] -= product
                two[0, i] -= product
        # Rounding may leave a word less than nothing.
        for j in range(m):
            one[0, j] = max(one[0, j], 0.0)
        for i in range(n):
            two[0, i] = max(two[0, i], 0.0)
