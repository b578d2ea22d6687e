"""-log E[exp(-cost)] against enumeration, and its gradient by finite differences."""

import numpy as np
import pytest

from cases import CASES
from partita.objectives.evidence_costs import ExponentialCost
from problems import make_problem


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_and_gradient(case):
    problem = make_problem(case)
    cost = problem.vector()
    statistic, pullback = ExponentialCost()(problem.p, cost)
    expected = 0.0
    for truth, mine in zip(problem.truths, problem.by_sentence(cost), strict=True):
        expected -= np.log(truth.probabilities @ np.exp(-truth.counts @ mine))
    assert statistic[0] == pytest.approx(expected, abs=1e-9)
    gradient, direction = pullback(np.ones(1)), problem.vector()
    above, below = (
        ExponentialCost()(problem.at(problem.p.scores + sign * 1e-5 * direction).p, cost)[0][0]
        for sign in (1, -1)
    )
    assert gradient @ direction == pytest.approx((above - below) / 2e-5, abs=1e-6)


def test_a_part_that_is_wrong_for_certain():
    problem = make_problem(CASES[0])
    mask = np.zeros(problem.p.structures.n_parts)
    mask[0] = np.inf
    statistic, _ = ExponentialCost()(problem.p, mask)
    (first, *_), (counts, *_) = problem.truths, [truth.counts for truth in problem.truths]
    allowed = first.probabilities[counts[:, 0] == 0].sum()
    assert statistic[0] == pytest.approx(-np.log(allowed), abs=1e-9)
