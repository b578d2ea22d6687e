"""How a tagger learns: number tags and features, say what each sentence teaches, train."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.schemes import UNKNOWN
from partita.estimators.groups import OptimiserName
from partita.estimators.pieces import Piece
from partita.estimators.runs import RunPlan, learn
from partita.estimators.supervision import (
    EntropyTerm,
    Expectations,
    Known,
    Lessons,
)
from partita.estimators.tagging.chain_model import ChainModel, with_boundaries
from partita.estimators.tagging.expectations import number_constraints, tag_shares
from partita.estimators.tagging.material import TagKnowledge, TagMaterial, held_out_lessons
from partita.estimators.tagging.tags import HeldOutTags, TagSet
from partita.features.pairs import Pairs
from partita.objectives import Likelihood
from partita.text.learning import learn_features
from partita.text.sentences import column_names, numbering
from partita.text.word_features import Encoded, WordFeatures
from partita.text.words import Words, default_columns, read_words
from partita.training import TrainingResult
from partita.training.optimisers.stochastic import Stochastic

if TYPE_CHECKING:
    from partita.estimators.segmenting.segmenter import Segmenter
    from partita.estimators.tagging.tagger import Tagger

PIECE = 2**15
"""Words that are looked at together."""
FEW_WORDS = 1000
"""With fewer words AdaGrad was no better than L-BFGS."""
N_STEPS = 64
"""In a pass by mini-batches, unless the mini-batches would outgrow the cache."""


def fit_tagger(
    options: "Tagger",
    material: TagMaterial,
    held_out: HeldOutTags | None,
) -> tuple[ChainModel, TrainingResult]:
    """A model and its weights; `held_out` says when to stop."""
    with numbering(material.order):
        words = read_words(material.sentences, columns_of(options, material.sentences))
    constraints = options.constraints or ()
    more = [tag for constraint in constraints for tag in constraint.targets]
    tags = TagSet.learn(material.tags, more, options.scheme)
    knowledge = material.knowledge(tags, _class_weights(options, material, tags))
    check_scheme(material, knowledge.labels, tags)
    features, encoded = features_of(options, material, words, of_all=bool(constraints))
    is_local = options.normalisation == "local"
    model = ChainModel(tags, features, boundaries=options.boundaries, is_local=is_local)
    if options.boundaries:
        encoded = with_boundaries(encoded, features.n_attributes)
    if options.pairs == "observed":
        pairs = _observed(encoded, knowledge.labels, model.n_attributes, len(tags))
        model = replace(model, pairs=pairs)
    n_words = int(words.n_words.sum())
    usual = usual_optimiser(options, tags, material.known, n_words, words.columns)
    most = most_words(options, usual, n_words)
    lessons = Lessons(
        sorted_pieces(partial(model.pieces, encoded, most_words=most, lone_tables=False), material),
        knowledge,
        options.course(),
        _sample_weight(options, material, knowledge),
        entropy_of(options, material, encoded.n_words, knowledge.n_known()),
        _expectations(options, material, words, tags, knowledge),
        what="tags",
    )
    judge = None if held_out is None else held_out_lessons(model, held_out, options.tag_column)
    optimiser = options.chosen_optimiser(usual, l1=options.l1, is_convex=lessons.is_convex)
    way = RunPlan(options, optimiser, options.penalty)
    return model, learn(lessons, way, first_weights(options, model), judge)


def sorted_pieces(
    pieces: Callable[[int, int], Iterable[Piece]], material: TagMaterial
) -> dict[Known, list[Piece]]:
    """The pieces of encoded sentences, from one to before another, by what is known of them."""
    ends = np.cumsum([0, *(material.count(known) for known in Known)]).tolist()
    return {
        known: list(pieces(first, last))
        for known, first, last in zip(Known, ends[:-1], ends[1:], strict=True)
    }


# ---------------------------------------------------------------------- which way


def usual_optimiser(
    options: "Tagger",
    tags: TagSet,
    known: Collection[Known],
    n_words: int,
    columns: Collection[str],
) -> OptimiserName:
    """The optimiser of a tagger that was told none: what was measured to be better (decision 021).

    AdaGrad, whose few passes leave rare features more weight than a penalty does, where words
    alone (one column, default features) say which part of speech they are, and all tags of at
    least `FEW_WORDS` words are known. L-BFGS for chunks, for more columns, for next to no labels,
    to go on from other weights, and where something was said of its iterations.
    """
    told = options.max_iterations, options.loss_tolerance, options.warm_start
    is_plain = options.features is None and len(columns) == 1 and tags.scheme is None
    is_taught = {*known} == {Known.ALL} and options.course().is_convex and not options.constraints
    is_usual = not options.l1 and options.normalisation == "global"
    is_free = is_usual and all(each is None for each in told) and n_words >= FEW_WORDS
    return "adagrad" if is_plain and is_taught and is_free else "lbfgs"


def most_words(options: "Tagger", usual: OptimiserName, n_words: int) -> int | None:
    """The most words of a mini-batch, such that a pass over few sentences has many steps, too."""
    optimiser = options.chosen_optimiser(usual, l1=options.l1)
    return max(n_words // N_STEPS, 1) if isinstance(optimiser, Stochastic) else None


# ---------------------------------------------------------------------- features


def columns_of(options: "Tagger | Segmenter", sentences: Sequence[Any]) -> Sequence[str] | None:
    """The columns to learn from, checked."""
    columns, names = options.columns, column_names(sentences)
    if names is not None and columns is None:
        columns = default_columns(names, options.tag_column)
    if columns is not None and options.tag_column in columns:
        raise ValueError(
            f"columns has {options.tag_column!r}, which is the column of the tags; expected "
            "only columns that sentences without tags have, too."
        )
    return columns


def features_of(
    options: "Tagger | Segmenter",
    material: TagMaterial,
    words: Words,
    *,
    of_all: bool,
) -> tuple[WordFeatures, Encoded]:
    """The features of words, and the words' own; from labelled sentences, unless `of_all`."""
    given, n_labelled = words, material.n_labelled
    words, added = options.added_columns(words, map(known_tags_of, material.tags))
    if not n_labelled or not material.count(Known.NOTHING) or of_all:
        return learn_features(words, options.features, options.min_count, added)
    # Features that only unlabelled sentences have would be free to be sure of anything.
    few = read_words(material.sentences[:n_labelled], tuple(given.columns) or None)
    n_words = int(few.n_words.sum())
    more = {
        name: replace(column, numbers=column.numbers[:n_words])
        for name, column in words.columns.items()
        if name not in given.columns
    }
    few = replace(few, columns={**few.columns, **more})
    features, _ = learn_features(few, options.features, options.min_count, added)
    return features, features.encode(words)


