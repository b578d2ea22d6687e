"""Why: names of hashed features, the strongest of them, and what made a decision.

A hashed weight has no name; so names are made on demand, for the features of a few arcs, in the
order in which the kernel has them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.estimators.parsing.model import Encoded, ParserModel
from partita.estimators.parsing.templates import Atom, Template
from partita.estimators.parsing.words import EDGE, RARE, ROOT, Words, members
from partita.features.arcs import distance_slots, places, table, with_distance
from partita.kernels.features.arcs import MOST_COUNTED, MOST_KINDS

SHOWN = {RARE: "<rare>", ROOT: "<root>", EDGE: "<edge>"}
DISTANCES = ("1", "2", "3", "4", "5-6", "7-10", "11+")


class Feature(NamedTuple):
    """A feature of an arc."""

    template: Template
    name: str


class Contribution(NamedTuple):
    """How much a feature adds to the lead of one tree over another."""

    word: int
    """The modifier of the arc, from 0."""
    feature: str
    value: float


@dataclass(frozen=True)
class Explanation:
    """Why a word has its head and not the runner-up.

    The runner-up is the head that it has in the best of all trees in which it has another; the
    trees may differ at other words, too.
    """

    word: int
    """From 0."""
    head: int
    """0 is the root, words count from 1."""
    probability: float
    runner_up: int
    runner_up_probability: float
    heads: tuple[int, ...]
    """The best tree."""
    other_heads: tuple[int, ...]
    """The best tree with another head at the word."""
    contributions: tuple[Contribution, ...]
    """Of all features in which the two trees differ, the largest first; they sum to the lead."""

    @property
    def difference(self) -> float:
        """The score of the best tree minus that of the other."""
        return sum(contribution.value for contribution in self.contributions)


@dataclass(frozen=True)
class Inspection:
    """The strongest features of arcs in the training trees, by template."""

    strongest: dict[str, list[tuple[str, float]]]
    """For each template features with their weights, the largest (of either sign) first."""
    n_weights: int
    n_nonzero: int

    def __str__(self) -> str:
        lines = [f"{self.n_weights:,} weights, {self.n_nonzero:,} of them not 0"]
        for template, found in self.strongest.items():
            lines += ["", template]
            lines += [f"  {weight:+9.3f}  {name}" for name, weight in found]
        return "\n".join(lines)


def explain_word(
    model: ParserModel, weights: FloatArray, encoded: Encoded, word: int
) -> Explanation:
    """The features that made the decision about the head of a word (from 0) of one sentence."""
    n_words = int(encoded.words.n_words[0])
    if not 0 <= word < n_words:
        raise ValueError(f"word is {word}; expected 0 to {n_words - 1}, a word of the sentence.")
    (piece,) = model.pieces(encoded)
    p = model.distribution(piece, weights)
    (best,) = p.best.structures
    arcs = np.ones((n_words + 1, n_words + 1), dtype=np.bool_)
    arcs[best[word], word + 1] = False
    others = piece.trees.argmax(np.where(arcs.ravel(), p.scores, -np.inf))
    if others.scores[0] == -np.inf:
        raise ValueError(f"no other head is possible for word {word}; nothing can be compared.")
    (other,) = others.structures
    (marginals,) = p.marginals
    found = _contributions(model, weights, encoded, best, other)
    return Explanation(
        word,
        int(best[word]),
        float(marginals[best[word], word + 1]),
        int(other[word]),
        float(marginals[other[word], word + 1]),
        tuple(best.tolist()),
        tuple(other.tolist()),
        tuple(sorted(found, key=lambda contribution: -abs(contribution.value))),
    )


def _contributions(
    model: ParserModel, weights: FloatArray, encoded: Encoded, best: IntArray, other: IntArray
) -> Iterator[Contribution]:
    differing = np.flatnonzero(best != other)
    for heads, sign in ((best, 1.0), (other, -1.0)):
        values = arc_weights(model, weights, encoded, 0, heads[differing], differing + 1)
        for word, found in zip(differing.tolist(), values, strict=True):
            for name, weight in found:
                if weight:
                    yield Contribution(word, name, sign * weight)


def arc_weights(
    model: ParserModel,
    weights: FloatArray,
    encoded: Encoded,
    sentence: int,
    heads: IntArray,
    modifiers: IntArray,
) -> list[list[tuple[str, float]]]:
    """For each of some arcs of a sentence its features' names and weights, which sum to its score.

    Each feature comes twice: with the direction of the arc, and with its distance as well.
    """
    words = encoded.words
    first, n_words = int(words.first_nodes[sentence]), int(words.n_words[sentence])
    found = places(encoded.keys, first, n_words, heads, modifiers, model.n_bits)
    hashed = table(weights)
    namer = Namer(model, words, sentence)
    result = []
    for plain, head, modifier in zip(found, heads.tolist(), modifiers.tolist(), strict=True):
        further = with_distance(plain, head, modifier)
        suffix = distance_name(head, modifier)
        pairs: list[tuple[str, float]] = []
        for feature, here, there in zip(
            namer.features(head, modifier), plain, further, strict=True
        ):
            pairs.append((feature.name, float(hashed[here])))
            pairs.append((f"{feature.name} {suffix}", float(hashed[there])))
        result.append(pairs)
    return result


def distance_name(head: int, modifier: int) -> str:
    """How features say how long an arc is."""
    return f"distance={DISTANCES[distance_slots(head - modifier)]}"


class Namer:
    """Says in words what the features of the arcs of one sentence are."""

    def __init__(self, model: ParserModel, words: Words, sentence: int) -> None:
        self._model, self._words = model, words
        self._first = int(words.n_words[:sentence].sum())
        self._n_words = int(words.n_words[sentence])

    def features(self, head: int, modifier: int) -> list[Feature]:
        """All features of an arc, in the kernel's order."""
        side = "right" if head < modifier else "left"
        found = []
        for template in self._model.maker.ordered:
            values = [self._values(atom, head, modifier) for atom in template.atoms]
            # The kernel goes through the head's set first, then the modifier's, then the kinds.
            ranks = {"head": 0, "modifier": 1, "between": 2}
            order = sorted(range(len(values)), key=lambda i: ranks[template.atoms[i].where])
            for chosen in product(*(values[i] for i in order)):
                texts = dict(zip(order, chosen, strict=True))
                pairs = [
                    f"{atom.text}={texts[i]}" if atom.value is None else f"{atom.text}:{texts[i]}"
                    for i, atom in enumerate(template.atoms)
                ]
                found.append(Feature(template, " ".join([*pairs, side])))
        return found

    def _values(self, atom: Atom, head: int, modifier: int) -> list[str]:
        if atom.where == "between":
            step = 1 if head < modifier else -1
            between = [self._name(atom, word) for word in range(head + step, modifier, step)]
            if atom.value is not None:
                return [str(min(between.count(atom.value), MOST_COUNTED))]
            return list(dict.fromkeys(map(self._kind, between)))
        word = head if atom.where == "head" else modifier
        if atom.offset:
            word = word + atom.offset if word and 1 <= word + atom.offset <= self._n_words else -1
        if atom.view == "feat":
            return members(self._raw(atom, word)) if word > 0 else []
        name = self._name(atom, word) if word > 0 else (ROOT if word == 0 else EDGE)
        return [SHOWN.get(name, name)]

    def _kind(self, value: str) -> str:
        kinds = self._model.lexicon.kinds
        return value if value in kinds else f"<other {MOST_KINDS - 1}>"

    def _raw(self, atom: Atom, word: int) -> str:
        column = self._words.columns[atom.column]
        return str(column.values[column.numbers[self._first + word - 1]])

    def _name(self, atom: Atom, word: int) -> str:
        return self._model.lexicon.shown(atom.view, self._raw(atom, word))


