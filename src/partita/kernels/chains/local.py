"""Chains normalised at every step: p(tag of word t | tag of word t-1, the words).

With q[t](k | i) proportional to exp(unary[t, k] + pairwise[t-1, i, k]), and log-sums

    c[t, i] = log sum_k exp(unary[t, k] + pairwise[t-1, i, k])        (c[0] has no tag before it)

the product of all steps has the scores pairwise, as they are, and unary[t, i] - c[t+1, i], less
c[0] at the first word: a chain whose log-partition is 0.

A sum is a product of two rows of exponentials, each relative to its largest score, so that a table
that all words share is exponentiated once. A sum below `TINY` may have lost what underflowed, and
is taken again with the scores of both rows added first.
"""

import math

import numpy as np

from partita.kernels.jit import kernel, step

TINY = 1e-280
"""Sums above it have lost less than 1e-28 of themselves for each number below 2^-1022."""


@step
def relative(scores, at, n_tags, out, place):
    """out[place + k] = exp(scores[at + k] - the largest of them), which it returns."""
    largest = -np.inf
    for k in range(n_tags):
        largest = max(largest, scores[at + k])
    for k in range(n_tags):
        out[place + k] = math.exp(scores[at + k] - largest) if largest > -np.inf else 0.0
    return largest


@step
def added(scores, words, row, n_tags, out):
    """`relative` of the scores of two rows added up."""
    largest = -np.inf
    for k in range(n_tags):
        out[k] = scores[words + k] + scores[row + k]
        largest = max(largest, out[k])
    for k in range(n_tags):
        out[k] = math.exp(out[k] - largest) if largest > -np.inf else 0.0
    return largest


@step
def one_step(scores, words, table, n_tags, i, matrix, row, shifts, shares):
    """shares[k] proportional to q(k | i), and their sum; the score taken out goes to shifts[-1]."""
    total = 0.0
    for k in range(n_tags):
        shares[k] = matrix[i * n_tags + k] * row[k]
        total += shares[k]
    shifts[n_tags + 1] = shifts[i] + shifts[n_tags]
    if total < TINY:
        shifts[n_tags + 1] = added(scores, words, table + i * n_tags, n_tags, shares)
        total = 0.0
        for k in range(n_tags):
            total += shares[k]
    return total


@step
def read_step(scores, words, table, n_tags, is_new, matrix, row, shifts):
    """The exponentials of a word's row, and of the table before it if that `is_new`."""
    if is_new:
        for i in range(n_tags):
            shifts[i] = relative(scores, table + i * n_tags, n_tags, matrix, i * n_tags)
    shifts[n_tags] = relative(scores, words, n_tags, row, 0)


@kernel
def normalise(scores, part_offsets, word_offsets, n_tags, stride, out):
    """out = the scores of the normalised chain.

    A tag that can be and behind which no tag can follow keeps its score: what leads there is lost.
    """
    matrix, row, shares = np.empty(n_tags * n_tags), np.empty(n_tags), np.empty(n_tags)
    shifts = np.empty(n_tags + 2)
    for part in range(len(scores)):
        out[part] = scores[part]
    for sentence in range(len(part_offsets) - 1):
        start = part_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        tables = start + n_words * n_tags
        largest, total = relative(scores, start, n_tags, row, 0), 0.0
        for k in range(n_tags):
            total += row[k]
        if total > 0.0:
            for k in range(n_tags):
                out[start + k] -= largest + math.log(total)
        for t in range(1, n_words):
            words, table = start + t * n_tags, tables + (t - 1) * stride
            read_step(scores, words, table, n_tags, t == 1 or stride > 0, matrix, row, shifts)
            for i in range(n_tags):
                total = one_step(scores, words, table, n_tags, i, matrix, row, shifts, shares)
                if total > 0.0:
                    out[words - n_tags + i] -= shifts[n_tags + 1] + math.log(total)


@kernel
def pull_back(scores, gradient, part_offsets, word_offsets, n_tags, stride, out):
    """out = a gradient with respect to the normalised scores as one with respect to the scores.

    What unary[t-1, i] has moves c[t, i], and so all that follows i, by its share q[t](k | i).
    """
    matrix, row, shares = np.empty(n_tags * n_tags), np.empty(n_tags), np.empty(n_tags)
    shifts = np.empty(n_tags + 2)
    for part in range(len(scores)):
        out[part] = gradient[part]
    for sentence in range(len(part_offsets) - 1):
        start = part_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        tables = start + n_words * n_tags
        relative(scores, start, n_tags, row, 0)
        slope, total = 0.0, 0.0
        for k in range(n_tags):
            slope += gradient[start + k]
            total += row[k]
        if total > 0.0:
            for k in range(n_tags):
                out[start + k] -= slope * row[k] / total
        for t in range(1, n_words):
            words, table = start + t * n_tags, tables + (t - 1) * stride
            read_step(scores, words, table, n_tags, t == 1 or stride > 0, matrix, row, shifts)
            for i in range(n_tags):
                slope = gradient[words - n_tags + i]
                if slope == 0.0:
                    continue
                total = one_step(scores, words, table, n_tags, i, matrix, row, shifts, shares)
                if total > 0.0:
                    for k in range(n_tags):
                        share = slope / total * shares[k]
                        out[words + k] -= share
                        out[table + i * n_tags + k] -= share
