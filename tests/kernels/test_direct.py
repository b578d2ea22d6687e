"""Kernels asked directly, where the tests of distributions cannot see what they say.

A wrong bound of a fast recursion is hidden by the safe one that follows, and a rounding by
tolerances.
"""

import numpy as np
import pytest

import partita as pt
from partita.kernels.bitext.hmm_steps import agree, infer_pair
from partita.kernels.bitext.model1 import without_partner
from partita.kernels.bitext.rule_extraction import lexical
from partita.kernels.chains.lattices import word_sums
from partita.kernels.chains.scaled import log_scale
from partita.kernels.doors.padded import merge
from partita.kernels.features.lookup import rank
from partita.kernels.forests.order import is_sound
from partita.kernels.simd.small_matrix import padded_width
from partita.kernels.simd.wide import narrow, widen
from partita.kernels.spanning.elimination import Square
from partita.kernels.spanning.lone import read
from partita.kernels.trees.reachability import clear_impossible
from partita.kernels.underflow import SAFE
from partita.structures.tree_checks import are_trees
from spanning import all_spanning_trees


def uncompiled(function):
    return getattr(function, "py_func", function)


HEADS, TAILS, OFFSETS = [1, 2], [0, 0, 1], [0, 1, 3]


@pytest.mark.parametrize(
    ("heads", "tails", "offsets", "expected"),
    [
        (HEADS, TAILS, OFFSETS, True),
        ([0], [], [0, 0], True),
        ([], [], [0], False),  # no edge
        (HEADS, TAILS, [0, 3], False),  # an offset too few
        (HEADS, TAILS, [0, 1, 3, 3], False),
        (HEADS, TAILS, [1, 1, 3], False),  # not from 0
        (HEADS, TAILS, [0, 1, 2], False),  # not to the end
        (HEADS, TAILS, [0, 4, 3], False),  # not ascending
        ([1, 3], TAILS, OFFSETS, False),  # no such node
        ([-1, 2], TAILS, OFFSETS, False),
        (HEADS, [0, 0, 3], OFFSETS, False),
        (HEADS, [0, -1, 1], OFFSETS, False),
    ],
)
def test_every_fault_of_a_hypergraph_is_enough(heads, tails, offsets, expected):
    arrays = (np.array(each, dtype=np.int64) for each in (heads, tails, offsets))
    assert is_sound(*arrays, 3) == expected


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n_words", [1, 2, 3, 4])
def test_arcs_in_no_tree_are_found_exactly(n_words, single_root):
    """Marginals of 1 wherever an arc is allowed: what is left of them is the arcs of all trees."""
    rng = np.random.default_rng(n_words)
    size = (n_words + 1) ** 2
    trees, counts = all_spanning_trees((n_words + 1, n_words + 1), single_root)
    counts = np.asarray(counts).reshape(len(trees), size)
    for share in (0.3, 0.5, 0.7) * 10:
        arcs = np.where(rng.random(size) < share, 0.0, -np.inf)
        is_possible = ~(counts @ np.isinf(arcs) > 0)
        expected = counts[is_possible].max(axis=0, initial=0.0)
        if not is_possible.any():
            continue  # an error before anybody asks
        marginals = np.exp(arcs)
        clear_impossible(
            arcs, np.array([0, size]), np.array([n_words]), single_root, np.array([0]),
            np.empty(size, dtype=np.bool_), np.empty(n_words + 1, dtype=np.bool_),
            np.empty(n_words + 1, dtype=np.int64), marginals,
        )  # fmt: skip
        # Nobody asks what hangs the root.
        found, expected = (each.reshape(n_words + 1, -1)[:, 1:] for each in (marginals, expected))
        np.testing.assert_array_equal(found, expected)


def test_words_that_agree_on_everything_have_nothing_left():
    """Sums a little above 1 are rounding, and leave no negative probability."""
    above = np.nextafter(1.0, 2.0)
    one, two = np.array([[0.0], [above]]), np.array([[0.0], [1.0]])
    shape = (np.array([0, 2]), np.array([2]), np.array([1]))
    agree(shape, shape, one.reshape(-1), two.reshape(-1))
    assert one.tolist() == two.tolist() == [[0.0], [above]]


UNLIKELY = 1.0 - np.log(SAFE)


def sibling_tree(score):
    arcs, siblings = np.zeros((3, 3)), np.zeros((3, 3, 3))
    arcs[0], siblings[0, 1, 2] = UNLIKELY, score
    return pt.SiblingTree(arcs, siblings)


def projective_tree(score):
    arcs = np.zeros((4, 4))
    arcs[0], arcs[1, 3] = UNLIKELY, score
    return pt.ProjectiveTree(arcs)


