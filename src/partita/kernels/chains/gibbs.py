"""Gibbs sampling of tag sequences: one tag after the other, given its neighbours."""

import numpy as np

from partita.kernels.chains.sample import draw
from partita.kernels.jit import kernel


@kernel
def visit(scores, start, n_tags, stride, word, uniform, tags, logs, weights):
    """Draw the tag of one word of a sentence anew, in place.

    p(tag j of word t | the others) is proportional to
    exp(unary[t, j] + pairwise[t-1, tag t-1, j] + pairwise[t, j, tag t+1]).
    """
    tables = start + len(tags) * n_tags
    for j in range(n_tags):
        logs[j] = scores[start + word * n_tags + j]
        if word > 0:
            logs[j] += scores[tables + (word - 1) * stride + tags[word - 1] * n_tags + j]
        if word + 1 < len(tags):
            logs[j] += scores[tables + word * stride + j * n_tags + tags[word + 1]]
    # A word without a possible tag keeps its own.
    if logs.max() > -np.inf:
        tags[word] = draw(logs, uniform, weights)


@kernel
def resample_tags(scores, part_offsets, word_offsets, n_tags, stride, visits, uniforms, tags):
    """Draw the tags of the visited words anew, in place; O(s) a visit.

    Row k of `visits` holds, for each sentence, the words of round k in the order of the visits;
    uniforms[k, i] decides the visit at the same place.
    """
    logs, weights = np.empty(n_tags), np.empty(n_tags)
    for sentence in range(len(part_offsets) - 1):
        shape = (part_offsets[sentence], n_tags, stride)
        first, end = word_offsets[sentence], word_offsets[sentence + 1]
        for k in range(len(visits)):
            for i in range(first, end):
                chance = (visits[k, i], uniforms[k, i])
                visit(scores, *shape, *chance, tags[first:end], logs, weights)
