"""Structures x properties: every structure keeps every promise of `Distribution`, to 1e-9."""

import numpy as np
import pytest
from scipy.stats import chisquare

from cases import CASES, IS_COMPILED, batch, flat, like

TOLERANCE = 1e-9
KINDS = ("normal", "ties", "huge", "forbidden", "one structure left")


def make_scores(case, kind, n_words, seed=0):
    """Scores of one sentence, of a kind that tends to break implementations."""
    rng = np.random.default_rng([seed, n_words, KINDS.index(kind)])
    scores = case.random_scores(rng, n_words)
    vector = flat(scores)
    if kind == "ties":
        vector = np.round(vector)
    if kind == "huge":
        vector = 1000.0 * rng.choice([-1.0, 0.0, 1.0], size=vector.size) + vector
    structures, counts = case.enumerate(scores)
    kept = np.asarray(counts)[rng.integers(len(structures))] != 0
    if kind == "forbidden":
        vector = np.where(kept | (rng.random(vector.size) < 0.6), vector, -np.inf)
    if kind == "one structure left":
        vector = np.where(kept, vector, -np.inf)
    return like(scores, vector)


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def problems(case, kind):
    """Distribution and truth for every size."""
    all_scores = [make_scores(case, kind, n_words) for n_words in case.sizes]
    return [(case.build(scores), case.oracle(scores)) for scores in all_scores]


def close(actual, expected):
    """Within 1e-9, or 1e-12 of the number itself where that is larger."""
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=TOLERANCE)


def test_log_partition(problems):
    for p, truth in problems:
        close(p.log_partition, truth.log_partition)


def test_marginals(problems):
    for p, truth in problems:
        close(flat(p.marginals), truth.marginals)
        assert (
            flat(p.marginals)[(truth.counts[truth.totals > -np.inf] == 0).all(axis=0)] == 0
        ).all()


def test_covariance_product(problems):
    for p, truth in problems:
        direction = np.random.default_rng(1).normal(size=truth.scores.size)
        product = p.covariance_product(like(p.marginals, direction))
        close(flat(product), truth.covariance @ direction)


def test_covariance(problems):
    for p, truth in problems:
        covariance = p.covariance()
        close(covariance, truth.covariance)
        close(covariance, covariance.T)
        assert np.linalg.eigvalsh((covariance + covariance.T) / 2).min() > -TOLERANCE


def test_entropy(problems):
    for p, truth in problems:
        close(p.entropy, truth.entropy)
        finite = np.where(truth.marginals > 0, np.nan_to_num(truth.scores, neginf=0.0), 0.0)
        gradient = -truth.covariance @ finite
        close(flat(p.entropy_gradient()), gradient)


@pytest.mark.parametrize("kind", ["normal"])
def test_gradients_by_finite_differences(case, kind, problems):
    for (p, truth), n_words in zip(problems, case.sizes, strict=True):
        scores, step = make_scores(case, kind, n_words), 1e-5
        direction = np.random.default_rng(2).normal(size=truth.scores.size)
        before = case.build(like(scores, flat(scores) - step * direction))
        behind = case.build(like(scores, flat(scores) + step * direction))
        slope = (behind.log_partition - before.log_partition) / (2 * step)
        assert slope == pytest.approx(flat(p.marginals) @ direction, abs=1e-6)
        slope = (behind.entropy - before.entropy) / (2 * step)
        assert slope == pytest.approx(flat(p.entropy_gradient()) @ direction, abs=1e-6)


def test_argmax(problems):
    for p, truth in problems:
        close(p.score(p.argmax), truth.totals.max())


def test_max_marginals(problems):
    for p, truth in problems:
        close(flat(p.max_marginals), truth.max_marginals)


def test_all_k_best_in_order(problems):
    for p, truth in problems:
        allowed = np.sort(truth.totals[truth.totals > -np.inf])[::-1]
        found = p.k_best(len(truth.totals) + 3)
        close([score for _, score in found], allowed)
        close([p.score(structure) for structure, _ in found], allowed)
        assert len({flat(structure).tobytes() for structure, _ in found}) == len(found)
        few = p.k_best(2)
        close([score for _, score in few], allowed[:2])


def test_score_and_log_prob(problems):
    for p, truth in problems:
        for structure, total in list(zip(truth.structures, truth.totals, strict=True))[:20]:
            close(p.score(structure), total)
            close(p.log_prob(structure), total - truth.log_partition)


@pytest.mark.parametrize("kind", ["normal", "forbidden"])
def test_samples(case, problems):
    p, truth = problems[-1]
    size = 20_000 if IS_COMPILED else 300
    samples = p.sample(size, np.random.default_rng(3))
    rows = list(zip(*samples, strict=True)) if isinstance(samples, tuple) else samples
    index = {flat(structure).tobytes(): k for k, structure in enumerate(truth.structures)}
    dtype = flat(truth.structures[0]).dtype
    observed = np.bincount(
        [index[flat(row).astype(dtype).tobytes()] for row in rows], minlength=len(truth.structures)
    )
    assert (observed[truth.probabilities == 0] == 0).all()
    expected = size * truth.probabilities
    # Rare structures are counted together: chi-square wants a handful of each.
    rare = expected < 10
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    assert chisquare(observed[expected > 0], expected[expected > 0]).pvalue > 1e-4


def test_expectation(problems):
    for p, truth in problems:
        values = np.random.default_rng(4).normal(size=truth.scores.size)
        close(p.expectation(like(p.marginals, values)), truth.marginals @ values)


