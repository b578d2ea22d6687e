"""How a parser learns: sort sentences by what is known of them, number everything, train."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.parsing.explain import strongest_features
from partita.estimators.parsing.keys import kind_column
from partita.estimators.parsing.label_training import fit_labels
from partita.estimators.parsing.labels import LabelModel
from partita.estimators.parsing.material import FULL, NONE, Material, sorted_material, targets_of
from partita.estimators.parsing.model import Encoded, ParserModel
from partita.estimators.parsing.plan import BATCHES_PER_STEP, Plan
from partita.estimators.parsing.templates import columns_of, default_templates, read_templates
from partita.estimators.parsing.training import Lessons, Rules
from partita.estimators.parsing.words import NAMES, Lexicon, Words, read_words
from partita.training import TrainingResult, build_corpus, train


@dataclass(frozen=True)
class Fitted:
    """What `fit` gives."""

    model: ParserModel
    training: TrainingResult
    label_model: LabelModel | None
    label_weights: FloatArray | None
    n_lifted: int
    strongest: dict[str, list[tuple[str, float]]]
    """Of the features of training trees, those of the largest weights, by template."""


def fit_parser(
    plan: Plan,
    sentences: Sequence[Any],
    heads: Sequence[Any] | None,
    labels: Sequence[Sequence[str]] | None,
    unlabelled: Sequence[Any],
    held_out: Sequence[Any] | None,
    sample_weights: Sequence[float] | None,
) -> Fitted:
    """A model and its weights."""
    if not len(sentences) and not len(unlabelled):
        raise ValueError("no sentences came; expected some to learn from.")
    known, names = targets_of(sentences, heads, labels, single_root=plan.single_root)
    plan = plan.decided(known)

    def sorted_for(each: Plan) -> Material:
        return sorted_material(each, sentences, known, names, unlabelled, sample_weights)

    material = sorted_for(plan)
    words = read_words(material.sentences)
    templates = _templates(plan, words)
    lexicon = Lexicon.learn(words, plan.min_count, kind_column(templates))
    columns = tuple(name for name in NAMES if name in words.columns)
    model = ParserModel(
        templates, lexicon, plan.n_bits, bool(plan.projective), plan.single_root, columns
    )
    encoded = Encoded(words, model.maker.keys(words))
    judge = _judge(model, held_out)
    first = partial(_trained, plan, _lessons(plan, model, material, encoded), judge)
    further = [
        partial(_trained_anew, each, model, sorted_for, judge) for each in plan.further_models()
    ]
    training = _averaged([first, *further])
    label_model, label_weights = None, None
    if plan.labels and material.labels is not None:
        label_model, label_weights = fit_labels(plan, material, encoded, model)
    trees = material.heads[: material.counts[FULL]]
    strongest = strongest_features(model, training.weights, encoded, trees)
    return Fitted(model, training, label_model, label_weights, material.n_lifted, strongest)


def _templates(plan: Plan, words: Words) -> Any:
    if plan.features is None:
        return default_templates(tuple(words.columns))
    templates = read_templates(plan.features)
    for name in columns_of(templates):
        if name not in words.columns:
            raise ValueError(
                f"the templates look at the column {name}, which not all sentences have; they "
                f"have {', '.join(words.columns)}. Leave these templates out, or add the column."
            )
    return templates


def _rules(plan: Plan, sentences: Sequence[Any]) -> Rules | None:
    if not plan.rules:
        return None
    words = read_words(sentences, ("UPOS",)).columns["UPOS"]
    tags = np.array(words.values, dtype=object)[words.numbers]
    ends = np.cumsum([len(sentence) for sentence in sentences])[:-1]
    return Rules(plan.rules, [part.tolist() for part in np.split(tags, ends)], plan.rule_weight)


def _parts_of_batch(words: Words, n_sentences: int) -> int:
    """Arcs that make a batch of so many sentences on average."""
    return int(np.mean((words.n_words + 1.0) ** 2) * n_sentences)


# ---------------------------------------------------------------------- training


def _judge(
    model: ParserModel, held_out: Sequence[Any] | None
) -> Callable[[FloatArray], float] | None:
    """The share of wrong heads in held-out sentences."""
    if held_out is None:
        return None
    heads, _ = targets_of(held_out, None, None, single_root=model.single_root)
    encoded = model.encode(held_out)
    pieces = list(model.pieces(encoded))
    n_known = sum(int((each >= 0).sum()) for each in heads)
    if n_known == 0:
        raise ValueError("no held-out word has a known head; expected at least one.")

    def wrong_heads(weights: FloatArray) -> float:
        n_wrong = 0
        for piece in pieces:
            found = model.distribution(piece, weights).best.structures
            for index, tree in zip(piece.sentences, found, strict=True):
                n_wrong += int(((tree != heads[index]) & (heads[index] >= 0)).sum())
        return n_wrong / n_known

    return wrong_heads


def _lessons(plan: Plan, model: ParserModel, material: Material, encoded: Encoded) -> Lessons:
    return Lessons(
        model,
        encoded,
        material.heads,
        material.counts,
        material.weights,
        plan.entropy_weight,
        plan.entropy_ramp,
        plan.renyi_alpha,
        _rules(plan, material.sentences),
        n_parts=max(_parts_of_batch(encoded.words, plan.batch_sentences) // BATCHES_PER_STEP, 1),
    )


def _averaged(runs: Sequence[Callable[[], TrainingResult]]) -> TrainingResult:
    """The last run, with the mean of the weights of all."""
    result = runs[0]()
    total, n_models = result.weights, 1
    for run in runs[1:]:
        if result.interrupted:
            break
        result = run()
        # A model that was broken off would only spoil the mean of the whole ones.
        if not result.interrupted:
            total, n_models = total + result.weights, n_models + 1
    return replace(result, weights=total / n_models)


def _trained_anew(
    plan: Plan, model: ParserModel, sorted_for: Callable[[Plan], Material], judge: Any
) -> TrainingResult:
    """Another model of the same features, from the sentences in another order."""
    material = sorted_for(plan)
    encoded = model.encode(material.sentences)
    return _trained(plan, _lessons(plan, model, material, encoded), judge)


def _trained(plan: Plan, lessons: Lessons, judge: Any) -> TrainingResult:
    start = _first_weights(plan, lessons.model)
    risk, entropy = plan.objective == "risk", plan.entropy_weight > 0
    heads_teach = sum(lessons.counts[:NONE]) > 0 or lessons.rules is not None
    if (risk or entropy) and start is None and heads_teach:
        # Neither risk nor entropy is convex: weights that make the trees likely, without either
        # of them, are a good place to start.
        plain = replace(lessons, entropy_weight=0.0)
        first = replace(plan, checkpoint=None, resume=False, log=None)
        likely = _run(first, plain, None, judge, risk=False)
        if likely.interrupted:
            return likely
        start = likely.weights
    return _run(plan, lessons, start, judge, risk=risk)


def _run(
    plan: Plan, lessons: Lessons, start: FloatArray | None, judge: Any, *, risk: bool
) -> TrainingResult:
    objective, batches = lessons.assemble(risk=risk)
    # A shard has a gradient of its own, as long as the weights.
    with build_corpus(objective, batches, workers=plan.n_threads, n_shards=1) as corpus:
        return train(
            corpus,
            plan.chosen_optimiser(),
            penalty=plan.penalty,
            weights=start,
            held_out=judge,
            patience=plan.patience,
            seed=plan.seed,
            checkpoint=plan.checkpoint,
            checkpoint_seconds=plan.checkpoint_seconds,
            resume=plan.resume,
            log=plan.log,
            progress=plan.progress,
        )


def _first_weights(plan: Plan, model: ParserModel) -> FloatArray | None:
    start = plan.warm_start
    if start is None:
        return None
    if np.shape(start) != (model.n_weights,):
        raise ValueError(
            f"warm_start has {np.size(start)} weights; expected {model.n_weights}, for n_bits = "
            f"{model.n_bits}. Set n_bits as it was."
        )
    return np.asarray(start, dtype=np.float64)
