"""How a parser learns: sort sentences by what is known of them, number everything, train."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.arc_rules import ArcRule
from partita.data.conllu import UNKNOWN_HEAD
from partita.data.dependencies import UNKNOWN, relations, tree_heads
from partita.data.sentences import Sentence
from partita.distribution.linear_chain import LinearChain
from partita.estimators.parsing.explain import strongest_features
from partita.estimators.parsing.keys import kind_column
from partita.estimators.parsing.labels import LabelModel
from partita.estimators.parsing.model import Encoded, ParserModel, nearest_projective
from partita.estimators.parsing.templates import (
    Description,
    columns_of,
    default_templates,
    read_templates,
)
from partita.estimators.parsing.training import Lessons, Rules
from partita.estimators.parsing.words import NAMES, Lexicon, Words, read_words, where
from partita.objectives import Counts, Likelihood
from partita.structures.tree_tools import is_projective
from partita.training import (
    LBFGS,
    SGD,
    AdaGrad,
    Adam,
    Batch,
    Penalty,
    TrainingResult,
    build_corpus,
    train,
)
from partita.training.batches import cut
from partita.training.optimisers import Cosine, Optimiser

Path = str | os.PathLike[str]
FULL, PARTIAL, NONE = range(3)
AVERAGE_FROM = 1
"""The pass, counted from 0, from which on weights are averaged over steps."""
BATCHES_PER_STEP = 6
"""A step is cut into so many batches, for threads to share."""
FEW_CROSSING = 0.05
"""Share of training sentences with crossing arcs below which trees are projective by default."""
RATES = {"adam": 0.003, "adagrad": 0.03, "sgd": 0.1}
N_PASSES = 6
LABEL_PASSES = 5
STOCHASTIC: dict[str, type[Adam | AdaGrad | SGD]] = {"adam": Adam, "adagrad": AdaGrad, "sgd": SGD}


@dataclass(frozen=True)
class Plan:
    """The arguments of `DependencyParser`, checked."""

    projective: bool | None
    single_root: bool
    features: Description | None
    min_count: int
    n_bits: int
    labels: bool
    label_bits: int
    objective: str
    l2: float | None
    optimiser: str | None
    rate: float | None
    max_iterations: int | None
    batch_sentences: int
    entropy_weight: float
    entropy_ramp: int
    renyi_alpha: float | None
    rules: Sequence[ArcRule] | None
    rule_weight: float
    warm_start: Any
    patience: int
    checkpoint_seconds: float
    seed: int
    n_threads: int | None
    progress: bool | None
    checkpoint: Path | None
    resume: bool
    log: Path | None

    def __post_init__(self) -> None:
        choices = {
            "objective": (self.objective, ("likelihood", "risk")),
            "optimiser": (self.optimiser, (None, "lbfgs", *STOCHASTIC)),
        }
        for name, (value, allowed) in choices.items():
            if value not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise ValueError(f"{name} is {value!r}; expected one of {listed}.")
        if self.rules and self.optimiser not in (None, "lbfgs"):
            raise ValueError(
                f"rules came with the optimiser {self.optimiser!r}; their expectations are those "
                "of all sentences at once, so that it takes optimiser='lbfgs'."
            )
        for name, number, least, most in (
            ("n_bits", self.n_bits, 3, 28),
            ("label_bits", self.label_bits, 1, 24),
            ("min_count", self.min_count, 1, 2**31),
            ("batch_sentences", self.batch_sentences, 1, 2**31),
        ):
            if not least <= number <= most:
                raise ValueError(f"{name} is {number}; expected {least} to {most}.")
        if self.entropy_weight < 0:
            raise ValueError(f"entropy_weight is {self.entropy_weight}; expected 0 or more.")

    def decided(self, heads: Sequence[IntArray]) -> "Plan":
        """With `projective` set: whether hardly any of the trees has arcs that cross."""
        if self.projective is not None:
            return self
        n_crossing = sum(not may_be_projective(each) for each in heads)
        return replace(self, projective=n_crossing < FEW_CROSSING * max(len(heads), 1))

    @property
    def method(self) -> str:
        """The name of the optimiser: rules take all sentences at once."""
        return self.optimiser or ("lbfgs" if self.rules else "adagrad")

    @property
    def penalty(self) -> Penalty:
        """Few passes keep weights small; to the end of the way, a penalty must."""
        usual = 1.0 if self.method == "lbfgs" else 0.0
        return Penalty(l2=usual if self.l2 is None else self.l2)

    def chosen_optimiser(self) -> Optimiser[Any]:
        """The optimiser that the arguments describe."""
        if self.method == "lbfgs":
            return LBFGS() if self.max_iterations is None else LBFGS(self.max_iterations)
        return STOCHASTIC[self.method](
            rate=Cosine(RATES[self.method] if self.rate is None else self.rate),
            n_iterations=N_PASSES if self.max_iterations is None else self.max_iterations,
            batches_per_step=BATCHES_PER_STEP,
            average_from=AVERAGE_FROM,
        )


@dataclass(frozen=True)
class Material:
    """Sentences sorted by what is known of their heads: all, some, none."""

    sentences: list[Any]
    heads: list[IntArray]
    labels: list[Sequence[str]] | None
    counts: tuple[int, int, int]
    weights: FloatArray | None
    n_lifted: int
    """Sentences whose arcs cross, and which learn from the nearest projective tree instead."""


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
    known, names = targets_of(sentences, heads, labels, single_root=plan.single_root)
    plan = plan.decided(known)
    material = sorted_material(plan, sentences, known, names, unlabelled, sample_weights)
    words = read_words(material.sentences)
    templates = _templates(plan, words)
    lexicon = Lexicon.learn(words, plan.min_count, kind_column(templates))
    columns = tuple(name for name in NAMES if name in words.columns)
    model = ParserModel(
        templates, lexicon, plan.n_bits, bool(plan.projective), plan.single_root, columns
    )
    encoded = Encoded(words, model.maker.keys(words))
    lessons = Lessons(
        model,
        encoded,
        material.heads,
        material.counts,
        material.weights,
        plan.entropy_weight,
        plan.entropy_ramp,
        plan.renyi_alpha,
        _rules(plan, material.sentences),
        n_parts=max(_parts_of_batch(words, plan.batch_sentences) // BATCHES_PER_STEP, 1),
    )
    training = _trained(plan, lessons, _judge(model, held_out))
    label_model, label_weights = None, None
    if plan.labels and material.labels is not None:
        label_model, label_weights = fit_labels(plan, material, encoded, model)
    trees = material.heads[: material.counts[FULL]]
    strongest = strongest_features(model, training.weights, encoded, trees)
    return Fitted(model, training, label_model, label_weights, material.n_lifted, strongest)


# ---------------------------------------------------------------------- what came


def sorted_material(
    plan: Plan,
    sentences: Sequence[Any],
    known: list[IntArray],
    names: list[Sequence[str]] | None,
    unlabelled: Sequence[Any],
    sample_weights: Sequence[float] | None,
) -> Material:
    """Sentences in random order, sorted by what is known of their heads."""
    together = [*sentences, *unlabelled]
    known = known + [np.full(len(each), UNKNOWN_HEAD) for each in unlabelled]
    if names is not None:
        names = names + [(UNKNOWN[0],) * len(each) for each in unlabelled]
    kinds = np.array([_kind(each) for each in known], dtype=np.int64)
    shuffled = np.random.default_rng(plan.seed).permutation(len(together))
    order = shuffled[np.argsort(kinds[shuffled], kind="stable")].tolist()
    crossing = [bool(plan.projective) and not may_be_projective(each) for each in known]
    if plan.projective:
        known = [
            nearest_projective(each, single_root=plan.single_root) if crosses else each
            for each, crosses in zip(known, crossing, strict=True)
        ]
    weights = None
    if sample_weights is not None:
        if len(sample_weights) != len(sentences):
            raise ValueError(
                f"{len(sample_weights)} sample_weights came for {len(sentences)} sentences; "
                "expected one for each."
            )
        weights = np.concatenate([np.asarray(sample_weights, float), np.ones(len(unlabelled))])
        weights = weights[order]
    return Material(
        [together[index] for index in order],
        [known[index] for index in order],
        None if names is None else [names[index] for index in order],
        (int((kinds == FULL).sum()), int((kinds == PARTIAL).sum()), int((kinds == NONE).sum())),
        weights,
        sum(crossing),
    )


def targets_of(
    sentences: Sequence[Any],
    heads: Sequence[Any] | None,
    labels: Sequence[Sequence[str]] | None,
    *,
    single_root: bool,
) -> tuple[list[IntArray], list[Sequence[str]] | None]:
    """Heads (-1 where not known) and labels (None if there are none) of sentences."""
    found = []
    for index, sentence in enumerate(sentences):
        given = None if heads is None else heads[index]
        if given is None and isinstance(sentence, Sentence) and "HEAD" in sentence.columns:
            found.append(np.array(tree_heads(sentence, single_root=single_root, partial=True)))
            continue
        if given is None:
            found.append(np.full(len(sentence), UNKNOWN_HEAD))
            continue
        values = np.asarray(given, dtype=np.int64)
        if values.shape != (len(sentence),):
            raise ValueError(
                f"{where(sentence, index)} has {len(sentence)} words and heads of shape "
                f"{values.shape}; expected one for each word, 0 for the root and -1 if not known."
            )
        as_text = Sentence(
            {"HEAD": tuple("_" if value < 0 else str(value) for value in values.tolist())},
            source=where(sentence, index),
        )
        found.append(np.array(tree_heads(as_text, single_root=single_root, partial=True)))
    if labels is not None:
        return found, [tuple(each) for each in labels]
    if sentences and all(
        isinstance(each, Sentence) and "DEPREL" in each.columns for each in sentences
    ):
        return found, [relations(each, partial=True) for each in sentences]
    return found, None


def _kind(heads: IntArray) -> int:
    if (heads >= 0).all():
        return FULL
    return NONE if (heads < 0).all() else PARTIAL


def may_be_projective(heads: IntArray) -> bool:
    """Whether a tree is projective; of one that is known in part nothing is claimed."""
    return bool((heads < 0).any()) or is_projective(heads)


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


def _trained(plan: Plan, lessons: Lessons, judge: Any) -> TrainingResult:
    start = _first_weights(plan, lessons.model)
    risk, entropy = plan.objective == "risk", plan.entropy_weight > 0
    heads_teach = sum(lessons.counts[:NONE]) > 0 or lessons.rules is not None
    if (risk or entropy) and start is None and heads_teach:
        # Neither risk nor entropy is convex: weights that make the trees likely, without either
        # of them, are a good place to start.
        plain = replace(lessons, entropy_weight=0.0)
        first = replace(plan, checkpoint=None, resume=False, log=None)
        start = _run(first, plain, None, judge, risk=False).weights
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


def fit_labels(
    plan: Plan, material: Material, encoded: Encoded, parser: ParserModel
) -> tuple[LabelModel, FloatArray]:
    """A model of the labels of known arcs, learnt from trees as they are given."""
    assert material.labels is not None
    n_full = material.counts[FULL]
    given = [name for each in material.labels[:n_full] for name in each]
    names = tuple(sorted({name for name in given if name not in UNKNOWN}))
    if not names:
        raise ValueError(
            "no sentence has all heads and a label; expected some to learn labels from. Set "
            "labels=False for a parser without labels."
        )
    model = LabelModel(names, parser.lexicon, plan.label_bits, parser.columns)
    words = _first_sentences(encoded.words, n_full)
    rows = model.attributes(words, np.concatenate(material.heads[:n_full]))
    numbers = np.array([model.numbers.get(name, -1) for name in given], dtype=np.int64)
    batches = []
    for part in cut(np.full(len(numbers), len(names)), 2**16):
        chains = model.chains(len(part))
        weights = None
        known = numbers[part.start : part.stop]
        if (known < 0).any():
            weights, known = (known >= 0).astype(np.float64), np.maximum(known, 0)
        target = Counts.of(chains, list(known[:, None]))
        features = model.features(rows[part.start : part.stop])
        batches.append(Batch(LinearChain, chains, features, {"Likelihood": target}, weights))
    optimiser = AdaGrad(rate=Cosine(0.1), n_iterations=LABEL_PASSES)
    with build_corpus(Likelihood(), batches, workers=plan.n_threads, n_shards=1) as corpus:
        result = train(corpus, optimiser, seed=plan.seed, progress=plan.progress)
    return model, result.weights


def _first_sentences(words: Words, n_sentences: int) -> Words:
    n_words = words.n_words[:n_sentences]
    end = int(n_words.sum())
    columns = {
        name: replace(column, numbers=column.numbers[:end])
        for name, column in words.columns.items()
    }
    return Words(n_words, columns)
