"""Exact samples of tag sequences: forward filtering, backward sampling."""

import math

import numpy as np

from partita.kernels.chains.log import forward
from partita.kernels.jit import kernel, step


@step
def draw(logs, uniform, weights):
    """An index with probability proportional to exp(logs), by inversion of one uniform number."""
    largest = logs.max()
    total = 0.0
    for i in range(len(logs)):
        weights[i] = math.exp(logs[i] - largest)
        total += weights[i]
    threshold = uniform * total
    last = 0
    for i in range(len(logs)):
        if weights[i] > 0.0:
            # Rounding can leave a rest of the threshold: the last possible index takes it.
            last = i
            threshold -= weights[i]
            if threshold < 0.0:
                break
    return last


@kernel
def sample(scores, start, n_tags, stride, uniforms, tags):
    """Fill tags[sample, word], right to left; returns whether all sums were numbers.

    p(tag i at t-1 | tag j at t) is proportional to exp(alpha[t-1, i] + pairwise[t-1, i, j]).
    """
    size, n_words = tags.shape
    alpha = np.empty((n_words, n_tags))
    forward(scores, start, n_tags, stride, alpha)
    for t in range(n_words):
        for j in range(n_tags):
            if not alpha[t, j] < np.inf:
                return False
    logs = np.empty(n_tags)
    weights = np.empty(n_tags)
    for item in range(size):
        tag = draw(alpha[n_words - 1], uniforms[item, n_words - 1], weights)
        tags[item, n_words - 1] = tag
        for t in range(n_words - 1, 0, -1):
            table = start + n_words * n_tags + (t - 1) * stride
            for i in range(n_tags):
                logs[i] = alpha[t - 1, i] + scores[table + i * n_tags + tag]
            tag = draw(logs, uniforms[item, t - 1], weights)
            tags[item, t - 1] = tag
    return True
