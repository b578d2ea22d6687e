"""IBM Model 1 beside a plain reference; its table, and the words it is made of."""

import math
from collections import defaultdict

import numpy as np
import pytest
from scipy.special import digamma

from partita.estimators.alignment.directed import DirectedModel1
from partita.estimators.alignment.model1 import WordTable, train_model1
from partita.estimators.alignment.pairs import Meetings
from partita.kernels.bitext import model1
from partita.text.word_vocabulary import NULL, UNKNOWN, Numbered, WordVocabulary
from small_bitext import as_lists, numbered


def reference(source, target, n_target, n_iterations, alpha):
    """The textbook, with dictionaries: table, and the log-likelihood before each iteration."""
    pairs = list(zip(source, target, strict=True))
    entries = {(e, f) for es, fs in pairs for e in [NULL, *es] for f in fs}
    table = dict.fromkeys(entries, 1 / (n_target - 1))
    likelihoods = []
    for _ in range(n_iterations):
        counts, log_likelihood = defaultdict(float), 0.0
        for es, fs in pairs:
            for f in fs:
                total = sum(table[e, f] for e in [NULL, *es])
                log_likelihood += math.log(total / (len(es) + 1))
                for e in [NULL, *es]:
                    counts[e, f] += table[e, f] / total
        likelihoods.append(log_likelihood)
        totals, sizes = defaultdict(float), defaultdict(int)
        for e, f in entries:
            totals[e] += counts[e, f]
            sizes[e] += 1
        for e, f in entries:
            if alpha:
                norm = digamma(totals[e] + alpha * sizes[e])
                table[e, f] = math.exp(digamma(counts[e, f] + alpha) - norm)
            else:
                table[e, f] = counts[e, f] / totals[e]
    return table, likelihoods


@pytest.mark.parametrize("alpha", [0.0, 0.01, 2.0])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_textbook(alpha, swapped):
    words, source, target = numbered(np.random.default_rng(0))
    if swapped:
        words, source, target = words[::-1], target, source
    seen = []
    table = train_model1(
        source,
        target,
        len(words[0]),
        len(words[1]),
        n_iterations=4,
        alpha=alpha,
        on_iteration=lambda _, value: seen.append(value),
    )
    expected, likelihoods = reference(as_lists(source), as_lists(target), len(words[1]), 4, alpha)
    np.testing.assert_allclose(seen, likelihoods, rtol=1e-9)
    assert len(table.probabilities) == len(expected)
    for (e, f), value in expected.items():
        np.testing.assert_allclose(table.probability(e, f), value, rtol=1e-9)


def test_likelihood_never_falls_and_rows_sum_to_one():
    words, source, target = numbered(np.random.default_rng(1), n_pairs=60)
    seen = []
    table = train_model1(
        source,
        target,
        len(words[0]),
        len(words[1]),
        n_iterations=30,
        on_iteration=lambda _, value: seen.append(value),
    )
    assert (np.diff(seen) >= -1e-9).all()
    assert seen[-1] > seen[0] + 1
    sums = np.add.reduceat(table.probabilities, table.offsets[[0, *range(2, len(words[0]))]])
    np.testing.assert_allclose(sums, 1.0, rtol=1e-9)
    # What stands together most is found.
    assert words[1].names[table.best(1)[0][words[0].number("s3") - 1, 1]] == "t3"


def test_unseen_and_unknown():
    words = WordVocabulary.learn([["a", "b"]])
    source = Numbered(np.array([2, 3], dtype=np.int32), np.array([0, 1, 2]))
    plain = train_model1(source, source, 4, 4)
    assert plain.probability(2, 3) == 0
    assert plain.probability(UNKNOWN, 3) == 1 / 3
    smooth = train_model1(source, source, 4, 4, alpha=0.5)
    assert 0 < smooth.probability(2, 3) < smooth.probability(2, 2)
    assert smooth.probability(2, UNKNOWN) == smooth.probability(2, 3)
    assert words.number("c") == UNKNOWN


def test_tables_are_looked_up():
    words, source, target = numbered(np.random.default_rng(2))
    table = train_model1(source, target, len(words[0]), len(words[1]), alpha=0.1)
    matrices = [table.matrix(source[k], target[k]) for k in range(len(source))]
    np.testing.assert_array_equal(
        table.cells(source, target), np.concatenate([matrix.ravel() for matrix in matrices])
    )
    dense = table.probability(np.arange(len(words[0]))[:, None], np.arange(len(words[1])))
    assert matrices[0].shape == (len(source[0]) + 1, len(target[0]))
    np.testing.assert_array_equal(matrices[0], dense[np.ix_([0, *source[0]], target[0])])
    with pytest.raises(ValueError, match="expected numbers from 0 to"):
        table.probability([99], [0])


