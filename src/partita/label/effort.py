"""What an answer costs: seconds, by the words asked for and the words to read; learnt as one goes.

    seconds = start + each * words asked for + read * words of the sentence

Fitted to the answers' own times by least squares, drawn towards what is usual as if that had been
seen in a few answers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray

USUAL = (1.5, 1.0, 0.08)
PRIOR = 8.0
"""How many answers the usual times count as."""
LONGEST = 60.0
"""Whoever took longer was not at work all the time."""
LEAST = 0.2
"""No answer takes less: a hand has to move."""


@dataclass(frozen=True)
class Effort:
    """What answers take, in seconds.

    >>> float(Effort().seconds(2, 10))
    4.3
    >>> quick = Effort.learnt([(1, 10, 0.9), (3, 12, 1.5), (2, 30, 1.2)] * 20)
    >>> float(quick.seconds(2, 10)) < 2
    True
    """

    weights: tuple[float, float, float] = USUAL

    @classmethod
    def learnt(cls, answers: Iterable[tuple[int, int, float]]) -> "Effort":
        """From answers: words asked for, words of the sentence, seconds."""
        rows = [(1.0, float(asked), float(n), min(t, LONGEST)) for asked, n, t in answers]
        if not rows:
            return cls()
        table = np.array(rows)
        design, times = table[:, :3], table[:, 3]
        # The usual times, seen PRIOR times at usual sizes: 3 words asked for of 15.
        scale = np.diag(PRIOR * np.array([1.0, 9.0, 225.0]))
        found = np.linalg.solve(
            design.T @ design + scale, design.T @ times + scale @ np.array(USUAL)
        )
        return cls((float(found[0]), float(found[1]), float(found[2])))

    def seconds(self, n_asked: ArrayLike, n_words: int) -> FloatArray:
        """What an answer is expected to take."""
        start, each, read = self.weights
        asked = np.asarray(n_asked, dtype=np.float64)
        expected: FloatArray = np.maximum(start + each * asked + read * n_words, LEAST)
        return expected
