"""Relations of arcs: a multinomial model of the label of an arc, given its two ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.distribution.chain_entropy import entropy_of
from partita.distribution.linear_chain import LinearChain
from partita.estimators.parsing.answers import Labeller
from partita.estimators.parsing.joint import ArcLabels, arc_label_templates
from partita.features.arc_keys import KeyMaker
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.labelled_arcs import row_places
from partita.features.matrix import FixedScores
from partita.kernels.features.arcs import Keys
from partita.objectives import Counts, Likelihood
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.text.words import Words
from partita.training import LBFGS, Batch, Penalty, build_corpus, train

N_BITS = 14
"""Labels have 2 to the power of this many rows of weights."""
PASSES, PASS_ARCS = 12, 60_000
"""Iterations of a round of learning; fewer where they would see more arcs than this."""


@dataclass(frozen=True)
class BaseRelations:
    """What a trained parser thinks of relations: log p(relation | tree) of words of a corpus."""

    labeller: Labeller
    words: Words
    trees: Sequence[IntArray]
    """The parser's own best heads, for words whose heads are not known."""
    columns: IntArray
    """Of each of our relations, the parser's number; -1 if it does not know it."""

    @classmethod
    def of(cls, parser: Any, sentences: Sequence[Any], names: Sequence[str]) -> "BaseRelations":
        """Of a trained parser that has labels."""
        known = {name: number for number, name in enumerate(parser.labels_)}
        trees = [tree for p in parser.distributions(sentences) for tree in p.best.structures]
        heads = [tree[0] if isinstance(tree, tuple) else tree for tree in trees]
        columns = np.array([known.get(name, -1) for name in names])
        return cls(parser.labeller(), parser.model_.encode(sentences).words, heads, columns)

    def scores(self, sentences: IntArray, heads: Sequence[IntArray]) -> FloatArray:
        """(n_words, n_relations); one that is not known is as likely as the least likely."""
        words = self.words.chosen(sentences)
        model, weights = self.labeller.model, self.labeller.weights
        table = model.log_probabilities(weights, words, np.concatenate(heads))
        least = table.min(axis=1, keepdims=True)
        return np.where(self.columns >= 0, table[:, self.columns], least)

    def completed(self, arcs: Sequence[tuple[int, int, int, str]]) -> FloatArray:
        """Scores of the relations of known arcs, other heads being the parser's; one row each."""
        numbers = sorted({sentence for sentence, *_ in arcs})
        heads = {number: self.trees[number].copy() for number in numbers}
        for sentence, word, head, _ in arcs:
            heads[sentence][word] = head
        table = self.scores(np.array(numbers), [heads[number] for number in numbers])
        ends = np.cumsum([0, *(len(heads[number]) for number in numbers)]).tolist()
        first = dict(zip(numbers, ends, strict=False))
        return table[[first[sentence] + word for sentence, word, *_ in arcs]]


