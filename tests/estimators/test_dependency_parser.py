"""The dependency parser: decoding under constraints, every question, files."""

import itertools
import math
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from partita import DependencyParser
from partita.data.conllu import parse_conllu
from partita.estimators.options import options_of
from partita.estimators.parsing.labels import one_subject
from partita.structures.tree_tools import is_projective, is_tree
from tests.estimators.small_treebank import CROSSING, SMALL, all_trees, heads_of, made

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def parser():
    return DependencyParser(**SMALL, projective=False, max_iterations=8, batch_sentences=10).fit(
        made(60)
    )


def test_learns(parser):
    test = made(20, seed=1)
    assert parser.score(test) == 1.0
    for sentence, (heads, labels) in zip(test, parser.predict(test), strict=True):
        assert heads.tolist() == heads_of(sentence)
        assert tuple(labels) == sentence.column("DEPREL")


def test_other_forms_of_sentences():
    sentences = [[("dogs", "NOUN"), ("bark", "VERB")], [("cats", "NOUN"), ("sleep", "VERB")]]
    parser = DependencyParser(**SMALL, labels=False).fit(sentences, [[2, 0], [2, 0]])
    heads, labels = parser.predict([[("cats", "NOUN"), ("bark", "VERB")]])[0]
    assert (heads.tolist(), labels) == ([2, 0], None)
    plain = DependencyParser(**SMALL).fit([["a", "b"]] * 3, [[2, 0]] * 3)
    assert plain.predict([["a", "b"]])[0][0].tolist() == [2, 0]
    with pytest.raises(ValueError, match="no column UPOS"):
        parser.predict([["cats", "bark"]])


@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("single_root", [False, True])
def test_questions_agree_with_all_trees(parser, projective, single_root):
    parser = copy(parser)
    parser.model_ = replace(parser.model_, projective=projective, single_root=single_root)
    # Not all from one verb, so that every kind of tree has some probability.
    parser.weights_ = 0.3 * parser.weights_ + np.random.default_rng(1).normal(
        scale=0.1, size=len(parser.weights_)
    )
    sentence = [("the", "DET"), ("dog", "NOUN"), ("sees", "VERB"), ("_", "_")]
    p = parser.distribution(sentence)
    trees = [
        tree
        for tree in all_trees(len(sentence), single_root=single_root)
        if is_projective(tree) or not projective
    ]
    scores = np.array([p.score(tree) for tree in trees])
    probabilities = np.exp(scores - np.logaddexp.reduce(scores))
    marginals = np.zeros((len(sentence) + 1,) * 2)
    for tree, probability in zip(trees, probabilities, strict=True):
        marginals[tree, np.arange(1, len(sentence) + 1)] += probability
    np.testing.assert_allclose(
        parser.predict_marginals([sentence])[0], marginals, rtol=0, atol=1e-9
    )
    entropy = -(probabilities * np.log(probabilities)).sum()
    np.testing.assert_allclose(parser.entropy([sentence])[0], entropy, rtol=0, atol=1e-9)
    best = np.argsort(-scores)[:3]
    found = parser.k_best([sentence], 3)[0]
    for ((tree, labels), log_prob), index in zip(found, best, strict=True):
        assert tree.tolist() == trees[index].tolist()
        (table,) = parser.predict_labels([sentence], [tree])
        assert labels == [parser.labels_[label] for label in table.argmax(axis=1)]
        np.testing.assert_allclose(log_prob, np.log(probabilities[index]), rtol=0, atol=1e-9)
    risks = [marginals[tree, np.arange(1, len(sentence) + 1)].sum() for tree in trees]
    assert parser.predict([sentence], decoder="risk")[0][0].tolist() == (
        trees[int(np.argmax(risks))].tolist()
    )
    known = np.array([-1, trees[0][1], -1, -1])
    agreeing = [tree[1] == known[1] for tree in trees]
    np.testing.assert_allclose(
        parser.log_prob([sentence], [known])[0],
        np.log(probabilities[agreeing].sum()),
        rtol=0,
        atol=1e-9,
    )
    samples = parser.sample([sentence], 3000, np.random.default_rng(0))[0]
    found = {tree.tobytes(): 0 for tree in trees}
    for tree, _ in samples:
        found[tree.astype(trees[0].dtype).tobytes()] += 1
    # Five standard deviations.
    spread = 5 * np.sqrt(probabilities * (1 - probabilities) / 3000)
    assert (np.abs(np.array([*found.values()]) / 3000 - probabilities) < spread + 1e-3).all()


