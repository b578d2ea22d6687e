"""Covariance of the part counts of a chain, times a direction.

With prefix[t, j] the expected direction of everything up to word t given tag j there, and
suffix[t, j] that of everything behind it, and E the expected direction of the whole,

    product(j at t)             = p(j) (prefix[t, j] + suffix[t, j] - E)
    product(i at t-1, j at t)   = p(i, j) (prefix[t-1, i] + v(i, j) + v(t, j) + suffix[t, j] - E)

so one sweep each way suffices: O(n s²), with no matrix formed. Each expectation is divided by the
sum of its own weights: it can be large (the score of a whole sentence), so that even the last bits
in which the marginals of a word and of its transitions differ would show in the product.
"""

import numpy as np

from partita.kernels.chains import log as chain_log
from partita.kernels.jit import kernel, step
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load
from partita.kernels.simd.lanes import total as lane_total


@step
def row_mean(pairs, direction, row, n_tags, behind):
    """Mean of direction[row + j] + behind[j] with the weights pairs[row + j]; 0 if all are 0."""
    lanes, lane_weights, rest, weight = broadcast(0.0), broadcast(0.0), 0.0, 0.0
    whole = n_tags - n_tags % N_LANES
    for j in range(0, whole, N_LANES):
        pair = load(pairs, row + j)
        lane_weights = lane_weights + pair
        lanes = fma(pair, load(direction, row + j) + load(behind, j), lanes)
    for j in range(whole, n_tags):
        weight += pairs[row + j]
        rest += pairs[row + j] * (direction[row + j] + behind[j])
    weight += lane_total(lane_weights)
    return (rest + lane_total(lanes)) / weight if weight > 0.0 else 0.0


@step
def suffixes(marginals, direction, start, n_words, n_tags, suffix):
    """suffix[t, i] = sum_j p(j at t+1 | i at t) (v(i, j) + v(t+1, j) + suffix[t+1, j])."""
    behind = np.empty(n_tags)
    suffix[n_words - 1] = 0.0
    for t in range(n_words - 2, -1, -1):
        table = start + n_words * n_tags + t * n_tags * n_tags
        for j in range(n_tags):
            behind[j] = direction[start + (t + 1) * n_tags + j] + suffix[t + 1, j]
        for i in range(n_tags):
            suffix[t, i] = row_mean(marginals, direction, table + i * n_tags, n_tags, behind)


@step
def prefixes(marginals, direction, start, n_words, n_tags, prefix):
    """prefix[t, j] = v(t, j) + sum_i p(i at t-1 | j at t) (v(i, j) + prefix[t-1, i])."""
    for j in range(n_tags):
        prefix[0, j] = direction[start + j]
    weights = np.empty(n_tags)
    for t in range(1, n_words):
        table = start + n_words * n_tags + (t - 1) * n_tags * n_tags
        prefix[t] = 0.0
        weights[:] = 0.0
        for i in range(n_tags):
            row, before = table + i * n_tags, prefix[t - 1, i]
            for j in range(n_tags):
                weights[j] += marginals[row + j]
                prefix[t, j] += marginals[row + j] * (direction[row + j] + before)
        for j in range(n_tags):
            prefix[t, j] = prefix[t, j] / weights[j] if weights[j] > 0.0 else 0.0
            prefix[t, j] += direction[start + t * n_tags + j]


@step
def combine(marginals, direction, start, n_words, n_tags, prefix, suffix, out):
    """The product for one sentence, once the prefix and suffix expectations are known.

    Parts that cannot occur give 0, whatever their direction.
    """
    expected, weight = 0.0, 0.0
    for j in range(n_tags):
        if marginals[start + j] > 0.0:
            weight += marginals[start + j]
            expected += marginals[start + j] * (prefix[0, j] + suffix[0, j])
    expected /= weight
    behind = np.empty(n_tags)
    for t in range(n_words):
        for j in range(n_tags):
            part = start + t * n_tags + j
            inside = prefix[t, j] + suffix[t, j] - expected
            out[part] = marginals[part] * inside if marginals[part] > 0.0 else 0.0
            behind[j] = direction[part] + suffix[t, j] - expected
        if t == 0:
            continue
        table = start + n_words * n_tags + (t - 1) * n_tags * n_tags
        for i in range(n_tags):
            before = prefix[t - 1, i]
            for part in range(table + i * n_tags, table + (i + 1) * n_tags):
                inside = before + direction[part] + behind[part - table - i * n_tags]
                out[part] = marginals[part] * inside if marginals[part] > 0.0 else 0.0


@kernel
def positional(marginals, direction, part_offsets, word_offsets, n_tags, out):
    """The product for a batch with a transition table for every pair of neighbours."""
    for sentence in range(len(part_offsets) - 1):
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        prefix, suffix = np.empty((n_words, n_tags)), np.empty((n_words, n_tags))
        start = part_offsets[sentence]
        prefixes(marginals, direction, start, n_words, n_tags, prefix)
        suffixes(marginals, direction, start, n_words, n_tags, suffix)
        combine(marginals, direction, start, n_words, n_tags, prefix, suffix, out)


@kernel
def shared_unsafe(scores, direction, part_offsets, word_offsets, n_tags, sentences, out):
    """The product for sentences whose scaled messages underflow: pairwise marginals by logarithms.

    A shared table is spread over the positions, and the results are summed.
    """
    for sentence in sentences:
        start, end = part_offsets[sentence], part_offsets[sentence + 1]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        n_unary, n_table = n_words * n_tags, n_tags * n_tags
        n_parts = n_unary + (n_words - 1) * n_table
        spread = np.empty((3, n_parts))
        for row, values in ((0, scores), (1, direction)):
            spread[row, :n_unary] = values[start : start + n_unary]
            for t in range(n_words - 1):
                first = n_unary + t * n_table
                spread[row, first : first + n_table] = values[start + n_unary : end]
        log_partition = np.empty(1)
        offsets = np.array([0, n_parts])
        words = np.array([0, n_words])
        chain_log.marginals(
            spread[0], offsets, words, n_tags, n_table, np.zeros(1, dtype=np.int64),
            log_partition, spread[2],
        )  # fmt: skip
        product = np.empty(n_parts)
        positional(spread[2], spread[1], offsets, words, n_tags, product)
        out[start : start + n_unary] = product[:n_unary]
        out[start + n_unary : end] = 0.0
        for t in range(n_words - 1):
            first = n_unary + t * n_table
            out[start + n_unary : end] += product[first : first + n_table]
