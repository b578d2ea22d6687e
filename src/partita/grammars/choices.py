"""Many words at one leaf: their scores summed for the forest, its counts spread back over them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.structures.batch import offsets as offsets_of


@dataclass(frozen=True, eq=False)
class TargetChoices:
    """Groups of words that can stand at the same leaf.

    The words of group g are `words[offsets[g] : offsets[g + 1]]`. In place of an edge for each word
    of a vocabulary a forest has one edge for the group, with the score log sum exp; the expected
    count of a word is that of the edge times exp(score - log sum). Both cost O(words).

    >>> choices = TargetChoices(np.array([7, 8, 9]), np.array([0, 2, 3]))
    >>> scores = np.log([1.0, 3.0, 5.0])
    >>> np.exp(choices.log_sums(scores)).round(9)
    array([4., 5.])
    >>> choices.spread(np.array([0.5, 2.0]), scores).round(9)
    array([0.125, 0.375, 2.   ])
    """

    words: IntArray
    offsets: IntArray

    @property
    def n_groups(self) -> int:
        """Number of leaves."""
        return len(self.offsets) - 1

    def is_same(self, other: "TargetChoices") -> bool:
        """The same words at the same leaves."""
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(
            self.words, other.words
        )

    def log_sums(self, scores: FloatArray) -> FloatArray:
        """log sum exp of the scores of each group, (n_groups,); -inf for a group without words."""
        sums = np.full(self.n_groups, -np.inf)
        full = self._full_groups()
        if full.size:
            starts = self.offsets[full]
            largest = np.maximum.reduceat(scores, starts)
            shift = np.where(largest > -np.inf, largest, 0.0)
            shifted = np.exp(scores - np.repeat(shift, np.diff(self.offsets)[full]))
            with np.errstate(divide="ignore"):
                sums[full] = shift + np.log(np.add.reduceat(shifted, starts))
        return sums

    def spread(self, counts: FloatArray, scores: FloatArray) -> FloatArray:
        """Expected count of each word, (n_words,), from those of the leaves, (n_groups,)."""
        sums = self.log_sums(scores)
        shift = np.repeat(np.where(sums > -np.inf, sums, 0.0), np.diff(self.offsets))
        shares: FloatArray = np.exp(scores - shift)
        return np.repeat(counts, np.diff(self.offsets)) * shares

    def _full_groups(self) -> IntArray:
        return np.flatnonzero(np.diff(self.offsets))


def joined(choices: Sequence[TargetChoices]) -> TargetChoices:
    """The groups of several, one after the other."""
    words = [np.zeros(0, dtype=np.int64), *(each.words for each in choices)]
    offsets = joined_offsets([each.offsets for each in choices])
    return TargetChoices(np.concatenate(words), offsets)


def joined_offsets(each: Sequence[IntArray]) -> IntArray:
    """Where groups begin if the words of several are laid end to end, and the end.

    >>> joined_offsets([np.array([0, 2, 3]), np.array([0, 4])])
    array([0, 2, 3, 7])
    """
    # What np.diff gives, of a few numbers in a fifth of the time.
    sizes = [offsets[1:] - offsets[:-1] for offsets in each]
    return offsets_of(np.concatenate([np.zeros(0, dtype=np.int64), *sizes]))


def ranges(starts: IntArray, ends: IntArray) -> IntArray:
    """All numbers of some ranges, end to end.

    >>> ranges(np.array([3, 10]), np.array([5, 13]))
    array([ 3,  4, 10, 11, 12])
    """
    counts = ends - starts
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers: IntArray = within + np.repeat(starts, counts)
    return numbers
