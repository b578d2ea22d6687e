"""D(x) as structures: closed forms, limits of D_n(x), differences, and what is no derivation."""

import math

import numpy as np
import pytest

from partita.distribution.hypergraph import HypergraphDistribution
from partita.distribution.parts import PartDistribution
from partita.grammars.choices import TargetChoices
from partita.grammars.itg import bounded_forest
from partita.grammars.loops import LoopedForest
from partita.grammars.parts import RuleScores
from partita.grammars.targets import BoundedTargets
from partita.grammars.unbounded import DivergenceError, unbounded_log_partition
from partita.grammars.unbounded_targets import UnboundedTargets

FORMS = pytest.mark.parametrize("normal_form", [False, True])
CHOICES = [
    TargetChoices(np.zeros(0, dtype=np.int64), np.array([0])),
    TargetChoices(np.array([7, 8]), np.array([0, 2])),
    TargetChoices(np.array([7, 8, 9]), np.array([0, 2, 3])),
    TargetChoices(np.array([4, 5, 6, 7]), np.array([0, 1, 1, 4])),  # a word without translations
]
SENTENCES = pytest.mark.parametrize("choices", CHOICES, ids=lambda each: str(each.n_groups))


BINARY = (math.log(0.3), math.log(0.2))


def scores_of(choices, insertion=-2.5):
    rng = np.random.default_rng([0, choices.n_groups])
    words = rng.normal(size=len(choices.words) + choices.n_groups)
    return np.concatenate([words, [insertion, *BINARY]])


def distribution(choices, scores, normal_form):
    return PartDistribution(UnboundedTargets([choices], normal_form=normal_form), [scores])


def summed(choices, scores):
    """Links as one score per word, and the rest, for the closed form."""
    n_links = len(choices.words)
    links = choices.log_sums(scores[:n_links])
    return links, scores[n_links:-3], *scores[-3:].tolist()


def bounded(choices, longest, normal_form, scores):
    """D_n(x) by hypergraph, and its counts of the same parts."""
    groups = np.split(np.arange(len(choices.words)), choices.offsets[1:-1])
    groups = groups if choices.n_groups else []
    everything = np.ones(choices.n_groups, dtype=bool)
    forest = bounded_forest(groups, everything, True, longest, normal_form=normal_form)
    rules = RuleScores.from_flat(scores, (len(choices.words),), choices.n_groups)
    p = HypergraphDistribution(forest.hypergraph, forest.edge_scores(rules))
    return p, forest


@FORMS
@SENTENCES
@pytest.mark.parametrize("insertion", [-0.9, -2.5, -60.0, -np.inf])
def test_the_sum_is_the_closed_form(choices, normal_form, insertion):
    scores = scores_of(choices, insertion)
    if choices.n_groups == 0 and insertion == -np.inf:
        with pytest.raises(ValueError, match="has no structure"):
            _ = distribution(choices, scores, normal_form).log_partition
        return
    p = distribution(choices, scores, normal_form)
    expected = unbounded_log_partition(*summed(choices, scores), normal_form=normal_form)
    np.testing.assert_allclose(p.log_partition, [expected], rtol=1e-12, atol=1e-12)


@FORMS
@SENTENCES
def test_it_is_the_limit_of_what_is_bounded(choices, normal_form):
    """With rare insertions 14 target words are as good as infinitely many."""
    scores = scores_of(choices, insertion=-6.0)
    p = distribution(choices, scores, normal_form)
    q, forest = bounded(choices, 14, normal_form, scores)
    np.testing.assert_allclose(p.log_partition, [q.log_partition], atol=1e-12)
    expected = forest.rule_counts(q.marginals).flat()
    np.testing.assert_allclose(p.marginals[0], expected, atol=1e-11)
    assert p.entropy[0] == pytest.approx(q.entropy, abs=1e-10)
    direction = np.random.default_rng(1).normal(size=len(scores))
    along = np.append(direction, 0.0)[forest.part]
    product = forest.rule_counts(q.covariance_product(along)).flat()
    np.testing.assert_allclose(p.covariance_product([direction])[0], product, atol=1e-10)


@FORMS
@SENTENCES
@pytest.mark.parametrize("insertion", [-0.9, -0.72])
def test_marginals_are_the_gradient_and_products_theirs(choices, normal_form, insertion):
    """Near the boundary, at log(1/2) for the plain grammar, where insertions are many."""
    scores = scores_of(choices, insertion)
    p = distribution(choices, scores, normal_form)
    direction = np.random.default_rng(2).normal(size=len(scores))
    product = p.covariance_product([direction])[0]
    step = 1e-6
    above, below = (
        distribution(choices, scores + sign * step * direction, normal_form) for sign in (1, -1)
    )
    slope = (above.log_partition - below.log_partition) / (2 * step)
    np.testing.assert_allclose(p.marginals[0] @ direction, slope, rtol=1e-6)
    moved = (above.marginals[0] - below.marginals[0]) / (2 * step)
    np.testing.assert_allclose(product, moved, rtol=1e-5, atol=1e-5)


