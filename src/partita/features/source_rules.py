"""Features of translation rules: from weights to the scores of a sentence's parts, and back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partita.arrays import FloatArray, IntArray
from partita.features.base import FeatureMap
from partita.grammars.choices import joined_offsets
from partita.grammars.source_parts import SourceParts
from partita.kernels.features import translation_sums as kernels
from partita.kernels.features.changes import Marks, ranges_of
from partita.kernels.features.translation import N_VALUES, JoinedRules
from partita.structures.batch import offsets

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
        self.given = _laid_end_to_end(rules)
        self.shift = np.uint32(32 - n_bits)
        self.n_weights = n_weights(n_bits)
        sizes = [each.parts.n_parts for each in rules]
        self._offsets = offsets(np.array(sizes, dtype=np.int64))
        self.n_parts = int(self._offsets[-1])

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """The scores of the parts."""
        kernels.add_scores(weights, self.given, self._offsets, self.shift, out)

    def mark(self, batch: int, marks: Marks) -> bool:
        """By their numbers, in half of the time that a gradient takes."""
        rest = self.shift, ranges_of(self.n_weights), batch, marks
        kernels.mark_weights(self.given, self._offsets, *rest)
        return True

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """Adds to the gradient of the weights."""
        rest = self.shift, ranges_of(self.n_weights), out
        kernels.add_gradient(score_gradient, self.given, self._offsets, *rest)


def _laid_end_to_end(rules: Sequence[SourceRules]) -> JoinedRules:
    """What features look at, of all sentences: one call needs no interpreter between them."""

    def numbers(each: Iterable[IntArray]) -> NDArray[np.int32]:
        return np.concatenate([np.zeros(0, dtype=np.int32), *each]).astype(np.int32)

    def values(each: Iterable[FloatArray]) -> FloatArray:
        return np.concatenate([np.zeros(0), *map(np.ravel, each)])

    links, insertions = (
        [each.parts.links for each in rules],
        [each.parts.insertions for each in rules],
    )
    return JoinedRules(
        numbers(each.words for each in rules),
        numbers(each.classes for each in rules),
        np.array([each.parts.longest for each in rules], dtype=np.int64),
        offsets(np.array([each.n_groups for each in links], dtype=np.int64)),
        joined_offsets([each.offsets for each in links]),
        numbers(each.link_words for each in rules),
        numbers(each.link_kinds for each in rules),
        values(each.link_values for each in rules),
        joined_offsets([each.offsets for each in insertions]),
        numbers(each.words for each in insertions),
        numbers(each.insertion_kinds for each in rules),
        values(each.insertion_values for each in rules),
    )
