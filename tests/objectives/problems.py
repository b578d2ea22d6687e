"""Batches of every structure, with the truth about each sentence by enumeration."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cases import CASES, batch, flat, like
from oracle import Oracle
from partita.distribution.base import Distribution

KINDS = ("normal", "forbidden")


@dataclass
class Problem:
    """A batch of sentences of one structure: the distribution, the truth, and a target each."""

    p: Distribution
    truths: list[Oracle]
    chosen: list[int]
    """Which structure of each sentence is the target."""

    @property
    def targets(self):
        return [t.structures[k] for t, k in zip(self.truths, self.chosen, strict=True)]

    @cached_property
    def rng(self):
        return np.random.default_rng(2)

    def vector(self):
        """A random number for every part."""
        return self.rng.normal(size=self.p.structures.n_parts)

    def at(self, scores):
        """The same problem with other scores."""
        pieces = np.split(scores, self.p.structures.part_offsets[1:-1])
        truths = [
            Oracle(t.structures, t.counts, piece)
            for t, piece in zip(self.truths, pieces, strict=True)
        ]
        return Problem(self.p.with_scores(scores), truths, self.chosen)

    @property
    def can_occur(self):
        """Which parts are in some structure; a tree's matrix has cells that are no arcs."""
        return np.concatenate([truth.counts.any(axis=0) for truth in self.truths])

    def by_sentence(self, parts):
        """A vector over parts, split into those of each sentence."""
        return np.split(parts, self.p.structures.part_offsets[1:-1])


def make_problem(case, kind="normal", seed=0, repeats=1):
    """Sentences of the three smallest sizes; the target is possible even where parts are not."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    sentences, truths, chosen = [], [], []
    for n_words in case.sizes[:3] * repeats:
        scores = case.random_scores(rng, n_words)
        structures, counts = case.enumerate(scores)
        chosen.append(int(rng.integers(len(structures))))
        if kind == "forbidden":
            kept = np.asarray(counts)[chosen[-1]] != 0
            allowed = kept | (rng.random(kept.size) < 0.6)
            scores = like(scores, np.where(allowed, flat(scores), -np.inf))
        sentences.append(scores)
        truths.append(Oracle(structures, np.asarray(counts, dtype=np.float64), flat(scores)))
    return Problem(case.build(batch(sentences)), truths, chosen)


def close(actual, expected, tolerance=1e-9):
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=tolerance)


def check_gradient(loss_and_gradient, scores, rng, step=1e-4, tolerance=1e-6):
    """The gradient is the slope of the loss along some random directions."""
    _, gradient = loss_and_gradient(scores)
    assert np.isfinite(gradient).all()
    for _ in range(3):
        direction = rng.normal(size=scores.size)
        losses = [
            loss_and_gradient(scores + factor * step * direction)[0] for factor in (-2, -1, 1, 2)
        ]
        slope = (losses[0] - 8 * losses[1] + 8 * losses[2] - losses[3]) / (12 * step)
        np.testing.assert_allclose(gradient @ direction, slope, atol=tolerance, rtol=1e-6)


__all__ = ["CASES", "KINDS", "Problem", "check_gradient", "close", "make_problem"]
