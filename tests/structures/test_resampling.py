"""Markov chains on structures: the exact transition matrix of every step, by enumeration."""

import itertools

import numpy as np
import pytest

import chances
import partita as pt
from cases import CASES, flat
from hypergraphs import all_derivations, edge_counts
from oracle import Oracle
from partita.kernels.chains import gibbs as chain_gibbs
from partita.kernels.forests import resample as forest_resample
from partita.kernels.forests import sample as forest_sample
from partita.kernels.segments import gibbs as segment_gibbs
from partita.kernels.trees import gibbs as tree_gibbs
from partita.structures.resampling import Resampling, random_partners, random_visits, resampled

BY_NAME = {str(case): case for case in CASES}
TREES = ["projective", "projective-one-root", "spanning", "spanning-one-root"]
KINDS = ["normal", "forbidden", "ties", "huge"]


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """The kernels as Python functions, so that chances can stand in for numbers.

    No kernel imports from these modules but those that are here: others would keep what is patched.
    """
    for module in (chain_gibbs, segment_gibbs, tree_gibbs, forest_resample, forest_sample):
        for name, function in list(vars(module).items()):
            if hasattr(function, "py_func"):
                monkeypatch.setattr(module, name, function.py_func)


def changed(scores, kind, rng):
    """Scores of a kind; what is forbidden leaves some structures."""
    if kind == "forbidden":
        return np.where(rng.random(scores.shape) < 0.25, -np.inf, scores)
    return {"normal": scores, "ties": 0.0 * scores, "huge": 1000.0 * scores}[kind]


def as_row(structure, keys):
    return keys[tuple(np.asarray(structure).tolist())]


def matrix(structures, step):
    """T[i, j]: the probability that structure i becomes j; step(structure, rng) -> structure."""
    keys = {tuple(np.asarray(s).tolist()): row for row, s in enumerate(structures)}
    result = np.zeros((len(structures), len(structures)))
    for row, structure in enumerate(structures):
        found = chances.outcomes(lambda rng, s=structure: tuple(step(np.array(s), rng)))
        for after, probability in found.items():
            result[row, keys[after]] += probability
    np.testing.assert_allclose(result.sum(axis=1), 1.0, atol=1e-12)
    return result


def check_balance(transitions, truth):
    """p(i) T[i, j] = p(j) T[j, i], so that p T = p; nothing leads to what is forbidden."""
    p, flow = truth.probabilities, truth.probabilities[:, None] * transitions
    np.testing.assert_allclose(flow, flow.T, atol=1e-12)
    np.testing.assert_allclose(p @ transitions, p, atol=1e-12)
    possible = truth.totals > -np.inf
    assert (transitions[np.ix_(possible, ~possible)] == 0).all()


def is_irreducible(transitions):
    reach = (transitions > 0) | np.eye(len(transitions), dtype=bool)
    for _ in range(len(transitions)):
        reach = reach @ reach
    return reach.all()


def tag_step(p, word):
    chains, n_tags = p.structures, p.structures.n_tags
    stride = 0 if chains.shared else n_tags**2

    def step(tags, rng):
        room = np.empty(n_tags), np.empty(n_tags)
        chain_gibbs.visit(p.scores, 0, n_tags, stride, word, rng.random(), tags, *room)
        return tags.tolist()

    return step


def segment_step(p, word):
    sets, size = p.structures, p.structures.n_tags * (p.structures.n_tags + 1)
    n_words = int(sets.n_words[0])

    def step(rows, rng):
        first, end, tag = np.reshape(rows, (-1, 3)).T
        is_first, tags = np.isin(np.arange(n_words), first), np.repeat(tag, end - first)
        segment_gibbs.visit(
            p.scores, 0, p.scores.size - sets.n_tags**2, n_words, sets.longest, sets.n_tags, word,
            rng.random(), is_first, tags, np.empty(size), np.empty(size),
        )  # fmt: skip
        first = np.flatnonzero(is_first)
        return np.stack([first, [*first[1:], n_words], tags[first]], axis=1).ravel().tolist()

    return step


