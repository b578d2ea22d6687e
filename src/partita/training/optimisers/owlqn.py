"""OWL-QN: L-BFGS for losses with an L1 penalty, which makes most weights exactly 0."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray
from partita.training.optimisers.base import Problem, check_not_random, checked_finite
from partita.training.optimisers.curvature import Curvature
from partita.training.optimisers.line_search import N_EVALUATIONS, ROUNDING, SUFFICIENT
from partita.training.optimisers.quasi_newton import (
    WINDOW,
    QuasiNewton,
    QuasiNewtonState,
)
from partita.training.optimisers.scaling import ScaledProblem
from partita.training.vectors import dot, norm, norm_of_quotient, product


@dataclass(frozen=True)
class OWLQN(QuasiNewton):
    """Orthant-wise limited-memory quasi-Newton (Andrew & Gao 2007).

    Within an orthant the L1 penalty is linear. Each step stays in the orthant that the steepest
    descent points into: a weight that would change its sign becomes exactly 0. Options as for
    `LBFGS`; the gradient of the tolerance is the steepest one-sided slope of the penalised loss.
    """

    def start(self, problem: Problem, weights: FloatArray) -> QuasiNewtonState:
        """Loss and gradient at the given weights; nothing remembered."""
        check_not_random(problem, "OWLQN")
        units = self.units_of(problem)
        problem, place = _in_units(problem, weights, units)
        loss, gradient = problem.value_and_gradient(place, 0)
        checked_finite(loss, gradient)
        found = Found(place, loss, gradient)
        return _state(problem, 0, found, Curvature(self.memory), units)

    def step(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """Along the quasi-Newton direction inside one orthant; else along the steepest slope."""
        problem, place = _in_units(problem, state.weights, state.units)
        if problem.changes_at(state.iteration):
            loss, gradient = problem.value_and_gradient(place, state.iteration)
            slope = steepest_slope(problem, place, gradient)
            curvature = state.curvature.with_gradient(slope, problem.n_threads)
            here = Found(place, loss, gradient)
            state = _state(problem, state.iteration, here, curvature, state.units)
        found, curvature = _searched(problem, state, place, state.curvature), state.curvature
        if found is None and curvature.n_pairs:
            curvature = curvature.forgotten()
            found = _searched(problem, state, place, curvature)
        if found is None:
            return replace(state, iteration=state.iteration + 1, stuck=True)
        slope = steepest_slope(problem, found.place, found.gradient)
        curvature = curvature.updated(
            (1.0, found.place - place), (found.gradient, state.gradient), slope, problem.n_threads
        )
        return _state(problem, state.iteration + 1, found, curvature, state.units, state)


class Found(NamedTuple):
    """A place, and what was found there."""

    place: FloatArray
    """The weights in their units."""
    loss: float
    """Without the L1 penalty."""
    gradient: FloatArray


def _in_units(
    problem: Problem, weights: FloatArray, units: FloatArray
) -> tuple[Problem, FloatArray]:
    """The problem as a function of weights in these units, and the weights in them."""
    return (ScaledProblem(problem, units), weights / units) if units.size else (problem, weights)


def steepest_slope(problem: Problem, weights: FloatArray, gradient: FloatArray) -> FloatArray:
    """The pseudo-gradient: the subgradient of loss + L1 with the smallest entries, 0 at a minimum.

    Where a weight is not 0 the penalty has a slope; at 0 it takes away up to l1 from the gradient.
    """
    thresholds = problem.penalty.thresholds(len(weights))
    shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - thresholds, 0.0)
    return np.where(weights == 0.0, shrunk, gradient + np.sign(weights) * thresholds)


def _state(
    problem: Problem,
    iteration: int,
    found: Found,
    curvature: Curvature,
    units: FloatArray,
    before: QuasiNewtonState | None = None,
) -> QuasiNewtonState:
    """The state at a place, after the one before."""
    total = found.loss + problem.penalty.absolute(found.place)
    slope = steepest_slope(problem, found.place, found.gradient)
    length = norm_of_quotient(slope, units) if units.size else norm(slope)
    weights = product(found.place, units) if units.size else found.place
    losses = before.recent_losses[-WINDOW:] if before else ()
    norms = before.recent_norms[-WINDOW:] if before else ()
    return QuasiNewtonState(
        iteration,
        weights,
        total,
        length,
        found.gradient,
        curvature,
        (*losses, total),
        (*norms, length),
        units,
        norm(weights),
    )


def _searched(
    problem: Problem, state: QuasiNewtonState, place: FloatArray, curvature: Curvature
) -> Found | None:
    """Halve the step until the penalised loss falls enough."""
    slope = steepest_slope(problem, place, state.gradient)
    direction, _ = curvature.direction(slope, problem.n_threads)
    direction[direction * slope >= 0.0] = 0.0
    orthant = np.where(place == 0.0, -np.sign(slope), np.sign(place))
    step = 1.0 if curvature.n_pairs else 1.0 / max(norm(slope), 1.0)
    for _ in range(N_EVALUATIONS):
        new = place + step * direction
        new[new * orthant <= 0.0] = 0.0
        loss, gradient = problem.value_and_gradient(new, state.iteration)
        fall = state.loss - loss - problem.penalty.absolute(new)
        expected = -SUFFICIENT * dot(slope, new - place)
        # Below the rounding error of the loss, a fall cannot be told from a rise.
        if expected > 0.0 and fall >= expected - ROUNDING * abs(state.loss):
            return Found(new, loss, gradient)
        step *= 0.5
    return None
