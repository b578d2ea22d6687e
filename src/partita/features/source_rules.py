"""Features of translation rules: from weights to the scores of a sentence's parts, and back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.features.base import FeatureMap
from partita.grammars.source_parts import SourceParts
from partita.kernels.features import translation as kernels
from partita.structures.batch import offsets, pieces

FIRST_VALUES = {
    "log t(y | x) of a link": 0.5,
    "log t(x | y) of a link": 0.5,
    "likeness of a link": 0.0,
    "log t(y | x) of a companion": 0.5,
    "deletion": -3.0,
    "insertion": -5.0,
    "inverted": -2.0,
}
"""Features with a value, and where training starts: near the gloss of Model 1."""
N_VALUES = len(FIRST_VALUES)
BITS = (4, 28)
"""The fewest and the most that a number of a hashed weight may have."""


@dataclass(frozen=True, eq=False)
class SourceRules:
    """The rules that apply to a source sentence, and what their features look at."""

    parts: SourceParts
    words: IntArray
    """Numbers of the source words, with `PAD` zeros on both sides."""
    classes: IntArray
    """Of these words: numbers that similar words share."""
    link_words: IntArray
    """The target word of each link."""
    link_kinds: IntArray
    link_values: FloatArray
    """(n_links, 3), see `PROPOSAL_VALUES`."""
    insertion_kinds: IntArray
    insertion_values: FloatArray
    """(n_insertions, 1): log t(y | x) of the word before, for its companions."""


def n_weights(n_bits: int) -> int:
    """Hashed weights, and those of features with a value behind them."""
    return int(2**n_bits) + N_VALUES


def first_weights(n_bits: int) -> FloatArray:
    """Where training starts: 0 for what is hashed, `FIRST_VALUES` for the rest."""
    weights = np.zeros(n_weights(n_bits))
    weights[-N_VALUES:] = list(FIRST_VALUES.values())
    return weights


def feature_rows(rules: SourceRules, n_bits: int) -> list[tuple[slice, Array]]:
    """For each kind of part but splits: which, and the numbers of their weights, (n, width)."""
    parts, shift = rules.parts, np.uint32(32 - n_bits)
    words, classes = rules.words, rules.classes
    n = parts.n_source

    def rows(count: int, width: int) -> Array:
        return np.empty((count, width), dtype=np.int32)

    links = rows(len(parts.links.words), kernels.N_LINK)
    word_of = np.repeat(np.arange(n), np.diff(parts.links.offsets))
    kernels.links(words, classes, word_of, rules.link_words, rules.link_kinds, shift, links)
    deletions = rows(n, kernels.N_DELETION)
    kernels.deletions(words, classes, shift, deletions)
    insertions = rows(len(parts.insertions.words), kernels.N_INSERTION)
    boundary_of = np.repeat(np.arange(n + 1), np.diff(parts.insertions.offsets))
    inserted = parts.insertions.words
    kinds = rules.insertion_kinds
    kernels.insertions(words, classes, boundary_of, inserted, kinds, shift, insertions)
    lengths = rows(parts.longest + 1, kernels.N_LENGTH)
    kernels.lengths(n, shift, lengths)
    blocks = [links, deletions, insertions, lengths]
    ends = offsets(np.array([len(block) for block in blocks]))
    return [
        (slice(int(start), int(end)), block)
        for start, end, block in zip(ends[:-1], ends[1:], blocks, strict=True)
    ]


class SourceRuleFeatures(FeatureMap):
    """The features of the parts of source sentences.

    Weight numbers are worked out anew at every use, some 3 ns each: kept, they would take a
    hundred kilobytes a rules.
    """

    def __init__(self, rules: Sequence[SourceRules], n_bits: int) -> None:
        self.rules = tuple(rules)
        self.n_bits = n_bits
        self.n_weights = n_weights(n_bits)
        sizes = [each.parts.n_parts for each in rules]
        self._offsets = offsets(np.array(sizes, dtype=np.int64))
        self.n_parts = int(self._offsets[-1])

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """The scores of the parts."""
        for rules, scores in zip(self.rules, pieces(out, self._offsets), strict=True):
            for block, ids in feature_rows(rules, self.n_bits):
                kernels.gather(weights, ids, scores[block])
            kernels.split_scores(weights, *self._words(rules), scores[rules.parts.first_split :])
            for block, values, own in _valued(rules):
                scores[block] += values @ weights[-N_VALUES:][own]

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """The gradient of the parts."""
        mine = pieces(score_gradient, self._offsets)
        for rules, gradient in zip(self.rules, mine, strict=True):
            for block, ids in feature_rows(rules, self.n_bits):
                kernels.scatter(gradient[block], ids, out)
            of_splits = gradient[rules.parts.first_split :]
            kernels.add_split_gradient(of_splits, *self._words(rules), out)
            for block, values, own in _valued(rules):
                out[-N_VALUES:][own] += gradient[block] @ values

    def _words(self, rules: SourceRules) -> tuple[IntArray, IntArray, int, np.uint32]:
        """What features of splits look at."""
        return rules.words, rules.classes, rules.parts.n_source, np.uint32(32 - self.n_bits)


def _valued(rules: SourceRules) -> list[tuple[slice, FloatArray, slice]]:
    """Features with a value: the parts, values (n_parts, n_values), which of these features."""
    parts = rules.parts
    insertions = slice(parts.first_insertion, parts.first_length)
    blocks = [
        (slice(0, parts.first_deletion), rules.link_values),
        (insertions, rules.insertion_values),
        (slice(parts.first_deletion, parts.first_insertion), np.ones((parts.n_source, 1))),
        (insertions, np.ones((len(parts.insertions.words), 1))),
        (slice(parts.first_split + parts.n_splits, parts.n_parts), np.ones((parts.n_splits, 1))),
    ]
    found, first = [], 0
    for block, values in blocks:
        found.append((block, values, slice(first, first + values.shape[1])))
        first += values.shape[1]
    return found