def test_log_prob_of_what_is_known(parser):
    sentence = next(each for each in made(40, seed=2) if len(each) == 2)
    whole = parser.log_prob([sentence], [[2, 0]])[0]
    np.testing.assert_allclose(
        whole, parser.distribution(sentence).log_prob(np.array([2, 0])), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(parser.log_prob([sentence], [[-1, -1]])[0], 0.0, rtol=0, atol=1e-9)
    both = np.logaddexp(whole, parser.log_prob([sentence], [[0, 1]])[0])
    np.testing.assert_allclose(both, 0.0, rtol=0, atol=1e-9)


def test_required_and_forbidden_arcs(parser):
    sentence = next(each for each in made(40, seed=2) if len(each) == 5)
    ((heads, _),) = parser.predict([sentence], required=[[(3, 1)]])
    assert heads[0] == 3
    ((heads, _),) = parser.predict([sentence], forbidden=[[(0, 3)]], decoder="risk")
    assert heads[2] != 0
    assert is_tree(heads, single_root=True)
    with pytest.raises(ValueError, match="word"):
        parser.predict([sentence], required=[[(9, 1)]])
    with pytest.raises(ValueError, match="arcs for 2 sentences, and 1 came"):
        parser.predict([sentence], required=[[], []])


@pytest.mark.parametrize("decoder", ["best", "risk", "joint"])
def test_constraints_that_no_tree_satisfies_name_the_sentence(parser, decoder):
    # The sentences are more than fit into one piece, and the last is the first of its piece.
    words = [[("dog", "NOUN")] * 200, [("dog", "NOUN")] * 150, [("dog", "NOUN"), ("sees", "VERB")]]
    forbidden = [[], [], [(0, 1), (0, 2)]]
    with pytest.raises(
        ValueError, match=r"^sentence 2 \(counting from 0\) has no tree with one root that has"
    ):
        parser.predict(words, forbidden=forbidden, decoder=decoder)
    with pytest.raises(
        ValueError, match=r"^sentence 2 .* has no tree whose arcs do not cross and with"
    ):
        parser.predict(words, required=[[], [], [(0, 1), (2, 1)]], projective=True)
    (sentence,) = parse_conllu("# a comment\n" + CROSSING, "my.conllu")
    with pytest.raises(
        ValueError, match="^my.conllu, line 2: the sentence has no tree with one root"
    ):
        parser.predict([*words, sentence], required=[[], [], [], [(0, 1), (0, 2)]])


def test_one_subject_is_the_best_choice():
    rng = np.random.default_rng(0)
    is_subject = np.array([True, True, False, False])
    for _ in range(50):
        table = rng.normal(size=(4, 4))
        owners = np.array([0, 0, 0, 1])
        best = max(
            (
                labels
                for labels in itertools.product(range(4), repeat=4)
                if sum(is_subject[label] for label in labels[:3]) <= 1
            ),
            key=lambda labels: sum(table[row, label] for row, label in enumerate(labels)),
        )
        assert one_subject(table, owners, is_subject).tolist() == list(best)


def test_labels_have_probabilities(parser):
    test = made(5, seed=4)
    trees = [heads_of(sentence) for sentence in test]
    tables = parser.predict_labels(test, trees)
    for sentence, table in zip(test, tables, strict=True):
        np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=0, atol=1e-9)
        found = tuple(parser.labels_[best] for best in table.argmax(axis=1))
        assert found == sentence.column("DEPREL")


def test_labels_of_given_trees_take_whole_trees(parser):
    test = made(3, seed=4)
    trees = [heads_of(sentence) for sentence in test]
    assert parser.predict_labels([], []) == []
    with pytest.raises(ValueError, match="heads came for 2 sentences, and 3 sentences"):
        parser.predict_labels(test, trees[:2])
    with pytest.raises(ValueError, match="out of range"):
        parser.predict_labels(test[:1], [[9, *trees[0][1:]]])
    with pytest.raises(ValueError, match="not known"):
        parser.predict_labels(test[:1], [[-1, *trees[0][1:]]])


def test_joint_decoder_finds_the_most_probable_labelled_tree(parser):
    test = [each for each in made(40, seed=6) if len(each) == 2]
    for sentence, (heads, _) in zip(test, parser.predict(test, decoder="joint"), strict=True):
        p = parser.distribution(sentence)
        totals = {}
        for tree in all_trees(2):
            (table,) = parser.predict_labels([sentence], [tree])
            totals[tuple(tree)] = p.log_prob(tree) + np.log(table.max(axis=1)).sum()
        assert tuple(heads) == max(totals, key=totals.get)
    unlabelled = DependencyParser(**SMALL, labels=False).fit(made(5))
    with pytest.raises(ValueError, match="no labels"):
        unlabelled.predict(test, decoder="joint")


