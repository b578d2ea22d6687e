"""The kinds of translators, as objects of options: inversion transduction, hierarchical rules."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple

from partita.estimators.alignment.em import EmCourse, Models
from partita.estimators.alignment.latent import Bound, LatentOptions, learn_latent
from partita.estimators.alignment.material import PairCounts, PairMaterial
from partita.estimators.alignment.symmetrise import grown
from partita.estimators.groups import FLAT, Runs
from partita.estimators.options import Declared, at_least, between, declared, option
from partita.estimators.runs import RunPlan, tell
from partita.estimators.translation.hiero_family import HieroFamily
from partita.estimators.translation.hiero_grammar import HieroRules
from partita.estimators.translation.hiero_model import HieroModel
from partita.estimators.translation.itg_family import ItgFamily
from partita.estimators.translation.itg_model import ItgModel
from partita.estimators.translation.lexicon import LexiconOptions, TranslationLexicon
from partita.estimators.translation.pairs import NumberedPairs, TranslationPairs, Vocabularies
from partita.estimators.translation.rule_extraction import (
    LinkRows,
    RuleCounts,
    RuleLimits,
    count_rules,
    merged_rules,
)
from partita.estimators.translation.seams import Seams, neighbours
from partita.estimators.translation.translation_model import TranslationModel
from partita.features.source_rules import BITS
from partita.text.extraction import KeyCounts
from partita.training import LBFGS, TrainingResult
from partita.training.threads import in_threads
from partita.training.workers import Workers

MOST_TRIED = 8
"""Pairs that are tried for each one that is to be found reachable by hierarchical rules."""
LEAST_EXTRACTION = 0.8
"""At least this share of the pairs gives rules."""
HMM_ITERATIONS = 5


class LearntTranslations(NamedTuple):
    """What a grammar learnt, and how."""

    model: TranslationModel
    training: TrainingResult
    counts: PairCounts


@declared
class TranslationGrammar(Declared):
    """A kind of translator: its options, and how it learns."""

    model1_iterations: int = option(5, "iterations of Model 1", at_least(1))

    @abstractmethod
    def learn(
        self,
        full: TranslationPairs,
        pairs: TranslationPairs,
        held_out: PairMaterial | None,
        runs: Runs,
    ) -> LearntTranslations:
        """From all pairs that have words on both sides, and those of them that are short enough."""


@declared
class Itg(LatentOptions, TranslationGrammar):
    """An inversion transduction grammar in its normal form, one derivation for each alignment.

    Words are linked, deleted and inserted; neighbouring blocks keep their order or change it. Model
    1, trained in both directions, proposes translations. Features are hashed; they see the words of
    the whole source sentence around each rule.
    """

    n_insertions: int = option(40, "words that may be inserted anywhere", at_least(0))
    n_companions: int = option(
        4, "words that may be inserted behind a certain word only", at_least(0)
    )
    n_bits: int = option(
        22,
        "there are 2**n_bits hashed weights. A sentence of 15 words has some 25,000 features, so "
        "that a few hundred pairs fill 2**20: 22 was better on held-out pairs, if slower",
        between(*BITS),
    )

    def learn(
        self,
        full: TranslationPairs,
        pairs: TranslationPairs,
        held_out: PairMaterial | None,
        runs: Runs,
    ) -> LearntTranslations:
        """The lexicon from all pairs, the weights from short ones that it can reach."""
        options = LexiconOptions(
            self.n_translations, self.n_insertions, self.n_companions, self.model1_iterations
        )
        lexicon, first = TranslationLexicon.learn_run(full, options, runs)
        family = ItgFamily(lexicon, self.n_bits, Bound.fitted(*pairs.lengths))
        found = pairs.latent(
            family, held_out, lambda n_pairs: self.way(runs, family, n_pairs), runs
        )
        return LearntTranslations(
            ItgModel(
                family, found.training.weights, _seams((lexicon.source, lexicon.target), full)
            ),
            found.training.after(first),
            found.counts,
        )


@declared
class Hiero(TranslationGrammar):
    """Rules with up to two gaps, out of pairs that hidden Markov models aligned (Chiang 2007).

    A dozen features, such as how often a rule was seen. A pair that gave rules is reached by its
    own long ones, and would teach that all long rules are good; so weights are learnt from pairs
    that gave none, or from held-out ones.
    """

    n_targets: int = option(10, "translations of a source side", at_least(1))
    min_count: int = option(2, "how often a rule with gaps must be seen", at_least(1))
    longest_phrase: int = option(10, "most words under a rule", at_least(1))
    n_tuning: int = option(
        200, "how many pairs, none of which gave rules, the weights are learnt from", at_least(0)
    )
    max_iterations: int = option(
        FLAT["n_iterations"], "most iterations of L-BFGS, by which weights are learnt", at_least(1)
    )
    l2: float = option(
        1.0, "l2 / 2 times the squares of the weights is added to the loss", at_least(0)
    )

    def learn(
        self,
        full: TranslationPairs,
        pairs: TranslationPairs,
        held_out: PairMaterial | None,
        runs: Runs,
    ) -> LearntTranslations:
        """Rules from most pairs, weights from the others (or from held-out ones, where given)."""
        n_tried = MOST_TRIED * self.n_tuning
        least = max(int(LEAST_EXTRACTION * len(pairs)), len(pairs) - n_tried)
        n_rules = len(pairs) if held_out is not None else least
        if held_out is None:
            tuning = pairs.part(range(n_rules, len(pairs))).held()
        else:
            tuning = held_out.select(range(min(len(held_out), n_tried)), PairCounts(0))
        rules, first = self._rules(pairs.part(range(n_rules)), runs)
        family = HieroFamily(rules, self.longest_phrase)
        n_rules, n_sides = rules.targets.n_sides, rules.sources.n_sides
        tell(runs, f"{n_rules:,} rules over {n_sides:,} source sides")
        found = learn_latent(
            family,
            tuning,
            None,
            lambda n_pairs: RunPlan(
                runs,
                LBFGS(**FLAT | {"n_iterations": self.max_iterations}),
                family.penalty(self.l2),
            ),
            runs,
            most=self.n_tuning,
        )
        counts = pairs.counts
        if held_out is None:
            counts = counts.plus("n_unreachable", found.counts.n_unreachable)
            counts = counts.plus("n_spare", found.counts.n_spare)
        return LearntTranslations(
            HieroModel(family, found.training.weights, _seams((rules.source, rules.target), full)),
            found.training.after(first),
            counts,
        )

    def _rules(self, pairs: TranslationPairs, runs: Runs) -> tuple[HieroRules, TrainingResult]:
        """The rules of links by both directions of the HMM aligner, symmetrised; and its run."""
        course = EmCourse(self.model1_iterations, HMM_ITERATIONS)
        words, models, training, _ = pairs.directions(course, runs)
        n_threads = Workers.of(runs.workers).n_threads
        limits = RuleLimits(longest_phrase=self.longest_phrase)
        counter = _RuleCounter(models, limits, n_threads)
        rules = HieroRules.of(
            merged_rules(pairs.each(counter, words)),
            words,
            (models[0].table, models[1].table),
            n_targets=self.n_targets,
            min_count=self.min_count,
            n_threads=n_threads,
        )
        return rules, training


@dataclass(frozen=True)
class _RuleCounter:
    """The rules of pairs, by the best alignments of both directions."""

    models: Models
    limits: RuleLimits
    n_threads: int

    def __call__(self, pairs: NumberedPairs) -> RuleCounts:
        """Of some pairs."""
        numbers = pairs.source, pairs.target
        forward, backward = in_threads(
            lambda model, one, two: model.best_places(one, two),
            self.models, numbers, numbers[::-1], n_threads=self.n_threads,
        )  # fmt: skip
        links = LinkRows(*grown(forward, backward, numbers[0].offsets, numbers[1].offsets))
        weights, n_threads = pairs.material.weights, self.n_threads
        return count_rules(*numbers, links, self.limits, weights, n_threads=n_threads)


@dataclass(frozen=True)
class _NeighbourCounter:
    """The neighbouring words of targets."""

    def __call__(self, pairs: NumberedPairs) -> KeyCounts:
        """Of some pairs."""
        return neighbours(pairs.target, len(pairs.words[1]))


def _seams(words: Vocabularies, pairs: TranslationPairs) -> Seams:
    """Of all targets, however long."""
    return Seams.merged(pairs.each(_NeighbourCounter(), words), words[1])


GrammarName = Literal["itg", "hiero"]
GRAMMARS: dict[str, type[TranslationGrammar]] = {"itg": Itg, "hiero": Hiero}
"""By the short form of an object with default options."""
