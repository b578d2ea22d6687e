"""Segments in logarithms: never underflows; slower than the scaled recursion.

With `after[e, y]` the log of the sum over all ways to cut the first e words such that the last
segment has tag y, and `before[i, y]` that of all ways to cut the first i words if a segment with
tag y comes next,

    before[i, y] = log sum_x exp(after[i, x] + pairwise[x, y])             (0 at the first word)
    after[e, y]  = log sum_i exp(before[i, y] + segments[i, e - i - 1, y])

Marginals are p(node) p(step | node), from the end of the sentence to its beginning; their
derivative along a direction is that of both factors, p(step | node) times the direction of the
step and what is expected before it, less what is expected before the node.
"""

import math

import numpy as np

from partita.kernels.jit import kernel, step
from partita.kernels.segments.rows import cell_of, fill


@step
def segment_terms(scores, start, end, longest, n_tags, tag, before, terms):
    """terms[l] = before + score of the segment of l + 1 words that ends here; returns how many."""
    most = min(longest, end)
    for length in range(most):
        first = end - length - 1
        part = start + cell_of(first, length, longest) * n_tags + tag
        terms[length] = before[first * n_tags + tag] + scores[part]
    return most


@step
def transition_terms(scores, table, n_tags, tag, after, row, terms):
    """terms[x] = after + score of the transition from tag x."""
    for x in range(n_tags):
        terms[x] = after[row + x] + scores[table + x * n_tags + tag]
    return n_tags


@step
def log_sum(terms, n_terms):
    """log sum exp of the first terms; -inf for no mass at all."""
    largest = -np.inf
    for k in range(n_terms):
        largest = max(largest, terms[k])
    if largest == -np.inf:
        return largest
    total = 0.0
    for k in range(n_terms):
        total += math.exp(terms[k] - largest)
    return largest + math.log(total)


@step
def normalise(terms, n_terms):
    """terms = exp(terms) divided by their sum; zeros where there is no mass at all."""
    largest, total = -np.inf, 0.0
    for k in range(n_terms):
        largest = max(largest, terms[k])
    for k in range(n_terms):
        terms[k] = math.exp(terms[k] - largest) if terms[k] > -np.inf else 0.0
        total += terms[k]
    for k in range(n_terms):
        terms[k] = terms[k] / total if total > 0.0 else 0.0


@step
def inside(scores, start, table, n_words, longest, n_tags, after, before, terms):
    """Fill `after` and `before`, [boundary, tag]."""
    fill(before, 0, n_tags, 0.0)
    for end in range(1, n_words + 1):
        row = end * n_tags
        for y in range(n_tags):
            n_terms = segment_terms(scores, start, end, longest, n_tags, y, before, terms)
            after[row + y] = log_sum(terms, n_terms)
        for y in range(n_tags):
            n_terms = transition_terms(scores, table, n_tags, y, after, row, terms)
            before[row + y] = log_sum(terms, n_terms)


@step
def expected_before(
    scores, direction, start, table, n_words, longest, n_tags,
    after, before, terms, mean_after, mean_before,
):  # fmt: skip
    """The expected direction of all that a node sums over, [boundary, tag]."""
    fill(mean_before, 0, n_tags, 0.0)
    for end in range(1, n_words + 1):
        row = end * n_tags
        for y in range(n_tags):
            n_terms = segment_terms(scores, start, end, longest, n_tags, y, before, terms)
            normalise(terms, n_terms)
            mean = 0.0
            for length in range(n_terms):
                first = end - length - 1
                moved = direction[start + cell_of(first, length, longest) * n_tags + y]
                mean += terms[length] * (moved + mean_before[first * n_tags + y])
            mean_after[row + y] = mean
        for y in range(n_tags):
            n_terms = transition_terms(scores, table, n_tags, y, after, row, terms)
            normalise(terms, n_terms)
            mean = 0.0
            for x in range(n_tags):
                mean += terms[x] * (direction[table + x * n_tags + y] + mean_after[row + x])
            mean_before[row + y] = mean


@step
def outside(
    scores, direction, start, table, n_words, longest, n_tags, after, before, terms,
    mean_after, mean_before, p_after, p_before, d_after, d_before, out,
):  # fmt: skip
    """Add the marginals to `out`; where there is a direction, their derivatives along it."""
    last = n_words * n_tags
    for y in range(n_tags):
        terms[y] = after[last + y]
    normalise(terms, n_tags)
    if direction is not None:
        mean = 0.0
        for y in range(n_tags):
            mean += terms[y] * mean_after[last + y]
        for y in range(n_tags):
            d_after[last + y] = terms[y] * (mean_after[last + y] - mean)
    for y in range(n_tags):
        p_after[last + y] = terms[y]
    for end in range(n_words, 0, -1):
        row = end * n_tags
        for y in range(n_tags) if end < n_words else range(0):
            transition_terms(scores, table, n_tags, y, after, row, terms)
            normalise(terms, n_tags)
            for x in range(n_tags):
                part, p = table + x * n_tags + y, p_before[row + y] * terms[x]
                p_after[row + x] += p
                if direction is None:
                    out[part] += p
                else:
                    change = direction[part] + mean_after[row + x] - mean_before[row + y]
                    moved = d_before[row + y] * terms[x] + p * change
                    d_after[row + x] += moved
                    out[part] += moved
        for y in range(n_tags):
            n_terms = segment_terms(scores, start, end, longest, n_tags, y, before, terms)
            normalise(terms, n_terms)
            for length in range(n_terms):
                first = (end - length - 1) * n_tags
                part = start + cell_of(end - length - 1, length, longest) * n_tags + y
                p = p_after[row + y] * terms[length]
                p_before[first + y] += p
                if direction is None:
                    out[part] += p
                else:
                    change = direction[part] + mean_before[first + y] - mean_after[row + y]
                    moved = d_after[row + y] * terms[length] + p * change
                    d_before[first + y] += moved
                    out[part] += moved


@kernel
def infer(
    scores, direction, part_offsets, word_offsets, longest, n_tags, sentences, log_partition, out
):  # fmt: skip
    """Log-partition and marginals of the named sentences, or their covariance product.

    Marginals where `direction` is None, else the product. A sentence without any structure has
    the log-partition -inf and zeros.
    """
    terms = np.empty(max(longest, n_tags))
    for sentence in sentences:
        start, end = part_offsets[sentence], part_offsets[sentence + 1]
        n_words, table = word_offsets[sentence + 1] - word_offsets[sentence], end - n_tags * n_tags
        size = (n_words + 1) * n_tags
        after, before = np.empty(size), np.empty(size)
        inside(scores, start, table, n_words, longest, n_tags, after, before, terms)
        for y in range(n_tags):
            terms[y] = after[n_words * n_tags + y]
        log_partition[sentence] = log_sum(terms, n_tags)
        fill(out, start, end, 0.0)
        if log_partition[sentence] == -np.inf:
            continue
        nodes = np.empty(6 * size)
        fill(nodes, 0, 6 * size, 0.0)
        mean_after, mean_before = nodes[:size], nodes[size : 2 * size]
        if direction is not None:
            expected_before(
                scores, direction, start, table, n_words, longest, n_tags,
                after, before, terms, mean_after, mean_before,
            )  # fmt: skip
        outside(
            scores, direction, start, table, n_words, longest, n_tags, after, before, terms,
            mean_after, mean_before, nodes[2 * size : 3 * size], nodes[3 * size : 4 * size],
            nodes[4 * size : 5 * size], nodes[5 * size :], out,
        )  # fmt: skip
