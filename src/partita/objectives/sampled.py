"""Learning by comparison with a few structures drawn at random, instead of all there are."""

from typing import Any
from zlib import crc32

import numpy as np

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.objectives.base import Gradient, SentenceObjective
from partita.objectives.targets import Counts, Observed, checked_counts, checked_target
from partita.structures.base import Structure
from partita.structures.batch import whole_number
from partita.structures.resampling import resampled


class ContrastiveDivergence(SentenceObjective):
    """score(the target after some steps of a Markov chain) - score(target) (Hinton 2002).

    The gradient is counts after - counts of the target: what the chain does to the data, the model
    should not want to do. `n_steps` of them, usually one, are far from a sample of the model, so
    the gradient is biased, but it needs no sum over all structures and has little variance. One
    step draws every word's tag, or head, once in random order, given all others, at O(n s) and
    O(n²); or derives one node of a derivation anew. With very many steps this is
    `SampledLikelihood`. `n_samples` chains are averaged.

    The target is `Observed.of(structures, [a structure per sentence])`. The value is a contrast, of
    which no optimiser should expect that it falls. The samples depend on `rng` (asked once, here),
    the scores and the target, not on the order in which batches come: the same seed gives the same
    model for any number of threads.

    >>> from partita import LinearChain
    >>> p = LinearChain(np.array([[0.0, -np.inf]]), np.zeros((2, 2)))
    >>> objective = ContrastiveDivergence(1, np.random.default_rng(0))
    >>> float(objective(p, Observed.of(p.structures, [[0]]))[0][0])  # only tag 0 can follow
    0.0
    """

    is_random = True

    def __init__(self, n_steps: int, rng: np.random.Generator, *, n_samples: int = 1) -> None:
        self.n_steps = whole_number("n_steps", n_steps, 1)
        self.n_samples = whole_number("n_samples", n_samples, 1)
        self._seed = int(rng.integers(2**32))

    def losses(self, p: Distribution, target: Observed) -> tuple[FloatArray, Gradient]:
        """Mean score after the steps - score(target); infinite where the target is forbidden."""
        how = "Observed.of(p.structures, [a structure for each sentence])"
        target = checked_target(target, Observed, self, how)
        target.counts.check(p.structures)
        rng = _generator(self._seed, p, target.counts)
        after = [
            resampled(p.structures, p.scores, target.structures, self.n_steps, rng)
            for _ in range(self.n_samples)
        ]
        return _contrast(p, after, target.counts)


class SampledLikelihood(SentenceObjective):
    """mean score of exact samples - score(target); gradient mean of the samples - target.

    The likelihood's gradient with `n_samples` structures, drawn exactly from the model, in place of
    all: unbiased, unlike that of `ContrastiveDivergence`, and with more variance. It needs the
    inference that the exact gradient needs, so it is for comparison. The value is only a contrast.
    The target is `Counts.of(...)`. Randomness as in `ContrastiveDivergence`.

    >>> from partita import LinearChain
    >>> p = LinearChain(np.array([[0.0, -np.inf]]), np.zeros((2, 2)))
    >>> objective = SampledLikelihood(5, np.random.default_rng(0))
    >>> float(objective(p, Counts.of(p.structures, [[0]]))[0][0])  # only tag 0 can be sampled
    0.0
    """

    is_random = True

    def __init__(self, n_samples: int, rng: np.random.Generator) -> None:
        self.n_samples = whole_number("n_samples", n_samples, 1)
        self._seed = int(rng.integers(2**32))

    def losses(self, p: Distribution, target: Counts) -> tuple[FloatArray, Gradient]:
        """Mean score of the samples - score(target)."""
        target = checked_counts(target, p.structures, self)
        rng = _generator(self._seed, p, target)
        drawn = p.structures.sample(p.scores, p.inference, self.n_samples, rng)
        samples = [[_item(each, k) for each in drawn] for k in range(self.n_samples)]
        return _contrast(p, samples, target)


def _generator(seed: int, p: Distribution, target: Counts) -> np.random.Generator:
    """Randomness that depends on the batch and its scores alone."""
    return np.random.default_rng([seed, crc32(p.scores.data), crc32(target.parts.data)])


def _contrast(
    p: Distribution, samples: list[list[Structure]], target: Counts
) -> tuple[FloatArray, Gradient]:
    """Mean score of some structures per sentence - score(target), and its gradient."""
    mean = np.zeros(p.structures.n_parts)
    for structures in samples:
        mean += p.structures.counts(structures)
    mean /= len(samples)
    wanted = target.score(p.scores)
    # A forbidden target is infinitely far off, even from a chain that could not leave it.
    losses = np.full(len(wanted), np.inf)
    np.subtract(p.flat_score(mean), wanted, out=losses, where=wanted > -np.inf)
    return losses, lambda: target.subtracted_from(mean)


def _item(samples: Any, k: int) -> Structure:
    """Sample k of one sentence; structures in several arrays have the samples along each."""
    if isinstance(samples, tuple):
        return tuple(_item(field, k) for field in samples)
    return samples[k]
