"""How a hidden Markov model with weights learns: by the gradient or by EM, or by contrast."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from partita.arrays import BoolArray, FloatArray
from partita.estimators.runs import RunPlan, judged, run
from partita.estimators.supervision import Lessons
from partita.estimators.tagging.emission_features import EmissionFeatures
from partita.estimators.tagging.hidden_markov_layout import SymbolRows
from partita.estimators.tagging.hidden_markov_model import HiddenMarkovModel, end_to_end
from partita.estimators.tagging.hidden_markov_runs import (
    MOST_ITERATIONS,
    LearntHiddenMarkov,
    best_of_starts,
    class_tags,
    unlabelled_weight,
)
from partita.estimators.tagging.material import TagMaterial
from partita.estimators.tagging.neighbourhoods import contrast_batches
from partita.objectives import EvidenceContrast
from partita.objectives.evidence import Evidence
from partita.text.word_symbols import WordSymbols
from partita.training import LBFGS, Corpus, Penalty, build_corpus, heed_interruptions
from partita.training.log_linear_corpus import LogLinearCorpus
from partita.training.log_linear_em import LogLinearExpectationMaximisation

if TYPE_CHECKING:
    from partita.estimators.tagging.hidden_markov_tagger import HiddenMarkovTagger

MOST_STEPS = 300
"""Along the gradient, by default."""
CLASS_STEPS = 30
"""Along the gradient, to start from classes of words."""
NEARLY_EVEN = 0.01
"""Size of the first weights: tags differ by chance, and by little."""
UNEVEN = 0.3
"""The same where words come by their frequency: nothing else then leads away from equal tags."""


def fit_weights(
    options: "HiddenMarkovTagger",
    model: HiddenMarkovModel,
    words: Sequence[Sequence[str | None]],
    material: TagMaterial,
    held_out: Lessons | None,
) -> LearntHiddenMarkov:
    """The weights that make the sentences likely, alone or among their neighbours.

    Every word stands for itself while weights are learnt; `model` has classes of rare ones.
    Sentences with labels teach first and alone, where there are others, too.
    """
    sets = [tag for tags in material.tags for tag in tags if not isinstance(tag, str)]
    symbols = WordSymbols.learn(end_to_end(words), min_count=1)
    own = HiddenMarkovModel(model.tags, symbols, options.dictionary or {}, sets)
    by_frequency = options.base == "frequency"
    features = EmissionFeatures(
        own,
        options.views,
        options.class_table,
        counts=Counter(end_to_end(words)),
        fold_case=options.fold_case,
        own_count=options.own_count,
        by_frequency=by_frequency,
    )
    rows = own.rows(words, material.tags)
    whole = rows.fully_labelled(len(own.tags))
    options.check_data(unknown_tags=not whole.all())
    weights = _sample_weights(options, own, rows, whole, material.sample_weight)
    gradient = LBFGS(
        n_iterations=options.max_iterations or MOST_STEPS,
        loss_tolerance=options.loss_tolerance,
        scaled=False,
    )
    # Where all tags are known, expected counts never change: there the gradient is the way.
    by_gradient = RunPlan(options, gradient, Penalty(l2=options.l2))
    way = by_gradient
    if options.optimiser == "em" and not whole.all():
        way = replace(by_gradient, optimiser=_expectation_maximisation(options, features))

    def table(found: FloatArray) -> FloatArray:
        return features.weights_of(model, found, normalised=options.neighbourhood is None)

    # A signal during one run ends the later ones, too.
    with heed_interruptions(), judged(held_out, options.workers) as of_table:
        judge = None if of_table is None else lambda found: of_table(table(found))
        first, stage = np.zeros(features.n_weights), 1
        n_starts = 1 if whole.all() else options.n_restarts
        if whole.any() and not whole.all():
            chosen = None if weights is None else weights[whole]
            with _corpus(options, features, rows.select(whole), chosen) as corpus:
                of_labels = run(corpus, by_gradient, first, judge)
                first, stage = of_labels.weights, 2

        def start(restart: int) -> FloatArray:
            rng = np.random.default_rng([options.seed, restart])
            size = UNEVEN if by_frequency and rows.is_plain else NEARLY_EVEN
            noise: FloatArray = size * rng.standard_normal(features.n_weights)
            if options.start != "classes" or not rows.is_plain:
                return first + noise
            classes = class_tags(end_to_end(words), rows.n_words, len(own.tags), rng)
            with _corpus(options, features, rows.tagged(classes), weights) as labelled:
                few = replace(by_gradient, optimiser=replace(gradient, n_iterations=CLASS_STEPS))
                # Their files are numbered behind those of the starts themselves.
                return run(labelled, few, noise, stage=stage + n_starts + restart).weights

        with _corpus(options, features, rows, weights) as corpus:
            best, histories, reasons = best_of_starts(corpus, way, start, n_starts, judge, stage)
        if stage == 2:
            best = best.after(of_labels)
    return LearntHiddenMarkov(model, replace(best, weights=table(best.weights)), histories, reasons)


def _expectation_maximisation(
    options: "HiddenMarkovTagger", features: EmissionFeatures
) -> LogLinearExpectationMaximisation:
    most = options.max_iterations or MOST_ITERATIONS
    return LogLinearExpectationMaximisation(features.log_linear, most, options.loss_tolerance)


@contextmanager
def _corpus(
    options: "HiddenMarkovTagger",
    features: EmissionFeatures,
    rows: SymbolRows,
    weights: FloatArray | None,
) -> Iterator[Corpus]:
    """Sentences as a function of the weights: labels are masks, so that all are one kind."""
    if options.neighbourhood is not None:
        near = contrast_batches(features, rows, options.neighbourhood, weights)
        with build_corpus(EvidenceContrast(), near, workers=options.workers) as corpus:
            yield corpus
        return
    pieces = features.model.pieces(rows)
    batches = [piece.batch({"Evidence": None}, weights) for piece in pieces]
    with build_corpus(Evidence(), batches, workers=options.workers) as corpus:
        yield LogLinearCorpus(corpus, features.log_linear)


def _sample_weights(
    options: "HiddenMarkovTagger",
    model: HiddenMarkovModel,
    rows: SymbolRows,
    whole: BoolArray,
    given: FloatArray | None,
) -> FloatArray | None:
    """What each sentence counts: by the caller, and less without labels; None where all count 1."""
    if not whole.any() or whole.all():
        return given
    labelled = rows.select(whole)
    counts = model.layout.counts(labelled, labelled.masks[:, 1])
    n_others = int(rows.n_words[~whole].sum())
    weight = unlabelled_weight(options.unlabelled_weight, model.layout, n_others, counts)
    weights = np.where(whole, 1.0, weight)
    return weights if given is None else weights * given
