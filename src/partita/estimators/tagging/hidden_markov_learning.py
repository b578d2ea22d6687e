"""How a hidden Markov model learns: counts where all tags are known, else EM from some start."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.runs import RunPlan, judged
from partita.estimators.supervision import Lessons
from partita.estimators.tagging.hidden_markov_layout import (
    NOISE,
    HiddenMarkovLayout,
    SymbolRows,
    expected_emissions,
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
    MOST_ITERATIONS,
    LearntHiddenMarkov,
    best_of_starts,
    class_tags,
    unlabelled_weight,
)
from partita.estimators.tagging.hidden_markov_weights import fit_weights
from partita.estimators.tagging.material import TagMaterial, held_out_lessons
from partita.estimators.tagging.tags import HeldOutTags, TagSet
from partita.objectives.evidence import Evidence
from partita.text.sentences import read_tokens
from partita.text.word_symbols import WordSymbols
from partita.training import Batch, ExpectationMaximisation, Penalty, TrainingResult, build_corpus

if TYPE_CHECKING:
    from partita.estimators.tagging.hidden_markov_tagger import HiddenMarkovTagger


def fit_hidden_markov(
    options: "HiddenMarkovTagger",
    material: TagMaterial,
    held_out: HeldOutTags | None,
) -> LearntHiddenMarkov:
    """Counts of what is labelled; expectation-maximisation for the rest."""
    dictionary = options.dictionary or {}
    words = [
        read_tokens([each], may_miss=True, first=index)[0]
        for each, index in zip(material.sentences, material.order, strict=True)
    ]
    sets = [tag for tags in material.tags for tag in tags if not isinstance(tag, str)]
    tags = TagSet(tag_names(material.tags, dictionary, options.n_tags, tags_to_start_from(options)))
    symbols = WordSymbols.learn(end_to_end(words), options.min_count)
    model = HiddenMarkovModel(tags, symbols, dictionary, sets)
    judge = None if held_out is None else held_out_lessons(model, held_out, options.tag_column)
    if options.has_weights:
        return fit_weights(options, model, words, material, judge)
    rows = model.rows(words, material.tags)
    whole = rows.fully_labelled(len(tags))
    weights = material.sample_weight
    small = None
    if options.warm_start is None and whole.any() and not whole.all():
        learnt = [words[index] for index in np.flatnonzero(whole).tolist()]
        small = small_model(
            options, model, WordSymbols.learn(end_to_end(learnt), options.min_count), sets
        )
    small_rows = None if small is None else small.rows(words, material.tags)
    tallies = Tallies.of(
        model, rows, small, small_rows, None if weights is None else weights[whole]
    )
    if small is not None and small_rows is not None:
        found = small_weights(options, small, tallies)
        tallies = replace(
            tallies, expected=expected_of_others(model, rows, small, small_rows, found)
        )
    if whole.all():
        return counted(options, model, tallies)
    others = rows.select(~whole)
    of_classes = None
    if options.start == "classes" and rows.is_plain:
        of_classes = partial(_of_classes, model.layout, others, end_to_end(words))
    starts = starts_of(options, model, tallies, of_classes)
    if starts.given is not None and options.alpha == 0:
        places = [material.where(index) for index in np.flatnonzero(~whole).tolist()]
        _check_possible(model, others, starts.given, places)
    each = starts.sentence_weights(
        len(others.n_words), None if weights is None else weights[~whole]
    )
    batches = (piece.batch({"Evidence": None}, each) for piece in model.pieces(others))
    return maximised(options, model, starts, batches, judge)


@dataclass(frozen=True)
class Tallies:
    """What sentences are counted for, before expectation-maximisation; sums over parts of them."""

    labelled: FloatArray
    """Counts of those whose tags are all known, flat."""
    observed: FloatArray
    """How often each symbol occurs in the others, (n_symbols,)."""
    n_others: int
    """Words of the others."""
    small: FloatArray | None = None
    """Counts as `labelled`, of a model that knows the words of those sentences only."""
    expected: FloatArray | None = None
    """What that model expects of the others, see `expected_emissions`."""

    @classmethod
    def of(
        cls,
        model: HiddenMarkovModel,
        rows: SymbolRows,
        small: HiddenMarkovModel | None,
        small_rows: SymbolRows | None,
        sample_weight: FloatArray | None = None,
    ) -> "Tallies":
        """Of some sentences, as either model numbers them; the weights are of labelled ones."""
        whole = rows.fully_labelled(len(model.tags))
        labelled, others = rows.select(whole), rows.select(~whole)
        seen = others.symbols[others.symbols >= 0]
        of_small = None
        if small is not None and small_rows is not None:
            chosen = small_rows.select(whole)
            of_small = small.layout.counts(chosen, chosen.masks[:, 1])
        return cls(
            model.layout.counts(labelled, labelled.masks[:, 1], sample_weight),
            np.bincount(seen, minlength=model.layout.n_symbols).astype(np.float64),
            len(others.symbols),
            of_small,
        )

    def __add__(self, other: "Tallies") -> "Tallies":
        return Tallies(
            self.labelled + other.labelled,
            self.observed + other.observed,
            self.n_others + other.n_others,
            None if self.small is None or other.small is None else self.small + other.small,
        )


def small_model(
    options: "HiddenMarkovTagger",
    model: HiddenMarkovModel,
    symbols: WordSymbols,
    sets: Sequence[frozenset[str]] = (),
) -> HiddenMarkovModel:
    """A model of the fully labelled sentences alone, to begin with.

    It knows a word that only the others have by its class, as it would any unknown word.
    """
    return HiddenMarkovModel(model.tags, symbols, options.dictionary or {}, sets)


def small_weights(
    options: "HiddenMarkovTagger", small: HiddenMarkovModel, tallies: Tallies
) -> FloatArray:
    """Its weights."""
    assert tallies.small is not None
    return small.layout.maximise(tallies.small + small.layout.pseudo_counts(options.alpha or NOISE))


def expected_of_others(
    model: HiddenMarkovModel,
    rows: SymbolRows,
    small: HiddenMarkovModel,
    small_rows: SymbolRows,
    weights: FloatArray,
) -> FloatArray:
    """What the small model expects the tags of other sentences to emit, (n_symbols, s)."""
    others = ~rows.fully_labelled(len(model.tags))
    marginals = tag_marginals(small.layout, small_rows.select(others), weights)
    return expected_emissions(model.layout, rows.select(others), marginals)


def counted(
    options: "HiddenMarkovTagger", model: HiddenMarkovModel, tallies: Tallies
) -> LearntHiddenMarkov:
    """The model of sentences whose tags are all known."""
    options.check_data(unknown_tags=False)
    together = tallies.labelled + model.layout.pseudo_counts(options.alpha)
    found = model.layout.maximise(together)
    reason = "All tags are known, so that the model is their counts."
    loss = -product(together, found)
    return LearntHiddenMarkov(model, TrainingResult(found, loss, 0, reason, ()), [], [])


@dataclass(frozen=True)
class Starts:
    """Runs of expectation-maximisation that differ in where they start."""

    layout: HiddenMarkovLayout
    tallies: Tallies
    fixed: FloatArray
    """Counts of what is labelled, and pseudo-counts; flat."""
    weight: float
    """What each sentence counts whose tags are not all known."""
    given: FloatArray | None
    """Weights to start from; None where labels or chance say where."""
    seed: int
    of_classes: Callable[[np.random.Generator], FloatArray] | None = None
    """Emissions by classes of words, where these say where to start."""

    def sentence_weights(
        self, n_sentences: int, sample_weight: FloatArray | None = None
    ) -> FloatArray | None:
        """What each of some sentences counts; None where all count 1."""
        if sample_weight is not None:
            return self.weight * sample_weight
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
        if self.of_classes is not None:
            counts = informed_counts(self.layout, self.of_classes(rng), rng)
        elif self.tallies.expected is None:
            counts = random_counts(self.layout, self.tallies.observed, rng)
        else:
            counts = informed_counts(self.layout, self.tallies.expected, rng)
        return self.layout.maximise(self.weight * counts + self.fixed)


def starts_of(
    options: "HiddenMarkovTagger",
    model: HiddenMarkovModel,
    tallies: Tallies,
    of_classes: Callable[[np.random.Generator], FloatArray] | None = None,
) -> Starts:
    """Where the options say to start."""
    layout, counts = model.layout, tallies.labelled
    start = options.warm_start
    return Starts(
        layout,
        tallies,
        counts + layout.pseudo_counts(options.alpha),
        unlabelled_weight(options.unlabelled_weight, layout, tallies.n_others, counts),
        None if start is None else _transferred(model, start, options.alpha),
        options.seed,
        of_classes,
    )


def _check_possible(
    model: HiddenMarkovModel, rows: SymbolRows, weights: FloatArray, places: Sequence[str]
) -> None:
    """Zeros of a model to start from would stay zeros for ever."""
    for piece in model.pieces(rows):
        scores = piece.features.scores(weights)
        impossible = np.flatnonzero(piece.structures.infer(scores).log_partition == -np.inf)
        if impossible.size:
            place = places[piece.sentences[int(impossible[0])]]
            raise ValueError(
                f"{place} has probability 0 by warm_start; expected a model by which all sentences "
                "are possible, since with alpha=0 its zeros stay zeros. Leave alpha above 0, or "
                "the sentence out."
            )


def _of_classes(
    layout: HiddenMarkovLayout,
    others: SymbolRows,
    words: Sequence[str | None],
    rng: np.random.Generator,
) -> FloatArray:
    tags = class_tags(words, others.n_words, layout.n_tags, rng)
    one = np.vstack([np.eye(layout.n_tags), np.zeros(layout.n_tags)])
    return expected_emissions(layout, others, one[tags])


def maximised(
    options: "HiddenMarkovTagger",
    model: HiddenMarkovModel,
    starts: Starts,
    batches: Iterable[Batch],
    held_out: Lessons | None,
) -> LearntHiddenMarkov:
    """The best of all starts of expectation-maximisation."""
    optimiser = starts.optimiser(options.max_iterations or MOST_ITERATIONS, options.loss_tolerance)
    with (
        judged(held_out, options.workers) as judge,
        build_corpus(Evidence(), batches, workers=options.workers, cache=options.cache) as corpus,
    ):
        best, histories, reasons = best_of_starts(
            corpus, RunPlan(options, optimiser, Penalty()), starts.start, options.n_restarts, judge
        )
    if starts.tallies.labelled.any():
        # Where labels say where to start, the first weights are a model already.
        best = replace(best, learnt_nothing=False)
    return LearntHiddenMarkov(model, best, histories, reasons)


def tags_to_start_from(options: "HiddenMarkovTagger") -> tuple[str, ...]:
    """The names of the tags of the model that training starts from, if there is one."""
    return () if options.warm_start is None else tuple(options.warm_start.tags_)


def _transferred(model: HiddenMarkovModel, other: "HiddenMarkovTagger", alpha: float) -> FloatArray:
    """The probabilities of another model, for the tags and words that both have; noise elsewhere.

    A distribution over what both have is the other's, to the last digit. What is impossible there
    stays so where `alpha` is 0; pseudo-counts want all of it to be possible. Every distribution
    sums to 1 again.
    """
    other._check_fitted()
    theirs = other.model_
    table = np.full(model.layout.shape, -np.inf)
    start, transitions, emissions = model.layout.split(table)
    is_known = np.zeros(table.shape)
    known_start, known_transitions, known_emissions = model.layout.split(is_known)
    names = [name for name in model.tags.names if name in theirs.tags.names]
    here = np.array([model.tags.names.index(name) for name in names], dtype=np.int64)
    there = np.array([theirs.tags.names.index(name) for name in names], dtype=np.int64)
    start[here], known_start[here] = other.log_start_[there], 1.0
    transitions[here[:, None], here] = other.log_transitions_[there[:, None], there]
    known_transitions[here[:, None], here] = 1.0
    symbols = {theirs.symbols.name(row): row for row in range(len(theirs.symbols))}
    for row in range(len(model.symbols)):
        found = symbols.get(model.symbols.name(row))
        if found is not None:
            emissions[row, here] = other.log_emissions_[found, there]
            known_emissions[row, here] = 1.0
    is_new = is_known == 0.0 if alpha == 0 else table == -np.inf
    table = np.where(is_new, NOISE / max(model.layout.n_symbols, 1), np.exp(table))
    model.layout.split(table)[2][~model.layout.allowed] = 0.0
    return model.layout.maximise(table.ravel())
