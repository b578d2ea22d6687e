"""The dependency parser: learning, decoding under constraints, every question, files."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from partita import DependencyParser
from partita.data.arc_rules import ArcRule
from partita.data.conllu import parse_conllu
from partita.data.sentences import Sentence
from partita.estimators.parsing import fit
from partita.estimators.parsing.labels import one_subject
from partita.estimators.parsing.model import may_be_projective, nearest_projective
from partita.estimators.parsing.words import read_words
from partita.structures.tree_tools import is_projective, is_tree
from partita.training import checkpoint as checkpoints
from partita.training import train, trainer
from tests.projective import all_projective_trees

LEXICON = {"DET": ["the", "a"], "NOUN": ["dog", "cat", "man"], "VERB": ["sees", "hears"]}


def made(size, seed=0):
    """Subject, verb and object with determiners, sometimes with an adverb that hangs far away."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(size):
        tags = ["DET", "NOUN", "VERB", "DET", "NOUN"]
        heads = [2, 3, 0, 5, 3]
        labels = ["det", "nsubj", "root", "det", "obj"]
        if rng.random() < 0.3:
            tags, heads, labels = tags[1:3], [2, 0], labels[1:3]
        words = [str(rng.choice(LEXICON[tag])) for tag in tags]
        columns = {"FORM": words, "UPOS": tags, "HEAD": list(map(str, heads)), "DEPREL": labels}
        sentences.append(Sentence({name: tuple(values) for name, values in columns.items()}))
    return sentences


SMALL = {"n_bits": 12, "label_bits": 10, "min_count": 1, "n_threads": 1, "progress": False}
CROSSING = """1\ta\t_\tX\t_\t_\t3\tdep\t_\t_
2\tb\t_\tY\t_\t_\t4\tdep\t_\t_
3\tc\t_\tX\t_\t_\t0\troot\t_\t_
4\td\t_\tZ\t_\t_\t3\tdep\t_\t_

"""


@pytest.fixture(scope="module")
def parser():
    return DependencyParser(**SMALL, projective=False, max_iterations=8, batch_sentences=10).fit(
        made(60)
    )


def heads_of(sentence):
    return [int(value) for value in sentence.column("HEAD")]


def all_trees(n_words, single_root=True):
    for heads in itertools.product(range(n_words + 1), repeat=n_words):
        if is_tree(np.array(heads), single_root=single_root):
            yield np.array(heads)


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


def test_questions_agree_with_the_distribution(parser):
    sentence = made(40, seed=2)[0]
    p = parser.distribution(sentence)
    trees = list(all_trees(len(sentence)))
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
    for (tree, log_prob), index in zip(found, best, strict=True):
        assert tree.tolist() == trees[index].tolist()
        np.testing.assert_allclose(log_prob, np.log(probabilities[index]), rtol=0, atol=1e-9)
    risks = [marginals[tree, np.arange(1, len(sentence) + 1)].sum() for tree in trees]
    assert parser.predict([sentence], decoder="risk")[0][0].tolist() == (
        trees[int(np.argmax(risks))].tolist()
    )
    samples = parser.sample([sentence], 5, np.random.default_rng(0))[0]
    assert samples.shape == (5, len(sentence))
    assert all(is_tree(tree, single_root=True) for tree in samples)


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
    with pytest.raises(ValueError, match="^sentence 2: no tree with one root has"):
        parser.predict(words, forbidden=forbidden, decoder=decoder)
    with pytest.raises(ValueError, match="^sentence 2: no tree whose arcs do not cross and with"):
        parser.predict(words, required=[[], [], [(0, 1), (2, 1)]], projective=True)
    (sentence,) = parse_conllu("# a comment\n" + CROSSING, "my.conllu")
    with pytest.raises(ValueError, match="^my.conllu, line 2: no tree with one root has"):
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
    parser.save(tmp_path / "parser.model", {"command": {"name": "test"}})
    again = DependencyParser.load(tmp_path / "parser.model")
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
    assert again.get_params() == parser.get_params()


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
    with pytest.raises(ValueError, match="word is 5"):
        parser.explain(sentence, 5)


def test_threads_do_not_matter():
    few = made(30)
    one, two = (
        DependencyParser(**{**SMALL, "n_threads": n}, max_iterations=3, batch_sentences=5).fit(few)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.label_weights_, two.label_weights_)


@pytest.mark.parametrize("optimiser", ["adam", "adagrad", "sgd", "lbfgs"])
def test_partial_trees(optimiser):
    partial = []
    for index, sentence in enumerate(made(40)):
        heads = list(sentence.column("HEAD"))
        heads[index % len(heads)] = "_"
        partial.append(sentence.replaced("HEAD", heads))
    parser = DependencyParser(**SMALL, optimiser=optimiser, labels=False, max_iterations=8)
    assert parser.fit(partial).score(made(10, seed=1)) > 0.95


