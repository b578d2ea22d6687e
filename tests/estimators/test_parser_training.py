"""How the dependency parser learns: from trees, parts of trees, rules and raw text."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from partita import DependencyParser
from partita.data.arc_rule import ArcRule
from partita.data.conllu import parse_conllu
from partita.data.sentences import Sentence
from partita.estimators import runs
from partita.estimators.base import NotFittedError
from partita.estimators.parsing.projective import may_be_projective, nearest_projective
from partita.structures.tree_tools import is_projective
from partita.text.tree_words import read_tree_words
from partita.training import AdaGrad, train, trainer
from partita.training import checkpoint as checkpoints
from partita.training.progress import NoDisplay
from tests.estimators.small_treebank import CROSSING, SMALL, all_trees, heads_of, made
from tests.projective import all_projective_trees


def test_threads_do_not_matter():
    few = made(30)
    one, two = (
        DependencyParser(**{**SMALL, "workers": n}, max_iterations=3, batch_sentences=5).fit(few)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.label_weights_, two.label_weights_)
    # Enough words for several pieces, of which some end before others.
    long = [[("dog", "NOUN")] * n_words for n_words in (150, 3, 180, 20, 170, 2)]
    for (first, _), (second, _) in zip(one.predict(long), two.predict(long), strict=True):
        np.testing.assert_array_equal(first, second)


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
    assert read_tree_words([none]).columns["MARKER"].values == ("", "into")


def test_weights_of_sentences_count_for_labels():
    right = made(1, seed=1)[0]
    wrong = right.replaced("DEPREL", ["dep"] * len(right))
    parser = DependencyParser(**SMALL, max_iterations=1)
    parser.fit([right, wrong, wrong], sample_weight=[1.0, 0.0, 0.0])
    assert tuple(parser.predict([right])[0][1]) == right.column("DEPREL")
    assert parser.fit([right, wrong, wrong]).predict([right])[0][1] == ["dep"] * len(right)


def test_an_interrupt_ends_both_runs(monkeypatch):
    calls = []

    def interrupted(*arguments, **options):
        calls.append(options["log"])
        return replace(train(*arguments, **options), interrupted=True)

    monkeypatch.setattr(runs, "train", interrupted)
    parser = DependencyParser(**SMALL, labels=False, objective="risk", max_iterations=1)
    assert parser.fit(made(3)).training_.interrupted
    assert len(calls) == 1


class Signalled(NoDisplay):
    """Sends signals when iterations end, counted over all runs; keeps what it is told."""

    def __init__(self, monkeypatch, *at):
        self.at, self.n_shown, self.said = at, 0, []
        monkeypatch.setattr(trainer, "choose_display", lambda progress: self)

    def show(self, record):
        self.n_shown += 1
        for _ in range(self.at.count(self.n_shown)):
            os.kill(os.getpid(), signal.SIGINT)

    def say(self, text):
        self.said.append(text)


def test_labels_are_learnt_in_one_pass_after_a_signal(monkeypatch):
    display = Signalled(monkeypatch, 2)
    parser = DependencyParser(**{**SMALL, "n_models": 2}, max_iterations=500).fit(made(30))
    # Two passes over arcs and one over labels.
    assert display.n_shown == 3
    arcs, labels = parser.training_.reason.split(" Labels: ")
    assert arcs.startswith("Interrupted (Ctrl-C) after 2 iterations")
    assert labels.startswith("Interrupted (Ctrl-C) after 1 iterations")
    assert [text for text in display.said if text.startswith("Ctrl-C came; what the model still")]
    assert parser.training_.interrupted
    right = [list(sentence.column("DEPREL")) for sentence in made(30)]
    assert [list(names) for _, names in parser.predict(made(30))] == right


def test_a_signal_while_labels_are_learnt_keeps_the_first_pass(monkeypatch):
    Signalled(monkeypatch, 3)
    parser = DependencyParser(**SMALL, max_iterations=2).fit(made(30))
    assert parser.label_weights_.any()
    assert parser.training_.interrupted
    assert parser.training_.n_iterations == 2


def test_a_second_model_that_is_broken_off_leaves_the_first(monkeypatch):
    class InTheSecond(Signalled):
        def advance(self, share):
            if self.n_shown == 3 and 0.4 < share < 1:
                os.kill(os.getpid(), signal.SIGINT)
                self.n_shown += 1

    few = {**SMALL, "batch_sentences": 2, "labels": False, "max_iterations": 2}
    display = InTheSecond(monkeypatch)
    parser = DependencyParser(**{**few, "n_models": 2}).fit(made(30))
    assert display.n_shown == 4
    assert parser.training_.interrupted
    alone = DependencyParser(**few).fit(made(30))
    np.testing.assert_array_equal(parser.weights_, alone.weights_)


def test_the_second_signal_ends_a_parser_at_once(monkeypatch):
    display = Signalled(monkeypatch, 1, 2)
    with pytest.raises(KeyboardInterrupt):
        DependencyParser(**SMALL, max_iterations=500).fit(made(30))
    assert display.n_shown == 2


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


@pytest.mark.parametrize("optimiser", [None, "adam", "adagrad"])
def test_rules_without_any_tree(optimiser):
    rules = [
        ArcRule.of("VERB", "NOUN", "any", 0.98),
        ArcRule.of("NOUN", "DET", "any", 0.98),
        ArcRule.of("ROOT", "VERB", "any", 0.98),
    ]
    sentences = [s.replaced("HEAD", ["_"] * len(s)) for s in made(20)]
    options = {**SMALL, "rules": rules, "labels": False, "l2": 0.01, "max_iterations": 60}
    parser = DependencyParser(**options, optimiser=optimiser, batch_sentences=6).fit(sentences)
    assert parser.score(made(10, seed=1)) > 0.75
    # Rules are about the shares of all sentences together: batches are too small for them.
    of_roots = [
        float(marginals[0, 1:][np.array(sentence.column("UPOS")) == "VERB"].sum())
        for sentence, marginals in zip(sentences, parser.predict_marginals(sentences), strict=True)
    ]
    assert np.mean(of_roots) == pytest.approx(0.98, abs=0.02)


def broken_off(monkeypatch, at):
    """Every checkpoint stays as it was after the iteration `at`, if its run came so far."""

    write = checkpoints.write_checkpoint

    def some(where, run, about):
        if run.state.iteration <= at:
            write(where, run, about)

    monkeypatch.setattr(checkpoints, "write_checkpoint", some)


@pytest.mark.parametrize("objective", ["likelihood", "risk"])
def test_resumed_training_ends_where_an_unbroken_one_does(objective, tmp_path, monkeypatch):
    options = {**SMALL, "batch_sentences": 8, "max_iterations": 4, "n_models": 2}
    options["objective"] = objective
    whole = DependencyParser(**options).fit(made(20))
    path, log = tmp_path / "run", tmp_path / "log.jsonl"
    with monkeypatch.context() as patch:
        broken_off(patch, at=2)
        DependencyParser(**options, checkpoint=path, checkpoint_seconds=0.0).fit(made(20))
    # A run for each model and stage, and one for the labels.
    n_runs = {"likelihood": 3, "risk": 5}[objective]
    names = ["run", *(f"run.{number}" for number in range(2, n_runs + 1))]
    assert sorted(each.name for each in tmp_path.iterdir()) == names
    steps, step = [], AdaGrad.step
    monkeypatch.setattr(AdaGrad, "step", lambda *given: steps.append(1) or step(*given))
    again = DependencyParser(**options, checkpoint=path, resume=True, log=log).fit(made(20))
    np.testing.assert_array_equal(again.weights_, whole.weights_)
    np.testing.assert_array_equal(again.label_weights_, whole.label_weights_)
    # Four passes over arcs and five over labels, two of each before the break.
    assert len(steps) == 2 * (n_runs - 1) + 3
    for number in range(1, n_runs + 1):
        lines = Path(runs.numbered(log, number)).read_text().splitlines()
        assert len(lines) == (6 if number < n_runs else 7)


def test_held_out_sentences_stop_training():
    # Held-out trees that are unlike all others: the better those are known, the worse.
    held_out = made(10, seed=5)
    chains = [list(range(len(sentence))) for sentence in held_out]
    parser = DependencyParser(**SMALL, labels=False, max_iterations=30, patience=2)
    parser.fit(made(20), held_out=(held_out, chains))
    assert parser.training_.n_iterations == 2
    assert "held-out" in parser.training_.reason
    assert not parser.weights_.any()
    with_columns = [
        each.replaced("HEAD", list(map(str, heads)))
        for each, heads in zip(held_out, chains, strict=True)
    ]
    again = DependencyParser(**SMALL, labels=False, max_iterations=30, patience=2)
    again.fit(made(20), held_out=with_columns)
    assert [each[:4] for each in again.training_.history] == [
        each[:4] for each in parser.training_.history
    ]
    with pytest.raises(ValueError, match="no word with known heads"):
        again.fit(made(20), held_out=[[("the", "DET"), ("dog", "NOUN")]])


def test_the_judge_is_the_share_of_wrong_heads_to_be_expected():
    held_out = made(10, seed=5)
    parser = DependencyParser(**SMALL, labels=False, max_iterations=2)
    parser.fit(made(20), held_out=held_out)
    heads = [heads_of(each) for each in held_out]
    right = sum(
        marginals[tree, np.arange(1, len(tree) + 1)].sum()
        for tree, marginals in zip(heads, parser.predict_marginals(held_out), strict=True)
    )
    share = 1 - right / sum(map(len, heads))
    assert min(each.held_out for each in parser.training_.history) == pytest.approx(share)
    assert f"{share:.4g} of the heads wrong, to be expected" in str(parser.inspect())


def test_warm_start():
    first = DependencyParser(**SMALL, labels=False, max_iterations=5).fit(made(20))
    again = DependencyParser(**SMALL, labels=False, rate=0.0, warm_start=first).fit(made(20))
    np.testing.assert_allclose(again.weights_, first.weights_, rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match="n_bits"):
        DependencyParser(**{**SMALL, "n_bits": 10}, warm_start=first).fit(made(20))
    with pytest.raises(ValueError, match="learnt nothing"):
        DependencyParser(**SMALL, warm_start=DependencyParser()).fit(made(20))


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


def test_the_mean_of_several_models(tmp_path):
    options = {**SMALL, "labels": False, "max_iterations": 3, "batch_sentences": 8}
    sentences, two = made(20), {**options, "n_models": 2}
    singles = [DependencyParser(**{**options, "seed": seed}).fit(sentences) for seed in (0, 1)]
    mean = DependencyParser(**two, checkpoint=tmp_path / "run").fit(sentences)
    weights = (singles[0].weights_ + singles[1].weights_) / 2
    np.testing.assert_allclose(mean.weights_, weights, rtol=0, atol=1e-12)
    assert not np.allclose(singles[0].weights_, singles[1].weights_)
    again = DependencyParser(**two, checkpoint=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(again.fit(sentences).weights_, mean.weights_)
    one = DependencyParser(**two, optimiser="lbfgs").fit(sentences)
    np.testing.assert_array_equal(
        one.weights_, DependencyParser(**options, optimiser="lbfgs").fit(sentences).weights_
    )


def test_mistakes():
    with pytest.raises(NotFittedError, match="learnt nothing"):
        DependencyParser().predict([["a"]])
    # Before any sentence is read.
    with pytest.raises(ValueError, match="workers is 0"):
        DependencyParser(workers=0).fit(1 / 0 for _ in range(1))
    with pytest.raises(
        ValueError, match="renyi_alpha is 2.0, which changes nothing without an entr"
    ):
        DependencyParser(renyi_alpha=2.0).fit(made(2))
    with pytest.raises(
        ValueError, match="rate is 0.1, which changes nothing without 'adam', 'adagr"
    ):
        DependencyParser(optimiser="lbfgs", rate=0.1).fit(made(2))
    with pytest.raises(ValueError, match=r"sample_weight has shape \(1,\)"):
        DependencyParser(**SMALL).fit(made(2), sample_weight=[1.0])
    with pytest.raises(ValueError, match="objective is 'best'"):
        DependencyParser(objective="best").fit(made(2))
    with pytest.raises(ValueError, match="n_bits is 40"):
        DependencyParser(n_bits=40).fit(made(2))
    with pytest.raises(ValueError, match="nothing says what to learn"):
        DependencyParser(**SMALL).fit([["a", "b"]])
    with pytest.raises(ValueError, match="LEMMA"):
        DependencyParser(**SMALL, features="head.LEMMA modifier.LEMMA").fit(made(2))
    with pytest.raises(ValueError, match="no sentences came"):
        DependencyParser(**SMALL).fit([])
    with pytest.raises(ValueError, match="sentence 1 is the text 'a b'"):
        DependencyParser(**SMALL).fit([["a", "b"], "a b"], [[2, 0], [0, 1, 1]])
    with pytest.raises(ValueError, match=r"sentence 0 .* has a word whose UPOS is None"):
        DependencyParser(**SMALL).fit([[("a", None)]], [[0]])
    with pytest.raises(ValueError, match="the tokens are of the types int"):
        DependencyParser(**SMALL).fit([[1, 2]], [[2, 0]])
    with pytest.raises(ValueError, match="rate is -1"):
        DependencyParser(**SMALL, rate=-1).fit(made(2))
    with pytest.raises(ValueError, match="labels came for 1 sentences"):
        DependencyParser(**SMALL).fit([["a", "b"]] * 2, [[2, 0]] * 2, [["dep", "root"]])
    with pytest.raises(ValueError, match=r"sentence 0 .* has 2 words and 1 labels"):
        DependencyParser(**SMALL).fit(
            [["a", "b"]] * 2, [[2, 0]] * 2, [["dep"], ["root", "dep", "root"]]
        )
    cycle = made(1)[0].replaced("HEAD", ["2", "1", "0", "5", "3"][: len(made(1)[0])])
    with pytest.raises(ValueError, match="line 1"):
        DependencyParser(**SMALL).fit([cycle])
