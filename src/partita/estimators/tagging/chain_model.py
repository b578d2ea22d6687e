"""What a trained tagger is made of: tags, features, hard rules; and batches of sentences of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.distribution.linear_chain import LinearChain
from partita.estimators.pieces import Piece
from partita.estimators.tagging.tags import TagSet
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.chains import tag_features
from partita.features.matrix import FixedScores
from partita.features.pairs import Pairs
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.text.word_features import Encoded, WordFeatures
from partita.text.words import Words
from partita.training.batches import CACHED_PARTS, cut

BOUNDARIES = ("start", "stop")
"""Attributes of the first and of the last word."""


@dataclass(frozen=True)
class ChainModel:
    """All of a tagger but its weights.

    The weights are (n_attributes, s), then (n_transition_attributes, s, s). With `pairs` the first
    of these are only those of the pairs of attribute and tag, as `Pairs` orders them. With
    `boundaries` the last two attributes are the start, <*, tag>, and the stop, <tag, stop>. A model
    that `is_local` is normalised at every step, p(tag | tag before, words).
    """

    tags: TagSet
    features: WordFeatures
    pairs: Pairs | None = None
    boundaries: bool = False
    is_local: bool = False

    @property
    def n_attributes(self) -> int:
        """Attributes of words, the start and the stop among them."""
        return self.features.n_attributes + 2 * self.boundaries

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return self._n_word_weights + self.features.n_transition_attributes * len(self.tags) ** 2

    @property
    def _n_word_weights(self) -> int:
        if self.pairs is not None:
            return self.pairs.n_weights
        return self.n_attributes * len(self.tags)

    def split(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights of tags, (n_attributes, s), and of transitions, (..., s, s)."""
        n_tags, middle = len(self.tags), self._n_word_weights
        of_words = weights[:middle]
        if self.pairs is None:
            table = of_words.reshape(-1, n_tags)
        else:
            table = self.pairs.table(of_words)
        return table, weights[middle:].reshape(-1, n_tags, n_tags)

    def joined(self, table: FloatArray, transitions: FloatArray) -> FloatArray:
        """The inverse of `split`."""
        of_words = table.ravel() if self.pairs is None else self.pairs.flat(table)
        return np.concatenate([of_words, transitions.ravel()])

    def encode(self, sentences: Sequence[Any]) -> Encoded:
        """The attributes of sentences, none of which is empty."""
        return self._with_ends(self.features.read(sentences))

    def encoded(self, words: Words) -> Encoded:
        """The attributes of words whose columns were read already."""
        return self._with_ends(self.features.encode(words))

    def _with_ends(self, encoded: Encoded) -> Encoded:
        return with_boundaries(encoded, self.features.n_attributes) if self.boundaries else encoded

    def pieces(
        self,
        encoded: Encoded,
        first: int = 0,
        last: int | None = None,
        most_words: int | None = None,
        *,
        most: int = CACHED_PARTS,
        lone_tables: bool = True,
    ) -> Iterator[Piece]:
        """The sentences from `first` on and before `last`, in pieces of `most` parts and words.

        Without `lone_tables`, sentences of one word have no transitions where a table is larger
        than a piece: with a thousand tags it would take a million times what the word does.
        """
        n_words = encoded.n_words[first:last]
        n_tags, shared = len(self.tags), encoded.transitions is None
        spares = shared and not lone_tables and n_tags**2 > most
        n_tables = n_words - 1
        if shared:
            n_tables = np.minimum(n_tables, 1) if spares else np.ones_like(n_words)
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(encoded.n_words)])
        sizes = n_words * n_tags + n_tables * n_tags**2
        if most_words is not None:
            # A sentence is as large as its share of the words, if that is more.
            sizes = np.maximum(sizes, -(-n_words * most // most_words))
        for part in cut(sizes, most):
            sentences = range(first + part.start, first + part.stop)
            # No other sentence is in a piece with one that has a table of more than a piece.
            is_spared = spares and n_words[part.start] == 1
            chains = Chains(
                n_words[part.start : part.stop], n_tags, shared=shared and not is_spared
            )
            begin, end = int(ends[sentences.start]), int(ends[sentences.stop])
            words = encoded.words[begin:end]
            steps = None
            if encoded.transitions is not None:
                # A sentence of n words has n - 1 steps.
                steps = encoded.transitions[begin - sentences.start : end - sentences.stop]
            features = self._features(chains, words, steps)
            yield Piece(sentences, LinearChain, chains, features, self.is_local)

    def _features(
        self, chains: Chains, words: Attributes, transitions: Attributes | None
    ) -> FeatureMap:
        features = tag_features(
            chains,
            words,
            self.n_attributes,
            transitions=transitions,
            n_transition_attributes=self.features.n_transition_attributes,
            pairs=self.pairs,
        )
        if self.tags.allowed is None:
            return features
        parts = self.forbidden_parts(chains)
        hard = FixedScores(chains.n_parts, parts, np.full(len(parts), -np.inf))
        return JoinedFeatures([*features.maps, hard])

    def forbidden_parts(self, chains: Chains) -> IntArray:
        """The parts that the scheme of the tags rules out, in order."""
        assert self.tags.allowed is not None
        first, pairwise, last = (~allowed for allowed in self.tags.allowed)
        forbidden = np.zeros(chains.n_parts, dtype=np.bool_)
        unaries, tables = chains.split(forbidden)
        for unary, table in zip(unaries, tables, strict=True):
            unary[0] |= first
            unary[-1] |= last
            table |= pairwise
        return np.flatnonzero(forbidden)

    def described(self, sentence: Any) -> Encoded:
        """The attributes of a sentence's words and steps."""
        return self.encode([sentence])

    def attribute_name(self, attribute: int, *, transition: bool = False) -> str:
        """An attribute as text."""
        beyond = attribute - self.features.n_attributes
        if not transition and beyond >= 0:
            return BOUNDARIES[beyond]
        return self.features.name(attribute, transition=transition)

    def transferred(self, other: "ChainModel", weights: FloatArray) -> FloatArray:
        """The weights of another model, for the features and tags that both have; 0 elsewhere."""
        tags = [name for name in self.tags.names if name in other.tags.names]
        here = np.array([self.tags.names.index(name) for name in tags], dtype=np.int64)
        there = np.array([other.tags.names.index(name) for name in tags], dtype=np.int64)
        own, theirs = self.split(np.zeros(self.n_weights)), other.split(weights)
        for transition in (False, True):
            rows, other_rows = _common(self, other, transition=transition)
            if transition:
                pairs = (rows[:, None, None], here[:, None], here)
                other_pairs = (other_rows[:, None, None], there[:, None], there)
                own[1][pairs] = theirs[1][other_pairs]
            else:
                own[0][rows[:, None], here] = theirs[0][other_rows[:, None], there]
        return self.joined(*own)


def with_boundaries(encoded: Encoded, n_attributes: int) -> Encoded:
    """The attributes of words, and two more: of each first word the start, of each last the stop.

    >>> words = Attributes.from_lists([[0], [1], [0]])
    >>> with_boundaries(Encoded(np.array([2, 1]), words), n_attributes=2).words.ids
    array([2, 0, 1, 3, 2, 0, 3], dtype=int32)
    """
    words, ends = encoded.words, np.cumsum(encoded.n_words)
    first, last = words.offsets[ends - encoded.n_words], words.offsets[ends]
    # In the order of the sentences: a stop stands where the next sentence's start does.
    places = np.column_stack([first, last]).ravel()
    added = np.tile(np.array([n_attributes, n_attributes + 1], dtype=np.int32), len(first))
    ids = np.insert(words.ids, places, added)
    values = words.values
    if len(values):
        values = np.insert(values, places, 1.0)
    n_added = np.zeros(words.n_rows + 1, dtype=np.int64)
    n_added[1 + ends - encoded.n_words] += 1
    n_added[ends] += 1
    return replace(encoded, words=Attributes(ids, words.offsets + np.cumsum(n_added), values))


def _common(model: ChainModel, other: ChainModel, *, transition: bool) -> tuple[IntArray, IntArray]:
    """The numbers, here and there, of attributes of the same name."""
    names = _names(other, transition=transition)
    pairs = [
        (number, names[name])
        for name, number in _names(model, transition=transition).items()
        if name in names
    ]
    here, there = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return here, there


def _names(model: ChainModel, *, transition: bool) -> dict[str, int]:
    n_names = model.features.n_transition_attributes if transition else model.n_attributes
    return {
        model.attribute_name(number, transition=transition): number for number in range(n_names)
    }
