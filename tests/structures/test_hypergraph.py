"""The shape of hypergraphs: stars, topological order, cycles, pruning, bad input."""

import pickle

import numpy as np
import pytest

import partita as pt
from cases import IS_COMPILED
from hypergraphs import all_derivations, random_edges

SIZES = (2, 8, 15, 17, 40)


@pytest.mark.parametrize("n_edges", SIZES)
def test_stars(n_edges):
    heads, tails, root = random_edges(n_edges)
    graph = pt.Hypergraph(heads, tails, root)
    assert graph.n_edges == n_edges
    assert [tuple(graph.tails(e).tolist()) for e in range(n_edges)] == tails
    for node in range(graph.n_nodes):
        assert graph.backward_star(node).tolist() == [e for e in range(n_edges) if heads[e] == node]
        forward = [e for e in range(n_edges) for tail in tails[e] if tail == node]
        assert graph.forward_star(node).tolist() == forward


@pytest.mark.parametrize("n_edges", SIZES)
def test_topological_order(n_edges):
    heads, tails, root = random_edges(n_edges)
    graph = pt.Hypergraph(heads, tails, root)
    place = {node: k for k, node in enumerate(graph.order.tolist())}
    assert sorted(place) == list(range(graph.n_nodes))
    assert all(place[tail] < place[heads[e]] for e in range(n_edges) for tail in tails[e])


def test_an_ascending_numbering_stays():
    graph = pt.Hypergraph([3, 1, 2, 0, 4], [(1, 2), (), (0,), (), (3, 3)], root=4)
    assert graph.order.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "heads, tails, nodes",
    [
        ([0], [(0,)], [0]),
        ([0, 1, 1, 2, 3, 4], [(3,), (0,), (), (1,), (2, 2), (0, 1)], [0, 1, 2, 3]),
    ],
)
def test_a_cycle_is_named_in_order(heads, tails, nodes):
    with pytest.raises(ValueError, match="has a cycle: ") as error:
        pt.Hypergraph(heads, tails, root=heads[-1])
    named = str(error.value).split("cycle: ")[1].split(" (")[0].split(" <- ")
    cycle = [int(node) for node in named]
    assert cycle[0] == cycle[-1]
    assert sorted(cycle[:-1]) == nodes
    edges = list(zip(heads, tails, strict=True))
    for head, tail in zip(cycle[:-1], cycle[1:], strict=True):
        assert any(head == h and tail in t for h, t in edges)


def test_a_long_cycle_is_cut_short():
    n_nodes = 1000
    with pytest.raises(ValueError, match=r"\.\.\. \(1000 nodes in all\)"):
        pt.Hypergraph(range(n_nodes), [((v + 1) % n_nodes,) for v in range(n_nodes)], root=0)


@pytest.mark.parametrize("n_edges", SIZES[:-1])
def test_pruning_keeps_what_occurs_in_a_derivation(n_edges):
    heads, tails, root = random_edges(n_edges)
    graph = pt.Hypergraph(heads, tails, root)
    derivations = all_derivations(heads, tails, root)
    pruned, kept = graph.pruned()
    assert kept.tolist() == sorted({edge for derivation in derivations for edge in derivation})
    assert pruned.n_nodes == len({heads[edge] for edge in kept})
    renamed = [tuple(kept[list(derivation)]) for derivation in all_derivations(*parts(pruned))]
    assert renamed == derivations
    again, all_kept = pruned.pruned()
    assert again.n_edges == pruned.n_edges == len(all_kept)


def parts(graph):
    tails = [tuple(graph.tails(edge).tolist()) for edge in range(graph.n_edges)]
    return graph.heads.tolist(), tails, graph.root


def test_a_root_without_derivation():
    graph = pt.Hypergraph([1, 2], [(0,), (1, 1)], root=2)
    with pytest.raises(ValueError, match="root 2 has no derivation"):
        graph.pruned()
    with pytest.raises(ValueError, match="no structure"):
        _ = pt.HypergraphDistribution(graph, np.zeros(2)).log_partition


def test_flat_arrays_give_the_same():
    heads, tails, root = random_edges(17)
    graph = pt.Hypergraph(heads, tails, root)
    counts = [len(nodes) for nodes in tails]
    flat = pt.Hypergraph.from_flat(
        np.array(heads, dtype=np.int32),
        np.concatenate([np.array(nodes, dtype=np.uint8) for nodes in tails]),
        np.concatenate([[0], np.cumsum(counts)]),
        np.int64(root),
        graph.n_nodes,
    )
    assert parts(flat) == parts(graph)
    assert parts(pickle.loads(pickle.dumps(graph))) == parts(graph)


