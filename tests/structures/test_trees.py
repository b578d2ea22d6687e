"""What spanning and projective trees share: forms of input, labels, errors, and the utilities."""

import numpy as np
import pytest

import partita as pt
from partita.structures.tree_tools import (
    all_trees,
    crossing_arcs,
    find_cycle,
    is_projective,
    is_tree,
)
from spanning import all_spanning_heads

KINDS = [pt.SpanningTree, pt.ProjectiveTree]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def random_arcs(seed, n_words, *labels):
    return np.random.default_rng(seed).normal(size=(n_words + 1, n_words + 1, *labels))


def test_trees_of_john_saw_mary():
    counts = {
        (projective, single_root): len(
            list(all_trees(3, projective=projective, single_root=single_root))
        )
        for projective in (False, True)
        for single_root in (False, True)
    }
    expected = {(False, False): 16, (False, True): 9, (True, False): 12, (True, True): 7}
    assert counts == expected


@pytest.mark.parametrize("n_words", [1, 2, 3, 4])
@pytest.mark.parametrize("single_root", [False, True])
def test_all_trees_are_those_found_by_brute_force(n_words, single_root):
    found = [tuple(heads.tolist()) for heads in all_trees(n_words, single_root=single_root)]
    assert found == all_spanning_heads(n_words, single_root)


def test_is_tree():
    assert is_tree([0])
    assert is_tree([2, 0, 2])
    assert not is_tree([1])
    assert not is_tree([2, 1])
    assert not is_tree([4, 0, 0])
    assert not is_tree([-1, 0])
    assert not is_tree([0, 0], single_root=True)
    assert find_cycle([0, 3, 4, 2]) == [2, 3, 4]


def test_crossing_arcs():
    assert crossing_arcs([0, 1, 1]) == []
    assert crossing_arcs([3, 4, 0, 3]) == [((3, 1), (4, 2)), ((4, 2), (0, 3))]
    # An arc over a word that hangs on the root crosses the root's arc.
    assert crossing_arcs([3, 0, 0]) == [((3, 1), (0, 2))]
    assert not is_projective([3, 0, 0])
    assert not is_projective([2, 1])


def test_no_words_have_no_trees():
    with pytest.raises(ValueError, match="at least 1"):
        list(all_trees(0))


def test_unused_cells_are_ignored(kind):
    arcs = random_arcs(0, 4)
    spoilt = arcs.copy()
    spoilt[:, 0] = np.nan
    np.fill_diagonal(spoilt, np.inf)
    p, q = kind(arcs), kind(spoilt)
    np.testing.assert_array_equal(p.marginals, q.marginals)
    np.testing.assert_array_equal(p.max_marginals, q.max_marginals)
    np.testing.assert_array_equal(p.covariance_product(spoilt), q.covariance_product(arcs))
    assert p.log_partition == q.log_partition
    assert p.entropy == q.entropy
    unused = np.eye(5, dtype=bool)
    unused[:, 0] = True
    assert (p.marginals[unused] == 0).all()
    assert (p.max_marginals[unused] == -np.inf).all()


@pytest.mark.parametrize("labels", [(), (3,)])
def test_padded_batch(kind, labels):
    n_words = [3, 5, 1]
    padded = np.full((3, 6, 6, *labels), np.nan)
    singly = [random_arcs(index, n, *labels) for index, n in enumerate(n_words)]
    for row, arcs in zip(padded, singly, strict=True):
        row[: len(arcs), : len(arcs)] = arcs
    p = kind(padded, n_words=n_words, labelled=bool(labels))
    assert p.marginals.shape == padded.shape
    for index, arcs in enumerate(singly):
        q = kind(arcs, labelled=bool(labels))
        assert p.log_partition[index] == q.log_partition
        n_nodes = len(arcs)
        np.testing.assert_array_equal(p.marginals[index, :n_nodes, :n_nodes], q.marginals)
        assert (p.marginals[index, n_nodes:] == 0).all()
    best = p.argmax[0] if labels else p.argmax
    assert best.shape == (3, 5)
    assert (best[0, 3:] == -1).all()
    scores = [kind(arcs, labelled=bool(labels)).best.scores[0] for arcs in singly]
    np.testing.assert_allclose(p.score(p.argmax), scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "shape, labelled, n_sentences, n_labels",
    [
        ((4, 4, 2), True, 1, 2),
        ((2, 4, 4), False, 2, None),
        # A batch of n+1 sentences of n words looks like one labelled sentence.
        ((4, 4, 4), False, 4, None),
        ((4, 4, 4), True, 1, 4),
        ((2, 4, 4, 5), True, 2, 5),
    ],
)
def test_labelled_says_what_three_axes_are(kind, shape, labelled, n_sentences, n_labels):
    p = kind(np.zeros(shape), labelled=labelled)
    assert (p.structures.n_sentences, p.structures.n_labels) == (n_sentences, n_labels)
    assert p.marginals.shape == shape
    assert np.ndim(p.log_partition) == (len(shape) == 3 + labelled)


