"""What the weights of a segmenter say, and which of them made a decision."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.arrays import Array, FloatArray
from partita.estimators.explain import Cell, Contribution, Decision, Report, Table, netted
from partita.estimators.segmenting.segment_model import BLOCK_NAMES, BLOCKS, SegmentModel
from partita.estimators.tagging.explanations import Strength, TagExplanation
from partita.text.attributes import Attributes
from partita.text.sentences import listed, shown_words


@dataclass(frozen=True)
class SegmenterInspection(Report):
    """The strongest features for and against each type, and the weights of transitions."""

    types: tuple[str, ...]
    features: dict[str, list[Strength]]
    """For each type those with the highest weights, the highest first."""
    against: dict[str, list[Strength]]
    """For each type those with the lowest weights, the lowest first."""
    transitions: FloatArray
    """[type before, type]; -inf where segments of one type may not touch."""
    scheme: str | None
    longest: int
    n_attributes: int
    n_segment_attributes: int
    n_weights: int
    n_nonzero: int
    about: Mapping[str, Cell]
    """What it learnt from, and how that ended."""

    def facts(self) -> dict[str, Cell]:
        """What it is, in a few lines."""
        return {
            "model": "segmenter, a semi-Markov conditional random field",
            **self.about,
            "types": f"{len(self.types)}: {', '.join(self.types)}",
            "scheme": self.scheme or "none",
            "words of the longest segments": self.longest,
            "attributes of words": self.n_attributes,
            "attributes of segments": self.n_segment_attributes,
            "weights": f"{self.n_weights:,}, {self.n_nonzero:,} of them not 0",
        }

    def tables(self) -> Sequence[Table]:
        """The strongest features of each type, and the transitions."""
        found = [
            Table(
                kind,
                ("weight", "feature"),
                [(s.weight, s.feature) for s in (*self.features[kind], *self.against[kind])],
            )
            for kind in self.types
        ]
        rows: list[tuple[Cell, ...]] = [
            (kind, *row.tolist()) for kind, row in zip(self.types, self.transitions, strict=True)
        ]
        return [*found, Table("transitions", ("from \\ to", *self.types), rows)]


def inspect_segmenter(
    model: SegmentModel, weights: FloatArray, n_features: int, about: Mapping[str, Cell]
) -> SegmenterInspection:
    """The strongest features and the transition table."""
    of_words, wholes, transitions = model.split(weights)
    n_blocks, types = of_words.shape[1], model.spelling.types
    features: dict[str, list[Strength]] = {}
    against: dict[str, list[Strength]] = {}
    for number, kind in enumerate(types):
        column = np.concatenate([of_words[:, :, number].ravel(), wholes[:, number]])
        order = np.argsort(-column, kind="stable")
        for found, chosen, sign in (
            (features, order[:n_features], 1),
            (against, order[::-1][:n_features], -1),
        ):
            found[kind] = [
                Strength(_name(model, int(place), n_blocks), float(column[place]))
                for place in chosen
                if sign * column[place] > 0
            ]
    return SegmenterInspection(
        types,
        features,
        against,
        np.where(model.spelling.may_follow, transitions, -np.inf),
        model.tags.scheme,
        model.wholes.longest,
        model.features.n_attributes,
        model.wholes.n_attributes,
        len(weights),
        int(np.count_nonzero(weights)),
        about,
    )


def _name(model: SegmentModel, place: int, n_blocks: int) -> str:
    """The feature of a place among the weights of a type: words by role, then segments."""
    attribute, block = divmod(place, n_blocks)
    if attribute < model.features.n_attributes:
        return f"{BLOCK_NAMES[model.roles][block]} {model.features.name(attribute)}"
    return f"segment {model.wholes.name(place - model.features.n_attributes * n_blocks)}"


# ------------------------------------------------------------------ what made a decision


def explain_segment(
    model: SegmentModel, weights: FloatArray, sentence: Any, word: int
) -> TagExplanation:
    """The features that made the segment of a word: against the best cut without that segment."""
    (sentence,) = listed([sentence])
    if not 0 <= word < len(sentence):
        raise ValueError(
            f"word is {word}; expected 0 to {len(sentence) - 1}, a word of the sentence."
        )
    encoded = model.encode([sentence])
    (piece,) = model.pieces(encoded)
    p = piece.at(weights)
    best = p.best.structures[0]
    mine = _segment_at(best, word)
    part = _part(model, mine)
    allowed = np.ones(p.scores.size, dtype=np.bool_)
    allowed[part] = False
    without = p.flat_restricted(allowed)
    if without.structures.argmax(without.scores).scores[0] == -np.inf:
        raise ValueError(f"no other segment is possible at word {word}; nothing to compare.")
    other = without.best.structures[0]
    theirs = _segment_at(other, word)
    found = [
        contribution
        for rows, sign in ((best, 1.0), (other, -1.0))
        for contribution in _contributions(
            model, weights, encoded.words, encoded.wholes, rows, sign
        )
    ]
    marginals, words = p.inference.marginals, shown_words(sentence)
    return TagExplanation(
        word,
        Decision(
            f"the segment of {words[word]!r} (word {word + 1})",
            _described(model, mine),
            _described(model, theirs),
            float(marginals[part]),
            float(marginals[_part(model, theirs)]),
        ),
        words,
        tuple(model.spelling.tags_of(best)),
        tuple(model.spelling.tags_of(other)),
        netted(found),
    )


def _segment_at(rows: Array, word: int) -> tuple[int, int, int]:
    first, end, kind = rows[np.searchsorted(rows[:, 1], word, side="right")].tolist()
    return first, end, kind


def _part(model: SegmentModel, segment: tuple[int, int, int]) -> int:
    first, end, kind = segment
    return (first * model.wholes.longest + end - first - 1) * model.n_types + kind


def _described(model: SegmentModel, segment: tuple[int, int, int]) -> str:
    first, end, kind = segment
    return f"{model.spelling.types[kind]} of {_words(first, end)}"


def _words(first: int, end: int) -> str:
    """The words of a segment as people count them."""
    return f"word {end}" if end - first == 1 else f"words {first + 1} to {end}"


def _contributions(
    model: SegmentModel,
    weights: FloatArray,
    words: Attributes,
    wholes: Attributes,
    rows: Array,
    sign: float,
) -> Iterator[Contribution]:
    """What each feature adds to the score of a cut, times `sign`."""
    of_words, of_wholes, transitions = model.split(weights)
    blocks, letters = BLOCKS[model.roles], BLOCK_NAMES[model.roles]
    types, before = model.spelling.types, None
    for first, end, kind in rows.tolist():
        name = types[kind]
        for word in range(first, end):
            role = 3 if end - first == 1 else 0 if word == first else 2 if word == end - 1 else 1
            block, row = blocks[role], words[word : word + 1]
            values = row.values if len(row.values) else np.ones(len(row.ids))
            for attribute, value in zip(row.ids.tolist(), values.tolist(), strict=True):
                label = f"{letters[block]}-{name} {model.features.name(attribute)}"
                lead = sign * value * float(of_words[attribute, block, kind])
                yield Contribution(_words(word, word + 1), label, lead)
        cell = first * model.wholes.longest + end - first - 1
        for attribute in wholes[cell : cell + 1].ids.tolist():
            label = f"{name} segment {model.wholes.name(attribute)}"
            lead = sign * float(of_wholes[attribute, kind])
            yield Contribution(_words(first, end), label, lead)
        if before is not None:
            label = f"{types[before]} -> {name}"
            lead = sign * float(transitions[before, kind])
            yield Contribution(_words(first, first + 1), label, lead)
        before = kind
