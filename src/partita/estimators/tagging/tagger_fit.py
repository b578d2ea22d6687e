"""How a tagger learns: sort sentences by what is known of them, number everything, train."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.constraints import ExpectationConstraint
from partita.data.schemes import SCHEMES, UNKNOWN
from partita.data.sentences import Sentence
from partita.estimators.tagging.chain_model import AnyFeatures, ChainModel
from partita.estimators.tagging.constraint_rows import number_constraints
from partita.estimators.tagging.tag_labels import TagSet, checked_tags, where
from partita.estimators.tagging.tagger_run import RunOptions, run_lessons
from partita.estimators.tagging.tagger_training import Expectations, Lessons, tag_shares
from partita.features.pairs import Pairs
from partita.text.extraction import Encoded, TemplateFeatures
from partita.text.named_features import NamedFeatures
from partita.text.templates import (
    Description,
    default_templates,
    read_templates,
    resolved,
)
from partita.text.words import Words, default_columns, read_words
from partita.training import LBFGS, OWLQN, SGD, AdaGrad, Adam, Penalty, TrainingResult
from partita.training.optimisers import Optimiser
from partita.training.trainer import Path

Tagged = tuple[Sequence[Any], Sequence[Sequence[str]] | None]
"""Sentences and their tags, which may be in a column of theirs."""

STOCHASTIC: dict[str, type[Adam | AdaGrad | SGD]] = {"adam": Adam, "adagrad": AdaGrad, "sgd": SGD}
FULL, PARTIAL, NONE = range(3)
PIECE = 2**15
"""Words that are looked at together."""
MANY_WORDS = 50_000
"""From here on the default features leave out what occurs once."""


@dataclass(frozen=True)
class Curriculum:
    """The arguments of `Tagger`, checked."""

    features: Description | None
    min_count: int | None
    pairs: str
    columns: Sequence[str] | None
    tag_column: str | None
    scheme: str | None
    objective: str
    l2: float
    l1: float
    optimiser: str
    max_iterations: int | None
    class_weights: Mapping[str, float] | str | None
    entropy_weight: float
    entropy_ramp: int
    share_weight: float | None
    constraints: Sequence[ExpectationConstraint] | None
    constraint_weight: float
    constraint_distance: str
    warm_start: tuple[ChainModel, FloatArray] | FloatArray | None
    patience: int
    checkpoint: Path | None
    checkpoint_seconds: float
    resume: bool
    log: Path | None
    seed: int
    n_threads: int | None
    progress: bool | None

    def __post_init__(self) -> None:
        choices = {
            "pairs": (self.pairs, ("all", "observed")),
            "scheme": (self.scheme, (None, "auto", *SCHEMES)),
            "objective": (self.objective, ("likelihood", "risk")),
            "optimiser": (self.optimiser, ("lbfgs", "owlqn", *STOCHASTIC)),
        }
        for name, (value, allowed) in choices.items():
            if value not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise ValueError(f"{name} is {value!r}; expected one of {listed}.")
        if self.min_count is not None and self.min_count < 1:
            raise ValueError(f"min_count is {self.min_count}; expected 1 or more.")
        for name in ("entropy_weight", "share_weight"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < np.inf:
                raise ValueError(f"{name} is {value}; expected a number, 0 or more.")

    def run_options(self) -> RunOptions:
        """What a training run needs to know."""
        return RunOptions(
            self._optimiser(),
            Penalty(l2=self.l2, l1=self.l1),
            patience=self.patience,
            checkpoint=self.checkpoint,
            checkpoint_seconds=self.checkpoint_seconds,
            resume=self.resume,
            log=self.log,
            seed=self.seed,
            n_threads=self.n_threads,
            progress=self.progress,
        )

    def _optimiser(self) -> Optimiser[Any]:
        most: dict[str, Any] = {}
        if self.max_iterations is not None:
            most["n_iterations"] = self.max_iterations
        if self.optimiser in STOCHASTIC:
            return STOCHASTIC[self.optimiser](**most)
        return OWLQN(**most) if self.l1 or self.optimiser == "owlqn" else LBFGS(**most)


@dataclass(frozen=True)
class Material:
    """Sentences sorted by what is known of their tags: all, some, none."""

    sentences: list[Any]
    tags: list[list[str]]
    order: list[int]
    """The number that each sentence had when it came."""
    counts: tuple[int, int, int]
    weights: FloatArray | None

    def where(self, index: int) -> str:
        """How to name a sentence in a message."""
        return where(self.sentences[index], self.order[index])


def fit_tagger(
    curriculum: Curriculum,
    sentences: Sequence[Any],
    tags: Sequence[Sequence[str]] | None,
    unlabelled: Sequence[Any],
    sample_weights: Sequence[float] | None,
    held_out: Tagged | None = None,
) -> tuple[ChainModel, TrainingResult]:
    """A model and its weights; `held_out` says when to stop."""
    material = _material(curriculum, sentences, tags, unlabelled, sample_weights)
    words = read_words(material.sentences, _columns(curriculum, material.sentences))
    constraints = curriculum.constraints or ()
    more = [tag for constraint in constraints for tag in constraint.targets]
    tag_set = TagSet.learn(material.tags, more, curriculum.scheme)
    numbers = [
        tag_set.numbers(tags, material.where(index)) for index, tags in enumerate(material.tags)
    ]
    _check_scheme(material, numbers, tag_set)
    n_labelled = sum(material.counts[:NONE])
    if n_labelled and material.counts[NONE] and not constraints:
        # Features that only unlabelled sentences have would be free to be sure of anything.
        few = read_words(material.sentences[:n_labelled], tuple(words.columns) or None)
        features, _ = _features(curriculum, few)
        encoded = features.encode(words)
    else:
        features, encoded = _features(curriculum, words)
    pairs = None
    if curriculum.pairs == "observed":
        pairs = _observed(encoded, numbers, features.n_attributes, len(tag_set))
    model = ChainModel(tag_set, features, pairs)
    expectations = []
    if constraints:
        weight, distance = curriculum.constraint_weight, curriculum.constraint_distance
        expectations.append(
            number_constraints(constraints, words, tag_set, weight=weight, distance=distance)
        )
    share_weight = _share_weight(curriculum, material)
    if share_weight:
        n_words = int(words.n_words.sum())
        expectations.append(tag_shares(numbers, len(tag_set), n_words, share_weight))
    lessons = _lessons(curriculum, material, model, encoded, numbers, expectations)
    start = _first_weights(curriculum, model)
    judge = None if held_out is None else _held_out_lessons(curriculum, model, *held_out)
    risk = curriculum.objective == "risk"
    return model, run_lessons(lessons, curriculum.run_options(), start, risk=risk, held_out=judge)


def _observed(encoded: Encoded, tags: Sequence[IntArray], n_attributes: int, n_tags: int) -> Pairs:
    """The pairs of attribute and tag that labels show."""
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *tags])
    if not (flat >= 0).any():
        raise ValueError(
            "pairs is 'observed', but no word has a known tag, so none are; expected labels, or "
            "pairs='all'."
        )
    # A few thousand words at a time: all pairs of a corpus need not be in memory at once.
    starts = range(0, len(flat), PIECE)
    return Pairs.seen(
        (encoded.words[start : start + PIECE] for start in starts),
        (flat[start : start + PIECE] for start in starts),
        n_attributes,
        n_tags,
    )


def _share_weight(curriculum: Curriculum, material: Material) -> float:
    """The weight of the tags' shares: by default 1 beside entropy, where there are labels."""
    n_full, n_partial, n_none = material.counts
    labels_and_more = n_none > 0 and n_full + n_partial > 0
    if curriculum.share_weight is None:
        return 1.0 if curriculum.entropy_weight and labels_and_more else 0.0
    if curriculum.share_weight and not labels_and_more:
        raise ValueError(
            f"share_weight is {curriculum.share_weight}, but no sentences came "
            f"{'with' if n_none else 'without'} tags; expected both kinds, or a weight of 0."
        )
    return curriculum.share_weight


