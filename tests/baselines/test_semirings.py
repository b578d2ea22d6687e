"""Every semiring against enumeration and against the kernels."""

import numpy as np
import pytest

import partita as pt
from hypergraphs import all_derivations, random_edges
from oracle import Oracle
from partita.baselines import forests
from partita.baselines.semirings import (
    Boolean,
    Counting,
    Expectation,
    KBest,
    Log,
    Probability,
    SecondOrderExpectation,
    Viterbi,
    scored_edges,
)

SIZES = (5, 8, 15, 17)


def inside(graph, weights, semiring):
    return forests.inside(forests.PlainForest.of(graph), weights, semiring)


@pytest.fixture(params=SIZES)
def graph(request):
    return pt.Hypergraph(*random_edges(request.param))


@pytest.fixture
def scores(graph):
    values = np.random.default_rng(0).normal(size=graph.n_edges)
    values[graph.n_edges // 2] = -np.inf
    return values


@pytest.fixture
def p(graph, scores):
    return pt.HypergraphDistribution(graph, scores)


def test_counting_is_exact(graph):
    number = inside(graph, [1] * graph.n_edges, Counting())[graph.root]
    assert number == len(all_derivations(*random_edges(graph.n_edges)))
    shallow = pt.Hypergraph([0, 0, *range(1, 11)], [(), (), *((v, v) for v in range(10))], root=10)
    assert inside(shallow, [1] * 12, Counting())[10] == 2**1024


def test_boolean(graph, scores):
    possible = inside(graph, (scores > -np.inf).tolist(), Boolean())
    p = pt.HypergraphDistribution(graph, scores)
    assert possible == (p.inside > -np.inf).tolist()
    assert not inside(graph, [False] * graph.n_edges, Boolean())[graph.root]


def both(graph, weights, semiring):
    """Inside and outside."""
    forest = forests.PlainForest.of(graph)
    inner = forests.inside(forest, weights, semiring)
    return inner, forests.outside(forest, weights, semiring, inner)


def test_probability(graph, scores, p):
    inner, outer = both(graph, np.exp(scores).tolist(), Probability())
    np.testing.assert_allclose(inner, np.exp(p.inside), atol=0, rtol=1e-12)
    np.testing.assert_allclose(outer, np.exp(p.outside), atol=0, rtol=1e-12)


def test_outside_counts_what_stands_around_a_node(graph):
    """Inside times outside: how often a node occurs in all derivations together."""
    inner, outer = both(graph, [1] * graph.n_edges, Counting())
    derivations = all_derivations(*random_edges(graph.n_edges))
    heads = [graph.heads[list(derivation)].tolist() for derivation in derivations]
    for node in range(graph.n_nodes):
        occurs = sum(each.count(node) for each in heads)
        assert inner[node] * outer[node] == occurs


def test_outside_in_other_semirings(graph, scores, p):
    inner, outer = both(graph, (scores > -np.inf).tolist(), Boolean())
    assert outer == (p.outside > -np.inf).tolist()
    inner, outer = both(graph, scores.tolist(), Log())
    np.testing.assert_allclose(outer, p.outside, atol=1e-12, rtol=0)
    # The best derivation through each edge: its score is what max-marginals say.
    inner, outer = both(graph, scored_edges(scores), Viterbi())
    forest = forests.PlainForest.of(graph)
    terms = forests.edge_terms(forest, scored_edges(scores), Viterbi(), inner, outer)
    np.testing.assert_allclose([t.score for t in terms], p.max_marginals, atol=1e-12, rtol=0)


def test_outside_in_the_expectation_semiring(graph, scores, p):
    """log-weight of an edge's term = log-marginal + A; its mean is conditional on the edge."""
    values = np.random.default_rng(3).normal(size=(graph.n_edges, 2))
    ring, weights = Expectation(2), Expectation.weights(scores, values)
    inner, outer = both(graph, weights, ring)
    forest = forests.PlainForest.of(graph)
    marginals, covariance = p.marginals, p.covariance()
    for e, term in enumerate(forests.edge_terms(forest, weights, ring, inner, outer)):
        assert np.exp(term.log_weight - p.log_partition) == pytest.approx(marginals[e], abs=1e-12)
        if marginals[e] > 0:
            given = values.T @ (covariance[e] + marginals[e] * marginals) / marginals[e]
            np.testing.assert_allclose(term.mean, given, atol=1e-9, rtol=1e-9)


def test_expected_values(graph, scores, p):
    values = np.random.default_rng(4).normal(size=(graph.n_edges, 3))
    forest = forests.PlainForest.of(graph)
    found = forests.expected_values(forest, np.exp(scores).tolist(), values.tolist())
    np.testing.assert_allclose(found, p.expected_features(values), atol=1e-12, rtol=0)


def test_siblings_are_positions(graph):
    forest = forests.PlainForest.of(graph)
    for e, tails in enumerate(forest.tails):
        for place in range(len(tails)):
            expected = [*tails[:place], *tails[place + 1 :]]
            assert forest.siblings(e, place) == expected
            assert graph.siblings(e, place).tolist() == expected
    edge = next(e for e, tails in enumerate(forest.tails) if not tails)
    with pytest.raises(ValueError, match="has no tails"):
        graph.siblings(edge, 0)


def test_log(graph, scores, p):
    np.testing.assert_allclose(inside(graph, scores.tolist(), Log()), p.inside, atol=1e-12, rtol=0)


def test_viterbi(graph, scores, p):
    best = inside(graph, scored_edges(scores), Viterbi())[graph.root]
    assert best.score == pytest.approx(p.score(p.argmax), abs=1e-12)
    assert p.score(best.derivation) == pytest.approx(best.score, abs=1e-12)
    assert best.derivation == tuple(p.argmax)


@pytest.mark.parametrize("k", [1, 3, 50])
def test_k_best(graph, scores, p, k):
    weights = [[edge] for edge in scored_edges(scores)]
    listed = inside(graph, weights, KBest(k))[graph.root]
    expected = p.k_best(k)
    np.testing.assert_allclose(
        [item.score for item in listed], [score for _, score in expected], atol=1e-12, rtol=0
    )
    assert len({item.derivation for item in listed}) == len(listed)
    if k == 50:
        last = listed[-1].score + 1e-9
        assert {item.derivation for item in listed if item.score > last} == {
            tuple(derivation) for derivation, score in expected if score > last
        }


def test_expectation_gives_marginals_and_entropy(graph, scores, p):
    finite = np.nan_to_num(scores, neginf=0.0)
    values = np.column_stack([np.eye(graph.n_edges), finite])
    found = inside(graph, Expectation.weights(scores, values), Expectation(graph.n_edges + 1))
    root = found[graph.root]
    assert root.log_weight == pytest.approx(p.log_partition, abs=1e-12)
    np.testing.assert_allclose(root.mean[:-1], p.marginals, atol=1e-12, rtol=0)
    assert root.log_weight - root.mean[-1] == pytest.approx(p.entropy, abs=1e-12)
    np.testing.assert_allclose(root.mean, p.expected_features(values), atol=1e-12, rtol=0)


def test_second_order_expectation_gives_the_covariance(graph, scores, p):
    n, rng = graph.n_edges, np.random.default_rng(1)
    right = rng.normal(size=(n, 2))
    weights = SecondOrderExpectation.weights(scores, np.eye(n), right)
    root = inside(graph, weights, SecondOrderExpectation(n, 2))[graph.root]
    np.testing.assert_allclose(root.covariance, p.covariance() @ right, atol=1e-11, rtol=0)
    for column in range(2):
        product = p.covariance_product(right[:, column])
        np.testing.assert_allclose(root.covariance[:, column], product, atol=1e-11, rtol=0)


def test_expectations_at_scores_of_a_thousand(graph):
    rng = np.random.default_rng(2)
    scores = 1000.0 * rng.choice([-1.0, 0.0, 1.0], size=graph.n_edges)
    derivations = all_derivations(*random_edges(graph.n_edges))
    counts = np.array([[d.count(e) for e in range(graph.n_edges)] for d in derivations])
    truth = Oracle(derivations, counts.astype(float), scores)
    weights = Expectation.weights(scores, np.eye(graph.n_edges))
    root = inside(graph, weights, Expectation(graph.n_edges))[graph.root]
    np.testing.assert_allclose(root.mean, truth.marginals, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    "semiring, value",
    [
        (Counting(), 3),
        (Boolean(), True),
        (Probability(), 0.5),
        (Log(), 0.5),
        (Viterbi(), scored_edges([0.5])[0]),
        (KBest(2), [scored_edges([0.5])[0]]),
        (Expectation(2), Expectation.weights([0.5], [[1.0, 2.0]])[0]),
        (
            SecondOrderExpectation(2, 1),
            SecondOrderExpectation.weights([0.5], [[1.0, 2.0]], [[3.0]])[0],
        ),
    ],
)
def test_neutral_values(semiring, value):
    for same in (
        semiring.plus(semiring.zero, value),
        semiring.plus(value, semiring.zero),
        semiring.times(semiring.one, value),
        semiring.times(value, semiring.one),
    ):
        np.testing.assert_equal(same, value)
    nothing = semiring.plus(semiring.zero, semiring.times(semiring.zero, value))
    assert repr(nothing) == repr(semiring.zero)


def test_as_many_weights_as_edges(graph):
    with pytest.raises(ValueError, match="expected one for each edge"):
        inside(graph, [1], Counting())
