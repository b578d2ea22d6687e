"""Projective trees beyond the conformance suite: hostile scores, lanes, and long sentences."""

import math

import mpmath
import numpy as np
import pytest
from numba import config

import partita as pt
from partita.kernels.projective import log as eisner_log
from partita.kernels.projective import scaled as eisner_scaled
from partita.kernels.simd.either import FOURS
from partita.structures.projective_trees import ProjectiveTrees
from projective import is_projective_tree

compiled = pytest.mark.skipif(config.DISABLE_JIT, reason="too long without compilation")
both_roots = pytest.mark.parametrize("single_root", [False, True])


def random_batch(n_words, sigma=1.0, seed=0):
    """One matrix of scores per sentence, with NaN wherever no arc can be."""
    rng = np.random.default_rng(seed)
    batch = [sigma * rng.normal(size=(n + 1, n + 1)) for n in n_words]
    for arcs in batch:
        arcs[:, 0] = np.nan
        np.fill_diagonal(arcs, np.nan)
    return batch


def scaled(batch, single_root):
    """Log-partition, marginals and safety by the fast kernel alone."""
    trees = ProjectiveTrees([len(arcs) - 1 for arcs in batch], single_root=single_root)
    log_partition, marginals = np.empty(trees.n_sentences), np.empty(trees.n_parts)
    scores = np.concatenate([arcs.ravel() for arcs in batch])
    is_safe = np.empty(trees.n_sentences, dtype=np.bool_)
    eisner_scaled.marginals(
        scores, trees.arc_offsets, trees.n_words, trees._order, single_root, FOURS, False,
        is_safe, np.empty((trees.n_sentences + 7) // 4, dtype=np.int64), log_partition, marginals,
    )  # fmt: skip
    return log_partition, trees.split(marginals), is_safe


def in_logarithms(batch, single_root, directions=None):
    """Log-partition, marginals and covariance product by the safe kernel alone."""
    trees = ProjectiveTrees([len(arcs) - 1 for arcs in batch], single_root=single_root)
    log_partition = np.empty(trees.n_sentences)
    marginals, product = np.empty(trees.n_parts), np.empty(trees.n_parts)
    scores = np.concatenate([arcs.ravel() for arcs in batch])
    direction = np.zeros(trees.n_parts)
    if directions is not None:
        direction = np.concatenate([array.ravel() for array in directions])
    shape = trees.arc_offsets, trees.n_words, single_root, np.arange(trees.n_sentences)
    eisner_log.covariance_product(scores, direction, *shape, np.empty(trees.n_parts), product)
    eisner_log.marginals(scores, *shape, log_partition, marginals)
    return log_partition, trees.split(marginals), trees.split(product)


def exact_log_partition(arcs, single_root):
    """Eisner's inside recursion in 100-digit arithmetic, as the textbook has it."""
    n = len(arcs) - 1
    with mpmath.workdps(100):
        weight = [[mpmath.exp(mpmath.mpf(float(score))) for score in row] for row in arcs]
        right = {(i, i): mpmath.mpf(1) for i in range(n + 1)}
        left = dict(right)
        ahead, back = {}, {}
        for width in range(1, n + 1):
            for i in range(1, n + 1 - width):
                j = i + width
                pair = sum(right[i, k] * left[k + 1, j] for k in range(i, j))
                ahead[i, j], back[i, j] = weight[i][j] * pair, weight[j][i] * pair
                right[i, j] = sum(ahead[i, k] * right[k, j] for k in range(i + 1, j + 1))
                left[i, j] = sum(left[i, k] * back[k, j] for k in range(i, j))
        for j in range(1, n + 1):
            if not single_root:
                pair = sum(right[0, k] * left[k + 1, j] for k in range(j))
            else:
                pair = left[1, j]
            ahead[0, j] = weight[0][j] * pair
            right[0, j] = sum(ahead[0, k] * right[k, j] for k in range(1, j + 1))
        return mpmath.log(right[0, n])


def log_count(n_words, single_root):
    """Logarithm of the number of projective trees: C(3n, n) / (2n+1), or C(3n-2, n-1) / n."""
    n = n_words
    if single_root:
        return math.log(math.comb(3 * n - 2, n - 1)) - math.log(n)
    return math.log(math.comb(3 * n, n)) - math.log(2 * n + 1)


@both_roots
@pytest.mark.parametrize("n_words", [1, 2, 3, 4, 5, 7, 11])
def test_every_tree_is_counted_once(n_words, single_root):
    p = pt.ProjectiveTree(np.zeros((n_words + 1, n_words + 1)), single_root=single_root)
    assert p.log_partition == pytest.approx(log_count(n_words, single_root), abs=1e-13)
    assert p.entropy == pytest.approx(log_count(n_words, single_root), abs=1e-12)


def test_john_saw_mary():
    assert [round(math.exp(log_count(3, single_root))) for single_root in (False, True)] == [12, 7]
    arcs = np.zeros((4, 4))
    arcs[1, 3] = -np.inf
    p = pt.ProjectiveTree(arcs)
    assert p.log_partition == pytest.approx(math.log(10), abs=1e-15)
    assert p.marginals[1, 3] == 0


@compiled
@both_roots
def test_two_hundred_words_that_all_tie(single_root):
    p = pt.ProjectiveTree(np.zeros((201, 201)), single_root=single_root)
    assert p.log_partition == pytest.approx(log_count(200, single_root), rel=1e-13)


@compiled
@pytest.mark.slow
def test_more_trees_than_a_double_can_count():
    p = pt.ProjectiveTree(np.zeros((401, 401)))
    assert log_count(400, False) > math.log(np.finfo(float).max)
    assert p.log_partition == pytest.approx(log_count(400, False), rel=1e-12)
    np.testing.assert_allclose(p.marginals[:, 1:].sum(axis=0), 1.0, rtol=1e-12)


@both_roots
def test_both_kernels_agree(single_root):
    batch = random_batch([1, 2, 9, 3, 6, 4, 6], sigma=3.0)
    directions = random_batch([1, 2, 9, 3, 6, 4, 6], seed=1)
    fast, safe = scaled(batch, single_root), in_logarithms(batch, single_root, directions)
    assert fast[2].all()
    np.testing.assert_allclose(fast[0], safe[0], rtol=1e-13)
    for a, b in zip(fast[1], safe[1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-14, rtol=0)
    p = pt.ProjectiveTree(batch, single_root=single_root)
    product = p.covariance_product([np.nan_to_num(direction) for direction in directions])
    for a, b in zip(product, safe[2], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13, rtol=0)


@compiled
@both_roots
@pytest.mark.parametrize("n_words, sigma", [(25, 80.0), (100, 10.0), (40, 300.0)])
def test_underflow_is_noticed(n_words, sigma, single_root):
    batch = random_batch([n_words, 5, n_words], sigma=sigma)
    batch[1] /= sigma
    _, _, is_safe = scaled(batch, single_root)
    np.testing.assert_array_equal(is_safe, [False, True, False])
    p = pt.ProjectiveTree(batch, single_root=single_root)
    directions = random_batch([n_words, 5, n_words], seed=2)
    log_partition, marginals, product = in_logarithms(batch, single_root, directions)
    np.testing.assert_allclose(p.log_partition, log_partition, rtol=1e-13)
    products = p.covariance_product([np.nan_to_num(direction) for direction in directions])
    for index in range(3):
        np.testing.assert_allclose(p.marginals[index], marginals[index], atol=1e-13, rtol=0)
        np.testing.assert_allclose(products[index], product[index], atol=1e-11, rtol=0)
        np.testing.assert_allclose(p.marginals[index][:, 1:].sum(axis=0), 1.0, rtol=1e-13)
    assert (p.log_partition >= p.best.scores - 1e-9).all()


@compiled
@both_roots
@pytest.mark.parametrize("n_words, sigma", [(8, 1.0), (20, 20.0), (25, 50.0), (12, 1000.0)])
def test_against_hundred_digits(n_words, sigma, single_root):
    (arcs,) = random_batch([n_words], sigma)
    arcs = np.where(np.isnan(arcs), 0.0, arcs)
    p = pt.ProjectiveTree(arcs, single_root=single_root)
    truth = exact_log_partition(arcs, single_root)
    assert abs(p.log_partition - truth) < 1e-12 * max(1, abs(truth))
    for word in (1, n_words // 2, n_words):
        head = int(np.argmax(p.marginals[:, word]))
        without = arcs.copy()
        without[head, word] = -np.inf
        rest = mpmath.exp(exact_log_partition(without, single_root) - truth)
        assert abs(p.marginals[head, word] - (1 - rest)) < 1e-11


@compiled
@pytest.mark.parametrize("preference", [20.0, 40.0, 300.0, 1000.0])
def test_words_that_prefer_each_other(preference):
    arcs = np.random.default_rng(3).normal(size=(7, 7))
    arcs[2, 3] += preference
    arcs[3, 2] += preference
    p = pt.ProjectiveTree(arcs)
    truth = exact_log_partition(arcs, False)
    assert abs(p.log_partition - truth) < 1e-12 * abs(truth)
    np.testing.assert_allclose(p.marginals[:, 1:].sum(axis=0), 1.0, rtol=1e-13)
    assert p.marginals[2, 3] + p.marginals[3, 2] == pytest.approx(1.0)


@both_roots
@pytest.mark.parametrize("n_words", [1, 2, 7])
def test_one_tree_left(n_words, single_root):
    rng = np.random.default_rng(4)
    free = pt.ProjectiveTree(rng.normal(size=(n_words + 1, n_words + 1)), single_root)
    heads, words = free.argmax, np.arange(1, n_words + 1)
    arcs = np.full((n_words + 1, n_words + 1), -np.inf)
    arcs[heads, words] = 1000.0 * rng.normal(size=n_words)
    p = pt.ProjectiveTree(arcs, single_root)
    assert p.log_partition == pytest.approx(arcs[heads, words].sum(), rel=1e-14)
    assert p.entropy == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_array_equal(p.marginals[heads, words], 1.0)
    assert p.marginals.sum() == n_words
    np.testing.assert_array_equal(p.argmax, heads)
    assert len(p.k_best(3)) == 1
    np.testing.assert_array_equal(p.sample(2, rng), [heads, heads])


@both_roots
def test_lanes_do_not_mix(single_root):
    lengths = [3, 1, 8, 2, 5, 5, 4, 7, 6] if not config.DISABLE_JIT else [3, 1, 4, 2, 2]
    batch, directions = random_batch(lengths, 2.0), random_batch(lengths, seed=5)
    directions = [np.nan_to_num(direction) for direction in directions]
    together = pt.ProjectiveTree(batch, single_root=single_root)
    products, trees = together.covariance_product(directions), together.argmax
    for index, arcs in enumerate(batch):
        alone = pt.ProjectiveTree(arcs, single_root=single_root)
        assert together.log_partition[index] == alone.log_partition
        np.testing.assert_array_equal(together.marginals[index], alone.marginals)
        product = alone.covariance_product(directions[index])
        np.testing.assert_array_equal(products[index], product)
        np.testing.assert_array_equal(trees[index], alone.argmax)


def test_the_order_of_a_batch_does_not_matter():
    batch = random_batch([2, 5, 3, 1, 4])
    p, q = pt.ProjectiveTree(batch), pt.ProjectiveTree(batch[::-1])
    np.testing.assert_array_equal(p.log_partition, q.log_partition[::-1])
    for a, b in zip(p.marginals, q.marginals[::-1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_empty_batch():
    p = pt.ProjectiveTree([])
    assert p.log_partition.shape == (0,)
    assert (p.marginals, p.argmax, p.covariance_product([]), p.k_best(2)) == ([], [], [], [])


@compiled
@both_roots
def test_unused_cells_are_not_read(single_root):
    (arcs,) = random_batch([6])
    trees = ProjectiveTrees([6], single_root=single_root)
    p = pt.ProjectiveTree.from_flat(trees, arcs.ravel())
    q = pt.ProjectiveTree(np.nan_to_num(arcs), single_root=single_root)
    np.testing.assert_array_equal(p.marginals[0], q.marginals)
    np.testing.assert_array_equal(p.argmax[0], q.argmax)
    np.testing.assert_array_equal(p.max_marginals[0], q.max_marginals)
    assert [score for _, score in p.k_best(9)[0]] == [score for _, score in q.k_best(9)]


@compiled
@both_roots
def test_the_best_trees_of_a_long_sentence(single_root):
    p = pt.ProjectiveTree(random_batch([120])[0], single_root=single_root)
    found = p.k_best(25)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert len({heads.tobytes() for heads, _ in found}) == 25
    np.testing.assert_array_equal(found[0][0], p.argmax)
    for heads, score in found:
        assert is_projective_tree(heads.tolist())
        assert not single_root or (heads == 0).sum() == 1
        assert p.score(heads) == pytest.approx(score, abs=1e-9)
    best = p.max_marginals
    np.testing.assert_allclose(best[:, 1:].max(axis=0), scores[0], rtol=1e-12)
    # The second best tree is the best one that avoids some arc of the best.
    others = [best[:, word + 1][np.arange(121) != p.argmax[word]].max() for word in range(120)]
    assert max(others) == pytest.approx(scores[1], abs=1e-9)


@compiled
def test_a_long_chain_is_no_deep_recursion():
    n_words = 400
    arcs = np.random.default_rng(6).normal(size=(n_words + 1, n_words + 1))
    arcs[np.arange(n_words), np.arange(1, n_words + 1)] += 50.0
    found = pt.ProjectiveTree(arcs).k_best(3)
    np.testing.assert_array_equal(found[0][0], np.arange(n_words))
    assert found[0][1] > found[1][1] > found[2][1]


@compiled
@both_roots
@pytest.mark.parametrize("sigma", [1.0, 30.0])
def test_sampled_arcs_have_their_marginals(single_root, sigma):
    p = pt.ProjectiveTree(random_batch([20], sigma)[0], single_root=single_root)
    size = 4000
    samples = p.sample(size, np.random.default_rng(7))
    counts = np.zeros((21, 21))
    np.add.at(counts, (samples, np.arange(1, 21)), 1)
    # A marginal of 1 may be rounded up.
    variance = size * p.marginals * np.maximum(1 - p.marginals, 0.0)
    deviation = np.sqrt(variance) + 1e-3 * size
    assert (np.abs(counts - size * p.marginals) < 5 * deviation).all()
    assert all(is_projective_tree(heads.tolist()) for heads in samples[:50])


def test_pair_marginals_are_those_of_the_covariance():
    p = pt.ProjectiveTree(random_batch([3])[0])
    pairs = p.pair_marginals()
    np.testing.assert_allclose(np.einsum("hmhm->hm", pairs), p.marginals, atol=1e-15, rtol=0)
    # Any word's heads, summed, leave the marginal of the other arc.
    np.testing.assert_allclose(
        pairs.sum(axis=2)[..., 1:], np.stack([p.marginals] * 3, -1), rtol=1e-9, atol=1e-12
    )


def test_a_word_that_no_arc_reaches():
    arcs = np.zeros((4, 4))
    arcs[:, 2] = -np.inf
    with pytest.raises(ValueError, match="no structure"):
        pt.ProjectiveTree(arcs).log_partition  # noqa: B018


def test_no_single_root():
    arcs = np.full((3, 3), -np.inf)
    arcs[0] = 0.0
    assert pt.ProjectiveTree(arcs).log_partition == 0.0
    with pytest.raises(ValueError, match="no structure"):
        pt.ProjectiveTree(arcs, single_root=True).log_partition  # noqa: B018


def test_heads_that_are_no_projective_tree():
    p = pt.ProjectiveTree(np.zeros((5, 5)))
    with pytest.raises(ValueError, match="cross"):
        p.log_prob(np.array([3, 4, 0, 3]))


@both_roots
@pytest.mark.parametrize(
    "n_words",
    [[25] * 8, [24] * 9, [7] * 8, [3] * 8, [1, 2, 3, 4, 5, 6, 7, 8], [10, 9, 10, 10, 11, 9, 9, 8]],
)
def test_lanes_in_squares_are_sentences_alone(n_words, single_root):
    batch = random_batch(n_words)
    together = pt.ProjectiveTree(batch, single_root=single_root)
    for arcs, log_partition, marginals in zip(
        batch, together.log_partition, together.marginals, strict=True
    ):
        alone = pt.ProjectiveTree(arcs, single_root=single_root)
        assert alone.log_partition == log_partition
        np.testing.assert_array_equal(alone.marginals, marginals)


@both_roots
@pytest.mark.parametrize("sigma", [1.0, 300.0])
@pytest.mark.parametrize("n_words", [None, [10, 9, 8, 7, 1, 2, 10, 10, 4]])
def test_scores_in_single_precision(n_words, sigma, single_root):
    arcs = (sigma * np.random.default_rng(0).normal(size=(9, 11, 11))).astype(np.float32)
    options = {"n_words": n_words, "single_root": single_root}
    single, double = (pt.ProjectiveTree(x, **options) for x in (arcs, arcs.astype(np.float64)))
    log_partition, marginals = single.infer_single(), single.take_single_marginals()
    np.testing.assert_array_equal(log_partition, double.log_partition)
    np.testing.assert_array_equal(marginals, double.inference.marginals.astype(np.float32))
    # Given away once; what is asked afterwards is of the scores that came.
    assert single.take_single_marginals() is None
    arcs[:] = 0.0
    np.testing.assert_array_equal(single.marginals, double.marginals)


def test_what_is_wrong_in_single_precision_is_said_as_in_double():
    arcs = np.zeros((2, 4, 4), dtype=np.float32)
    arcs[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"arcs\[1\]\[2, 3\] is nan"):
        pt.ProjectiveTree(arcs)
    arcs[1, 2, 3] = 1e30
    assert pt.ProjectiveTree(arcs).infer_single() is None
    arcs[1, :, 3] = -np.inf
    with pytest.raises(ValueError, match="sentence 1 .* has no structure"):
        pt.ProjectiveTree(arcs).infer_single()
