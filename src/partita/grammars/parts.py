"""Scores of the rules of an inversion transduction grammar for one sentence (pair)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.structures.batch import check_scores, number_array


class RuleScores(NamedTuple):
    """A number per rule: scores, expected counts, directions or costs.

    Scores are natural logarithms, -inf for a rule that is not allowed. Laid end to end, in this
    order, they are the parts of the pair.

    >>> RuleScores(np.zeros((2, 3)), np.zeros(2), np.zeros(3), -1.0, -2.0).flat().shape
    (13,)
    """

    links: FloatArray
    """x/y: (n_source, n_target) for a pair; one for each choice of y where y is not given."""
    deletions: FloatArray
    """x/eps: (n_source,)."""
    insertions: FloatArray
    """eps/y: (n_target,) for a pair; (1,), for any word, where y is not given."""
    straight: float
    """X -> [X X]."""
    inverted: float
    """X -> <X X>."""

    def flat(self) -> FloatArray:
        """All numbers end to end: links in C order, deletions, insertions, straight, inverted."""
        binary = [self.straight, self.inverted]
        return np.concatenate([np.ravel(self.links), self.deletions, self.insertions, binary])

    def transposed(self) -> "RuleScores":
        """The same for the pair the other way round: an alignment keeps its score."""
        return RuleScores(
            self.links.T, self.insertions, self.deletions, self.straight, self.inverted
        )

    @classmethod
    def from_flat(
        cls, parts: FloatArray, links_shape: tuple[int, ...], n_source: int
    ) -> "RuleScores":
        """The inverse of `flat`, as views: `links_shape` is the shape of the links."""
        n_links = int(np.prod(links_shape))
        return cls(
            parts[:n_links].reshape(links_shape),
            parts[n_links : n_links + n_source],
            parts[n_links + n_source : -2],
            float(parts[-2]),
            float(parts[-1]),
        )


def checked_pair(scores: RuleScores, pair: int) -> RuleScores:
    """A caller's scores of a pair as float64, or an error that says what is wrong with them."""
    where = f" of pair {pair}"
    links = number_array(f"links{where}", scores.links, "(n_source, n_target) numbers")
    deletions = number_array(f"deletions{where}", scores.deletions, "(n_source,) numbers")
    insertions = number_array(f"insertions{where}", scores.insertions, "(n_target,) numbers")
    if links.shape != (*deletions.shape, *insertions.shape) or links.ndim != 2:
        raise ValueError(
            f"links{where} has shape {links.shape}, deletions {deletions.shape} and insertions "
            f"{insertions.shape}; expected (n_source, n_target), (n_source,) and (n_target,). Use "
            "-inf for what is not allowed."
        )
    if links.shape == (0, 0):
        raise ValueError(
            f"both sentences{where} are empty; expected at least one word. Leave the pair out."
        )
    binary = np.array([scores.straight, scores.inverted], dtype=np.float64)
    for name, values in zip(
        ("links", "deletions", "insertions", "[straight, inverted]"),
        (links, deletions, insertions, binary),
        strict=True,
    ):
        check_scores(f"{name}{where}", values)
    return RuleScores(links, deletions, insertions, float(binary[0]), float(binary[1]))


def word_numbers(name: str, words: ArrayLike, n_words: int) -> IntArray:
    """A caller's sentence: numbers of words, from 0 to n_words - 1."""
    numbers = np.asarray(words)
    if numbers.size == 0 and numbers.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"{name} is an array of {numbers.dtype} of shape {numbers.shape}; expected (n_words,) "
            "whole numbers, a word of the vocabulary each. Look the words up first."
        )
    wrong = np.flatnonzero((numbers < 0) | (numbers >= n_words))
    if wrong.size:
        raise ValueError(
            f"{name}[{wrong[0]}] is {numbers[wrong[0]]}; expected 0 to {n_words - 1}, a word of "
            "the lexicon. Map words that it does not know to one that it does."
        )
    return numbers.astype(np.int64)


def all_but_binary(part_offsets: IntArray) -> BoolArray:
    """Links, deletions and insertions; not the two binary rules, the last parts of a sentence.

    >>> all_but_binary(np.array([0, 4, 7]))
    array([ True,  True, False, False,  True, False, False])
    """
    is_choice = np.ones(part_offsets[-1], dtype=np.bool_)
    for place in (1, 2):
        is_choice[part_offsets[1:] - place] = False
    return is_choice