def known_tags_of(tags: Sequence[Any]) -> list[str | None]:
    """The tags of a sentence that are known, None for others.

    >>> known_tags_of(["NOUN", "?", frozenset({"NOUN", "VERB"})])
    ['NOUN', None, None]
    """
    return [tag if isinstance(tag, str) and tag != UNKNOWN else None for tag in tags]


def _observed(
    encoded: Encoded, labels: Sequence[IntArray], n_attributes: int, n_tags: int
) -> Pairs:
    """The pairs of attribute and tag that labels show."""
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *labels])
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


def first_weights(options: "Tagger", model: ChainModel) -> FloatArray | None:
    """Where to start; None for weights of 0."""
    start = options.warm_start
    if start is None:
        return None
    if not isinstance(start, np.ndarray):
        start._check_fitted()
        return model.transferred(start.model_, start.weights_)
    if start.shape != (model.n_weights,):
        raise ValueError(
            f"warm_start has shape {start.shape}; expected ({model.n_weights},), a weight for "
            "each feature, or a fitted Tagger."
        )
    return np.asarray(start, dtype=np.float64)


# ---------------------------------------------------------------------- what sentences teach


def _sample_weight(
    options: "Tagger", material: TagMaterial, knowledge: TagKnowledge
) -> FloatArray | None:
    """What each sentence counts: by the caller, and by its classes where the cost cannot."""
    weights, by_class = material.sample_weight, knowledge.class_weights
    # Where tags cost, a wrong one costs what its class weighs; elsewhere the sentence does.
    if by_class is None or not isinstance(options.course().full, Likelihood):
        return weights
    extended = np.append(by_class, 1.0)
    means = np.array([extended[labels].mean() for labels in knowledge.labels])
    return means if weights is None else means * weights


