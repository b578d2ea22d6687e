"""Structures x properties: every structure keeps every promise of `Distribution`, to 1e-9."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from scipy.stats import chisquare

from cases import CASES, HAS_ALL_SIZES, IS_COMPILED, Case, batch, flat, like, padded, unpadded

TOLERANCE = 1e-9
KINDS = ("normal", "ties", "huge", "forbidden", "one structure left")
# Without compilation it is the indices and the branches that are looked at, not the digits.
TRIED = KINDS if HAS_ALL_SIZES else ("normal", "huge", "forbidden")


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


@dataclass(frozen=True)
class Problem:
    """Scores of one sentence, their distribution, and the truth."""

    case: Case
    kind: str
    n_words: int

    def __str__(self):
        return f"{self.case}-{self.kind}-{self.n_words}"

    @cached_property
    def scores(self):
        return make_scores(self.case, self.kind, self.n_words)

    @cached_property
    def p(self):
        return self.case.build(self.scores)

    @cached_property
    def truth(self):
        return self.case.oracle(self.scores)


def problems(*kinds):
    """A test for every structure, kind of scores and size: a failure names all three."""
    tried = [kind for kind in TRIED if kind in (kinds or KINDS)]
    found = [Problem(case, kind, n) for case in CASES for kind in tried for n in case.sizes]
    return pytest.mark.parametrize("problem", found, ids=str)


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture(params=TRIED)
def kind(request):
    return request.param


def close(actual, expected):
    """Within 1e-9, or 1e-12 of the number itself where that is larger."""
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=TOLERANCE)


@problems()
def test_log_partition(problem):
    p, truth = problem.p, problem.truth
    close(p.log_partition, truth.log_partition)


@problems()
def test_count(problem):
    p, truth = problem.p, problem.truth
    assert p.count == (truth.totals > -np.inf).sum()
    assert type(p.count) is int


@problems()
def test_marginals(problem):
    p, truth = problem.p, problem.truth
    close(flat(p.marginals), truth.marginals)
    assert (flat(p.marginals)[(truth.counts[truth.totals > -np.inf] == 0).all(axis=0)] == 0).all()


@problems()
def test_covariance_product(problem):
    p, truth = problem.p, problem.truth
    direction = np.random.default_rng(1).normal(size=truth.scores.size)
    product = p.covariance_product(like(p.marginals, direction))
    close(flat(product), truth.covariance @ direction)


@problems()
def test_covariance(problem):
    p, truth = problem.p, problem.truth
    covariance = p.covariance()
    close(covariance, truth.covariance)
    close(covariance, covariance.T)
    assert np.linalg.eigvalsh((covariance + covariance.T) / 2).min() > -TOLERANCE


@problems()
def test_entropy(problem):
    p, truth = problem.p, problem.truth
    close(p.entropy, truth.entropy)
    finite = np.where(truth.marginals > 0, np.nan_to_num(truth.scores, neginf=0.0), 0.0)
    gradient = -truth.covariance @ finite
    close(flat(p.entropy_gradient()), gradient)


@problems("normal")
def test_gradients_by_finite_differences(problem):
    p, case, scores, step = problem.p, problem.case, problem.scores, 1e-5
    direction = np.random.default_rng(2).normal(size=flat(scores).size)
    before = case.build(like(scores, flat(scores) - step * direction))
    behind = case.build(like(scores, flat(scores) + step * direction))
    slope = (behind.log_partition - before.log_partition) / (2 * step)
    assert slope == pytest.approx(flat(p.marginals) @ direction, abs=1e-6)
    slope = (behind.entropy - before.entropy) / (2 * step)
    assert slope == pytest.approx(flat(p.entropy_gradient()) @ direction, abs=1e-6)


@problems()
def test_argmax(problem):
    p, truth = problem.p, problem.truth
    close(p.score(p.argmax), truth.totals.max())


@problems()
def test_max_marginals(problem):
    p, truth = problem.p, problem.truth
    close(flat(p.max_marginals), truth.max_marginals)


@problems()
def test_all_k_best_in_order(problem):
    p, truth = problem.p, problem.truth
    allowed = np.sort(truth.totals[truth.totals > -np.inf])[::-1]
    found = p.k_best(len(truth.totals) + 3)
    close([score for _, score in found], allowed)
    close([p.score(structure) for structure, _ in found], allowed)
    assert len({flat(structure).tobytes() for structure, _ in found}) == len(found)
    few = p.k_best(2)
    close([score for _, score in few], allowed[:2])


@problems()
def test_score_and_log_prob(problem):
    p, truth = problem.p, problem.truth
    for structure, total in list(zip(truth.structures, truth.totals, strict=True))[:20]:
        close(p.score(structure), total)
        close(p.log_prob(structure), total - truth.log_partition)


@pytest.mark.parametrize("kind", ["normal", "forbidden"])
def test_samples(case, kind):
    problem = Problem(case, kind, case.sizes[-1])
    p, truth = problem.p, problem.truth
    size = 20_000 if IS_COMPILED else (1_000 if HAS_ALL_SIZES else 300)
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


def drawn_apart(p, size, rng):
    samples = p.sample(size, rng, replace=False)
    rows = list(zip(*samples, strict=True)) if isinstance(samples, tuple) else samples
    return [flat(row).astype(np.int64).tobytes() for row in rows]


def test_samples_without_replacement(case, kind):
    """All of them, each once; of pairs, the second from p without the first."""
    small = max(case.sizes[:2]) if kind == "normal" else case.sizes[0]
    problem = Problem(case, kind, small)
    p, truth = problem.p, problem.truth
    rng, allowed = np.random.default_rng(7), np.flatnonzero(truth.totals > -np.inf)
    index = {flat(s).astype(np.int64).tobytes(): k for k, s in enumerate(truth.structures)}
    assert {index[each] for each in drawn_apart(p, len(allowed), rng)} == {*allowed.tolist()}
    with pytest.raises(ValueError, match=rf"has {len(allowed)} structures? in all"):
        p.sample(len(allowed) + 1, rng, replace=False)
    if kind != "normal" or len(allowed) < 2:
        return
    size = 250 if IS_COMPILED else 30
    shares = truth.probabilities
    expected = size * shares[:, None] * shares / (1 - shares[:, None])
    observed = np.zeros_like(expected)
    for _ in range(size):
        first, second = drawn_apart(p, 2, rng)
        observed[index[first], index[second]] += 1
    assert (np.diag(observed) == 0).all()
    np.fill_diagonal(expected, 0.0)
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    # The few draws without compilation can be too few for two classes of pairs.
    if IS_COMPILED or (expected > 0).sum() > 1:
        assert chisquare(observed[expected > 0], expected[expected > 0]).pvalue > 1e-4


@problems()
def test_expectation(problem):
    p, truth = problem.p, problem.truth
    values = np.random.default_rng(4).normal(size=truth.scores.size)
    close(p.expectation(like(p.marginals, values)), truth.marginals @ values)


@problems()
def test_restriction(problem):
    p, truth = problem.p, problem.truth
    rng = np.random.default_rng(5)
    kept = truth.counts[int(np.argmax(truth.totals))] != 0
    allowed = kept | (rng.random(truth.scores.size) < 0.5)
    restricted, expected = p.restricted(like(p.marginals, allowed)), truth.restricted(allowed)
    close(restricted.log_partition, expected.log_partition)
    close(flat(restricted.marginals), expected.marginals)


@problems("normal", "ties", "forbidden")
def test_other_entropies(problem):
    p, truth, case, scores = problem.p, problem.truth, problem.case, problem.scores
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


@problems("normal")
def test_choices_are_the_parts_of_the_first_array(problem):
    arrays = problem.scores if isinstance(problem.scores, tuple) else (problem.scores,)
    expected = [np.full(array.size, index == 0) for index, array in enumerate(arrays)]
    np.testing.assert_array_equal(problem.p.structures.is_choice(), np.concatenate(expected))


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


@pytest.mark.parametrize("case", [case for case in CASES if case.once], ids=str)
def test_arrays_that_come_once_count_for_all_sentences(case, kind):
    sentences = [make_scores(case, kind, n, seed=7) for n in case.sizes]
    # One array for all: that of the longest sentence, which all its own parts allow.
    fields = [list(arrays) for arrays in zip(*sentences, strict=True)]
    for index in case.once:
        if kind in ("forbidden", "one structure left"):
            fields[index][-1] = np.where(fields[index][-1] > -np.inf, fields[index][-1], -9.0)
        fields[index] = [fields[index][-1]] * len(sentences)
    together = case.build(tuple(fields))
    for form in ("list", "padded"):
        given = list(fields)
        if form == "padded":
            n_words = together.structures.n_words
            places = [np.arange(n) for n in n_words]
            given = [
                padded(field, array, places, n_words.max()) if array.n_axes else field
                for field, array in zip(fields, together.structures.arrays, strict=True)
            ]
        for index in case.once:
            given[index] = fields[index][0]
        options = {"n_words": n_words} if form == "padded" else {}
        once = case.build(tuple(given), **options)
        close(once.log_partition, together.log_partition)
        direction = once.marginals
        product = once.covariance_product(direction)
        for index in case.once:
            close(once.marginals[index], np.sum(together.marginals[index], axis=0))
            close(once.max_marginals[index], np.max(together.max_marginals[index], axis=0))
            assert product[index].shape == fields[index][0].shape


@pytest.mark.parametrize("case", [case for case in CASES if case.is_padded], ids=str)
@pytest.mark.parametrize("holes", [False, True])
def test_a_padded_batch_gives_what_its_sentences_give(case, kind, holes):
    sentences = [make_scores(case, kind, n, seed) for n in case.sizes for seed in (7, 8)]
    together, rng = case.build(batch(sentences)), np.random.default_rng(12)
    n_words, n_padded = together.structures.n_words, max(case.sizes) + 2
    places = [
        np.sort(rng.choice(n_padded, size=n, replace=False)) if holes else np.arange(n)
        for n in n_words
    ]
    mask = np.zeros((len(n_words), n_padded), dtype=bool)
    for row, words in zip(mask, places, strict=True):
        row[words] = True
    arrays = together.structures.arrays
    fields = batch(sentences) if len(arrays) > 1 else (batch(sentences),)

    def spread(fields):
        rows = [
            padded(field, array, places, n_padded) if array.n_axes else np.stack(field)
            for field, array in zip(fields, arrays, strict=True)
        ]
        return tuple(rows) if len(rows) > 1 else rows[0]

    options = {"mask": mask} if holes else {"n_words": n_words}
    p = case.build(spread(fields), **options)
    close(p.log_partition, together.log_partition)
    direction = [[rng.normal(size=array.shape) for array in field] for field in fields]
    single = direction if len(fields) > 1 else direction[0]
    pairs = [
        (p.marginals, together.marginals, 0.0),
        (p.max_marginals, together.max_marginals, -np.inf),
        (p.covariance_product(spread(direction)), together.covariance_product(single), 0.0),
    ]
    for found, expected, neutral in pairs:
        found, expected = (v if len(fields) > 1 else (v,) for v in (found, expected))
        for rows, listed, array in zip(found, expected, arrays, strict=True):
            if not array.n_axes:
                close(rows, np.stack(listed))
                continue
            own, rest = unpadded(rows, array, places)
            for mine, theirs in zip(own, listed, strict=True):
                close(mine, theirs)
            assert (rows[rest] == neutral).all()
    scores = together.best.scores
    close(p.score(p.argmax), scores)
    close(p.log_prob(p.argmax), scores - together.log_partition)
    close(p.score([found[0][0] for found in p.k_best(1)]), scores)
    samples = p.sample(3, rng)
    assert np.isfinite(p.score(first_samples(samples))).all()


def first_samples(samples):
    """The first sample of each sentence."""
    if isinstance(samples, tuple):
        return tuple(first_samples(field) for field in samples)
    return samples[:, 0] if isinstance(samples, np.ndarray) else [each[0] for each in samples]


FORMS = [(case, form) for case in CASES for form in ("list", "padded")[: 1 + case.is_padded]]


@pytest.mark.parametrize("case, form", FORMS, ids=str)
def test_an_empty_batch_has_empty_answers(case, form):
    scores = make_scores(case, "normal", case.sizes[-1])
    fields = scores if isinstance(scores, tuple) else (scores,)
    empty = [[] if form == "list" else array[None][:0] for array in fields]
    p = case.build(tuple(empty) if len(fields) > 1 else empty[0])
    assert p.structures.n_sentences == 0
    assert p.log_partition.shape == p.entropy.shape == (0,)
    assert flat(p.marginals if len(fields) > 1 else (p.marginals,)).size == 0
    assert len(p.argmax) == 0
    assert p.k_best(2) == p.covariance() == []
    assert p.structures.is_choice().shape == (0,)


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


def test_structures_of_another_sentence(case):
    """As many words in all, but not in each."""
    first, second = (make_scores(case, "normal", n) for n in case.sizes[-2:])
    p = case.build(batch([first, second]))
    best = [case.build(first).argmax, case.build(second).argmax]
    close(p.score(best), p.best_score)
    with pytest.raises(ValueError, match="sentence 0|derivation"):
        p.score(best[::-1])


@problems("normal", "huge")
def test_few_forbidden_parts_leave_no_structure(problem):
    """As few as can be: every structure uses one of them, and all other scores stay as they are."""
    counts, rng = problem.truth.counts != 0, np.random.default_rng([13, problem.n_words])
    forbidden = np.flatnonzero(counts.any(axis=0))
    for part in rng.permutation(forbidden):
        others = forbidden[forbidden != part]
        if counts[:, others].any(axis=1).all():
            forbidden = others
    vector = flat(problem.scores).copy()
    vector[forbidden] = -np.inf
    blocked = like(problem.scores, vector)
    p = problem.case.build(batch([problem.scores, blocked, problem.scores]))
    for ask in EVERY_QUESTION:
        with pytest.raises(ValueError, match="sentence 1 .* no structure"):
            ask(p)
    first, second = p.structures.part_offsets[1:3]
    assert (p.flat_max_marginals()[first:second] == -np.inf).all()


EVERY_QUESTION = (
    lambda p: p.log_partition,
    lambda p: p.marginals,
    lambda p: p.entropy,
    lambda p: p.covariance(),
    lambda p: p.argmax,
    lambda p: p.max_marginals,
    lambda p: p.k_best(2),
    lambda p: p.sample(1, np.random.default_rng(0)),
)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_no_scores(case, value):
    scores = case.random_scores(np.random.default_rng(11), case.sizes[-1])
    _, counts = case.enumerate(scores)
    vector = flat(scores).copy()
    vector[np.flatnonzero(np.asarray(counts).any(axis=0))[-1]] = value
    with pytest.raises(ValueError, match="must be finite, or -inf"):
        case.build(like(scores, vector))


TREES = ("projective", "spanning", "siblings", "constituents")


@pytest.mark.parametrize("case", [each for each in CASES if each.name.startswith(TREES)], ids=str)
def test_cells_of_trees_that_are_no_parts_may_hold_anything(case):
    """Arcs into the root and from a word to itself, spans that end before they begin."""
    scores = [case.random_scores(np.random.default_rng([14, n]), n) for n in case.sizes[-2:]]
    filled = []
    for each in scores:
        _, counts = case.enumerate(each)
        is_part = np.asarray(counts).any(axis=0)
        anything = np.random.default_rng(15).choice([np.nan, np.inf, 1e300], size=is_part.size)
        filled.append(like(each, np.where(is_part, flat(each), anything)))
    p = case.build(batch(filled))
    for found, each in zip(p.log_partition, scores, strict=True):
        close(found, case.oracle(each).log_partition)