def head_step(p, word, partner):
    trees, width = p.structures, p.structures.n_words[0] + 1
    arcs = p.scores.reshape(width, width)

    def step(heads, rng):
        room = (
            np.empty(width, dtype=np.int64),
            np.empty(width + 1, dtype=np.int64),
            np.empty(width),
            np.empty(width),
        )
        kind = trees.is_projective, trees.single_root
        tree_gibbs.visit(arcs, *kind, word, partner, rng.random(), heads, *room)
        return heads.tolist()

    return step


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["chain-shared", "chain-by-position"])
@pytest.mark.parametrize("n_words", [1, 2, 4])
def test_tags_are_in_balance_and_all_are_reached(name, kind, n_words):
    case, rng = BY_NAME[name], np.random.default_rng(n_words)
    scores = tuple(changed(array, kind, rng) for array in case.random_scores(rng, n_words))
    scores[0][:, 0], scores[1][..., 0, :] = 0.0, 0.0  # something is possible
    p, truth = case.build(scores), case.oracle(scores)
    steps = [matrix(truth.structures, tag_step(p, word)) for word in range(n_words)]
    for transitions in steps:
        check_balance(transitions, truth)
    if kind in ("normal", "ties"):
        assert is_irreducible(sum(steps))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_words, longest", [(1, 2), (2, 1), (3, 2), (4, 3)])
def test_segments_are_in_balance_and_all_are_reached(kind, n_words, longest):
    rng = np.random.default_rng(n_words)
    scores = rng.normal(size=(n_words, longest, 2)), rng.normal(size=(2, 2))
    scores = tuple(changed(array, kind, rng) for array in scores)
    scores[0][:, 0, 0], scores[1][0, 0] = 0.0, 0.0  # something is possible
    p, truth = pt.SegmentChain(*scores), BY_NAME["segments"].oracle(scores)
    rows = [structure.ravel() for structure in truth.structures]
    steps = [matrix(rows, segment_step(p, word)) for word in range(n_words)]
    for transitions in steps:
        check_balance(transitions, truth)
    if kind in ("normal", "ties"):
        assert is_irreducible(sum(steps))