def _held_out_lessons(
    curriculum: Curriculum,
    model: ChainModel,
    sentences: Sequence[Any],
    tags: Sequence[Sequence[str]] | None,
) -> Lessons:
    """Sentences to judge by; a tag that training never saw is wrong in any case, and left out."""
    given = tags_of(sentences, tags, curriculum.tag_column)
    if given is None:
        raise ValueError(
            "held_out came without tags; expected a pair of sentences and their tags, or "
            "sentences with a tag column (tag_column=...)."
        )
    known = set(model.tags.names)
    pairs = [
        (sentence, [tag if tag in known else UNKNOWN for tag in each])
        for sentence, each in zip(sentences, checked_tags(sentences, given), strict=True)
        if len(sentence)
    ]
    numbers = [model.tags.numbers(each, "held_out") for _, each in pairs]
    if not any((each >= 0).any() for each in numbers):
        raise ValueError("held_out has no word with a known tag; expected at least one.")
    encoded = model.encode([sentence for sentence, _ in pairs])
    return Lessons(model, encoded, numbers, len(numbers), 0)


def _first_weights(curriculum: Curriculum, model: ChainModel) -> FloatArray | None:
    start = curriculum.warm_start
    if isinstance(start, tuple):
        return model.transferred(*start)
    if start is None:
        return None
    if np.shape(start) != (model.n_weights,):
        raise ValueError(
            f"warm_start has shape {np.shape(start)}; expected ({model.n_weights},), a weight for "
            "each feature, or a fitted Tagger."
        )
    return np.asarray(start, dtype=np.float64)


def tags_of(
    sentences: Sequence[Any], tags: Sequence[Sequence[str]] | None, tag_column: str | None
) -> Sequence[Sequence[str]] | None:
    """The tags that came, or those of a column of the sentences, or None."""
    if tags is not None or tag_column is None:
        return tags
    return [sentence.column(tag_column) for sentence in sentences]


