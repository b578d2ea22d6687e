"""Rows of tags in SIMD lanes: how segment kernels read scores and write results.

The tags of a segment (first, length) lie together, at `cell_of` rows from the start of their
sentence. In scores and results a row has n_tags numbers; in messages and weights it is padded to
whole lanes, and the numbers without a tag mean nothing, or are zeros where it is said.
"""

import numpy as np

from partita.kernels.jit import inlined, kernel, pasted, step
from partita.kernels.simd.any_lanes import gather
from partita.kernels.simd.lanes import (
    N_LANES,
    load,
    store,
)
from partita.kernels.simd.partial import store_some
from partita.kernels.simd.small_matrix import largest, weights


@pasted
def cell_of(first, length, longest):
    """The row of the segment of length + 1 words that begins with word `first`."""
    return first * longest + length


@inlined
def block(values, row, k, n_tags):
    """Four numbers of a row from tag k on; behind the last tag, its number again."""
    if k + N_LANES <= n_tags:
        return load(values, row + k)
    place, last = row + k, row + n_tags - 1
    return gather(values, (place, min(place + 1, last), min(place + 2, last), last))


@inlined
def write_block(value, out, row, k, n_tags):
    """Write four numbers to a row from tag k on, as far as there are tags."""
    if k + N_LANES <= n_tags:
        store(out, row + k, value)
    else:
        store_some(out, row + k, value, n_tags - k)


@step
def fill(values, start, end, number):
    """The same number in values[start:end]."""
    for cell in range(start, end):
        values[cell] = number


@step
def read_table(scores, table, n_tags, width, matrix, transposed):
    """matrix = exp(transitions - shift) and its transpose, zeros without a tag; returns shift."""
    shift = largest(scores, table, n_tags * n_tags)
    fill(transposed, 0, n_tags * width, 0.0)
    for i in range(n_tags):
        fill(matrix, i * width, (i + 1) * width, 0.0)
        weights(scores, table + i * n_tags, n_tags, shift, matrix, i * width)
        for j in range(n_tags):
            transposed[j * width + i] = matrix[i * width + j]
    return shift


@kernel
def clear_behind(scores, part_offsets, word_offsets, longest, n_tags):
    """-inf for segments that would end behind their sentence; returns how many were no scores."""
    n_wrong = 0
    for sentence in range(len(part_offsets) - 1):
        start, n_words = part_offsets[sentence], word_offsets[sentence + 1] - word_offsets[sentence]
        for first in range(max(0, n_words - longest + 1), n_words):
            behind = start + cell_of(first, n_words - first, longest) * n_tags
            for part in range(behind, start + cell_of(first + 1, 0, longest) * n_tags):
                if not scores[part] < np.inf:
                    n_wrong += 1
                scores[part] = -np.inf
    return n_wrong
