"""Samples without replacement where the conformance suite does not look: batches, extremes."""

import numpy as np
import pytest

import partita as pt
from partita.structures.chains import Chains
from partita.structures.distinct import WordWays, distinct_structures
from partita.structures.joined import JoinedStructures


def test_what_is_left_keeps_its_probabilities():
    """Nearly all mass is on one sequence; the others are as likely as they are among themselves."""
    p = pt.LinearChain(np.array([[0.0, -800.0, -800.0 - np.log(3.0)]]), np.zeros((3, 3)))
    rng = np.random.default_rng(0)
    second = [p.sample(2, rng, replace=False)[:, 0].tolist() for _ in range(400)]
    assert all(first == 0 for first, _ in second)
    share = np.mean([tag == 1 for _, tag in second])
    assert abs(share - 0.75) < 6 * np.sqrt(0.75 * 0.25 / 400)


@pytest.mark.parametrize("size", [2, 3], ids=["drawn and left out", "walked"])
def test_second_draws_go_by_what_the_first_leaves(size):
    """Both ways: two of three tags leave 4 in 1000, too little to draw for."""
    chances = np.array([0.5, 0.496, 0.004])
    p = pt.LinearChain(np.log(chances)[None], np.zeros((3, 3)))
    rng, n_draws = np.random.default_rng(0), 2000
    drawn = [tuple(p.sample(size, rng, replace=False)[:2, 0]) for _ in range(n_draws)]
    for first, second in [(0, 1), (1, 0), (0, 2)]:
        expected = chances[first] * chances[second] / (1 - chances[first])
        share = np.mean([pair == (first, second) for pair in drawn])
        assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / n_draws)


@pytest.mark.parametrize("largest", [2e14, 1e15, 3e15, 1e18, 1e300])
def test_a_total_without_digits_promises_nothing(largest):
    """Two tags have all of the probability, and the logarithm of 2 is rounded up, or away."""
    chains = Chains([1], n_tags=3, shared=True)
    scores = np.concatenate([[-largest, -largest, -2 * largest], np.zeros(9)])
    (tags,) = distinct_structures(chains, scores, 3, np.random.default_rng(0))
    assert sorted(each.item() for each in tags[:2]) == [0, 1]
    assert tags[2:] == [[2]]


def test_one_structure_is_no_plural():
    p = pt.LinearChain(np.zeros((3, 1)), np.zeros((1, 1)))
    with pytest.raises(ValueError, match="has 1 structure in all; expected no more"):
        p.sample(2, np.random.default_rng(0), replace=False)


def test_many_words_need_no_inference_each(monkeypatch):
    """Where much is left, samples that were drawn before are left out."""
    monkeypatch.setattr(WordWays, "branches", None)
    rng = np.random.default_rng(0)
    tags = pt.LinearChain(rng.normal(size=(60, 5)), np.zeros((5, 5))).sample(9, rng, replace=False)
    assert len(np.unique(tags, axis=0)) == 9
    arcs = rng.normal(size=(9, 9, 2))
    for trees in (pt.SpanningTree, pt.ProjectiveTree):
        heads, labels = trees(arcs, labelled=True).sample(30, rng, replace=False)
        assert len(np.unique(np.hstack([heads, labels]), axis=0)) == 30
    p = pt.SegmentChain(rng.normal(size=(9, 3, 2)), np.zeros((2, 2)))
    assert len({rows.tobytes() for rows in p.sample(30, rng, replace=False)}) == 30


def test_each_sentence_of_a_batch_has_its_own():
    rng = np.random.default_rng(0)
    arcs = [rng.normal(size=(n + 1, n + 1)) for n in (3, 2, 4)]
    for trees in pt.SpanningTree(arcs, labelled=False).sample(3, rng, replace=False):
        assert len({tuple(heads) for heads in trees.tolist()}) == 3
    padded = pt.LinearChain(rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 2)), n_words=[3, 2])
    assert padded.sample(4, rng, replace=False).shape == (2, 4, 3)


def test_members_of_joined_structures_draw_by_themselves():
    joined = JoinedStructures([Chains([1], n_tags=2, shared=True), Chains([1], 3, shared=True)])
    drawn = distinct_structures(joined, np.zeros(joined.n_parts), 9, np.random.default_rng(0))
    assert [len(each) for each in drawn] == [2, 3]


def test_derivations_with_the_same_edges_differ():
    forest = pt.Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
    p = pt.HypergraphDistribution(forest, np.zeros(3))
    drawn = p.sample(4, np.random.default_rng(0), replace=False)
    assert sorted(edges.tolist() for edges in drawn) == [[2, 0, 0], [2, 0, 1], [2, 1, 0], [2, 1, 1]]


def test_none_and_too_many():
    p = pt.LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    assert p.sample(0, np.random.default_rng(0), replace=False).shape == (0, 2)
    with pytest.raises(ValueError, match="size is 5, but sentence 0"):
        p.sample(5, np.random.default_rng(0), replace=False)
    with pytest.raises(ValueError, match="expected a NumPy Generator"):
        p.sample(2, 0, replace=False)


def test_structures_out_of_reach_come_last_or_not_at_all():
    """Sums of what is beyond any doubt cannot be told apart where they overflow."""
    rng = np.random.default_rng(0)
    p = pt.LinearChain(np.array([[0.0, -1.0, -1e200], [1e200, 0.0, -1e200]]), np.zeros((3, 3)))
    drawn = p.sample(9, rng, replace=False)
    assert sorted(map(tuple, drawn[:2].tolist())) == [(0, 0), (1, 0)]
    assert len({tuple(tags) for tags in drawn.tolist()}) == 9
    q = pt.LinearChain(np.array([[0.0, -1.0, -1e308], [1e308, 0.0, -1e308]]), np.zeros((3, 3)))
    assert sorted(map(tuple, q.sample(2, rng, replace=False).tolist())) == [(0, 0), (1, 0)]
    with pytest.raises(ValueError, match="sentence 0 .* too large to be added up"):
        q.sample(3, rng, replace=False)
    with pytest.raises(ValueError, match="too large to be added up"):
        q.sample(10, rng, replace=False)
    only = q.restricted((np.array([[True, True, False], [True, False, False]]), None))
    with pytest.raises(ValueError, match="has 2 structures in all"):
        only.sample(3, rng, replace=False)


def test_taggers_give_as_many_as_there_are():
    tagger = pt.Tagger(progress=False).fit([["a", "b"], ["b"]], [["X", "Y"], ["Y"]])
    two, one, none = tagger.sample(
        [["a", "b"], ["a"], []], 9, np.random.default_rng(0), replace=False
    )
    assert len(two) == len({*map(tuple, two)}) == 4
    assert sorted(one) == [["X"], ["Y"]]
    assert none == [[]]


def test_parsers_give_different_trees():
    sentences = [[("dogs", "NOUN"), ("bark", "VERB")], [("cats", "NOUN"), ("sleep", "VERB")]]
    parser = pt.DependencyParser(n_bits=12, progress=False).fit(sentences, [[2, 0], [2, 0]])
    (trees,) = parser.sample(sentences[:1], 9, np.random.default_rng(0), replace=False)
    assert sorted(heads.tolist() for heads, _ in trees) == [[0, 1], [2, 0]]
