"""The kinds of aligners, as objects of options: Model 1, hidden Markov models, ITG CRFs."""

from abc import abstractmethod
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from partita.arrays import IntArray
from partita.data.alignments import Alignment
from partita.estimators.alignment.em import EmCourse, learn_directions
from partita.estimators.alignment.generative import Generative, judging
from partita.estimators.alignment.gold import GOLD, GoldOptions, learn_gold
from partita.estimators.alignment.itg_links import ItgLinks, Mixture, gold_pairs, ways
from partita.estimators.alignment.latent import Bound, Latent, LatentOptions, learn_latent
from partita.estimators.alignment.link_family import LinkCrf, LinkFamily
from partita.estimators.alignment.link_lexicon import LinkLexicon
from partita.estimators.alignment.link_model import LinkModel
from partita.estimators.alignment.material import PairCounts, PairMaterial
from partita.estimators.groups import Runs
from partita.estimators.options import (
    Check,
    Declared,
    again,
    at_least,
    between,
    declared,
    option,
)
from partita.estimators.runs import preparing
from partita.text.word_vocabulary import WordVocabulary
from partita.training import TrainingResult

STAGES = ("CRF", "CRF, target to source", "CRF, gold links")
"""The names of the runs of the ITG aligner behind that of the generative models."""


ModelT = TypeVar("ModelT", bound=LinkModel)


class ShortPairs(Protocol):
    """Pairs of which some are chosen for a CRF, wherever they are."""

    @property
    def lengths(self) -> tuple[IntArray, IntArray]:
        """Words of each source and target sentence."""

    def chosen(self, bound: Bound, most: int | None) -> PairMaterial:
        """Pairs within a bound, each once, and not too many."""

    def swapped(self) -> Self:
        """The other way round."""


class LinkLesson(NamedTuple):
    """Pairs that have words on both sides, the vocabularies of both, and pairs to judge by."""

    words: tuple[WordVocabulary, WordVocabulary]
    pairs: PairMaterial
    held_out: PairMaterial | None = None


class LearntLinks(NamedTuple, Generic[ModelT]):
    """What a model of alignment learnt, and how."""

    model: ModelT
    stages: dict[str, TrainingResult]
    """The runs in their order, by name."""
    counts: dict[str, PairCounts]
    """What became of the pairs in those stages that do not take all that are usable."""


@declared
class AlignmentModel(Declared):
    """A kind of aligner: its options, and how it learns."""

    learns_from_gold: ClassVar[bool] = False
    """Whether gold links teach it anything."""

    @property
    def judges_itself(self) -> bool:
        """Whether it holds out some of the pairs by itself."""
        return False

    @abstractmethod
    def learn(self, given: LinkLesson, runs: Runs) -> LearntLinks[Any]:
        """Models and how they were learnt."""

    def generative_course(self) -> EmCourse | None:
        """How both directions learn, if that is all there is to learn."""
        return None


@declared
class WordTranslation(Declared):
    """Model 1, which everything begins with."""

    model1_iterations: int = option(5, "iterations of Model 1", at_least(1))
    alpha: float = option(
        0.0,
        "of a Dirichlet prior on translations, by variational Bayes; 0 for none. On a large bitext "
        'without agreement, 0.01 helps the "viterbi" decoder, since it keeps rare words from '
        "explaining everything around them; elsewhere it was found to do harm",
        at_least(0),
    )


@declared
class HiddenMarkovOptions(WordTranslation):
    """The hidden Markov models of both directions."""

    n_iterations: int = option(5, "iterations of the hidden Markov models", at_least(1))
    null_probability: float = option(
        0.2,
        "that a word is from no word of the other sentence",
        Check(lambda value: 0 <= value < 1, "0 to below 1"),
    )
    reach: int = option(10, "the distance from which on jumps are alike", at_least(1))
    agreement: bool = option(True, "both directions learn only what both believe")

    def course(self) -> EmCourse:
        """What is learnt, and for how long."""
        return EmCourse(
            self.model1_iterations,
            self.n_iterations,
            self.alpha,
            self.null_probability,
            self.reach,
            self.agreement,
        )


