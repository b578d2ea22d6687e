"""Numbers of words in their roles, summed over segments; and back from segments to words.

A word is first, inside, last or single in its segment. `roles` holds a row for each word, of blocks
of n_tags numbers; blocks[r] is the block of role r, which several roles may share. Segments lie as
in `SegmentChains`: [first, length - 1, tag] from the first part of each sentence on.
"""

import numpy as np

from partita.kernels.jit import inlined, kernel

FIRST, INSIDE, LAST, SINGLE = 0, 1, 2, 3


@inlined
def add(source, start, target, at, n_values):
    """target[at:] += source[start:]."""
    for j in range(n_values):
        target[at + j] += source[start + j]


@kernel
def spread(roles, n_blocks, blocks, part_offsets, word_offsets, longest, n_tags, out):
    """out[first, length - 1, y] += the sum over the words of the segment of their role's number.

    The number of roles that come before the last word of a segment is carried from one length to
    the next: O(1) for each segment and tag.
    """
    row, before = n_blocks * n_tags, np.empty(n_tags)
    for sentence in range(len(part_offsets) - 1):
        begin, end = word_offsets[sentence], word_offsets[sentence + 1]
        for first in range(begin, end):
            part = part_offsets[sentence] + (first - begin) * longest * n_tags
            add(roles, first * row + blocks[SINGLE] * n_tags, out, part, n_tags)
            for j in range(n_tags):
                before[j] = roles[first * row + blocks[FIRST] * n_tags + j]
            for word in range(first + 1, min(first + longest, end)):
                part += n_tags
                add(before, 0, out, part, n_tags)
                add(roles, word * row + blocks[LAST] * n_tags, out, part, n_tags)
                add(roles, word * row + blocks[INSIDE] * n_tags, before, 0, n_tags)


@kernel
def collect(segments, n_blocks, blocks, part_offsets, word_offsets, longest, n_tags, roles):
    """roles += the transpose: for each word and role, the sum over the segments that have it."""
    row, longer = n_blocks * n_tags, np.empty(n_tags)
    for sentence in range(len(part_offsets) - 1):
        begin, end = word_offsets[sentence], word_offsets[sentence + 1]
        for first in range(begin, end):
            part = part_offsets[sentence] + (first - begin) * longest * n_tags
            for j in range(n_tags):
                longer[j] = 0.0
            for word in range(min(first + longest, end) - 1, first, -1):
                cell = part + (word - first) * n_tags
                # Inside of all segments that go on behind this word.
                add(longer, 0, roles, word * row + blocks[INSIDE] * n_tags, n_tags)
                add(segments, cell, roles, word * row + blocks[LAST] * n_tags, n_tags)
                add(segments, cell, longer, 0, n_tags)
            add(longer, 0, roles, first * row + blocks[FIRST] * n_tags, n_tags)
            add(segments, part, roles, first * row + blocks[SINGLE] * n_tags, n_tags)
