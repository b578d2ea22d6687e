"""The latent-variable CRF of hierarchical rules: a few features, and a forest for each sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.estimators.alignment.latent import PairFamily
from partita.estimators.translation.decoding import ScoredTranslation
from partita.estimators.translation.hiero_grammar import FIRST_WEIGHTS, HieroRules
from partita.features.base import FeatureMap, RepeatedFeatures
from partita.features.matrix import MatrixFeatures
from partita.grammars.hiero_chart import Chart, parse_source, restrict, targets_of
from partita.grammars.rule_arrays import Sides
from partita.structures.forests import Forests
from partita.structures.joined import JoinedStructures
from partita.structures.tied_forests import TiedForest, TiedForests
from partita.text.word_vocabulary import UNKNOWN
from partita.training import Penalty


class HieroSentence(NamedTuple):
    """A sentence with D(x), whose parts are the rules that it uses."""

    text: tuple[str, ...]
    chart: Chart
    features: FloatArray
    """Of each rule of the chart, (n_rules, n_features)."""
    targets: Sides
    """The target side of each of them; the copy of the word at place s, if the lexicon does not
    know it, has the number n_target + s."""

    def tied(self, chart: Chart) -> TiedForest:
        """A forest of the sentence, with rules as parts."""
        return TiedForest(Forests([chart.hypergraph()]), chart.rule, len(self.features))


class HieroPair(NamedTuple):
    """A sentence, and the derivations of its translation; None where there is none."""

    sentence: HieroSentence
    observed: TiedForest | None


@dataclass(frozen=True, eq=False)
class HieroFamily(PairFamily[HieroPair]):
    """Rules with their features, and how many words may be under one."""

    rules: HieroRules
    longest_span: int
    # All are asked at once, so a batch is none of a mini-batch: of eight pairs, whose forests take
    # ten microseconds each, most of it would be Python. The usual 200 make eight batches.
    pairs_per_batch: ClassVar[int] = 25

    def sentence(self, text: Sequence[str]) -> HieroSentence:
        """The sentence with its derivations."""
        rules, text = self.rules, tuple(text)
        numbers = np.array([rules.source.number(word) for word in text], dtype=np.int64)
        alone = np.where(rules.is_translated[numbers], -1, rules.copied)
        # An unknown word has a number that no rule has.
        numbers[numbers == UNKNOWN] = rules.copied + 1
        chart = parse_source(rules.arrays_of_rules, numbers, self.longest_span, alone)
        assert chart is not None, "glue joins any words, and any word has a rule"
        n_rules = rules.targets.n_sides
        places = np.array([text.index(word) for word in text], dtype=np.int64)
        # Copies of different words are different rules, behind all others.
        is_copy = chart.rule == n_rules
        copied = places[chart.spans[chart.heads, 0]]
        used = np.where(is_copy, len(rules.all_features) + copied, chart.rule)
        different, own = np.unique(used, return_inverse=True)
        place = different - len(rules.all_features)
        known = np.where(place >= 0, n_rules, different)
        targets = rules.all_targets.select(known)
        for rule in np.flatnonzero(place >= 0).tolist():
            targets.symbols[targets.offsets[rule]] = self._target_number(text, text[place[rule]])
        return HieroSentence(text, chart._replace(rule=own), rules.all_features[known], targets)

    def _target_number(self, text: tuple[str, ...], word: str) -> int:
        """The number of a target word; an unknown one is the copy of its equal, else -1."""
        number = self.rules.target.number(word)
        if number != UNKNOWN:
            return number
        return len(self.rules.target) + text.index(word) if word in text else -1

    def encode(
        self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
    ) -> list[HieroPair]:
        """Pairs with D(x, y)."""
        return [self._pair(*pair) for pair in zip(sources, targets, strict=True)]

    def _pair(self, source: Sequence[str], target: Sequence[str]) -> HieroPair:
        sentence = self.sentence(source)
        numbers = [self._target_number(sentence.text, word) for word in target]
        chart = restrict(sentence.chart, sentence.targets, np.array(numbers, dtype=np.int64))
        return HieroPair(sentence, None if chart is None else sentence.tied(chart))

    def are_reachable(self, pairs: Sequence[HieroPair]) -> BoolArray:
        """Which pairs have a forest."""
        return np.array([pair.observed is not None for pair in pairs], dtype=np.bool_)

    def observed(self, pairs: Sequence[HieroPair]) -> TiedForests:
        """D(x, y)."""
        return _joined([pair.observed for pair in pairs if pair.observed is not None])

    def every(self, pairs: Sequence[HieroPair]) -> TiedForests:
        """D(x)."""
        return _joined([pair.sentence.tied(pair.sentence.chart) for pair in pairs])

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
        sentence, names = self.sentence(words), self.rules.target.names

        def read(derivations: Sequence[IntArray]) -> list[tuple[str, ...]]:
            return [
                tuple(
                    names[number] if number < len(names) else sentence.text[number - len(names)]
                    for number in numbers.tolist()
                )
                for numbers in targets_of(sentence.chart, sentence.targets, derivations)
            ]

        return ScoredTranslation(sentence.tied(sentence.chart), sentence.features @ weights, read)


def _joined(forests: Sequence[TiedForest]) -> TiedForests:
    return TiedForests(forests, [tied.n_parts for tied in forests])
