"""Hidden Markov alignment of a bitext: posteriors, and the counts of expectation-maximisation.

Arrays that belong together come as tuples:

    places = (cells, cell_offsets, n_source, n_target, weights)    see `word_pairs`; the empty word
                                                          counts; weights are those of pairs
    model  = (table, jumps, starts)                       see `model1` and `bitext.hmm`
    counts = (jump_counts, departures, start_counts)      departures[n, 0] from outside, [n, 1 + k]

Posteriors of a block of pairs lie end to end, in the order of the cells.
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
def read_cells(table, cells, first, values):
    """values = the probabilities of the cells of one pair, which begin at `first`."""
    n, m = values.shape
    for i in range(n):
        for j in range(m):
            values[i, j] = table[cells[first + i * m + j], 0]


@inlined
def longest(n_words, start, end):
    """The most words of the sentences from `start` to `end`."""
    most = 0
    for pair in range(start, end):
        most = max(most, n_words[pair])
    return most


@kernel
def infer_block(places, model, p0, counts, start, end, posteriors):
    """Posteriors of the pairs from `start` to `end`, and their expected jumps; log-likelihood."""
    cells, cell_offsets, n_source, n_target, weights = places
    table, jumps, starts = model
    log_likelihood = 0.0
    own_counts = (np.empty_like(counts[0]), np.empty_like(counts[1]), np.empty_like(counts[2]))
    most_source, most_target = longest(n_source, start, end), longest(n_target, start, end)
    room = room_for(most_source, most_target, jumps)
    scratch = np.empty(most_source * most_target)
    for pair in range(start, end):
        shape = (n_source[pair], n_target[pair])
        first, size = cell_offsets[pair] - cell_offsets[start], shape[0] * shape[1]
        values = scratch[:size].reshape(shape)
        read_cells(table, cells, cell_offsets[pair], values)
        own = posteriors[first : first + size].reshape(shape)
        is_plain = weights[pair] == 1.0
        used = counts if is_plain else own_counts
        # Places are left in sentences of this length only.
        n = shape[0] - 1
        if not is_plain:
            own_counts[0][:] = 0.0
            own_counts[1][n] = 0.0
            own_counts[2][:] = 0.0
        value = infer_pair(values, jumps, starts, p0, room, own, used)
        log_likelihood += weights[pair] * value
        if not is_plain:
            counts[0][:] += weights[pair] * own_counts[0]
            counts[1][n] += weights[pair] * own_counts[1][n]
            counts[2][:] += weights[pair] * own_counts[2]
    return log_likelihood


@kernel
def count_block(places, table, start, end, posteriors):
    """Add the posteriors of a block to the counts of the table's entries."""
    cells, cell_offsets, weights = places[0], places[1], places[4]
    for pair in range(start, end):
        for cell in range(cell_offsets[pair], cell_offsets[pair + 1]):
            table[cells[cell], 1] += weights[pair] * posteriors[cell - cell_offsets[start]]


@kernel
def agree_block(places, other_places, start, end, posteriors, others):
    """Both directions' posteriors of a link become their product; the empty words get the rest.

    Liang, Taskar & Klein (2006): what only one direction believes counts for neither.
    """
    cell_offsets, n_source, n_target = places[1], places[2], places[3]
    other_offsets = other_places[1]
    for pair in range(start, end):
        n, m = n_source[pair] - 1, n_target[pair]
        first = cell_offsets[pair] - cell_offsets[start]
        other_first = other_offsets[pair] - other_offsets[start]
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


@kernel
def posteriors(values, cell_offsets, n_source, n_target, jumps, starts, p0, out):
    """Posteriors of all pairs from their translation probabilities, both flat; log-likelihoods."""
    log_likelihood = np.empty(len(n_source))
    most_source = max(longest(n_source, 0, len(n_source)), 1)
    most_target = longest(n_target, 0, len(n_target))
    counts = (np.zeros(len(jumps)), np.zeros((most_source, most_source)), np.zeros(len(starts)))
    room = room_for(most_source, most_target, jumps)
    for pair in range(len(n_source)):
        cells = slice(cell_offsets[pair], cell_offsets[pair + 1])
        shape = (n_source[pair], n_target[pair])
        log_likelihood[pair] = infer_pair(
            values[cells].reshape(shape), jumps, starts, p0, room, out[cells].reshape(shape), counts
        )
    return log_likelihood
