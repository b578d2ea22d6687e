"""Arcs that are learnt together with their labels: every question, by all labelled trees."""

import itertools

import numpy as np
import pytest

from partita import DependencyParser
from partita.structures.tree_tools import is_projective
from tests.estimators.small_treebank import SMALL, all_trees, heads_of, made

OPTIONS = {**SMALL, "labels": "joint", "batch_sentences": 10}
SENTENCE = [("the", "DET"), ("dog", "NOUN"), ("sees", "VERB")]


@pytest.fixture(scope="module")
def parser():
    return DependencyParser(**OPTIONS, projective=False, max_iterations=8).fit(made(60))


def test_learns(parser):
    test = made(20, seed=1)
    for decoder in ("best", "risk", "joint"):
        for sentence, (heads, labels) in zip(
            test, parser.predict(test, decoder=decoder), strict=True
        ):
            assert heads.tolist() == heads_of(sentence)
            assert tuple(labels) == sentence.column("DEPREL")


@pytest.mark.parametrize("projective", [False, True])
def test_questions_agree_with_all_labelled_trees(projective):
    options = {**OPTIONS, "projective": projective, "max_iterations": 1, "rate": 0.01}
    parser = DependencyParser(**options).fit(made(20))
    p, n_labels = parser.distribution(SENTENCE), len(parser.labels_)
    trees = [each for each in all_trees(3) if is_projective(each) or not projective]
    labellings = [np.array(each) for each in itertools.product(range(n_labels), repeat=3)]
    # [tree, labelling]
    scores = np.array([[p.score((tree, each)) for each in labellings] for tree in trees])
    joint = np.exp(scores - np.logaddexp.reduce(scores, axis=None))
    by_tree = joint.sum(axis=1)
    marginals = np.zeros((4, 4))
    for tree, probability in zip(trees, by_tree, strict=True):
        marginals[tree, [1, 2, 3]] += probability
    found = parser.predict_marginals([SENTENCE])[0]
    np.testing.assert_allclose(found, marginals, rtol=0, atol=1e-9)
    entropy = -(by_tree * np.log(by_tree)).sum()
    np.testing.assert_allclose(parser.entropy([SENTENCE])[0], entropy, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        parser.log_prob([SENTENCE] * len(trees), trees), np.log(by_tree), rtol=0, atol=1e-9
    )
    for tree, row in zip(trees, joint, strict=True):
        (table,) = parser.predict_labels([SENTENCE], [tree])
        expected = np.zeros((3, n_labels))
        for each, probability in zip(labellings, row / row.sum(), strict=True):
            expected[np.arange(3), each] += probability
        np.testing.assert_allclose(table, expected, rtol=0, atol=1e-9)
    ranked = np.argsort(-by_tree)
    for ((heads, labels), log_prob), index in zip(
        parser.k_best([SENTENCE], 4)[0], ranked, strict=False
    ):
        assert heads.tolist() == trees[index].tolist()
        best = labellings[int(joint[index].argmax())]
        assert labels == [parser.labels_[label] for label in best]
        np.testing.assert_allclose(log_prob, np.log(by_tree[index]), rtol=0, atol=1e-9)
    tree, labelling = np.unravel_index(int(joint.argmax()), joint.shape)
    ((heads, labels),) = parser.predict([SENTENCE], decoder="joint")
    assert heads.tolist() == trees[tree].tolist()
    assert labels == [parser.labels_[label] for label in labellings[labelling]]


def test_explanations_are_of_the_best_labelled_trees(parser):
    p = parser.distribution(SENTENCE)
    for word in range(3):
        why = parser.explain(SENTENCE, word)
        scores = [
            p.score(p.restricted(_only(heads, len(parser.labels_))).argmax)
            for heads in (why.heads, why.other_heads)
        ]
        assert why.difference == pytest.approx(scores[0] - scores[1], abs=1e-9)
        assert any(each.feature.startswith("label=") for each in why.contributions)


def _only(heads, n_labels):
    """Which arcs a tree has, with all labels."""
    allowed = np.zeros((len(heads) + 1, len(heads) + 1, n_labels), dtype=bool)
    allowed[heads, np.arange(1, len(heads) + 1)] = True
    return allowed


def test_files_keep_every_bit(parser, tmp_path):
    parser.save(tmp_path / "model")
    again = DependencyParser.load(tmp_path / "model")
    test = made(5, seed=3)
    assert str(again.predict(test)) == str(parser.predict(test))
    np.testing.assert_array_equal(again.entropy(test), parser.entropy(test))
    assert str(again.explain(test[0], 1)) == str(parser.explain(test[0], 1))


def test_labels_and_heads_may_be_known_in_part():
    sentences = made(40)
    partial = []
    for index, sentence in enumerate(sentences):
        column = ("HEAD", "DEPREL")[index % 2]
        values = list(sentence.column(column))
        values[index % len(values)] = "_"
        partial.append(sentence.replaced(column, values))
    whole = made(10, seed=9)
    parser = DependencyParser(**OPTIONS, max_iterations=8).fit(whole + partial, held_out=whole)
    test = made(10, seed=1)
    for sentence, (heads, labels) in zip(test, parser.predict(test), strict=True):
        assert heads.tolist() == heads_of(sentence)
        assert tuple(labels) == sentence.column("DEPREL")


def test_risk_of_labelled_arcs():
    parser = DependencyParser(**OPTIONS, objective="risk").fit(made(30))
    assert parser.score(made(10, seed=1)) == 1.0
    without = DependencyParser(**OPTIONS).fit([["a", "b"]] * 3, [[2, 0]] * 3)
    assert without.labels_ == ()
