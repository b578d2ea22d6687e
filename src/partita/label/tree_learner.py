"""Trees that learn from some heads of a corpus, a few iterations at a time; and their relations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.conllu import EMPTY, UNKNOWN_HEAD
from partita.data.sentences import Sentence
from partita.distribution.trees import Tree
from partita.estimators.parsing.material import HeadKnowledge
from partita.estimators.parsing.model import ParserModel
from partita.estimators.pieces import Piece
from partita.estimators.runs import learn
from partita.estimators.supervision import LIKELIHOOD, EntropyTerm, Known, Lessons
from partita.features.arc_keys import KeyMaker
from partita.label.learning import RAMP, Classroom, RoundOptions, with_fixed_scores
from partita.label.ledger import KnownLabels
from partita.label.relations import BaseRelations, RelationModel
from partita.objectives import Entropy
from partita.objectives.partial import known_heads
from partita.text.arc_templates import default_arc_templates
from partita.text.tree_words import NAMES, read_tree_words
from partita.training.batches import CACHED_PARTS

N_BITS = 18
"""Arcs have 2 to the power of this many weights."""
PASSES, PASS_ARCS = 12, 1_500_000
"""Iterations of a round of learning; fewer where they would see more arcs than this."""


@dataclass(frozen=True)
class TreeOptions(RoundOptions):
    """How trees are learnt."""

    projective: bool = False
    """Whether arcs may not cross; without it every tree can be an answer."""
    most_words: int = 3
    """Of a span that is asked for."""


class TreeWeights(NamedTuple):
    """What is learnt: weights of arcs, and of relations where there were any to learn from."""

    arcs: FloatArray
    relations: FloatArray


class TreeLearner:
    """Weights of arcs and of relations on the sentences of a corpus, whose features are read once.

    `base` is a trained parser, whose scores of arcs ours are added to.
    """

    def __init__(
        self, sentences: Sequence[Sentence], names: Sequence[str], base: Any, options: TreeOptions
    ) -> None:
        self.options = options
        words = read_tree_words(sentences)
        columns = tuple(name for name in NAMES if name in words.columns)
        maker = KeyMaker.learn(default_arc_templates(tuple(words.columns)), words, 1)
        self._model = ParserModel(maker, N_BITS, options.projective, True, columns)
        self._encoded = self._model.encode_words(words)
        is_labelled = base is not None and base.labels_
        named = BaseRelations.of(base, sentences, names) if is_labelled else None
        self.relations = RelationModel.of(names, words, named)
        self._bases = None if base is None else list(_base_scores(base, sentences))
        self._n_words = [len(sentence) for sentence in sentences]

    @property
    def knows_something(self) -> bool:
        """Whether it thinks anything before there is a label."""
        return self._bases is not None

    def learn(self, known: KnownLabels, start: Any = None) -> TreeWeights:
        """Weights: the marginal likelihood of the heads that are known, and of their relations."""
        heads = [_heads(labels) for labels in known]
        room = Classroom.of(heads, with_unknown=self.options.entropy_weight > 0)
        if start is None:
            start = TreeWeights(np.zeros(self._model.n_weights), np.zeros(self.relations.n_weights))
        if room.knows_nothing:
            return TreeWeights(*start)
        groups = {
            kind: list(self._pieces(room.order, *bounds)) for kind, bounds in room.bounds.items()
        }
        entropy = None
        if groups[Known.NOTHING]:
            entropy = EntropyTerm(Entropy(), self.options.entropy_weight, RAMP)
        knowledge = HeadKnowledge(room.labels)
        lessons = Lessons(groups, knowledge, LIKELIHOOD, None, entropy, what="heads")
        n_arcs = sum((self._n_words[place] + 1) ** 2 for place in room.order)
        plan = self.options.plan(int(np.clip(PASS_ARCS // n_arcs, 2, PASSES)), n_shards=1)
        arcs = learn(lessons, plan, start.arcs).weights
        return TreeWeights(arcs, self.relations.learn(_arcs(known), start.relations))

    def _pieces(
        self, order: Sequence[int], first: int = 0, last: int | None = None
    ) -> Iterator[Piece]:
        encoded = self._encoded._replace(order=np.asarray(order, dtype=np.int64))
        for piece in self._model.pieces(encoded, first, last, CACHED_PARTS):
            if self._bases is None:
                yield piece
                continue
            trees, scores = piece.structures, np.zeros(piece.structures.n_parts)
            for arcs, index in zip(trees.split(scores), piece.sentences, strict=True):
                arcs[...] = self._bases[order[index]]
            yield with_fixed_scores(piece, scores)

    def distributions(
        self, model: TreeWeights, order: Sequence[int], known: Sequence[Any] | None
    ) -> Iterator[tuple[Tree, range]]:
        """Distributions over the trees of sentences, given what is known; a batch at a time."""
        for piece in self._pieces(order):
            p = piece.at(model.arcs)
            yield p if known is None else given_known(p, piece.of(known)), piece.sentences


def _heads(labels: Sequence[Any]) -> IntArray:
    return np.array([UNKNOWN_HEAD if each is None else each[0] for each in labels], dtype=np.int64)


def given_known(p: Tree, known: Sequence[Any]) -> Tree:
    """The distribution over trees that have the heads that are known."""
    heads = [_heads(labels) for labels in known]
    return p.with_scores(np.where(known_heads(p.structures, heads), p.scores, -np.inf))


def _arcs(known: KnownLabels) -> list[tuple[int, int, int, str]]:
    """Sentence, word, head and relation, where the relation is known."""
    return [
        (place, word, int(label[0]), str(label[1]))
        for place, labels in enumerate(known)
        for word, label in enumerate(labels)
        if label is not None and label[1] != EMPTY
    ]


def _base_scores(base: Any, sentences: Sequence[Any]) -> Iterator[FloatArray]:
    """The scores of arcs of a trained parser, labels that arcs may have summed out."""
    for p in base.distributions(sentences):
        for arcs in p.structures.split(p.scores):
            if arcs.ndim == 2:
                yield arcs
            else:
                top = arcs.max(axis=2)
                safe = np.where(np.isfinite(top), top, 0.0)
                with np.errstate(divide="ignore"):
                    yield safe + np.log(np.exp(arcs - safe[:, :, None]).sum(axis=2))
