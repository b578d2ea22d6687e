"""How a parser learns: number everything, say what each sentence teaches, train, then labels."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.arc_rule import ArcRule
from partita.data.dependencies import UNKNOWN
from partita.distribution.linear_chain import LinearChain
from partita.estimators.explain import Cell
from partita.estimators.parsing.joint import ArcLabels, arc_label_templates
from partita.estimators.parsing.labels import LabelModel, Labels
from partita.estimators.parsing.material import (
    ArcExpectations,
    TreeMaterial,
    read_material,
)
from partita.estimators.parsing.model import KeyedWords, ParserModel, Siblings
from partita.estimators.runs import RunPlan, learn, n_stages, run
from partita.estimators.supervision import Known, Lessons
from partita.features.arc_constraints import known_words, rule_conditions
from partita.features.arc_keys import KeyMaker
from partita.features.siblings import SiblingKeyMaker
from partita.objectives import Counts, Likelihood
from partita.structures.chains import Chains
from partita.text.arc_templates import (
    ArcTemplate,
    columns_of,
    default_arc_templates,
    read_arc_templates,
)
from partita.text.known_values import KnownValues
from partita.text.label_templates import default_label_templates
from partita.text.markers import MARKER, with_sources
from partita.text.sibling_templates import default_sibling_templates
from partita.text.tree_words import NAMES, read_tree_words, telling_columns
from partita.text.words import CountedWords, Words
from partita.training import AdaGrad, Batch, Penalty, TrainingResult, build_corpus
from partita.training.batches import CACHED_PARTS, cut
from partita.training.optimisers import Cosine
from partita.training.workers import held

if TYPE_CHECKING:
    from partita.estimators.parsing.parser import DependencyParser

BATCHES_PER_STEP = 6
"""A step is cut into so many batches, for threads to share."""
LABEL_PARTS = 2**16
"""Scores of labels in a batch."""
LABEL_OPTIMISER = AdaGrad(rate=Cosine(0.1), n_iterations=5)


class Prepared(NamedTuple):
    """A model without weights, and what it is to learn from."""

    model: ParserModel
    encoded: KeyedWords
    material: TreeMaterial


@dataclass(frozen=True)
class LearntParser:
    """What `fit` gives."""

    model: ParserModel
    words: Words
    """Those that it was learnt from."""
    material: TreeMaterial
    training: TrainingResult
    labels: Labels | None = None
    label_weights: FloatArray | None = None
    """Of a second model; the others are among those of the arcs."""
    more_facts: Mapping[str, Cell] = field(default_factory=dict)
    """What else people are told, where `words` are not all that it was learnt from."""


def fit_parser(
    options: "DependencyParser", material: TreeMaterial, held_out: Sequence[Any] | None
) -> LearntParser:
    """Models of arcs and of labels, and their weights; `held_out` says when to stop."""
    prepared = prepare(options, material)
    # One cluster for arcs and labels: a signal while it starts would lose what was learnt before.
    with held(options.workers):
        training, stage = _trained(options, prepared, held_out)
        model, (words, *_), lifted = prepared
        # The keys of all words are larger than the weights, and labels have features of their own.
        del prepared, _
        if model.labels is not None:
            return LearntParser(model, words, lifted, training, model.labels)
        if not options.labels or material.labels is None:
            return LearntParser(model, words, lifted, training)
        label_model, second = _trained_labels(options, words, lifted, stage, training)
        both = arcs_then_labels(training, second)
        return LearntParser(model, words, lifted, both, label_model, second.weights)


def arcs_then_labels(arcs: TrainingResult, labels: TrainingResult) -> TrainingResult:
    """The run of the arcs, which also says if that of the labels was ended."""
    if not labels.interrupted:
        return arcs
    reason = f"{arcs.reason} Labels: {labels.reason}"
    return dataclasses.replace(arcs, interrupted=True, reason=reason)


def prepare(options: "DependencyParser", material: TreeMaterial) -> Prepared:
    """What the options and the training sentences make of a model, before it learns."""
    projective, mark = tree_kind(options, material.has_few_crossings)
    if projective:
        material = material.lifted(single_root=options.single_root, mark=mark)
    words = read_tree_words(material.sentences)
    names = None
    if options.labels == "joint" and material.labels is not None:
        names = label_names(material)
    model = make_model(options, words, projective, names)
    if model.labels is not None:
        material = material.numbered(model.labels.numbers)
    return Prepared(model, model.encode_words(words), material)


def tree_kind(
    options: "DependencyParser", has_few_crossings: Callable[[], bool]
) -> tuple[bool, bool]:
    """Whether trees are projective, and if so, whether labels remember which arcs were lifted."""
    projective = True if options.order == 2 else options.projective
    if projective is None:
        projective = has_few_crossings()
    mark = options.pseudo_projective
    if mark is None:
        mark = projective and options.projective is None and not has_few_crossings()
    return projective, mark and bool(options.labels)


def make_model(
    options: "DependencyParser",
    words: Words | CountedWords,
    projective: bool,
    joint: tuple[str, ...] | None,
) -> ParserModel:
    """The model of some words, before it learns; `joint` are labels to learn beside the arcs."""
    labels = None
    if joint is not None:
        templates = arc_label_templates(telling_columns(words))
        maker = KeyMaker.learn(templates, words, options.min_count)
        labels = ArcLabels(joint, options.label_bits, maker)
    return ParserModel(
        KeyMaker.learn(_templates(options, words), words, options.min_count),
        options.n_bits,
        projective,
        options.single_root,
        tuple(name for name in NAMES if name in words.columns),
        labels,
        _siblings(options, words) if options.order == 2 else None,
    )


def _siblings(options: "DependencyParser", words: Words | CountedWords) -> Siblings:
    templates = default_sibling_templates(telling_columns(words))
    maker = SiblingKeyMaker.learn(templates, words, options.min_count)
    return Siblings(maker, options.sibling_bits)


def _templates(options: "DependencyParser", words: Words | CountedWords) -> tuple[ArcTemplate, ...]:
    if options.features is None:
        return default_arc_templates(telling_columns(words))
    templates = read_arc_templates(options.features)
    for name in columns_of(templates, NAMES):
        if name not in words.columns:
            raise ValueError(
                f"the templates look at the column {name}, which not all sentences have; they "
                f"have {', '.join(words.columns)}. Leave these templates out, or add the column."
            )
    return templates


# ---------------------------------------------------------------------- arcs


def _trained(
    options: "DependencyParser", prepared: Prepared, held_out: Sequence[Any] | None
) -> tuple[TrainingResult, int]:
    """The last of some runs, with the mean of the weights of all; and the stage after them.

    Every run has a seed and an order of the sentences of its own.
    """
    judge = None if held_out is None else held_out_trees(prepared.model, held_out)
    start = first_weights(options, prepared.model)
    ready = [lessons_of(options, prepared)]
    stages = n_stages(ready[0], start)

    def learnt(each: "DependencyParser", way: RunPlan, stage: int) -> TrainingResult:
        # Those of the first run are given away, so that nothing is left of them in the next one.
        lessons = ready.pop() if stage == 1 else lessons_of(each, prepared)
        return learn(lessons, way, start, judge, first_stage=stage)

    return averaged(options, learnt, stages)


def averaged(
    options: "DependencyParser",
    learnt: Callable[["DependencyParser", RunPlan, int], TrainingResult],
    stages: int = 1,
) -> tuple[TrainingResult, int]:
    """The last of some runs, of a number of stages each, with the mean of the weights of all."""
    n_models = options.n_models if options.has_mini_batches else 1
    means, n_whole = np.zeros(0), 0
    last: TrainingResult | None = None
    for number in range(n_models):
        each = dataclasses.replace(options, seed=options.seed + number)
        way = dataclasses.replace(each.way(), is_extra=n_whole > 0)
        result = learnt(each, way, 1 + number * stages)
        last = result if last is None else result.after(last)
        # A model that was broken off would only spoil the mean of the whole ones.
        if n_whole == 0:
            means, n_whole = result.weights, 1
        elif not result.interrupted:
            means += result.weights
            n_whole += 1
        if result.interrupted:
            break
    assert last is not None
    if n_whole > 1:
        means /= n_whole
    return dataclasses.replace(last, weights=means), 1 + n_models * stages


def lessons_of(options: "DependencyParser", prepared: Prepared) -> Lessons:
    """All sentences, in an order that follows from the seed, and what they teach."""
    model, encoded, material = prepared
    order = material.order(options.seed)
    mean_parts = np.mean(model.part_counts(encoded.words.n_words))
    most = max(int(mean_parts * options.batch_sentences) // BATCHES_PER_STEP, 1)
    weights, rules = material.sample_weight, options.rules
    return Lessons(
        _pieces(model, encoded._replace(order=order), material.known, most),
        material.knowledge(order),
        options.course(),
        None if weights is None else weights[order],
        options.entropy_term(),
        [_expectations(rules, options.rule_weight, material, order)] if rules else [],
        what="heads",
    )


def _pieces(
    model: ParserModel, encoded: KeyedWords, known: Sequence[Known], most: int
) -> dict[Known, Any]:
    ends = np.cumsum([0, *(known.count(each) for each in Known)]).tolist()
    return {
        each: list(model.pieces(encoded, first, last, most))
        for each, first, last in zip(Known, ends[:-1], ends[1:], strict=True)
    }


def _expectations(
    rules: Sequence[ArcRule], weight: float, material: TreeMaterial, order: IntArray
) -> ArcExpectations:
    conditions = rule_conditions(rules, (*NAMES, MARKER))
    used = with_sources({str(each.field.column) for each in conditions.values()}) - {MARKER}
    # Rules about any word at all look at no column.
    columns = sorted(used) if used else None
    words = known_words(read_tree_words(material.sentences, columns), conditions)
    return ArcExpectations(rules, [words[index] for index in order], weight)


def held_out_trees(model: ParserModel, given: Sequence[Any]) -> Lessons:
    """Sentences to judge by: a tuple of them, heads and labels, or sentences with columns."""
    sentences, *trees = given if isinstance(given, tuple) else (given,)
    heads, labels = (*trees, None, None)[:2]
    material = read_material(sentences, heads, labels, single_root=model.single_root)
    if model.labels is not None and material.labels is not None:
        material = material.numbered(model.labels.numbers)
    order = material.order()
    encoded = model.encode(material.sentences)._replace(order=order)
    pieces = _pieces(model, encoded, material.known, CACHED_PARTS)
    return Lessons(pieces, material.knowledge(order), what="heads")


def first_weights(options: "DependencyParser", model: ParserModel) -> FloatArray | None:
    """Where to start; None for weights of 0."""
    start = options.warm_start
    if start is None:
        return None
    if not isinstance(start, np.ndarray):
        start._check_fitted()
        start = start.weights_
    if start.shape != (model.n_weights,):
        raise ValueError(
            f"warm_start has {start.size} weights; expected {model.n_weights}, for n_bits = "
            f"{model.n_bits}. Set n_bits as it was."
        )
    return np.asarray(start, dtype=np.float64)


# ---------------------------------------------------------------------- labels


def label_names(material: TreeMaterial) -> tuple[str, ...]:
    """The labels of sentences with whole trees, in order."""
    return checked_names(names_of_labels(material))


def names_of_labels(material: TreeMaterial) -> set[str]:
    """The same, in any order, and maybe none."""
    pairs = zip(material.labels or (), material.known, strict=True)
    return {name for labels, known in pairs if known is Known.ALL for name in labels}


def checked_names(found: set[str]) -> tuple[str, ...]:
    """Labels in order; an error if there are none."""
    if not found.difference(UNKNOWN):
        raise ValueError(
            "no sentence has all heads and a label; expected some to learn labels from. Set "
            "labels=False for a parser without labels."
        )
    return tuple(sorted(found.difference(UNKNOWN)))


def _trained_labels(
    options: "DependencyParser",
    words: Words,
    material: TreeMaterial,
    stage: int,
    arcs: TrainingResult,
) -> tuple[LabelModel, TrainingResult]:
    """A model of the labels of known arcs, learnt from the trees that the arcs were learnt from."""
    model = make_label_model(options, words, label_names(material))
    batches = list(label_batches(model, words, material, options.seed))
    return model, learn_labels(options, batches, stage, arcs)


def make_label_model(
    options: "DependencyParser", words: Words | CountedWords, names: tuple[str, ...]
) -> LabelModel:
    """The model of labels, before it learns."""
    templates = default_label_templates(telling_columns(words))
    fields = [each.field for template in templates for each in template.fields]
    known = KnownValues.learn(words, fields, options.min_count)
    return LabelModel(names, options.label_bits, templates, known)


def label_batches(
    model: LabelModel, words: Words, material: TreeMaterial, seed: int
) -> Iterator[Batch]:
    """The labels of sentences whose trees are known, in an order that follows from the seed."""
    order = material.order(seed)[: material.known.count(Known.ALL)]
    if not len(order):
        return
    assert material.labels is not None
    given = [name for index in order for name in material.labels[index]]
    chosen = words.chosen(order)
    rows = model.attributes(chosen, np.concatenate([material.heads[index] for index in order]))
    numbers = np.array([model.numbers.get(name, -1) for name in given], dtype=np.int64)
    counted = (numbers >= 0).astype(np.float64)
    if material.sample_weight is not None:
        counted *= np.repeat(material.sample_weight[order], chosen.n_words)
    n_labels = len(model.names)
    for part in cut(np.full(len(numbers), n_labels), LABEL_PARTS):
        here = slice(part.start, part.stop)
        # Every word on its own.
        chains = Chains(np.ones(len(part), dtype=np.int64), n_labels, shared=False)
        # A word whose label is not known has a weight of 0, and any label.
        target = Counts.of(chains, list(np.maximum(numbers[here], 0)[:, None]))
        weights = None if (counted[here] == 1.0).all() else counted[here]
        targets = {Likelihood.__name__: target}
        yield Batch(LinearChain, chains, model.features(rows[here]), targets, weights)


def learn_labels(
    options: "DependencyParser", batches: Sequence[Batch], stage: int, arcs: TrainingResult
) -> TrainingResult:
    """The weights of labels, without which those of the arcs are no model, if there are such."""
    way = RunPlan(options, LABEL_OPTIMISER, Penalty(), is_needed=not arcs.learnt_nothing)
    with build_corpus(Likelihood(), batches, workers=options.workers, n_shards=1) as corpus:
        return run(corpus, way, stage=stage)
