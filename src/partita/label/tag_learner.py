"""A chain that learns from part of the tags of a corpus, a few iterations at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.schemes import OUTSIDE, UNKNOWN, is_chunk_tag, split_tag
from partita.data.sentences import Sentence
from partita.distribution.chain_entropy import span_entropies
from partita.distribution.linear_chain import LinearChain
from partita.estimators.pieces import Piece
from partita.estimators.runs import learn
from partita.estimators.supervision import LIKELIHOOD, EntropyTerm, Known, Lessons
from partita.estimators.tagging.chain_model import ChainModel
from partita.estimators.tagging.expectations import tag_shares
from partita.estimators.tagging.material import TagKnowledge
from partita.estimators.tagging.tags import TagSet
from partita.label.learning import RAMP, Classroom, RoundOptions, with_fixed_scores
from partita.label.ledger import KnownLabels
from partita.objectives import Entropy
from partita.objectives.partial import known_tags
from partita.text.attributes import Attributes
from partita.text.learning import learn_features
from partita.text.word_features import Encoded
from partita.text.words import default_columns, read_words

FEW_WORDS = 2000
"""In fewer words than this, features that occur once are kept: there are not many."""
PASSES, PASS_WORDS = 15, 150_000
"""Iterations of a round of learning; fewer where they would see more words than this."""


@dataclass(frozen=True)
class TagOptions(RoundOptions):
    """How the chain learns; beside entropy the shares of tags are kept."""

    most_words: int = 5
    """Of a span that is asked for."""


class TagLearner:
    """Weights of a chain on the sentences of a corpus, whose features are read once.

    `base` is a trained tagger whose scores ours are added to: what is learnt here is how the
    labels differ from what it thinks, and the penalty draws towards it.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        tags: Sequence[str],
        column: str,
        base: Any,
        options: TagOptions,
    ) -> None:
        self.options, self.tags = options, TagSet(tags, scheme_of(tags))
        words = read_words(sentences, default_columns(sentences[0].names, column))
        n_words = int(words.n_words.sum())
        features, encoded = learn_features(words, None, 1 if n_words < FEW_WORDS else 2)
        self._bases = None if base is None else list(_base_scores(base, sentences, tags))
        if self._bases is not None and any(table.ndim == 3 for _, table in self._bases):
            encoded = _with_steps(encoded)
        self._encoded, self._model = encoded, ChainModel(self.tags, features)
        self._ends = np.concatenate([[0], np.cumsum(encoded.n_words)])

    @property
    def knows_something(self) -> bool:
        """Whether it thinks anything before there is a label."""
        return self._bases is not None

    def learn(self, known: KnownLabels, start: Any = None) -> FloatArray:
        """Weights: the marginal likelihood of what is known, a few iterations from the last."""
        numbers = [self.numbers(labels) for labels in known]
        room = Classroom.of(numbers, with_unknown=self.options.entropy_weight > 0)
        weights: FloatArray = np.zeros(self._model.n_weights) if start is None else start
        if room.knows_nothing:
            return weights
        knowledge = TagKnowledge(room.labels, [None] * len(room.labels))
        encoded = _chosen(self._encoded, self._ends, room.order)
        groups = {
            kind: list(self._pieces(encoded, room.order, *bounds))
            for kind, bounds in room.bounds.items()
        }
        entropy, shares = None, []
        n_words = self._encoded.n_words[room.order]
        if groups[Known.NOTHING]:
            n_none = sum(len(each) for each in room.labels if (each < 0).all())
            share = self.options.entropy_weight * knowledge.n_known() / n_none
            entropy = EntropyTerm(Entropy(), share, RAMP)
            shares = [tag_shares(room.labels, len(self.tags), n_words, 1.0)]
        lessons = Lessons(groups, knowledge, LIKELIHOOD, None, entropy, shares, "tags")
        passes = int(np.clip(PASS_WORDS // int(n_words.sum()), 3, PASSES))
        return learn(lessons, self.options.plan(passes), weights).weights

    def _pieces(
        self, encoded: Encoded, order: Sequence[int], first: int = 0, last: int | None = None
    ) -> Iterator[Piece]:
        """Pieces of sentences, whose numbers are `order`; with the scores of the base."""
        for piece in self._model.pieces(encoded, first, last):
            if self._bases is None:
                yield piece
                continue
            chains, scores = piece.structures, np.zeros(piece.structures.n_parts)
            for unary, table, index in zip(*chains.split(scores), piece.sentences, strict=True):
                base_unary, base_table = self._bases[order[index]]
                unary[...], table[...] = base_unary, base_table
            yield with_fixed_scores(piece, scores)

    def distributions(
        self, weights: FloatArray, order: Sequence[int], known: Sequence[Any] | None
    ) -> Iterator[tuple[LinearChain, range]]:
        """Distributions over the tags of sentences, given what is known; a batch at a time."""
        for piece in self._pieces(_chosen(self._encoded, self._ends, order), order):
            p = piece.at(weights)
            yield p if known is None else self.given_known(p, piece.of(known)), piece.sentences

    def given_known(self, p: LinearChain, known: Sequence[Any]) -> LinearChain:
        """The distribution over sequences that agree with what is known."""
        tags = [self.numbers(labels) for labels in known]
        return p.with_scores(np.where(known_tags(p.structures, tags), p.scores, -np.inf))

    def numbers(self, labels: Sequence[Any]) -> IntArray:
        """The number of each tag, -1 where it is not known."""
        return self.tags.numbers([UNKNOWN if each is None else each for each in labels], "a word")


def scheme_of(tags: Sequence[str]) -> Any:
    """The chunk scheme that a set of tags is of; None if it is of none.

    >>> scheme_of(["O", "B-PER", "I-PER"]), scheme_of(["NOUN", "VERB"])
    ('IOB2', None)
    """
    if not all(map(is_chunk_tag, tags)):
        return None
    letters = {split_tag(tag)[0] for tag in tags}
    if letters & {"E", "S"}:
        return "BIOES"
    return "IOB2" if letters - {OUTSIDE} else None


def all_span_entropies(unary: FloatArray, pairs: FloatArray, lengths: range) -> list[FloatArray]:
    """The entropies of spans of 1, 2, ... words: by the chain rule, from those of 1 and of 2.

    >>> u = np.full((3, 2), 0.5)
    >>> [e.round(2).tolist() for e in all_span_entropies(u, np.full((2, 2, 2), 0.25), range(1, 4))]
    [[0.69, 0.69, 0.69], [1.39, 1.39], [2.08]]
    """
    words = span_entropies(unary, pairs, 1)
    if len(lengths) == 1:
        return [words]
    found = [words, span_entropies(unary, pairs, 2)]
    for _ in lengths[2:]:
        # A word more: the pair that it ends, less the word that this pair begins with.
        longer = len(found[-1]) - 1
        pair, inner = found[1][-longer:], words[-1 - longer : -1]
        found.append(found[-1][:longer] + pair - inner)
    return found


def _base_scores(
    base: Any, sentences: Sequence[Any], tags: Sequence[str]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The scores of a trained tagger: tags of words, and transitions.

    A tag that it does not know is as likely as the least likely that is possible.
    """
    known = [base.tags_.index(tag) if tag in base.tags_ else -1 for tag in tags]
    is_known = np.array(known) >= 0
    for p in base.distributions(sentences):
        for unary, table in zip(*p.structures.split(p.scores), strict=True):
            words, steps = unary[:, known], table[..., known, :][..., known]
            if not is_known.all():
                possible = np.where(np.isfinite(unary), unary, np.inf).min(axis=1)
                words[:, ~is_known] = possible[:, None]
                steps[..., ~is_known, :] = 0.0
                steps[..., :, ~is_known] = 0.0
            yield words, steps


def _with_steps(encoded: Encoded) -> Encoded:
    """With an attribute for every step, so that transitions may differ from step to step."""
    n_steps = int((encoded.n_words - 1).sum())
    steps = Attributes(np.zeros(n_steps, dtype=np.int32), np.arange(n_steps + 1, dtype=np.int64))
    return replace(encoded, transitions=steps)


def _chosen(encoded: Encoded, ends: IntArray, order: Sequence[int]) -> Encoded:
    """Some sentences by number, in any order."""
    steps = None
    if encoded.transitions is not None:
        # A sentence of n words has n - 1 steps.
        steps = Attributes.joined(
            [encoded.transitions[ends[i] - i : ends[i + 1] - i - 1] for i in order]
        )
    words = Attributes.joined([encoded.words[ends[i] : ends[i + 1]] for i in order])
    return Encoded(encoded.n_words[list(order)], words, steps)
