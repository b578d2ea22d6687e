"""L-BFGS: Newton's method with the Hessian estimated from the last few steps."""

import math
from dataclasses import dataclass, replace

import numpy as np

from partita.arrays import FloatArray
from partita.training.optimisers.base import Problem, check_not_random, checked_finite
from partita.training.optimisers.curvature import Curvature
from partita.training.optimisers.line_search import Point, line_search
from partita.training.optimisers.quasi_newton import WINDOW, QuasiNewton, QuasiNewtonState
from partita.training.optimisers.scaling import find_units_again
from partita.training.spare_vectors import SPARE
from partita.training.vectors import NONE, finish_gradient, moved

SETTLED = 12
"""Iterations after which the units of weights are found again (see `scaling`)."""


@dataclass(frozen=True)
class LBFGS(QuasiNewton):
    """Limited-memory BFGS (Liu & Nocedal 1989) with a strong-Wolfe line search.

    An iteration costs one evaluation of the loss, seldom two, and two passes over 2 * `memory`
    vectors of the length of the weights in single precision, which is also the memory that it
    takes. Options as for `QuasiNewton`.
    """

    def start(self, problem: Problem, weights: FloatArray) -> QuasiNewtonState:
        """Loss and gradient at the given weights; nothing remembered."""
        check_not_random(problem, "LBFGS")
        if problem.penalty.l1:
            raise ValueError(
                f"LBFGS came with an L1 penalty (l1={problem.penalty.l1}), which has no gradient "
                "at 0. Use OWLQN."
            )
        units = self.units_of(problem)
        point = _looked_at(problem, 0, weights, units)
        checked_finite(point.loss, point.gradient)
        return _state(0, point, Curvature(self.memory), units)

    def step(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """Along the quasi-Newton direction; along the gradient where that leads nowhere."""
        if self._finds_units_again(state):
            state = self._in_new_units(problem, state)
        if problem.changes_at(state.iteration):
            state = self._at_new_loss(problem, state)
        curvature = state.curvature
        found = _searched(problem, state, curvature)
        if found is None and curvature.n_pairs:
            curvature = curvature.forgotten()
            found = _searched(problem, state, curvature)
        if found is None:
            return replace(state, iteration=state.iteration + 1, stuck=True)
        point, direction = found
        gradients = point.gradient, state.gradient
        curvature = curvature.updated(
            (point.step, direction), gradients, point.gradient, problem.n_threads
        )
        return _state(state.iteration + 1, point, curvature, state.units, state)

    def apart(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """Copies of the vectors that finding units again overwrites."""
        if not self._finds_units_again(state):
            return state
        return replace(state, curvature=state.curvature.copied())

    def _finds_units_again(self, state: QuasiNewtonState) -> bool:
        return state.iteration == SETTLED and bool(state.units.size)

    def _in_new_units(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """The same state with weights measured by what the marginals are by now."""
        assert problem.corpus is not None
        units = find_units_again(problem.corpus, state.weights, state.units)
        gradient = np.multiply(state.gradient, units, out=SPARE.vector(len(units)))
        gradient /= state.units
        curvature = state.curvature.converted((state.units, units), gradient, problem.n_threads)
        return replace(state, gradient=gradient, curvature=curvature, units=units)

    def _at_new_loss(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """The same place in the landscape of another iteration's term weights."""
        point = _looked_at(problem, state.iteration, state.weights, state.units)
        curvature = state.curvature.with_gradient(point.gradient, problem.n_threads)
        return _state(state.iteration, point, curvature, state.units)


def _searched(
    problem: Problem, state: QuasiNewtonState, curvature: Curvature
) -> tuple[Point, FloatArray] | None:
    """A better point along the direction that the curvature says, and that direction."""
    direction, slope = curvature.direction(state.gradient, problem.n_threads)
    norms = state.gradient_norm, state.weights_norm
    origin = Point(0.0, state.weights, state.loss, state.gradient, *norms, slope)
    # Before anything is known of the curvature, a step of length one at most.
    first = 1.0 if curvature.n_pairs else 1.0 / max(math.sqrt(-slope), 1.0)

    def line(step: float) -> Point:
        place = moved(state.weights, step, direction, state.units, problem.n_threads)
        return _looked_at(problem, state.iteration, place, state.units, step, direction)

    point = line_search(line, origin, first)
    return None if point is None else (point, direction)


def _looked_at(
    problem: Problem,
    iteration: int,
    weights: FloatArray,
    units: FloatArray,
    step: float = 0.0,
    direction: FloatArray = NONE,
) -> Point:
    """Loss and gradient at some weights, a step along a direction away."""
    loss, gradient = problem.unpenalised(weights, iteration)
    penalty = problem.penalty
    sums = finish_gradient(
        gradient,
        weights,
        penalty.l2,
        penalty.scale,
        units=units,
        direction=direction,
        n_threads=problem.n_threads,
    )
    loss += 0.5 * penalty.l2 * sums.penalties
    norms = math.sqrt(sums.gradient), math.sqrt(sums.weights)
    return Point(step, weights, loss, gradient, *norms, sums.along)


def _state(
    iteration: int,
    point: Point,
    curvature: Curvature,
    units: FloatArray,
    before: QuasiNewtonState | None = None,
) -> QuasiNewtonState:
    """The state at a point, after the one before."""
    losses = before.recent_losses[-WINDOW:] if before else ()
    norms = before.recent_norms[-WINDOW:] if before else ()
    return QuasiNewtonState(
        iteration,
        point.weights,
        point.loss,
        point.gradient_norm,
        point.gradient,
        curvature,
        (*losses, point.loss),
        (*norms, point.gradient_norm),
        units,
        point.weights_norm,
    )
