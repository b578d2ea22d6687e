"""From words to their best tags in one call, so that threads that tag meet nowhere on the way."""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.chains.best import viterbi
from partita.kernels.features.lookup import attributes
from partita.kernels.features.rows import gather
from partita.kernels.jit import kernel, step
from partita.kernels.parts import largest

CACHED = 2**15
"""Scores that stay in a cache from where they are added up to where they are compared."""


class TagWeights(NamedTuple):
    """What a chain with one table of transitions scores tags by."""

    words: Array
    """(n_attributes * s,)"""
    pairwise: Array
    """(s * s,): of transitions, -inf where one is forbidden."""
    first: Array
    last: Array
    """(s,): 0, or -inf where a sentence must not begin, or end, with a tag."""


@step
def add_transitions(weights, start, n_words, n_tags, scores):
    """What does not depend on the words of a sentence."""
    last, table = start + (n_words - 1) * n_tags, start + n_words * n_tags
    for tag in range(n_tags):
        scores[start + tag] += weights.first[tag]
        scores[last + tag] += weights.last[tag]
    for pair in range(n_tags * n_tags):
        scores[table + pair] = weights.pairwise[pair]


@kernel
def best_tags(words, places, units, slots, tables, weights, n_tags, room, tags, best):
    """The best tags of all sentences, and their scores; gives the largest score of a part.

    See `lookup.attributes` for the first five, and for the `room` of numbers.
    """
    n_words, n_sentences = len(tags), len(best)
    offsets = np.empty(n_words + 1, dtype=np.int64)
    attributes(words, 0, places, units, slots, tables, offsets, room)
    starts = np.empty(n_words, dtype=np.int64)
    part_offsets = np.empty(n_sentences + 1, dtype=np.int64)
    no_values, most = np.empty(0), 0.0
    sentence = 0
    while sentence < n_sentences:
        first_sentence, first_word = sentence, words.offsets[sentence]
        n_parts, part_offsets[sentence] = 0, 0
        while sentence < n_sentences and (n_parts < CACHED or sentence == first_sentence):
            for word in range(words.offsets[sentence], words.offsets[sentence + 1]):
                starts[word] = n_parts
                n_parts += n_tags
            n_parts += n_tags * n_tags
            sentence += 1
            part_offsets[sentence] = n_parts
        last_word = words.offsets[sentence]
        scores = np.empty(n_parts)
        for part in range(n_parts):
            scores[part] = 0.0
        gather(
            weights.words, n_tags, room, no_values, offsets[first_word : last_word + 1],
            starts[first_word:last_word], scores,
        )  # fmt: skip
        for each in range(first_sentence, sentence):
            length = words.offsets[each + 1] - words.offsets[each]
            add_transitions(weights, part_offsets[each], length, n_tags, scores)
        most = max(most, largest(scores)[0])
        viterbi(
            scores, part_offsets[first_sentence : sentence + 1],
            words.offsets[first_sentence : sentence + 1], n_tags, 0, tags,
            best[first_sentence:sentence],
        )  # fmt: skip
    return most
