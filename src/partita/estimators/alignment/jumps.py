"""How far hidden Markov alignments jump: weights of distances, and their estimation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from partita.arrays import Array, FloatArray
from partita.kept import kept_array

PSEUDO_COUNT = 1.0
"""Added to the count of each distance, so that none becomes impossible."""
N_STEPS = 10
"""Steps of a maximisation; the weights of the last iteration are close already."""


@dataclass(frozen=True, eq=False)
class Jumps:
    """p(i | k) = weights[D + clip(i - k)] / sum_i', distances clipped to -D .. D.

    The first jump, from outside the sentence, has weights of its own: p(i) is
    starts[clip(i)] / sum_i'.

    >>> Jumps.even(2).probabilities(3)
    (array([0.333..., 0.333..., 0.333...]), array([[0.333..., ...
    """

    weights: FloatArray
    """(2 D + 1,)."""
    starts: FloatArray
    """(D + 1,)."""

    @classmethod
    def even(cls, reach: int) -> Self:
        """All places alike likely."""
        if reach < 1:
            raise ValueError(f"reach is {reach}; expected 1 or more.")
        return cls(np.full(2 * reach + 1, 1.0), np.full(reach + 1, 1.0))

    @property
    def reach(self) -> int:
        """The distance D from which on all are one."""
        return len(self.starts) - 1

    def probabilities(self, n_words: int) -> tuple[FloatArray, FloatArray]:
        """p(i) of the first jump, (n,), and p(i | k), (n, n) [from, to], for n source words."""
        places = np.arange(n_words)
        start = self.starts[np.minimum(places, self.reach)]
        distances = np.clip(places[None, :] - places[:, None], -self.reach, self.reach)
        table = self.weights[distances + self.reach]
        return start / start.sum(), table / table.sum(axis=1, keepdims=True)

    def maximised(
        self, jump_counts: FloatArray, departures: FloatArray, start_counts: FloatArray
    ) -> "Jumps":
        """Weights that make the expected jumps likelier.

        The likelihood of jumps is sum_d count_d log c(d) - sum_nk departures[n, k] log Z_n(k),
        where Z_n(k) depends on the sentence, so that shares of counts are not its maximum. Each
        step replaces log Z by its tangent (Hunter 2004), which has one:
        c(d) = count_d / sum_nk departures[n, k] / Z_n(k) [places at distance d from k].
        `departures` has those from outside in column 0.
        """
        longest = len(departures) - 1
        n_words, places = np.nonzero(departures[:, 1:])
        weights = _maximised(
            self.weights,
            jump_counts + PSEUDO_COUNT,
            departures[n_words, places + 1],
            _places_at_distance(n_words, places, self.reach),
        )
        lengths = np.arange(1, longest + 1)
        starts = _maximised(
            self.starts,
            start_counts + PSEUDO_COUNT,
            departures[lengths, 0],
            _places_at_distance(lengths, np.zeros_like(lengths), self.reach)[:, self.reach :],
        )
        return Jumps(weights, starts)

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        return {"jumps": self.weights, "starts": self.starts}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Self:
        """The jumps that `arrays` describes."""
        starts = kept_array(arrays, "starts", np.float64, None)
        return cls(kept_array(arrays, "jumps", np.float64, 2 * len(starts) - 1), starts)


def _maximised(
    weights: FloatArray, counts: FloatArray, departures: FloatArray, n_places: FloatArray
) -> FloatArray:
    # The prior is that of so many jumps among places of every kind once.
    departures = np.append(departures, PSEUDO_COUNT * len(weights))
    n_places = np.vstack([n_places, np.ones(len(weights))])
    for _ in range(N_STEPS):
        weights = counts / ((departures / (n_places @ weights)) @ n_places)
        weights /= weights.sum()
    return weights


def _places_at_distance(n_words: Array, places: Array, reach: int) -> FloatArray:
    """How many of n words lie at each clipped distance from a place, (len(places), 2 D + 1)."""
    distances = np.arange(-reach, reach + 1)
    goals = places[:, None] + distances
    counts = ((goals >= 0) & (goals < n_words[:, None])).astype(np.float64)
    counts[:, 0] = np.maximum(places - reach + 1, 0)
    counts[:, -1] = np.maximum(n_words - places - reach, 0)
    return counts
