"""Training of the hierarchical translator: a few weights, from pairs that gave it no rules."""

from collections.abc import Sequence
from typing import NamedTuple

from partita.arrays import FloatArray
from partita.distribution.hypergraph import HypergraphDistribution
from partita.estimators.translation.decoding import Scored
from partita.estimators.translation.hiero_grammar import FEATURES, HieroRules
from partita.features.base import FeatureMap
from partita.features.matrix import MatrixFeatures
from partita.grammars.forest import EmptyForestError
from partita.grammars.hiero import HieroGrammar, RuleForest
from partita.objectives.contrastive import ContrastiveEstimation, Neighbourhoods
from partita.structures.forests import Forests
from partita.structures.tied_forests import TiedForest, TiedForests
from partita.text.sentences import Tokens
from partita.training.batches import Batch
from partita.training.corpus import Corpus, build_corpus


class HieroSentence(NamedTuple):
    """A sentence with its part of the grammar: a part of its forests is a rule."""

    text: tuple[str, ...]
    grammar: HieroGrammar
    features: FloatArray
    """(n_rules, n_features)."""

    @classmethod
    def of(cls, rules: HieroRules, text: Tokens) -> "HieroSentence":
        """The sentence with the rules that fit it."""
        return cls(tuple(text), *rules.grammar(text))

    def tied(self, forest: RuleForest) -> TiedForest:
        """A forest of the sentence, with rules as parts."""
        return TiedForest(Forests([forest.hypergraph]), forest.rule, len(self.features))

    def all(self, longest_span: int) -> RuleForest:
        """D(x)."""
        return self.grammar.parse(self.text, longest_span=longest_span)

    def pair(self, target: Tokens, longest_span: int) -> RuleForest | None:
        """D(x, y); None where there is no derivation."""
        try:
            return self.grammar.parse_pair(self.text, target, longest_span=longest_span)
        except EmptyForestError:
            return None

    def scored(self, weights: FloatArray, longest_span: int) -> Scored:
        """D(x) with the scores that the weights give it."""
        forest = self.all(longest_span)
        tied = self.tied(forest)
        scores = self.features @ weights
        return Scored(tied, scores, lambda derivation: tuple(forest.yield_of(derivation)))


class RepeatedFeatures(FeatureMap):
    """A feature map whose scores are wanted several times over, one copy behind the other.

    >>> import numpy as np
    >>> features = RepeatedFeatures(MatrixFeatures(np.array([[1.0, 2.0]])), 2)
    >>> features.scores(np.array([1.0, 1.0]))
    array([3., 3.])
    """

    def __init__(self, features: FeatureMap, n_copies: int) -> None:
        self._features = features
        self._n_copies = n_copies
        self.n_parts = n_copies * features.n_parts
        self.n_weights = features.n_weights

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """The same scores for every copy."""
        out.reshape(self._n_copies, -1)[:] += self._features.scores(weights)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """Summed over copies."""
        self._features.add_gradient(score_gradient.reshape(self._n_copies, -1).sum(axis=0), out)


def hiero_corpus(
    rules: HieroRules,
    pairs: Sequence[tuple[Tokens, Tokens]],
    longest_span: int,
    most_pairs: int,
    *,
    n_threads: int | None = None,
) -> tuple[Corpus | None, int]:
    """log Z(x) - log Z(x, y) of the first pairs that can be reached; None where none can.

    And how many pairs were tried that cannot be reached.
    """
    batches: list[Batch] = []
    n_unreachable = 0
    for source, target in pairs:
        if len(batches) == most_pairs:
            break
        sentence = HieroSentence.of(rules, source)
        observed = sentence.pair(target, longest_span)
        if observed is None:
            n_unreachable += 1
            continue
        forests = [sentence.tied(observed), sentence.tied(sentence.all(longest_span))]
        features = RepeatedFeatures(MatrixFeatures(sentence.features), 2)
        sizes = 2 * [len(sentence.features)]
        targets = {"ContrastiveEstimation": Neighbourhoods.pairs(1)}
        batches.append(
            Batch(HypergraphDistribution, TiedForests(forests, sizes), features, targets)
        )
    if not batches:
        return None, n_unreachable
    assert batches[0].features.n_weights == len(FEATURES)
    return build_corpus(ContrastiveEstimation(), batches, workers=n_threads), n_unreachable
