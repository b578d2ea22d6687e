"""Relations of arcs: a multinomial model of the label of an arc, given its two ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.distribution.linear_chain import LinearChain
from partita.estimators.parsing.joint import ArcLabels, arc_label_templates
from partita.features.arc_keys import KeyMaker
from partita.features.labelled_arcs import row_places
from partita.kernels.features.arcs import Keys
from partita.objectives import Counts, Likelihood
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.text.words import Words
from partita.training import LBFGS, Batch, Penalty, build_corpus, train

N_BITS = 14
"""Labels have 2 to the power of this many rows of weights."""
PASSES = 12


@dataclass(frozen=True)
class RelationModel:
    """p(relation | head, modifier), whatever the rest of the tree is; of the words of a corpus."""

    labels: ArcLabels
    keys: Keys
    first_nodes: IntArray
    """Where each sentence's root stands among the nodes of all."""

    @classmethod
    def of(cls, names: Sequence[str], words: Words) -> "RelationModel":
        """For relations of these names."""
        maker = KeyMaker.learn(arc_label_templates(tuple(words.columns)), words, 1)
        return cls(ArcLabels(tuple(names), N_BITS, maker), maker.keys(words), words.first_nodes)

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
        features = self.labels.features(self._rows(roots + heads, roots + words + 1))
        targets: dict[str, Any] = {Likelihood.__name__: Counts.of(chains, list(numbers[:, None]))}
        with build_corpus(
            Likelihood(), [Batch(LinearChain, chains, features, targets)], workers=1
        ) as corpus:
            way = LBFGS(n_iterations=PASSES, loss_tolerance=1e-4)
            found = train(corpus, way, penalty=Penalty(l2=1.0), weights=start, progress=False)
        return found.weights

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
        rows = self._rows(roots + np.concatenate(heads), roots + within + 1)
        scores = self.labels.features(rows).scores(weights).reshape(-1, len(self.labels.names))
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return np.split(p, ends[:-1])

    def _rows(self, heads: IntArray, modifiers: IntArray) -> Attributes:
        places = row_places(self.keys, heads, modifiers, self.labels.n_bits)
        return Attributes(places.ravel(), np.arange(len(heads) + 1) * places.shape[1])