@FORMS
@SENTENCES
def test_the_best_derivations(choices, normal_form):
    """The k best have fewer than k insertions, so that a bound of n + k words is none."""
    scores, k = scores_of(choices, insertion=-1.5), 12
    p = distribution(choices, scores, normal_form)
    q, forest = bounded(choices, choices.n_groups + k, normal_form, scores)
    found = p.k_best(k)[0]
    np.testing.assert_allclose([s for _, s in found], [s for _, s in q.k_best(k)], atol=1e-9)
    assert len({tuple(parts) for parts, _ in found}) == k
    for parts, score in found:
        assert p.score([parts])[0] == pytest.approx(score, abs=1e-9)
    assert p.score(p.argmax)[0] == pytest.approx(found[0][1], abs=1e-9)
    best = np.full(forest.n_parts + 1, -np.inf)
    np.maximum.at(best, forest.part, q.max_marginals)
    np.testing.assert_allclose(p.max_marginals[0], best[:-1], atol=1e-9)


@FORMS
def test_most_of_the_mass_is_in_the_best_and_so_is_the_entropy(normal_form):
    choices = CHOICES[2]
    scores = scores_of(choices, insertion=-6.0)
    p = distribution(choices, scores, normal_form)
    log_probs = np.array([s for _, s in p.k_best(2500)[0]]) - p.log_partition[0]
    mass = np.exp(log_probs)
    assert mass.sum() == pytest.approx(1.0, abs=1e-4)
    assert -(mass @ log_probs) == pytest.approx(p.entropy[0], abs=1e-3)


@FORMS
@SENTENCES
def test_samples(choices, normal_form):
    p = distribution(choices, scores_of(choices, insertion=-1.2), normal_form)
    n = 600
    drawn = p.sample(n, np.random.default_rng(3))[0]
    mean = np.mean([p.structures.counts([parts]) for parts in drawn], axis=0)
    deviation = np.sqrt(np.maximum(np.diag(p.covariance()[0]), 0.0) / n)
    assert (np.abs(mean - p.marginals[0]) <= 5 * deviation + 1e-9).all()
    lengths = [len(p.structures.target(0, parts)) for parts in drawn]
    n_links = len(choices.words)
    words = p.marginals[0][:n_links].sum() + p.marginals[0][-3]
    assert np.mean(lengths) == pytest.approx(words, abs=0.5)


@FORMS
@SENTENCES
def test_without_insertions_all_can_be_counted_and_drawn(choices, normal_form):
    p = distribution(choices, scores_of(choices, insertion=-np.inf), normal_form)
    if choices.n_groups == 0:
        assert p.count == [0]
        return
    (known,) = p.k_best(1000)
    assert p.count == [len(known)]
    (drawn,) = p.sample(len(known), np.random.default_rng(0), replace=False)
    assert {each.tobytes() for each in drawn} == {each.tobytes() for each, _ in known}
    with pytest.raises(ValueError, match=rf"has {len(known)} structures? in all"):
        p.sample(len(known) + 1, np.random.default_rng(0), replace=False)


@FORMS
def test_samples_without_replacement_of_infinitely_many(normal_form):
    """The second is drawn from p without the first."""
    p = distribution(CHOICES[1], scores_of(CHOICES[1]), normal_form)
    rng, size = np.random.default_rng(0), 1500
    drawn = [p.sample(2, rng, replace=False)[0] for _ in range(size)]
    assert all(first.tobytes() != second.tobytes() for first, second in drawn)
    (known,) = p.k_best(2)
    shares = [math.exp(p.log_prob([each])[0]) for each, _ in known]
    for one, other in ((0, 1), (1, 0)):
        expected = shares[one] * shares[other] / (1 - shares[one])
        pair = known[one][0].tobytes(), known[other][0].tobytes()
        share = np.mean([(a.tobytes(), b.tobytes()) == pair for a, b in drawn])
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / size)
    with pytest.raises(ValueError, match="sentence 0 has infinitely many derivations"):
        _ = p.count


