"""Entropy of chains with some tags fixed, and the gradient of the entropy (Mann & McCallum 2007).

The kernels on lattices read marginals with a table for every pair of neighbours. The published
recursion has base cases and signs that do not hold as printed; these do, with all entropies
positive. `forward_only` reads scores, and is of Hernando, Crespi and Cybenko (2005).
"""

import math

import numpy as np

from partita.kernels.jit import kernel, step


@step
def conditional(joint, given):
    """p(a | b) for p(a, b) = joint and p(b) = given.

    0 where b cannot be: a sum can underflow in another order than its terms.
    """
    return joint / given if joint > 0.0 and given > 0.0 else 0.0


@step
def surprise(p):
    """p log 1 / p, with 0 log 0 = 0."""
    return -p * math.log(p) if p > 0.0 else 0.0


@kernel
def lattices(marginals, part_offsets, word_offsets, n_tags, prefix, suffix):
    """Entropy of all tags before a word, and of all behind it, given the word's tag.

    prefix[t, j] = sum_i p(i at t-1 | j at t) (-log p(i at t-1 | j at t) + prefix[t-1, i])
    suffix[t, i] = sum_j p(j at t+1 | i at t) (-log p(j at t+1 | i at t) + suffix[t+1, j])

    0 at the first and at the last word. (H-alpha and H-beta of the paper.)
    """
    prefix[:] = 0.0
    suffix[:] = 0.0
    for sentence in range(len(part_offsets) - 1):
        start, word = part_offsets[sentence], word_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word
        tables = start + n_words * n_tags
        for t in range(1, n_words):
            table = tables + (t - 1) * n_tags * n_tags
            for i in range(n_tags):
                for j in range(n_tags):
                    given = marginals[start + t * n_tags + j]
                    p = conditional(marginals[table + i * n_tags + j], given)
                    prefix[word + t, j] += surprise(p) + p * prefix[word + t - 1, i]
        for t in range(n_words - 2, -1, -1):
            table = tables + t * n_tags * n_tags
            for i in range(n_tags):
                given = marginals[start + t * n_tags + i]
                for j in range(n_tags):
                    p = conditional(marginals[table + i * n_tags + j], given)
                    suffix[word + t, i] += surprise(p) + p * suffix[word + t + 1, j]


@kernel
def gradient(marginals, part_offsets, word_offsets, n_tags, prefix, suffix, out):
    """dH / d score of a part = -p (log p - prefix - suffix + H), in O(n s²).

    For a transition from i at t-1 to j at t, p is its marginal, prefix is that of i and suffix
    that of j; for a tag all three are its own.
    """
    for sentence in range(len(part_offsets) - 1):
        start, word = part_offsets[sentence], word_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word
        entropy = 0.0
        for j in range(n_tags):
            p = marginals[start + j]
            entropy += surprise(p) + p * suffix[word, j]
        for t in range(n_words):
            for j in range(n_tags):
                p = marginals[start + t * n_tags + j]
                inside = prefix[word + t, j] + suffix[word + t, j] - entropy
                out[start + t * n_tags + j] = surprise(p) + p * inside
            if t == 0:
                continue
            table = start + n_words * n_tags + (t - 1) * n_tags * n_tags
            for i in range(n_tags):
                for j in range(n_tags):
                    p = marginals[table + i * n_tags + j]
                    inside = prefix[word + t - 1, i] + suffix[word + t, j] - entropy
                    out[table + i * n_tags + j] = surprise(p) + p * inside


@step
def mixed_entropy(logs, entropies):
    """log sum_i exp(logs[i]), and the entropy of i and of what lies behind i, together.

    sum_i p(i) (entropies[i] - log p(i)), with p(i) proportional to exp(logs[i]).
    """
    largest = logs.max()
    if largest == -np.inf:
        return largest, 0.0
    total = 0.0
    for i in range(len(logs)):
        total += math.exp(logs[i] - largest)
    entropy, log_total = 0.0, math.log(total)
    for i in range(len(logs)):
        weight = math.exp(logs[i] - largest)
        if weight > 0.0:
            # Against the largest, not the log-sum, which may be so large that it has no decimals.
            entropy += weight / total * (entropies[i] + log_total - (logs[i] - largest))
    return largest + log_total, entropy


@kernel
def forward_only(scores, part_offsets, word_offsets, n_tags, stride, log_partition, out):
    """Log-partition and entropy of each sentence in one pass, with O(s) numbers at a time.

    With c(i | j) = p(i at t-1 | j at t, the words up to t), which forward messages give,

    entropy[t, j] = sum_i c(i | j) (entropy[t-1, i] - log c(i | j))        (0 at the first word)

    is the entropy of all tags before word t given its tag, if the words ended there, and the
    entropy of the sentence that of its last tag, mixed in the same way.
    """
    alpha, entropies = np.empty(n_tags), np.empty(n_tags)
    next_alpha, next_entropies = np.empty(n_tags), np.empty(n_tags)
    logs = np.empty(n_tags)
    for sentence in range(len(part_offsets) - 1):
        start = part_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        alpha[:] = scores[start : start + n_tags]
        entropies[:] = 0.0
        for t in range(1, n_words):
            table = start + n_words * n_tags + (t - 1) * stride
            for j in range(n_tags):
                for i in range(n_tags):
                    logs[i] = alpha[i] + scores[table + i * n_tags + j]
                log_total, next_entropies[j] = mixed_entropy(logs, entropies)
                next_alpha[j] = log_total + scores[start + t * n_tags + j]
            alpha, next_alpha = next_alpha, alpha
            entropies, next_entropies = next_entropies, entropies
        log_partition[sentence], out[sentence] = mixed_entropy(alpha, entropies)
