"""Chains normalised at every step: p(tag of word t | tag of word t-1, the words).

With q[t](k | i) proportional to exp(unary[t, k] + pairwise[t-1, i, k]), and log-sums

    c[t, i] = log sum_k exp(unary[t, k] + pairwise[t-1, i, k])        (c[0] has no tag before it)

the product of all steps has the scores pairwise, as they are, and unary[t, i] - c[t+1, i], less
c[0] at the first word: a chain whose log-partition is 0.
"""

import math

import numpy as np

from partita.kernels.jit import kernel


@kernel
def log_sum(logs):
    """log sum_k exp(logs[k])."""
    largest = logs.max()
    if largest == -np.inf:
        return largest
    total = 0.0
    for k in range(len(logs)):
        total += math.exp(logs[k] - largest)
    return largest + math.log(total)


@kernel
def read_step(scores, start, tables, n_tags, stride, t, i, logs):
    """logs[k] = unary[t, k] + pairwise[t-1, i, k], without the transition at the first word."""
    for k in range(n_tags):
        logs[k] = scores[start + t * n_tags + k]
        if t > 0:
            logs[k] += scores[tables + (t - 1) * stride + i * n_tags + k]


@kernel
def normalise(scores, part_offsets, word_offsets, n_tags, stride, out):
    """out = the scores of the normalised chain.

    A tag that can be and behind which no tag can follow keeps its score: what leads there is lost.
    """
    out[:] = scores
    logs = np.empty(n_tags)
    for sentence in range(len(part_offsets) - 1):
        start = part_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        tables = start + n_words * n_tags
        for t in range(n_words):
            for i in range(n_tags if t > 0 else 1):
                read_step(scores, start, tables, n_tags, stride, t, i, logs)
                total = log_sum(logs)
                if total == -np.inf:
                    continue
                if t > 0:
                    out[start + (t - 1) * n_tags + i] -= total
                else:
                    out[start : start + n_tags] -= total


@kernel
def pull_back(scores, gradient, part_offsets, word_offsets, n_tags, stride, out):
    """out = a gradient with respect to the normalised scores as one with respect to the scores.

    What unary[t-1, i] has moves c[t, i], and so all that follows i, by its share q[t](k | i).
    """
    out[:] = gradient
    logs = np.empty(n_tags)
    for sentence in range(len(part_offsets) - 1):
        start = part_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        tables = start + n_words * n_tags
        for t in range(n_words):
            for i in range(n_tags if t > 0 else 1):
                if t > 0:
                    slope = gradient[start + (t - 1) * n_tags + i]
                else:
                    slope = gradient[start : start + n_tags].sum()
                read_step(scores, start, tables, n_tags, stride, t, i, logs)
                total = log_sum(logs)
                if total == -np.inf or slope == 0.0:
                    continue
                for k in range(n_tags):
                    share = slope * math.exp(logs[k] - total)
                    out[start + t * n_tags + k] -= share
                    if t > 0:
                        out[tables + (t - 1) * stride + i * n_tags + k] -= share
