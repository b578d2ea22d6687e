"""Contrastive estimation: groups of sentences of every structure, and the neighbourhoods."""

import numpy as np
import pytest
from scipy.special import logsumexp

from partita.objectives import (
    ContrastiveEstimation,
    MarginalLikelihood,
    Neighbourhoods,
    deletions,
    deletions_and_transpositions,
    subsequence_deletions,
    transpositions,
)
from problems import CASES, KINDS, check_gradient, close, make_problem


def random_groups(n_sentences):
    """Two groups, mixed, each with an observed sentence that may be a neighbour or not."""
    rng = np.random.default_rng(1)
    groups = np.arange(n_sentences) % 2
    neighbours = rng.random(n_sentences) < 0.6
    neighbours[-2:] = True
    observed = rng.random(n_sentences) < 0.3
    observed[:2] = True
    return Neighbourhoods(groups, observed, neighbours)


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.mark.parametrize("kind", KINDS)
def test_by_enumeration_and_differences(case, kind):
    problem = make_problem(case, kind, repeats=2)
    target = random_groups(len(problem.truths))
    weights = np.array([0.5, 2.0])
    log_partition = np.array([truth.log_partition for truth in problem.truths])
    expected = [
        logsumexp(log_partition[target.neighbours & (target.groups == g)])
        - logsumexp(log_partition[target.observed & (target.groups == g)])
        for g in range(2)
    ]
    objective = ContrastiveEstimation()
    statistic, _ = objective(problem.p, target, weights)
    close(statistic, [weights @ expected])
    close(objective(problem.p, target)[0], [np.sum(expected)])
    close(objective.loss(statistic)[0], weights @ expected)

    def loss_and_gradient(scores):
        statistic, pullback = objective(problem.p.with_scores(scores), target, weights)
        return statistic[0], pullback(np.ones(1))

    check_gradient(loss_and_gradient, problem.p.scores, problem.rng)


def test_pairs_are_the_marginal_likelihood(case):
    problem = make_problem(case)
    allowed = np.random.default_rng(2).random(problem.p.structures.n_parts) < 0.7
    allowed |= problem.p.structures.counts(problem.targets) != 0
    expected, _ = MarginalLikelihood()(problem.p, allowed)
    restricted = problem.p.with_scores(np.where(allowed, problem.p.scores, -np.inf))
    # The sentences of two batches, one after the other, as those of one.
    pairs = np.concatenate([restricted.inference.log_partition, problem.p.inference.log_partition])
    target = Neighbourhoods.halves(len(problem.truths))
    losses = [pairs[target.groups == g] for g in range(len(problem.truths))]
    n_pairs = len(problem.truths)
    assert target.observed.tolist() == [True] * n_pairs + [False] * n_pairs
    close(sum(-observed + all_ for observed, all_ in losses), expected[0])


def test_a_group_without_neighbours():
    problem = make_problem(CASES[0])
    n = len(problem.truths)
    nothing = np.zeros(n, dtype=np.bool_)
    target = Neighbourhoods(np.zeros(n, dtype=np.int64), ~nothing, nothing)
    with pytest.raises(ValueError, match="no neighbour"):
        ContrastiveEstimation()(problem.p, target)


def test_neighbourhoods():
    sentence = ["the", "cat", "sat"]
    assert deletions(sentence) == [sentence, ["cat", "sat"], ["the", "sat"], ["the", "cat"]]
    assert transpositions(sentence)[1:] == [["cat", "the", "sat"], ["the", "sat", "cat"]]
    both = deletions_and_transpositions(sentence)
    assert len(both) == 6
    assert both[0] == sentence
    assert len(subsequence_deletions(sentence)) == 6


@pytest.mark.parametrize(
    "neighbourhood",
    [deletions, transpositions, deletions_and_transpositions, subsequence_deletions],
)
def test_one_word_has_no_neighbour_but_itself(neighbourhood):
    assert neighbourhood(["word"]) == [["word"]]
    assert neighbourhood([7]) == [[7]]


def test_repeated_words_give_no_repeated_neighbours():
    assert deletions(["a", "a"]) == [["a", "a"], ["a"]]
    assert transpositions(["a", "a"]) == [["a", "a"]]
