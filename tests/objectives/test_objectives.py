"""Objectives that are sums over sentences: every one on every structure, by enumeration."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

import partita as pt
from oracle import Oracle
from partita.objectives import (
    CostedCounts,
    Counts,
    Entropy,
    ExpectedCost,
    Likelihood,
    LocalLikelihood,
    MarginalLikelihood,
    Objective,
    OtherStructures,
    RenyiEntropy,
    SoftmaxMargin,
    StructuredPerceptron,
    piecewise_choices,
    pseudo_choices,
    wrong_parts,
)
from partita.structures.chains import Chains
from problems import CASES, KINDS, check_gradient, close, make_problem


@dataclass(frozen=True)
class Entry:
    """An objective, how its target is made, and its loss by enumeration."""

    name: str
    objective: Objective
    target: Callable
    """problem -> target of the batch."""
    losses: Callable
    """(problem, target) -> loss of each sentence, by the definition."""
    kinds: tuple[str, ...] = KINDS
    """Where scores are mixed only one: -inf with anything is -inf."""

    def __str__(self):
        return self.name


def counts(problem):
    return Counts.of(problem.p.structures, problem.targets)


def target_scores(problem):
    return np.array([t.totals[k] for t, k in zip(problem.truths, problem.chosen, strict=True)])


def log_partitions(truths):
    return np.array([truth.log_partition for truth in truths])


def allowed_parts(problem):
    dense = problem.p.structures.counts(problem.targets)
    return (dense != 0) | (np.random.default_rng(3).random(dense.size) < 0.5)


def restricted_losses(problem, allowed):
    pieces = problem.by_sentence(allowed)
    restricted = [t.restricted(a) for t, a in zip(problem.truths, pieces, strict=True)]
    return log_partitions(problem.truths) - log_partitions(restricted)


def other_structures(problem):
    """The same structures with scores mixed within each sentence."""
    rng = np.random.default_rng(4)
    sizes = np.diff(problem.p.structures.part_offsets)
    blocks = [rng.random((n, n)) * (rng.random((n, n)) < 0.2) for n in sizes]
    used = sparse.diags_array(problem.can_occur.astype(np.float64))
    mixed = sparse.csr_array(used @ sparse.block_diag(blocks) @ used)
    mixed.eliminate_zeros()
    return OtherStructures(type(problem.p), problem.p.structures, mixed)


def other_losses(problem, other):
    mixed = problem.at(other.map @ problem.p.scores)
    return log_partitions(problem.truths) - log_partitions(mixed.truths)


def wrong(problem):
    return wrong_parts(counts(problem))


def expected_costs(problem, cost):
    pieces = problem.by_sentence(cost)
    return [t.probabilities @ (t.counts @ c) for t, c in zip(problem.truths, pieces, strict=True)]


def margin_losses(problem, target):
    costly = problem.at(problem.p.scores + target.cost)
    return log_partitions(costly.truths) - target_scores(problem)


def random_pieces(problem):
    """Three pieces for each sentence; a few parts are in none."""
    starts = problem.p.structures.part_offsets
    sentence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    draw = np.random.default_rng(5).integers(0, 7, size=starts[-1])
    return np.where(problem.can_occur & (draw < 6), 3 * sentence + draw % 3, -1)


def piecewise_losses(problem, target):
    pieces, losses = random_pieces(problem), []
    by_sentence = zip(problem.truths, problem.chosen, problem.by_sentence(pieces), strict=True)
    for truth, chosen, numbers in by_sentence:
        loss = 0.0
        for part, count in enumerate(truth.counts[chosen]):
            if count and numbers[part] >= 0:
                alternatives = truth.scores[numbers == numbers[part]]
                loss += count * (logsumexp(alternatives) - truth.scores[part])
        losses.append(loss)
    return losses


def all_structures(problem):
    """One place, and every structure an alternative: the pseudo-likelihood is the likelihood."""
    places = []
    for truth, chosen in zip(problem.truths, problem.chosen, strict=True):
        order = [chosen, *np.delete(np.arange(len(truth.structures)), chosen)]
        places.append([[truth.structures[k] for k in order]])
    return pseudo_choices(problem.p.structures, places)


def likelihood_losses(problem, target):
    return log_partitions(problem.truths) - target_scores(problem)


ENTRIES = [
    Entry("likelihood", Likelihood(), counts, likelihood_losses),
    Entry("marginal", MarginalLikelihood(), allowed_parts, restricted_losses),
    Entry("marginal-other", MarginalLikelihood(), other_structures, other_losses, ("normal",)),
    Entry("entropy", Entropy(), lambda _: None, lambda p, _: [t.entropy for t in p.truths]),
    *[
        Entry(
            f"renyi-{alpha}",
            RenyiEntropy(alpha),
            lambda _: None,
            lambda p, _, alpha=alpha: [t.renyi_entropy(alpha) for t in p.truths],
        )
        for alpha in (0.0, 0.5, 2.0)
    ],
    Entry("renyi-1", RenyiEntropy(1.0), lambda _: None, lambda p, _: [t.entropy for t in p.truths]),
    Entry(
        "renyi-inf",
        RenyiEntropy(np.inf),
        lambda _: None,
        lambda p, _: [-np.log(t.probabilities.max()) for t in p.truths],
    ),
    Entry("risk", ExpectedCost(), wrong, expected_costs),
    Entry("risk-any-cost", ExpectedCost(), lambda p: p.vector(), expected_costs),
    Entry(
        "softmax-margin",
        SoftmaxMargin(),
        lambda p: CostedCounts(counts(p), wrong(p)),
        margin_losses,
    ),
    Entry(
        "perceptron",
        StructuredPerceptron(),
        counts,
        lambda p, _: np.array([t.totals.max() for t in p.truths]) - target_scores(p),
    ),
    Entry(
        "piecewise",
        LocalLikelihood(),
        lambda p: piecewise_choices(random_pieces(p), counts(p)),
        piecewise_losses,
    ),
    Entry("pseudo", LocalLikelihood(), all_structures, likelihood_losses),
]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


with_every_kind = pytest.mark.parametrize(
    "entry, kind",
    [pytest.param(e, kind, id=f"{e}-{kind}") for e in ENTRIES for kind in e.kinds],
)


@pytest.fixture
def problem(case, kind):
    return make_problem(case, kind)


@with_every_kind
def test_losses_by_enumeration(problem, entry):
    target = entry.target(problem)
    losses, _ = entry.objective.losses(problem.p, target)
    expected = entry.losses(problem, target)
    close(losses, expected)
    statistic, _ = entry.objective(problem.p, target)
    assert statistic.shape == (entry.objective.n_statistics,)
    loss, slope = entry.objective.loss(statistic)
    close(loss, np.sum(expected))
    assert slope.tolist() == [1.0]
    assert not entry.objective.needs_total


@with_every_kind
def test_sample_weights_multiply_losses(problem, entry):
    target = entry.target(problem)
    weights = np.arange(len(problem.truths), dtype=np.float64)
    statistic, _ = entry.objective(problem.p, target, weights)
    close(statistic[0], weights @ np.asarray(entry.losses(problem, target)))


@with_every_kind
def test_gradient_is_the_slope_of_the_loss(problem, entry):
    target = entry.target(problem)
    weights = 0.5 + np.random.default_rng(6).random(len(problem.truths))

    def loss_and_gradient(scores):
        statistic, pullback = entry.objective(problem.p.with_scores(scores), target, weights)
        return statistic[0], pullback(np.ones(1))

    check_gradient(loss_and_gradient, problem.p.scores, problem.rng)


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_slope_scales_the_gradient(case, entry):
    problem = make_problem(case)
    target = entry.target(problem)
    _, pullback = entry.objective(problem.p, target)
    gradient = pullback(np.ones(1))
    marginals = problem.p.inference.marginals.copy()
    close(pullback(np.array([3.0])), 3.0 * gradient)
    close(pullback(np.ones(1)), gradient)
    np.testing.assert_array_equal(problem.p.inference.marginals, marginals)


@pytest.mark.parametrize("kind", KINDS)
def test_entropies_prepared_for_beside_the_marginals(case, kind):
    """One pass or two: what comes out is the same, each time that it is asked for."""
    problem = make_problem(case, kind)
    losses, gradient = Entropy().losses(problem.p, None)
    p = problem.p.with_scores(problem.p.scores)
    Entropy().prepare(p)
    prepared, pullback = Entropy()(p, None)
    close(prepared[0], losses.sum())
    close(pullback(np.ones(1)), gradient())
    close(pullback(np.full(1, 2.0)), 2.0 * gradient())
    close(p.inference.log_partition, problem.p.inference.log_partition)
    close(p.inference.marginals, problem.p.inference.marginals)
    direction = problem.rng.normal(size=len(p.scores))
    close(p.flat_covariance_product(direction), problem.p.flat_covariance_product(direction))
    Entropy().prepare(p)  # too late, which does no harm
    close(Entropy().losses(p, None)[0], losses)


def test_an_impossible_target_has_infinite_loss(case):
    problem = make_problem(case)
    target = counts(problem)
    scores = problem.p.scores.copy()
    # In the last sentence, the longest, something else is possible than a part that not all have.
    marginals = problem.p.inference.marginals[target.parts]
    scores[target.parts[np.flatnonzero(marginals < 0.999)[-1]]] = -np.inf
    p = problem.p.with_scores(scores)
    losses, gradient = Likelihood().losses(p, target)
    assert losses[-1] == np.inf
    assert np.isfinite(losses[:-1]).all()
    assert np.isfinite(gradient()).all()
    weights = np.ones(len(losses))
    weights[-1] = 0.0
    assert np.isfinite(Likelihood()(p, target, weights)[0]).all()


def test_sample_weights_that_do_not_fit(case):
    problem = make_problem(case)
    n = len(problem.truths)
    with pytest.raises(ValueError, match="sample_weights has shape"):
        Entropy()(problem.p, None, np.ones(n + 1))
    with pytest.raises(ValueError, match="negative or not finite"):
        Entropy()(problem.p, None, np.full(n, -1.0))


def test_other_structures_of_other_sentences():
    problem, smaller = make_problem(CASES[0]), make_problem(CASES[0], repeats=2)
    mixed = sparse.csr_array((smaller.p.structures.n_parts, problem.p.structures.n_parts))
    target = OtherStructures(type(problem.p), smaller.p.structures, mixed)
    with pytest.raises(ValueError, match="a set for each sentence"):
        MarginalLikelihood()(problem.p, target)


def test_a_place_without_possible_alternatives(case):
    problem = make_problem(case)
    choices = piecewise_choices(random_pieces(problem), counts(problem))
    p = problem.p.with_scores(np.full(problem.p.structures.n_parts, -np.inf))
    with pytest.raises(ValueError, match="has no structure"):
        LocalLikelihood()(p, choices)


@pytest.mark.parametrize("alpha", [-1.0, np.nan])
def test_an_order_that_is_no_order(alpha):
    with pytest.raises(ValueError, match="alpha is"):
        RenyiEntropy(alpha)


def test_the_oracle_itself():
    """Three equal structures of one part each: nothing here comes from the library."""
    truth = Oracle([0, 1, 2], np.eye(3), np.zeros(3))
    close(truth.entropy, np.log(3))


@pytest.mark.parametrize("n_parts", [3, 100])
def test_vectors_of_another_batch_are_refused(n_parts):
    p = pt.LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    counts = Counts.of(p.structures, [[0, 1]])
    asked = [
        lambda: ExpectedCost()(p, np.ones(n_parts)),
        lambda: SoftmaxMargin()(p, CostedCounts(counts, np.ones(n_parts))),
        lambda: MarginalLikelihood()(p, np.ones(n_parts, dtype=bool)),
        lambda: p.flat_covariance_product(np.ones(n_parts)),
        lambda: p.flat_score(np.ones(n_parts)),
    ]
    for ask in asked:
        with pytest.raises(ValueError, match=rf"has shape \({n_parts},\); expected \(8,\)"):
            ask()


def test_flat_vectors_of_any_kind_of_memory():
    chains = Chains([3], n_tags=5, shared=True)
    scores = np.arange(2 * chains.n_parts)
    strided = pt.LinearChain.from_flat(chains, scores[::2])
    plain = pt.LinearChain.from_flat(chains, scores[::2].astype(np.float64))
    np.testing.assert_array_equal(strided.log_partition, plain.log_partition)
    np.testing.assert_array_equal(
        strided.flat_expectation(scores[::2]), plain.flat_expectation(plain.scores)
    )


def test_a_weight_that_is_none():
    p = pt.LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"sample_weights\[0\] is -1.0, negative or not finite"):
        Likelihood()(p, Counts.of(p.structures, [[0, 1]]), np.array([-1.0]))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_default_cost_is_the_number_of_wrong_choices(case):
    scores = case.random_scores(np.random.default_rng(0), case.sizes[1])
    p, truth = case.build(scores), case.oracle(scores)
    right = truth.structures[-1]
    counts = p.counts(right)
    # Transitions of a chain, behind its tags, follow from them, so they are no choices.
    n_choices = scores[0].size if isinstance(scores, tuple) else len(counts)
    wrong = truth.counts[:, :n_choices] @ (counts[:n_choices] == 0)
    losses, _ = ExpectedCost()(p, Counts.of(p.structures, [right]))
    assert losses[0] == pytest.approx(truth.probabilities @ wrong, abs=1e-9)
