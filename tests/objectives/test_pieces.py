"""The local choices of each kind of structure."""

import numpy as np
import pytest
from scipy.special import logsumexp

import partita as pt
from partita.features import tag_parts
from partita.objectives import (
    Counts,
    LocalLikelihood,
    chain_pieces,
    forest_pieces,
    piecewise_choices,
    pseudo_choices,
    tag_choices,
    tree_pieces,
    wrong_parts,
)
from partita.structures.chains import Chains
from partita.structures.forests import Forests
from partita.structures.hypergraph import Hypergraph
from problems import CASES, close, make_problem

CHAINS = [case for case in CASES if case.name.startswith("chain")]


@pytest.mark.parametrize("case", CHAINS, ids=str)
def test_pseudo_likelihood_of_a_chain(case):
    """One word changes at a time; the short rows give what whole structures give."""
    problem = make_problem(case)
    chains = problem.p.structures
    places = []
    for tags in problem.targets:
        places.append([])
        for word, tag in enumerate(tags):
            others = [other for other in range(chains.n_tags) if other != tag]
            changed = [np.where(np.arange(len(tags)) == word, o, tags) for o in others]
            places[-1].append([tags, *changed])
    expected, expected_pullback = LocalLikelihood()(problem.p, pseudo_choices(chains, places))
    choices = tag_choices(chains, np.concatenate(problem.targets))
    statistic, pullback = LocalLikelihood()(problem.p, choices)
    close(statistic, expected)
    close(pullback(np.ones(1)), expected_pullback(np.ones(1)))


@pytest.mark.parametrize("case", CHAINS, ids=str)
def test_piecewise_likelihood_of_a_chain(case):
    problem = make_problem(case)
    chains = problem.p.structures
    target = Counts.of(chains, problem.targets)
    statistic, _ = LocalLikelihood()(problem.p, piecewise_choices(chain_pieces(chains), target))
    expected = 0.0
    unaries, tables = chains.split(problem.p.scores)
    for unary, table, tags in zip(unaries, tables, problem.targets, strict=True):
        for t, tag in enumerate(tags):
            expected += logsumexp(unary[t]) - unary[t, tag]
            if t > 0:
                here = table if chains.shared else table[t - 1]
                expected += logsumexp(here) - here[tags[t - 1], tag]
    close(statistic[0], expected)


@pytest.mark.parametrize("n_labels", [None, 2])
def test_piecewise_likelihood_of_a_tree_is_a_softmax_for_each_word(n_labels):
    rng = np.random.default_rng(0)
    arcs = [rng.normal(size=(n + 1, n + 1, *([n_labels] if n_labels else []))) for n in (1, 3)]
    p = pt.ProjectiveTree(arcs, labelled=n_labels is not None)
    heads = [np.array([0]), np.array([2, 0, 2])]
    labels = [np.array([1]), np.array([0, 1, 1])]
    given = list(zip(heads, labels, strict=True)) if n_labels else heads
    choices = piecewise_choices(tree_pieces(p.structures), Counts.of(p.structures, given))
    statistic, _ = LocalLikelihood()(p, choices)
    expected = 0.0
    for scores, hs, ls in zip(arcs, heads, labels, strict=True):
        for word in range(1, len(hs) + 1):
            others = np.delete(scores[:, word], word, axis=0)
            head = scores[hs[word - 1], word]
            expected += logsumexp(others) - (head[ls[word - 1]] if n_labels else head)
    close(statistic[0], expected)


def test_pieces_of_forests_are_the_edges_into_a_node():
    graphs = [
        Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1),
        Hypergraph([0, 1, 1], [(), (0,), (0, 0)], root=1),
    ]
    assert forest_pieces(Forests(graphs)).tolist() == [0, 0, 1, 2, 3, 3]


def test_the_number_of_wrong_tags():
    chains = Chains([1, 3], n_tags=3, shared=True)
    tags = [np.array([2]), np.array([0, 1, 1])]
    cost = wrong_parts(Counts.of(chains, tags), among=tag_parts(chains))
    others = [np.array([2]), np.array([0, 2, 0])]
    assert cost @ chains.counts(others) == 2.0
    assert cost @ chains.counts(tags) == 0.0
