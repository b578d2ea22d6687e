"""Labels of spans, summed out before the sums over trees (`trees.labels` shares them out again).

Sentence b has n² spans from `part_offsets[b]` on, in C order of [first, last], each with its labels
side by side.
"""

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.simd.small_matrix import share_out


@kernel
def sum_labels(scores, n_labels, spans, shares):
    """spans[a] = log sum_l exp(scores[a, l]), shares[a, l] = exp(scores[a, l] - spans[a]).

    A span without an allowed label is -inf and its shares are 0.
    """
    for span in range(len(spans)):
        spans[span] = share_out(scores, span * n_labels, n_labels, shares)


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
