"""Forests of inversion transduction grammars against all their derivations, listed one by one."""

import math

import numpy as np
import pytest

from enumerate_itg import alignment, all_trees, forest_trees, n_alignments, schroeder
from partita.distribution.hypergraph import HypergraphDistribution
from partita.grammars.forest import EmptyForestError, Rule
from partita.grammars.itg import ITG, bounded_forest, pair_forest
from partita.grammars.lexicon import Lexicon

SIZES = [(n, m) for n in range(4) for m in range(4) if 0 < n + m < 6]
CATALAN = [1, 1, 2, 5, 14, 42]


def n_derivations(forest):
    p = HypergraphDistribution(forest.hypergraph, np.zeros(forest.hypergraph.n_edges))
    return round(math.exp(p.log_partition))


def everything(n, m):
    return np.ones((n, m)), np.ones(n), np.ones(m)


def some(n, m, seed):
    rng = np.random.default_rng(seed)
    return rng.random((n, m)) < 0.7, rng.random(n) < 0.7, rng.random(m) < 0.7


@pytest.mark.parametrize("n, m", SIZES)
def test_the_plain_forest_has_exactly_the_derivations_of_the_pair(n, m):
    allowed = everything(n, m)
    trees = forest_trees(pair_forest(*allowed))
    expected = all_trees(*allowed)
    assert len(trees) == len(set(trees)) == len(expected)
    assert set(trees) == set(expected)


@pytest.mark.parametrize("seed", range(20))
def test_forests_with_some_rules_missing(seed):
    n, m = 2 + seed % 2, 1 + seed % 3
    allowed = some(n, m, seed)
    expected = all_trees(*allowed)
    if not expected:
        for normal_form in (False, True):
            with pytest.raises(EmptyForestError, match="has no derivation"):
                pair_forest(*allowed, normal_form=normal_form)
        return
    plain = forest_trees(pair_forest(*allowed))
    normal = forest_trees(pair_forest(*allowed, normal_form=True))
    assert sorted(plain) == sorted(expected)
    assert set(normal) <= set(expected)
    assert sorted(map(sorted, map(alignment, normal))) == sorted(
        map(sorted, set(map(alignment, expected)))
    )


@pytest.mark.parametrize("n, m", [*SIZES, pytest.param(3, 3, marks=pytest.mark.slow)])
def test_the_normal_form_has_one_derivation_for_every_alignment(n, m):
    allowed = everything(n, m)
    trees = forest_trees(pair_forest(*allowed, normal_form=True))
    plain = all_trees(*allowed)
    assert set(trees) <= set(plain)
    alignments = list(map(alignment, trees))
    assert len(alignments) == len(set(alignments)) == n_alignments(n, m)
    assert set(alignments) == set(map(alignment, plain))


@pytest.mark.parametrize("n", range(1, 7))
def test_one_to_one_pairs(n):
    allowed = np.ones((n, n)), np.zeros(n), np.zeros(n)
    assert n_derivations(pair_forest(*allowed)) == 2 ** (n - 1) * CATALAN[n - 1]
    normal = n_derivations(pair_forest(*allowed, normal_form=True))
    assert normal == schroeder(n - 1) == [1, 2, 6, 22, 90, 394][n - 1]


@pytest.mark.parametrize("n, m", [(n, m) for n in range(6) for m in range(6) if n + m])
def test_number_of_alignments_with_null_words(n, m):
    assert n_derivations(pair_forest(*everything(n, m), normal_form=True)) == n_alignments(n, m)


def test_the_counts_of_the_errata():
    assert n_derivations(pair_forest(*everything(3, 3))) == 34088
    # Those of one alignment, that without links.
    assert n_derivations(pair_forest(np.zeros((3, 3)), np.ones(3), np.ones(3))) == 26880
    assert n_derivations(pair_forest(*everything(3, 3), normal_form=True)) == 34
    one_to_one = np.ones((4, 4)), np.zeros(4), np.zeros(4)
    assert n_derivations(pair_forest(*one_to_one)) == 40
    assert n_derivations(pair_forest(*one_to_one, normal_form=True)) == 22


