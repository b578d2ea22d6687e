"""What the weights of a tagger say, and which of them made a decision."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.estimators.answers import Asked
from partita.estimators.explain import (
    Cell,
    Contribution,
    Decision,
    Explanation,
    Report,
    Table,
    netted,
)
from partita.estimators.pieces import Piece
from partita.estimators.tagging.chain_model import ChainModel
from partita.estimators.tagging.chain_questions import restricted
from partita.estimators.tagging.material import TagModel
from partita.text.sentences import listed, shown_words
from partita.text.word_features import Encoded


class Strength(NamedTuple):
    """A feature and its weight."""

    feature: str
    weight: float


@dataclass(frozen=True, repr=False)
class WeightTable(Report):
    """Weights by name: of features with tags, and of transitions; the largest first.

    `columns` is what a data frame is made of: `pandas.DataFrame(table.columns)`.
    """

    columns: Mapping[str, list[Any]]
    """`feature`, `tag` and `weight`, as long as each other."""
    n_shown: int = 50
    """Rows that are printed."""

    def __len__(self) -> int:
        return len(self.columns["weight"])

    def facts(self) -> dict[str, Cell]:
        """How many there are."""
        return {"weights other than 0": len(self)}

    def tables(self) -> Sequence[Table]:
        """The largest of them."""
        rows = list(zip(*(self.columns[name][: self.n_shown] for name in COLUMNS), strict=True))
        return [Table(f"the {len(rows):,} largest", COLUMNS, rows)]


COLUMNS = ("weight", "tag", "feature")


def weight_table(model: "DescribedModel", weights: FloatArray) -> WeightTable:
    """All weights but those that are 0, by name."""
    table, transitions = model.split(weights)
    tags = np.array(model.tags.names, dtype=object)
    found: list[tuple[str, str, float]] = []
    for attribute, tag in np.argwhere(np.isfinite(table) & (table != 0.0)).tolist():
        weight = float(table[attribute, tag])
        found.append((model.attribute_name(attribute), tags[tag], weight))
    steps = transitions.reshape(-1, len(tags), len(tags))
    for attribute, left, right in np.argwhere(np.isfinite(steps) & (steps != 0.0)).tolist():
        name = model.attribute_name(attribute, transition=True)
        weight = float(steps[attribute, left, right])
        found.append((f"{name} {tags[left]} ->".strip(), tags[right], weight))
    found.sort(key=lambda each: -abs(each[2]))
    features, chosen, values = map(list, zip(*found, strict=True)) if found else ([], [], [])
    return WeightTable({"feature": features, "tag": chosen, "weight": values})


@dataclass(frozen=True, repr=False)
class TaggerInspection(Report):
    """The strongest features for and against each tag, and the weights of transitions."""

    tags: tuple[str, ...]
    features: dict[str, list[Strength]]
    """For each tag those with the highest weights, the highest first."""
    against: dict[str, list[Strength]]
    """For each tag those with the lowest weights, the lowest first."""
    transitions: FloatArray
    """[tag before, tag], of transitions that hold everywhere; -inf where a scheme forbids it."""
    scheme: str | None
    n_attributes: int
    n_weights: int
    n_nonzero: int
    about: Mapping[str, Cell]
    """What it learnt from, and how that ended."""

    def facts(self) -> dict[str, Cell]:
        """What it is, in a few lines."""
        return {
            "model": "tagger, a linear-chain conditional random field",
            **self.about,
            "tags": f"{len(self.tags)}: {', '.join(self.tags)}",
            "scheme": self.scheme or "none",
            "attributes of words": self.n_attributes,
            "weights": f"{self.n_weights:,}, {self.n_nonzero:,} of them not 0",
        }

    def tables(self) -> Sequence[Table]:
        """The strongest features of each tag, and the transitions."""
        found = [
            Table(
                tag,
                ("weight", "feature"),
                [(s.weight, s.feature) for s in (*self.features[tag], *self.against[tag])],
            )
            for tag in self.tags
        ]
        rows: list[tuple[Cell, ...]] = [
            (tag, *row.tolist()) for tag, row in zip(self.tags, self.transitions, strict=True)
        ]
        return [*found, Table("transitions", ("from \\ to", *self.tags), rows)]


def inspect_weights(
    model: ChainModel, weights: FloatArray, n_features: int, about: Mapping[str, Cell]
) -> TaggerInspection:
    """The strongest features and the transition table."""
    table, transitions = model.split(weights)
    tags = model.tags.names
    features, against = {}, {}
    for number, tag in enumerate(tags):
        column = table[:, number]
        order = np.argsort(-column, kind="stable")
        features[tag] = _strengths(model, column, order[:n_features], sign=1)
        against[tag] = _strengths(model, column, order[::-1][:n_features], sign=-1)
    return TaggerInspection(
        tags,
        features,
        against,
        _plain_transitions(model, transitions),
        model.tags.scheme,
        model.n_attributes,
        len(weights),
        int(np.count_nonzero(weights)),
        about,
    )


def _strengths(
    model: ChainModel, column: FloatArray, order: IntArray, *, sign: int
) -> list[Strength]:
    return [
        Strength(model.attribute_name(int(attribute)), float(column[attribute]))
        for attribute in order
        if sign * column[attribute] > 0
    ]


def _plain_transitions(model: ChainModel, transitions: FloatArray) -> FloatArray:
    """The weights of transitions that hold everywhere: the attribute without fields."""
    n_tags = len(model.tags)
    plain = np.zeros((n_tags, n_tags))
    for attribute in range(len(transitions)):
        if "=" not in model.features.name(attribute, transition=True):
            plain += transitions[attribute]
    if model.tags.allowed is not None:
        plain[~model.tags.allowed.pairwise] = -np.inf
    return plain


# ------------------------------------------------------------------ what made a decision

Lead = tuple[int, str, float]
"""A word, a feature of it (or of the step to it), and what it adds to the lead."""


@dataclass(frozen=True, repr=False)
class TagExplanation(Explanation):
    """Why a word got its tag: the best sequence against the best one with another tag there."""

    word: int
    """From 0."""
    decision: Decision
    words: tuple[str, ...]
    tags: tuple[str, ...]
    """The best sequence."""
    other_tags: tuple[str, ...]
    """The best sequence with another tag at the word."""
    contributions: tuple[Contribution, ...]

    def facts(self) -> dict[str, Cell]:
        """The decision, its rival, and the two sequences."""
        sequences = {"best tags": self.tags, "other tags": self.other_tags}
        texts = {
            name: " ".join(map("/".join, zip(self.words, tags, strict=True)))
            for name, tags in sequences.items()
        }
        return {**super().facts(), **texts}


class DescribedModel(TagModel, Protocol):
    """A tagger whose attributes have names."""

    def described(self, sentence: Any) -> Encoded:
        """The attributes of a sentence's words and steps."""

    def split(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights of tags, (n_attributes, s), and of transitions, (..., s, s)."""

    def attribute_name(self, attribute: int, *, transition: bool = False) -> str:
        """An attribute as text."""


def explain_word(
    model: DescribedModel, weights: FloatArray, sentence: Any, word: int
) -> TagExplanation:
    """The features that made the decision at a word."""
    (sentence,) = listed([sentence])
    if not 0 <= word < len(sentence):
        raise ValueError(
            f"word is {word}; expected 0 to {len(sentence) - 1}, a word of the sentence."
        )
    (piece,) = model.pieces(model.encode([sentence]))
    p, encoded = piece.at(weights), model.described(sentence)
    best = p.best.structures[0]
    rivals = p.max_marginals.unary[0][word].copy()
    rivals[best[word]] = -np.inf
    if rivals.max(initial=-np.inf) == -np.inf:
        raise ValueError(f"no other tag is possible at word {word}; there is nothing to compare.")
    rival = int(np.argmax(rivals))
    allowed = np.ones((len(best), len(model.tags)), dtype=np.bool_)
    allowed[word] = np.arange(len(model.tags)) == rival
    other = restricted(Asked(p, [0], [sentence]), [allowed]).best.structures[0]
    words = shown_words(sentence)
    places = [f"{form!r} (word {number})" for number, form in enumerate(words, 1)]
    found = [
        Contribution(places[at], feature, value)
        for at, feature, value in (
            *_word_contributions(model, weights, encoded, best, other),
            *_step_contributions(model, weights, encoded, best, other),
            *_normaliser_contributions(piece, weights, best, other),
        )
    ]
    probabilities = p.marginals.unary[0][word]
    names = model.tags.names
    return TagExplanation(
        word,
        Decision(
            f"the tag of {places[word]}",
            names[best[word]],
            names[rival],
            float(probabilities[best[word]]),
            float(probabilities[rival]),
        ),
        words,
        tuple(model.tags.named(best)),
        tuple(model.tags.named(other)),
        netted(found),
    )


def _word_contributions(
    model: DescribedModel, weights: FloatArray, encoded: Encoded, best: Array, other: Array
) -> Iterator[Lead]:
    table, _ = model.split(weights)
    for word in np.flatnonzero(best != other).tolist():
        row = encoded.words[word : word + 1]
        values = row.values if len(row.values) else np.ones(len(row.ids))
        for attribute, value in zip(row.ids.tolist(), values.tolist(), strict=True):
            lead = value * (table[attribute, best[word]] - table[attribute, other[word]])
            yield word, model.attribute_name(attribute), float(lead)


def _step_contributions(
    model: DescribedModel, weights: FloatArray, encoded: Encoded, best: Array, other: Array
) -> Iterator[Lead]:
    _, transitions = model.split(weights)
    steps, names = encoded.transitions, model.tags.names
    for word in range(1, len(best)):
        pairs = [(sequence[word - 1], sequence[word]) for sequence in (best, other)]
        if pairs[0] == pairs[1]:
            continue
        attributes = [0] if steps is None else steps[word - 1 : word].ids.tolist()
        for attribute in attributes:
            label = model.attribute_name(attribute, transition=True)
            for (left, right), sign in zip(pairs, (1.0, -1.0), strict=True):
                name = f"{label} {names[left]} -> {names[right]}"
                lead = sign * float(transitions[attribute, left, right])
                yield word, name, lead


def _normaliser_contributions(
    piece: Piece, weights: FloatArray, best: Array, other: Array
) -> Iterator[Lead]:
    """What a model that is normalised at every step takes off, for what may follow each tag."""
    if not piece.is_local:
        return
    unaries, _ = piece.structures.split(piece.at(weights).scores)
    before, _ = piece.structures.split(piece.features.scores(weights))
    for word in np.flatnonzero(best != other).tolist():
        lead = 0.0
        for tag, sign in ((best[word], 1.0), (other[word], -1.0)):
            lead += sign * float(unaries[0][word, tag] - before[0][word, tag])
        yield word, "normalisation of what follows", lead
