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

from partita.kernels.bitext.hmm import infer, padding
from partita.kernels.jit import inlined, kernel


@kernel
def infer_pair(values, jumps, starts, p0, posteriors, counts):
    """Posteriors and expected jumps of one pair, from its translation probabilities (n + 1, m).

    A target word that nothing can be translated to says nothing about its place: all its
    probabilities count as 1. (With p0 = 0 there is no empty word to be translated.) Where the
    source is empty, every target word is from the empty word. Each word's largest probability is
    taken out first, so that nothing underflows. Returns the log-likelihood.
    """
    n, m = values.shape[0] - 1, values.shape[1]
    if n == 0 or m == 0:
        posteriors[:] = 1.0
        return 0.0
    pad = padding(jumps)
    emissions, empty = np.zeros((m, n + 2 * pad)), np.empty(m)
    taken_out = 0.0
    for j in range(m):
        largest = 0.0
        for i in range(0 if p0 > 0.0 else 1, n + 1):
            largest = max(largest, values[i, j])
        if largest == 0.0:
            empty[j] = 1.0
            emissions[j, pad : pad + n] = 1.0
            continue
        taken_out += math.log(largest)
        empty[j] = values[0, j] / largest
        for i in range(n):
            emissions[j, pad + i] = values[i + 1, j] / largest
    jump_counts, departures, start_counts = counts
    first_jumps = start_counts.sum()
    log_likelihood = infer(
        emissions, empty, n, jumps, starts, p0, posteriors, jump_counts, departures[n, 1:],
        start_counts,
    )  # fmt: skip
    departures[n, 0] += start_counts.sum() - first_jumps
    return log_likelihood + taken_out


@inlined
def read_cells(table, cells, first, values):
    """values = the probabilities of the cells of one pair, which begin at `first`."""
    n, m = values.shape
    for i in range(n):
        for j in range(m):
            values[i, j] = table[cells[first + i * m + j], 0]


@kernel
def infer_block(places, model, p0, counts, start, end, posteriors):
    """Posteriors of the pairs from `start` to `end`, and their expected jumps; log-likelihood."""
    cells, cell_offsets, n_source, n_target, weights = places
    table, jumps, starts = model
    log_likelihood = 0.0
    own_counts = (np.empty_like(counts[0]), np.empty_like(counts[1]), np.empty_like(counts[2]))
    for pair in range(start, end):
        shape = (n_source[pair], n_target[pair])
        first = cell_offsets[pair] - cell_offsets[start]
        values = np.empty(shape)
        read_cells(table, cells, cell_offsets[pair], values)
        own = posteriors[first : first + values.size].reshape(shape)
        if weights[pair] == 1.0:
            log_likelihood += infer_pair(values, jumps, starts, p0, own, counts)
            continue
        # Places are left in sentences of this length only.
        n = shape[0] - 1
        own_counts[0][:] = 0.0
        own_counts[1][n] = 0.0
        own_counts[2][:] = 0.0
        value = infer_pair(values, jumps, starts, p0, own, own_counts)
        log_likelihood += weights[pair] * value
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
    longest = n_source.max() if len(n_source) else 1
    counts = (np.zeros(len(jumps)), np.zeros((longest, longest)), np.zeros(len(starts)))
    for pair in range(len(n_source)):
        cells = slice(cell_offsets[pair], cell_offsets[pair + 1])
        shape = (n_source[pair], n_target[pair])
        log_likelihood[pair] = infer_pair(
            values[cells].reshape(shape), jumps, starts, p0, out[cells].reshape(shape), counts
        )
    return log_likelihood
