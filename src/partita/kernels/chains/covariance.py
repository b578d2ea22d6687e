"""Covariance of the part counts of a chain, times a direction.

With prefix[t, j] the expected direction of everything up to word t given tag j there, and
suffix[t, j] that of everything behind it, and E the expected direction of the whole,

    product(j at t)             = p(j) (prefix[t, j] + suffix[t, j] - E)
    product(i at t-1, j at t)   = p(i, j) (prefix[t-1, i] + v(i, j) + v(t, j) + suffix[t, j] - E)

so one sweep each way suffices: O(n s²), with no matrix formed. The suffixes come first, since they
give E, and then the tables are read once more, for the prefixes and for the product. Each
expectation is divided by the sum of its own weights: it can be large (the score of a whole
sentence), so that even the last bits in which the marginals of a word and of its transitions differ
would show in the product.
"""

import numpy as np

from partita.kernels.chains import log as chain_log
from partita.kernels.jit import borrowing, kernel, lent
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, select, store
from partita.kernels.simd.lanes import total as lane_total


@borrowing
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


@lent
def suffixes(marginals, direction, start, n_words, n_tags, behind, suffix):
    """suffix[t, i] = sum_j p(j at t+1 | i at t) (v(i, j) + v(t+1, j) + suffix[t+1, j])."""
    for j in range(n_tags):
        suffix[(n_words - 1) * n_tags + j] = 0.0
    for t in range(n_words - 2, -1, -1):
        table, after = start + n_words * n_tags + t * n_tags * n_tags, (t + 1) * n_tags
        for j in range(n_tags):
            behind[j] = direction[start + after + j] + suffix[after + j]
        for i in range(n_tags):
            mean = row_mean(marginals, direction, table + i * n_tags, n_tags, behind)
            suffix[t * n_tags + i] = mean


@borrowing
def row_product(marginals, direction, row, n_tags, before, behind, weights, sums, out):
    """The product along a row of a table: out[j] = p[j] (before + v[j] + behind[j]).

    Adds p to the weights, and p (before + v) to the sums, of what comes before the right tags.
    Parts that cannot occur give 0, whatever their direction.
    """
    whole = n_tags - n_tags % N_LANES
    for j in range(0, whole, N_LANES):
        pair, moved = load(marginals, row + j), load(direction, row + j) + before
        store(weights, j, load(weights, j) + pair)
        store(sums, j, fma(pair, moved, load(sums, j)))
        store(out, row + j, select(pair > 0.0, pair * (moved + load(behind, j)), 0.0))
    for j in range(whole, n_tags):
        pair, moved = marginals[row + j], direction[row + j] + before
        weights[j] += pair
        sums[j] += pair * moved
        out[row + j] = pair * (moved + behind[j]) if pair > 0.0 else 0.0


@lent
def products(marginals, direction, start, n_words, n_tags, suffix, scratch, out):
    """The product for one sentence, once its suffixes are known; prefixes come on the way.

    prefix[t, j] = v(t, j) + sum_i p(i at t-1 | j at t) (v(i, j) + prefix[t-1, i])
    """
    prefix, behind, weights, sums = scratch
    expected, weight = 0.0, 0.0
    for j in range(n_tags):
        prefix[j] = direction[start + j]
        if marginals[start + j] > 0.0:
            weight += marginals[start + j]
            expected += marginals[start + j] * (prefix[j] + suffix[j])
    expected /= weight
    for t in range(n_words):
        row, table = t * n_tags, start + n_words * n_tags + (t - 1) * n_tags * n_tags
        if t > 0:
            for j in range(n_tags):
                behind[j] = direction[start + row + j] + suffix[row + j] - expected
                weights[j], sums[j] = 0.0, 0.0
            for i in range(n_tags):
                row_product(
                    marginals, direction, table + i * n_tags, n_tags, prefix[i], behind,
                    weights, sums, out,
                )  # fmt: skip
            for j in range(n_tags):
                prefix[j] = sums[j] / weights[j] if weights[j] > 0.0 else 0.0
                prefix[j] += direction[start + row + j]
        for j in range(n_tags):
            part = start + row + j
            inside = prefix[j] + suffix[row + j] - expected
            out[part] = marginals[part] * inside if marginals[part] > 0.0 else 0.0


@kernel
def positional(marginals, direction, part_offsets, word_offsets, n_tags, out):
    """The product for a batch with a transition table for every pair of neighbours."""
    most = 0
    for sentence in range(len(part_offsets) - 1):
        most = max(most, word_offsets[sentence + 1] - word_offsets[sentence])
    suffix, prefix, behind = np.empty(most * n_tags), np.empty(n_tags), np.empty(n_tags)
    scratch = prefix, behind, np.empty(n_tags), np.empty(n_tags)
    for sentence in range(len(part_offsets) - 1):
        start, n_words = part_offsets[sentence], word_offsets[sentence + 1] - word_offsets[sentence]
        suffixes(marginals, direction, start, n_words, n_tags, behind, suffix)
        products(marginals, direction, start, n_words, n_tags, suffix, scratch, out)


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
