"""The latent-variable CRF of alignment: its likelihood, its gradient, its answers."""

import numpy as np
import pytest

from enumerate_pairs import log_partition_of_choices, log_partition_of_pair
from partita.data.alignments import Alignment
from partita.estimators.alignment.generative import Generative
from partita.estimators.alignment.hmm_training import train_hmm
from partita.estimators.alignment.itg_aligner import ItgAligner, ItgOptions
from partita.estimators.alignment.itg_lexicon import LinkLexicon
from partita.estimators.alignment.itg_likelihood import (
    Bound,
    LikelihoodOptions,
    choose_pairs,
    first_weights,
    pair_batch,
)
from partita.estimators.alignment.itg_model import TranslationModel
from partita.estimators.alignment.itg_supervised import SupervisedOptions, costs
from partita.estimators.alignment.words import Words
from partita.objectives import ContrastiveEstimation
from partita.training import build_corpus

FRENCH = ["la maison bleue", "la fleur", "une maison", "la fleur bleue", "une fleur"] * 2
ENGLISH = ["the blue house", "the flower", "a house", "the blue flower", "a flower"] * 2
SOURCE, TARGET = ([tuple(line.split()) for line in lines] for lines in (FRENCH, ENGLISH))
OPTIONS = {"k": 3, "likelihood.n_passes": 2, "likelihood.batch_size": 4, "n_threads": 1}


@pytest.fixture(scope="module")
def generative():
    words = Words.learn(SOURCE), Words.learn(TARGET)
    numbers = words[0].encode(SOURCE), words[1].encode(TARGET)
    models = train_hmm(*numbers, len(words[0]), len(words[1]), n_iterations=2, alpha=0.0)
    return Generative(*words, *models)


@pytest.fixture(scope="module")
def lexicon(generative):
    tables = generative.forward.table, generative.backward.table
    return LinkLexicon.learn(generative.source_words, generative.target_words, *tables, 3)


def batch_of(generative, lexicon, places):
    x, y = generative.source_words.encode(SOURCE), generative.target_words.encode(TARGET)
    sources = [x[k].astype(np.int64) for k in places]
    targets = [y[k].astype(np.int64) for k in places]
    longest = np.array([len(words) + 1 for words in targets])
    return pair_batch(lexicon, sources, targets, longest), sources, targets, longest


def random_weights(lexicon, seed=0):
    start = first_weights(lexicon)
    return start + 0.3 * np.random.default_rng(seed).normal(size=len(start))


def test_likelihood_is_that_of_all_derivations(generative, lexicon):
    batch, sources, targets, longest = batch_of(generative, lexicon, [0, 1])
    weights = random_weights(lexicon)
    loss = build_corpus(ContrastiveEstimation(), [batch], workers=1).value(weights)
    expected = 0.0
    n_shared, n_pairs = lexicon.pair_values.shape[1], lexicon.n_pairs
    pair_scores = lexicon.pair_values @ weights[:n_shared] + weights[n_shared:][:n_pairs]
    at = n_shared + n_pairs
    word_scores = lexicon.deletion_values @ weights[at : at + 2]
    word_scores += weights[at + 2 : at + 2 + len(word_scores)]
    for x, y, most in zip(sources, targets, longest, strict=True):
        allowed, rows = lexicon.links(x, y)
        links = np.where(allowed, pair_scores[rows], -np.inf)
        rest = word_scores[x], weights[-2], weights[-1]
        inserted = lexicon.log_inserted[y]
        choices = [pair_scores[rows] for rows in _rows_of_each(lexicon, x)]
        expected += log_partition_of_choices(choices, *rest, most)
        expected -= log_partition_of_pair(links, rest[0], inserted + rest[1], rest[2])
    assert loss == pytest.approx(expected, abs=1e-9)


def _rows_of_each(lexicon, x):
    choices, rows = lexicon.choices(x)
    return np.split(rows, choices.offsets[1:-1])


def test_gradient_by_finite_differences(generative, lexicon):
    batch, *_ = batch_of(generative, lexicon, [0, 1, 2])
    corpus = build_corpus(ContrastiveEstimation(), [batch], workers=1)
    weights = random_weights(lexicon, 1)
    _, gradient = corpus.value_and_gradient(weights)
    assert np.abs(gradient).max() > 0.1
    for index in range(len(weights)):
        step = np.zeros(len(weights))
        step[index] = 1e-5
        slope = (corpus.value(weights + step) - corpus.value(weights - step)) / 2e-5
        assert gradient[index] == pytest.approx(slope, abs=1e-7)


def test_scores_of_a_pair_are_those_of_training(generative, lexicon):
    batch, (x,), (y,), _ = batch_of(generative, lexicon, [3])
    weights = random_weights(lexicon, 2)
    tables = generative.forward.table, generative.backward.table
    model = TranslationModel(lexicon, weights, *tables)
    found = model.scores(SOURCE[3], TARGET[3], x, y)
    pairs = batch.structures.members[0]
    trained = pairs.split(batch.features.scores(weights)[: pairs.n_parts])[0]
    allowed, _ = lexicon.links(x, y)
    np.testing.assert_allclose(found.links[allowed], trained.links[allowed], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.deletions, trained.deletions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.insertions, trained.insertions, rtol=0, atol=1e-12)
    assert found.inverted == trained.inverted


