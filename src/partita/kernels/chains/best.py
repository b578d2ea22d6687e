"""The best tag sequences: Viterbi, and max-marginals."""

import numpy as np

from partita.kernels.jit import inlined, kernel, step
from partita.kernels.simd.lanes import N_LANES, broadcast, load, maximum, spread, store


@step
def best_lefts(before, scores, table, n_tags, out):
    """out[j] = max_i (before[i] + scores[table + i, j]), with columns in SIMD lanes."""
    if n_tags < N_LANES:
        for j in range(n_tags):
            out[j] = -np.inf
            for i in range(n_tags):
                out[j] = max(out[j], before[i] + scores[table + i * n_tags + j])
    else:
        column = 0
        while column + 4 * N_LANES <= n_tags:
            sixteen_columns(before, scores, table + column, n_tags, out, column)
            column += 4 * N_LANES
        while column < n_tags:
            # The last four overlap those before them: the same numbers are written again.
            column = min(column, n_tags - N_LANES)
            best = broadcast(-np.inf)
            for i in range(n_tags):
                value = spread(before, i) + load(scores, table + i * n_tags + column)
                best = maximum(value, best)
            store(out, column, best)
            column += N_LANES


@inlined
def sixteen_columns(before, scores, table, n_tags, out, column):
    """Sixteen columns of `best_lefts`, held in registers."""
    lowest = broadcast(-np.inf)
    a, b, c, d = lowest, lowest, lowest, lowest
    for i in range(n_tags):
        left, row = spread(before, i), table + i * n_tags
        a = maximum(left + load(scores, row), a)
        b = maximum(left + load(scores, row + N_LANES), b)
        c = maximum(left + load(scores, row + 2 * N_LANES), c)
        d = maximum(left + load(scores, row + 3 * N_LANES), d)
    store(out, column, a)
    store(out, column + N_LANES, b)
    store(out, column + 2 * N_LANES, c)
    store(out, column + 3 * N_LANES, d)


@step
def best_prefixes(scores, start, n_tags, stride, delta):
    """delta[t, j] = unary[t, j] + max_i (delta[t-1, i] + pairwise[t-1, i, j])."""
    n_words = len(delta)
    for j in range(n_tags):
        delta[0, j] = scores[start + j]
    for t in range(1, n_words):
        table = start + n_words * n_tags + (t - 1) * stride
        best_lefts(delta[t - 1], scores, table, n_tags, delta[t])
        for j in range(n_tags):
            delta[t, j] += scores[start + t * n_tags + j]


@step
def best_suffixes(scores, start, n_tags, stride, epsilon):
    """epsilon[t, i] = max_j (pairwise[t, i, j] + unary[t+1, j] + epsilon[t+1, j])."""
    n_words = len(epsilon)
    epsilon[n_words - 1, :] = 0.0
    for t in range(n_words - 2, -1, -1):
        table = start + n_words * n_tags + t * stride
        for i in range(n_tags):
            best = -np.inf
            for j in range(n_tags):
                right = scores[start + (t + 1) * n_tags + j] + epsilon[t + 1, j]
                best = max(best, scores[table + i * n_tags + j] + right)
            epsilon[t, i] = best


@kernel
def viterbi(scores, part_offsets, word_offsets, n_tags, stride, tags, best):
    """The best sequence of each sentence and its score.

    No back-pointers: on the way back the left tag that attains the maximum is looked for again,
    which is O(s) a word.
    """
    for sentence in range(len(best)):
        start, first = part_offsets[sentence], word_offsets[sentence]
        n_words = word_offsets[sentence + 1] - first
        delta = np.empty((n_words, n_tags))
        best_prefixes(scores, start, n_tags, stride, delta)
        tag = np.argmax(delta[n_words - 1])
        best[sentence] = delta[n_words - 1, tag]
        tags[first + n_words - 1] = tag
        for t in range(n_words - 1, 0, -1):
            table = start + n_words * n_tags + (t - 1) * stride
            left, highest = 0, -np.inf
            for i in range(n_tags):
                value = delta[t - 1, i] + scores[table + i * n_tags + tag]
                if value > highest:
                    left, highest = i, value
            tag = left
            tags[first + t - 1] = tag


@kernel
def max_marginals(scores, part_offsets, word_offsets, n_tags, stride, out):
    """For each part the score of the best sequence that uses it."""
    for sentence in range(len(part_offsets) - 1):
        start = part_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        delta = np.empty((n_words, n_tags))
        epsilon = np.empty((n_words, n_tags))
        best_prefixes(scores, start, n_tags, stride, delta)
        best_suffixes(scores, start, n_tags, stride, epsilon)
        out[start : part_offsets[sentence + 1]] = -np.inf
        for t in range(n_words):
            for j in range(n_tags):
                out[start + t * n_tags + j] = delta[t, j] + epsilon[t, j]
        tables = start + n_words * n_tags
        for t in range(n_words - 1):
            for i in range(n_tags):
                for j in range(n_tags):
                    part = tables + t * stride + i * n_tags + j
                    right = scores[start + (t + 1) * n_tags + j] + epsilon[t + 1, j]
                    out[part] = max(out[part], delta[t, i] + scores[part] + right)
