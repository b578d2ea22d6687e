"""Parsers of the second order: every question, by all trees."""

import numpy as np
import pytest

from partita import DependencyParser, SiblingTree
from partita.data.arc_rule import ArcRule
from partita.data.sentences import Sentence
from partita.estimators.parsing.lifting import lowered
from partita.structures.tree_tools import is_projective
from tests.estimators.small_treebank import SMALL, all_trees, heads_of, made

OPTIONS = {**SMALL, "order": 2, "sibling_bits": 10, "batch_sentences": 10}
SENTENCE = [("the", "DET"), ("dog", "NOUN"), ("sees", "VERB"), ("a", "DET")]


@pytest.fixture(scope="module")
def parser():
    return DependencyParser(**OPTIONS, max_iterations=8).fit(made(60))


@pytest.fixture(scope="module")
def trees(parser):
    """All trees of a sentence, and their probabilities."""
    p = parser.distribution(SENTENCE)
    found = [tree for tree in all_trees(4) if is_projective(tree)]
    scores = np.array([p.score(tree) for tree in found])
    weights = np.exp(scores - scores.max())
    return found, weights / weights.sum()


def test_learns(parser):
    test = made(20, seed=1)
    for decoder in ("best", "risk", "joint"):
        parses = parser.predict(test, decoder=decoder)
        for sentence, (heads, labels) in zip(test, parses, strict=True):
            assert heads.tolist() == heads_of(sentence)
            assert tuple(labels) == sentence.column("DEPREL")


def test_questions_agree_with_all_trees(parser, trees):
    found, probabilities = trees
    assert isinstance(parser.distribution(SENTENCE), SiblingTree)
    marginals = np.zeros((5, 5))
    for tree, probability in zip(found, probabilities, strict=True):
        marginals[tree, np.arange(1, 5)] += probability
    np.testing.assert_allclose(parser.predict_marginals([SENTENCE])[0], marginals, atol=1e-9)
    entropy = -(probabilities * np.log(probabilities)).sum()
    assert parser.entropy([SENTENCE])[0] == pytest.approx(entropy, abs=1e-9)
    log_probs = parser.log_prob([SENTENCE] * len(found), found)
    np.testing.assert_allclose(log_probs, np.log(probabilities), atol=1e-9)
    part = parser.log_prob([SENTENCE], [[2, -1, -1, -1]])[0]
    agrees = np.array([tree[0] == 2 for tree in found])
    assert np.exp(part) == pytest.approx(probabilities[agrees].sum(), abs=1e-9)
    ranked = np.sort(np.log(probabilities))[::-1]
    best = parser.k_best([SENTENCE], 5)[0]
    np.testing.assert_allclose([log_prob for _, log_prob in best], ranked[:5], atol=1e-9)
    (heads, _), *_ = parser.predict([SENTENCE], decoder="best")
    assert heads.tolist() == found[int(probabilities.argmax())].tolist()
    risks = [marginals[tree, np.arange(1, 5)].sum() for tree in found]
    (heads, _), *_ = parser.predict([SENTENCE], decoder="risk")
    assert marginals[heads, np.arange(1, 5)].sum() == pytest.approx(max(risks), abs=1e-12)
    samples = parser.sample([SENTENCE], 20, np.random.default_rng(0))[0]
    assert all(is_projective(heads) for heads, _ in samples)


def test_trees_are_chosen_with_their_labels_if_nobody_says_otherwise():
    """Where there are labels; the first order, which is there for speed, takes the best tree."""
    words = [[("a", "X"), ("b", "X"), ("c", "X")]] * 12
    heads, labels = [[0, 1, 1], [2, 0, 2], [2, 3, 0]] * 4, [["r", "s", "t"], ["t", "r", "s"]] * 6
    for order, decoder in ((1, "best"), (2, "joint")):
        learnt = DependencyParser(**{**OPTIONS, "order": order}, max_iterations=1)
        learnt.fit(words, heads, labels)
        names = {"best", "risk", "joint"}
        answers = {name: learnt.predict(words[:1], decoder=name)[0] for name in names}
        assert learnt._decoder(None) == decoder
        found = learnt.predict(words[:1])[0]
        assert found[0].tolist() == answers[decoder][0].tolist()
        assert found[1] == answers[decoder][1]
    plain = DependencyParser(**OPTIONS, labels=False, max_iterations=1).fit(words, heads)
    assert plain._decoder(None) == "best"
    with pytest.raises(ValueError, match="decoder is 'x'"):
        plain.predict(words[:1], decoder="x")


