"""Distributions over forests: the slides' pitfalls, other structures as forests, bad input."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import partita as pt
from cases import IS_COMPILED
from hypergraphs import all_derivations, chain_edges, edge_counts, eisner_edges, random_edges
from oracle import Oracle
from partita.baselines.forests import PlainForest, inside
from partita.baselines.semirings import Counting

SIZES = (5, 8, 15, 17)


def distribution(n_edges, seed=0):
    graph = pt.Hypergraph(*random_edges(n_edges))
    scores = np.random.default_rng(seed).normal(size=n_edges)
    derivations = all_derivations(*random_edges(n_edges))
    counts = np.array(edge_counts(derivations, n_edges), dtype=float)
    return pt.HypergraphDistribution(graph, scores), Oracle(derivations, counts, scores)


# ---------------------------------------------------------------- the pitfalls listed in ERRATA


def test_a_dead_nonterminal_is_no_axiom():
    graph = pt.Hypergraph([1, 2, 2], [(), (0, 1), (1,)], root=2)  # node 0 is never made
    p = pt.HypergraphDistribution(graph, np.log([2.0, 3.0, 5.0]))
    assert np.exp(p.log_partition) == pytest.approx(10.0)
    assert p.inside[0] == -np.inf
    assert p.marginals.tolist() == [1.0, 0.0, 1.0]


def test_outside_starts_at_the_root_only():
    graph = pt.Hypergraph([0, 1, 2], [(), (0,), (0,)], root=1)  # node 2 has no forward star either
    p = pt.HypergraphDistribution(graph, np.log([2.0, 3.0, 5.0]))
    np.testing.assert_allclose(np.exp(p.outside), [3.0, 1.0, 0.0], rtol=1e-9, atol=1e-12)
    assert p.outside[2] == -np.inf
    assert p.marginals.tolist() == [1.0, 1.0, 0.0]


def test_siblings_are_positions_and_not_nodes():
    graph = pt.Hypergraph([0, 0, 1], [(), (), (0, 0, 0)], root=1)
    p = pt.HypergraphDistribution(graph, np.log([2.0, 3.0, 1.0]))
    np.testing.assert_allclose(np.exp(p.outside), [3 * 5.0**2, 1.0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(p.marginals, [3 * 2 / 5, 3 * 3 / 5, 1.0], rtol=1e-9, atol=1e-12)
    variance = 3 * 0.4 * 0.6
    np.testing.assert_allclose(
        p.covariance(),
        [[variance, -variance, 0], [-variance, variance, 0], [0, 0, 0]],
        atol=1e-15,
        rtol=0,
    )


def test_expected_features_are_weighted_and_normalised():
    p, truth = distribution(17)
    features = np.random.default_rng(1).normal(size=(17, 4))
    expected = truth.probabilities @ (truth.counts @ features)
    np.testing.assert_allclose(p.expected_features(features), expected, atol=1e-10, rtol=0)
    for matrix in (sparse.csr_matrix(features), sparse.coo_array(features)):
        found = p.expected_features(matrix)
        assert found.shape == (4,)
        np.testing.assert_allclose(found, expected, atol=1e-10, rtol=0)


def test_the_best_derivation_is_no_sum_of_many():
    # Two derivations through node 1 are together more probable than the best one, through node 2.
    graph = pt.Hypergraph([1, 1, 2, 3, 3], [(), (), (), (1,), (2,)], root=3)
    p = pt.HypergraphDistribution(graph, np.log([2.0, 2.0, 3.0, 1.0, 1.0]))
    assert p.argmax.tolist() == [4, 2]
    np.testing.assert_allclose(
        np.exp(p.max_marginals), [2.0, 2.0, 3.0, 2.0, 3.0], rtol=1e-9, atol=1e-12
    )


def test_axioms_written_as_edges_are_sorted_too():
    graph = pt.Hypergraph([1, 0], [(0,), ()], root=1)
    assert graph.order.tolist() == [0, 1]
    assert pt.HypergraphDistribution(graph, np.zeros(2)).argmax.tolist() == [0, 1]


# ---------------------------------------------------------------- inside, outside, derivations


@pytest.mark.parametrize("n_edges", SIZES)
def test_inside_and_outside_make_the_marginals(n_edges):
    p, truth = distribution(n_edges)
    heads, tails, root = random_edges(n_edges)
    assert p.inside[root] == pytest.approx(truth.log_partition, abs=1e-12)
    below = [sum(p.inside[tail] for tail in nodes) for nodes in tails]
    marginals = np.exp(p.outside[heads] + p.scores + below - p.log_partition)
    np.testing.assert_allclose(marginals, truth.marginals, atol=1e-12, rtol=0)


@pytest.mark.parametrize("n_edges", SIZES)
def test_derivations_are_in_preorder(n_edges):
    p, truth = distribution(n_edges)
    found = {tuple(derivation) for derivation, _ in p.k_best(10_000)}
    assert found == set(truth.structures)
    for derivation in p.sample(5, np.random.default_rng(0)):
        assert tuple(derivation) in found


def test_the_same_edges_in_another_order_are_another_derivation():
    graph = pt.Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
    p = pt.HypergraphDistribution(graph, np.zeros(3))
    assert p.log_prob([2, 0, 1]) == pytest.approx(np.log(1 / 4))
    assert p.log_prob(np.array([2, 1, 0])) == pytest.approx(np.log(1 / 4))


@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_k_best_is_a_prefix_of_all(k):
    for n_edges in SIZES:
        p, truth = distribution(n_edges, seed=k)
        found = p.k_best(k)
        expected = np.sort(truth.totals)[::-1][:k]
        np.testing.assert_allclose([score for _, score in found], expected, atol=1e-12, rtol=0)


def test_k_best_of_long_tails_and_ties():
    n_tails = 6
    graph = pt.Hypergraph([0, 0, 0, 1], [(), (), (), (0,) * n_tails], root=1)
    scores = np.array([0.0, -1.0, -1.0, 0.0])
    found = pt.HypergraphDistribution(graph, scores).k_best(10_000)
    assert len(found) == 3**n_tails == len({tuple(derivation) for derivation, _ in found})
    totals = [sum(choice) for choice in itertools.product(scores[:3], repeat=n_tails)]
    np.testing.assert_allclose(
        [score for _, score in found], sorted(totals, reverse=True), rtol=1e-9, atol=1e-12
    )


def test_depth_is_no_limit():
    n_nodes = 100_000 if IS_COMPILED else 3_000
    heads = np.repeat(np.arange(n_nodes), 2)
    counts = np.where(heads > 0, 1, 0)
    tails = heads[heads > 0] - 1
    offsets = np.concatenate([[0], np.cumsum(counts)])
    graph = pt.Hypergraph.from_flat(heads, tails, offsets, n_nodes - 1, n_nodes)
    p = pt.HypergraphDistribution(graph, np.zeros(2 * n_nodes))
    assert p.log_partition == pytest.approx(n_nodes * np.log(2.0))
    assert len(p.argmax) == n_nodes
    assert len(p.k_best(3)) == 3
    assert len(p.sample(1, np.random.default_rng(0))[0]) == n_nodes
    np.testing.assert_allclose(p.marginals, 0.5, rtol=1e-9, atol=1e-12)


def doubling(n_levels):
    """Node v is two derivations of node v - 1: 2^v leaves, each of two kinds."""
    heads = [0, 0, *range(1, n_levels + 1)]
    tails = [(), (), *((v - 1, v - 1) for v in range(1, n_levels + 1))]
    return pt.Hypergraph(heads, tails, root=n_levels)


def test_counts_grow_exponentially_with_repeated_tails():
    p = pt.HypergraphDistribution(doubling(100), np.zeros(102))
    assert p.log_partition == pytest.approx(2.0**100 * np.log(2.0))
    assert p.marginals[0] == 2.0**99
    assert p.covariance_product(np.eye(102)[0])[0] == pytest.approx(2.0**98)
    for ask in (lambda: p.argmax, lambda: p.k_best(2)):
        with pytest.raises(ValueError, match="too many to write down"):
            ask()


def test_an_edge_far_below_the_best_has_its_max_marginal():
    graph = pt.Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
    p = pt.HypergraphDistribution(graph, [0.0, -2000.0, 1.0])
    assert p.max_marginals.tolist() == [1.0, -1999.0, 1.0]
    assert p.marginals.tolist() == [2.0, 0.0, 1.0]


# ---------------------------------------------------------------- other structures as forests


def agree(p, q, p_marginals, q_marginals, k=20):
    """Two distributions over the same structures, to 1e-10."""
    assert p.log_partition == pytest.approx(q.log_partition, abs=1e-10)
    assert p.entropy == pytest.approx(q.entropy, abs=1e-10)
    np.testing.assert_allclose(p_marginals, q_marginals, atol=1e-10, rtol=0)
    assert p.score(p.argmax) == pytest.approx(q.score(q.argmax), abs=1e-10)
    np.testing.assert_allclose(
        [score for _, score in p.k_best(k)], [score for _, score in q.k_best(k)], atol=1e-10, rtol=0
    )


@pytest.mark.parametrize("n_words", [1, 2, 6])
def test_a_chain_is_a_forest(n_words):
    n_tags, rng = 3, np.random.default_rng(n_words)
    unary = rng.normal(size=(n_words, n_tags))
    pairwise = rng.normal(size=(n_words - 1, n_tags, n_tags))
    chain = chain_edges(n_words, n_tags)
    graph = pt.Hypergraph(chain.heads, chain.tails, chain.node("goal"))
    scores = chain.scores(
        lambda part: unary[part[0], part[2]] + (pairwise[part[0] - 1][part[1:]] if part[0] else 0)
    )
    p, q = pt.HypergraphDistribution(graph, scores), pt.LinearChain(unary, pairwise)
    marginals = chain.sums(p.marginals, (n_words, n_tags, n_tags))
    agree(p, q, marginals.sum(axis=1), q.marginals.unary)
    np.testing.assert_allclose(marginals[1:], q.marginals.pairwise, atol=1e-10, rtol=0)
    direction = rng.normal(size=unary.shape)
    moved = p.covariance_product(chain.scores(lambda part: direction[part[0], part[2]]))
    expected = q.covariance_product((direction, np.zeros_like(pairwise))).unary
    shaped = chain.sums(moved, (n_words, n_tags, n_tags)).sum(axis=1)
    np.testing.assert_allclose(shaped, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("single_root", [False, True])
def test_eisner_charts_have_a_derivation_for_every_tree(single_root):
    """Projective trees of 1, 2, 3, 4 words: 1, 3, 12, 55, with a single root 1, 2, 7, 30."""
    numbers = []
    for n_words in range(1, 5):
        chart = eisner_edges(n_words, single_root=single_root)
        graph = pt.Hypergraph(chart.heads, chart.tails, chart.node("goal"))
        numbers.append(inside(PlainForest.of(graph), [1] * graph.n_edges, Counting())[graph.root])
    assert numbers == ([1, 2, 7, 30] if single_root else [1, 3, 12, 55])


@pytest.mark.skipif(not hasattr(pt, "ProjectiveTree"), reason="projective trees are not there yet")
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n_words", [1, 2, 4, 7])
def test_a_projective_tree_is_a_forest(n_words, single_root):
    rng = np.random.default_rng(n_words)
    arcs = rng.normal(size=(n_words + 1, n_words + 1))
    chart = eisner_edges(n_words, single_root=single_root)
    graph = pt.Hypergraph(chart.heads, chart.tails, chart.node("goal"))
    p = pt.HypergraphDistribution(graph, chart.scores(lambda arc: arcs[arc]))
    q = pt.ProjectiveTree(arcs, single_root=single_root)
    agree(p, q, chart.sums(p.marginals, arcs.shape), q.marginals)
    direction = rng.normal(size=arcs.shape)
    direction[:, 0] = 0.0
    np.fill_diagonal(direction, 0.0)
    moved = p.covariance_product(chart.scores(lambda arc: direction[arc]))
    expected = q.covariance_product(direction)
    np.testing.assert_allclose(chart.sums(moved, arcs.shape), expected, atol=1e-10, rtol=0)


# ---------------------------------------------------------------- batches and bad input


def test_batches():
    sizes = (5, 17, 8)
    graphs = [pt.Hypergraph(*random_edges(n)) for n in sizes]
    scores = [np.random.default_rng(n).normal(size=n) for n in sizes]
    p = pt.HypergraphDistribution(graphs, scores)
    singly = [pt.HypergraphDistribution(g, s) for g, s in zip(graphs, scores, strict=True)]
    for name in ("marginals", "inside", "outside", "argmax", "max_marginals"):
        for mine, one in zip(getattr(p, name), singly, strict=True):
            np.testing.assert_array_equal(mine, getattr(one, name))
    features = [np.eye(n)[:, :2] for n in sizes]
    for found, marginals in zip(p.expected_features(features), p.marginals, strict=True):
        np.testing.assert_array_equal(found, marginals[:2])
    samples = p.sample(4, np.random.default_rng(0))
    assert [len(drawn) for drawn in samples] == [4, 4, 4]
    assert p.log_prob([drawn[0] for drawn in samples]).shape == (3,)
    assert p.sample(0, np.random.default_rng(0)) == [[], [], []]
    assert [len(found) for found in p.k_best(2)] == [len(one.k_best(2)) for one in singly]


def test_an_empty_batch():
    p = pt.HypergraphDistribution([], [])
    assert p.log_partition.shape == (0,)
    assert p.marginals == []
    assert p.argmax == []
    assert p.k_best(2) == []
    assert p.sample(2, np.random.default_rng(0)) == []


def test_a_sentence_without_derivation_is_named():
    graph = pt.Hypergraph([0, 1], [(), (0,)], root=1)
    p = pt.HypergraphDistribution([graph, graph], [np.zeros(2), [0.0, -np.inf]])
    for ask in (lambda: p.marginals, lambda: p.argmax, lambda: p.k_best(2)):
        with pytest.raises(ValueError, match="sentence 1 .* has no structure"):
            ask()


def test_samples_do_not_depend_on_the_others_in_number():
    p, _ = distribution(17)
    few = p.sample(3, np.random.default_rng(5))
    many = p.sample(9, np.random.default_rng(5))
    assert all(np.array_equal(a, b) for a, b in zip(few, many[:3], strict=True))


def test_derivations_too_long_for_any_memory():
    nodes = range(1, 60)  # each stands for two of the one before
    graph = pt.Hypergraph([0, 0, *nodes], [(), (), *((n - 1, n - 1) for n in nodes)], root=59)
    p = pt.HypergraphDistribution(graph, np.zeros(61))
    for ask in (
        lambda: p.argmax,
        lambda: p.k_best(1),
        lambda: p.sample(1, np.random.default_rng(0)),
    ):
        with pytest.raises(ValueError, match="too many to write down"):
            ask()


def test_a_root_that_cannot_be_derived():
    p = pt.HypergraphDistribution(pt.Hypergraph([1], [(0,)], root=1), [0.0])
    with pytest.raises(ValueError, match="needs, further down, a node that no edge leads to"):
        _ = p.log_partition


GRAPH = pt.Hypergraph([0, 0, 1, 2], [(), (), (0,), (0, 1)], root=2)
OTHER_ROOT = pt.Hypergraph([0, 0, 1, 2], [(), (), (0,), (0, 1)], root=1)
P = pt.HypergraphDistribution(GRAPH, np.zeros(4))


@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda: P.log_prob([3, 0]), "at place 2 an edge into node 1 must come, but it ends"),
        (lambda: P.log_prob([]), "at place 0 an edge into node 2 must come"),
        (lambda: P.log_prob([2, 0]), "place 0 an edge into node 2 must come.* 2, into node 1"),
        (lambda: P.log_prob([3, 2, 0, 0]), "at place 1 an edge into node 0 must come"),
        (lambda: P.log_prob([3, 0, 2, 0, 1]), "at place 4 the end must come"),
        (lambda: P.log_prob([3, 0, 2, 9]), "edge 9 at place 3; expected 0 to 3"),
        (lambda: P.log_prob([3, 0, 2, -1]), "edge -1"),
        (lambda: P.log_prob([3.0, 0.0, 2.0, 0.0]), "array of float64"),
        (lambda: P.log_prob([[3, 0, 2, 0]]), r"shape \(1, 4\)"),
        (lambda: pt.HypergraphDistribution(GRAPH, np.zeros(3)), r"scores has shape \(3,\)"),
        (lambda: pt.HypergraphDistribution(GRAPH, "abcd"), "scores is no array of numbers"),
        (lambda: pt.HypergraphDistribution([GRAPH], [np.zeros(4)] * 2), "2 sentences; expected 1"),
        (lambda: pt.HypergraphDistribution([[0]], [np.zeros(4)]), "expected a Hypergraph"),
        (lambda: pt.HypergraphDistribution(GRAPH, [0, 0, np.nan, 0]), r"scores\[2\] is nan"),
        (lambda: P.expected_features(np.zeros((3, 2))), r"expected \(4, n_features\)"),
        (lambda: P.expected_features(np.zeros(4)), r"features has shape \(4,\)"),
        (lambda: P.restricted(np.ones(4)), "expected booleans"),
        (lambda: P.k_best(0), "k is 0"),
        (
            lambda: P.kl_divergence(pt.HypergraphDistribution(OTHER_ROOT, np.zeros(4))),
            "the same set of structures",
        ),
        (lambda: P.covariance_product([1.0, np.nan, 0.0, 0.0]), "not finite"),
    ],
)
def test_bad_input(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
