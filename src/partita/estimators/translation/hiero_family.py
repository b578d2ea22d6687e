"""The latent-variable CRF of hierarchical rules: a few features, and a forest for each sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from partita.arrays import BoolArray, FloatArray
from partita.estimators.alignment.latent import PairFamily
from partita.estimators.translation.decoding import ScoredTranslation
from partita.estimators.translation.hiero_grammar import FIRST_WEIGHTS, HieroRules
from partita.features.base import FeatureMap, RepeatedFeatures
from partita.features.matrix import MatrixFeatures
from partita.grammars.forest import EmptyForestError
from partita.grammars.hiero import HieroGrammar, RuleForest
from partita.structures.forests import Forests
from partita.structures.joined import JoinedStructures
from partita.structures.tied_forests import TiedForest, TiedForests
from partita.training import Penalty


class HieroSentence(NamedTuple):
    """A sentence with its part of the grammar: a part of its forests is a rule."""

    text: tuple[str, ...]
    grammar: HieroGrammar
    features: FloatArray
    """(n_rules, n_features)."""

    def tied(self, forest: RuleForest) -> TiedForest:
        """A forest of the sentence, with rules as parts."""
        return TiedForest(Forests([forest.hypergraph]), forest.rule, len(self.features))


class HieroPair(NamedTuple):
    """A sentence, and the derivations of its translation; None where there is none."""

    sentence: HieroSentence
    observed: TiedForest | None


@dataclass(frozen=True, eq=False)
class HieroFamily(PairFamily[HieroPair]):
    """Rules with their features, and how many words may be under one."""

    rules: HieroRules
    longest_span: int

    def sentence(self, text: Sequence[str]) -> HieroSentence:
        """The sentence with the rules that fit it."""
        return HieroSentence(tuple(text), *self.rules.grammar(text))

    def forest(self, sentence: HieroSentence) -> RuleForest:
        """D(x)."""
        return sentence.grammar.parse(sentence.text, longest_span=self.longest_span)

    def encode(self, source: Sequence[str], target: Sequence[str]) -> HieroPair:
        """The pair with D(x, y)."""
        sentence = self.sentence(source)
        try:
            forest = sentence.grammar.parse_pair(
                sentence.text, target, longest_span=self.longest_span
            )
        except EmptyForestError:
            return HieroPair(sentence, None)
        return HieroPair(sentence, sentence.tied(forest))

    def are_reachable(self, pairs: Sequence[HieroPair]) -> BoolArray:
        """Which pairs have a forest."""
        return np.array([pair.observed is not None for pair in pairs], dtype=np.bool_)

    def observed(self, pairs: Sequence[HieroPair]) -> TiedForests:
        """D(x, y)."""
        return _joined([pair.observed for pair in pairs if pair.observed is not None])

    def every(self, pairs: Sequence[HieroPair]) -> TiedForests:
        """D(x)."""
        return _joined([pair.sentence.tied(self.forest(pair.sentence)) for pair in pairs])

    def features(self, pairs: Sequence[HieroPair], structures: JoinedStructures) -> FeatureMap:
        """The rules of all sentences, twice."""
        rows = np.concatenate([pair.sentence.features for pair in pairs])
        return RepeatedFeatures(MatrixFeatures(rows), 2)

    def first_weights(self) -> FloatArray:
        """Near what is found on German and English."""
        return np.array(FIRST_WEIGHTS)

    def penalty(self, l2: float) -> Penalty:
        """The same for all weights."""
        return Penalty(l2=l2)

    def scored(self, words: Sequence[str], weights: FloatArray) -> ScoredTranslation:
        """D(x) with the scores that the weights give it."""
        sentence = self.sentence(words)
        forest = self.forest(sentence)
        return ScoredTranslation(
            sentence.tied(forest),
            sentence.features @ weights,
            lambda derivation: tuple(forest.yield_of(derivation)),
        )


def _joined(forests: Sequence[TiedForest]) -> TiedForests:
    return TiedForests(forests, [tied.n_parts for tied in forests])
