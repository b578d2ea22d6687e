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
    SecondOrderExpectation,
    Viterbi,
    scored_edges,
)

SIZES = (5, 8, 15, 17)


def inside(graph, weights, semiring):
    return forests.inside(forests.Forest.of(graph), weights, semiring)


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
