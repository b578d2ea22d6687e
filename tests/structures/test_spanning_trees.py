"""Spanning trees beyond the conformance suite: hostile matrices against 100-digit arithmetic."""

import itertools

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

import partita as pt
from cases import HAS_ALL_SIZES, IS_COMPILED
from partita.kernels.spanning import wide
from partita.structures.counting import count_spanning_trees
from partita.structures.spanning_trees import SpanningTrees
from spanning import all_spanning_heads, all_spanning_trees

slow = pytest.mark.slow
compiled = pytest.mark.skipif(not IS_COMPILED, reason="too slow without compilation")


def number(x):
    """A score in many digits, exactly."""
    return mpmath.mpf(float(x))


def enumerated(arcs, single_root):
    """Log-partition and covariance of the arcs, in 100 digits: sums of positive numbers only."""
    structures, counts = all_spanning_trees(arcs.shape, single_root)
    flat = arcs.ravel()
    with mpmath.workdps(100):
        used = [np.flatnonzero(count) for count in counts]
        weights = [
            mpmath.mpf(0)
            if (flat[parts] == -np.inf).any()
            else mpmath.exp(mpmath.fsum(map(number, flat[parts])))
            for parts in used
        ]
        total = mpmath.fsum(weights)
        pairs = np.full((flat.size, flat.size), mpmath.mpf(0))
        for parts, weight in zip(used, weights, strict=True):
            for first, second in itertools.product(parts, parts):
                pairs[first, second] += weight / total
        marginals = pairs.diagonal()
        return mpmath.log(total), marginals, pairs - np.outer(marginals, marginals)