def test_files_keep_every_bit(parser, tmp_path):
    parser.save(tmp_path / "parser.model")
    again = DependencyParser.load(tmp_path / "parser.model")
    assert again.training_ is None
    test = made(5, seed=3)
    for before, after in zip(
        parser.predict_marginals(test), again.predict_marginals(test), strict=True
    ):
        np.testing.assert_array_equal(before, after)
    trees = [heads_of(sentence) for sentence in test]
    for before, after in zip(
        parser.predict_labels(test, trees), again.predict_labels(test, trees), strict=True
    ):
        np.testing.assert_array_equal(before, after)
    assert str(again.inspect()) == str(parser.inspect())
    kept = [each.name for each in options_of(DependencyParser) if each.about.is_kept]
    before, after = parser.get_params(), again.get_params()
    assert [before[name] for name in kept] == [after[name] for name in kept]
    own = DependencyParser(**SMALL, labels=False, features="head.UPOS modifier.UPOS").fit(made(5))
    own.save(tmp_path / "own.model")
    again = DependencyParser.load(tmp_path / "own.model")
    assert [each.text for each in again.features] == ["head.UPOS modifier.UPOS"]
    assert again.labels_ == ()


def test_sampled_labels_are_those_of_the_label_model(parser):
    parser = copy(parser)
    parser.label_weights_ = 0.1 * parser.label_weights_
    sentence = [("dog", "NOUN"), ("sees", "VERB")]
    (found,) = parser.sample([sentence], 4000, np.random.default_rng(0))
    chosen = [labels for heads, labels in found if heads.tolist() == [2, 0]]
    (table,) = parser.predict_labels([sentence], [[2, 0]])
    shares = [
        [np.mean([labels[word] == name for labels in chosen]) for name in parser.labels_]
        for word in range(2)
    ]
    # Five standard deviations.
    spread = 5 * np.sqrt(table * (1 - table) / len(chosen))
    assert (np.abs(np.array(shares) - table) < spread + 1e-3).all()


def test_a_stream_is_read_as_answers_are_taken(parser):
    read = []

    def sentences():
        for sentence in made(30, seed=7):
            read.append(sentence)
            yield sentence

    stream = parser.predict_stream(sentences(), chunk=10)
    first = next(stream)
    assert len(read) == 10
    found = [first, *stream]
    for (heads, labels), (others, names) in zip(found, parser.predict(read), strict=True):
        np.testing.assert_array_equal(heads, others)
        assert labels == names


def test_batches_of_distributions(parser):
    test = made(9, seed=8)
    entropies = np.concatenate([p.entropy for p in parser.distributions(test)])
    np.testing.assert_array_equal(entropies, parser.entropy(test))
    one = parser.distribution(test[0])
    np.testing.assert_allclose(one.entropy, entropies[0], rtol=0, atol=1e-12)


def test_explanations_sum_to_the_difference(parser):
    sentence = next(each for each in made(40, seed=2) if len(each) == 5)
    p = parser.distribution(sentence)
    for word in range(5):
        why = parser.explain(sentence, word)
        best, other = np.array(why.heads), np.array(why.other_heads)
        rivals = [tree for tree in all_trees(5) if tree[word] != why.head]
        assert p.score(other) == pytest.approx(max(p.score(tree) for tree in rivals), abs=1e-9)
        assert why.difference == pytest.approx(p.score(best) - p.score(other), abs=1e-9)
        assert (why.head, why.runner_up) == (best[word], other[word])
        # Nothing is said twice, and every grouping sums to the lead.
        assert len({(each.place, each.feature) for each in why.contributions}) == len(
            why.contributions
        )
        for table in why.tables():
            assert math.fsum(row[0] for row in table.rows) == pytest.approx(why.difference)
    assert "What decided:" in str(why)
    assert "<table>" in why._repr_html_()
    with pytest.raises(ValueError, match="word is 5"):
        parser.explain(sentence, 5)


def test_very_short_and_very_long_sentences(parser):
    word = [("dog", "NOUN")]
    (one,), (heads, _) = parser.predict([word])[0][0], parser.predict([word * 500])[0]
    assert one == 0
    assert is_tree(heads, single_root=True)
    assert parser.predict([]) == []


def test_sentences_without_words(parser):
    test = [[], *made(2, seed=9), []]
    for parses in (parser.predict(test), [each[0] for each in parser.sample(test, 1, RNG)]):
        assert [len(heads) for heads, _ in parses] == [len(each) for each in test]
        assert parses[0][1] == []
    assert parser.k_best(test, 2)[0][0][1] == 0.0
    assert [len(each) for each in parser.predict_marginals(test)] == [len(s) + 1 for s in test]
    assert parser.entropy(test)[0] == parser.log_prob(test)[-1] == 0.0
    with pytest.raises(ValueError, match="no words"):
        parser.distribution([])
    with pytest.raises(ValueError, match="a single Sentence came"):
        parser.predict(test[1])
