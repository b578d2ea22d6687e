"""Features of translation rules: from weights to the scores of a sentence's parts, and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
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
N_VALUES = kernels.N_VALUES
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
            kernels.add_scores(weights, *self._given(rules), scores)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """Adds to the gradient of the weights."""
        for rules, gradient in zip(self.rules, pieces(score_gradient, self._offsets), strict=True):
            kernels.add_gradient(gradient, *self._given(rules), out)

    def _given(self, rules: SourceRules) -> tuple[Any, ...]:
        """What features look at: one call a sentence, most of which needs no interpreter."""
        parts = rules.parts
        links = parts.links.offsets, rules.link_words, rules.link_kinds, rules.link_values
        insertions = parts.insertions.offsets, parts.insertions.words
        kinds = rules.insertion_kinds, rules.insertion_values
        shift = np.uint32(32 - self.n_bits)
        return rules.words, rules.classes, links, (*insertions, *kinds), parts.longest, shift
