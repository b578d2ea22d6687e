"""Forward-backward in logarithms: never underflows; slower than the scaled recursion.

In all chain kernels `start` is the first part of a sentence: its unary scores, n_words rows of
n_tags, and behind them the transition tables. The table that leads to word t starts
(t - 1) * `stride` behind the first; a stride of 0 means that all positions share one table.
"""

import math

import numpy as np

from partita.kernels.jit import kernel


@kernel
def forward(scores, start, n_tags, stride, alpha):
    """alpha[t, j] = log sum over prefixes that end in tag j at word t, scores up to t included.

    alpha[t, j] = unary[t, j] + log sum_i exp(alpha[t-1, i] + pairwise[t-1, i, j])
    """
    n_words = len(alpha)
    for j in range(n_tags):
        alpha[0, j] = scores[start + j]
    for t in range(1, n_words):
        table = start + n_words * n_tags + (t - 1) * stride
        for j in range(n_tags):
            largest = -np.inf
            for i in range(n_tags):
                largest = max(largest, alpha[t - 1, i] + scores[table + i * n_tags + j])
            alpha[t, j] = -np.inf
            if largest > -np.inf:
                total = 0.0
                for i in range(n_tags):
                    total += math.exp(alpha[t - 1, i] + scores[table + i * n_tags + j] - largest)
                alpha[t, j] = scores[start + t * n_tags + j] + largest + math.log(total)


@kernel
def backward(scores, start, n_tags, stride, beta):
    """beta[t, i] = log sum over suffixes behind tag i at word t, scores from t+1 on included.

    beta[t, i] = log sum_j exp(pairwise[t, i, j] + unary[t+1, j] + beta[t+1, j])
    """
    n_words = len(beta)
    beta[n_words - 1, :] = 0.0
    for t in range(n_words - 2, -1, -1):
        table = start + n_words * n_tags + t * stride
        unary = start + (t + 1) * n_tags
        for i in range(n_tags):
            largest = -np.inf
            for j in range(n_tags):
                largest = max(
                    largest, scores[table + i * n_tags + j] + scores[unary + j] + beta[t + 1, j]
                )
            beta[t, i] = -np.inf
            if largest > -np.inf:
                total = 0.0
                for j in range(n_tags):
                    term = scores[table + i * n_tags + j] + scores[unary + j] + beta[t + 1, j]
                    total += math.exp(term - largest)
                beta[t, i] = largest + math.log(total)


@kernel
def log_sum(values):
    """log sum exp of an array; -inf for no mass at all."""
    largest = values.max()
    if largest == -np.inf:
        return largest
    total = 0.0
    for value in values:
        total += math.exp(value - largest)
    return largest + math.log(total)


@kernel
def add_normalised(logs, out, first):
    """out[first:] += exp(logs), divided by their sum.

    Dividing by the sum instead of exp(log-partition) keeps rows summing to 1 to the last bit even
    where the logarithms are so large that their own rounding is 1e-12.
    """
    largest = logs.max()
    total = 0.0
    for k in range(len(logs)):
        logs[k] = math.exp(logs[k] - largest)
        total += logs[k]
    for k in range(len(logs)):
        out[first + k] += logs[k] / total


@kernel
def marginals(scores, part_offsets, word_offsets, n_tags, stride, sentences, log_partition, out):
    """Log-partition and marginals of the named sentences of a batch.

    p(i at t, j at t+1) ~ exp(alpha[t, i] + pairwise[t, i, j] + unary[t+1, j] + beta[t+1, j])
    """
    pair = np.empty(n_tags * n_tags)
    for sentence in sentences:
        start, end = part_offsets[sentence], part_offsets[sentence + 1]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        alpha = np.empty((n_words, n_tags))
        beta = np.empty((n_words, n_tags))
        forward(scores, start, n_tags, stride, alpha)
        log_partition[sentence] = log_sum(alpha[n_words - 1])
        out[start:end] = 0.0
        if log_partition[sentence] == -np.inf:
            continue
        backward(scores, start, n_tags, stride, beta)
        for t in range(n_words - 1):
            table = start + n_words * n_tags + t * stride
            for i in range(n_tags):
                for j in range(n_tags):
                    behind = scores[start + (t + 1) * n_tags + j] + beta[t + 1, j]
                    cell = i * n_tags + j
                    pair[cell] = alpha[t, i] + scores[table + cell] + behind
            add_normalised(pair, out, table)
        for t in range(n_words):
            add_normalised(alpha[t] + beta[t], out, start + t * n_tags)
