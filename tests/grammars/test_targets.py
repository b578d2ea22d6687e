"""Sums over targets: D_n(x) against every target up to n words, D(x) against ever larger n."""

import itertools
import math

import numpy as np
import pytest

from enumerate_itg import all_trees, log_sum, total_and_counts
from partita.distribution.hypergraph import HypergraphDistribution
from partita.grammars.choices import TargetChoices
from partita.grammars.forest import EmptyForestError, Rule
from partita.grammars.itg import ITG, bounded_forest
from partita.grammars.lexicon import Lexicon
from partita.grammars.parts import RuleScores
from partita.grammars.unbounded import DivergenceError, unbounded_log_partition

N_TARGET = 2
LEXICON = Lexicon.from_pairs(
    [(0, 0), (0, 1), (1, 1), (2, 0)],
    n_source=3,
    n_target=N_TARGET,
    deletions=[True, True, False],
    insertions=[True, True],
)


class Scores:
    """Position-free scores of the rules over the lexicon above."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.links, self.deletions = rng.normal(size=(3, N_TARGET)), rng.normal(size=3)
        self.insertions = rng.normal(size=N_TARGET)
        self.binary = rng.normal(size=2)

    def pair(self, source, target):
        links = self.links[np.ix_(source, target)]
        rest = self.deletions[source], self.insertions[list(target)]
        return RuleScores(links, *rest, *self.binary)


def every_target(longest):
    for m in range(longest + 1):
        yield from itertools.product(range(N_TARGET), repeat=m)


def pairs_by_enumeration(scores, source, longest):
    """log Z(x, y), and expected counts of the words, for every target that has a derivation."""
    for target in every_target(longest):
        trees = all_trees(*LEXICON.allowed(source, np.array(target, dtype=int)))
        if trees:
            parts = scores.pair(source, target).flat()
            yield target, *total_and_counts(trees, parts, len(source), len(target))


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("source, longest", [([0], 3), ([2, 1], 2), ([1, 0, 2], 2), ([0, 0], 0)])
def test_the_bounded_sum_is_the_sum_over_targets(source, longest, summed):
    scores = Scores(seed=len(source))
    pairs = list(pairs_by_enumeration(scores, source, longest))
    expected = log_sum([total for _, total, _ in pairs])
    forest = ITG(LEXICON).bounded(source, longest, summed=summed)
    translations, insertions = LEXICON.translations(source), LEXICON.insertions
    groups = np.repeat(source, np.diff(translations.offsets))
    link_scores = scores.links[groups, translations.words]
    links = translations.log_sums(link_scores) if summed else link_scores
    parts = RuleScores(
        links, scores.deletions[source], insertions.log_sums(scores.insertions), *scores.binary
    )
    p = HypergraphDistribution(forest.hypergraph, forest.edge_scores(parts))
    assert p.log_partition == pytest.approx(expected, abs=1e-10)
    counts = forest.rule_counts(p.marginals)
    link_counts = translations.spread(counts.links, link_scores) if summed else counts.links
    inserted = insertions.spread(counts.insertions, scores.insertions)
    expected_links, expected_inserted = np.zeros((3, N_TARGET)), np.zeros(N_TARGET)
    for target, total, rule_counts in pairs:
        share = math.exp(total - expected)
        n, m = len(source), len(target)
        np.add.at(
            expected_links, np.ix_(source, target), share * rule_counts[: n * m].reshape(n, m)
        )
        np.add.at(expected_inserted, list(target), share * rule_counts[n * m + n : -2])
    found_links = np.zeros((3, N_TARGET))
    np.add.at(found_links, (groups, translations.words), link_counts)
    np.testing.assert_allclose(found_links, expected_links, rtol=0, atol=1e-10)
    np.testing.assert_allclose(inserted, expected_inserted, rtol=0, atol=1e-10)


def bounded_total(links, deletions, insertion, straight, inverted, longest, normal_form):
    n = len(links)
    forest = bounded_forest([[-1]] * n, [True] * n, True, longest, normal_form=normal_form)
    scores = RuleScores(links, deletions, np.array([insertion]), straight, inverted)
    p = HypergraphDistribution(forest.hypergraph, forest.edge_scores(scores))
    return p.log_partition


@pytest.mark.parametrize("normal_form", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_the_unbounded_sum_is_the_limit_of_the_bounded_ones(n, normal_form):
    rng = np.random.default_rng(n)
    links, deletions = rng.normal(size=n), rng.normal(size=n)
    rules = -2.0, math.log(0.3), math.log(0.2)
    limit = unbounded_log_partition(links, deletions, *rules, normal_form=normal_form)
    totals = [
        bounded_total(links, deletions, *rules, longest, normal_form) for longest in (5, 10, 24)
    ]
    assert totals == sorted(totals)
    assert totals[-1] < limit + 1e-12
    assert limit - totals[-1] < 1e-6
    assert limit - totals[0] > limit - totals[1]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_divergence_begins_at_the_boundary(n):
    # 4 (w[] + w<>) w(eps/y) = 1, with w[] + w<> = 3/4 and so w(eps/y) = 1/3.
    words = np.zeros(n), np.full(n, -np.inf)
    rules = math.log(0.5), math.log(0.25)
    boundary = math.log(1.0 / 3.0)
    step = 1e-14
    below = unbounded_log_partition(*words, boundary - step, *rules)
    assert 10.0 < below < math.inf
    with pytest.raises(DivergenceError, match="Bound the number of target words"):
        unbounded_log_partition(*words, boundary + step, *rules)
    with pytest.raises(DivergenceError, match="infinite: 4 .* is 4;"):
        unbounded_log_partition(*words, 0.0, 0.0, -np.inf)


def test_bounded_sums_grow_without_end_beyond_the_boundary():
    rules = math.log(0.4), math.log(0.5), math.log(0.25)
    words = np.zeros(1), np.array([-np.inf])
    totals = [bounded_total(*words, *rules, longest, False) for longest in (8, 16, 32)]
    assert totals[2] - totals[1] > totals[1] - totals[0]
    with pytest.raises(DivergenceError):
        unbounded_log_partition(*words, *rules)


def test_divergence_of_the_normal_form():
    words = np.zeros(2), np.zeros(2)
    assert unbounded_log_partition(*words, -1e-9, 0.0, 5.0, normal_form=True) < math.inf
    with pytest.raises(DivergenceError, match=r"e\^\(straight \+ insertion\)"):
        unbounded_log_partition(*words, 0.0, 0.0, -np.inf, normal_form=True)


def test_the_closed_form_of_the_empty_sentence():
    a, b = 0.2, 0.9
    total = unbounded_log_partition([], [], math.log(a), math.log(b), -np.inf)
    assert math.exp(total) == pytest.approx((1 - math.sqrt(1 - 4 * a * b)) / (2 * b), rel=1e-13)
    assert unbounded_log_partition([], [], -np.inf, 0.0, 0.0) == -np.inf


def test_sums_without_any_derivation_do_not_diverge():
    nothing = np.array([-np.inf]), np.array([-np.inf])
    assert unbounded_log_partition(*nothing, 5.0, 5.0, 5.0) == -np.inf
    assert unbounded_log_partition(*nothing, 5.0, 5.0, 5.0, normal_form=True) == -np.inf
    assert unbounded_log_partition([0, 0], [0, 0], 1.0, -np.inf, -np.inf) == -np.inf


def test_extreme_scores_of_the_unbounded_sum():
    total = unbounded_log_partition([1000.0, -1000.0], [-np.inf, -np.inf], -2000.0, 500.0, -500.0)
    assert total == pytest.approx(500.0, rel=1e-14)


def test_a_vocabulary_of_thousands_costs_one_edge():
    n_target = 5000
    pairs = [(0, word) for word in range(n_target)]
    lexicon = Lexicon.from_pairs(pairs, n_source=1, n_target=n_target)
    assert ITG(lexicon).bounded([0, 0], 3).hypergraph.n_edges < 200
    assert ITG(lexicon).bounded([0, 0], 3, summed=False).hypergraph.n_edges > 2 * n_target


def test_choices_with_empty_groups_and_forbidden_words():
    choices = TargetChoices(np.arange(3), np.array([0, 0, 2, 3, 3]))
    scores = np.array([0.0, -np.inf, -np.inf])
    np.testing.assert_array_equal(choices.log_sums(scores), [-np.inf, 0.0, -np.inf, -np.inf])
    np.testing.assert_array_equal(choices.spread(np.ones(4), scores), [1.0, 0.0, 0.0])
    assert TargetChoices(np.arange(0), np.array([0])).log_sums(np.zeros(0)).shape == (0,)


def test_wrong_lexicons_and_scores_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"pairs is an array of .* expected \(n_pairs, 2\)"):
        Lexicon.from_pairs([0, 1], n_source=2, n_target=2)
    with pytest.raises(ValueError, match=r"target words of pairs\[0\] is 2; expected 0 to 1"):
        Lexicon.from_pairs([(0, 2)], n_source=2, n_target=2)
    forest = ITG(LEXICON).bounded([0], 1)
    scores = RuleScores(np.zeros(2), np.zeros(1), np.zeros(1), 0.0, 0.0)
    with pytest.raises(ValueError, match=r"6 rule scores came; expected 5: links \(1,\)"):
        forest.edge_scores(scores)
    with pytest.raises(ValueError, match="longest is -1"):
        ITG(LEXICON).bounded([0], -1)
    nulls_only = Lexicon.from_pairs([], n_source=1, n_target=1)
    assert (ITG(nulls_only).pair([0], [0]).rule != Rule.LINK).all()


def test_a_sentence_with_an_unknown_word_says_so():
    with pytest.raises(ValueError, match=r"source\[1\] is 3; expected 0 to 2"):
        ITG(LEXICON).bounded([0, 3], 2)
    with pytest.raises(EmptyForestError):
        ITG(LEXICON).pair([2, 2], [0])
