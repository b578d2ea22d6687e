"""Every finite score gives a right answer or a clear error: a hunt with scores up to 1e308.

Right is what the definition says in fractions, up to the rounding of sums of the scores: a number
may be off by 1e-13 of the largest sum of absolute scores of a structure, and probabilities must be
those of structures that are as good as the best up to that.
"""

import math
import weakref
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partita as pt
from cases import CASES, flat, like, magnified

EXTREMES = [0.0, 1.0, 700.0, 1e15, 1.5e15, 1e16, 1e17, 1e100, 1e300, 1e308, 5e-324, 1.7976931e308]
SCORES = st.sampled_from([*EXTREMES, *[-x for x in EXTREMES], -math.inf]) | st.floats(
    allow_nan=False, allow_infinity=False
)
NATS = Fraction(1, 100)


class Exact:
    """All structures of one sentence and their scores in fractions; None is forbidden."""

    def __init__(self, case, scores):
        self.structures, counts = case.enumerate(scores)
        self.counts = np.asarray(counts, dtype=np.float64)
        self.places = {key(structure): i for i, structure in enumerate(self.structures)}
        values = [Fraction(x) if x > -math.inf else None for x in flat(scores).tolist()]
        self.totals, sizes = [], [Fraction(0)]
        for row in self.counts:
            terms = [(int(row[part]), values[part]) for part in np.flatnonzero(row)]
            if any(value is None for _, value in terms):
                self.totals.append(None)
                continue
            self.totals.append(sum((n * value for n, value in terms), Fraction(0)))
            sizes.append(sum((n * abs(value) for n, value in terms), Fraction(0)))
        self.allowed = [total for total in self.totals if total is not None]
        self.tolerance = Fraction(1, 10**9) + max(sizes) / 10**13
        if self.allowed:
            self.best = max(self.allowed)
            gaps = [self.best - total for total in self.allowed]
            weights = [math.exp(-float(gap)) for gap in gaps if gap < 745]
            self.log_partition = self.best + Fraction(math.log(math.fsum(weights)))

    def total(self, structure):
        return self.totals[self.places[key(structure)]]

    def check_entropy(self, entropy):
        assert -NATS <= Fraction(entropy) <= Fraction(math.log(len(self.allowed))) + NATS


def key(structure):
    arrays = structure if isinstance(structure, tuple) else (structure,)
    return repr([np.asarray(array).tolist() for array in arrays])


def check_sums(p, exact, scores, rng):
    assert abs(Fraction(p.log_partition) - exact.log_partition) <= exact.tolerance
    marginals, scores = flat(p.marginals), flat(scores)
    assert (marginals >= 0).all()
    possible = marginals > 0
    assert (scores[possible] > -np.inf).all()
    mean = sum(
        map(Fraction.__mul__, *fractions(marginals[possible], scores[possible])), Fraction(0)
    )
    slack = Fraction(math.log(len(exact.allowed))) + 10 * exact.tolerance
    assert abs(mean - exact.log_partition) <= slack


def fractions(*arrays):
    return [[Fraction(x) for x in array.tolist()] for array in arrays]


def check_best(p, exact, scores, rng):
    assert abs(exact.total(p.argmax) - exact.best) <= exact.tolerance
    assert abs(Fraction(p.best_score) - exact.best) <= exact.tolerance


def check_max_marginals(p, exact, scores, rng):
    for found, column in zip(flat(p.max_marginals).tolist(), exact.counts.T, strict=True):
        totals = [exact.totals[i] for i in np.flatnonzero(column)]
        totals = [total for total in totals if total is not None]
        if totals:
            assert abs(Fraction(found) - max(totals)) <= exact.tolerance
        else:
            assert found == -math.inf


def check_k_best(p, exact, scores, rng):
    best = sorted(exact.allowed, reverse=True)[:5]
    found = p.k_best(5)
    assert len({key(structure) for structure, _ in found}) == len(found) == len(best)
    for (structure, score), total in zip(found, best, strict=True):
        assert abs(exact.total(structure) - total) <= exact.tolerance
        assert abs(Fraction(score) - total) <= exact.tolerance
    exact.check_entropy(p.n_best_entropy(5))


def check_samples(p, exact, scores, rng):
    samples = p.sample(3, rng)
    for item in range(3):
        one = samples[item] if not isinstance(samples, tuple) else tuple(x[item] for x in samples)
        assert exact.best - exact.total(one) <= 60 + exact.tolerance


