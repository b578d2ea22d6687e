"""L-BFGS: Newton's method with the Hessian estimated from the last few steps."""

from dataclasses import dataclass, replace
from typing import Protocol

from partita.arrays import FloatArray
from partita.training.optimisers.base import Optimiser, Problem, State, checked_finite
from partita.training.optimisers.curvature import Curvature
from partita.training.optimisers.line_search import Point, line_search
from partita.training.vectors import norm

WINDOW = 10
"""Iterations over which the fall of the loss is judged: single ones can be short by chance."""


@dataclass(frozen=True)
class QuasiNewtonState(State):
    """The weights, the gradient there, and the curvature met on the way."""

    gradient: FloatArray
    """Of all but the L1 penalty."""
    curvature: Curvature
    recent_losses: tuple[float, ...]
    """Of the last iterations, this one included, oldest first."""
    recent_norms: tuple[float, ...]
    """Of the gradient in the same iterations."""
    stuck: bool = False
    """No step lowers the loss any more."""


class Tolerances(Protocol):
    """When a quasi-Newton method stops."""

    @property
    def n_iterations(self) -> int:
        """The most iterations."""

    @property
    def gradient_tolerance(self) -> float:
        """Norm of the gradient, relative to the weights, that is small enough."""

    @property
    def loss_tolerance(self) -> float:
        """Fall of the loss, relative to it, that is too small to go on."""


@dataclass(frozen=True)
class LBFGS(Optimiser[QuasiNewtonState]):
    """Limited-memory BFGS (Liu & Nocedal 1989) with a strong-Wolfe line search.

    An iteration costs one evaluation of the loss, seldom two, and two passes over 2 * `memory`
    vectors of the length of the weights, which is also the memory that it takes.

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
    """

    n_iterations: int = 1000
    gradient_tolerance: float = 1e-5
    loss_tolerance: float = 1e-6
    memory: int = 6

    @property
    def state_type(self) -> type[QuasiNewtonState]:
        """The class of its states."""
        return QuasiNewtonState

    def start(self, problem: Problem, weights: FloatArray) -> QuasiNewtonState:
        """Loss and gradient at the given weights; nothing remembered."""
        if problem.penalty.l1:
            raise ValueError(
                f"LBFGS came with an L1 penalty (l1={problem.penalty.l1}), which has no gradient "
                "at 0. Use OWLQN."
            )
        loss, gradient = problem.value_and_gradient(weights, 0)
        length = checked_finite(loss, gradient)
        return QuasiNewtonState(
            0, weights, loss, length, gradient, Curvature(self.memory), (loss,), (length,)
        )

    def step(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """Along the quasi-Newton direction; along the gradient where that leads nowhere."""
        if problem.changes_at(state.iteration):
            state = self._at_new_loss(problem, state)
        curvature = state.curvature
        point = self._searched(problem, state, curvature)
        if point is None and curvature.n_pairs:
            curvature = curvature.forgotten()
            point = self._searched(problem, state, curvature)
        if point is None:
            return replace(state, iteration=state.iteration + 1, stuck=True)
        curvature = curvature.updated(
            point.weights - state.weights,
            point.gradient - state.gradient,
            point.gradient,
            problem.n_threads,
        )
        length = norm(point.gradient)
        return QuasiNewtonState(
            state.iteration + 1,
            point.weights,
            point.loss,
            length,
            point.gradient,
            curvature,
            (*state.recent_losses[-WINDOW:], point.loss),
            (*state.recent_norms[-WINDOW:], length),
        )

    def model(self, state: QuasiNewtonState) -> FloatArray:
        """The weights of the state."""
        return state.weights

    def reason_to_stop(self, problem: Problem, state: QuasiNewtonState) -> str | None:
        """At the minimum, at the limit of the arithmetic, or at the last iteration."""
        return stopping_reason(self, problem, state)

    def _searched(
        self, problem: Problem, state: QuasiNewtonState, curvature: Curvature
    ) -> Point | None:
        # Before anything is known of the curvature, a step of length one at most.
        first = 1.0 if curvature.n_pairs else 1.0 / max(state.gradient_norm, 1.0)
        return line_search(
            lambda weights: problem.value_and_gradient(weights, state.iteration),
            state.weights,
            state.loss,
            state.gradient,
            curvature.direction(state.gradient, problem.n_threads),
            first,
        )

    def _at_new_loss(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """The same place in the landscape of another iteration's term weights."""
        loss, gradient = problem.value_and_gradient(state.weights, state.iteration)
        length = norm(gradient)
        return replace(
            state,
            loss=loss,
            gradient=gradient,
            gradient_norm=length,
            curvature=state.curvature.with_gradient(gradient, problem.n_threads),
            recent_losses=(loss,),
            recent_norms=(length,),
            stuck=False,
        )


def stopping_reason(options: Tolerances, problem: Problem, state: QuasiNewtonState) -> str | None:
    """Why a quasi-Newton method stops here, in a sentence; None if it goes on."""
    limit = options.gradient_tolerance * max(1.0, norm(state.weights))
    settled = not problem.changes_at(state.iteration)
    if settled and state.gradient_norm <= limit:
        return (
            f"Converged after {state.iteration} iterations: the gradient's norm is "
            f"{state.gradient_norm:.2e}, at most {limit:.2e} as asked (gradient_tolerance)."
        )
    fall = state.recent_losses[0] - state.loss
    judged = settled and len(state.recent_losses) > WINDOW
    if settled and (state.stuck or (judged and _is_idle(state))):
        return (
            f"Converged after {state.iteration} iterations as far as the arithmetic allows: no "
            f"step lowers the loss any more; the gradient's norm is {state.gradient_norm:.2e}."
        )
    if judged and options.loss_tolerance and fall < options.loss_tolerance * abs(state.loss):
        return (
            f"Converged after {state.iteration} iterations: the loss fell by only {fall:.2e} in "
            f"the last {WINDOW}, less than {options.loss_tolerance:g} of it (loss_tolerance)."
        )
    if state.iteration >= options.n_iterations:
        return (
            f"Stopped after {state.iteration} iterations, the most that were allowed "
            f"(n_iterations); the gradient's norm is still {state.gradient_norm:.2e}."
        )
    return None


def _is_idle(state: QuasiNewtonState) -> bool:
    """Whether neither the loss nor the gradient became smaller in the last iterations."""
    earlier, later = state.recent_norms[: -WINDOW // 2], state.recent_norms[-WINDOW // 2 :]
    return state.loss >= state.recent_losses[0] and min(later) >= min(earlier)
