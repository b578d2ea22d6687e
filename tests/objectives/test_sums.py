"""Sums of objectives, and schedules of their weights."""

import pickle

import numpy as np
import pytest

from partita.objectives import (
    Counts,
    Entropy,
    GeneralizedExpectation,
    Likelihood,
    RenyiEntropy,
    Sum,
    as_sum,
    ramp,
)
from problems import CASES, close, make_problem


def test_a_sum_lists_its_terms():
    objective = Likelihood() + 0.1 * Entropy() + 2.0 * (Entropy() + 3.0 * RenyiEntropy(2.0))
    assert objective.names == ["Likelihood", "Entropy", "Entropy2", "RenyiEntropy"]
    assert objective.weights_at(0) == [1.0, 0.1, 2.0, 6.0]


def test_terms_have_names_of_their_own():
    objective = Likelihood().named("tags") + 0.1 * (Entropy() + Entropy().named("news"))
    assert objective.names == ["tags", "Entropy", "news"]
    assert objective.weights_at(0) == [1.0, 0.1, 0.1]
    assert (2.0 * objective).names == objective.names
    assert (0.5 * Entropy()).named("web").weights_at(0) == [0.5]
    many = Sum(12 * as_sum(Entropy()).terms)
    assert many.names == ["Entropy", *(f"Entropy{number}" for number in range(2, 13))]
    with pytest.raises(ValueError, match="two terms of an objective are named 'tags'"):
        objective + Likelihood().named("tags")
    with pytest.raises(ValueError, match="two terms of an objective are named 'Entropy2'"):
        Entropy().named("Entropy2") + Entropy() + Entropy()
    with pytest.raises(ValueError, match="the name 'all' came for a sum of 3 terms"):
        objective.named("all")


def test_a_single_objective_is_a_sum_of_one():
    likelihood = Likelihood()
    assert as_sum(likelihood).names == ["Likelihood"]
    assert as_sum(as_sum(likelihood)) == as_sum(likelihood)
    assert isinstance(2.0 * likelihood, Sum)


def test_schedules_multiply():
    objective = Likelihood() + ramp(0.1, over=20) * Entropy()
    assert objective.weights_at(0) == [1.0, 0.0]
    assert objective.weights_at(20) == [1.0, 0.1]
    doubled = 2.0 * objective
    close(doubled.weights_at(10), [2.0, 0.1])
    close((ramp(1.0, over=2) * doubled).weights_at(1), [1.0, 0.005])


def test_a_ramp_starts_later():
    schedule = ramp(1.0, over=10, start=5)
    assert [schedule(i) for i in (0, 5, 10, 15, 99)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert [ramp(0.5, over=1)(i) for i in range(3)] == [0.0, 0.5, 0.5]
    with pytest.raises(ValueError, match="over is 0"):
        ramp(1.0, over=0)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_loss_and_slopes_of_a_sum(case):
    problem = make_problem(case)
    objective = Likelihood() + 0.25 * Entropy()
    targets = [Counts.of(problem.p.structures, problem.targets), None]
    results = [
        term.objective(problem.p, target)
        for term, target in zip(objective.terms, targets, strict=True)
    ]
    loss, slopes = objective.loss([statistic for statistic, _ in results])
    likelihood, entropy = (statistic[0] for statistic, _ in results)
    close(loss, likelihood + 0.25 * entropy)
    gradient = sum(pullback(slope) for (_, pullback), slope in zip(results, slopes, strict=True))
    expected = targets[0].subtracted_from(problem.p.inference.marginals)
    expected -= 0.25 * problem.p.flat_covariance_product(problem.p.scores)
    close(gradient, expected)


def test_weights_multiply_slopes_of_any_size():
    expectation = GeneralizedExpectation([0.25, 0.5])
    totals = np.array([1.0, 3.0, 4.0, 4.0])
    loss, slope = expectation.loss(totals)
    assert (np.abs(slope) != 1.0).all()
    total, [found, _] = (0.25 * expectation + Likelihood()).loss([totals, np.ones(1)])
    assert total == 0.25 * loss + 1.0
    np.testing.assert_array_equal(found, 0.25 * slope)


def test_a_term_that_is_switched_off_contributes_nothing():
    objective = Likelihood() + 0.0 * Entropy()
    loss, slopes = objective.loss([np.array([1.0]), np.array([np.inf])])
    assert loss == 1.0
    assert [slope.tolist() for slope in slopes] == [[1.0], [0.0]]


@pytest.mark.parametrize(
    "objective", [Likelihood(), RenyiEntropy(2.0), GeneralizedExpectation([1])]
)
def test_objectives_travel_to_other_processes(objective):
    assert type(pickle.loads(pickle.dumps(objective))) is type(objective)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Likelihood() + 3, "an objective was added to 3"),
        (lambda: "a" * Likelihood(), "an objective was multiplied by 'a'"),
    ],
)
def test_only_objectives_add_and_only_numbers_scale(make, message):
    with pytest.raises(ValueError, match=message):
        make()
