"""Chains normalised at every step, against products of softmaxes; and what they cannot learn."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax

import partita as pt
from partita.objectives import (
    Constraints,
    Counts,
    Entropy,
    ExpectedCost,
    GeneralizedExpectation,
    Likelihood,
    LocallyNormalised,
    MarginalLikelihood,
    SampledLikelihood,
    known_tags,
)
from partita.structures.local_chains import locally_normalised
from problems import check_gradient

KINDS = ["normal", "forbidden", "huge", "ties"]


def make(shared, lengths=(1, 2, 4), n_tags=3, kind="normal", seed=0):
    rng = np.random.default_rng(seed)
    unary = [rng.normal(size=(n, n_tags)) for n in lengths]
    tables = [
        rng.normal(size=(n_tags, n_tags) if shared else (n - 1, n_tags, n_tags)) for n in lengths
    ]
    if kind == "forbidden":
        for rows, table in zip(unary, tables, strict=True):
            rows[-1, 1] = -np.inf
            table[..., 0, 2] = -np.inf
    scale = {"huge": 1000.0, "ties": 0.0}.get(kind, 1.0)
    return [scale * rows for rows in unary], [scale * table for table in tables]


def by_definition(unary, table, tags):
    """sum over t of log softmax(unary[t] + table[tag before])[tag]."""
    total = log_softmax(unary[0])[tags[0]]
    for t in range(1, len(tags)):
        transitions = table if table.ndim == 2 else table[t - 1]
        total += log_softmax(unary[t] + transitions[tags[t - 1]])[tags[t]]
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shared", [True, False])
def test_every_sequence_has_the_product_of_its_steps(shared, kind):
    unary, tables = make(shared, kind=kind)
    p = pt.LinearChain(unary, tables)
    q = p.with_scores(locally_normalised(p.structures, p.scores))
    np.testing.assert_allclose(q.log_partition, 0.0, atol=1e-9)
    for b, (rows, table) in enumerate(zip(unary, tables, strict=True)):
        one = pt.LinearChain(*(array[b] for array in (q.structures.split(q.scores))))
        for tags in itertools.product(range(3), repeat=len(rows)):
            expected = by_definition(rows, table, tags)
            np.testing.assert_allclose(one.log_prob(np.array(tags)), expected, atol=1e-9)


def constraints(chains):
    from scipy import sparse

    features = np.zeros((1, chains.n_parts))
    features[0, ::2] = 1.0
    return Constraints(sparse.csr_array(features))


OBJECTIVES = {
    "likelihood": (Likelihood(), lambda c, tags: Counts.of(c, tags)),
    "marginal": (
        MarginalLikelihood(),
        lambda c, tags: known_tags(c, [np.where(np.arange(len(t)) % 2, -1, t) for t in tags]),
    ),
    "entropy": (Entropy(), lambda c, tags: None),
    "risk": (ExpectedCost(), lambda c, tags: Counts.of(c, tags)),
    "expectations": (GeneralizedExpectation([2.0]), lambda c, tags: constraints(c)),
}


@pytest.mark.parametrize("kind", ["normal", "forbidden"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradients(name, shared, kind):
    objective, make_target = OBJECTIVES[name]
    local = LocallyNormalised(objective)
    assert local.needs_total == objective.needs_total
    assert local.n_statistics == objective.n_statistics
    p = pt.LinearChain(*make(shared, kind=kind))
    tags = [np.array([0, 1, 1, 0])[:n] for n in (1, 2, 4)]
    tags = [np.where(np.arange(len(t)) == len(t) - 1, 0, t) for t in tags]
    target = make_target(p.structures, tags)
    weights = np.array([1.0, 0.5, 2.0])

    def loss_and_gradient(scores):
        statistic, pullback = local(p.with_scores(scores), target, weights)
        loss, slope = local.loss(statistic)
        return loss, pullback(slope)

    check_gradient(loss_and_gradient, p.scores, np.random.default_rng(1))


def test_random_stays_random():
    assert LocallyNormalised(SampledLikelihood(1, np.random.default_rng(0))).is_random
    assert not LocallyNormalised(Likelihood()).is_random


def test_what_leads_to_a_dead_end_is_lost():
    """Behind tag 1 nothing can follow: half of the mass goes there and nowhere else."""
    pairwise = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    p = pt.LinearChain(np.zeros((2, 2)), pairwise)
    q = p.with_scores(locally_normalised(p.structures, p.scores))
    assert q.log_partition == pytest.approx(np.log(0.5))


def test_only_chains():
    p = pt.ProjectiveTree(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="ProjectiveTrees came; expected Chains"):
        LocallyNormalised(Likelihood())(p, None)


def test_label_bias():
    """Lafferty et al. (2001): after r the tags differ, and i or o should decide, but cannot.

    Tags 1 and 4 follow the first letter; each has one successor (2 and 5), so that a locally
    normalised model moves there with certainty, whatever the second letter is.
    """
    n_tags = 7
    allowed = np.full((n_tags, n_tags), -np.inf)
    for left, right in ((1, 2), (2, 3), (4, 5), (5, 6)):
        allowed[left, right] = 0.0

    def scores(word):
        unary = np.full((3, n_tags), -np.inf)
        unary[0, [1, 4]] = 0.0
        unary[1, [2, 5]] = [3.0, -3.0] if word[1] == "i" else [-3.0, 3.0]
        unary[2, [3, 6]] = 0.0
        return unary

    for word, path in (("rib", [1, 2, 3]), ("rob", [4, 5, 6])):
        p = pt.LinearChain(scores(word), allowed)
        q = p.with_scores(locally_normalised(p.structures, p.scores))
        assert np.exp(p.log_prob(path)) > 0.99
        assert np.exp(q.log_prob(path)) == pytest.approx(0.5)
