"""Gibbs sampling of segmentations with tags: is there a boundary, and which tags are around it."""

import numpy as np

from partita.kernels.chains.sample import draw
from partita.kernels.jit import kernel, step
from partita.kernels.segments.rows import cell_of


@step
def segment_around(is_first, word, n_words):
    """First word and end of the segment that a word is in."""
    first, end = word, word + 1
    while not is_first[first]:
        first -= 1
    while end < n_words and not is_first[end]:
        end += 1
    return first, end


@step
def alternatives(scores, start, table, n_words, longest, n_tags, tags, first, place, end, logs):
    """Scores of all ways to cut words first to end at most once, at `place`, with any tags.

    logs[y] for one segment with tag y, logs[n_tags + x * n_tags + y] for two; given the tags of
    the words before and behind.
    """
    one = start + cell_of(first, end - first - 1, longest) * n_tags
    left = start + cell_of(first, place - first - 1, longest) * n_tags
    right = start + cell_of(place, end - place - 1, longest) * n_tags
    fits, is_inner = end - first <= longest, place > first
    fits_cut = is_inner and place - first <= longest and end - place <= longest
    for y in range(n_tags):
        ahead = scores[table + y * n_tags + tags[end]] if end < n_words else 0.0
        back = scores[table + tags[first - 1] * n_tags + y] if first > 0 else 0.0
        logs[y] = back + scores[one + y] + ahead if fits else -np.inf
        for x in range(n_tags):
            pair = n_tags + x * n_tags + y
            logs[pair] = -np.inf
            if fits_cut:
                back = scores[table + tags[first - 1] * n_tags + x] if first > 0 else 0.0
                inner = scores[left + x] + scores[table + x * n_tags + y] + scores[right + y]
                logs[pair] = back + inner + ahead


@step
def rewrite(is_first, tags, first, place, end, choice, n_tags):
    """Write one of the `alternatives`."""
    is_cut, pair = choice >= n_tags, choice - n_tags
    for t in range(first, end):
        is_first[t] = t == first or (is_cut and t == place)
        tags[t] = choice
        if is_cut:
            tags[t] = pair // n_tags if t < place else pair % n_tags


@kernel
def visit(
    scores, start, table, n_words, longest, n_tags, place, uniform, is_first, tags, logs, weights
):  # fmt: skip
    """Draw anew whether a boundary is before the word at `place`, and the tags on both sides.

    Given all other boundaries and the tags of their segments; at the first word, the tag of its
    segment. O(s²).
    """
    first, end = segment_around(is_first, max(place - 1, 0), n_words)
    if end <= place:
        _, end = segment_around(is_first, place, n_words)
    alternatives(scores, start, table, n_words, longest, n_tags, tags, first, place, end, logs)
    if logs.max() > -np.inf:
        choice = draw(logs, uniform, weights)
        rewrite(is_first, tags, first, place, end, choice, n_tags)


@kernel
def resample(scores, part_offsets, word_offsets, longest, n_tags, visits, uniforms, is_first, tags):
    """Visit the words of every sentence, once in each row of `visits`.

    tags[word] is the tag of its segment; the words of a sentence have places from `word_offsets`
    on.
    """
    logs, weights = np.empty(n_tags * (n_tags + 1)), np.empty(n_tags * (n_tags + 1))
    for turn in range(len(visits)):
        for sentence in range(len(part_offsets) - 1):
            start, word = part_offsets[sentence], word_offsets[sentence]
            n_words = word_offsets[sentence + 1] - word
            table = part_offsets[sentence + 1] - n_tags * n_tags
            mine = slice(word, word + n_words)
            for place in range(word, word + n_words):
                visit(
                    scores, start, table, n_words, longest, n_tags, visits[turn, place],
                    uniforms[turn, place], is_first[mine], tags[mine], logs, weights,
                )  # fmt: skip