def test_segments_of_a_batch_are_resampled():
    rng = np.random.default_rng(0)
    p = pt.SegmentChain([rng.normal(size=(n, 3, 2)) for n in (4, 1, 5)], np.zeros((2, 2)))
    found = resampled(p.structures, p.scores, p.argmax, 3, rng)
    assert np.isfinite(p.score(found)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("n_words", [1, 2, 3, 4])
def test_heads_are_in_balance_and_all_are_reached(name, kind, n_words):
    case, rng = BY_NAME[name], np.random.default_rng(n_words)
    scores = changed(case.random_scores(rng, n_words), kind, rng)
    scores[0, 1:] = np.maximum(scores[0, 1:], -50.0)  # something is possible,
    scores[1, 2:] = np.maximum(scores[1, 2:], -50.0)  # with a single root too
    p, truth = case.build(scores), case.oracle(scores)
    words = range(1, n_words + 1)
    pairs = [*itertools.permutations(words, 2)] if n_words > 1 else [(1, 0)]
    steps = [matrix(truth.structures, head_step(p, *pair)) for pair in pairs]
    for transitions in steps:
        check_balance(transitions, truth)
    if kind in ("normal", "ties"):
        assert is_irreducible(sum(steps))


def test_one_visit_reaches_all_that_it_may():
    """Heads of word 2 of three, when 1 <- 0 and 3 <- 1: every one but itself."""
    p = pt.SpanningTree(np.zeros((4, 4)))
    found = chances.outcomes(lambda rng: tuple(head_step(p, 2, 0)(np.array([0, 0, 1]), rng)))
    assert {tuple(np.round([v], 12)): h for h, v in found.items()}.keys() == {(round(1 / 3, 12),)}
    assert sorted(heads[1] for heads in found) == [0, 1, 3]
    # Projective: the arc 1 -> 3 covers word 2, which cannot hang on the root.
    p = pt.ProjectiveTree(np.zeros((4, 4)))
    found = chances.outcomes(lambda rng: tuple(head_step(p, 2, 0)(np.array([0, 1, 1]), rng)))
    assert sorted(heads[1] for heads in found) == [1, 3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_edges", [5, 7, 8, 13, 16])
def test_derivations_are_in_balance_and_all_are_reached(kind, n_edges):
    case, rng = BY_NAME["forest"], np.random.default_rng(n_edges)
    scores = changed(case.random_scores(rng, n_edges), kind, rng)
    p, truth = case.build(scores), case.oracle(scores)
    if np.all(truth.totals == -np.inf):
        scores = np.where(scores == -np.inf, -3.0, scores)
        p, truth = case.build(scores), case.oracle(scores)

    def step(derivation, rng):
        return p.structures.resampled(p.scores, [derivation], 1, rng)[0].tolist()

    transitions = matrix(truth.structures, step)
    check_balance(transitions, truth)
    possible = truth.totals > -np.inf
    # A probability of e^-1000 is 0: such derivations are not reached.
    if kind != "huge":
        assert is_irreducible(transitions[np.ix_(possible, possible)])


def test_derivations_that_differ_in_length_only():
    """A chain of unary rules of every length up to 4, all equally likely."""
    heads, tails = [0, 1, 1, 2, 2, 3, 3], [(), (0,), (), (1,), (), (2,), ()]
    p = pt.HypergraphDistribution(pt.Hypergraph(heads, tails, 3), np.zeros(7))
    derivations = all_derivations(heads, tails, 3)
    truth = Oracle(derivations, np.array(edge_counts(derivations, 7)), np.zeros(7))
    assert sorted(map(len, derivations)) == [1, 2, 3, 4]

    def step(derivation, rng):
        return p.structures.resampled(p.scores, [derivation], 1, rng)[0].tolist()

    check_balance(matrix(derivations, step), truth)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_many_steps_sample_the_distribution(case, monkeypatch):
    monkeypatch.undo()  # compiled
    rng = np.random.default_rng(3)
    scores = case.random_scores(rng, case.sizes[2])
    n = 1500
    single, truth = case.build(scores), case.oracle(scores)
    several = [scores] * n if not isinstance(scores, tuple) else tuple([s] * n for s in scores)
    p = case.build(several)
    start = [truth.structures[int(truth.totals.argmax())]]
    if not isinstance(single.structures, Resampling):
        with pytest.raises(ValueError, match="offer no step of a Markov chain"):
            resampled(p.structures, p.scores, start * n, 1, rng)
        return
    after = resampled(p.structures, p.scores, start * n, 100, rng)
    counts = p.structures.counts(after).reshape(n, -1).mean(axis=0)
    deviation = np.sqrt(np.diag(truth.covariance) / n)
    assert (np.abs(counts - truth.marginals) <= 5 * deviation + 1e-9).all()
    one = resampled(p.structures, p.scores, start * n, 1, rng)
    far = p.structures.counts(one).reshape(n, -1).mean(axis=0)
    assert np.abs(far - flat(single.counts(start[0]))).max() > 0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_forbidden_start_is_no_trouble(case, monkeypatch):
    monkeypatch.undo()
    rng = np.random.default_rng(4)
    scores = case.random_scores(rng, case.sizes[1])
    truth = case.oracle(scores)
    p = case.build(scores)
    nothing = np.full(p.structures.n_parts, -np.inf)
    after = resampled(p.structures, nothing, truth.structures[:1], 3, rng)
    np.testing.assert_array_equal(
        p.structures.counts(after), p.structures.counts(truth.structures[:1])
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_forbidden_part_of_a_derivation_stops_no_others(seed):
    """Where nothing else can be derived the step is none, and the next one finds a way around."""
    graph = pt.Hypergraph([0, 1, 2, 2], [[], [], [0], [1]], 2)
    scores, rng = np.array([-np.inf, 0.0, 0.0, 0.0]), np.random.default_rng(seed)
    p = pt.HypergraphDistribution(graph, scores)
    [after] = resampled(p.structures, scores, [np.array([2, 0])], 60, rng)
    assert after.tolist() == [3, 1]


def test_visits_are_permutations_and_partners_are_others():
    n_words = np.array([1, 4, 2])
    visits = random_visits(n_words, 500, np.random.default_rng(0))
    partners = random_partners(n_words, visits, np.random.default_rng(1))
    for first, n in ((0, 1), (1, 4), (5, 2)):
        mine, others = visits[:, first : first + n], partners[:, first : first + n]
        assert (np.sort(mine, axis=1) == np.arange(n)).all()
        assert (mine != others).all()
        assert len(np.unique(mine, axis=0)) == [1, 1, 2, 6, 24][n]
        expected = set(range(n)) if n > 1 else {-1}
        assert set(np.unique(others).tolist()) == expected
