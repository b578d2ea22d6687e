"""Mann & McCallum's quantities against sums over all tag sequences."""

import itertools

import numpy as np
import pytest

import partita as pt
from cases import all_chains, flat
from oracle import Oracle
from partita.baselines.chains import entropy_gradient_by_quadratic_expectations


def make(shared, n_words, n_tags=3, forbidden=False, seed=0):
    rng = np.random.default_rng([seed, n_words])
    unary = rng.normal(size=(n_words, n_tags))
    pairwise = rng.normal(size=(n_tags, n_tags) if shared else (n_words - 1, n_tags, n_tags))
    if forbidden:
        unary[0, 1] = -np.inf
        pairwise[..., 0, 2] = -np.inf
    structures, counts = all_chains((unary, pairwise))
    truth = Oracle(np.array(structures), np.array(counts), flat((unary, pairwise)))
    return pt.LinearChain(unary, pairwise), truth


def entropy(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


def spread(truth, first, last):
    """Probability of each tag sequence of a span."""
    sequences = truth.structures[:, first : last + 1]
    _, index = np.unique(sequences, axis=0, return_inverse=True)
    return np.bincount(index.ravel(), weights=truth.probabilities)


problems = pytest.mark.parametrize(
    ("shared", "n_words", "forbidden"),
    list(itertools.product([True, False], [1, 2, 5], [False, True])),
)


@problems
def test_span_entropy(shared, n_words, forbidden):
    p, truth = make(shared, n_words, forbidden=forbidden)
    for first in range(n_words):
        for last in range(first, n_words):
            expected = entropy(spread(truth, first, last))
            assert p.span_entropy(first, last) == pytest.approx(expected, abs=1e-9)
    assert p.span_entropy(0, n_words - 1) == pytest.approx(p.entropy, abs=1e-9)


@problems
@pytest.mark.parametrize("scale", [0.0, 1.0, 1000.0])
def test_entropy_by_a_forward_pass(shared, n_words, forbidden, scale):
    p, truth = make(shared, n_words, forbidden=forbidden)
    scores = np.where(
        truth.scores == -np.inf, -np.inf, scale * np.nan_to_num(truth.scores, neginf=0)
    )
    q = p.with_scores(scores)
    expected = Oracle(truth.structures, truth.counts, scores).entropy
    assert q.entropy_by_forward_pass() == pytest.approx(expected, abs=1e-9)
    # What all structures have in common changes nothing, however large it is.
    shifted = scores.copy()
    shifted[:3] += 2.0**30
    assert p.with_scores(shifted).entropy_by_forward_pass() == pytest.approx(expected, abs=1e-6)


def test_entropy_by_a_forward_pass_of_a_hidden_markov_model():
    """The tags given the words, with probabilities of words, in a batch."""
    rng = np.random.default_rng(0)
    start, transitions = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
    emissions = rng.dirichlet(np.ones(4), size=3)
    sentences = [rng.integers(4, size=n) for n in (1, 4, 6)]
    unary = [np.log(emissions[:, words].T) for words in sentences]
    p = pt.LinearChain(unary, np.log(transitions), start=np.log(start))
    expected = []
    for words in sentences:
        joint = np.array(
            [
                start[tags[0]]
                * np.prod([transitions[a, b] for a, b in itertools.pairwise(tags)])
                * np.prod(emissions[list(tags), words])
                for tags in itertools.product(range(3), repeat=len(words))
            ]
        )
        expected.append(entropy(joint / joint.sum()))
    np.testing.assert_allclose(p.entropy_by_forward_pass(), expected, atol=1e-12)


def test_entropy_by_a_forward_pass_of_nothing():
    p = pt.LinearChain(np.full((2, 2), -np.inf), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="has no structure"):
        p.entropy_by_forward_pass()


@problems
def test_constrained_entropy(shared, n_words, forbidden):
    p, truth = make(shared, n_words, forbidden=forbidden)
    for first, last in [(0, 0), (0, n_words - 1), (n_words // 2, n_words - 1)]:
        total = 0.0
        for tags in itertools.product(range(3), repeat=last - first + 1):
            fixed = (truth.structures[:, first : last + 1] == tags).all(axis=1)
            mass = truth.probabilities[fixed]
            joint = p.constrained_entropy(first, tags, joint=True)
            assert joint == pytest.approx(entropy(mass), abs=1e-9)
            if mass.sum() > 0:
                conditional = p.constrained_entropy(first, tags)
                assert conditional == pytest.approx(entropy(mass / mass.sum()), abs=1e-9)
            total += joint
        assert total == pytest.approx(truth.entropy, abs=1e-9)


@problems
def test_lattices(shared, n_words, forbidden):
    p, truth = make(shared, n_words, forbidden=forbidden)
    for t, tag in itertools.product(range(n_words), range(3)):
        fixed = truth.probabilities * (truth.structures[:, t] == tag)
        if fixed.sum() == 0:
            continue
        conditional = Oracle(truth.structures, truth.counts, truth.scores)
        conditional.probabilities = fixed / fixed.sum()
        before = entropy(spread(conditional, 0, t - 1)) if t else 0.0
        behind = entropy(spread(conditional, t + 1, n_words - 1)) if t + 1 < n_words else 0.0
        assert p.entropy_lattices.before[t, tag] == pytest.approx(before, abs=1e-9)
        assert p.entropy_lattices.behind[t, tag] == pytest.approx(behind, abs=1e-9)


@problems
def test_entropy_gradient_three_ways(shared, n_words, forbidden):
    p, truth = make(shared, n_words, forbidden=forbidden)
    ((unary,), (table,)) = p.structures.split(p.scores)
    finite = np.where(truth.scores == -np.inf, 0.0, truth.scores)
    expected = -truth.covariance @ finite
    for gradient in (
        p.entropy_gradient(),
        p.entropy_gradient_by_lattices(),
        entropy_gradient_by_quadratic_expectations(unary, table),
    ):
        np.testing.assert_allclose(flat(gradient), expected, atol=1e-9, rtol=0)


@problems
def test_most_uncertain_span(shared, n_words, forbidden):
    p, truth = make(shared, n_words, forbidden=forbidden)
    for size in range(1, n_words + 1):
        entropies = [
            entropy(spread(truth, first, first + size - 1)) for first in range(n_words - size + 1)
        ]
        span = p.most_uncertain_span(size)
        assert span.entropy == pytest.approx(max(entropies), abs=1e-9)
        assert entropies[span.first] == pytest.approx(max(entropies), abs=1e-9)
        assert span.last - span.first + 1 == size


def test_n_best_entropy_grows_into_the_entropy():
    p, truth = make(True, 4)
    best = np.sort(truth.probabilities)[::-1]
    for k in (1, 3, 81):
        assert p.n_best_entropy(k) == pytest.approx(entropy(best[:k] / best[:k].sum()), abs=1e-9)
    assert p.n_best_entropy(1000) == pytest.approx(p.entropy, abs=1e-9)


def test_batches():
    singles = [make(True, n, seed=n)[0] for n in (2, 5, 3)]
    unaries = [p.structures.split(p.scores)[0][0] for p in singles]
    tables = [p.structures.split(p.scores)[1][0] for p in singles]
    together = pt.LinearChain(unaries, tables)
    np.testing.assert_allclose(
        together.span_entropy([0, 1, 2], [1, 3, 2]),
        [p.span_entropy(*span) for p, span in zip(singles, [(0, 1), (1, 3), (2, 2)], strict=True)],
        rtol=1e-9,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        together.constrained_entropy([0, 3, 1], [[1], [0, 2], [2, 2]], joint=True),
        [
            p.constrained_entropy(first, tags, joint=True)
            for p, first, tags in zip(singles, [0, 3, 1], [[1], [0, 2], [2, 2]], strict=True)
        ],
        rtol=1e-9,
        atol=1e-12,
    )
    assert together.most_uncertain_span(2) == [p.most_uncertain_span(2) for p in singles]
    for index, p in enumerate(singles):
        np.testing.assert_array_equal(
            together.entropy_lattices.before[index], p.entropy_lattices.before
        )
        np.testing.assert_allclose(
            flat(together.entropy_gradient_by_lattices().pairwise[index]),
            flat(p.entropy_gradient().pairwise),
            atol=1e-12,
            rtol=0,
        )


@pytest.mark.parametrize(("first", "last"), [(-1, 0), (0, 5), (3, 2)])
def test_a_span_outside_the_sentence(first, last):
    p, _ = make(True, 5)
    with pytest.raises(ValueError, match=f"words {first} to {last} of a sentence of 5"):
        p.span_entropy(first, last)


@pytest.mark.parametrize(("n_words", "sigma"), [(20, 100), (2000, 300)])
def test_three_entropy_gradients_agree_where_scores_are_large(n_words, sigma):
    rng = np.random.default_rng(1)
    unary, table = sigma * rng.normal(size=(n_words, 9)), sigma * rng.normal(size=(9, 9))
    p = pt.LinearChain(unary, table)
    expected = p.entropy_gradient_by_lattices().unary
    for q in (p, p.by_position):
        np.testing.assert_allclose(q.entropy_gradient().unary, expected, atol=1e-7, rtol=0)
    if n_words < 100:
        jiao = entropy_gradient_by_quadratic_expectations(unary, table)
        np.testing.assert_allclose(jiao.unary, expected, atol=1e-7, rtol=0)


def test_spans_that_are_no_numbers():
    p = pt.LinearChain([np.zeros((5, 2)), np.zeros((3, 2))], np.zeros((2, 2)))
    for first in (0.0, None, [0, 0, 0]):
        with pytest.raises(ValueError, match="expected a whole number, or one for each of the 2"):
            p.span_entropy(first, 1)
    with pytest.raises(ValueError, match="1 tags came for a batch of 2 sentences"):
        p.constrained_entropy(0, [[0]])
    for n_words in (0, 2.0):
        with pytest.raises(ValueError, match=f"n_words is {n_words}; expected at least 1"):
            p.most_uncertain_span(n_words)


def test_lattices_that_were_written_to():
    p, _ = make(True, 5)
    expected = p.constrained_entropy(2, [1])
    p.entropy_lattices.before[...] = 7
    assert p.constrained_entropy(2, [1]) == expected


def test_tags_that_are_none():
    p, _ = make(True, 5)
    for tags in ([], [3], [0.5], [-1]):
        with pytest.raises(ValueError, match="tags is"):
            p.constrained_entropy(0, tags)
