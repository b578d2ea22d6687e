"""Second-order transitions of tags, in a few dozen lines of NumPy: what would they be worth?

A weight for every three tags in a row beside those of a `Tagger`, exact sums and best sequences,
the same mini-batches of AdaGrad. For `benchmarks.tagger_defaults`; not part of the library.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NoReturn, Self

import numpy as np

from partita import Tagger
from partita.arrays import FloatArray, IntArray
from partita.distribution.parts import PartDistribution
from partita.estimators.tagging.chain_model import ChainModel
from partita.estimators.tagging.learning import most_words
from partita.features.base import JoinedFeatures
from partita.features.matrix import FixedScores
from partita.features.rows import RowFeatures
from partita.objectives import Counts, Likelihood
from partita.structures.base import Best, Inference, Structures
from partita.structures.batch import offsets
from partita.text.attributes import Attributes
from partita.training import AdaGrad, Batch, Penalty, build_corpus, train


class TagTriples(Structures):
    """The tags of all sentences of a mini-batch together, as one structure.

    Parts: a tag at each word, (n, s), and triples [tag before, tag, next tag], (s + 1, s, s), where
    the tag before the first one is s.
    """

    def __init__(self, lengths: IntArray, n_tags: int) -> None:
        self.sizes, self.n_tags = np.asarray(lengths), n_tags
        self.n_words = np.array([self.sizes.sum()])
        self.starts = offsets(self.sizes)
        self.first_triple = int(self.n_words[0]) * n_tags
        self.part_offsets = np.array([0, self.first_triple + (n_tags + 1) * n_tags**2])

    def split(self, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
        s = self.n_tags
        unary, triples = np.split(parts, [self.first_triple])
        return unary.reshape(-1, s), triples.reshape(s + 1, s, s)

    def infer(self, scores: FloatArray) -> Inference:
        """Forward-backward over pairs of tags: [tag, sentence, tag before], scaled by sentence."""
        s, order = self.n_tags, np.argsort(-self.sizes, kind="stable")
        unary, triples = self.split(scores)
        tops = unary.max(axis=1, keepdims=True)
        u, top = np.exp(unary - tops), triples.max()
        table = np.exp(triples - top)
        inner = np.ascontiguousarray(table[:s].transpose(1, 0, 2))  # [tag, before, next]
        starts, lengths = self.starts[:-1][order], self.sizes[order]
        total = float(tops.sum()) + top * float((lengths - 1).sum())
        marginals = np.zeros(self.n_parts)
        of_words, of_triples = self.split(marginals)
        single = starts[lengths == 1]
        total += float(np.log(u[single].sum(axis=1)).sum())
        of_words[single] = u[single] / u[single].sum(axis=1, keepdims=True)
        active = [int((lengths > t).sum()) for t in range(int(lengths.max()))]
        if len(active) < 2:
            return Inference(np.array([total]), marginals)
        words = [starts[:n] + t for t, n in enumerate(active)]
        # Two words: [second tag, sentence, first tag].
        n = active[1]
        pairs = np.einsum("bi,ij,bj->jbi", u[words[0][:n]], table[s], u[words[1]])
        forward, scales = [], []
        for t in range(1, len(active)):
            if t > 1:
                onwards = np.matmul(forward[-1][:, : active[t]], inner) * u[words[t]]
                pairs = onwards.transpose(2, 1, 0)
            scale = pairs.sum(axis=(0, 2))
            forward.append(np.ascontiguousarray(pairs / scale[:, None]))
            scales.append(scale)
            total += float(np.log(scale).sum())
        summed = np.zeros_like(inner)
        behind = np.ones((s, active[-1], s))
        for t in range(len(active) - 1, 0, -1):
            here = forward[t - 1]
            if t < len(active) - 1:
                n = active[t + 1]
                # [tag, sentence, next tag]
                ahead = (behind * (u[words[t + 1]].T[:, :, None] / scales[t][:, None])).transpose(
                    2, 1, 0
                )
                summed += np.matmul(here[:, :n].transpose(0, 2, 1), ahead)
                behind = np.ones((s, active[t], s))
                behind[:, :n] = np.matmul(ahead, inner.transpose(0, 2, 1))
            both = here * behind
            of_words[words[t]] = both.sum(axis=2).T
        of_words[words[0][: active[1]]] = both.sum(axis=0)
        of_triples[s] = both.sum(axis=1).T
        of_triples[:s] = (summed * inner).transpose(1, 0, 2)
        return Inference(np.array([total]), marginals)

    def argmax(self, scores: FloatArray) -> Best:
        """Viterbi's algorithm over pairs of tags."""
        unary, triples = self.split(scores)
        tags, best = [], 0.0
        for first, end in pairwise(self.starts.tolist()):
            if end == first + 1:
                tags.append([int(unary[first].argmax())])
                best += float(unary[first].max())
                continue
            value = unary[first][:, None] + triples[-1] + unary[first + 1]
            back = []
            for word in range(first + 2, end):
                sums = value[:, :, None] + triples[:-1]
                back.append(sums.argmax(axis=0))
                value = sums.max(axis=0) + unary[word]
            best += float(value.max())
            row = list(np.unravel_index(int(value.argmax()), value.shape))
            for table in reversed(back):
                row.insert(0, table[row[0], row[1]])
            tags.append([int(tag) for tag in row])
        return Best([tags], np.array([best]))

    def counts(self, structures: Sequence[Any]) -> FloatArray:
        counts = np.zeros(self.n_parts)
        unary, triples = self.split(counts)
        unary[np.arange(len(unary)), np.concatenate(structures[0])] = 1.0
        for tags in structures[0]:
            row = np.array([self.n_tags, *tags])
            np.add.at(triples, (row[:-2], row[1:-1], row[2:]), 1.0)
        return counts

    def is_same_set(self, other: Self) -> bool:
        return np.array_equal(self.sizes, other.sizes)

    def _not_here(self, *_: Any) -> NoReturn:
        raise NotImplementedError("the prototype of a benchmark learns and tags, no more.")

    covariance_product = k_best = max_marginals = sample = _not_here


