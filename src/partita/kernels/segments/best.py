"""The best segmentations with tags: Viterbi and max-marginals, tags in SIMD lanes.

    after[e, y]  = max_i (before[i, y] + segments[i, e - i - 1, y])
    before[i, y] = max_x (after[i, x] + pairwise[x, y])           (0 at the first word)

and backwards the same with words and tags in the other order. Rows are padded to whole lanes; what
has no tag is -inf or repeats the last.
"""

import numpy as np

from partita.kernels.chains.best import best_lefts
from partita.kernels.jit import kernel, step
from partita.kernels.segments.rows import block, cell_of, fill, write_block
from partita.kernels.simd.lanes import N_LANES, load, maximum, store
from partita.kernels.simd.small_matrix import padded_width


@step
def best_prefixes(scores, start, table, n_words, longest, n_tags, after, before):
    """Fill `after` and `before`, arrays of shape (n_words + 1, width)."""
    width = padded_width(n_tags)
    for row in range(n_words + 1):
        for j in range(width):
            after[row, j], before[row, j] = -np.inf, -np.inf
    for j in range(n_tags):
        before[0, j] = 0.0
    for end in range(1, n_words + 1):
        for first in range(max(0, end - longest), end):
            row = start + cell_of(first, end - first - 1, longest) * n_tags
            for k in range(0, width, N_LANES):
                value = block(scores, row, k, n_tags) + load(before, first * width + k)
                store(after, end * width + k, maximum(value, load(after, end * width + k)))
        best_lefts(after[end], scores, table, n_tags, before[end])


@step
def best_suffixes(scores, start, transposed, n_words, longest, n_tags, after, before):
    """The same for all that follows: behind a segment that ends here, and from here on."""
    width = padded_width(n_tags)
    for row in range(n_words + 1):
        for j in range(width):
            after[row, j], before[row, j] = -np.inf, -np.inf
    for j in range(n_tags):
        after[n_words, j] = 0.0
    for first in range(n_words - 1, -1, -1):
        for length in range(min(longest, n_words - first)):
            row = start + cell_of(first, length, longest) * n_tags
            for k in range(0, width, N_LANES):
                value = block(scores, row, k, n_tags)
                value = value + load(after, (first + length + 1) * width + k)
                store(before, first * width + k, maximum(value, load(before, first * width + k)))
        if first > 0:
            best_lefts(before[first], transposed, 0, n_tags, after[first])


@kernel
def viterbi(scores, part_offsets, word_offsets, longest, n_tags, rows, n_rows, best):
    """The best structure of each sentence and its score.

    Fills rows (first, end, tag), those of a sentence at the end of its words' share, and their
    number. No back-pointers: on the way back what attains a maximum is looked for again.
    """
    width = padded_width(n_tags)
    for sentence in range(len(best)):
        start, word = part_offsets[sentence], word_offsets[sentence]
        n_words, table = word_offsets[sentence + 1] - word, part_offsets[sentence + 1] - n_tags**2
        after, before = np.empty((n_words + 1, width)), np.empty((n_words + 1, width))
        best_prefixes(scores, start, table, n_words, longest, n_tags, after, before)
        tag = 0
        for y in range(n_tags):
            if after[n_words, y] > after[n_words, tag]:
                tag = y
        best[sentence] = after[n_words, tag]
        end, n_rows[sentence] = n_words, 0
        while end > 0:
            chosen, highest = end - 1, -np.inf
            for first in range(end - 1, max(0, end - longest) - 1, -1):
                part = start + cell_of(first, end - first - 1, longest) * n_tags + tag
                if before[first, tag] + scores[part] > highest:
                    chosen, highest = first, before[first, tag] + scores[part]
            n_rows[sentence] += 1
            row = word + n_words - n_rows[sentence]
            rows[row, 0], rows[row, 1], rows[row, 2] = chosen, end, tag
            end, right, tag = chosen, tag, 0
            for x in range(n_tags):
                value = after[end, x] + scores[table + x * n_tags + right]
                if value > after[end, tag] + scores[table + tag * n_tags + right]:
                    tag = x


@kernel
def max_marginals(scores, part_offsets, word_offsets, longest, n_tags, out):
    """For each part the score of the best structure that uses it; -inf where none can."""
    width = padded_width(n_tags)
    transposed = np.empty(n_tags * n_tags)
    for sentence in range(len(part_offsets) - 1):
        start, n_words = part_offsets[sentence], word_offsets[sentence + 1] - word_offsets[sentence]
        table = part_offsets[sentence + 1] - n_tags * n_tags
        for x in range(n_tags):
            for y in range(n_tags):
                transposed[y * n_tags + x] = scores[table + x * n_tags + y]
        shape = (n_words + 1, width)
        after, before = np.empty(shape), np.empty(shape)
        behind, from_here = np.empty(shape), np.empty(shape)
        best_prefixes(scores, start, table, n_words, longest, n_tags, after, before)
        best_suffixes(scores, start, transposed, n_words, longest, n_tags, behind, from_here)
        fill(out, start, part_offsets[sentence + 1], -np.inf)
        for first in range(n_words):
            for length in range(min(longest, n_words - first)):
                row = start + cell_of(first, length, longest) * n_tags
                for k in range(0, width, N_LANES):
                    value = block(scores, row, k, n_tags) + load(before, first * width + k)
                    value = value + load(behind, (first + length + 1) * width + k)
                    write_block(value, out, row, k, n_tags)
        for first in range(1, n_words):
            for x in range(n_tags):
                for y in range(n_tags):
                    part = table + x * n_tags + y
                    value = after[first, x] + scores[part] + from_here[first, y]
                    out[part] = max(out[part], value)
