"""Translations from forests: the best derivation, the best translations, samples, least risk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.distribution.parts import PartDistribution
from partita.estimators.translation.seams import Seams
from partita.evaluation.translations import pairwise_bleu
from partita.structures.base import Inference, Structures
from partita.structures.tied_forests import TiedForest, TiedForests

N_GOOD = 20
"""Good translations among the candidates of minimum risk, beside what is sampled."""
N_FLUENT = 100
"""Translations that are compared by how fluent they are."""
PER_FLUENT = 10
"""Derivations that are looked at for each of them."""
MOST_DISTINCT = 20_000
"""Derivations that are drawn at once for different translations: few may have very many."""

Yield = Callable[[Sequence[IntArray]], list[tuple[str, ...]]]
"""Derivations -> the target words of each."""


class Translation(NamedTuple):
    """Target words, and the log of their probability (or of a part of it that was found)."""

    words: tuple[str, ...]
    log_probability: float


@dataclass(frozen=True, eq=False)
class ScoredTranslation:
    """A forest with the scores of its parts, and how to read its derivations."""

    forest: TiedForest
    scores: FloatArray
    """(n_parts,)."""
    read: Yield
    lengths: slice | None = None
    """The parts that say how long the target is, where there are such."""
    sums: Structures | None = None
    """The same derivations, where there is a faster way to sum over them than by the forest."""

    @cached_property
    def edges(self) -> FloatArray:
        """The score of each edge."""
        return self.forest.edge_scores(self.scores)

    @cached_property
    def inference(self) -> Inference:
        """Log-partition and marginals of the edges."""
        return self.forest.forest.infer(self.edges)

    @cached_property
    def totals(self) -> Inference:
        """Log-partition and marginals of the parts."""
        if self.sums is not None:
            return self.sums.infer(self.scores)
        counts = self.forest.part_counts(self.inference.marginals)
        return Inference(self.inference.log_partition, counts)

    @property
    def p(self) -> PartDistribution:
        """The distribution over derivations, for every other question."""
        structures = TiedForests([self.forest], [self.forest.n_parts])
        return PartDistribution.from_flat(structures, self.scores)

    @property
    def entropy(self) -> float:
        """Of the derivation, in nats."""
        return float(np.ravel(self.p.entropy)[0])

    def best(self) -> tuple[str, ...]:
        """The target of the best derivation."""
        return self.read(self.forest.forest.argmax(self.edges).structures)[0]

    def at_likeliest_length(self) -> "ScoredTranslation":
        """The same forest without targets of other lengths than the likeliest.

        A target with more words has more derivations, none of which may be the best one; so the
        best derivation is too short, and by much. The length is a sum over all of them, exactly.
        """
        if self.lengths is None:
            return self
        counts = self.totals.marginals[self.lengths]
        scores = self.scores.copy()
        others = np.arange(len(scores))[self.lengths]
        scores[np.delete(others, int(counts.argmax()))] = -np.inf
        return replace(self, scores=scores)

    def k_best(self, k: int, n_derivations: int) -> list[Translation]:
        """The k likeliest different targets among the best derivations, likeliest first.

        The probability of a target is summed over those of its derivations that are among the
        `n_derivations` best; the true one can be higher.
        """
        log_partition = float(self.totals.log_partition[0])
        return [
            Translation(words, value - log_partition)
            for words, value in self._ranked(k, n_derivations)
        ]

    def _ranked(self, k: int, n_derivations: int) -> list[tuple[tuple[str, ...], float]]:
        """The same with sums of scores, which need no log-partition."""
        found: dict[tuple[str, ...], float] = {}
        best = self.forest.forest.k_best(self.edges, n_derivations)[0]
        targets = self.read([derivation for derivation, _ in best])
        for words, (_, score) in zip(targets, best, strict=True):
            found[words] = float(np.logaddexp(found.get(words, -np.inf), score))
        return sorted(found.items(), key=lambda item: -item[1])[:k]

    def fluent(self, seams: Seams, weight: float) -> tuple[str, ...]:
        """Of the likeliest targets, the highest log p(y | x) + weight * seams(y)."""
        ranked = self._ranked(N_FLUENT, PER_FLUENT * N_FLUENT)
        targets = [words for words, _ in ranked]
        scores = np.array([score for _, score in ranked]) + weight * seams.scores(targets)
        return targets[int(np.argmax(scores))]

    def sample(self, size: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
        """Targets of derivations that are drawn independently."""
        drawn = self.forest.forest.sample(self.edges, self.inference, size, rng)[0]
        return self.read(drawn)

    def sample_distinct(self, size: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
        """Targets drawn without replacement: `size` different ones, or as many as were found.

        Exact: the targets of derivations that are drawn without replacement, each where it first
        appears, are targets drawn so. If these are too few, further ones are drawn afresh and those
        that are known left out, which changes nothing for the others.
        """
        found: dict[tuple[str, ...], None] = {}
        n_derivations = 2 * size
        while True:
            (drawn,) = self.forest.forest.sample_distinct(self.edges, n_derivations, rng)
            found.update(dict.fromkeys(self.read(drawn)))
            is_all = len(drawn) < n_derivations or n_derivations >= MOST_DISTINCT
            if len(found) >= size or is_all:
                return list(found)[:size]
            n_derivations = min(4 * n_derivations, MOST_DISTINCT)

    def sharpened(self, factor: float) -> "ScoredTranslation":
        """The same forest with all scores multiplied, so that p(d) becomes p(d) to the factor."""
        scores = np.where(self.scores > -np.inf, factor * self.scores, -np.inf)
        return replace(self, scores=scores)

    def least_risk(
        self, n_samples: int, rng: np.random.Generator, sharpness: float = 1.0
    ) -> tuple[str, ...]:
        """Of some good targets and those that were drawn, that with the highest expected BLEU.

        The expectation is over samples of the sharpened distribution: a few samples of a flat one
        have little in common. Good targets are those of the best derivations.
        """
        evidence, shares = merged(self.sharpened(sharpness).sample(n_samples, rng))
        good = [words for words, _ in self._ranked(N_GOOD, 2 * N_GOOD)]
        candidates = list(dict.fromkeys([*good, *evidence]))
        return least_risk(candidates, evidence, shares)


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