def test_loops_that_lead_nowhere_are_not_counted():
    """Node 1 derives itself, but has no end; node 2 does without it."""
    forest = LoopedForest([0, 1, 2, 2], [(), (1, 0), (0,), (1,)], root=2)
    assert forest.count(np.ones(4, dtype=bool)) == 1
    endless = LoopedForest([0, 1, 1, 2, 2], [(), (0,), (1, 0), (0,), (1,)], root=2)
    assert endless.count(np.ones(5, dtype=bool)) is None
    assert endless.count(np.array([True, True, True, True, False])) == 1


def test_a_batch():
    targets = UnboundedTargets(CHOICES)
    scores = [scores_of(each) for each in CHOICES]
    p = PartDistribution(targets, scores)
    for index, (choices, mine) in enumerate(zip(CHOICES, scores, strict=True)):
        alone = distribution(choices, mine, True)
        assert p.log_partition[index] == alone.log_partition[0]
        np.testing.assert_array_equal(p.marginals[index], alone.marginals[0])
    assert targets.is_same_set(UnboundedTargets(CHOICES))
    assert not targets.is_same_set(UnboundedTargets(CHOICES, normal_form=False))
    assert targets.is_choice().sum() == targets.n_parts - 2 * len(CHOICES)
    same = BoundedTargets(CHOICES, [3] * 4)
    np.testing.assert_array_equal(targets.part_offsets, same.part_offsets)


@FORMS
@pytest.mark.parametrize("ask", ["log_partition", "entropy", "marginals"])
def test_divergence(normal_form, ask):
    p = distribution(CHOICES[2], scores_of(CHOICES[2], insertion=2.0), normal_form)
    name = r"e\^\(straight \+ insertion\)" if normal_form else r"4 \(e\^straight"
    with pytest.raises(DivergenceError, match=f"infinite: {name}"):
        getattr(p, ask)


def test_divergence_begins_at_the_boundary():
    """4 (w[] + w<>) w(eps/y) = 1."""
    boundary = -math.log(2.0)
    choices = CHOICES[1]
    below = distribution(choices, scores_of(choices, boundary - 1e-9), False)
    assert np.isfinite(below.log_partition).all()
    assert below.marginals[0][-3] > 1e6  # very many insertions are expected
    with pytest.raises(DivergenceError):
        _ = distribution(choices, scores_of(choices, boundary + 1e-9), False).log_partition


def test_no_best_derivation_where_insertions_pay():
    p = distribution(CHOICES[1], scores_of(CHOICES[1], insertion=3.0), True)
    with pytest.raises(DivergenceError):
        _ = p.argmax


@FORMS
def test_nothing_does_not_diverge(normal_form):
    scores = scores_of(CHOICES[2], insertion=5.0)
    scores[:5] = -np.inf
    p = distribution(CHOICES[2], scores, normal_form)
    with pytest.raises(ValueError, match="has no structure"):
        _ = p.log_partition


@FORMS
def test_extreme_scores(normal_form):
    choices = TargetChoices(np.array([7, 8]), np.array([0, 1, 2]))
    scores = np.array([1000.0, -1000.0, -np.inf, -np.inf, -2000.0, 500.0, -500.0])
    p = distribution(choices, scores, normal_form)
    assert p.log_partition[0] == pytest.approx(500.0, rel=1e-14)
    np.testing.assert_allclose(p.marginals[0], [1, 1, 0, 0, 0, 1, 0], atol=1e-9)


@pytest.mark.parametrize(
    "parts",
    [[], [0], [6, 1, 0], [5, 0], [5, 0, 1, 4], [9], [-1], [0.5], [[0]], [5, 5, 0, 1, 4, 4]],
)
def test_parts_that_are_no_derivation(parts):
    targets = UnboundedTargets([TargetChoices(np.array([7, 8]), np.array([0, 1, 2]))])
    with pytest.raises(ValueError, match="is no derivation of it"):
        targets.counts([np.array(parts)])


def test_the_normal_form_has_one_order_only():
    """A left child of a rule is of another kind: [[0 1] 2] is no derivation, [0 [1 2]] is."""
    choices = TargetChoices(np.array([7, 8, 9]), np.array([0, 1, 2, 3]))
    straight = 3 + 3 + 1
    left, right = [straight, straight, 0, 1, 2], [straight, 0, straight, 1, 2]
    plain, normal = (UnboundedTargets([choices], normal_form=form) for form in (False, True))
    assert plain.counts([left]).tolist() == plain.counts([right]).tolist()
    assert normal.counts([right]).sum() == 5
    with pytest.raises(ValueError, match="is no derivation"):
        normal.counts([left])


@pytest.mark.parametrize("tails", [[(), (2,)], [(), (1, 1, 1)]])
def test_forests_whose_cycles_are_no_loops(tails):
    with pytest.raises(ValueError, match="Number the nodes bottom-up"):
        LoopedForest([0, 1], tails, root=1)
