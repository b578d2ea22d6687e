"""What large weights cost: L2 and L1 penalties, with a scale for each weight."""

from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray
from partita.training.vectors import dot, finish_gradient


@dataclass(frozen=True)
class Penalty:
    """sum_j scale_j (l2 / 2 weights_j² + l1 |weights_j|), added to the loss of the whole corpus.

    `l2` = 1 / variance is the precision of a normal prior around 0. `scale` holds a number per
    weight, 0 for one that is not penalised; all 1 if left out.

    >>> Penalty(l2=2.0, scale=np.array([1.0, 0.0])).smooth(np.array([3.0, 4.0]))
    9.0
    """

    l2: float = 0.0
    l1: float = 0.0
    scale: FloatArray | None = None

    def __post_init__(self) -> None:
        for name, value in (("l2", self.l2), ("l1", self.l1)):
            if not 0 <= value < np.inf:
                raise ValueError(f"{name} is {value}; expected a finite number, 0 or more.")
        if self.scale is not None and not ((self.scale >= 0) & np.isfinite(self.scale)).all():
            raise ValueError("scale has a value that is negative or not finite.")

    def check(self, n_weights: int) -> None:
        """The scale has a number for every weight."""
        if self.scale is not None and self.scale.shape != (n_weights,):
            raise ValueError(
                f"the scale of the penalty has shape {self.scale.shape}; expected ({n_weights},), "
                "a number for each weight."
            )

    def smooth(self, weights: FloatArray, n_threads: int = 1) -> float:
        """The L2 part."""
        if not self.l2:
            return 0.0
        scaled = weights if self.scale is None else self.scale * weights
        return 0.5 * self.l2 * dot(scaled, weights, n_threads)

    def add_gradient(self, weights: FloatArray, gradient: FloatArray, n_threads: int = 1) -> float:
        """The L2 part; adds its gradient, l2 * scale * weights, in place. One pass for both."""
        if not self.l2:
            return 0.0
        sums = finish_gradient(gradient, weights, self.l2, self.scale, n_threads=n_threads)
        return 0.5 * self.l2 * sums.penalties

    def absolute(self, weights: FloatArray) -> float:
        """The L1 part."""
        if not self.l1:
            return 0.0
        return dot(np.abs(weights), self.thresholds(len(weights)))

    def thresholds(self, n_weights: int) -> FloatArray:
        """l1 * scale: how steep the L1 part is at each weight."""
        return np.full(n_weights, self.l1) if self.scale is None else self.l1 * self.scale
