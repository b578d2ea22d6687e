"""Semirings: one inside algorithm (`partita.baselines.forests`), many questions.

Plain Python, to read and to check with; `HypergraphDistribution` answers the same questions with
kernels that are thousands of times faster. References: Goodman, "Semiring parsing" (1999); Li and
Eisner, "First- and second-order expectation semirings" (2009).
"""

import heapq
import math
from abc import ABC, abstractmethod
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray

Value = TypeVar("Value")


class Semiring(ABC, Generic[Value]):
    """A sum over alternatives, a product over what comes together, and their neutral values."""

    zero: Value
    """The sum of no alternatives; any product with it is zero."""
    one: Value
    """The product of nothing."""

    @abstractmethod
    def plus(self, left: Value, right: Value) -> Value:
        """The sum: one alternative or the other."""

    @abstractmethod
    def times(self, left: Value, right: Value) -> Value:
        """The product: both, in this order."""


class Counting(Semiring[int]):
    """How many derivations there are, exactly, if each edge weighs 1."""

    zero, one = 0, 1

    def plus(self, left: int, right: int) -> int:
        """The sum of two numbers."""
        return left + right

    def times(self, left: int, right: int) -> int:
        """Their product."""
        return left * right


class Boolean(Semiring[bool]):
    """Whether there is a derivation, if an edge weighs whether it is allowed.

    >>> from partita.baselines.forests import PlainForest, inside
    >>> forest = PlainForest([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> inside(forest, [False, False, True], Boolean())
    [False, False]
    """

    zero, one = False, True

    def plus(self, left: bool, right: bool) -> bool:
        """One or the other."""
        return left or right

    def times(self, left: bool, right: bool) -> bool:
        """Both."""
        return left and right


class Probability(Semiring[float]):
    """The partition function, if an edge weighs exp(score): the slides' own, sums and products.

    Plain numbers, which overflow and underflow where `Log` does not.

    >>> from partita.baselines.forests import PlainForest, inside
    >>> forest = PlainForest([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> inside(forest, [0.25, 0.75, 0.5], Probability())
    [1.0, 0.5]
    """

    zero, one = 0.0, 1.0

    def plus(self, left: float, right: float) -> float:
        """The sum of two numbers."""
        return left + right

    def times(self, left: float, right: float) -> float:
        """Their product."""
        return left * right


class Log(Semiring[float]):
    """The log-partition, if an edge weighs its score.

    >>> from partita.baselines.forests import PlainForest, inside
    >>> forest = PlainForest([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> math.exp(inside(forest, [0.0, -math.inf, 0.0], Log())[forest.root])
    1.0
    """

    zero, one = -math.inf, 0.0

    def plus(self, left: float, right: float) -> float:
        """log(exp(left) + exp(right))."""
        low, high = min(left, right), max(left, right)
        return high if low == -math.inf else high + math.log1p(math.exp(low - high))

    def times(self, left: float, right: float) -> float:
        """The sum of two logarithms."""
        return left + right


class Scored(NamedTuple):
    """A derivation, the tuple of its edges in preorder, and its score."""

    score: float
    derivation: tuple[int, ...]


def scored_edges(scores: ArrayLike) -> list[Scored]:
    """Each edge as a derivation of itself: the weights for `Viterbi`."""
    return [Scored(score, (edge,)) for edge, score in enumerate(np.asarray(scores).tolist())]


class Viterbi(Semiring[Scored]):
    """The best derivation, if edges weigh `scored_edges(scores)`.

    >>> from partita.baselines.forests import PlainForest, inside
    >>> forest = PlainForest([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> inside(forest, scored_edges([1.0, 2.0, 0.5]), Viterbi())[forest.root]
    Scored(score=4.5, derivation=(2, 1, 1))
    """

    zero, one = Scored(-math.inf, ()), Scored(0.0, ())

    def plus(self, left: Scored, right: Scored) -> Scored:
        """The better one; the left one where they tie."""
        return right if right.score > left.score else left

    def times(self, left: Scored, right: Scored) -> Scored:
        """One behind the other."""
        return Scored(left.score + right.score, left.derivation + right.derivation)


class KBest(Semiring[list[Scored]]):
    """The k best derivations, best first, if an edge weighs the list of one item of `scored_edges`.

    >>> from partita.baselines.forests import PlainForest, inside
    >>> forest = PlainForest([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> weights = [[edge] for edge in scored_edges([1.0, 2.0, 0.5])]
    >>> [item.score for item in inside(forest, weights, KBest(3))[forest.root]]
    [4.5, 3.5, 3.5]
    """

    def __init__(self, k: int) -> None:
        self.k = k
        self.zero: list[Scored] = []
        self.one = [Scored(0.0, ())]

    def plus(self, left: list[Scored], right: list[Scored]) -> list[Scored]:
        """The k best of both lists that are allowed at all."""
        both = [item for item in left + right if item.score > -math.inf]
        return heapq.nlargest(self.k, both, key=lambda item: item.score)

    def times(self, left: list[Scored], right: list[Scored]) -> list[Scored]:
        """The k best pairs."""
        pairs = [
            Scored(a.score + b.score, a.derivation + b.derivation) for a in left for b in right
        ]
        return heapq.nlargest(self.k, pairs, key=lambda item: item.score)