def test_restriction(problems):
    for p, truth in problems:
        rng = np.random.default_rng(5)
        kept = truth.counts[int(np.argmax(truth.totals))] != 0
        allowed = kept | (rng.random(truth.scores.size) < 0.5)
        restricted, expected = p.restricted(like(p.marginals, allowed)), truth.restricted(allowed)
        close(restricted.log_partition, expected.log_partition)
        close(flat(restricted.marginals), expected.marginals)


@pytest.mark.parametrize("kind", ["normal", "ties", "forbidden"])
def test_other_entropies(case, kind):
    for n_words in case.sizes:
        scores = make_scores(case, kind, n_words)
        p, truth = case.build(scores), case.oracle(scores)
        noise = np.random.default_rng(6).normal(size=truth.scores.size)
        q = case.build(like(scores, flat(scores) + noise))
        other = case.oracle(like(scores, flat(scores) + noise))
        support = truth.probabilities > 0
        log_q = np.log(other.probabilities[support])
        close(p.cross_entropy(q), -(truth.probabilities[support] * log_q).sum())
        close(p.kl_divergence(q), p.cross_entropy(q) - truth.entropy)
        for alpha in (0.0, 0.5, 2.0):
            close(p.renyi_entropy(alpha), truth.renyi_entropy(alpha))
        close(p.renyi_entropy(1), truth.entropy)
        close(p.renyi_entropy(np.inf), -np.log(truth.probabilities.max()))


def test_float32_scores_are_computed_in_float64(case):
    scores = make_scores(case, "normal", case.sizes[-1])
    single = like(scores, flat(scores).astype(np.float32))
    p = case.build(single)
    truth = case.oracle(like(scores, flat(scores).astype(np.float32).astype(np.float64)))
    close(p.log_partition, truth.log_partition)
    close(flat(p.marginals), truth.marginals)


def test_a_batch_gives_what_its_sentences_give(case, kind):
    sentences = [make_scores(case, kind, n, seed) for n in case.sizes for seed in (7, 8)]
    together = case.build(batch(sentences))
    singly = [case.build(scores) for scores in sentences]
    close(together.log_partition, [p.log_partition for p in singly])
    close(together.entropy, [p.entropy for p in singly])
    close(together.score(together.argmax), [p.score(p.argmax) for p in singly])
    structures = [p.argmax for p in singly]
    close(together.log_prob(structures), [p.log_prob(p.argmax) for p in singly])
    marginals = np.concatenate([flat(p.marginals) for p in singly])
    np.testing.assert_array_equal(together.inference.marginals, marginals)
    for covariance, p in zip(together.covariance(), singly, strict=True):
        close(covariance, p.covariance())
    for listed, p in zip(together.k_best(3), singly, strict=True):
        close([score for _, score in listed], [score for _, score in p.k_best(3)])


def test_writing_to_a_result_changes_no_later_one(case):
    scores = make_scores(case, "normal", case.sizes[-1])
    fields = scores if isinstance(scores, tuple) else (scores,)
    p = case.build(scores)
    marginals, best = flat(p.marginals).copy(), flat(p.argmax).copy()
    product = flat(p.covariance_product(like(scores, marginals)))
    everything = [fields, p.marginals, p.argmax, *(found for found, _ in p.k_best(2))]
    for array in leaves(everything):
        array[...] = 1
    np.testing.assert_array_equal(flat(p.marginals), marginals)
    np.testing.assert_array_equal(flat(p.argmax), best)
    np.testing.assert_array_equal(flat(p.covariance_product(like(scores, marginals))), product)
    batch_of_two = case.build(batch([make_scores(case, "normal", n) for n in case.sizes[-2:]]))
    before = batch_of_two.log_partition.copy()
    batch_of_two.log_partition[:] = 1
    np.testing.assert_array_equal(batch_of_two.log_partition, before)


def leaves(values):
    """The arrays in nested lists and tuples."""
    if isinstance(values, np.ndarray):
        return [values]
    return [array for value in values for array in leaves(value)]


def test_one_long_sentence(case):
    n_words = case.n_words_long if IS_COMPILED else 12
    rng = np.random.default_rng(9)
    scores = case.random_scores(rng, n_words)
    p = case.build(scores)
    direction = rng.normal(size=flat(scores).size)
    step = 1e-4
    before, behind = (
        case.build(like(scores, flat(scores) + sign * step * direction)) for sign in (-1, 1)
    )
    slope = (behind.log_partition - before.log_partition) / (2 * step)
    assert slope == pytest.approx(flat(p.marginals) @ direction, rel=1e-5)
    product = flat(p.covariance_product(like(scores, direction)))
    moved = (flat(behind.marginals) - flat(before.marginals)) / (2 * step)
    np.testing.assert_allclose(product, moved, atol=1e-6, rtol=0)
    assert p.entropy > 0
    assert p.log_prob(p.argmax) < 0


def test_empty_support_is_an_error(case):
    scores = case.random_scores(np.random.default_rng(10), case.sizes[-1])
    p = case.build(like(scores, np.full(flat(scores).size, -np.inf)))
    for ask in (lambda: p.log_partition, lambda: p.argmax, lambda: p.k_best(1)):
        with pytest.raises(ValueError, match="no structure"):
            ask()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_no_scores(case, value):
    scores = case.random_scores(np.random.default_rng(11), case.sizes[-1])
    _, counts = case.enumerate(scores)
    vector = flat(scores).copy()
    vector[np.flatnonzero(np.asarray(counts).any(axis=0))[-1]] = value
    with pytest.raises(ValueError, match="must be finite, or -inf"):
        case.build(like(scores, vector))
