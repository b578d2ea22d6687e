"""Labels of spans: summed or maximised before the sums over trees, and shared out again behind.

Sentence b has n² spans from `span_offsets[b]` on, in C order of [first, last], each with its labels
side by side. Those below the diagonal are in no tree, and are not read.
"""

import math

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.simd.small_matrix import exponentials, multiply, top


@kernel
def sum_labels(scores, n_words, span_offsets, n_labels, spans, scales, shares):
    """spans[a] = log sum_l exp(scores[a, l]); scales times shares = exp(scores[a, l] - spans[a]).

    A span without an allowed label is -inf and its shares are 0, as they are below the diagonal.
    Step by step for all spans of a row, so that none waits for the steps of the one before it.
    """
    for sentence in range(len(n_words)):
        width = n_words[sentence]
        for first in range(width):
            row = span_offsets[sentence] + first * width
            for span in range(row, row + first):
                spans[span] = -np.inf
            for part in range(row * n_labels, (row + first) * n_labels):
                shares[part] = 0.0
            for span in range(row + first, row + width):
                spans[span] = top(scores, span * n_labels, n_labels)
            for span in range(row + first, row + width):
                shift = spans[span] if spans[span] > -np.inf else 0.0
                scales[span] = exponentials(scores, span * n_labels, n_labels, shift, shares)
            for span in range(row + first, row + width):
                total = scales[span]
                if total > 0.0:
                    spans[span] += math.log(total)
                    scales[span] = 1.0 / total


@kernel
def spread(span_values, scales, n_words, span_offsets, n_labels, shares):
    """shares[a, l] *= scales[a] span_values[a], where spans are in trees."""
    for sentence in range(len(n_words)):
        width = n_words[sentence]
        for first in range(width):
            row = span_offsets[sentence] + first * width
            for span in range(row + first, row + width):
                value = scales[span] * span_values[span]
                multiply(shares, span * n_labels, n_labels, value)


@kernel
def best_labels(scores, n_words, span_offsets, n_labels, spans):
    """spans[a] = max_l scores[a, l]; -inf below the diagonal."""
    for sentence in range(len(n_words)):
        width = n_words[sentence]
        for first in range(width):
            row = span_offsets[sentence] + first * width
            for span in range(row, row + first):
                spans[span] = -np.inf
            for span in range(row + first, row + width):
                spans[span] = top(scores, span * n_labels, n_labels)


@kernel
def clear_below(values, n_words, part_offsets, n_labels):
    """Write -inf below the diagonal of every sentence.

    Returns how many of the numbers there were neither finite nor -inf.
    """
    n_wrong = 0.0
    for sentence in range(len(n_words)):
        width, first = n_words[sentence], part_offsets[sentence]
        for row in range(1, width):
            left = first + row * width * n_labels
            for cell in range(left, left + row * n_labels):
                n_wrong += 0.0 if values[cell] < np.inf else 1.0
                values[cell] = -np.inf
    return n_wrong