def check_covariance(p, exact, scores, rng):
    direction = rng.normal(size=flat(scores).size)
    product = flat(p.covariance_product(like(scores, direction)))
    assert np.abs(product).max(initial=0.0) <= 100.0 * np.abs(direction).sum()
    assert np.isfinite(p.covariance()).all()
    if hasattr(p, "pair_marginals"):
        pairs = p.pair_marginals()
        assert pairs.min() >= -1e-9
        assert pairs.max() <= 1 + 1e-9


def check_entropy(p, exact, scores, rng):
    exact.check_entropy(p.entropy)
    assert np.isfinite(flat(p.entropy_gradient())).all()


def check_other_entropies(p, exact, scores, rng):
    for alpha in (0.0, 2.0, math.inf):
        exact.check_entropy(p.renyi_entropy(alpha))


def check_spans(p, exact, scores, rng):
    if isinstance(p, pt.LinearChain):
        exact.check_entropy(p.span_entropy(0, len(scores[0]) - 1))
        exact.check_entropy(p.entropy_by_forward_pass())
        assert np.isfinite(flat(p.entropy_gradient_by_lattices())).all()


def check_probabilities(p, exact, scores, rng):
    for place in rng.integers(len(exact.structures), size=3):
        structure, total = exact.structures[place], exact.totals[place]
        if total is None:
            assert p.score(structure) == p.log_prob(structure) == -math.inf
            continue
        assert abs(Fraction(p.score(structure)) - total) <= exact.tolerance
        wanted, found = total - exact.log_partition, Fraction(p.log_prob(structure))
        assert found <= NATS
        assert abs(found - wanted) <= exact.tolerance + abs(wanted) / 100


def check_comparisons(p, exact, scores, rng):
    assert -NATS <= Fraction(p.kl_divergence(p)) <= NATS
    assert np.isfinite(flat(p.tempered(0.5).marginals)).all()
    direction = rng.permuted(np.where(flat(scores) > -np.inf, flat(scores), 0.0))
    assert np.isfinite(flat(p.covariance_product(like(scores, direction)))).all()
    assert np.isfinite(p.expectation(like(scores, direction)))


CHECKS = [value for name, value in list(globals().items()) if name.startswith("check_")]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_extreme_scores(case, check, data):
    sizes = [size for size in case.sizes if size <= (8 if case.name == "forest" else 3)]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32), "seed"))
    base = case.random_scores(rng, data.draw(st.sampled_from(sizes), "n_words"))
    pool = data.draw(st.lists(SCORES, min_size=1, max_size=3), "scores")
    share = data.draw(st.sampled_from([0.1, 0.3, 1.0]), "share of such scores")
    vector = flat(base)
    is_extreme = rng.random(vector.size) < share
    scores = like(base, np.where(is_extreme, rng.choice(pool, size=vector.size), vector))
    exact = Exact(case, scores)
    try:
        check(case.build(scores), exact, scores, rng)
    except ValueError as error:
        message = str(error)
    else:
        return
    assert "sentence 0" in message or "largest double" in message
    assert not exact.allowed or np.abs(flat(scores)[flat(scores) > -np.inf]).max() > 1e9


@pytest.mark.parametrize("size", [1e3, 1e15, 1e16, 1e100, 1e300, 1.7e308])
def test_single_roots_with_large_scores(size):
    arcs = np.random.default_rng(0).normal(size=(5, 5))
    arcs[0, 1:] += size
    p = pt.SpanningTree(arcs, single_root=True)
    # A single root has exactly one such arc, so that all trees gain the same.
    np.testing.assert_allclose(p.log_partition, size, rtol=1e-2 if size < 1e4 else 1e-14)
    arcs[0, 1:] = size
    q = pt.SpanningTree(np.where(arcs == size, 0.0, arcs), single_root=True)
    p = pt.SpanningTree(arcs, single_root=True)
    np.testing.assert_allclose(p.marginals, q.marginals, atol=1e-12)
    np.testing.assert_array_equal(p.argmax, q.argmax)
    samples = p.sample(100, np.random.default_rng(0))
    assert ((samples == 0).sum(axis=1) == 1).all()


