"""Objectives with random gradients: exact samples, and Markov chains from the data."""

import numpy as np
import pytest

import partita as pt
from partita import objectives
from partita.objectives import (
    ContrastiveDivergence,
    Counts,
    Likelihood,
    Observed,
    SampledLikelihood,
    Sum,
)
from partita.structures.chains import Chains
from partita.structures.resampling import Resampling
from problems import CASES, KINDS, close, make_problem

N_SAMPLES = 150


def sampled(seed):
    return SampledLikelihood(N_SAMPLES, np.random.default_rng(seed))


def divergence(seed):
    return ContrastiveDivergence(60, np.random.default_rng(seed), n_samples=N_SAMPLES)


def target_of(objective, problem):
    kind = Observed if isinstance(objective, ContrastiveDivergence) else Counts
    return kind.of(problem.p.structures, problem.targets)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "case, make",
    [pytest.param(case, sampled, id=f"{case}-sampled") for case in CASES]
    + [pytest.param(case, divergence, id=f"{case}-divergence") for case in CASES],
)
def test_many_samples_approach_the_likelihood(case, kind, make):
    problem = make_problem(case, kind)
    objective = make(7)
    target = target_of(objective, problem)
    statistic, pullback = objective(problem.p, target)
    gradient = pullback(np.ones(1))
    finite = np.where(problem.p.scores == -np.inf, 0.0, problem.p.scores)
    close(statistic[0], gradient @ finite)
    # Where parts are forbidden, steps of one word do not reach all that is left.
    if make is sampled or kind == "normal" or str(case) == "forest":
        counts = Counts.of(problem.p.structures, problem.targets)
        expected = counts.subtracted_from(problem.p.inference.marginals)
        deviation = np.concatenate([np.sqrt(np.diag(truth.covariance)) for truth in problem.truths])
        assert (np.abs(gradient - expected) <= 6 * deviation / np.sqrt(N_SAMPLES) + 1e-9).all()
    # The same again, whatever else was asked in between.
    objective(problem.p.tempered(0.5), target)
    np.testing.assert_array_equal(objective(problem.p, target)[1](np.ones(1)), gradient)
    if kind == "normal":
        assert (make(8)(problem.p, target)[1](np.ones(1)) != gradient).any()


def test_one_step_is_pseudo_likelihood():
    """The expected gradient of one visit is p(tag | the others) - target: here of one word."""
    p = pt.LinearChain(np.array([[0.0, 1.0]]), np.zeros((2, 2)))
    objective = ContrastiveDivergence(1, np.random.default_rng(0), n_samples=5000)
    _, gradient = objective.losses(p, Observed.of(p.structures, [[0]]))
    expected = np.exp([0.0, 1.0]) / np.exp([0.0, 1.0]).sum() - [1.0, 0.0]
    np.testing.assert_allclose(gradient()[:2], expected, atol=0.03)


def test_few_steps_stay_near_the_data():
    """Two words that want to agree: one step seldom leaves (0, 0), although (1, 1) is as good."""
    strong = np.array([[6.0, 0.0], [0.0, 6.0]])
    p = pt.LinearChain(np.zeros((2, 2)), strong)
    target = Observed.of(p.structures, [[0, 0]])
    near, far = (
        ContrastiveDivergence(n_steps, np.random.default_rng(0), n_samples=300).losses(p, target)[1]
        for n_steps in (1, 3000)
    )
    exact = target.counts.subtracted_from(p.inference.marginals)
    assert np.abs(near()).max() < 0.02
    np.testing.assert_allclose(far(), exact, atol=0.2)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_forbidden_target_has_infinite_loss(case):
    problem = make_problem(case)
    target = Observed.of(problem.p.structures, problem.targets)
    scores = np.full_like(problem.p.scores, -np.inf)
    losses, gradient = ContrastiveDivergence(2, np.random.default_rng(0)).losses(
        problem.p.with_scores(scores), target
    )
    assert (losses == np.inf).all()
    assert np.isfinite(gradient()).all()


class Still(Chains):
    """Tag sequences that offer no step of a Markov chain."""

    resampled = None


def test_structures_without_a_step():
    p = pt.LinearChain.from_flat(Still([2], 2, shared=True), np.zeros(8))
    assert not isinstance(p.structures, Resampling)
    target = Observed.of(p.structures, [[0, 1]])
    with pytest.raises(ValueError, match="Use SampledLikelihood"):
        ContrastiveDivergence(1, np.random.default_rng(0))(p, target)


def test_it_learns_what_likelihood_learns():
    """Adam on two weights of a chain, from its own samples."""
    rng = np.random.default_rng(1)
    truth = np.array([0.8, 1.2])
    unary, pairwise = np.array([[0.0, 1.0]] * 4), np.array([[1.0, 0.0], [0.0, 1.0]])

    def chain(weights):
        return pt.LinearChain([weights[0] * unary] * 400, weights[1] * pairwise)

    p = chain(truth)
    data = [tags[0] for tags in p.structures.sample(p.scores, p.inference, 1, rng)]
    target = Observed.of(p.structures, data)
    directions = [chain(row).scores for row in np.eye(2)]
    objective = ContrastiveDivergence(1, rng)
    weights, average = np.zeros(2), np.zeros(2)
    for step in range(300):
        gradient = objective(chain(weights), target)[1](np.ones(1))
        weights -= 0.002 * np.array([gradient @ row for row in directions])
        if step >= 200:
            average += weights / 100
    exact = Likelihood()(chain(average), target.counts)[1](np.ones(1))
    slopes = [exact @ row / 400 for row in directions]
    assert np.abs(slopes).max() < 0.05
    assert np.abs(average - truth).max() < 0.3


def test_which_objectives_are_random():
    named = [getattr(objectives, name) for name in objectives.__all__]
    kinds = [kind for kind in named if isinstance(kind, type) and hasattr(kind, "is_random")]
    random = {kind.__name__ for kind in kinds if kind.is_random}
    assert random == {"ContrastiveDivergence", "SampledLikelihood"}
    assert Sum not in kinds


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: SampledLikelihood(0, rng),
        lambda rng: ContrastiveDivergence(0, rng),
        lambda rng: ContrastiveDivergence(1, rng, n_samples=0),
        lambda rng: ContrastiveDivergence(1.5, rng),
    ],
)
def test_numbers_that_are_too_small(make):
    with pytest.raises(ValueError, match="expected at least 1"):
        make(np.random.default_rng(0))
