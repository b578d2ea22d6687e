"""The latent-variable CRF of the translator: scores of rules by all words of the source."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.estimators.alignment.latent import Bound, PairFamily
from partita.estimators.translation.lexicon import TranslationLexicon
from partita.estimators.translation.sentences import SourceSentence, encode_source
from partita.features.base import FeatureMap, RepeatedFeatures
from partita.features.source_rules import SourceRuleFeatures, first_weights
from partita.grammars.source_structures import SourcePairs, SourceTargets
from partita.structures.joined import JoinedStructures
from partita.training import Penalty


class EncodedPair(NamedTuple):
    """A source sentence with its rules, and its translation as numbers."""

    source: SourceSentence
    target: IntArray


@dataclass(frozen=True, eq=False)
class ItgFamily(PairFamily[EncodedPair]):
    """A lexicon of what words may become, hashed features, and how long targets may be."""

    lexicon: TranslationLexicon
    n_bits: int
    bound: Bound

    def sentence(self, words: Sequence[str]) -> SourceSentence:
        """A sentence with its rules."""
        return encode_source(self.lexicon, words, self.bound.of(len(words)))

    def encode(self, source: Sequence[str], target: Sequence[str]) -> EncodedPair:
        """A pair as numbers."""
        sentence = self.sentence(source)
        return EncodedPair(sentence, sentence.target_numbers(self.lexicon, target))

    def are_reachable(self, pairs: Sequence[EncodedPair]) -> BoolArray:
        """Which targets have a derivation."""
        found = np.array([_has_words(pair) for pair in pairs], dtype=np.bool_)
        some = [pair for pair, here in zip(pairs, found.tolist(), strict=True) if here]
        found[found] = self.observed(some).have_derivations()
        return found

    def observed(self, pairs: Sequence[EncodedPair]) -> SourcePairs:
        """D(x, y)."""
        return SourcePairs([pair.source.parts for pair in pairs], [pair.target for pair in pairs])

    def every(self, pairs: Sequence[EncodedPair]) -> SourceTargets:
        """D_n(x)."""
        return SourceTargets([pair.source.parts for pair in pairs])

    def features(self, pairs: Sequence[EncodedPair], structures: JoinedStructures) -> FeatureMap:
        """The same parts twice."""
        return RepeatedFeatures(
            SourceRuleFeatures([pair.source.rules for pair in pairs], self.n_bits), 2
        )

    def first_weights(self) -> FloatArray:
        """Near the gloss of Model 1."""
        return first_weights(self.n_bits)

    def penalty(self, l2: float) -> Penalty:
        """The same for all weights."""
        return Penalty(l2=l2)


def _has_words(pair: EncodedPair) -> bool:
    """Whether each target word may stand somewhere, and there are not too many of them."""
    if len(pair.target) > pair.source.parts.longest:
        return False
    links, insertions = pair.source.parts.places(pair.target)
    return bool(((links >= 0).any(axis=0) | (insertions >= 0).any(axis=0)).all())