def test_arcs_that_are_required_or_forbidden(parser, trees):
    found, probabilities = trees
    (heads, _), *_ = parser.predict(
        [SENTENCE], required=[[(1, 3)]], forbidden=[[(3, 2)]], decoder="best"
    )
    left = [i for i, tree in enumerate(found) if tree[2] == 1 and tree[1] != 3]
    assert heads.tolist() == found[max(left, key=lambda i: probabilities[i])].tolist()


def test_explanations_account_for_the_whole_difference(parser):
    p = parser.distribution(SENTENCE)
    for word in range(4):
        why = parser.explain(SENTENCE, word)
        lead = p.score(np.array(why.heads)) - p.score(np.array(why.other_heads))
        assert why.difference == pytest.approx(lead, abs=1e-9)
    assert "modifiers side by side" in str(why)


def test_it_is_kept(parser, tmp_path):
    path = tmp_path / "parser.model"
    parser.save(path)
    again = DependencyParser.load(path)
    assert again.order == 2
    np.testing.assert_array_equal(again.weights_, parser.weights_)
    np.testing.assert_array_equal(
        again.predict_marginals([SENTENCE])[0], parser.predict_marginals([SENTENCE])[0]
    )
    assert "pairs of siblings" in str(again.inspect())
    assert any("inner." in template for template in again.strongest_)


def test_siblings_tell_what_arcs_cannot():
    """Nouns behind a verb all hang on it, or each on the one before; never some so, some so."""
    words = [("sees", "VERB"), ("a", "NOUN"), ("b", "NOUN"), ("c", "NOUN")]
    heads = [[0, 1, 1, 1], [0, 1, 2, 3]] * 10
    options = {**OPTIONS, "labels": False, "optimiser": "lbfgs", "l2": 1e-3}
    first, second = (
        DependencyParser(**{**options, "order": order}).fit([words] * 20, heads) for order in (1, 2)
    )
    chances = [np.exp(each.log_prob([words] * 2, heads[:2])).sum() for each in (first, second)]
    # The arcs alone know no more than that each noun has one head or the other.
    assert chances[0] == pytest.approx(0.5, abs=0.02)
    assert chances[1] > 0.98


def test_partial_heads(parser):
    sentences = [[("dog", "NOUN"), ("sees", "VERB"), ("cat", "NOUN")]] * 20
    learnt = DependencyParser(**OPTIONS, labels=False).fit(sentences, heads=[[2, -1, -1]] * 20)
    assert learnt.predict_marginals(sentences[:1])[0][2, 1] > 0.9


def test_rules_without_any_tree():
    rules = [ArcRule.of("VERB", "NOUN", "right", 0.9)]
    sentences = [[("dogs", "NOUN"), ("see", "VERB")]] * 5
    options = {**OPTIONS, "labels": False, "rules": rules}
    ruled = DependencyParser(**options).fit([], unlabelled=sentences)
    assert ruled.predict_marginals(sentences[:1])[0][2, 1] == pytest.approx(0.9, abs=0.02)


def test_what_it_cannot_do(parser):
    with pytest.raises(ValueError, match="arcs cannot cross"):
        DependencyParser(order=2, projective=False).check()
    with pytest.raises(ValueError, match="labels='joint' came with order=2"):
        DependencyParser(order=2, labels="joint").check()
    with pytest.raises(ValueError, match="second order"):
        parser.predict([SENTENCE], projective=False)


def crossing_sentences(size):
    """A word whose head stands beyond the root."""
    columns = {
        "FORM": ("a", "b", "c", "d"),
        "UPOS": ("X", "Y", "X", "Z"),
        "HEAD": ("3", "4", "0", "3"),
        "DEPREL": ("det", "obj", "root", "advcl"),
    }
    return [Sentence(columns)] * size