def batches(model: ChainModel, sentences: Sequence[Any], most: int | None) -> Any:
    """Mini-batches as the tagger has them: structures, features, and which sentences they are."""
    encoded, s = model.encode(sentences), len(model.tags)
    ends = offsets(encoded.n_words)
    for piece in model.pieces(encoded, most_words=most):
        first, end = piece.sentences.start, piece.sentences.stop
        triples = TagTriples(encoded.n_words[first:end], s)
        n_parts, start = triples.n_parts, triples.first_triple
        words = encoded.words[int(ends[first]) : int(ends[end])]
        once = Attributes.from_lists([[0]])
        always = Attributes.from_lists([[0]] * (s + 1))
        maps = [
            RowFeatures(words, np.arange(words.n_rows) * s, s, model.n_attributes, n_parts),
            RowFeatures(always, start + np.arange(s + 1) * s**2, s**2, 1, n_parts),
            RowFeatures(once, [start], (s + 1) * s**2, 1, n_parts),
        ]
        if model.tags.allowed is not None:
            forbidden = np.zeros(n_parts, dtype=np.bool_)
            unary, table = triples.split(forbidden)
            unary[triples.starts[:-1]] |= ~model.tags.allowed.first
            unary[triples.starts[1:] - 1] |= ~model.tags.allowed.last
            table |= ~model.tags.allowed.pairwise
            parts = np.flatnonzero(forbidden)
            maps.append(FixedScores(n_parts, parts, np.full(len(parts), -np.inf)))
        yield triples, JoinedFeatures(maps), range(first, end)


def tagged(sentences: Sequence[Any], column: str, others: Sequence[Any]) -> list[list[str]]:
    """The tags of other sentences, learnt with second-order transitions from some."""
    # One iteration, for the features and the tags.
    tagger = Tagger(tag_column=column, progress=False, max_iterations=1, optimiser="adagrad")
    model = tagger.fit(sentences).model_
    labels = [model.tags.numbers(each.column(column), "") for each in sentences]
    most = most_words(tagger, "adagrad", sum(map(len, sentences)))
    made = [
        Batch(
            PartDistribution,
            triples,
            features,
            {"Likelihood": Counts.of(triples, [[labels[k] for k in chosen]])},
        )
        for triples, features, chosen in batches(model, sentences, most)
    ]
    corpus = build_corpus(Likelihood(), made, workers=1)
    weights = train(corpus, AdaGrad(), penalty=Penalty(l2=tagger.l2), progress=False).weights
    found: list[list[str]] = []
    for triples, features, _ in batches(model, others, None):
        best = triples.argmax(features.scores(weights)).structures[0]
        found += [model.tags.named(np.array(tags)) for tags in best]
    return found