@pytest.mark.parametrize("normal_form", [False, True])
def test_every_node_comes_behind_its_tails(normal_form):
    """Which forests are built on without a look."""
    rng = np.random.default_rng(0)
    links, words = rng.random((4, 5)) < 0.6, (rng.random(4) < 0.7, rng.random(5) < 0.7)
    forests = [
        pair_forest(*everything(3, 4), normal_form=normal_form),
        pair_forest(links, *words, normal_form=normal_form),
        bounded_forest([[1, 2], [3], []], [True, False, True], True, 4, normal_form=normal_form),
    ]
    for graph in [forest.hypergraph for forest in forests]:
        n_tails = np.diff(graph.tail_offsets)
        assert (graph.tails_flat < np.repeat(graph.heads, n_tails)).all()
        np.testing.assert_array_equal(graph.order, np.arange(graph.n_nodes))


@pytest.mark.parametrize("normal_form", [False, True])
def test_edges_know_their_rule_and_spans(normal_form):
    forest = pair_forest(*everything(3, 2), normal_form=normal_form)
    graph = forest.hypergraph
    assert forest.node_spans[graph.root].tolist() == [0, 3, 0, 2]
    for edge in range(graph.n_edges):
        s, t, k, end = forest.edge_spans[edge].tolist()
        rule, tails = Rule(forest.rule[edge]), graph.tails(edge)
        spans = forest.node_spans[tails].tolist()
        if rule == Rule.STRAIGHT:
            split, u = spans[0][1], spans[0][3]
            assert spans == [[s, split, k, u], [split, t, u, end]]
            assert forest.source_split[edge] == split
        elif rule == Rule.INVERTED:
            split, u = spans[0][1], spans[0][2]
            assert spans == [[s, split, u, end], [split, t, k, u]]
        elif rule in (Rule.UNIT, Rule.START):
            assert spans == [[s, t, k, end]]
        else:
            shape = {Rule.LINK: (1, 1), Rule.DELETION: (1, 0), Rule.INSERTION: (0, 1)}[rule]
            assert (t - s, end - k) == shape
            assert spans == []
            assert forest.source_word[edge] == (s if shape[0] else -1)
            assert forest.target_word[edge] == (k if shape[1] else -1)


@pytest.mark.parametrize("normal_form", [False, True])
@pytest.mark.parametrize("n, longest", [(0, 2), (1, 2), (2, 3), (3, 2), (3, 4)])
def test_edges_of_bounded_forests_know_their_rule_length_and_part(n, longest, normal_form):
    """Nodes are (s, t, 0, number of target words); parts are choices, deletions, an insertion."""
    n_choices = [2, 0, 3][:n]
    choices = [np.arange(count) for count in n_choices]
    forest = bounded_forest(choices, [True] * n, True, longest, normal_form=normal_form)
    graph, first, n_links = forest.hypergraph, np.cumsum([0, *n_choices]), sum(n_choices)
    parts = {rule: set() for rule in Rule}
    for edge in range(graph.n_edges):
        s, t, k, length = forest.edge_spans[edge].tolist()
        rule, spans = Rule(forest.rule[edge]), forest.node_spans[graph.tails(edge)].tolist()
        assert k == 0
        parts[rule].add((s, int(forest.part[edge])))
        if rule in (Rule.STRAIGHT, Rule.INVERTED):
            split, u = spans[0][1], spans[0][3]
            assert spans == [[s, split, 0, u], [split, t, 0, length - u]]
        elif rule == Rule.UNIT:
            assert spans == [[s, t, 0, length]]
        elif rule == Rule.START:
            assert (s, t, length) == (0, n, longest)
            assert spans[0][:3] == [0, n, 0]
            assert spans[0][3] <= longest
        else:
            shape = {Rule.LINK: (1, 1), Rule.DELETION: (1, 0), Rule.INSERTION: (0, 1)}[rule]
            assert (t - s, length) == shape
            assert spans == []
    assert parts[Rule.LINK] == {(s, p) for s in range(n) for p in range(first[s], first[s + 1])}
    assert parts[Rule.DELETION] == {(s, n_links + s) for s in range(n)}
    anywhere = {(s, n_links + n) for s in range(n + 1)}
    # In the normal form none stands before a word that is deleted, which word 1 must be.
    assert parts[Rule.INSERTION] == anywhere - (
        {(1, n_links + n)} if normal_form and n > 1 else set()
    )
    assert {part for _, part in parts[Rule.STRAIGHT]} <= {n_links + n + 1}
    assert {part for _, part in parts[Rule.INVERTED]} <= {n_links + n + 2}


