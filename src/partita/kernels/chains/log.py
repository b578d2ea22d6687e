"""Forward in logarithms, back in probabilities: never underflows; slower than the scaled recursion.

The way back has no logarithms: p(i at t-1 | j at t) comes from the forward messages alone, and

    p(i at t-1, j at t) = p(j at t) p(i at t-1 | j at t)

so that the marginals of words and transitions are those of one distribution whatever the size of
the scores, even where the rounding of their sums is more than a nat.

In all chain kernels `start` is the first part of a sentence: its unary scores, n_words rows of
n_tags, and behind them the transition tables. The table that leads to word t starts
(t - 1) * `stride` behind the first; a stride of 0 means that all positions share one table.
"""

import math

import numpy as np

from partita.kernels.jit import kernel, step


@step
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


@step
def shares(logs, out):
    """out = exp(logs), divided by their sum; zeros where there is no mass. Returns the log-sum."""
    largest = -np.inf
    for k in range(len(logs)):
        largest = max(largest, logs[k])
    if largest == -np.inf:
        for k in range(len(logs)):
            out[k] = 0.0
        return largest
    total = 0.0
    for k in range(len(logs)):
        out[k] = math.exp(logs[k] - largest)
        total += out[k]
    for k in range(len(logs)):
        out[k] /= total
    return largest + math.log(total)


@kernel
def marginals(scores, part_offsets, word_offsets, n_tags, stride, sentences, log_partition, out):
    """Log-partition and marginals of the named sentences of a batch.

    p(i at t-1 | j at t) ~ exp(alpha[t-1, i] + pairwise[t-1, i, j])
    """
    logs, share = np.empty(n_tags), np.empty(n_tags)
    for sentence in sentences:
        start, end = part_offsets[sentence], part_offsets[sentence + 1]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        alpha = np.empty((n_words, n_tags))
        forward(scores, start, n_tags, stride, alpha)
        for part in range(start, end):
            out[part] = 0.0
        log_partition[sentence] = shares(alpha[n_words - 1], share)
        for j in range(n_tags):
            out[start + (n_words - 1) * n_tags + j] = share[j]
        for t in range(n_words - 1, 0, -1):
            table, before = start + n_words * n_tags + (t - 1) * stride, start + (t - 1) * n_tags
            for j in range(n_tags):
                p = out[start + t * n_tags + j]
                if p > 0.0:
                    for i in range(n_tags):
                        logs[i] = alpha[t - 1, i] + scores[table + i * n_tags + j]
                    shares(logs, share)
                    for i in range(n_tags):
                        out[before + i] += p * share[i]
                        out[table + i * n_tags + j] += p * share[i]