def entropy_of(
    options: "Tagger | Segmenter", material: TagMaterial, n_words: IntArray, n_known: int
) -> EntropyTerm | None:
    """The entropy of sentences without tags: all of them together count as those with tags do."""
    n_none = int(n_words[material.n_labelled :].sum())
    return options.entropy_term((n_known or n_none) / n_none if n_none else 1.0)


def _expectations(
    options: "Tagger",
    material: TagMaterial,
    words: Words,
    tags: TagSet,
    knowledge: TagKnowledge,
) -> list[Expectations]:
    found: list[Expectations] = []
    if options.constraints:
        found.append(
            number_constraints(
                options.constraints,
                words,
                tags,
                weight=options.constraint_weight,
                distance=options.constraint_distance,
            )
        )
    weight = _share_weight(options, material)
    if weight:
        found.append(tag_shares(knowledge.labels, len(tags), words.n_words, weight))
    return found


def _share_weight(options: "Tagger", material: TagMaterial) -> float:
    """The weight of the tags' shares: by default 1 beside entropy, where there are labels."""
    n_none = material.count(Known.NOTHING)
    labels_and_more = n_none > 0 and material.n_labelled > 0
    if options.share_weight is None:
        return 1.0 if options.entropy_weight and labels_and_more else 0.0
    if options.share_weight and not labels_and_more:
        raise ValueError(
            f"share_weight is {options.share_weight}, but no sentences came "
            f"{'with' if n_none else 'without'} tags; expected both kinds, or a weight of 0."
        )
    return options.share_weight


def _class_weights(options: "Tagger", material: TagMaterial, tags: TagSet) -> FloatArray | None:
    given = options.class_weights
    if given is None:
        return None
    if isinstance(given, str):
        counts = Counter(
            tag for each in material.tags for tag in each if isinstance(tag, str) and tag != UNKNOWN
        )
        mean = counts.total() / max(len(counts), 1)
        return np.array([mean / counts[tag] if counts[tag] else 1.0 for tag in tags.names])
    for tag in given:
        tags.numbers([tag], "class_weights")
    return np.array([given.get(tag, 1.0) for tag in tags.names])


def check_scheme(material: TagMaterial, labels: Sequence[IntArray], tags: TagSet) -> None:
    """Sequences that the scheme forbids have probability 0, so nothing could be learnt."""
    if tags.allowed is None:
        return
    # A tag that is not known agrees with everything: the last row and column.
    pairwise = np.pad(tags.allowed.pairwise, (0, 1), constant_values=True)
    first, last = (np.append(each, True) for each in (tags.allowed.first, tags.allowed.last))
    for index, given in enumerate(labels):
        fine = pairwise[given[:-1], given[1:]]
        if first[given[0]] and last[given[-1]] and fine.all():
            continue
        # The second word of the first pair that is wrong; if none is, the last word is.
        are_right = np.concatenate([[first[given[0]]], fine])
        word = len(given) - 1 if are_right.all() else int(np.argmin(are_right))
        around = " ".join(map(str, material.tags[index][max(word - 1, 0) : word + 2]))
        raise ValueError(
            f"{material.where(index)} has tags that break {tags.scheme} at word {word}: "
            f"{around}. Correct or convert them (partita.data.schemes.convert), or leave the "
            "option scheme out."
        )