class Mean(NamedTuple):
    """Li and Eisner's pair (p, r) as log p and r / p: a log weight and a conditional expectation.

    Kept this way the pair neither overflows nor underflows.
    """

    log_weight: float
    mean: FloatArray | float


class Expectation(Semiring[Mean]):
    """Expected sums of values over the edges of a derivation: the first-order semiring.

    The mean at the root is `expected_features` of the values, with the log-partition beside it.
    Values are vectors of `n_values`, or plain numbers where that is left out.

    >>> from partita.baselines.forests import PlainForest, inside
    >>> forest = PlainForest([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> weights = Expectation.weights(np.log([3.0, 1.0, 1.0]), np.eye(3))
    >>> inside(forest, weights, Expectation(3))[forest.root].mean
    array([1.5, 0.5, 1. ])
    """

    def __init__(self, n_values: int | None = None) -> None:
        nothing = 0.0 if n_values is None else np.zeros(n_values)
        self.zero, self.one = Mean(-math.inf, nothing), Mean(0.0, nothing)

    @staticmethod
    def weights(scores: ArrayLike, values: ArrayLike) -> list[Mean]:
        """A weight for each edge from its score, (n_edges,), and values, (n_edges, n_values)."""
        rows = np.asarray(values, dtype=np.float64)
        return [Mean(s, r) for s, r in zip(np.asarray(scores).tolist(), rows, strict=True)]

    def plus(self, left: Mean, right: Mean) -> Mean:
        """Weights add; the mean is that of both, weighted."""
        log_weight, p, q = _mixture(left.log_weight, right.log_weight)
        return Mean(log_weight, p * left.mean + q * right.mean)

    def times(self, left: Mean, right: Mean) -> Mean:
        """Weights multiply, and means add."""
        return Mean(left.log_weight + right.log_weight, left.mean + right.mean)


class Moments(NamedTuple):
    """Li and Eisner's (p, r, s, t) as log p, r / p, s / p, t / p."""

    log_weight: float
    left: FloatArray
    right: FloatArray
    product: FloatArray
    """Expectation of the outer product of the sum of left values and the sum of right values."""

    @property
    def covariance(self) -> FloatArray:
        """E[left right] - E[left] E[right], (n_left, n_right)."""
        return self.product - np.outer(self.left, self.right)


class SecondOrderExpectation(Semiring[Moments]):
    """Expected products of two sums of values over the edges of a derivation.

    >>> from partita.baselines.forests import PlainForest, inside
    >>> forest = PlainForest([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> weights = SecondOrderExpectation.weights(np.zeros(3), np.eye(3), np.eye(3))
    >>> inside(forest, weights, SecondOrderExpectation(3, 3))[forest.root].covariance
    array([[ 0.5, -0.5,  0. ],
           [-0.5,  0.5,  0. ],
           [ 0. ,  0. ,  0. ]])
    """

    def __init__(self, n_left: int, n_right: int) -> None:
        moments = np.zeros(n_left), np.zeros(n_right), np.zeros((n_left, n_right))
        self.zero, self.one = Moments(-math.inf, *moments), Moments(0.0, *moments)

    @staticmethod
    def weights(scores: ArrayLike, left: ArrayLike, right: ArrayLike) -> list[Moments]:
        """A weight for each edge from its score and rows of left and of right values."""
        rows = zip(
            np.asarray(scores).tolist(),
            np.asarray(left, dtype=np.float64),
            np.asarray(right, dtype=np.float64),
            strict=True,
        )
        return [Moments(score, r, s, np.outer(r, s)) for score, r, s in rows]

    def plus(self, left: Moments, right: Moments) -> Moments:
        """Weights add; moments are those of both, weighted."""
        log_weight, p, q = _mixture(left.log_weight, right.log_weight)
        return Moments(
            log_weight,
            p * left.left + q * right.left,
            p * left.right + q * right.right,
            p * left.product + q * right.product,
        )

    def times(self, left: Moments, right: Moments) -> Moments:
        """Sums of independent parts: first moments add, and products are multiplied out."""
        crossed = np.outer(left.left, right.right) + np.outer(right.left, left.right)
        return Moments(
            left.log_weight + right.log_weight,
            left.left + right.left,
            left.right + right.right,
            left.product + right.product + crossed,
        )


def _mixture(left: float, right: float) -> tuple[float, float, float]:
    """The log of two weights' sum, and the part that each has in it."""
    total = Log().plus(left, right)
    if total == -math.inf:
        return total, 0.0, 0.0
    return total, math.exp(left - total), math.exp(right - total)
