"""How a hidden Markov model learns: counts where all tags are known, else EM from some start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.arrays import BoolArray, FloatArray
from partita.estimators.runs import RunPlan, judged
from partita.estimators.supervision import Lessons
from partita.estimators.tagging.hidden_markov_layout import (
    NOISE,
    HiddenMarkovLayout,
    SymbolRows,
    informed_counts,
    product,
    random_counts,
    tag_marginals,
)
from partita.estimators.tagging.hidden_markov_model import (
    HiddenMarkovModel,
    end_to_end,
    tag_names,
)
from partita.estimators.tagging.hidden_markov_runs import (
    LearntHiddenMarkov,
    best_of_starts,
    class_tags,
    unlabelled_weight,
)
from partita.estimators.tagging.hidden_markov_weights import fit_weights
from partita.estimators.tagging.material import TagMaterial, held_out_lessons
from partita.estimators.tagging.tags import Tags, TagSet
from partita.objectives.evidence import Evidence
from partita.text.sentences import read_tokens
from partita.text.word_symbols import WordSymbols
from partita.training import ExpectationMaximisation, Penalty, TrainingResult, build_corpus

if TYPE_CHECKING:
    from partita.estimators.tagging.hidden_markov_tagger import HiddenMarkovTagger

MOST_ITERATIONS = 100
"""Of expectation-maximisation, by default."""


def fit_hidden_markov(
    options: "HiddenMarkovTagger",
    material: TagMaterial,
    held_out: tuple[Sequence[Any], Tags | None] | None,
) -> LearntHiddenMarkov:
    """Counts of what is labelled; expectation-maximisation for the rest."""
    dictionary = options.dictionary or {}
    words = [
        read_tokens([each], may_miss=True, first=index)[0]
        for each, index in zip(material.sentences, material.order, strict=True)
    ]
    sets = [tag for tags in material.tags for tag in tags if not isinstance(tag, str)]
    tags = TagSet(tag_names(material.tags, dictionary, options.n_tags))
    symbols = WordSymbols.learn(end_to_end(words), options.min_count)
    model = HiddenMarkovModel(tags, symbols, dictionary, sets)
    judge = None if held_out is None else held_out_lessons(model, *held_out, options.tag_column)
    if options.has_weights:
        return fit_weights(options, model, words, material, judge)
    rows = model.rows(words, material.tags)
    whole = rows.fully_labelled(len(tags))
    labelled = rows.select(whole)
    weights = material.sample_weight
    counts = model.layout.counts(
        labelled, labelled.masks[:, 1], None if weights is None else weights[whole]
    )
    prior = model.layout.pseudo_counts(options.alpha)
    if whole.all():
        found = model.layout.maximise(counts + prior)
        reason = "All tags are known, so that the model is their counts."
        loss = -product(counts + prior, found)
        return LearntHiddenMarkov(model, TrainingResult(found, loss, 0, reason, ()), [], [])
    informed = None
    if options.warm_start is None and whole.any():
        informed = _informed(options, model, words, material, whole)
    start = Starts(
        model.layout,
        rows.select(~whole),
        counts + prior,
        informed,
        unlabelled_weight(options.unlabelled_weight, model.layout, rows.select(~whole), counts),
        None if weights is None else weights[~whole],
        None if options.warm_start is None else _transferred(model, options.warm_start),
        options.seed,
        end_to_end(words) if options.start == "classes" and rows.is_plain else None,
    )
    return _maximised(options, model, start, judge)


@dataclass(frozen=True)
class Starts:
    """Runs of expectation-maximisation that differ in where they start."""

    layout: HiddenMarkovLayout
    unlabelled: SymbolRows
    """The sentences whose tags are not all known."""
    fixed: FloatArray
    """Counts of what is labelled, and pseudo-counts; flat."""
    informed: FloatArray | None
    """What the labels say of the tags of `unlabelled`, (n, s); None where there are no labels."""
    weight: float
    """What each sentence of `unlabelled` counts."""
    sample_weight: FloatArray | None
    """By the caller, for each sentence of `unlabelled`."""
    given: FloatArray | None
    """Weights to start from; None where labels or chance say where."""
    seed: int
    words: Sequence[str | None] | None = None
    """Those of `unlabelled`, where classes of words say where to start."""

    def sentence_weights(self) -> FloatArray | None:
        """What each sentence counts; None where all count 1."""
        if self.sample_weight is not None:
            return self.weight * self.sample_weight
        n_sentences = len(self.unlabelled.n_words)
        return None if self.weight == 1.0 else np.full(n_sentences, self.weight)

    def optimiser(self, max_iterations: int, loss_tolerance: float) -> ExpectationMaximisation:
        """Labels count like pseudo-counts: their log-likelihood is <counts, weights>, too."""
        # Only what shapes the way is closed over: a checkpoint knows it by its digest.
        layout, fixed = self.layout, self.fixed
        return ExpectationMaximisation(
            lambda counts: layout.maximise(counts + fixed),
            lambda weights: product(fixed, weights),
            max_iterations,
            loss_tolerance,
        )

    def start(self, restart: int) -> FloatArray:
        """The first weights of a run: given, random, or what the labels say with some noise."""
        if self.given is not None and restart == 0:
            return self.given
        rng = np.random.default_rng([self.seed, restart])
        if self.words is not None:
            tags = class_tags(self.words, self.unlabelled.n_words, self.layout.n_tags, rng)
            one = np.vstack([np.eye(self.layout.n_tags), np.zeros(self.layout.n_tags)])
            counts = informed_counts(self.layout, self.unlabelled, one[tags], rng)
        elif self.informed is None:
            seen = self.unlabelled.symbols[self.unlabelled.symbols >= 0]
            observed = np.bincount(seen, minlength=self.layout.n_symbols).astype(np.float64)
            counts = random_counts(self.layout, observed, rng)
        else:
            counts = informed_counts(self.layout, self.unlabelled, self.informed, rng)
        return self.layout.maximise(self.weight * counts + self.fixed)


def _maximised(
    options: "HiddenMarkovTagger",
    model: HiddenMarkovModel,
    starts: Starts,
    held_out: Lessons | None,
) -> LearntHiddenMarkov:
    """The best of all starts of expectation-maximisation."""
    optimiser = starts.optimiser(options.max_iterations or MOST_ITERATIONS, options.loss_tolerance)
    weights = starts.sentence_weights()
    batches = [
        piece.batch({"Evidence": None}, weights) for piece in model.pieces(starts.unlabelled)
    ]
    with (
        judged(held_out, options.workers) as judge,
        build_corpus(Evidence(), batches, workers=options.workers, cache=options.cache) as corpus,
    ):
        best, histories, reasons = best_of_starts(
            corpus, RunPlan(options, optimiser, Penalty()), starts.start, options.n_restarts, judge
        )
    return LearntHiddenMarkov(model, best, histories, reasons)


def _informed(
    options: "HiddenMarkovTagger",
    model: HiddenMarkovModel,
    words: Sequence[Sequence[str | None]],
    material: TagMaterial,
    whole: BoolArray,
) -> FloatArray:
    """What a model of the fully labelled sentences alone thinks of the others, (n, s).

    It knows a word that only the others have by its class, as it would any unknown word.
    """
    learnt = [words[index] for index in np.flatnonzero(whole).tolist()]
    symbols = WordSymbols.learn(end_to_end(learnt), options.min_count)
    sets = [tag for tags in material.tags for tag in tags if not isinstance(tag, str)]
    small = HiddenMarkovModel(model.tags, symbols, options.dictionary or {}, sets)
    rows = small.rows(words, material.tags)
    labelled = rows.select(whole)
    counts = small.layout.counts(labelled, labelled.masks[:, 1])
    smoothed = counts + small.layout.pseudo_counts(options.alpha or NOISE)
    return tag_marginals(small.layout, rows.select(~whole), small.layout.maximise(smoothed))


def _transferred(model: HiddenMarkovModel, other: "HiddenMarkovTagger") -> FloatArray:
    """The probabilities of another model, for the tags and words that both have; noise elsewhere.

    Every distribution sums to 1 again.
    """
    other._check_fitted()
    theirs = other.model_
    table = np.full(model.layout.shape, NOISE / max(model.layout.n_symbols, 1))
    start, transitions, emissions = model.layout.split(table)
    names = [name for name in model.tags.names if name in theirs.tags.names]
    here = np.array([model.tags.names.index(name) for name in names], dtype=np.int64)
    there = np.array([theirs.tags.names.index(name) for name in names], dtype=np.int64)
    start[here] += np.exp(other.log_start_)[there]
    transitions[here[:, None], here] += np.exp(other.log_transitions_)[there[:, None], there]
    symbols = {theirs.symbols.name(row): row for row in range(len(theirs.symbols))}
    for row in range(len(model.symbols)):
        found = symbols.get(model.symbols.name(row))
        if found is not None:
            emissions[row, here] += np.exp(other.log_emissions_[found, there])
    emissions *= model.layout.allowed
    return model.layout.maximise(table.ravel())
