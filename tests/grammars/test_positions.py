"""D_n(x) with places in the target, against D(x, y) of every target, with features of spans."""

import itertools

import numpy as np
import pytest

from partita.distribution.hypergraph import HypergraphDistribution
from partita.grammars.forest import EmptyForestError, Rule
from partita.grammars.itg import bounded_forest, pair_forest
from partita.grammars.parts import RuleScores
from partita.grammars.positions import positioned_forest

FORMS = pytest.mark.parametrize("normal_form", [False, True])
CASES = pytest.mark.parametrize(
    "choices, deletions, insertions, longest",
    [
        ([[0, 1]], [True], [0, 1], 3),
        ([[0], [1, 2]], [True, False], [2], 3),
        ([[0], [], [1]], [True, True, False], [], 2),
        ([[1, 0], [1]], [False, False], [0], 3),
        ([], [], [0, 2], 2),
    ],
)


def edge_scores(forest, words_of_edges, seed=0):
    """A score for each edge that depends on its rule, its words, and all of its four boundaries."""
    tails = forest.hypergraph
    scores = []
    for edge, (rule, word) in enumerate(zip(forest.rule.tolist(), words_of_edges, strict=True)):
        if rule in (Rule.START, Rule.UNIT):
            scores.append(0.0)
            continue
        inner = forest.node_spans[tails.tails(edge)].ravel().tolist()
        key = [seed, rule, word + 1, *forest.edge_spans[edge].tolist(), *inner]
        scores.append(np.random.default_rng(key).normal())
    return np.array(scores)


def words_of_pair(forest, target):
    word = forest.target_word
    return [target[place] if place >= 0 else -1 for place in word.tolist()]


def pair(choices, deletions, insertions, target, normal_form):
    links = [[word in allowed for word in target] for allowed in choices]
    return pair_forest(
        np.array(links, dtype=bool).reshape(len(choices), len(target)),
        np.array(deletions, dtype=bool),
        np.array([word in insertions for word in target], dtype=bool),
        normal_form=normal_form,
    )


def all_pairs(choices, deletions, insertions, longest, normal_form):
    """log Z(x, y) with features of target spans, for every target that has a derivation."""
    found = {}
    for m in range(longest + 1):
        for target in itertools.product(range(3), repeat=m):
            if not choices and not target:
                continue
            try:
                forest = pair(choices, deletions, insertions, target, normal_form)
            except EmptyForestError:
                continue
            scores = edge_scores(forest, words_of_pair(forest, target))
            found[target] = HypergraphDistribution(forest.hypergraph, scores).log_partition
    return found


@FORMS
@CASES
def test_all_targets_together(choices, deletions, insertions, longest, normal_form):
    forest = positioned_forest(choices, deletions, insertions, longest, normal_form=normal_form)
    p = HypergraphDistribution(forest.hypergraph, edge_scores(forest, forest.target_word.tolist()))
    pairs = all_pairs(choices, deletions, insertions, longest, normal_form)
    expected = np.logaddexp.reduce(list(pairs.values()))
    assert p.log_partition == pytest.approx(expected, abs=1e-9)
    # log P(y | x, n): the derivations of D_n(x) that yield y are those of D(x, y).
    mass = dict.fromkeys(pairs, 0.0)
    for derivation, score in p.k_best(10**6):
        mass[tuple(forest.yield_of(derivation).tolist())] += np.exp(score - p.log_partition)
    for target, total in pairs.items():
        assert mass[target] == pytest.approx(np.exp(total - expected), abs=1e-9)


@FORMS
@CASES
def test_without_features_of_places_it_is_the_bounded_forest(
    choices, deletions, insertions, longest, normal_form
):
    rng = np.random.default_rng(1)
    n_links, n = sum(map(len, choices)), len(choices)
    links, removed, binary = rng.normal(size=n_links), rng.normal(size=n), rng.normal(size=2)
    inserted = rng.normal(size=len(insertions))
    forest = positioned_forest(choices, deletions, insertions, longest, normal_form=normal_form)
    scores = RuleScores(links, removed, inserted, *binary)
    p = HypergraphDistribution(forest.hypergraph, forest.edge_scores(scores))
    plain = bounded_forest(choices, deletions, bool(insertions), longest, normal_form=normal_form)
    total = np.logaddexp.reduce(inserted) if insertions else -np.inf
    summed = RuleScores(links, removed, np.array([total]), *binary)
    q = HypergraphDistribution(plain.hypergraph, plain.edge_scores(summed))
    assert p.log_partition == pytest.approx(q.log_partition, abs=1e-9)
    mine, its = forest.rule_counts(p.marginals), plain.rule_counts(q.marginals)
    np.testing.assert_allclose(mine.links, its.links, atol=1e-9)
    np.testing.assert_allclose(mine.deletions, its.deletions, atol=1e-9)
    assert mine.insertions.sum() == pytest.approx(its.insertions[0], abs=1e-9)
    assert mine.straight == pytest.approx(its.straight, abs=1e-9)
    assert mine.inverted == pytest.approx(its.inverted, abs=1e-9)


@FORMS
def test_an_edge_that_stands_for_any_word(normal_form):
    forest = positioned_forest([[-1]], [True], [-1], 2, normal_form=normal_form)
    leaves = np.isin(forest.rule, (Rule.LINK, Rule.INSERTION))
    assert set(forest.target_word[leaves].tolist()) == {-1}
    assert forest.target_start.max() > 0


def test_sentences_without_a_derivation():
    with pytest.raises(EmptyForestError, match="word 0 can be neither linked nor deleted"):
        positioned_forest([[]], [False], [0], 2)
    with pytest.raises(EmptyForestError, match="the sentence is empty"):
        positioned_forest([], [], [], 2)
    with pytest.raises(ValueError, match="longest is -1"):
        positioned_forest([[0]], [True], [], -1)
    with pytest.raises(ValueError, match="deletions has shape"):
        positioned_forest([[0]], [], [], 1)


@FORMS
@CASES
def test_trees_of_derivations(choices, deletions, insertions, longest, normal_form):
    """Nested tuples: leaves in the order of the target are the words that the derivation yields."""
    forest = positioned_forest(choices, deletions, insertions, longest, normal_form=normal_form)
    p = HypergraphDistribution(forest.hypergraph, np.zeros(forest.hypergraph.n_edges))

    def leaves(tree, by_target):
        if len(tree) == 2:
            return [tree]
        rule, left, right = tree
        pair = (right, left) if by_target and rule == "inverted" else (left, right)
        return [leaf for child in pair for leaf in leaves(child, by_target)]

    for derivation, _ in p.k_best(200):
        tree = forest.tree_of(derivation)
        source = [i for i, _ in leaves(tree, by_target=False) if i is not None]
        target = [j for _, j in leaves(tree, by_target=True) if j is not None]
        assert source == list(range(len(choices)))
        assert target == list(range(len(forest.yield_of(derivation))))
        links = sorted(leaf for leaf in leaves(tree, False) if None not in leaf)
        assert links == forest.alignment_of(derivation)
