"""Generalized expectation: the distance is outside the sum over the whole corpus."""

import numpy as np
import pytest
from scipy import sparse

from partita.objectives import (
    Constraints,
    GeneralizedExpectation,
    binary_kl_distance,
    gradient_from_covariance,
    kl_distance,
    squared_distance,
)
from problems import CASES, KINDS, check_gradient, close, make_problem

N_CONSTRAINTS = 4
DISTANCES = [squared_distance, kl_distance]


def make_constraints(problem, seed, *, with_occurrences=True):
    rng = np.random.default_rng(seed)
    n_parts, n_sentences = problem.p.structures.n_parts, len(problem.truths)
    features = rng.random((N_CONSTRAINTS, n_parts)) * (rng.random((N_CONSTRAINTS, n_parts)) < 0.3)
    features[:, problem.p.inference.marginals > 0] += 0.1
    occurrences = rng.integers(1, 4, size=(N_CONSTRAINTS, n_sentences)).astype(np.float64)
    return Constraints(
        sparse.csr_array(features), sparse.csr_array(occurrences) if with_occurrences else None
    )


def expected_by_enumeration(problems, constraints, weights):
    """The expectations of the constraints over a corpus, sentence by sentence."""
    expected, occurrences = np.zeros(N_CONSTRAINTS), np.zeros(N_CONSTRAINTS)
    for problem, given, of_sentences in zip(problems, constraints, weights, strict=True):
        starts = problem.p.structures.part_offsets
        for b, truth in enumerate(problem.truths):
            features = given.features.toarray()[:, starts[b] : starts[b + 1]]
            values = truth.counts @ features.T
            expected += of_sentences[b] * (truth.probabilities @ values)
            occurs = 1.0 if given.occurrences is None else given.occurrences.toarray()[:, b]
            occurrences += of_sentences[b] * occurs
    return expected / occurrences


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture(params=KINDS)
def corpus(request, case):
    """Two batches, with sample weights."""
    problems = [make_problem(case, request.param, seed) for seed in (0, 1)]
    weights = [np.random.default_rng(2).random(len(problem.truths)) for problem in problems]
    return problems, weights


def total(objective, problems, constraints, weights):
    results = [objective(p.p, c, w) for p, c, w in zip(problems, constraints, weights, strict=True)]
    return sum(statistic for statistic, _ in results), [pullback for _, pullback in results]


@pytest.mark.parametrize("with_occurrences", [True, False])
@pytest.mark.parametrize("distance", DISTANCES)
def test_loss_by_enumeration(corpus, distance, with_occurrences):
    problems, weights = corpus
    constraints = [
        make_constraints(p, seed, with_occurrences=with_occurrences)
        for seed, p in enumerate(problems)
    ]
    targets = np.array([0.1, 0.2, 0.3, 0.4])
    objective = GeneralizedExpectation(targets, distance=distance)
    statistic, _ = total(objective, problems, constraints, weights)
    assert statistic.shape == (objective.n_statistics,)
    assert objective.needs_total
    expected = expected_by_enumeration(problems, constraints, weights)
    close(objective.expectations(statistic), expected)
    if distance is squared_distance:
        close(objective.loss(statistic)[0], ((targets - expected) ** 2).sum())
    else:
        close(objective.loss(statistic)[0], (targets * np.log(targets / expected)).sum())


@pytest.mark.parametrize("distance", DISTANCES)
def test_gradient_is_the_slope_of_the_loss(corpus, distance):
    problems, weights = corpus
    constraints = [make_constraints(p, seed) for seed, p in enumerate(problems)]
    objective = GeneralizedExpectation([0.1, 0.2, 0.0, 0.4], distance=distance)
    ends = np.cumsum([p.p.structures.n_parts for p in problems])[:-1]

    def loss_and_gradient(scores):
        moved = [p.at(s) for p, s in zip(problems, np.split(scores, ends), strict=True)]
        statistic, pullbacks = total(objective, moved, constraints, weights)
        loss, slope = objective.loss(statistic)
        return loss, np.concatenate([pullback(slope) for pullback in pullbacks])

    scores = np.concatenate([p.p.scores for p in problems])
    check_gradient(loss_and_gradient, scores, np.random.default_rng(3))


