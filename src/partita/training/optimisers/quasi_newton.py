"""What L-BFGS and OWL-QN share: options, the state of a run, and when it ends."""

from abc import ABC
from dataclasses import dataclass

import numpy as np

from partita.arrays import Array, FloatArray
from partita.training.optimisers.base import Optimiser, Problem, State, share_of
from partita.training.optimisers.curvature import Curvature
from partita.training.optimisers.scaling import find_units

WINDOW = 10
"""Iterations over which the fall of the loss is judged: single ones can be short by chance."""


@dataclass(frozen=True)
class QuasiNewtonState(State):
    """The weights, the gradient there, and the curvature met on the way."""

    gradient: FloatArray
    """Of all but the L1 penalty, by the weights in their units: slopes times units."""
    curvature: Curvature
    recent_losses: tuple[float, ...]
    """Of the last iterations, this one included, oldest first."""
    recent_norms: tuple[float, ...]
    """Of the gradient in the same iterations."""
    units: FloatArray
    """What gradient and curvature measure weights in; empty where all units are 1."""
    weights_norm: float
    """Of the weights themselves."""
    stuck: bool = False
    """No step lowers the loss any more."""

    @property
    def vectors(self) -> tuple[Array, ...]:
        """The gradient, the steps and changes remembered, and the units."""
        return (self.gradient, *self.curvature.rows, *([self.units] if self.units.size else []))


@dataclass(frozen=True)
class QuasiNewton(Optimiser[QuasiNewtonState], ABC):
    """Newton's method with the Hessian estimated from the last few steps.

    Parameters
    ----------
    n_iterations
        The most iterations.
    gradient_tolerance
        Stop when norm(gradient) <= gradient_tolerance * max(1, norm(weights)).
    loss_tolerance
        Stop when the loss fell by less than this fraction of it in the last 10 iterations.
    memory
        How many steps are remembered.
    scaled
        Measure each weight in a unit that is small where its feature is frequent, see `scaling`:
        the same optimum in less than half the passes. A plain function has no features, and is
        taken as it is.
    """

    n_iterations: int = 1000
    gradient_tolerance: float = 1e-5
    loss_tolerance: float = 1e-6
    memory: int = 6
    scaled: bool = True

    @property
    def state_type(self) -> type[QuasiNewtonState]:
        """The class of its states."""
        return QuasiNewtonState

    def accepts(self, state: QuasiNewtonState) -> bool:
        """There is a loss and a norm for each of the last iterations."""
        return 0 < len(state.recent_losses) == len(state.recent_norms)

    def model(self, state: QuasiNewtonState) -> FloatArray:
        """The weights of the state."""
        return state.weights

    def units_of(self, problem: Problem) -> FloatArray:
        """The units for a new run."""
        if not self.scaled or problem.corpus is None:
            return np.zeros(0)
        return find_units(problem.corpus)

    def reason_to_stop(self, problem: Problem, state: QuasiNewtonState) -> str | None:
        """At the minimum, at the limit of the arithmetic, or at the last iteration."""
        limit = self.gradient_tolerance * max(1.0, state.weights_norm)
        settled = not problem.changes_at(state.iteration)
        if settled and state.gradient_norm <= limit:
            return (
                f"Converged after {state.iteration} iterations at a loss of {state.loss:.6g}: the "
                f"gradient's norm is {state.gradient_norm:.2e}, at most {limit:.2e} as asked "
                "(gradient_tolerance)."
            )
        fall = state.recent_losses[0] - state.loss
        judged = settled and len(state.recent_losses) > WINDOW
        if settled and (state.stuck or (judged and _is_idle(state))):
            return (
                f"Converged after {state.iteration} iterations as far as the arithmetic allows: no "
                f"step lowers the loss of {state.loss:.6g} any more; the gradient's norm is "
                f"{state.gradient_norm:.2e}."
            )
        if judged and self.loss_tolerance and fall < self.loss_tolerance * abs(state.loss):
            return (
                f"Converged after {state.iteration} iterations at a loss of {state.loss:.6g}: the "
                f"last {WINDOW} lowered it by {share_of(fall, state.loss)}, less than "
                f"{100 * self.loss_tolerance:.2g} % (loss_tolerance); {WINDOW} more "
                "would bring less."
            )
        if state.iteration >= self.n_iterations:
            return (
                f"Stopped after {state.iteration} iterations, the most that were allowed "
                f"(max_iterations), at a loss of {state.loss:.6g}: the last "
                f"{len(state.recent_losses) - 1} lowered it by {share_of(fall, state.loss)}, and "
                "as many more would bring about as much, or less."
            )
        return None


def _is_idle(state: QuasiNewtonState) -> bool:
    """Whether neither the loss nor the gradient became smaller in the last iterations."""
    earlier, later = state.recent_norms[: -WINDOW // 2], state.recent_norms[-WINDOW // 2 :]
    return state.loss >= state.recent_losses[0] and min(later) >= min(earlier)