def constituency_tree(score):
    """The best span stands in two trees, each with another that is unlikely."""
    spans = np.zeros((4, 4))
    spans[2, 3] = spans[0, 2] = UNLIKELY
    spans[1, 2], spans[1, 3] = score, -np.inf
    return pt.ConstituencyTree(spans)


@pytest.mark.parametrize("make", [sibling_tree, projective_tree, constituency_tree])
@pytest.mark.parametrize(("score", "is_safe"), [(-np.inf, True), (-800.0, False)])
def test_one_weight_that_is_lost_makes_the_bound_stricter(make, score, is_safe):
    """Outside values between SAFE / GROWTH^n and SAFE will do only where no weight became 0.

    Words prefer each other to the root, so that trees are unlikely beside the best of each word.
    """
    p = make(score)
    unsafe = p.inference.state[1]
    n_unsafe = 0 if unsafe is None else len(getattr(unsafe, "sentences", unsafe))
    assert n_unsafe == (not is_safe)
    # All trees have as many parts.
    n_parts = p.structures.counts(p.best.structures).sum()
    np.testing.assert_allclose(p.inference.marginals.sum(), n_parts, atol=1e-12)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(("times", "is_safe"), [(0.1, True), (1.5, False)])
def test_the_outside_value_of_one_arc_is_enough_to_doubt(side, times, is_safe):
    """To the left or to the right: that of the root's arc is the half of it, and within bounds."""
    words = np.arange(1, 5)[::side]
    arcs = np.full((5, 5), -np.inf)
    arcs[0] = 0.0
    for place, word in enumerate(words):
        arcs[words[place + 1 :], word] = 0.0
    # The end of the sentence would hang on the root, but only one word may.
    arcs[words[1:], words[0]] = -np.log(times * SAFE), -np.inf, -np.inf
    p = pt.SiblingTree(arcs, np.zeros((5, 5, 5)), single_root=True)
    assert p.inference.state[1].tolist() == ([] if is_safe else [0])
    np.testing.assert_allclose(p.log_partition, np.log(2.0 / SAFE / times), rtol=1e-14)


def test_a_sum_too_small_to_be_certain_of_is_reported():
    """As -inf; several factors are multiplied before a logarithm is taken."""
    # Compiled it is part of others, which lend it their arrays.
    plain = uncompiled(log_scale)
    scale = np.array([[0.5, 3e-281, 1e-15, np.nan], [2.0, 1.0, 1e-15, 1.0], [4.0, 1.0, 1e-15, 1.0]])
    # Eight lanes, of which the last four mean nothing.
    found = [plain(np.hstack([scale, scale]).reshape(-1), lane, 3) for lane in range(4)]
    assert found[1] == found[3] == -np.inf
    np.testing.assert_allclose(found[::2], np.log([4.0, 1e-45]), rtol=1e-14)


def test_one_sentence_with_two_roots_is_enough():
    heads, n_words = np.array([0, 1, 0, 0]), np.array([2, 2])
    assert are_trees(heads, n_words, is_projective=True, single_root=False)
    assert not are_trees(heads, n_words, is_projective=True, single_root=True)
    assert are_trees(np.array([0, 1, 2, 0]), n_words, is_projective=True, single_root=True)


def test_wide_numbers_become_doubles():
    """0 below the smallest double, infinite above the largest."""
    with np.errstate(over="ignore", under="ignore"):
        for exponent in (*range(-1400, 1400, 50), -1074, -1070, -5000, 5000):
            units = (exponent + 256) // 512
            wide = (np.ldexp(1.5, exponent - 512 * units), float(units))
            assert uncompiled(widen)(*wide) == wide
            for sign in (1.0, -1.0):
                found = uncompiled(narrow)((sign * wide[0], wide[1]))
                assert found == sign * np.ldexp(1.5, exponent)


def test_words_of_the_empty_word_have_no_partner_all_of_them():
    values = np.array([[0.9, 0.8, 0.1], [0.2, 0.1, 0.7]])  # the empty word in the first row
    partners, words = np.full(3, -1), np.full(3, -1)
    shape = (np.array([7]), np.array([0, 1]), np.array([4, 5, 6]), np.array([0, 3]))
    assert without_partner(values.reshape(-1), *shape, partners, words) == 2
    assert partners.tolist() == [0, 0, -1]
    assert words.tolist() == [4, 5, -1]


