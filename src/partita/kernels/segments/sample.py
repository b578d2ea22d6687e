"""Exact samples of segmentations with tags, right to left."""

import numpy as np

from partita.kernels.chains.sample import draw
from partita.kernels.jit import kernel
from partita.kernels.segments.log import inside, segment_terms, transition_terms


@kernel
def sample(scores, start, n_words, longest, n_tags, uniforms, rows, n_rows):
    """Fill rows[sample, :, :] from the end on, right to left, and their number.

    The first word of a segment with tag y that ends at e is i with probability proportional to
    exp(before[i, y] + segments[i, e - i - 1, y]), and the tag on its left is x by after[i, x] +
    pairwise[x, y]; O(n L s + n s²) once, then O(L + s) a segment.
    """
    table, size = start + n_words * longest * n_tags, (n_words + 1) * n_tags
    after, before = np.empty(size), np.empty(size)
    terms, weights = np.empty(max(longest, n_tags)), np.empty(max(longest, n_tags))
    inside(scores, start, table, n_words, longest, n_tags, after, before, terms)
    for item in range(len(n_rows)):
        end, n_rows[item] = n_words, 0
        tag = draw(after[n_words * n_tags :], uniforms[item, 0], weights)
        while end > 0:
            n_rows[item] += 1
            turn, row = n_rows[item], n_words - n_rows[item]
            n_terms = segment_terms(scores, start, end, longest, n_tags, tag, before, terms)
            first = end - 1 - draw(terms[:n_terms], uniforms[item, 2 * turn - 1], weights)
            rows[item, row, 0], rows[item, row, 1], rows[item, row, 2] = first, end, tag
            if first > 0:
                transition_terms(scores, table, n_tags, tag, after, first * n_tags, terms)
                tag = draw(terms[:n_tags], uniforms[item, 2 * turn], weights)
            end = first