def test_it_aligns_and_a_restored_model_answers_alike(generative):
    aligner = ItgAligner.train(generative, SOURCE, TARGET, None, OPTIONS)
    new = [("la", "maison", "rouge")], [("the", "red", "house")]
    probabilities = aligner.posteriors(SOURCE, TARGET)
    assert aligner.best(SOURCE, TARGET)[0] == [(0, 0), (1, 2), (2, 1)]
    assert probabilities[0].argmax(axis=1).tolist() == [0, 2, 1]
    alone = aligner.posteriors(SOURCE[:1], TARGET[:1])[0]
    np.testing.assert_array_equal(alone, probabilities[0])
    again = ItgAligner.restored(aligner.header(), aligner.arrays(), generative)
    np.testing.assert_array_equal(again.posteriors(*new)[0], aligner.posteriors(*new)[0])


def test_gold_links_are_learnt(generative):
    wrong = Alignment(sure=((0, 1), (1, 0)), possible=((2, 2),))  # against all other evidence
    gold = [wrong if k % 5 == 0 else None for k in range(len(SOURCE))]
    options = {**OPTIONS, "supervised.l2": 0.01, "supervised.word_l2": 0.01}
    aligner = ItgAligner.train(generative, SOURCE, TARGET, gold, options)
    assert {(0, 1), (1, 0)} <= set(aligner.best(SOURCE[:1], TARGET[:1])[0])
    again = ItgAligner.restored(aligner.header(), aligner.arrays(), generative)
    np.testing.assert_array_equal(
        again.posteriors(SOURCE, TARGET)[1], aligner.posteriors(SOURCE, TARGET)[1]
    )


def test_pairs_that_are_too_large_go_to_the_generative_models(generative):
    aligner = ItgAligner.train(generative, SOURCE, TARGET, None, {**OPTIONS, "most_cells": 4})
    p, q = generative.posteriors(SOURCE[:1], TARGET[:1])[0]
    np.testing.assert_allclose(
        aligner.posteriors(SOURCE[:1], TARGET[:1])[0], (p + q) / 2, rtol=0, atol=1e-12
    )
    assert aligner.best(SOURCE[:1], TARGET[:1])[0]


def test_what_is_skipped_is_counted(generative, lexicon):
    source = generative.source_words.encode([*SOURCE, ("la",), ("la",) * 20])
    target = generative.target_words.encode([*TARGET, ("the",) * 9, ("the",)])
    chosen, skipped, bound = choose_pairs(lexicon, source, target, LikelihoodOptions())
    assert chosen.tolist() == [0, 1, 2, 3, 4]
    assert (skipped.too_long, skipped.beyond_bound, skipped.repeated) == (1, 1, 5)
    assert len(chosen) + sum(skipped) == len(source)
    assert isinstance(bound, Bound)
    assert "5 came before" in str(skipped)
    chosen, skipped, _ = choose_pairs(lexicon, source, target, LikelihoodOptions(n_pairs=2))
    assert (len(chosen), skipped.spare) == (2, 3)
    assert len(chosen) + sum(skipped) == len(source)


def test_what_is_skipped_is_told(generative):
    gold = [Alignment(((0, 0),))] * 3 + [None] * (len(SOURCE) - 3)
    options = {**OPTIONS, "supervised.max_cells": 4}
    aligner = ItgAligner.train(generative, SOURCE, TARGET, gold, options)
    assert [each.repeated for each in aligner.skipped] == [5, 5]
    assert (aligner.n_large_gold, aligner.weights is None) == (1, False)
    options = {**OPTIONS, "supervised.max_cells": 1}
    aligner = ItgAligner.train(generative, SOURCE, TARGET, gold, options)
    assert (aligner.n_large_gold, aligner.weights) == (3, None)


def test_a_supervised_crf_without_a_penalty(generative):
    gold = [Alignment(((0, 0),))] * len(SOURCE)
    options = {**OPTIONS, "supervised.l2": 0.0, "supervised.word_l2": 0.0}
    aligner = ItgAligner.train(generative, SOURCE, TARGET, gold, options)
    assert np.isfinite(aligner.weights).all()
    assert aligner.posteriors(SOURCE, TARGET)[0][0, 0] > 0.5


def test_where_all_pairs_are_too_long_it_starts_from_the_tables(generative):
    options = {**OPTIONS, "likelihood.max_words": 1, "progress": True}
    aligner = ItgAligner.train(generative, SOURCE, TARGET, None, options)
    assert aligner.posteriors(SOURCE, TARGET)[1].shape == (2, 2)
    assert aligner.best(SOURCE[1:2], TARGET[1:2])[0] == [(0, 0), (1, 1)]


def test_costs_of_links():
    alignment = Alignment(sure=((0, 0),), possible=((1, 0),))
    found = costs(alignment, 2, 2, SupervisedOptions(sure_reward=3.0, wrong_cost=2.0))
    assert found.tolist() == [-3.0, 2.0, 0.0, 2.0] + [0.0] * 6


def test_options_that_are_none():
    with pytest.raises(ValueError, match="crf_options has 'passes'; expected some of directions"):
        ItgOptions.of({"passes": 3})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("directions", 0, "a whole number from 1 to 2"),
        ("k", "x", "a whole number from 1 on"),
        ("k", 2.5, "a whole number from 1 on"),
        ("pool", 7, "a number from 0 to 1"),
        ("gold_share", float("nan"), "a number from 0 to 1"),
        ("likelihood.batch_size", 0, "a whole number from 1 on"),
        ("likelihood.held_out", 1.0, "a number from 0 to 0.9"),
        ("supervised.l2", -1.0, "a number from 0 on"),
        ("supervised.n_passes", True, "a whole number from 1 on"),
    ],
)
def test_values_that_make_no_sense(name, value, expected):
    with pytest.raises(
        ValueError, match=f"crf_options has {name} = {value!r}; expected {expected}"
    ):
        ItgOptions.of({name: value})
    assert ItgOptions.of({"most_cells": 0, "supervised.l2": 0, "pool": 1}).pool == 1