def _material(
    curriculum: Curriculum,
    sentences: Sequence[Any],
    tags: Sequence[Sequence[str]] | None,
    unlabelled: Sequence[Any],
    sample_weights: Sequence[float] | None,
) -> Material:
    given = tags_of(sentences, tags, curriculum.tag_column)
    if given is None:
        given = [[UNKNOWN] * len(sentence) for sentence in sentences]
    known = checked_tags(sentences, given) + [[UNKNOWN] * len(each) for each in unlabelled]
    together = [*sentences, *unlabelled]
    for index, sentence in enumerate(together):
        if not len(sentence):
            raise ValueError(f"{where(sentence, index)} has no words; leave it out.")
    kinds = [_kind(each) for each in known]
    order = np.argsort(kinds, kind="stable").tolist()
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
        order,
        (kinds.count(FULL), kinds.count(PARTIAL), kinds.count(NONE)),
        weights,
    )


def _kind(tags: Sequence[str]) -> int:
    if UNKNOWN not in tags:
        return FULL
    return NONE if set(tags) == {UNKNOWN} else PARTIAL


def _columns(curriculum: Curriculum, sentences: Sequence[Any]) -> Sequence[str] | None:
    columns = curriculum.columns
    if sentences and isinstance(sentences[0], Sentence) and columns is None:
        columns = default_columns(sentences[0].names, curriculum.tag_column)
    if columns is not None and curriculum.tag_column in columns:
        raise ValueError(
            f"columns has {curriculum.tag_column!r}, which is the column of the tags; expected "
            "only columns that sentences without tags have, too."
        )
    return columns


def _features(curriculum: Curriculum, words: Words) -> tuple[AnyFeatures, Encoded]:
    if words.are_features:
        if curriculum.features is not None:
            raise ValueError(
                "templates (features=...) came with words that have features already; expected "
                "one of the two. Give plain words, or leave the templates out."
            )
        return NamedFeatures.build(words, curriculum.min_count or 1)
    columns = tuple(words.columns)
    if curriculum.features is None:
        templates = default_templates(words.columns)
        usual = 2 if words.n_words.sum() >= MANY_WORDS else 1
    else:
        templates = resolved(read_templates(curriculum.features), columns)
        usual = 1
    return TemplateFeatures.build(templates, words, curriculum.min_count or usual)


def _lessons(
    curriculum: Curriculum,
    material: Material,
    model: ChainModel,
    encoded: Encoded,
    numbers: list[IntArray],
    expectations: Sequence[Expectations],
) -> Lessons:
    by_class = _class_weights(curriculum, material, model.tags)
    weights = material.weights
    if by_class is not None and curriculum.objective == "likelihood":
        # Tags that are not known have no class, and count as 1.
        extended = np.append(by_class, 1.0)
        weights = np.array([extended[tags].mean() for tags in numbers]) * (
            1.0 if weights is None else weights
        )
    # A word without a tag counts so much that all of them together count as those with tags do.
    n_none = int(encoded.n_words[len(numbers) - material.counts[NONE] :].sum())
    n_known = sum(int((tags >= 0).sum()) for tags in numbers)
    share = (n_known or n_none) / n_none if n_none else 1.0
    return Lessons(
        model,
        encoded,
        numbers,
        material.counts[FULL],
        material.counts[PARTIAL],
        weights,
        by_class,
        curriculum.entropy_weight * share,
        curriculum.entropy_ramp,
        expectations,
    )


def _class_weights(curriculum: Curriculum, material: Material, tags: TagSet) -> FloatArray | None:
    given = curriculum.class_weights
    if given is None:
        return None
    if isinstance(given, str):
        if given != "balanced":
            raise ValueError(f"class_weights is {given!r}; expected 'balanced', or a dictionary.")
        counts = Counter(tag for each in material.tags for tag in each if tag != UNKNOWN)
        mean = counts.total() / max(len(counts), 1)
        return np.array([mean / counts[tag] if counts[tag] else 1.0 for tag in tags.names])
    for tag, weight in given.items():
        tags.numbers([tag], "class_weights")
        if not 0 <= weight < np.inf:
            raise ValueError(
                f"the class weight of {tag!r} is {weight}; expected a finite number, 0 or more."
            )
    return np.array([given.get(tag, 1.0) for tag in tags.names])


def _check_scheme(material: Material, numbers: Sequence[IntArray], tags: TagSet) -> None:
    """Sequences that the scheme forbids have probability 0, so nothing could be learnt."""
    if tags.allowed is None:
        return
    # A tag that is not known agrees with everything: the last row and column.
    pairwise = np.pad(tags.allowed.pairwise, (0, 1), constant_values=True)
    first, last = (np.append(each, True) for each in (tags.allowed.first, tags.allowed.last))
    for index, given in enumerate(numbers):
        fine = pairwise[given[:-1], given[1:]]
        if first[given[0]] and last[given[-1]] and fine.all():
            continue
        word = 0 if not first[given[0]] else int(np.argmin(np.append(fine, False)))
        around = " ".join(material.tags[index][max(word - 1, 0) : word + 3])
        raise ValueError(
            f"{material.where(index)} has tags that break {tags.scheme} at word {word}: "
            f"{around}. Correct or convert them (partita.data.schemes.convert), or leave the "
            "argument scheme out."
        )
