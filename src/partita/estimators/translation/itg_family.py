"""The latent-variable CRF of the translator: scores of rules by all words of the source."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.estimators.alignment.latent import Bound, PairFamily
from partita.estimators.translation.lexicon import TranslationLexicon
from partita.estimators.translation.sentences import SourceSentence, encode_sources, target_numbers
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
        return encode_sources(self.lexicon, [words], self.bound)[0]

    def encode(
        self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
    ) -> list[EncodedPair]:
        """Pairs as numbers."""
        sentences = encode_sources(self.lexicon, sources, self.bound)
        numbers = target_numbers(self.lexicon, sentences, targets)
        return [EncodedPair(*pair) for pair in zip(sentences, numbers, strict=True)]

    def are_reachable(self, pairs: Sequence[EncodedPair]) -> BoolArray:
        """Which targets have a derivation."""
        return self.observed(pairs).have_derivations()

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
