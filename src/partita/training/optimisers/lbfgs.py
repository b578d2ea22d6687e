"""L-BFGS: Newton's method with the Hessian estimated from the last few steps."""

from dataclasses import dataclass, replace

import numpy as np

from partita.arrays import FloatArray
from partita.training.optimisers.base import Problem, check_not_random, checked_finite
from partita.training.optimisers.curvature import Curvature
from partita.training.optimisers.line_search import Point, line_search
from partita.training.optimisers.quasi_newton import (
    WINDOW,
    QuasiNewton,
    QuasiNewtonState,
    in_units,
    quotient,
    true_norm,
)
from partita.training.optimisers.scaling import find_units_again
from partita.training.spare_vectors import SPARE
from partita.training.vectors import norm, product

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
        problem, place = in_units(problem, units), quotient(weights, units)
        loss, gradient = problem.value_and_gradient(place, 0)
        checked_finite(loss, gradient)
        length = true_norm(gradient, units)
        return QuasiNewtonState(
            0, place, loss, length, gradient, Curvature(self.memory), (loss,), (length,), units
        )

    def step(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """Along the quasi-Newton direction; along the gradient where that leads nowhere."""
        if self._finds_units_again(state):
            state = self._in_new_units(problem, state)
        problem = in_units(problem, state.units)
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
            (point.weights, point.gradient),
            (state.weights, state.gradient),
            point.gradient,
            problem.n_threads,
        )
        length = true_norm(point.gradient, state.units, problem.n_threads)
        return QuasiNewtonState(
            state.iteration + 1,
            point.weights,
            point.loss,
            length,
            point.gradient,
            curvature,
            (*state.recent_losses[-WINDOW:], point.loss),
            (*state.recent_norms[-WINDOW:], length),
            state.units,
        )

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
        n_threads = problem.n_threads
        place = product(state.weights, state.units, n_threads)
        units = find_units_again(problem.corpus, place, state.units)
        ratio = np.divide(state.units, units, out=SPARE.vector(len(units)))
        gradient = np.divide(state.gradient, ratio, out=SPARE.vector(len(units)))
        return replace(
            state,
            weights=quotient(place, units),
            gradient=gradient,
            curvature=state.curvature.rescaled(ratio, gradient, n_threads),
            units=units,
        )

    def _searched(
        self, problem: Problem, state: QuasiNewtonState, curvature: Curvature
    ) -> Point | None:
        # Before anything is known of the curvature, a step of length one at most.
        first = 1.0
        if not curvature.n_pairs:
            first /= max(norm(state.gradient, problem.n_threads), 1.0)
        return line_search(
            lambda weights: problem.value_and_gradient(weights, state.iteration),
            state.weights,
            state.loss,
            state.gradient,
            curvature.direction(state.gradient, problem.n_threads),
            first,
            problem.n_threads,
        )

    def _at_new_loss(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """The same place in the landscape of another iteration's term weights."""
        loss, gradient = problem.value_and_gradient(state.weights, state.iteration)
        length = true_norm(gradient, state.units)
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
