"""Signals from the first line of `fit` to the last: a whole model, or one that says what it is."""

import signal

import pytest

import partita as pt
from partita.estimators.alignment.em import BothDirections
from partita.estimators.base import Estimator
from partita.training.optimisers import LBFGS, AdaGrad
from small_treebank import SMALL, made
from tests.estimators.small_translation import bitext

WORDS = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
TAGS = [["DET", "NOUN", "VERB"]] * 2
PLAIN = {"workers": 1, "progress": False}
KINDS = {
    "tagger": (pt.Tagger(max_iterations=2, **PLAIN), (WORDS, TAGS)),
    "segmenter": (pt.Segmenter(max_iterations=2, **PLAIN), (WORDS, TAGS)),
    "hmm": (pt.HiddenMarkovTagger(n_tags=2, max_iterations=2, **PLAIN), (WORDS,)),
    "parser": (pt.DependencyParser(max_iterations=2, **SMALL), (made(4),)),
    "aligner": (pt.Aligner(**PLAIN), bitext()),
    "translator": (pt.Translator(grammar=pt.Hiero(min_count=1), **PLAIN), bitext()),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


class Signalling(list):
    """Gets a signal when it is read for the first time."""

    is_read = False

    def __iter__(self):
        if not self.is_read:
            self.is_read = True
            signal.raise_signal(signal.SIGINT)
        return super().__iter__()


def test_a_signal_while_data_are_read(kind):
    model, (first, *others) = kind
    model.fit(Signalling(first), *others)
    assert model.training_.interrupted
    assert model.training_.learnt_nothing
    assert model.training_.reason.startswith("Interrupted (Ctrl-C) before the first iteration")


def test_a_signal_behind_the_last_run_loses_nothing(kind, monkeypatch, tmp_path):
    original = Estimator.__setattr__

    def late(self, name, value):
        if name == "training_":
            signal.raise_signal(signal.SIGINT)
        original(self, name, value)

    model, data = kind
    monkeypatch.setattr(Estimator, "__setattr__", late)
    model.fit(*data)
    assert not model.training_.interrupted
    model.save(tmp_path / "model")


def signal_at(monkeypatch, optimiser, number):
    """Ctrl-C in the middle of a certain step, counted from 1 over all runs."""
    original, calls = optimiser.step, []

    def step(self, *arguments):
        calls.append(None)
        if len(calls) == number:
            signal.raise_signal(signal.SIGINT)
        return original(self, *arguments)

    monkeypatch.setattr(optimiser, "step", step)


@pytest.mark.parametrize("grammar", [pt.Hiero(min_count=1), pt.Itg(n_bits=10)])
@pytest.mark.parametrize("n_whole", [0, 1])
def test_a_signal_while_words_are_aligned_is_not_forgotten(monkeypatch, grammar, n_whole):
    """The grammar is then what half an alignment gave, whatever the next stage says."""
    signal_at(monkeypatch, BothDirections, n_whole + 1)
    training = pt.Translator(grammar=grammar, **PLAIN).fit(*bitext()).training_
    assert training.interrupted
    assert training.learnt_nothing == (n_whole == 0)
    assert training.reason.startswith("Interrupted (Ctrl-C)")


def test_a_signal_between_two_stages_of_a_tagger(monkeypatch):
    signal_at(monkeypatch, LBFGS, 3)
    tagger = pt.Tagger(entropy_weight=0.1, max_iterations=2, **PLAIN)
    training = tagger.fit(WORDS, TAGS, unlabelled=WORDS).training_
    assert training.interrupted
    assert not training.learnt_nothing
    assert training.n_iterations == 2
    assert training.reason.startswith("Interrupted (Ctrl-C) before the first iteration")
    assert "The stage before: Stopped after 2 iterations" in training.reason


def test_a_signal_between_two_models_of_a_parser(monkeypatch):
    options = {**SMALL, "n_models": 2, "max_iterations": 2, "labels": False}
    first = pt.DependencyParser(**{**options, "n_models": 1}).fit(made(4))
    signal_at(monkeypatch, AdaGrad, 3)
    parser = pt.DependencyParser(**options).fit(made(4))
    assert parser.training_.interrupted
    assert not parser.training_.learnt_nothing
    assert parser.weights_.tobytes() == first.weights_.tobytes()


def test_labels_come_from_their_own_first_weights_where_there_are_no_arcs(monkeypatch):
    signal_at(monkeypatch, AdaGrad, 1)
    parser = pt.DependencyParser(max_iterations=2, **SMALL).fit(made(4))
    assert parser.training_.learnt_nothing
    assert not parser.label_weights_.any()


def test_a_hidden_markov_model_of_labels_is_one_before_the_first_iteration(monkeypatch):
    tagger = pt.HiddenMarkovTagger(max_iterations=2, **PLAIN)
    training = tagger.fit(Signalling(WORDS), TAGS, unlabelled=[["the", "cat"]]).training_
    assert training.interrupted
    assert not training.learnt_nothing
