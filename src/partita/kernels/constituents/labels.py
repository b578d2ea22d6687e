"""Labels of spans: summed or maximised before the sums over trees, and shared out again behind.

Sentence b has n² spans from `span_offsets[b]` on, in C order of [first, last], each with its labels
side by side. Those below the diagonal are in no tree, and are not read.
"""

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.simd.small_matrix import share_out, top


@kernel
def sum_labels(scores, n_words, span_offsets, n_labels, spans, shares):
    """spans[a] = log sum_l exp(scores[a, l]), shares[a, l] = exp(scores[a, l] - spans[a]).

    A span without an allowed label is -inf and its shares are 0, as they are below the diagonal.
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
                spans[span] = share_out(scores, span * n_labels, n_labels, shares)


@kernel
def spread(span_values, n_words, span_offsets, n_labels, shares):
    """shares[a, l] *= span_values[a], where spans are in trees."""
    for sentence in range(len(n_words)):
        width = n_words[sentence]
        for first in range(width):
            row = span_offsets[sentence] + first * width
            for span in range(row + first, row + width):
                value = span_values[span]
                for part in range(span * n_labels, (span + 1) * n_labels):
                    shares[part] *= value


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
