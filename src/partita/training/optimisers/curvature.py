"""The memory of L-BFGS: the last few steps, how the gradient changed, and all their dot products.

The two-loop recursion (Nocedal & Wright 2006, algorithm 7.4) only combines stored vectors with
coefficients that depend on their dot products. With the dot products at hand, the loops run on
numbers, and the long vectors are read just twice (Chen, Wang & Zhou 2014, "Large-scale L-BFGS
using MapReduce"), in blocks.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from partita.arrays import FloatArray
from partita.training.vectors import combination, products


@dataclass(frozen=True)
class Curvature:
    """Pairs (step, change of the gradient), oldest first, and what their products say."""

    memory: int
    steps: tuple[FloatArray, ...] = ()
    changes: tuple[FloatArray, ...] = ()
    gram: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Dot products of all vectors, steps first, (2k, 2k)."""
    along: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Dot products of all vectors with the gradient, (2k,)."""

    def __post_init__(self) -> None:
        k = len(self.steps)
        if (len(self.changes), self.gram.shape, self.along.shape) != (k, (2 * k, 2 * k), (2 * k,)):
            raise ValueError("steps, changes and their products are not of the same number")

    @property
    def n_pairs(self) -> int:
        """How many pairs are remembered."""
        return len(self.steps)

    def forgotten(self) -> "Curvature":
        """Nothing remembered: the next direction is that of steepest descent."""
        return Curvature(self.memory)

    def with_gradient(self, gradient: FloatArray, n_threads: int = 1) -> "Curvature":
        """The same pairs at another gradient."""
        if not self.n_pairs:
            return self
        return replace(self, along=products(self.rows, 3 * [gradient], n_threads)[:, 0])

    def updated(
        self, step: FloatArray, change: FloatArray, gradient: FloatArray, n_threads: int = 1
    ) -> "Curvature":
        """With one more pair (and without the oldest), at the new gradient; reads all once."""
        kept = slice(1, None) if self.n_pairs == self.memory else slice(None)
        steps = (*self.steps[kept], step)
        changes = (*self.changes[kept], change)
        k = len(steps)
        new = products(steps + changes, [step, change, gradient], n_threads)
        if not new[k - 1, 1] > 0.0:
            # The loss is not convex along this step; the pair would spoil the directions.
            return self.with_gradient(gradient, n_threads)
        gram = np.empty((2 * k, 2 * k))
        old = np.flatnonzero(np.arange(2 * k) % k < k - 1)
        before = self.n_pairs - k + 1 + np.arange(k - 1)
        source = np.concatenate([before, self.n_pairs + before])
        gram[np.ix_(old, old)] = self.gram[np.ix_(source, source)]
        for index, column in ((k - 1, new[:, 0]), (2 * k - 1, new[:, 1])):
            gram[index], gram[:, index] = column, column
        return Curvature(self.memory, steps, changes, gram, new[:, 2])

    def direction(self, gradient: FloatArray, n_threads: int = 1) -> FloatArray:
        """-H gradient, H the estimate of the inverse Hessian; reads all vectors once."""
        if not self.n_pairs:
            return -gradient
        coefficients = self._coefficients()
        return combination(coefficients, (*self.rows, gradient), n_threads)

    def _coefficients(self) -> FloatArray:
        """The direction in terms of the stored vectors and the gradient, (2k + 1,).

        `inner` holds the dot products of the vector under construction with the stored ones.
        """
        k, gram = self.n_pairs, self.gram
        curvatures = np.diagonal(gram, offset=k)
        coefficients = np.zeros(2 * k + 1)
        coefficients[-1] = -1.0
        inner = -self.along
        first = np.zeros(k)
        for i in reversed(range(k)):
            first[i] = inner[i] / curvatures[i]
            coefficients[k + i] -= first[i]
            inner = inner - first[i] * gram[k + i]
        scale = curvatures[-1] / gram[-1, -1]
        coefficients *= scale
        inner = inner * scale
        for i in range(k):
            second = first[i] - inner[k + i] / curvatures[i]
            coefficients[i] += second
            inner = inner + second * gram[i]
        return coefficients

    @property
    def rows(self) -> tuple[FloatArray, ...]:
        """All vectors, steps first."""
        return self.steps + self.changes