def test_a_list_of_labelled_sentences(kind):
    assert kind([np.zeros((4, 4, 4)), np.zeros((2, 2, 4))], labelled=True).structures.n_labels == 4


def test_labels_that_were_not_announced(kind):
    with pytest.raises(ValueError, match="say labelled=True"):
        kind(np.zeros((4, 4, 2)))
    with pytest.raises(ValueError, match=r"sentence 0 has shape \(4, 4, 2\); expected \(n\+1, "):
        kind([np.zeros((4, 4, 2))])
    with pytest.raises(ValueError, match=r"\(2, 4, 4, 5\); expected \(n\+1, n\+1\)"):
        kind(np.zeros((2, 4, 4, 5)))
    with pytest.raises(ValueError, match=r"\(4, 4\); expected \(n\+1, n\+1, n_labels\)"):
        kind(np.zeros((4, 4)), labelled=True)


def test_an_empty_batch(kind):
    p = kind([])
    assert p.log_partition.shape == (0,)
    assert p.marginals == []
    assert p.argmax == []


def test_labels_are_a_sum_over_arcs(kind):
    arcs = random_arcs(1, 4, 3)
    labelled, plain = kind(arcs, labelled=True), kind(np.log(np.exp(arcs).sum(axis=-1)))
    assert labelled.log_partition == pytest.approx(plain.log_partition, abs=1e-12)
    np.testing.assert_allclose(labelled.marginals.sum(axis=-1), plain.marginals, atol=1e-12, rtol=0)
    np.testing.assert_allclose(
        labelled.pair_marginals(), plain.pair_marginals(), atol=1e-12, rtol=0
    )


def test_labelled_samples_follow_the_marginals(kind):
    p = kind(random_arcs(2, 3, 2), labelled=True)
    heads, labels = p.sample(4000, np.random.default_rng(0))
    counts = np.zeros_like(p.marginals)
    for word in range(3):
        np.add.at(counts, (heads[:, word], word + 1, labels[:, word]), 1 / 4000)
    np.testing.assert_allclose(counts, p.marginals, atol=0.05, rtol=0)


@pytest.mark.parametrize(
    "arcs, message",
    [
        (np.zeros((3, 4)), "expected .n.1, n.1., a score for every head"),
        (np.zeros(3), "shape"),
        (np.zeros((1, 1)), "at least one word"),
        (np.zeros((0, 0)), "at least one word"),
        ([np.zeros((3, 3)), np.zeros((3, 2))], "of sentence 1 has shape"),
        ([np.zeros(3)], "of sentence 0 has shape"),
        (np.full((3, 3), "a"), "arcs"),
        (np.array([[0, np.nan], [0, 0]]), r"arcs\[0, 1\] is nan"),
        ([np.zeros((2, 2)), np.array([[0, np.inf], [0, 0]])], r"arcs\[1\]\[0, 1\] is inf"),
    ],
)
def test_arcs_that_are_none(kind, arcs, message):
    with pytest.raises(ValueError, match=message):
        kind(arcs)