def test_pullback_is_the_covariance_with_the_constraints(corpus):
    (problem, _), _ = corpus
    constraints = make_constraints(problem, 0)
    objective = GeneralizedExpectation([0.1, 0.2, 0.3, 0.4])
    statistic, pullback = objective(problem.p, constraints)
    _, slope = objective.loss(statistic)
    close(pullback(slope), gradient_from_covariance(problem.p, constraints, slope))


def test_a_constraint_that_never_occurs_is_left_out():
    problem = make_problem(CASES[0])
    features = sparse.csr_array((2, problem.p.structures.n_parts))
    occurrences = np.zeros((2, len(problem.truths)))
    occurrences[0] = 1.0
    objective = GeneralizedExpectation([0.5, 0.5])
    statistic, _ = objective(problem.p, Constraints(features, sparse.csr_array(occurrences)))
    loss, slope = objective.loss(statistic)
    assert loss == 0.25
    assert slope[1:].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(objective.expectations(statistic), [0.0, np.nan])


@pytest.mark.parametrize("distance", [squared_distance, binary_kl_distance])
def test_bounds(corpus, distance):
    """Of the bounds that hold nothing is felt; of the others, the distance; all with its slope."""
    problems, _ = corpus
    constraints = [shares(p, seed) for seed, p in enumerate(problems)]
    free = GeneralizedExpectation(np.zeros(4))
    found = free.expectations(
        sum(free(p.p, c)[0] for p, c in zip(problems, constraints, strict=True))
    )
    targets = found + np.array([0.1, -0.1, 0.1, -0.1]) * np.minimum(found, 1 - found)
    objective = GeneralizedExpectation(targets, distance=distance, bounds=[1, 1, -1, -1])
    ends = np.cumsum([p.p.structures.n_parts for p in problems])[:-1]

    def loss_and_gradient(scores):
        moved = [p.at(s) for p, s in zip(problems, np.split(scores, ends), strict=True)]
        statistic, pullbacks = total(objective, moved, constraints, [None, None])
        loss, slope = objective.loss(statistic)
        return loss, np.concatenate([pullback(slope) for pullback in pullbacks])

    scores = np.concatenate([p.p.scores for p in problems])
    violated = [0, 3]
    close(loss_and_gradient(scores)[0], distance(targets[violated], found[violated])[0])
    check_gradient(loss_and_gradient, scores, np.random.default_rng(3))


def shares(problem, seed):
    """Constraints whose expectations lie between 0 and 1."""
    constraints = make_constraints(problem, seed)
    most = np.abs(constraints.features).sum(axis=1).max()
    return Constraints(constraints.features / most, constraints.occurrences)


def test_yes_and_no():
    targets, expected = np.array([0.3, 0.0, 1.0]), np.array([0.4, 0.2, 0.9])
    loss, slope = binary_kl_distance(targets, expected)
    by_hand = 0.3 * np.log(0.3 / 0.4) + 0.7 * np.log(0.7 / 0.6) - np.log(0.8) - np.log(0.9)
    close(loss, by_hand)
    close(slope, [-0.3 / 0.4 + 0.7 / 0.6, 1 / 0.8, -1 / 0.9])
    loss, slope = binary_kl_distance(np.array([0.5]), np.array([1.0 + 1e-15]))
    assert (loss, slope.tolist()) == (np.inf, [0.0])


def test_bounds_that_are_none():
    with pytest.raises(ValueError, match="bounds has shape"):
        GeneralizedExpectation([0.5], bounds=[2])
    with pytest.raises(ValueError, match="bounds has shape"):
        GeneralizedExpectation([0.5], bounds=[0, 0])


def test_what_never_happens_is_infinitely_far():
    loss, slope = kl_distance(np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    assert loss == np.inf
    assert slope.tolist() == [0.0, 0.0]


def test_constraints_that_do_not_fit():
    problem = make_problem(CASES[0])
    objective = GeneralizedExpectation([0.5])
    n_parts = problem.p.structures.n_parts
    with pytest.raises(ValueError, match="constraint features have shape"):
        objective(problem.p, Constraints(sparse.csr_array((2, n_parts))))
    features, occurrences = sparse.csr_array((1, n_parts)), sparse.csr_array((1, 99))
    with pytest.raises(ValueError, match="occurrences have shape"):
        objective(problem.p, Constraints(features, occurrences))
    with pytest.raises(ValueError, match="vector of finite numbers"):
        GeneralizedExpectation([[0.5]])
