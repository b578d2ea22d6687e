"""Questions to a trained tagger, sentence by sentence, in batches that stay in the cache."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.distribution.linear_chain import LinearChain
from partita.estimators.tagging.chain_model import ChainModel, Piece
from partita.features.chains import tag_parts
from partita.objectives.partial import known_tags


class Answer(NamedTuple):
    """The distribution over some of the sentences that were asked about."""

    sentences: list[int]
    """Their numbers in the list that came."""
    p: LinearChain


def distributions(
    model: ChainModel, weights: FloatArray, sentences: Sequence[Any]
) -> Iterator[Answer]:
    """Distributions over the tags of all sentences that have words, in order."""
    present = [index for index, sentence in enumerate(sentences) if len(sentence)]
    encoded = model.encode([sentences[index] for index in present])
    for piece in model.pieces(encoded):
        numbers = present[piece.sentences.start : piece.sentences.stop]
        yield Answer(numbers, model.distribution(piece, weights))


def with_known(answer: Answer, known: Sequence[IntArray | None]) -> LinearChain:
    """The distribution restricted to sequences with the known tags; -1 where one is not known."""
    chains = answer.p.structures
    tags = [
        np.full(n, -1) if (given := known[index]) is None else given
        for index, n in zip(answer.sentences, chains.n_words.tolist(), strict=True)
    ]
    allowed = known_tags(chains, tags)
    return answer.p.with_scores(np.where(allowed, answer.p.scores, -np.inf))


def least_risk(p: LinearChain) -> list[Array]:
    """The allowed sequence with the fewest wrong tags to be expected, of each sentence."""
    chains = p.structures
    is_tag = tag_parts(chains)
    gains = np.where(is_tag, p.inference.marginals, 0.0)
    # A sequence may use tags that are likely one by one and still be forbidden as a whole.
    gains[p.scores == -np.inf] = -np.inf
    return list(p.with_scores(gains).best.structures)


# ------------------------------------------------------------------ what the weights say


class Strength(NamedTuple):
    """A feature and its weight."""

    feature: str
    weight: float


@dataclass(frozen=True)
class Inspection:
    """The strongest features for and against each tag, and the weights of transitions."""

    tags: tuple[str, ...]
    features: dict[str, list[Strength]]
    """For each tag those with the highest weights, the highest first."""
    against: dict[str, list[Strength]]
    """For each tag those with the lowest weights, the lowest first."""
    transitions: FloatArray
    """[tag before, tag], of transitions that hold everywhere; -inf where a scheme forbids it."""
    n_weights: int
    n_nonzero: int

    def __str__(self) -> str:
        lines = [f"{self.n_weights:,} weights, {self.n_nonzero:,} of them not 0", ""]
        for tag in self.tags:
            lines.append(tag)
            for found in (self.features[tag], self.against[tag]):
                lines += [f"  {weight:+9.3f}  {name}" for name, weight in found]
        width = max(7, *map(len, self.tags))
        lines += [
            "",
            "from \\ to".ljust(width + 2) + "".join(t.rjust(width + 1) for t in self.tags),
        ]
        for tag, row in zip(self.tags, self.transitions, strict=True):
            numbers = "".join(f"{value:{width + 1}.2f}" for value in row)
            lines.append(tag.ljust(width + 2) + numbers)
        return "\n".join(lines)


def inspect_weights(model: ChainModel, weights: FloatArray, n_features: int) -> Inspection:
    """The strongest features and the transition table."""
    table, transitions = model.split(weights)
    tags = model.tags.names
    features, against = {}, {}
    for number, tag in enumerate(tags):
        column = table[:, number]
        order = np.argsort(-column, kind="stable")
        features[tag] = _strengths(model, column, order[:n_features], sign=1)
        against[tag] = _strengths(model, column, order[::-1][:n_features], sign=-1)
    return Inspection(
        tags,
        features,
        against,
        _plain_transitions(model, transitions),
        len(weights),
        int(np.count_nonzero(weights)),
    )


def _strengths(
    model: ChainModel, column: FloatArray, order: IntArray, *, sign: int
) -> list[Strength]:
    return [
        Strength(model.features.name(int(attribute)), float(column[attribute]))
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


class Contribution(NamedTuple):
    """What one feature adds to the lead of the best sequence over the runner-up."""

    word: int
    feature: str
    value: float


@dataclass(frozen=True)
class Explanation:
    """Why a word got its tag: the best sequence against the best one with another tag there."""

    word: int
    tag: str
    runner_up: str
    probability: float
    runner_up_probability: float
    tags: tuple[str, ...]
    """The best sequence."""
    other_tags: tuple[str, ...]
    """The best sequence with another tag at the word."""
    contributions: tuple[Contribution, ...]
    """Of every feature that tells the two apart, the largest first."""

    @property
    def difference(self) -> float:
        """Score of the best sequence minus that of the other: the contributions' exact sum."""
        return math.fsum(value for _, _, value in self.contributions)

    def __str__(self) -> str:
        lines = [
            f"word {self.word}: {self.tag} (p = {self.probability:.4f}), not {self.runner_up} "
            f"(p = {self.runner_up_probability:.4f}); the best sequence leads by "
            f"{self.difference:.3f}",
            *(f"  {value:+9.3f}  word {word}: {name}" for word, name, value in self.contributions),
        ]
        return "\n".join(lines)