def test_weights_of_rules_are_means_over_their_words_and_the_empty_word():
    """Places that hold no word, and slots, which are negative too, count for nothing."""
    table = {(0, 5): 0.25, (1, 5): 0.5, (2, 6): 0.125, (1, 6): 0.75}
    offsets, targets = np.array([0, 1, 3, 4]), np.array([5, 5, 6, 6], dtype=np.int32)
    values, unseen = np.array([0.25, 0.5, 0.75, 0.125]), np.array([0.0, 0.01, 0.02])
    given = np.array([[1, 2, -9], [2, -1, 1], [-9, -9, -9]], dtype=np.int32)
    words = np.array([[5, -1], [6, 5], [6, -9]], dtype=np.int32)
    out = np.empty(3)
    lexical(offsets, targets, values, unseen, given, words, -30.0, out)
    for found, sources, wanted in zip(out, given, words, strict=True):
        xs = [0, *sources[sources >= 0]]
        means = [np.mean([table.get((x, y), unseen[x]) for x in xs]) for y in wanted[wanted >= 0]]
        expected = sum(np.log(mean) if mean > 0 else -30.0 for mean in means)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_words_of_a_source_word_that_are_not_the_strongest_have_no_partner():
    """Two pairs; the first word of the second one has three target words, the empty word one."""
    first = np.array([[0.1, 0.2], [0.9, 0.8]])
    second = np.array([[0.1, 0.1, 0.1, 0.9], [0.5, 0.6, 0.7, 0.1], [0.4, 0.3, 0.2, 0.0]])
    values = np.concatenate([first.reshape(-1), second.reshape(-1)])
    partners, words = np.full(6, -1), np.full(6, -1)
    source, target = np.array([8, 7, 9]), np.array([10, 11, 20, 21, 22, 23])
    shape = (source, np.array([0, 1, 3]), target, np.array([0, 2, 6]))
    assert without_partner(values, *shape, partners, words) == 4
    assert partners.tolist() == [8, 0, 7, 7, -1, -1]
    assert words.tolist() == [11, 23, 20, 21, -1, -1]


@pytest.mark.parametrize("n_words", [1, 2, 3, 4, 7])
def test_what_is_no_arc_is_forbidden_before_arcs_are_counted(n_words):
    """Whatever stands in the memory of a chart: nobody would see which numbers it adds."""
    arcs = np.random.default_rng(0).normal(size=(n_words + 1, n_words + 1))
    width = uncompiled(padded_width)(n_words + 1)
    at = Square(n_words, width, 1, width)
    weights = np.full((n_words + 1, at.stride), 7.0)
    uncompiled(read)(arcs.reshape(-1), at, weights.reshape(-1))
    expected = np.full(weights.shape, -np.inf)
    expected[:, : n_words + 1] = arcs
    expected[:, 0] = -np.inf
    np.fill_diagonal(expected, -np.inf)
    np.testing.assert_array_equal(weights, expected)


@pytest.mark.parametrize("n_values", range(1, 14))
def test_arrays_that_came_once_are_merged_to_their_last_cell(n_values):
    parts = np.random.default_rng(0).normal(size=40)
    starts = np.array([1, 14, 27])
    rows = np.stack([parts[start : start + n_values] for start in starts])
    for is_largest, expected in ((True, rows.max(axis=0)), (False, rows.sum(axis=0))):
        out = np.full(n_values, np.nan)
        merge(parts, starts, is_largest, -np.inf if is_largest else 0.0, out)
        np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_ranks_are_those_of_a_key_in_its_own_table():
    """Tables lie end to end, and the next one begins with the key that this one lacks."""
    seen = np.array([2, 5, 9, 11, 11, 12, 30, 30, 40])
    for first, last in ((0, 4), (4, 7), (7, 9), (4, 4)):
        own = seen[first:last].tolist()
        for key in range(45):
            expected = own.index(key) if key in own else -1
            assert uncompiled(rank)(key, first, last, seen) == expected


def test_without_source_words_everything_is_of_the_empty_word():
    posteriors = np.zeros((1, 3))
    found = uncompiled(infer_pair)(np.ones((1, 3)), None, None, 0.2, None, posteriors, None)
    assert found == 0.0
    assert posteriors.tolist() == [[1.0, 1.0, 1.0]]


def test_a_tag_that_no_word_of_a_bundle_may_have():
    rng, n_tags = np.random.default_rng(0), 3
    scores = rng.normal(size=(5, n_tags))
    scores[1:3, 1], scores[4, 0], scores[0, 2] = -np.inf, -np.inf, -np.inf
    words, offsets = np.array([0, 1, 2, 3, 4, 1, 2]), np.array([0, 1, 3, 5, 7])
    sums = np.full((4, n_tags), np.nan)
    uncompiled(word_sums)(scores.reshape(-1), n_tags, 0, words, offsets, 0, 4, sums)
    for bundle, found in enumerate(sums):
        weights = np.exp(scores[words[offsets[bundle] : offsets[bundle + 1]]]).sum(axis=0)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(found, np.log(weights), rtol=1e-14)