def log_determinant(matrix, n_bits):
    """Gaussian elimination in whole numbers of 2^-n_bits, which Python handles fastest."""
    rest = np.vectorize(lambda x: int(x * 2**n_bits), otypes=[object])(matrix)
    result = mpmath.mpf(0)
    while len(rest):
        pivot = rest[0, 0]
        result += mpmath.log(mpmath.mpf(abs(pivot)) / 2**n_bits)
        rest = rest[1:, 1:] - np.outer((rest[1:, 0] << n_bits) // pivot, rest[0, 1:]) // 2**n_bits
    return result


def by_determinant(arcs, single_root, digits):
    """Log-partition, Laplacian [head, modifier] and weights, in so many digits that all is right.

    With a single root the first row of the Laplacian of the words is replaced by the root's arcs.
    """
    n_words = len(arcs) - 1
    with mpmath.workdps(digits):
        weights = [[mpmath.exp(number(score)) for score in row] for row in arcs]
        laplacian = np.full((n_words, n_words), mpmath.mpf(0))
        for j in range(1, n_words + 1):
            heads = [i for i in range(1 if single_root else 0, n_words + 1) if i != j]
            for i in range(1, n_words + 1):
                laplacian[i - 1, j - 1] = -weights[i][j]
            laplacian[j - 1, j - 1] = mpmath.fsum(weights[i][j] for i in heads)
            if single_root:
                laplacian[0, j - 1] = weights[0][j]
        return log_determinant(laplacian, 4 * digits), laplacian, weights


def marginals_by_inverse(arcs, single_root, digits):
    """Log-partition and marginals w[i, j] (M^-1 u)[j], with u the column that arc i -> j adds."""
    n_words = len(arcs) - 1
    log_partition, laplacian, weights = by_determinant(arcs, single_root, digits)
    marginals = np.zeros(arcs.shape)
    with mpmath.workdps(digits):
        inverse = mpmath.matrix(laplacian.tolist()) ** -1
        for i, j in itertools.product(range(n_words + 1), range(1, n_words + 1)):
            if i == j:
                continue
            if i == 0:
                gradient = inverse[j - 1, 0 if single_root else j - 1]
            else:
                # The first row holds the root's arcs where there is a single root.
                gradient = mpmath.mpf(0)
                if not (single_root and j == 1):
                    gradient += inverse[j - 1, j - 1]
                if not (single_root and i == 1):
                    gradient -= inverse[j - 1, i - 1]
            marginals[i, j] = weights[i][j] * gradient
    return log_partition, marginals


def mutual(n_words, bonus, seed=0):
    """Words that prefer each other by `bonus` nats in pairs, and pairs by half of it."""
    arcs = np.random.default_rng(seed).normal(size=(n_words + 1, n_words + 1))
    for first in range(1, n_words, 2):
        arcs[first, first + 1] += bonus
        arcs[first + 1, first] += bonus
        if first + 2 <= n_words:
            arcs[first, first + 2] += bonus / 2
            arcs[first + 2, first] += bonus / 2
    return arcs


HOSTILE = {
    **{f"mutual +{bonus}": mutual(4, bonus) for bonus in (20, 40, 300, 600, 1000)},
    "one-sided": mutual(4, 0) - 800 * np.eye(5, k=1),
    "huge": 1000.0 * np.random.default_rng(1).choice([-1.0, 0.0, 1.0], size=(5, 5)) + mutual(4, 0),
    "all tiny": mutual(4, 300) - 1e5,
}


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_matrices(name, single_root):
    arcs = HOSTILE[name]
    p = pt.SpanningTree(arcs, single_root=single_root)
    log_partition, marginals, covariance = enumerated(arcs, single_root)
    size = max(1.0, np.abs(arcs).max())
    assert abs(p.log_partition - log_partition) < 1e-14 * size
    tolerance = {"rtol": 0, "atol": 1e-15 * size + 1e-13}
    np.testing.assert_allclose(p.marginals.ravel(), marginals.astype(float), **tolerance)
    np.testing.assert_allclose(p.covariance(), covariance.astype(float), **tolerance)
    direction = np.random.default_rng(2).normal(size=arcs.shape)
    product = (covariance @ direction.ravel()).astype(float)
    np.testing.assert_allclose(p.covariance_product(direction).ravel(), product, **tolerance)


@compiled
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("bonus", [20, 40, 300, 1000])
def test_longer_hostile_matrices(bonus, single_root):
    arcs = mutual(11, bonus, seed=3)
    p = pt.SpanningTree(arcs, single_root=single_root)
    log_partition, marginals = marginals_by_inverse(arcs, single_root, 100 + 3 * bonus)
    assert abs(p.log_partition - log_partition) < 1e-14 * max(bonus, 100)
    np.testing.assert_allclose(p.marginals, marginals, atol=1e-15 * bonus + 1e-13, rtol=0)
    np.testing.assert_allclose(p.marginals[:, 1:].sum(axis=0), 1.0, atol=1e-12, rtol=0)


@slow
@compiled
@pytest.mark.parametrize("single_root", [False, True])
def test_long_sentences(single_root):
    arcs = mutual(200 if not single_root else 100, 20, seed=4)
    p = pt.SpanningTree(arcs, single_root=single_root)
    log_partition, *_ = by_determinant(arcs, single_root, 100)
    assert abs(p.log_partition - log_partition) < 1e-11
    np.testing.assert_allclose(p.marginals[:, 1:].sum(axis=0), 1.0, atol=1e-12, rtol=0)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n_words", [2, 5, 30])
def test_one_tree_left(n_words, single_root):
    rng = np.random.default_rng(n_words)
    arcs = 1000 * rng.normal(size=(n_words + 1, n_words + 1))
    order = rng.permutation(n_words) + 1
    heads = np.zeros(n_words, dtype=np.int64)
    for position, word in enumerate(order[1:], start=1):
        heads[word - 1] = order[rng.integers(position)]
    kept = np.zeros(arcs.shape, dtype=bool)
    kept[heads, np.arange(1, n_words + 1)] = True
    p = pt.SpanningTree(np.where(kept, arcs, -np.inf), single_root=single_root)
    assert p.log_partition == pytest.approx(p.score(heads), rel=1e-15)
    np.testing.assert_array_equal(p.marginals, kept)
    np.testing.assert_array_equal(p.argmax, heads)
    np.testing.assert_array_equal(p.sample(3, rng), [heads] * 3)
    assert p.entropy == pytest.approx(0.0, abs=1e-9)
    assert len(p.k_best(5)) == 1


def test_twelve_trees():
    arcs = np.zeros((4, 4))
    arcs[1, 2] = -np.inf
    p = pt.SpanningTree(arcs)
    assert abs(p.log_partition - np.log(12)) < 1e-12
    assert p.marginals[1, 2] == 0.0


@pytest.mark.parametrize("n_words", [1, 2, 3, 7, 20, 60])
def test_numbers_of_trees(n_words):
    zeros = np.zeros((n_words + 1, n_words + 1))
    many = (n_words - 1) * np.log(n_words + 1)
    one = (n_words - 1) * np.log(n_words)
    assert pt.SpanningTree(zeros).log_partition == pytest.approx(many, rel=1e-14, abs=1e-14)
    assert pt.SpanningTree(zeros, single_root=True).log_partition == pytest.approx(
        one, rel=1e-14, abs=1e-14
    )


def test_arcs_that_are_in_no_tree_have_no_mass():
    # Word 1 hangs on word 2 alone, so that word 1 cannot be the head of word 2.
    arcs = np.random.default_rng(5).normal(size=(5, 5))
    arcs[[0, 3, 4], 1] = -np.inf
    for single_root in (False, True):
        p = pt.SpanningTree(arcs, single_root=single_root)
        assert p.marginals[1, 2] == 0.0
        assert p.marginals[2, 1] == pytest.approx(1.0, abs=1e-14)
        assert p.max_marginals[1, 2] == -np.inf
    # The only root that leads to all words is 2.
    assert p.marginals[0, 1] == 0.0


def test_a_known_root_under_a_single_root():
    arcs = np.random.default_rng(6).normal(size=(13, 13))
    allowed = np.ones(arcs.shape, dtype=bool)
    allowed[1:, 7] = False
    p = pt.SpanningTree(arcs, single_root=True)
    restricted = p.restricted(allowed)
    assert restricted.marginals[0, 7] == pytest.approx(1.0, abs=1e-14)
    assert restricted.log_partition - p.log_partition == pytest.approx(
        np.log(p.marginals[0, 7]), abs=1e-12
    )
    assert restricted.inference.state[0].all()


@pytest.mark.parametrize("single_root", [False, True])
def test_marginals_are_ratios_of_restrictions(single_root):
    p = pt.SpanningTree(np.random.default_rng(7).normal(size=(10, 10)), single_root=single_root)
    for head, word in ((0, 3), (4, 5), (9, 1)):
        allowed = np.ones((10, 10), dtype=bool)
        allowed[:, word] = False
        allowed[head, word] = True
        ratio = np.exp(p.restricted(allowed).log_partition - p.log_partition)
        assert p.marginals[head, word] == pytest.approx(ratio, abs=1e-13)


@pytest.mark.parametrize("single_root", [False, True])
def test_covariance_and_products_agree(single_root):
    rng = np.random.default_rng(8)
    n_words = 12 if HAS_ALL_SIZES else 4
    arcs = rng.normal(size=(n_words + 1, n_words + 1))
    arcs[rng.random(arcs.shape) < 0.2] = -np.inf
    arcs[0, 1:] = 0.0
    p = pt.SpanningTree(arcs, single_root=single_root)
    direction = rng.normal(size=arcs.shape)
    np.testing.assert_allclose(
        p.covariance_product(direction).ravel(),
        p.covariance() @ direction.ravel(),
        atol=1e-13,
        rtol=0,
    )


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("bonus", [0, 30, 1200])
def test_samples_of_hostile_matrices(bonus, single_root):
    """From +30 on walks are given up, and heads are drawn one by one."""
    p = pt.SpanningTree(mutual(4, bonus, seed=9), single_root=single_root)
    size = 4000 if IS_COMPILED and bonus < 1000 else 100
    trees = all_spanning_heads(4, single_root)
    probabilities = np.exp([p.log_prob(np.array(heads)) for heads in trees])
    samples = [tuple(row) for row in p.sample(size, np.random.default_rng(0)).tolist()]
    observed = np.array([samples.count(heads) for heads in trees])
    assert observed.sum() == size
    # Rare trees are counted with the commonest: chi-square wants a handful of each.
    groups = np.where(size * probabilities < 5, probabilities.argmax(), np.arange(len(trees)))
    observed = np.bincount(groups, weights=observed)
    expected = np.bincount(groups, weights=probabilities)
    expected *= size / expected.sum()
    if (expected > 0).sum() > 1:
        assert chisquare(observed[expected > 0], expected[expected > 0]).pvalue > 1e-4


@pytest.mark.parametrize("single_root", [False, True])
def test_best_trees_of_longer_sentences(single_root):
    """The best tree is the first of k, all of which differ, and no max-marginal is better."""
    rng = np.random.default_rng(10)
    n_words = 15 if HAS_ALL_SIZES else 5
    for scale in (1.0, 1000.0):
        p = pt.SpanningTree(
            scale * rng.normal(size=(n_words + 1, n_words + 1)), single_root=single_root
        )
        found = p.k_best(20)
        scores = [score for _, score in found]
        assert scores == sorted(scores, reverse=True)
        assert len({heads.tobytes() for heads, _ in found}) == 20
        np.testing.assert_allclose(scores, [p.score(heads) for heads, _ in found], rtol=1e-14)
        assert p.max_marginals.max() == pytest.approx(scores[0], rel=1e-14)
        # The second best tree leaves out an arc of the best one, and is the best that does.
        without = []
        for word, head in enumerate(p.argmax, start=1):
            allowed = np.ones((n_words + 1, n_words + 1), dtype=bool)
            allowed[head, word] = False
            without.append(p.restricted(allowed).best.scores[0])
        assert scores[1] == pytest.approx(max(without), rel=1e-14)


@pytest.mark.parametrize("single_root", [False, True])
def test_sums_of_numbers_of_different_units(single_root):
    """Unbounded numbers are a double and a power of 2^512: sums on both sides of every step."""
    rng = np.random.default_rng(0)
    n_words, size = 4, 25
    _, counts = all_spanning_trees((5, 5), single_root)
    counts = np.asarray(counts).reshape(-1, size)
    # Doubles go from 2^-256 to 2^256.
    for most in [1, 1, 4] * 25:
        steps = rng.integers(-most, most + 1, size=size) * 256.0 * np.log(2.0)
        arcs = steps + rng.normal(size=size)
        totals = counts @ arcs
        log_partition, marginals = np.empty(1), np.empty(size)
        wide.marginals(
            arcs, np.array([0, size]), np.array([n_words]), single_root, np.array([0]),
            log_partition, marginals,
        )  # fmt: skip
        expected = np.logaddexp.reduce(totals)
        np.testing.assert_allclose(log_partition, expected, rtol=1e-13, atol=1e-9)
        np.testing.assert_allclose(marginals, np.exp(totals - expected) @ counts, atol=1e-9)


def test_a_batch_of_safe_and_unsafe_sentences():
    arcs = [mutual(4, bonus) for bonus in (0, 1000, 20)] + [mutual(2, 1000)]
    p = pt.SpanningTree(arcs)
    assert p.inference.state[0].tolist() == [True, False, True, False]
    directions = [np.random.default_rng(n).normal(size=a.shape) for n, a in enumerate(arcs)]
    for index, (array, direction) in enumerate(zip(arcs, directions, strict=True)):
        q = pt.SpanningTree(array)
        assert q.log_partition == p.log_partition[index]
        np.testing.assert_array_equal(q.marginals, p.marginals[index])
        np.testing.assert_array_equal(
            q.covariance_product(direction), p.covariance_product(directions)[index]
        )


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n_words", [1, 2, 3, 4, 7, 12, 25])
def test_a_sentence_alone_has_the_bits_that_it_has_in_a_batch(n_words, single_root):
    rng = np.random.default_rng(n_words)
    arcs = rng.normal(size=(3, n_words + 1, n_words + 1)) * np.array([1, 20, 400])[:, None, None]
    arcs[0, 1:][rng.random((n_words, n_words + 1)) < 0.3] = -np.inf
    p = pt.SpanningTree(arcs, single_root)
    for index, alone in enumerate(arcs):
        q = pt.SpanningTree(alone, single_root)
        assert q.log_partition == p.log_partition[index]
        np.testing.assert_array_equal(q.marginals, p.marginals[index])


@pytest.mark.parametrize("single_root", [False, True])
def test_counts_where_most_arcs_are_forbidden(single_root):
    """Elimination meets zeros on the diagonal, also where there are trees; or nothing but zeros."""
    rng = np.random.default_rng(17)
    trees = np.array(all_spanning_heads(4, single_root))
    counts = []
    for _ in range(60):
        allowed = rng.random((5, 5)) < 0.45
        p = pt.SpanningTree(np.where(allowed, 0.0, -np.inf), single_root=single_root)
        possible = trees[allowed[trees, np.arange(1, 5)].all(axis=1)]
        expected = len(possible)
        if expected:
            assert p.count == expected
            is_used = np.zeros((5, 5), dtype=bool)
            is_used[possible, np.arange(1, 5)] = True
            np.testing.assert_array_equal(p.marginals > 0, is_used)
        counts.append(expected)
    assert 0 in counts
    assert max(counts) > 3


@pytest.mark.parametrize("n_sentences", [1, 4, 9])
def test_what_stands_in_column_0_is_no_arc_that_is_allowed(n_sentences):
    """Else few forbidden arcs would go unnoticed, and arcs that no tree can have get a little."""
    rng = np.random.default_rng(0)
    arcs = rng.normal(size=(n_sentences, 6, 6))
    arcs[:, :, 0] = 0.0
    # Word 1 hangs on word 4 alone, so that word 4 cannot hang on word 1.
    arcs[:, [0, 2, 3, 5], 1] = -np.inf
    p = pt.SpanningTree(arcs)
    assert (p.marginals[:, 1, 4] == 0.0).all()
    np.testing.assert_allclose(p.marginals[:, 4, 1], 1.0, atol=1e-12)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("kind", ["random", "tied", "equal", "large", "forbidden"])
def test_max_marginals_are_decodings_with_each_arc_forced(single_root, kind):
    rng = np.random.default_rng(3)
    arcs = rng.normal(size=(13, 13))
    if kind in ("tied", "equal"):
        arcs = np.round(arcs * (kind == "tied"))
    if kind == "large":
        arcs = rng.choice([-1000.0, 1000.0], size=arcs.shape)
    if kind == "forbidden":
        arcs[rng.random(arcs.shape) < 0.7] = -np.inf
        arcs[0, 1] = 0.0
        arcs[np.arange(12), np.arange(1, 13)] = 0.0
    found = pt.SpanningTree(arcs, single_root=single_root).max_marginals
    for modifier in range(1, 13):
        forced = np.repeat(arcs[None], 13, axis=0)
        forced[:, :, modifier] = -np.inf
        forced[np.arange(13), np.arange(13), modifier] = arcs[:, modifier]
        forced[modifier, modifier, modifier] = -np.inf
        structures = SpanningTrees(np.full(13, 12), single_root=single_root)
        best = structures.argmax(forced.ravel()).scores
        np.testing.assert_allclose(found[:, modifier], best, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("single_root", [False, True])
def test_counts_with_labels(single_root):
    """Weights of 0 to 10^7: determinants need several primes, and pivots are 0 in some of them."""
    rng = np.random.default_rng(18)
    trees = np.array(all_spanning_heads(4, single_root))
    for largest in (2, 4, 10**7):
        for _ in range(20):
            labels = rng.integers(largest, size=(5, 5)) * (rng.random((5, 5)) < 0.7)
            products = labels.astype(object)[trees, np.arange(1, 5)].prod(axis=1)
            assert count_spanning_trees(labels, single_root=single_root) == products.sum()


@slow
@compiled
def test_counts_of_many_words():
    """Cayley's formula, with a root of any number of words, or of one."""
    n = 120
    assert pt.SpanningTree(np.zeros((n + 1, n + 1))).count == (n + 1) ** (n - 1)
    assert pt.SpanningTree(np.zeros((n + 1, n + 1)), single_root=True).count == n ** (n - 1)
    labelled = np.zeros((n + 1, n + 1, 5))
    assert pt.SpanningTree(labelled, labelled=True).count == (n + 1) ** (n - 1) * 5**n
