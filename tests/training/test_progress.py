"""What a run shows: to whom it should, often enough, and never at the cost of the model."""

import io
import sys
import time

import numpy as np
import pytest

from partita.objectives import Likelihood
from partita.training.checkpoint import Record
from partita.training.memory_corpus import MemoryCorpus
from partita.training.optimisers import LBFGS, Adam
from partita.training.progress import (
    Display,
    NoDisplay,
    PlainDisplay,
    RichDisplay,
    choose_display,
)
from partita.training.trainer import train
from small_corpora import chain_batches


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Recorder(Display):
    """Remembers what it is told."""

    def __init__(self):
        self.events = []
        self.shares = []

    def begin(self, n_iterations):
        self.events.append(("begin", n_iterations))

    def show(self, record):
        self.events.append(("show", record.iteration))

    def advance(self, share):
        self.shares.append(share)

    def say(self, text):
        self.events.append(("say", text))

    def end(self):
        self.events.append(("end",))


@pytest.fixture
def corpus():
    return MemoryCorpus(Likelihood(), chain_batches(), n_threads=1)


RECORDS = [Record(i, 10.0 / i, 0.5, 0.25, 20.0 * i) for i in (1, 2, 3)]


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_plain_display(stream):
    display = PlainDisplay(stream, seconds_between=0.0)
    display.begin(10)
    for record in RECORDS:
        display.show(record)
    display.say("The disk is full.")
    display.end()
    text = stream.getvalue()
    assert "iteration 3: loss 3.333333, gradient 0.5, held out 0.25, at most 0:02:20 left" in text
    assert text.count("\n") == (2 if stream.isatty() else 4)
    assert text.count("\r") == (3 if stream.isatty() else 0)
    assert text.endswith("left\nThe disk is full.\n")


def test_a_line_every_ten_seconds(monkeypatch):
    """Also during a pass that takes minutes, and no more often."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    display = PlainDisplay(stream)
    display.begin(3)
    lines = []
    for iteration in (1, 2):
        for batch in range(100):
            now[0] += 0.5
            display.advance((batch + 1) / 100)
        display.show(Record(iteration, 1.0, 1.0, float("nan"), 50.0 * iteration))
    display.end()
    lines = stream.getvalue().splitlines()
    assert lines[0] == ("iteration 1: 20% of a pass over the data, 0:00:10 since the run began")
    assert sum(line.startswith("iteration 1: loss") for line in lines) <= 1
    assert lines[-1].startswith("iteration 2:")
    assert len(lines) == 10


def test_rich_display():
    pytest.importorskip("rich")
    terminal = Terminal()
    display = choose_display(None, terminal)
    assert isinstance(display, RichDisplay)
    display.begin(10)
    for record in RECORDS:
        display.advance(0.5)
        display.show(record)
    display.say("A [word] in brackets.")
    display.end()
    assert "at most 0:02:20" in terminal.getvalue()
    assert "A [word] in brackets." in terminal.getvalue()


def test_who_gets_a_display(monkeypatch):
    recorder = Recorder()
    assert choose_display(recorder) is recorder
    assert isinstance(choose_display(False, Terminal()), NoDisplay)
    monkeypatch.setattr(sys, "stderr", None)
    assert isinstance(choose_display(True), NoDisplay)
    closed = io.StringIO()
    closed.close()
    assert isinstance(choose_display(True, closed), NoDisplay)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert isinstance(choose_display(None, Terminal()), PlainDisplay)


def test_display_only_if_asked_or_on_a_terminal(capsys, corpus, monkeypatch):
    train(corpus, LBFGS(n_iterations=2))
    assert capsys.readouterr().err == ""
    train(corpus, LBFGS(n_iterations=2), progress=True)
    assert capsys.readouterr().err == ""  # done before the first line is due
    monkeypatch.setattr("partita.training.progress.SECONDS_BETWEEN", 0.0)
    train(corpus, LBFGS(n_iterations=2), progress=True)
    captured = capsys.readouterr()
    assert "iteration 1: loss" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("optimiser", [LBFGS(n_iterations=2), Adam(n_iterations=2)])
def test_a_display_of_ones_own(corpus, optimiser):
    recorder = Recorder()
    held_out = MemoryCorpus(Likelihood(), chain_batches(9, 3, seed=1), n_threads=2)
    train(corpus, optimiser, held_out=held_out, progress=recorder)
    assert recorder.events == [("begin", 2), ("show", 1), ("show", 2), ("end",)]
    assert set(recorder.shares) >= {0.125, 0.5, 1.0}  # of eight batches
    assert 1 / 3 in recorder.shares  # of three
    n_shares = len(recorder.shares)
    corpus.value(np.zeros(corpus.n_weights))
    assert len(recorder.shares) == n_shares


def test_problems_are_told_when_they_arise(tmp_path, corpus, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("partita.training.checkpoint.write_checkpoint", full)
    recorder = Recorder()
    files = {"checkpoint": tmp_path / "run", "checkpoint_seconds": 0.0}
    result = train(corpus, LBFGS(n_iterations=3), progress=recorder, **files)
    said = [event for event in recorder.events if event[0] == "say"]
    assert len(said) == 1
    assert said[0][1] in result.reason
    assert recorder.events.index(said[0]) == 2


def test_a_stream_that_nobody_reads_any_more(corpus):
    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    display = PlainDisplay(Broken(), seconds_between=0.0)
    result = train(corpus, LBFGS(n_iterations=3), progress=display)
    assert result.n_iterations == 3