def strongest_features(
    model: ParserModel,
    weights: FloatArray,
    encoded: Encoded,
    heads: Sequence[IntArray],
    n_features: int = 20,
    n_sentences: int = 200,
) -> dict[str, list[tuple[str, float]]]:
    """For each template the features of the largest weights among the arcs of some trees."""
    found: dict[str, dict[str, float]] = {t.text: {} for t in model.maker.ordered}
    hashed = table(weights)
    for sentence, tree in enumerate(heads[:n_sentences]):
        modifiers = np.arange(1, len(tree) + 1)
        first = int(encoded.words.first_nodes[sentence])
        plain = places(encoded.keys, first, len(tree), tree, modifiers, model.n_bits)
        namer = Namer(model, encoded.words, sentence)
        for here, head, modifier in zip(plain, tree.tolist(), modifiers.tolist(), strict=True):
            values = hashed[here].tolist()
            for feature, weight in zip(namer.features(head, modifier), values, strict=True):
                found[feature.template.text][feature.name] = weight
    return {
        template: sorted(features.items(), key=lambda pair: -abs(pair[1]))[:n_features]
        for template, features in found.items()
    }


def inspect_weights(
    strongest: dict[str, list[tuple[str, float]]], weights: FloatArray, n_features: int
) -> Inspection:
    """A report of the strongest features."""
    few: dict[str, list[tuple[str, float]]] = {
        template: found[:n_features] for template, found in strongest.items()
    }
    return Inspection(few, len(weights), int(np.count_nonzero(weights)))
