"""Forward-backward in probabilities rescaled at every word: the fast path.

Scores are taken relative to the largest of their sentence or table, so that every exponential is
at most 1, and with M = exp(pairwise) and c[t] = sum_j alpha[t, j],

    ratio[t, j] = exp(unary[t, j]) / c[t-1]
    alpha[t, j] = ratio[t, j] sum_i alpha[t-1, i] M[i, j]      (the sum is 1 at the first word)
    gain[t, j]  = ratio[t, j] beta[t, j]
    beta[t, i]  = sum_j M[i, j] gain[t+1, j]                   (1 / c at the last word)

Then A = sum log c + the maxima taken out, alpha * beta are the unary marginals, and
alpha[t-1, i] M[i, j] gain[t, j] the pairwise ones. Dividing by the sum of the word before keeps
the division off the path from one word to the next.

A number below 2^-1022 becomes 0 on the way. That loses at most 2^-1022 times what multiplies it
to a marginal, which is at most the largest beta, since alpha / c, M and exp(unary) are at most 1.
Where beta stays below `SAFE` the result stands; otherwise the sentence is reported as unsafe and
the caller takes `chain_log`.
"""

import math

import numpy as np

from partita.kernels.jit import inlined, kernel
from partita.kernels.lanes import N_LANES, broadcast, load, maximum, store
from partita.kernels.lanes import total as lane_total
from partita.kernels.small_matrix import (
    highest_lane,
    largest,
    outer_sums,
    padded_width,
    products,
    vector_times_matrix,
    weights,
)

SAFE = 1e280


@kernel
def transition_weights(scores, table, n_tags, matrix, transposed):
    """M = exp(table - its maximum), and its transpose, padded with zeros; returns the maximum."""
    width = padded_width(n_tags)
    shift = largest(scores, table, n_tags * n_tags)
    matrix[:] = 0.0
    transposed[:] = 0.0
    for i in range(n_tags):
        weights(scores, table + i * n_tags, n_tags, shift, matrix, i * width)
        for j in range(n_tags):
            transposed[j * width + i] = matrix[i * width + j]
    return shift


@inlined
def same_table(scores, first, second, n_values):
    """Whether two transition tables are equal: sentences of a tagger share one."""
    # Without an early exit, so that the comparison is vectorised.
    differences = 0
    for k in range(n_values):
        differences += scores[first + k] != scores[second + k]
    return differences == 0


@kernel
def forward(scores, start, word, n_words, n_tags, matrix, alpha, ratio):
    """Forward messages of one sentence; returns A less the maxima of tables, and the last 1 / c."""
    width = padded_width(n_tags)
    shift = largest(scores, start, n_words * n_tags)
    total, product, inverse = n_words * shift, 1.0, 1.0
    # In a loop of its own: overlapping stores must have settled before lanes are read again.
    for t in range(n_words):
        weights(scores, start + t * n_tags, n_tags, shift, ratio, (word + t) * width)
    for t in range(n_words):
        at = (word + t) * width
        if t == 0:
            for j in range(at, at + width):
                alpha[j] = 1.0
        else:
            vector_times_matrix(alpha, at - width, n_tags, matrix, 0, width, width, alpha, at)
        sums = broadcast(0.0)
        for j in range(at, at + width, N_LANES):
            scaled = load(ratio, j) * inverse
            message = load(alpha, j) * scaled
            store(ratio, j, scaled)
            store(alpha, j, message)
            sums = sums + message
        scale = lane_total(sums)
        # Some beta is at least 1 / c.
        if not scale * SAFE > 1.0:
            return -np.inf, 0.0
        inverse = 1.0 / scale
        # One logarithm for many factors; from 1e-20, the next one cannot underflow.
        product *= scale
        if product < 1e-20 or product > 1e200:
            total += math.log(product)
            product = 1.0
    return total + math.log(product), inverse


@kernel
def backward(word, n_words, n_tags, transposed, inverse, ratio, beta, gain):
    """Backward messages of one sentence, `gain` from row 0 on; returns the largest beta."""
    width = padded_width(n_tags)
    limit = broadcast(0.0)
    for t in range(n_words - 1, -1, -1):
        at = (word + t) * width
        row = t * width
        if t == n_words - 1:
            for j in range(at, at + width):
                beta[j] = inverse
        else:
            vector_times_matrix(gain, row + width, n_tags, transposed, 0, width, width, beta, at)
        for j in range(0, width, N_LANES):
            outside = load(beta, at + j)
            limit = maximum(limit, outside)
            store(gain, row + j, load(ratio, at + j) * outside)
    return highest_lane(limit)


@inlined
def longest_sentence(word_offsets):
    """Number of words of the longest sentence of a batch."""
    most = 0
    for sentence in range(len(word_offsets) - 1):
        most = max(most, word_offsets[sentence + 1] - word_offsets[sentence])
    return most


@kernel
def marginals(scores, part_offsets, word_offsets, n_tags, log_partition, out):
    """Log-partition and marginals of a batch with one transition table per sentence.

    Returns which sentences are safe, and the messages alpha, beta and ratio, padded.
    """
    width = padded_width(n_tags)
    n_cells = word_offsets[-1] * width
    # The padding of ratio is 0, and so is all that is multiplied by it.
    alpha, beta, ratio = np.empty(n_cells), np.empty(n_cells), np.zeros(n_cells)
    gain = np.empty(longest_sentence(word_offsets) * width)
    matrix, transposed = np.empty(width * width), np.empty(width * width)
    pairs = np.empty(width * width)
    is_safe = np.zeros(len(log_partition), dtype=np.bool_)
    previous, shift = -1, 0.0
    for sentence in range(len(log_partition)):
        start, word = part_offsets[sentence], word_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word
        table = start + n_words * n_tags
        if previous < 0 or not same_table(scores, previous, table, n_tags * n_tags):
            shift = transition_weights(scores, table, n_tags, matrix, transposed)
        previous = table
        total, inverse = forward(scores, start, word, n_words, n_tags, matrix, alpha, ratio)
        log_partition[sentence] = total + (n_words - 1) * shift
        if total == -np.inf:
            continue
        limit = backward(word, n_words, n_tags, transposed, inverse, ratio, beta, gain)
        is_safe[sentence] = limit < SAFE
        for t in range(n_words):
            products(alpha, beta, (word + t) * width, n_tags, out, start + t * n_tags)
        outer_sums(alpha, word, gain, 1, n_words - 1, width, pairs)
        for i in range(n_tags):
            products(matrix, pairs, i * width, n_tags, out, table + i * n_tags)
    return is_safe, alpha, beta, ratio