@dataclass(frozen=True)
class RelationModel:
    """p(relation | head, modifier), whatever the rest of the tree is; of the words of a corpus.

    Where there is a trained parser, its log-probabilities are added to, as with arcs.
    """

    labels: ArcLabels
    keys: Keys
    first_nodes: IntArray
    """Where each sentence's root stands among the nodes of all."""
    base: BaseRelations | None = None

    @classmethod
    def of(
        cls, names: Sequence[str], words: Words, base: BaseRelations | None = None
    ) -> "RelationModel":
        """For relations of these names."""
        maker = KeyMaker.learn(arc_label_templates(tuple(words.columns)), words, 1)
        labels = ArcLabels(tuple(names), N_BITS, maker)
        return cls(labels, maker.keys(words), words.first_nodes, base)

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return self.labels.n_weights

    def learn(self, arcs: Sequence[tuple[int, int, int, str]], start: FloatArray) -> FloatArray:
        """Weights from known arcs: sentence, word, head and relation of each."""
        if not arcs:
            return start
        sentences, words, heads = np.array([each[:3] for each in arcs], dtype=np.int64).T
        roots = self.first_nodes[sentences]
        numbers = np.array([self.labels.numbers[name] for *_, name in arcs])
        # Every arc on its own: a chain of one word.
        chains = Chains(np.ones(len(arcs), dtype=np.int64), len(self.labels.names), shared=False)
        rows = self._rows(roots + heads, roots + words + 1)
        features: FeatureMap = self.labels.features(rows)
        if self.base is not None:
            fixed = self.base.completed(arcs).ravel()
            scores = FixedScores(fixed.size, np.arange(fixed.size), fixed)
            features = JoinedFeatures([features, scores])
        targets: dict[str, Any] = {Likelihood.__name__: Counts.of(chains, list(numbers[:, None]))}
        with build_corpus(
            Likelihood(), [Batch(LinearChain, chains, features, targets)], workers=1
        ) as corpus:
            passes = int(np.clip(PASS_ARCS // len(arcs), 3, PASSES))
            way = LBFGS(n_iterations=passes, loss_tolerance=1e-4)
            found = train(corpus, way, penalty=Penalty(l2=1.0), weights=start, progress=False)
        return found.weights

    def expected_entropies(
        self,
        weights: FloatArray,
        marginals: Sequence[FloatArray],
        sentences: Sequence[int],
        most: int | None = None,
    ) -> list[FloatArray]:
        """The sum over heads of p(head) H(relation | head), of every word of some sentences.

        `marginals` are those of arcs, (n+1, n+1) each. Of each word, `most` heads are looked at,
        the likeliest; at others relations count as wholly open, so the result is not too low. A
        trained parser names the relations of whole trees: with it, those at the likeliest heads.
        """
        if self.base is not None:
            best = [each[:, 1:].argmax(axis=0) for each in marginals]
            tables = self.probabilities(weights, best, sentences)
            return [entropy_of(table, (1,)) for table in tables]
        heads, words, shares, rest = [], [], [], []
        for each, sentence in zip(marginals, sentences, strict=True):
            of_words = each[:, 1:].T
            likeliest = np.argsort(-of_words, axis=1)[:, :most]
            share = np.take_along_axis(of_words, likeliest, axis=1)
            root = self.first_nodes[sentence]
            heads.append((root + likeliest).ravel())
            words.append(np.repeat(root + 1 + np.arange(len(of_words)), likeliest.shape[1]))
            shares.append(share)
            rest.append(np.maximum(1.0 - share.sum(axis=1), 0.0))
        table = self._table(weights, np.concatenate(heads), np.concatenate(words))
        ends = np.cumsum([each.size for each in shares])[:-1]
        of_arcs = np.split(entropy_of(table, (1,)), ends)
        unknown = np.log(len(self.labels.names))
        return [
            (share * values.reshape(share.shape)).sum(axis=1) + others * unknown
            for share, values, others in zip(shares, of_arcs, rest, strict=True)
        ]

    def probabilities(
        self,
        weights: FloatArray,
        heads: Sequence[IntArray],
        sentences: Sequence[int] | None = None,
    ) -> list[FloatArray]:
        """p(relation | head) of every word of some sentences, (n, n_relations) each."""
        places = np.arange(len(heads)) if sentences is None else np.asarray(sentences)
        n_words = np.array([len(each) for each in heads])
        roots = np.repeat(self.first_nodes[places], n_words)
        ends = np.cumsum(n_words)
        within = np.arange(ends[-1]) - np.repeat(ends - n_words, n_words)
        fixed = 0.0 if self.base is None else self.base.scores(places, heads)
        p = self._table(weights, roots + np.concatenate(heads), roots + within + 1, fixed)
        return np.split(p, ends[:-1])

    def _table(
        self,
        weights: FloatArray,
        heads: IntArray,
        modifiers: IntArray,
        fixed: FloatArray | float = 0.0,
    ) -> FloatArray:
        """p(relation | arc) of arcs between nodes of the corpus, (n_arcs, n_relations)."""
        rows = self._rows(heads, modifiers)
        scores = self.labels.features(rows).scores(weights).reshape(-1, len(self.labels.names))
        scores = scores + fixed
        p: FloatArray = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p

    def _rows(self, heads: IntArray, modifiers: IntArray) -> Attributes:
        places = row_places(self.keys, heads, modifiers, self.labels.n_bits)
        return Attributes(places.ravel(), np.arange(len(heads) + 1) * places.shape[1])
