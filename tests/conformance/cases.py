"""The structures that the suite runs on: to add one, write an enumerator and append a line."""

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import partita as pt
from oracle import Oracle

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


@dataclass(frozen=True)
class Case:
    """One structure: how to make scores of a size, a distribution of them, and the truth."""

    name: str
    random_scores: Callable
    """(rng, n_words) -> standard normal scores of one sentence: an array or a tuple of arrays."""
    build: Callable
    """scores -> distribution; a list of arrays in each place makes a batch."""
    enumerate: Callable
    """scores -> (all structures, matrix of part counts in C order of the scores)."""
    sizes: tuple[int, ...]
    """Numbers of words small enough to enumerate."""
    n_words_long: int = 2000

    def oracle(self, scores):
        structures, counts = self.enumerate(scores)
        return Oracle(structures, np.asarray(counts, dtype=np.float64), flat(scores))

    def __str__(self):
        return self.name


def flat(values):
    """Scores, marginals or directions of one sentence as a vector, parts in C order."""
    if isinstance(values, tuple):
        return np.concatenate([flat(value) for value in values])
    return np.asarray(values).ravel()


def like(values, vector):
    """A vector over parts in the form of `values`."""
    if not isinstance(values, tuple):
        return vector.reshape(values.shape)
    ends = np.cumsum([value.size for value in values])[:-1]
    return tuple(like(v, part) for v, part in zip(values, np.split(vector, ends), strict=True))


def batch(list_of_scores):
    """Scores of several sentences in the form of a batch."""
    if isinstance(list_of_scores[0], tuple):
        return tuple(list(arrays) for arrays in zip(*list_of_scores, strict=True))
    return list(list_of_scores)


def chain_scores(shape_of_tables):
    def random_scores(rng, n_words, n_tags=3):
        unary = rng.normal(size=(n_words, n_tags))
        return unary, rng.normal(size=shape_of_tables(n_words, n_tags))

    return random_scores


def all_chains(scores):
    """Every tag sequence, with a count for each (word, tag) and each transition."""
    unary, pairwise = scores
    n_words, n_tags = unary.shape
    structures, counts = [], []
    for tags in itertools.product(range(n_tags), repeat=n_words):
        words, transitions = np.zeros_like(unary), np.zeros_like(pairwise)
        for t, tag in enumerate(tags):
            words[t, tag] += 1
            if t > 0:
                cell = (tags[t - 1], tag) if pairwise.ndim == 2 else (t - 1, tags[t - 1], tag)
                transitions[cell] += 1
        structures.append(np.array(tags))
        counts.append(flat((words, transitions)))
    return structures, counts


CHAIN_SIZES = (1, 2, 3, 5) if IS_COMPILED else (1, 3)

CASES = [
    Case(
        "chain-shared",
        chain_scores(lambda n, s: (s, s)),
        lambda scores: pt.LinearChain(*scores),
        all_chains,
        CHAIN_SIZES,
    ),
    Case(
        "chain-by-position",
        chain_scores(lambda n, s: (n - 1, s, s)),
        lambda scores: pt.LinearChain(*scores),
        all_chains,
        CHAIN_SIZES,
    ),
]