def test_partial_trees_whose_arcs_cross():
    crossing = np.array([3, 4, -1, -1])
    assert not may_be_projective(crossing)
    assert may_be_projective(np.array([3, -1, -1, 3]))
    for heads in all_trees(4):
        known = heads.copy()
        known[1] = -1
        completions = [
            tree
            for tree in all_trees(4)
            if is_projective(tree) and (tree == known)[known >= 0].all()
        ]
        assert may_be_projective(known) == bool(completions)
        kept = nearest_projective(known, single_root=True)
        n_kept = max(
            (tree == known)[known >= 0].sum() for tree in all_trees(4) if is_projective(tree)
        )
        assert (kept >= 0).sum() == n_kept
    partial = [each.replaced("HEAD", ["3", "4", "_", "_"]) for each in parse_conllu(CROSSING * 3)]
    parser = DependencyParser(**SMALL, projective=True, labels=False, max_iterations=3)
    assert parser.fit(partial).n_lifted_ == 3
    assert np.isfinite(parser.weights_).all()


def test_sentences_without_heads_do_not_make_a_parser_projective():
    sentences = parse_conllu(CROSSING * 2)
    raw = [each.replaced("HEAD", ["_"] * 4) for each in parse_conllu(CROSSING * 60)]
    parser = DependencyParser(**SMALL, labels=False, max_iterations=1)
    assert not parser.fit(sentences + raw).model_.projective


def test_markers_are_of_the_columns_of_the_training_sentences():
    columns = {
        "FORM": ("Into", "the", "house", "goes"),
        "UPOS": ("ADP", "DET", "NOUN", "VERB"),
        "HEAD": ("3", "3", "4", "0"),
    }
    sentence = Sentence(columns)
    parser = DependencyParser(**SMALL, labels=False).fit([sentence] * 3)
    more = Sentence({**columns, "LEMMA": ("in", "the", "house", "go")})
    (before,), (after,) = parser.predict_marginals([sentence]), parser.predict_marginals([more])
    np.testing.assert_array_equal(before, after)
    # An adposition without a lemma still marks the words behind it, by its form.
    none = Sentence({**columns, "LEMMA": ("_",) * 4})
    assert read_words([none]).columns["MARKER"].values == ("", "into")


def test_weights_of_sentences_count_for_labels():
    right = made(1, seed=1)[0]
    wrong = right.replaced("DEPREL", ["dep"] * len(right))
    parser = DependencyParser(**SMALL, max_iterations=1)
    parser.fit([right, wrong, wrong], sample_weights=[1.0, 0.0, 0.0])
    assert tuple(parser.predict([right])[0][1]) == right.column("DEPREL")
    assert parser.fit([right, wrong, wrong]).predict([right])[0][1] == ["dep"] * len(right)


def test_an_interrupt_ends_both_runs(monkeypatch):
    calls = []

    def interrupted(*arguments, **options):
        calls.append(options["log"])
        return replace(train(*arguments, **options), interrupted=True)

    monkeypatch.setattr(fit, "train", interrupted)
    parser = DependencyParser(**SMALL, labels=False, objective="risk", max_iterations=1)
    assert parser.fit(made(3)).training_.interrupted
    assert len(calls) == 1


def test_risk_and_entropy():
    few, rest = made(6), [[*zip(s.column("FORM"), s.column("UPOS"), strict=True)] for s in made(30)]
    labelled = [[*zip(s.column("FORM"), s.column("UPOS"), strict=True)] for s in few]
    trees = [heads_of(sentence) for sentence in few]
    plain = DependencyParser(**SMALL, max_iterations=3).fit(labelled, trees)
    for options in (
        {"objective": "risk"},
        {"entropy_weight": 0.5, "entropy_ramp": 1},
        {"entropy_weight": 0.5, "renyi_alpha": 2.0},
    ):
        parser = DependencyParser(**SMALL, max_iterations=3, **options)
        unlabelled = rest if "entropy_weight" in options else ()
        parser.fit(labelled, trees, unlabelled=unlabelled)
        assert parser.entropy(rest).sum() < plain.entropy(rest).sum()
    with pytest.raises(ValueError, match="no sentence came without heads"):
        DependencyParser(**SMALL, entropy_weight=0.1).fit(labelled, trees)


def test_rules_without_any_tree():
    rules = [
        ArcRule.of("VERB", "NOUN", "any", 0.98),
        ArcRule.of("NOUN", "DET", "any", 0.98),
        ArcRule.of("ROOT", "VERB", "any", 0.98),
    ]
    sentences = [s.replaced("HEAD", ["_"] * len(s)) for s in made(20)]
    parser = DependencyParser(**SMALL, rules=rules, labels=False, l2=0.01, max_iterations=60)
    assert parser.fit(sentences).score(made(10, seed=1)) > 0.75
    with pytest.raises(ValueError, match="lbfgs"):
        DependencyParser(**SMALL, rules=rules, optimiser="adam").fit(sentences)


