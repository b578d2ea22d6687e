"""Expectation-maximisation for hidden Markov models: where it starts, and how to judge it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.tagging.hidden_markov import (
    Encoded,
    Layout,
    informed_counts,
    product,
    random_counts,
    tag_marginals,
)
from partita.estimators.tagging.word_tags import WordTags
from partita.objectives.evidence import Evidence
from partita.training.corpus import Corpus, build_corpus
from partita.training.optimisers.em import ExpectationMaximisation
from partita.training.trainer import HeldOut


@dataclass(frozen=True)
class Runs:
    """Runs of expectation-maximisation that differ in where they start."""

    layout: Layout
    unlabelled: Encoded
    """The sentences whose tags are not all known."""
    fixed: FloatArray
    """Counts of what is labelled, and pseudo-counts; flat."""
    informed: FloatArray | None
    """What the labels say of the tags of `unlabelled`, (n, s); None where there are no labels."""
    weight: float
    """What each sentence of `unlabelled` counts."""
    max_iterations: int
    loss_tolerance: float
    seed: int

    def corpus(self, n_threads: int | None) -> Corpus:
        """The sentences whose likelihood is raised."""
        batches = self.layout.batches(self.unlabelled, {"Evidence": None}, self.weight)
        return build_corpus(Evidence(), batches, workers=n_threads)

    def optimiser(self) -> ExpectationMaximisation:
        """Labels count like pseudo-counts: their log-likelihood is <counts, weights>, too."""
        # Only what shapes the way is closed over: a checkpoint knows it by its digest.
        layout, fixed = self.layout, self.fixed
        return ExpectationMaximisation(
            lambda counts: layout.maximise(counts + fixed),
            lambda weights: product(fixed, weights),
            self.max_iterations,
            self.loss_tolerance,
        )

    def start(self, restart: int) -> FloatArray:
        """The first weights of a run: random, or what the labels say with some noise."""
        rng = np.random.default_rng([self.seed, restart])
        if self.informed is None:
            seen = self.unlabelled.symbols[self.unlabelled.symbols >= 0]
            observed = np.bincount(seen, minlength=self.layout.n_symbols).astype(np.float64)
            counts = random_counts(self.layout, observed, rng)
        else:
            counts = informed_counts(self.layout, self.unlabelled, self.informed, rng)
        return self.layout.maximise(self.weight * counts + self.fixed)


def expected_errors(
    encoder: WordTags,
    words: Sequence[Sequence[str | None]],
    tags: Sequence[Sequence[str | None]],
) -> HeldOut:
    """The share of wrong tags to be expected on sentences, as a function of the weights.

    1 - the mean of p(tag | words) at words whose tag is known. A tag that training never saw is
    wrong in any case, and left out.
    """
    names = {name: number for number, name in enumerate(encoder.tags)}
    gold = np.array([names.get(str(tag), -1) for row in tags for tag in row], dtype=np.int64)
    places = np.flatnonzero(gold >= 0)
    if not len(places):
        raise ValueError("held_out has no word with a known tag; expected at least one.")
    encoded = encoder.encoded(list(words), [[None] * len(row) for row in words])

    def judge(weights: FloatArray) -> float:
        marginals = tag_marginals(encoder.layout, encoded, weights)
        return float(1.0 - marginals[places, gold[places]].mean())

    return judge
