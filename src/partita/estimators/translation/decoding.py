"""Translations from forests: the best derivation, the best translations, samples, least risk."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.evaluation.translations import pairwise_bleu
from partita.structures.tied_forests import TiedForest

Yield = Callable[[IntArray], tuple[str, ...]]
"""Derivation -> target words."""


class Translation(NamedTuple):
    """Target words, and the log of their probability (or of a part of it that was found)."""

    words: tuple[str, ...]
    log_probability: float


class Scored(NamedTuple):
    """A forest with the scores of its edges, and how to read its derivations."""

    forest: TiedForest
    edges: FloatArray
    """(n_edges,)."""
    read: Yield

    def best(self) -> tuple[str, ...]:
        """The target of the best derivation."""
        return self.read(self.forest.forest.argmax(self.edges).structures[0])

    def k_best(self, k: int, n_derivations: int) -> list[Translation]:
        """The k likeliest different targets among the best derivations, likeliest first.

        The probability of a target is summed over those of its derivations that are among the
        `n_derivations` best; the true one can be higher.
        """
        forest = self.forest.forest
        log_partition = float(forest.infer(self.edges).log_partition[0])
        found: dict[tuple[str, ...], float] = {}
        for derivation, score in forest.k_best(self.edges, n_derivations)[0]:
            words = self.read(derivation)
            found[words] = float(np.logaddexp(found.get(words, -np.inf), score - log_partition))
        ranked = sorted(found.items(), key=lambda item: -item[1])
        return [Translation(words, value) for words, value in ranked[:k]]

    def sample(self, size: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
        """Targets of derivations that are drawn independently."""
        forest = self.forest.forest
        drawn = forest.sample(self.edges, forest.infer(self.edges), size, rng)[0]
        return [self.read(derivation) for derivation in drawn]


def least_risk(
    candidates: Sequence[tuple[str, ...]],
    evidence: Sequence[tuple[str, ...]],
    weights: FloatArray,
) -> tuple[str, ...]:
    """The candidate with the highest expected BLEU, where `evidence` has the given probabilities.

    argmax over candidates y of sum over y' of weight(y') sentence_bleu(y, y'): minimum Bayes risk
    (Kumar and Byrne 2004). The first of equals wins.

    >>> least_risk([("a", "b"), ("c",)], [("a", "b"), ("a", "c")], np.array([0.6, 0.4]))
    ('a', 'b')
    """
    gains = pairwise_bleu(candidates, evidence) @ weights
    return candidates[int(np.argmax(gains))]


def merged(translations: Sequence[tuple[str, ...]]) -> tuple[list[tuple[str, ...]], FloatArray]:
    """Different translations in the order of their first appearance, and the share of each.

    >>> merged([("a",), ("b",), ("a",)])[0]
    [('a',), ('b',)]
    """
    counts: dict[tuple[str, ...], int] = {}
    for words in translations:
        counts[words] = counts.get(words, 0) + 1
    shares = np.array(list(counts.values()), dtype=np.float64)
    return list(counts), shares / shares.sum()