def test_resumed_training_ends_where_an_unbroken_one_does(tmp_path, monkeypatch):
    options = {**SMALL, "labels": False, "batch_sentences": 8}
    whole = DependencyParser(**options, max_iterations=4).fit(made(20))
    path = tmp_path / "run.checkpoint"

    def first_two(where, run, about):
        if run.state.iteration == 2:
            checkpoints.write_checkpoint(where, run, about)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "write_checkpoint", first_two)
        DependencyParser(**options, max_iterations=4, checkpoint=path, checkpoint_seconds=0.0).fit(
            made(20)
        )
    again = DependencyParser(**options, max_iterations=4, checkpoint=path, resume=True)
    again.log = tmp_path / "log.jsonl"
    np.testing.assert_array_equal(again.fit(made(20)).weights_, whole.weights_)
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) >= 2


def test_held_out_sentences_stop_training():
    parser = DependencyParser(**SMALL, labels=False, max_iterations=30, patience=2)
    parser.fit(made(20), held_out=made(10, seed=5))
    assert parser.training_.n_iterations < 30
    assert "held-out" in parser.training_.reason


def test_warm_start():
    first = DependencyParser(**SMALL, labels=False, max_iterations=5).fit(made(20))
    again = DependencyParser(**SMALL, labels=False, max_iterations=0, warm_start=first)
    np.testing.assert_array_equal(again.fit(made(20)).weights_, first.weights_)
    with pytest.raises(ValueError, match="n_bits"):
        DependencyParser(**{**SMALL, "n_bits": 10}, warm_start=first).fit(made(20))


def test_nearest_projective_tree_needs_the_fewest_steps():
    rng = np.random.default_rng(0)
    trees = [tree for tree in all_trees(5) if not is_projective(tree)]
    every, _ = all_projective_trees((6, 6), single_root=True)
    for index in rng.choice(len(trees), 30, replace=False):
        heads = trees[index]
        found = nearest_projective(heads, single_root=True)
        assert is_projective(found)
        assert steps(heads, found) == min(steps(heads, tree) for tree in every)
    straight = np.array([2, 0, 2, 3, 2])
    assert nearest_projective(straight, single_root=True).tolist() == straight.tolist()


def steps(heads, lifted):
    """How many steps up the lifted heads are; infinitely many if one is no ancestor."""
    total = 0.0
    for word, head in enumerate(lifted):
        path, above = [], word + 1
        while above != 0:
            above = int(heads[above - 1])
            path.append(above)
        total += path.index(head) if head in path else np.inf
    return total


def test_crossing_arcs_in_a_projective_parser():
    sentences = parse_conllu(CROSSING) + parse_conllu(CROSSING)
    parser = DependencyParser(**SMALL, projective=True).fit(sentences)
    assert parser.n_lifted_ == 2
    assert is_projective(parser.predict(sentences)[0][0])
    free = DependencyParser(**SMALL).fit(sentences)
    assert not free.model_.projective
    assert DependencyParser(**SMALL, labels=False).fit(made(3)).model_.projective
    assert free.n_lifted_ == 0
    assert free.predict(sentences)[0][0].tolist() == [3, 4, 0, 3]
    assert is_projective(free.predict(sentences, projective=True)[0][0])


def test_very_short_and_very_long_sentences(parser):
    word = [("dog", "NOUN")]
    (one,), (heads, _) = parser.predict([word])[0][0], parser.predict([word * 500])[0]
    assert one == 0
    assert is_tree(heads, single_root=True)
    assert parser.predict([]) == []
    with pytest.raises(ValueError, match="no words"):
        parser.predict([[]])


def test_mistakes():
    with pytest.raises(ValueError, match="learnt nothing"):
        DependencyParser().predict([["a"]])
    with pytest.raises(ValueError, match="objective is 'best'"):
        DependencyParser(objective="best").fit(made(2))
    with pytest.raises(ValueError, match="n_bits is 40"):
        DependencyParser(n_bits=40).fit(made(2))
    with pytest.raises(ValueError, match="nothing says what to learn"):
        DependencyParser(**SMALL).fit([["a", "b"]])
    with pytest.raises(ValueError, match="LEMMA"):
        DependencyParser(**SMALL, features="head.lemma modifier.lemma").fit(made(2))
    with pytest.raises(ValueError, match="no sentences came"):
        DependencyParser(**SMALL).fit([])
    with pytest.raises(ValueError, match="rate is -1"):
        DependencyParser(**SMALL, rate=-1).fit(made(2))
    with pytest.raises(ValueError, match="labels came for 1 sentences"):
        DependencyParser(**SMALL).fit([["a", "b"]] * 2, [[2, 0]] * 2, [["dep", "root"]])
    with pytest.raises(ValueError, match="sentence 0 has 2 words and 1 labels"):
        DependencyParser(**SMALL).fit(
            [["a", "b"]] * 2, [[2, 0]] * 2, [["dep"], ["root", "dep", "root"]]
        )
    cycle = made(1)[0].replaced("HEAD", ["2", "1", "0", "5", "3"][: len(made(1)[0])])
    with pytest.raises(ValueError, match="line 1"):
        DependencyParser(**SMALL).fit([cycle])