@pytest.mark.parametrize(
    "arcs, message",
    [
        (np.zeros((3, 3, 0)), "at least one word"),
        ([np.zeros((3, 3)), np.zeros((3, 3, 2))], r"sentence 0 has shape \(3, 3\)"),
        ([np.zeros((3, 3, 4)), np.zeros((3, 3, 2))], r"\[2, 4\] as n_labels"),
    ],
)
def test_labelled_arcs_that_are_none(kind, arcs, message):
    with pytest.raises(ValueError, match=message):
        kind(arcs, labelled=True)


def test_n_words_of_a_single_sentence(kind):
    with pytest.raises(ValueError, match="not padded"):
        kind(np.zeros((3, 3)), n_words=[2])
    with pytest.raises(ValueError, match="expected 1 to 2"):
        kind(np.zeros((2, 3, 3)), n_words=[2, 3])


@pytest.mark.parametrize(
    "heads, message",
    [
        ([0, 1], "expected .3,. whole numbers"),
        ([0.0, 1.0, 1.0], "whole numbers"),
        ([0, 1, 4], r"heads\[2\] of sentence 0 is 4; expected 0 to 3"),
        ([0, -1, 1], r"heads\[1\]"),
        ([0, 2, 1], "word 2 of sentence 0 is its own head"),
        ([0, 3, 2], "words 2 <- 3 <- 2 are a cycle"),
        ([0, 0, 1], r"words \[1, 2\] of sentence 0 all hang on the root; expected one"),
        ([2, 3, 1], "cycle"),
    ],
)
def test_heads_that_are_no_tree(kind, heads, message):
    p = kind(random_arcs(3, 3), single_root=True)
    for ask in (p.score, p.log_prob):
        with pytest.raises(ValueError, match=message):
            ask(np.array(heads))


def test_crossing_heads_are_no_projective_tree():
    heads = np.array([3, 4, 0, 3])
    assert np.isfinite(pt.SpanningTree(np.zeros((5, 5))).log_prob(heads))
    with pytest.raises(ValueError, match="not projective"):
        pt.ProjectiveTree(np.zeros((5, 5))).log_prob(heads)


def test_labelled_structures_that_are_none(kind):
    p = kind(random_arcs(3, 2, 2), labelled=True)
    with pytest.raises(ValueError, match="expected a tuple"):
        p.score(np.array([0, 1]))
    with pytest.raises(ValueError, match=r"labels\[1\] of sentence 0 is 2; expected 0 to 1"):
        p.score((np.array([0, 1]), np.array([0, 2])))
    with pytest.raises(ValueError, match="labels of sentence 0"):
        p.score((np.array([0, 1]), np.array([0])))


def test_a_tree_with_a_forbidden_arc_is_impossible(kind):
    arcs = np.zeros((4, 4))
    arcs[1, 2] = -np.inf
    p = kind(arcs)
    assert p.log_prob(np.array([0, 1, 1])) == -np.inf
    assert p.log_prob(np.array([0, 0, 2])) > -np.inf


@pytest.mark.parametrize("labels", [(), (2,)])
def test_a_word_that_no_arc_reaches(kind, labels):
    arcs = [np.zeros((3, 3, *labels)), np.zeros((4, 4, *labels))]
    arcs[1][:, 2] = -np.inf
    p = kind(arcs, labelled=bool(labels))
    for ask in (lambda: p.log_partition, lambda: p.argmax, lambda: p.k_best(2)):
        with pytest.raises(ValueError, match=r"sentence 1 .* no structure: no arc reaches word 2"):
            ask()


def test_words_that_are_cut_off_together(kind):
    arcs = np.zeros((4, 4))
    arcs[:2, 2:] = -np.inf
    with pytest.raises(ValueError, match=r"from the root to the words \[2, 3\]"):
        _ = kind(arcs).marginals


def test_an_infeasible_single_root(kind):
    arcs = np.zeros((4, 4))
    arcs[1:, 1:] = -np.inf
    assert kind(arcs).log_partition == 0.0
    p = kind(arcs, single_root=True)
    for ask in (lambda: p.log_partition, lambda: p.argmax, lambda: p.k_best(2)):
        with pytest.raises(ValueError, match="no structure: every tree has several words on the"):
            ask()