def test_an_arc_that_no_good_tree_has_costs_no_digits():
    arcs = np.full((4, 4), -np.inf)
    arcs[0, 1], arcs[1, 2], arcs[1, 3], arcs[2, 3] = 0.2, 1.9, -0.6, -1.3
    log_partition = pt.SpanningTree(arcs).log_partition
    arcs[2, 1] = 1.5e15
    np.testing.assert_allclose(pt.SpanningTree(arcs).log_partition, log_partition, rtol=1e-14)
    arcs[0, 2] = -1e16
    np.testing.assert_allclose(pt.SpanningTree(arcs).log_partition, log_partition, rtol=1e-14)


def test_derivations_with_large_scores():
    """A smaller form of what once drew edge 49 of 3."""
    graph = pt.Hypergraph([0, 1, 2, 2], [[], [], [0, 1], [1, 1]], 2)
    p = pt.HypergraphDistribution(graph, [0.0, 1e307, 0.0, 0.0])
    for derivation in p.sample(20, np.random.default_rng(0)):
        assert derivation.tolist() == [3, 1, 1]
    p = pt.HypergraphDistribution(graph, [1e307, 1e307, 0.0, 0.0])
    tops = [derivation[0] for derivation in p.sample(4000, np.random.default_rng(0))]
    np.testing.assert_allclose(np.mean(np.array(tops) == 3), 0.5, atol=0.03)