def test_best_pairs():
    words, source, target = numbered(np.random.default_rng(3))
    table = train_model1(source, target, len(words[0]), len(words[1]))
    pairs, probabilities = table.best(3)
    for word in range(len(words[0])):
        row = slice(table.offsets[word], table.offsets[word + 1])
        order = sorted(zip(-table.probabilities[row], table.targets[row].tolist(), strict=True))[:3]
        mine = pairs[:, 0] == word
        assert pairs[mine, 1].tolist() == [target for _, target in order]
        np.testing.assert_array_equal(probabilities[mine], [-value for value, _ in order])
    with pytest.raises(ValueError, match="k is 0"):
        table.best(0)


def test_each_target_word_chooses_for_itself():
    """Posteriors, likelihood and the best places, from the matrix of each pair."""
    words, source, target = numbered(np.random.default_rng(4))
    table = train_model1(source, target, len(words[0]), len(words[1]))
    # No word can be translated to one that was never seen.
    new = words[0].encode([["s1", "s2"], ["s3"]]), words[1].encode([["t2", "never", "t1"], ["t3"]])
    model = DirectedModel1(table)
    found = zip(model.posteriors(*new, empty_word=True), model.best(*new), strict=True)
    for k, (shares, places) in enumerate(found):
        matrix = table.matrix(new[0][k], new[1][k])
        totals = matrix.sum(axis=0)
        known = totals > 0
        expected = np.where(known, matrix / np.where(known, totals, 1.0), 1 / len(matrix))
        np.testing.assert_allclose(shares, expected, rtol=1e-12)
        np.testing.assert_array_equal(places, matrix.argmax(axis=0) - 1)
        total = np.log(totals[known] / len(matrix)).sum()
        assert model.log_likelihood(*new)[k] == pytest.approx(total, abs=1e-12)


def test_file():
    table = WordTable(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1), np.zeros(1))
    assert vars(WordTable.restored(table.arrays())) == vars(table)


@pytest.mark.parametrize("x", [1e-3, 0.01, 0.7, 1.0, 9.99, 10.0, 1e3, 1e7])
def test_digamma(x):
    np.testing.assert_allclose(model1.digamma(x), digamma(x), rtol=1e-13, atol=1e-14)


def test_empty_sentences_are_no_trouble():
    nothing = np.zeros(0, dtype=np.int32)
    source = Numbered(np.array([2], dtype=np.int32), np.array([0, 0, 1, 1]))
    target = Numbered(np.array([2, 3], dtype=np.int32), np.array([0, 1, 1, 2]))
    table = train_model1(source, target, 3, 4)
    assert table.probability(NULL, 2) == 0.5
    empty = Numbered(nothing, np.zeros(1, dtype=np.int64))
    assert len(train_model1(empty, empty, 2, 2).probabilities) == 0


def test_bad_arguments():
    words, source, target = numbered(np.random.default_rng(0))
    sizes = len(words[0]), len(words[1])
    with pytest.raises(ValueError, match="alpha is -1"):
        train_model1(source, target, *sizes, alpha=-1)
    with pytest.raises(ValueError, match="n_iterations is 0"):
        train_model1(source, target, *sizes, n_iterations=0)
    with pytest.raises(ValueError, match="the target has words from 2 to"):
        train_model1(source, target, sizes[0], 4)
    with pytest.raises(ValueError, match="as many"):
        train_model1(source, target.select([0, 1]), *sizes)


def test_words():
    sentences = [["The", "the", "houses"], ["housed", "<null>"]]
    plain = WordVocabulary.learn(sentences)
    assert len(plain) == 7
    assert plain.number("<null>") == plain.names.index("<null>", 1)
    short = WordVocabulary.learn(sentences, view="lower.cut5")
    assert short.names[2:] == ("the", "house", "<null")
    assert short.counts.tolist() == [0, 0, 2, 2, 1]
    assert short.number("HOUSEFLY") == short.number("houses")
    rare = WordVocabulary.learn(sentences, view="lower", min_count=2)
    assert rare.names[2:] == ("the",)
    assert rare.counts.tolist() == [0, 3, 2]
    again = WordVocabulary.restored(short.header(), short.arrays())
    assert (again.names, again.view) == (short.names, "lower.cut5")
    with pytest.raises(ValueError, match="is the text 'a b'"):
        plain.encode(["a b"])
    with pytest.raises(ValueError, match="min_count is 0"):
        WordVocabulary.learn(sentences, min_count=0)


def test_meetings_are_what_stands_together():
    words, source, target = numbered(np.random.default_rng(4))
    meetings = Meetings.of(source, target, len(words[0]), len(words[1]))
    entries = np.repeat(np.arange(len(words[0])), np.diff(meetings.offsets))
    for k in range(len(source)):
        cells = meetings.cells[meetings.cell_offsets[k] : meetings.cell_offsets[k + 1]]
        expected = [(e, f) for e in [NULL, *source[k]] for f in target[k]]
        assert list(zip(entries[cells], meetings.targets[cells], strict=True)) == expected
