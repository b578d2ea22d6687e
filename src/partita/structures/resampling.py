"""Markov chains on structures: what contrastive divergence asks for beside the dynamic program."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.structures.base import Structure, Structures


@runtime_checkable
class Resampling(Protocol):
    """Structures that can be changed a little at random, such that p stays p.

    A set of structures offers this by a method of this name, and needs no inference for it. One
    step leaves p(structure) proportional to exp(score) as it is, and many steps lead to it from
    wherever they begin: to every tag sequence or tree where no part is forbidden, and to every
    derivation. A structure that is forbidden itself may stay.
    """

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """What a structure of each sentence has become after `n_steps` steps of a Markov chain."""


def resampled(
    structures: Structures,
    scores: FloatArray,
    given: Sequence[Structure],
    n_steps: int,
    rng: np.random.Generator,
) -> list[Structure]:
    """`structures.resampled(...)`, or an error for structures that have no such method.

    >>> from partita.structures.chains import Chains
    >>> chains = Chains([2], n_tags=2, shared=True)
    >>> scores = np.array([0.0, -np.inf, 0.0, -np.inf, 0.0, 0.0, 0.0, 0.0])  # tag 1 is forbidden
    >>> resampled(chains, scores, [[1, 1]], 1, np.random.default_rng(0))
    [array([0, 0])]
    """
    if not isinstance(structures, Resampling):
        raise ValueError(
            f"{type(structures).__name__} offer no step of a Markov chain; expected structures "
            "with a method `resampled`, such as chains, trees and forests. Use SampledLikelihood, "
            "whose samples are exact, or Likelihood."
        )
    return structures.resampled(scores, given, n_steps, rng)


def random_visits(n_words: IntArray, n_rounds: int, rng: np.random.Generator) -> IntArray:
    """The words of each sentence (from 0) in a random order, sentences end to end, for each round.

    >>> random_visits(np.array([1, 2]), 1, np.random.default_rng(0)).shape
    (1, 3)
    """
    sentences = np.repeat(np.arange(len(n_words)), n_words)
    firsts = np.repeat(np.cumsum(n_words) - n_words, n_words)
    keys = rng.random((n_rounds, len(sentences)))
    rounds = np.broadcast_to(sentences, keys.shape)
    order: IntArray = np.lexsort((keys, rounds), axis=-1)
    return order - firsts


def random_partners(n_words: IntArray, visits: IntArray, rng: np.random.Generator) -> IntArray:
    """For each visited word another one of its sentence, all alike; -1 where it is alone."""
    n_others = np.repeat(n_words, n_words) - 1
    shift = 1 + np.floor(rng.random(visits.shape) * n_others).astype(np.int64)
    partners: IntArray = np.where(n_others > 0, (visits + shift) % (n_others + 1), -1)
    return partners