def test_derivations_give_back_their_target_and_alignment():
    forest = pair_forest(*everything(2, 3), normal_form=True)
    p = HypergraphDistribution(forest.hypergraph, np.zeros(forest.hypergraph.n_edges))
    derivations = [derivation for derivation, _ in p.k_best(100)]
    assert len(derivations) == n_alignments(2, 3)
    for derivation in derivations:
        assert forest.yield_of(derivation).tolist() == [0, 1, 2]
    found = {tuple(forest.alignment_of(derivation)) for derivation in derivations}
    assert len(found) == len(derivations)
    assert ((0, 2), (1, 0)) in found


@pytest.mark.parametrize("normal_form", [False, True])
@pytest.mark.parametrize("n, longest", [(0, 3), (1, 0), (1, 3), (2, 2), (3, 2)])
def test_bounded_forests_count_the_pairs_of_every_length(n, longest, normal_form):
    forest = bounded_forest([[-1]] * n, [True] * n, True, longest, normal_form=normal_form)
    lengths = [m for m in range(longest + 1) if n + m]
    expected = sum(
        n_alignments(n, m) if normal_form else len(all_trees(*everything(n, m))) for m in lengths
    )
    assert n_derivations(forest) == expected
    starts = np.flatnonzero(forest.rule == Rule.START)
    tops = forest.hypergraph.tails_flat[forest.hypergraph.tail_offsets[starts]]
    assert sorted(forest.node_spans[tops, 3].tolist()) == lengths


def test_bounded_forests_have_repeated_tails():
    forest = bounded_forest([[-1]], [True], True, 2)
    assert any(
        len(tails) == 2 and tails[0] == tails[1]
        for tails in map(forest.hypergraph.tails, range(forest.hypergraph.n_edges))
    )


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (([[0, 0]], [[0, 0]]), "shape"),
        ((np.zeros((1, 1)), [0], [1]), "source word 0 can be neither linked nor deleted"),
        ((np.zeros((1, 1)), [1], [0]), "target word 0 can be neither linked nor inserted"),
        ((np.zeros((0, 0)), [], []), "both sentences are empty"),
        ((np.eye(4)[[1, 3, 0, 2]], [0] * 4, [0] * 4), "crossing"),
    ],
)
def test_pairs_without_derivations_say_why(arguments, reason):
    links, deletions, insertions = (*arguments, [0])[:3]
    with pytest.raises(ValueError, match=reason):
        pair_forest(links, deletions, insertions)


def test_sentences_without_derivations_say_why():
    with pytest.raises(EmptyForestError, match="more than 1 of its words must be linked"):
        bounded_forest([[-1], [-1]], [False, False], True, 1)
    with pytest.raises(EmptyForestError, match="word 1 can be neither linked nor deleted"):
        bounded_forest([[-1], []], [False, False], True, 3)
    with pytest.raises(EmptyForestError, match="nothing can be inserted"):
        bounded_forest([], [], False, 3)


def test_the_girls_went_over_there():
    source = ["As", "meninas", "foram", "pra", "lá"]
    target = ["The", "girls", "went", "over", "there"]
    lexicon = Lexicon.from_pairs(
        [(i, i) for i in range(5)], n_source=5, n_target=5, deletions=False, insertions=False
    )
    words = np.arange(5)
    forest = ITG(lexicon, normal_form=True).pair(words, words)
    p = HypergraphDistribution(forest.hypergraph, np.zeros(forest.hypergraph.n_edges))
    links = [(source[i], target[k]) for i, k in forest.alignment_of(p.argmax)]
    assert links == list(zip(source, target, strict=True))
    assert n_derivations(forest) == 1
    assert n_derivations(ITG(lexicon).pair(words, words)) == CATALAN[4]


def test_switch_the_light_off_is_not_a_one_to_one_pair():
    # Apague1 a2 luz3 / Switch1 the2 light3 off1: one source word has two target words.
    links = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
    with pytest.raises(EmptyForestError):
        pair_forest(links, np.zeros(3), np.zeros(4))
    with_insertions = pair_forest(links, np.zeros(3), np.ones(4), normal_form=True)
    assert all(
        len({source for source, _ in pairs}) == len(pairs)
        for pairs in map(alignment, forest_trees(with_insertions))
    )