@declared
class Model1(WordTranslation, AlignmentModel):
    """IBM Model 1, where each word chooses its translation alone."""

    def generative_course(self) -> EmCourse:
        """Model 1 alone."""
        return EmCourse(self.model1_iterations, alpha=self.alpha)

    def learn(self, given: LinkLesson, runs: Runs) -> LearntLinks[Any]:
        """Both directions."""
        model, training = learn_generative(given, self.generative_course(), runs)
        return LearntLinks(model, {"Model 1": training}, {})


@declared
class HiddenMarkovAlignment(HiddenMarkovOptions, AlignmentModel):
    """Hidden Markov models of both directions, where places follow places."""

    def generative_course(self) -> EmCourse:
        """Model 1, then these."""
        return self.course()

    def learn(self, given: LinkLesson, runs: Runs) -> LearntLinks[Any]:
        """Model 1 in both directions, and the hidden Markov models from there on."""
        model, training = learn_generative(given, self.course(), runs)
        return LearntLinks(model, {"HMM": training}, {})


@declared
class ItgAlignment(HiddenMarkovOptions, LatentOptions, GoldOptions, AlignmentModel):
    """A conditional random field over the derivations of an inversion transduction grammar.

    It has the posteriors of the hidden Markov models, which are learnt first, among its features,
    maximises log P(y | x, n) in both directions on short pairs, and is the only kind that learns
    from gold alignments, too. The defaults suit 50,000 pairs.
    """

    learns_from_gold: ClassVar[bool] = True

    n_translations: int = again(LatentOptions, "n_translations", 10)
    rate: float = again(LatentOptions, "rate", 0.05)
    directions: Literal["forward", "both"] = option(
        "both", 'maximise log P(target | source) only, or "both" directions'
    )
    training_words: int = option(
        15, "the CRF does not learn from pairs with more words on a side", at_least(1)
    )
    training_pairs: int | None = option(
        5000,
        "nor from more pairs than this, which are spread evenly over the bitext; None for all",
        at_least(1),
    )
    held_out_share: float = option(
        0.05,
        "the share of these pairs whose likelihood chooses the pass, if no others are held out",
        between(0, 0.9),
    )
    pool: float = option(
        0.5,
        "without gold links: the weight of the CRFs against that of the hidden Markov models",
        between(0, 1),
    )
    gold_share: float = option(
        0.5,
        "with gold links: the weight of the CRF that learnt from them against all other models",
        between(0, 1),
        needs=GOLD,
    )
    most_cells: int = option(
        2000,
        "pairs with more places for a link are left to the hidden Markov models: O(n³ m³)",
        at_least(0),
    )

    @property
    def judges_itself(self) -> bool:
        """Whether it holds out some of the pairs by itself."""
        return self.held_out_share > 0

    def learn(self, given: LinkLesson, runs: Runs) -> LearntLinks[Any]:
        """Generative models, one or two CRFs without gold links, and one that learns from them."""
        generative, training = learn_generative(
            given._replace(held_out=None), self.course(), preparing(runs)
        )
        pairs = given.pairs
        short = pairs.whole().short(self.training_words)
        learnt = self.learn_from(generative, training, short, given.held_out, runs)
        places = gold_pairs(pairs.alignments)
        if not places:
            return learnt
        model, stages, counts = learnt
        gold = pairs.select(places, PairCounts(len(places)))
        model, last, counts[STAGES[-1]] = self.learn_gold(model, gold, runs)
        return LearntLinks(model, stages | ({} if last is None else {STAGES[-1]: last}), counts)

    def learn_from(
        self,
        generative: Generative,
        training: TrainingResult,
        short: ShortPairs,
        held_out: PairMaterial | None,
        runs: Runs,
    ) -> LearntLinks[ItgLinks]:
        """One or two CRFs beside models that are learnt already, from pairs that are short."""
        stages, counts, latent = {"HMM": training}, {}, []
        for stage in range(1, 3 if self.directions == "both" else 2):
            name = STAGES[stage - 1]
            if stage == 2:
                short, held_out = short.swapped(), held_out and held_out.swapped()
            crf, found = self._learn_latent(generative, short, held_out, runs, stage)
            latent.append(crf)
            stages[name], counts[name] = found.training, found.counts
        mixture = Mixture(self.pool, self.gold_share, self.most_cells)
        return LearntLinks(ItgLinks(generative, tuple(latent), None, mixture), stages, counts)

    def _learn_latent(
        self,
        generative: Generative,
        short: ShortPairs,
        held_out: PairMaterial | None,
        runs: Runs,
        stage: int,
    ) -> tuple[LinkCrf, Latent]:
        """The CRF of one direction: the first stage is source to target."""
        words, tables = ways(generative)[stage - 1]
        lexicon = LinkLexicon.learn(words, tables, self.n_translations)
        family = LinkFamily(*words, lexicon, Bound.fitted(*short.lengths))
        chosen = short.chosen(family.bound, self.training_pairs)
        if held_out is None:
            chosen, held_out = _split(chosen, self.held_out_share, runs.seed)
        found = learn_latent(
            family, chosen, held_out, lambda n_pairs: self.way(runs, family, n_pairs), runs, stage
        )
        return LinkCrf(family, found.training.weights, *tables), found

    def learn_gold(
        self, model: ItgLinks, pairs: PairMaterial, runs: Runs
    ) -> tuple[ItgLinks, TrainingResult | None, PairCounts]:
        """The same model with a supervised CRF, learnt from pairs that have gold links.

        Pairs with more than `gold_cells` places for a link are left out; where none is left, or a
        signal came before anything was learnt from them, the model stays as it is.
        """
        n, m = pairs.lengths
        small = pairs.kept(n * m <= min(self.gold_cells, self.most_cells), "n_long")
        if not len(small):
            return model, None, small.counts
        training = learn_gold(
            model.evidence(small.source, small.target),
            [model.numbers(*pair) for pair in zip(small.source, small.target, strict=True)],
            [each or Alignment() for each in small.alignments or ()],
            small.weights,
            self,
            runs,
            len(model.latent) + 1,
        )
        if training.learnt_nothing:
            return model, training, small.counts
        return model.with_gold(training.weights), training, small.counts