def test_arcs_that_cross_are_lifted_and_taken_down_again(tmp_path):
    sentences = crossing_sentences(20)
    parser = DependencyParser(**OPTIONS, max_iterations=8).fit([*sentences, *made(20)])
    assert parser.n_lifted_ == 20
    assert "obj↑advcl" in parser.labels_
    parser.save(tmp_path / "parser.model")
    for each in (parser, DependencyParser.load(tmp_path / "parser.model")):
        for decoder in ("best", "joint"):
            heads, labels = each.predict(sentences[:1], decoder=decoder)[0]
            assert heads.tolist() == [3, 4, 0, 3]
            assert labels == ["det", "obj", "root", "advcl"]
    (heads, labels), _ = parser.k_best(sentences[:1], 1)[0][0]
    assert heads.tolist() == [3, 4, 0, 3]
    assert parser.score(sentences) == 1.0
    options = {**OPTIONS, "pseudo_projective": False}
    plain = DependencyParser(**options, max_iterations=8).fit([*sentences, *made(20)])
    assert plain.predict(sentences[:1])[0][0].tolist() == [3, 3, 0, 3]
    assert not any("↑" in name for name in plain.labels_)


def test_marks_that_mean_no_word_are_dropped():
    heads, labels = lowered(np.array([2, 0, 2]), ["obj↑conj", "root", "mod↑obj"])
    assert heads.tolist() == [2, 0, 1]
    assert labels == ["obj", "root", "mod"]
    # Neither itself nor what hangs on it.
    heads, _ = lowered(np.array([2, 0, 1]), ["obj↑obj", "root", "obj"])
    assert heads.tolist() == [2, 0, 1]


def test_a_column_that_is_blank_changes_nothing():
    blank = [each.replaced("XPOS", ("_",) * len(each)) for each in made(20)]
    options = {**OPTIONS, "max_iterations": 2, "n_models": 1}
    plain, with_blank = (DependencyParser(**options).fit(each) for each in (made(20), blank))
    np.testing.assert_array_equal(plain.weights_, with_blank.weights_)
    np.testing.assert_array_equal(plain.label_weights_, with_blank.label_weights_)


@pytest.mark.parametrize("decoder", ["best", "joint"])
def test_the_best_trees_of_another_parser_are_compared_by_both(parser, decoder):
    sentences = crossing_sentences(10)
    options = {**SMALL, "projective": False, "max_iterations": 1, "n_models": 1}
    first = DependencyParser(**options).fit([*sentences, *made(20)])
    mine = [(heads, first.distribution(SENTENCE).score(heads)) for heads in all_trees(4)]
    # All 64 trees: those that are not among the 32 best stay out.
    best = sorted(mine, key=lambda tree: -tree[1])[:32]
    p = parser.distribution(SENTENCE)
    arcs, siblings = (each[0] for each in p.structures.split_arrays(p.scores))
    totals = []
    for heads, score in best:
        other = sum(arcs[head, word] for word, head in enumerate(heads, start=1))
        for word, head in enumerate(heads, start=1):
            between = range(head + 1, word) if head < word else range(head - 1, word, -1)
            inner = [each for each in between if heads[each - 1] == head]
            other += siblings[head, inner[-1] if inner else head, word]
        labels = first.predict_labels([SENTENCE], [heads])[0].max(axis=1)
        gain = np.log(labels).sum() if decoder == "joint" else 0.0
        totals.append(0.7 * score + 0.3 * other + gain)
    expected = best[int(np.argmax(totals))][0]
    found = first.predict([SENTENCE, []], rescorer=parser, decoder=decoder)
    assert found[0][0].tolist() == expected.tolist()
    assert len(found[1][0]) == 0
    (streamed, _), *_ = first.predict_stream([SENTENCE], rescorer=parser, decoder=decoder)
    assert streamed.tolist() == expected.tolist()


def test_a_rescorer_compares_whole_trees(parser):
    with pytest.raises(ValueError, match="came with a rescorer"):
        parser.predict([SENTENCE], decoder="risk", rescorer=parser)
    with pytest.raises(ValueError, match="learnt nothing"):
        parser.predict([SENTENCE], rescorer=DependencyParser())