def test_it_cannot_be_changed():
    given = np.array([0, 1])
    graph = pt.Hypergraph(given, [(), (0,)], root=1)
    given[0] = 1
    assert graph.heads.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        graph.heads[0] = 1
    for kept in (*graph._backward, *graph._forward):
        assert not kept.flags.writeable
    with pytest.raises(AttributeError):
        graph.root = 0


def test_one_node_is_one():
    assert pt.Hypergraph([0, 0], [(), ()], root=0).n_nodes == 1


@pytest.mark.skipif(not IS_COMPILED, reason="too large without compilation")
def test_a_hundred_thousand_edges_in_any_numbering():
    # How long it takes is in benchmarks/forests.py.
    rng = np.random.default_rng(0)
    heads = np.concatenate([np.arange(5000), rng.integers(1, 5000, size=95_000)])
    counts = np.where(np.arange(100_000) < 5000, 0, 2)
    tails = np.floor(rng.random(counts.sum()) * np.repeat(heads, counts)).astype(int)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    graph = pt.Hypergraph.from_flat(heads, tails, offsets, 4999, 5000)
    shuffled = rng.permutation(5000)
    other = pt.Hypergraph.from_flat(shuffled[heads], shuffled[tails], offsets, shuffled[4999], 5000)
    scores = rng.normal(size=100_000)
    p, q = (pt.HypergraphDistribution(forest, scores) for forest in (graph, other))
    assert p.log_partition == pytest.approx(q.log_partition, rel=1e-12)
    np.testing.assert_allclose(p.marginals, q.marginals, rtol=1e-9)


def flat(heads=(0, 1), tails=(0,), offsets=(0, 0, 1), root=1, n_nodes=2):
    return pt.Hypergraph.from_flat(heads, tails, offsets, root, n_nodes)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: pt.Hypergraph([], [], 0), "no edges came"),
        (lambda: pt.Hypergraph([0, 1], [()], 0), "2 heads and tails of 1 edges"),
        (lambda: pt.Hypergraph([0, 1], [(), (-1,)], 1), "tails holds -1"),
        (lambda: pt.Hypergraph([0, -2], [(), ()], 0), "heads holds -2"),
        (lambda: pt.Hypergraph([0, 2**40], [(), ()], 0), "without gaps"),
        (lambda: pt.Hypergraph([0, 1.0], [(), (0,)], 1), "heads is an array of float64"),
        (lambda: pt.Hypergraph([True, False], [(), ()], 1), "array of bool"),
        (lambda: pt.Hypergraph([[0], [1]], [(), (0,)], 1), r"shape \(2, 1\)"),
        (lambda: pt.Hypergraph([[0], [1, 2]], [(), (0,)], 1), "heads is no sequence"),
        (lambda: pt.Hypergraph([0, 1], [(), (0.5,)], 1), "tails is an array of float64"),
        (lambda: pt.Hypergraph([0, 1], [(), ("a",)], 1), "tails is an array of <U1"),
        (lambda: pt.Hypergraph([0, 1], [(), 0], 1), r"tails\[1\] is 0; expected a sequence"),
        (lambda: pt.Hypergraph([0, 1], [(), "0"], 1), r"tails\[1\] is '0'"),
        (lambda: pt.Hypergraph([0, 1], [(), (0,)], 2), "root is 2; expected .* from 0 to 1"),
        (lambda: pt.Hypergraph([0, 1], [(), (0,)], -1), "root is -1"),
        (lambda: pt.Hypergraph([0, 1], [(), (0,)], 1.0), "root is 1.0"),
        (lambda: pt.Hypergraph([0, 2], [(), (1,)], 1), "root 1 is the head of no edge"),
        (lambda: flat(n_nodes=1, root=0), r"heads\[1\] is 1; expected a node from 0 to 0"),
        (lambda: flat(tails=(5,)), r"tails_flat\[0\] is 5"),
        (lambda: flat(offsets=(0, 1, 0)), "never to descend"),
        (lambda: flat(offsets=(0, 2, 1)), "never to descend"),
        (lambda: flat(offsets=(0, 0, 2)), "goes from 0 to 2 for 1 tails"),
        (lambda: flat(offsets=(0, 1)), "tails of 1 edges"),
        (lambda: flat(n_nodes=2.0), "n_nodes is 2.0"),
        (lambda: flat().tails(2), "edge is 2; expected .* from 0 to 1"),
        (lambda: flat().backward_star(-1), "node is -1"),
    ],
)
def test_bad_input(build, message):
    with pytest.raises(ValueError, match=message):
        build()