def test_allowed_must_be_boolean(kind):
    with pytest.raises(ValueError, match="expected booleans"):
        kind(np.zeros((3, 3))).restricted(np.ones((3, 3)))
    with pytest.raises(ValueError, match="has shape"):
        kind(np.zeros((3, 3))).restricted(np.ones((4, 4), dtype=bool))


def test_only_the_same_trees_are_compared(kind):
    many, one = kind(np.zeros((4, 4))), kind(np.zeros((4, 4)), single_root=True)
    labelled = kind(np.zeros((2, 2, 4)), labelled=True)  # 16 parts as well
    for other in (one, labelled):
        with pytest.raises(ValueError, match="the same set of structures"):
            many.kl_divergence(other)


def test_a_padded_batch_takes_what_k_best_gives(kind):
    p = kind(np.zeros((2, 4, 4, 2)), labelled=True, n_words=[3, 2])
    found = [best[0][0] for best in p.k_best(1)]
    np.testing.assert_array_equal(p.log_prob(found), p.log_prob(p.argmax))


def test_an_empty_padded_batch_keeps_its_labels(kind):
    assert kind(np.zeros((0, 4, 4, 2)), labelled=True).marginals.shape == (0, 4, 4, 2)


@pytest.mark.parametrize("single_root", [False, True])
def test_pair_marginals(kind, single_root):
    arcs = random_arcs(4, 4)
    arcs[2, 3] = -np.inf
    p = kind(arcs, single_root=single_root)
    expected = np.zeros((5, 5, 5, 5))
    for heads in all_trees(4, projective=kind is pt.ProjectiveTree, single_root=single_root):
        probability = np.exp(p.log_prob(heads))
        used = list(zip(heads, range(1, 5), strict=True))
        for first in used:
            for second in used:
                expected[(*first, *second)] += probability
    pairs = p.pair_marginals()
    np.testing.assert_allclose(pairs, expected, atol=1e-13, rtol=0)
    # The same arc twice, two heads of one word, and siblings.
    assert pairs[1, 2, 1, 2] == p.marginals[1, 2]
    assert pairs[1, 2, 3, 2] == 0.0
    assert pairs[1, 2, 1, 4] == pytest.approx(expected[1, 2, 1, 4], abs=1e-13)
    np.testing.assert_array_equal(
        kind([arcs, arcs], single_root=single_root).pair_marginals()[1], pairs
    )


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("kind", [pt.ProjectiveTree, pt.SpanningTree])
def test_pair_marginals_with_labels(kind, single_root):
    """Against all trees with all labels; summed over labels they are those without."""
    n, n_labels = 3, 2
    arcs = np.random.default_rng(0).normal(size=(n + 1, n + 1, n_labels))
    arcs[1, 2, 0] = -np.inf
    p = kind(arcs, single_root=single_root, labelled=True)
    found = p.pair_marginals(labelled=True)
    expected = np.zeros(2 * arcs.shape)
    for tree, score in p.k_best(10**4):
        counts = p.counts(tree).reshape(arcs.shape)
        expected += np.exp(score - p.log_partition) * np.multiply.outer(counts, counts)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=(2, 5)), p.pair_marginals(), atol=1e-9)
    batch = kind([arcs, arcs], single_root=single_root, labelled=True)
    np.testing.assert_array_equal(batch.pair_marginals(labelled=True)[1], found)
    with pytest.raises(ValueError, match="arcs without labels"):
        kind(arcs[:, :, 0], single_root=single_root).pair_marginals(labelled=True)


def test_heads_in_a_list_are_those_of_an_array(kind):
    p, heads = kind(random_arcs(0, 3)), [2, 0, 2]
    expected = np.zeros((4, 4))
    expected[heads, [1, 2, 3]] = 1.0
    for given in (heads, np.array(heads), np.array(heads, dtype=np.int32)):
        np.testing.assert_array_equal(p.structures.counts([given]), expected.ravel())