def explain_word(model: ChainModel, weights: FloatArray, sentence: Any, word: int) -> Explanation:
    """The features that made the decision at a word."""
    if not 0 <= word < len(sentence):
        raise ValueError(
            f"word is {word}; expected 0 to {len(sentence) - 1}, a word of the sentence."
        )
    (piece,) = model.pieces(model.encode([sentence]))
    p = model.distribution(piece, weights)
    best = p.best.structures[0]
    rivals = p.max_marginals.unary[0][word].copy()
    rivals[best[word]] = -np.inf
    if rivals.max(initial=-np.inf) == -np.inf:
        raise ValueError(f"no other tag is possible at word {word}; there is nothing to compare.")
    rival = int(np.argmax(rivals))
    fixed = np.full(len(best), -1)
    fixed[word] = rival
    other = with_known(Answer([0], p), [fixed]).best.structures[0]
    found = [
        *_word_contributions(model, weights, piece, best, other),
        *_step_contributions(model, weights, piece, best, other),
    ]
    probabilities = p.marginals.unary[0][word]
    return Explanation(
        word,
        model.tags.names[best[word]],
        model.tags.names[rival],
        float(probabilities[best[word]]),
        float(probabilities[rival]),
        tuple(model.tags.named(best)),
        tuple(model.tags.named(other)),
        tuple(sorted(found, key=lambda contribution: -abs(contribution.value))),
    )


def _word_contributions(
    model: ChainModel, weights: FloatArray, piece: Piece, best: Array, other: Array
) -> Iterator[Contribution]:
    table, _ = model.split(weights)
    for word in np.flatnonzero(best != other).tolist():
        row = piece.words[word : word + 1]
        values = row.values if len(row.values) else np.ones(len(row.ids))
        for attribute, value in zip(row.ids.tolist(), values.tolist(), strict=True):
            lead = value * (table[attribute, best[word]] - table[attribute, other[word]])
            yield Contribution(word, model.features.name(attribute), float(lead))


def _step_contributions(
    model: ChainModel, weights: FloatArray, piece: Piece, best: Array, other: Array
) -> Iterator[Contribution]:
    _, transitions = model.split(weights)
    steps, names = piece.transitions, model.tags.names
    for word in range(1, len(best)):
        pairs = [(sequence[word - 1], sequence[word]) for sequence in (best, other)]
        if pairs[0] == pairs[1]:
            continue
        attributes = [0] if steps is None else steps[word - 1 : word].ids.tolist()
        for attribute in attributes:
            label = model.features.name(attribute, transition=True)
            for (left, right), sign in zip(pairs, (1.0, -1.0), strict=True):
                name = f"{label} {names[left]} -> {names[right]}"
                yield Contribution(word, name, sign * float(transitions[attribute, left, right]))
