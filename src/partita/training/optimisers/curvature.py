"""The memory of L-BFGS: the last few steps, how the gradient changed, and all their dot products.

The two-loop recursion (Nocedal & Wright 2006, algorithm 7.4) only combines stored vectors with
coefficients that depend on their dot products. With the dot products at hand, the loops run on
numbers, and the long vectors are read just twice (Chen, Wang & Zhou 2014, "Large-scale L-BFGS
using MapReduce"), in blocks.

Steps and changes are kept in single precision, which halves the memory and the reading. They only
suggest a direction, whose slope and loss are then taken in full: the path is another one in the
seventh digit, and no longer.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from partita.arrays import FloatArray, SingleArray
from partita.training.spare_vectors import SPARE
from partita.training.vectors import combination, converted_pairs, dot, pair_products, row_products


@dataclass(frozen=True)
class Curvature:
    """Pairs (step, change of the gradient), oldest first, and what their products say."""

    memory: int
    steps: tuple[SingleArray, ...] = ()
    changes: tuple[SingleArray, ...] = ()
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
        return replace(self, along=row_products(self.rows, gradient, n_threads))

    def converted(
        self, units: tuple[FloatArray, FloatArray], gradient: FloatArray, n_threads: int = 1
    ) -> "Curvature":
        """The same pairs in other units, the old and the new ones; overwrites its vectors.

        The gradient is that in the new units.
        """
        if not self.n_pairs:
            return self
        gram, along = converted_pairs(self.rows, units, gradient, n_threads)
        return replace(self, gram=gram, along=along)

    def copied(self) -> "Curvature":
        """With vectors of its own."""
        steps, changes = (tuple(row.copy() for row in rows) for rows in (self.steps, self.changes))
        return replace(self, steps=steps, changes=changes)

    def updated(
        self,
        moved: tuple[float, FloatArray],
        gradients: tuple[FloatArray, FloatArray],
        slope: FloatArray,
        n_threads: int = 1,
    ) -> "Curvature":
        """With one more pair (and without the oldest), at a new slope; reads all once.

        `moved` is how far one went, and in which direction; `gradients` are the new and the old
        one. The slope is the new gradient, or what stands for it where there is a penalty without
        one.
        """
        kept = slice(1, None) if self.n_pairs == self.memory else slice(None)
        before = self.steps[kept] + self.changes[kept]
        step, change, found = pair_products(before, moved, gradients, slope, n_threads)
        steps, changes = (*self.steps[kept], step), (*self.changes[kept], change)
        k = len(steps)
        # The products came with the new step and change at the end.
        order = [*range(k - 1), 2 * k - 2, *range(k - 1, 2 * k - 2), 2 * k - 1]
        products = found[order]
        if not 0.0 < products[k - 1, 1] < np.inf:
            # The loss is not convex along this step; the pair would spoil the directions.
            return self.with_gradient(slope, n_threads)
        gram = np.empty((2 * k, 2 * k))
        others = np.flatnonzero(np.arange(2 * k) % k < k - 1)
        places = self.n_pairs - k + 1 + np.arange(k - 1)
        source = np.concatenate([places, self.n_pairs + places])
        gram[np.ix_(others, others)] = self.gram[np.ix_(source, source)]
        for index, column in ((k - 1, products[:, 0]), (2 * k - 1, products[:, 1])):
            gram[index], gram[:, index] = column, column
        return Curvature(self.memory, steps, changes, gram, products[:, 2])

    def direction(self, gradient: FloatArray, n_threads: int = 1) -> tuple[FloatArray, float]:
        """-H gradient, H the estimate of the inverse Hessian; reads all vectors once.

        And the slope along it: its dot product with the gradient.
        """
        if not self.n_pairs:
            down = np.negative(gradient, out=SPARE.vector(len(gradient)))
            return down, -dot(gradient, gradient, n_threads)
        coefficients = self._coefficients()
        return combination(coefficients, self.rows, gradient, n_threads)

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
    def rows(self) -> tuple[SingleArray, ...]:
        """All vectors, steps first."""
        return self.steps + self.changes