ModelName = Literal["model1", "hmm", "crf"]
MODELS: dict[str, type[AlignmentModel]] = {
    "model1": Model1,
    "hmm": HiddenMarkovAlignment,
    "crf": ItgAlignment,
}
"""By the short form of an object with default options."""


def learn_generative(
    given: LinkLesson, course: EmCourse, runs: Runs
) -> tuple[Generative, TrainingResult]:
    """Models of both directions; held-out pairs choose the iteration by their likelihood."""
    words, pairs, held_out = given
    numbers = words[0].encode(pairs.source), words[1].encode(pairs.target)

    models, training = learn_directions(
        (*numbers, len(words[0]), len(words[1])),
        course,
        weights=pairs.weights,
        judge=None if held_out is None else judging(words, held_out),
        runs=runs,
    )
    return Generative.of(*words, models), training


def _split(
    pairs: PairMaterial, share: float, seed: int
) -> tuple[PairMaterial, PairMaterial | None]:
    """Most pairs, and some to judge by, at random; both kinds count as used."""
    n_held = int(len(pairs) * share)
    if not n_held:
        return pairs, None
    order = np.random.default_rng(seed).permutation(len(pairs))
    return pairs.select(order[n_held:], pairs.counts), pairs.select(order[:n_held], pairs.counts)