def test_segments_beside_a_transition_that_takes_all_their_digits():
    """Found by fuzzing: weights of segments overflowed, and what was no number passed as safe."""
    segments = np.array([[[-371.7, 69.8]], [[485.4, 0.0]]])
    p = pt.SegmentChain(segments, np.array([[-1170.9, 1e100], [0.0, 466.8]]))
    assert p.log_partition == 1e100
    np.testing.assert_array_equal(p.marginals.segments[:, 0], [[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(p.marginals.pairwise, [[0.0, 1.0], [0.0, 0.0]])


def test_lost_digits_are_said_to_be_lost():
    # What all sequences share costs nothing; what is lost here is what some of them share.
    p = pt.LinearChain(np.array([[1e20, 1e20], [0.0, 0.0]]), np.array([[1e20, 0.0], [0.0, 1e20]]))
    assert p.log_prob([0, 0]) == pytest.approx(-np.log(2))
    p = pt.LinearChain(np.array([[1e20, 0.0], [0.0, 1e20]]), np.array([[0.0, 0.0], [1e20, 1.0]]))
    assert p.log_prob([0, 1]) == p.entropy == 0.0
    assert p.log_prob([1, 1]) == -1e20
    with pytest.raises(ValueError, match="a max-marginal is beyond the largest double"):
        pt.LinearChain(np.array([[1e308], [1e308]]), np.zeros((1, 1))).max_marginals  # noqa: B018


def test_lists_of_large_scores_are_as_long_as_there_are_structures():
    unary = [np.full((1, 2), 4e9), 4e9 + np.arange(6.0).reshape(3, 2)]
    found = pt.LinearChain(unary, np.zeros((2, 2))).k_best(7)
    assert [len(each) for each in found] == [2, 7]
    assert [score for _, score in found[0]] == [4e9, 4e9]


def test_one_sentence_whose_digits_are_lost_is_enough():
    unary = [np.zeros((2, 2)), np.array([[4e9, 200.0], [-4e9, 0.0]])]
    p = pt.LinearChain(unary, np.where(np.eye(2) > 0, 0.0, -np.inf))
    with pytest.raises(ValueError, match="a max-marginal of sentence 1 .* is lost in rounding"):
        p.max_marginals  # noqa: B018


def test_directions_that_are_larger_than_sums_can_be():
    """They are taken in a unit, and put back."""
    p = pt.LinearChain(np.array([[0.0, 1.0], [2.0, 0.5]]), np.zeros((2, 2)))
    direction = np.arange(8.0) - 3.5
    expected = 2.0**1000 * p.flat_covariance_product(direction)
    np.testing.assert_allclose(p.flat_covariance_product(2.0**1000 * direction), expected)


@pytest.mark.parametrize("n_words", [2, 10])
@pytest.mark.parametrize(("score", "is_lost"), [(0.0, True), (1e6, False)])
def test_scores_out_of_reach_are_sums_of_all_their_parts(n_words, score, is_lost):
    """Their digits are those of a number of words times the largest, and they are none of them."""
    unary = np.zeros((n_words, 2))
    unary[:2, 0], unary[0, 1] = [4e9, score - 4e9], score + 200.0
    p = pt.LinearChain(unary, np.where(np.eye(2) > 0, 0.0, -np.inf))
    for asked in (lambda: p.max_marginals.unary.sum(), lambda: p.k_best(2)[1][1] * n_words):
        if is_lost:
            with pytest.raises(ValueError, match="lost in rounding"):
                asked()
        else:
            assert asked() >= n_words * score


LARGEST = np.finfo(np.float64).max


@pytest.mark.parametrize(
    ("unary", "pairwise"),
    [
        ([[0.5, 1.0], [1.0, 0.0]], [[-1e-8, 1.0], [-0.5, -1.0]]),
        (
            [[-1.0, 0.0], [-1e-8, 1.0], [0.0, 1e-8]],
            [[[0.5, 0.0], [1.0, 1.0]], [[0, 0.5], [-0.5, -1.0]]],
        ),
    ],
)
def test_differences_beyond_the_largest_double(unary, pairwise):
    """Found by fuzzing: what is so much worse than the best of its word was taken for forbidden.

    Two sequences are equally good, by scores that cancel: nobody can be sure of that in doubles.
    """
    p = pt.LinearChain(LARGEST * np.array(unary), LARGEST * np.array(pairwise))
    with pytest.raises(ValueError, match=r"cannot be told apart: .* numbers such as 1.8e\+308"):
        p.marginals  # noqa: B018
    # Where the best is far ahead, it is found though its first tag is farther from the other.
    pairwise = LARGEST * np.array([[-1.0, -np.inf], [-np.inf, 1.0]])
    p = pt.LinearChain(LARGEST * np.array([[1.0, -1.0], [-1.0, 0.0]]), pairwise)
    assert p.argmax.tolist() == [1, 1]
    assert p.log_prob([1, 1]) == p.entropy == p.log_partition == 0.0


def test_sums_that_cancel_keep_their_digits():
    graph = pt.Hypergraph([0, 1, 2, 2, 3], [[], [0], [1], [1], [2]], 3)
    p = pt.HypergraphDistribution(graph, [1e17, 0.0, 0.0, 3.0, -1e17])
    assert p.log_partition == pytest.approx(np.log(1 + np.exp(3.0)), abs=1e-12)
    np.testing.assert_allclose(p.marginals[2], 1 / (1 + np.exp(3.0)), atol=1e-12)
    assert p.best_score == 3.0
    assert p.max_marginals.tolist() == [3.0, 3.0, 0.0, 3.0, 3.0]
    # The first tag's 1e17 is in no good sequence.
    unary = np.array([[1e17, 0.0, 3.0], [0.0, 0.0, 0.0]])
    pairwise = np.where(np.arange(3)[:, None] == 0, -1e18, np.zeros(3))
    p = pt.LinearChain(unary, pairwise)
    assert p.log_partition == pytest.approx(np.log(3 * (1 + np.exp(3.0))), abs=1e-12)
    assert p.log_prob([0, 0]) == -9e17


ASKED = {
    "log_partition": lambda p: p.log_partition,
    "marginals": lambda p: p.marginals,
    "covariance_product": lambda p: p.covariance_product((np.ones((2, 2)), None)),
    "covariance": lambda p: p.covariance(),
    "expectation": lambda p: p.expectation((np.ones((2, 2)), None)),
    "entropy": lambda p: p.entropy,
    "entropy_gradient": lambda p: p.entropy_gradient(),
    "log_prob": lambda p: p.log_prob([0, 1]),
    "argmax": lambda p: p.argmax,
    "best_score": lambda p: p.best_score,
    "max_marginals": lambda p: p.max_marginals,
    "k_best": lambda p: p.k_best(2),
    "sample": lambda p: p.sample(1, np.random.default_rng(0)),
    "distinct": lambda p: p.sample(1, np.random.default_rng(0), replace=False),
    "span_entropy": lambda p: p.span_entropy(0, 1),
}


@pytest.mark.parametrize("what", ASKED)
def test_sequences_that_cannot_be_told_apart_are_an_error(what):
    # Two sequences of 1e17 - 1e17, one of them with 3 beside, which no double of that size holds.
    unary, pairwise = np.array([[1e17, 0.0], [0.0, 3.0]]), np.array([[-1e17, -1e17], [0.0, 0.0]])
    with pytest.raises(ValueError, match=r"sentence 0 .* cancel numbers such as 1e\+17"):
        ASKED[what](pt.LinearChain(unary, pairwise))


def test_large_scores_of_one_sentence_leave_the_others_alone():
    arcs = np.random.default_rng(0).normal(size=(2, 4, 4))
    arcs[1, 0, 1] = 1e200
    p, q = pt.ProjectiveTree(arcs), pt.ProjectiveTree(arcs[0])
    np.testing.assert_allclose(p.marginals[0], q.marginals, atol=1e-13)
    np.testing.assert_allclose(p.log_partition, [q.log_partition, 1e200], rtol=1e-13)


def test_ends_of_chains_that_take_the_digits_of_words():
    unary, table = np.array([[0.0, 3.0]]), np.zeros((2, 2))
    with pytest.raises(ValueError, match=r"start has a score of 1e\+17 where the word's own is 3 "):
        pt.LinearChain(unary, table, start=[1e17, 1e17])
    p = pt.LinearChain(unary - 1e16, table, start=[1e16, 1e16])
    np.testing.assert_allclose(p.marginals.unary, [[1 / (1 + np.exp(4.0)), 1 / (1 + np.exp(-4.0))]])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_right_to_a_millionth_or_refused(case):
    rng = np.random.default_rng(0)
    n_right = 0
    for _ in range(12):
        scores = magnified(case, rng)
        exact, p = Exact(case, scores), case.build(scores)
        if not exact.allowed:
            continue
        gaps = [math.inf if t is None else float(min(exact.best - t, 800)) for t in exact.totals]
        shares = np.exp(-np.array(gaps))
        shares /= shares.sum()
        place = int(rng.integers(len(exact.structures)))
        try:
            found, marginals, best = p.log_partition, flat(p.marginals), exact.total(p.argmax)
            log_prob, entropy = p.log_prob(exact.structures[place]), p.entropy
        except ValueError as error:
            message = str(error)
        else:
            message = ""
        if message:
            assert "sentence 0" in message or "largest double" in message
            continue
        n_right += 1
        assert (
            abs(Fraction(found) - exact.log_partition) <= max(1, abs(exact.log_partition)) / 10**6
        )
        np.testing.assert_allclose(marginals, shares @ exact.counts, rtol=0, atol=1e-6)
        assert exact.best - best <= Fraction(1, 10**6)
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        assert entropy == pytest.approx(-shares @ logs, abs=1e-6)
        if exact.totals[place] is None:
            assert log_prob == -math.inf
        else:
            wanted = exact.totals[place] - exact.log_partition
            assert abs(Fraction(log_prob) - wanted) <= max(1, abs(wanted)) / 10**6
    assert n_right >= 4


def test_what_is_forbidden_is_infinitely_surprising_however_large_scores_are():
    table = np.zeros((2, 2))
    p = pt.LinearChain(np.zeros((1, 2)), table)
    assert p.cross_entropy(pt.LinearChain(np.array([[1e17, -np.inf]]), table)) == math.inf
    assert p.cross_entropy(pt.LinearChain(np.full((1, 2), 1e17), table)) == math.log(2)


def test_a_span_that_cannot_be():
    unary = np.array([[0.0, -np.inf], [0.0, 0.0], [0.0, 0.0]])
    p = pt.LinearChain(unary, np.zeros((2, 2)))
    assert p.constrained_entropy(0, [1, 0], joint=True) == 0.0
    assert p.constrained_entropy(1, [1], joint=True) == pytest.approx(0.5 * math.log(4))


def test_a_distribution_keeps_no_ring_to_itself():
    p = pt.LinearChain(np.zeros((1, 2)), np.zeros((2, 2)))
    assert p.entropy > 0
    assert p.log_prob([0]) < 0
    gone = weakref.ref(p)
    del p
    assert gone() is None


def test_sums_that_overflow_on_the_way():
    """Two and two cancel; scores that stay finite, and their sums, are left as they are."""
    large = np.array([[1.7e308], [1.7e308], [-1.7e308], [-1.7e308]])
    p = pt.LinearChain(large, np.zeros((1, 1)))
    assert p.score([0, 0, 0, 0]) == 0.0
    assert p.expectation((large, np.zeros((1, 1)))) == 0.0
    both = pt.LinearChain([large, large[:1]], np.zeros((1, 1)))
    assert both.score([[0, 0, 0, 0], [0]]).tolist() == [0.0, 1.7e308]
