"""Signals during a run: noted, heeded between batches, and nothing of the run is lost."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

import partita as pt
from partita.estimators.runs import run
from partita.estimators.tagging import hidden_markov_weights
from partita.objectives import Likelihood
from partita.training import break_if_interrupted, cluster, heed_interruptions
from partita.training.batches import Batch
from partita.training.interruption import Interrupted, end_if_terminated, interruptible_run
from partita.training.memory_corpus import MemoryCorpus
from partita.training.optimisers import LBFGS, OWLQN, SGD, AdaGrad, Adam
from partita.training.penalties import Penalty
from partita.training.trainer import minimise, train
from small_corpora import N_WEIGHTS, chain_batches

PENALTY = Penalty(l2=1.0)
ENDLESS = {"gradient_tolerance": 0.0, "loss_tolerance": 0.0, "n_iterations": 10_000}
OPTIMISERS = [LBFGS(**ENDLESS), OWLQN(**ENDLESS), SGD(), AdaGrad(), Adam()]


@pytest.fixture(autouse=True)
def handlers_are_restored():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    # Other tests go on, whatever signals came here.
    with contextlib.suppress(SystemExit):
        end_if_terminated()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


class SignallingCorpus(MemoryCorpus):
    """Gets a signal when it takes a certain batch for a certain time."""

    n_taken = 0
    signal_at = -1
    number = signal.SIGINT

    def __init__(self, batches, n_threads=1):
        watched = [self.watched(batch) for batch in batches]
        super().__init__(Likelihood(), watched, n_threads=n_threads)

    def watched(self, batch):
        corpus = self

        class Watched(Batch):
            def statistics(self, weights, objectives, **options):
                corpus.n_taken += 1
                if corpus.n_taken == corpus.signal_at:
                    signal.raise_signal(corpus.number)
                return super().statistics(weights, objectives, **options)

        return Watched(batch.distribution, batch.structures, batch.features, batch.targets)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda optimiser: type(optimiser).__name__)
def test_a_pass_that_is_broken_off_is_dropped(optimiser, n_threads):
    """The run stands as it was after the last whole iteration."""
    batches = chain_batches()
    corpus = SignallingCorpus(batches, n_threads=n_threads)
    # The first pass is of the first weights; mini-batches need none.
    corpus.signal_at = 3 * len(batches) + len(batches) // 2
    result = train(corpus, optimiser, penalty=PENALTY)
    assert result.interrupted
    assert result.reason.startswith("Interrupted (Ctrl-C) after")
    assert result.n_iterations == len(result.history) > 0
    # With threads, the main one must wake up to note the signal.
    assert n_threads > 1 or corpus.n_taken < 4 * len(batches)
    same = replace(optimiser, n_iterations=result.n_iterations)
    if isinstance(optimiser, SGD | AdaGrad | Adam):
        same = replace(optimiser, average_from=None)
        schedule = train(corpus, same, penalty=PENALTY)  # rates know the number of passes
        assert schedule.history[: result.n_iterations][-1].loss == result.loss
        return
    expected = train(MemoryCorpus(Likelihood(), batches), same, penalty=PENALTY)
    assert result.weights.tobytes() == expected.weights.tobytes()
    assert result.loss == expected.loss


@pytest.mark.parametrize("keeping", ["model", "best", "checkpoint"])
@pytest.mark.parametrize("optimiser", [SGD(), AdaGrad(average_from=1), Adam()])
def test_mini_batches_leave_the_model_before_the_pass(optimiser, keeping, tmp_path):
    """They write over the state, of which a run keeps what it needs, as it needs it."""
    batches, judged = chain_batches(), []
    corpus, plain = SignallingCorpus(batches), MemoryCorpus(Likelihood(), batches)
    corpus.signal_at = 2 * len(batches) + len(batches) // 2
    options = {
        "model": {},
        "best": {"held_out": lambda weights: -len(judged) - (judged.append(weights) or 0)},
        "checkpoint": {"checkpoint": tmp_path / "run"},
    }[keeping]
    result = train(corpus, optimiser, penalty=PENALTY, **options)
    assert (result.interrupted, result.n_iterations) == (True, 2)
    two, three = (
        train(plain, replace(optimiser, n_iterations=n), penalty=PENALTY).weights.tobytes()
        for n in (2, 3)
    )
    assert result.weights.tobytes() == two
    if keeping == "checkpoint":
        same = replace(optimiser, n_iterations=3)
        corpus.signal_at = -1
        resumed = train(corpus, same, penalty=PENALTY, resume=True, **options)
        assert resumed.weights.tobytes() == three


def test_sigterm_is_like_ctrl_c():
    corpus = SignallingCorpus(chain_batches())
    corpus.signal_at, corpus.number = 20, signal.SIGTERM
    result = train(corpus, LBFGS(**ENDLESS), penalty=PENALTY)
    assert result.interrupted
    assert result.reason.startswith("Interrupted (SIGTERM) after")


def test_during_the_first_pass_the_first_weights_are_kept():
    corpus = SignallingCorpus(chain_batches())
    corpus.signal_at = 2
    first = np.full(N_WEIGHTS, 0.25)
    result = train(corpus, LBFGS(**ENDLESS), weights=first)
    assert result.interrupted
    assert result.reason == (
        "Interrupted (Ctrl-C) before the first iteration; the weights are the first ones."
    )
    assert result.weights.tobytes() == first.tobytes()
    assert result.learnt_nothing


def test_a_judge_on_held_out_data_is_broken_off_too(tmp_path):
    held_out = SignallingCorpus(chain_batches(20, 2, seed=9))
    held_out.signal_at = 4 * 10 + 3  # the first pass is of the first weights
    corpus = MemoryCorpus(Likelihood(), chain_batches())
    path = tmp_path / "checkpoint"
    options = {"penalty": PENALTY, "held_out": held_out}
    result = train(corpus, LBFGS(**ENDLESS), checkpoint=path, **options)
    assert result.interrupted
    assert held_out.n_taken == 4 * 10 + 3
    assert result.n_iterations == len(result.history) == 3
    third = train(corpus, replace(LBFGS(**ENDLESS), n_iterations=3), **options)
    assert result.weights.tobytes() == third.weights.tobytes()
    resumed = train(corpus, LBFGS(n_iterations=8), checkpoint=path, resume=True, **options)
    whole = train(corpus, LBFGS(n_iterations=8), **options)
    assert resumed.weights.tobytes() == whole.weights.tobytes()


def test_a_plain_function():
    calls = []

    def function(weights):
        calls.append(1)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        break_if_interrupted()
        return float(weights @ weights), 2 * weights

    result = minimise(function, np.ones(2))
    assert result.interrupted
    assert len(calls) == 2
    np.testing.assert_array_equal(result.weights, 1.0)


def test_several_stages_end_together():
    """The signal that ends the first run ends the second before it begins."""
    corpus = SignallingCorpus(chain_batches())
    corpus.signal_at = 20
    with heed_interruptions() as interruption:
        first = train(corpus, LBFGS(**ENDLESS))
        n_taken = corpus.n_taken
        # Not a run: whatever the block still needs to know, it can find out.
        assert corpus.value(first.weights) < corpus.value(np.zeros(N_WEIGHTS))
        assert corpus.n_taken > n_taken
        for optimiser in (LBFGS(**ENDLESS), Adam()):
            n_taken = corpus.n_taken
            second = train(corpus, optimiser, weights=first.weights)
            assert second.interrupted
            assert corpus.n_taken == n_taken
            assert second.weights.tobytes() == first.weights.tobytes()
    assert interruption.is_requested
    assert not train(corpus, LBFGS(n_iterations=1)).interrupted


def test_a_signal_between_two_stages_is_heeded():
    corpus = MemoryCorpus(Likelihood(), chain_batches())
    with heed_interruptions():
        assert not train(corpus, LBFGS(n_iterations=1)).interrupted
        signal.raise_signal(signal.SIGINT)
        assert train(corpus, LBFGS(n_iterations=1)).interrupted


def test_the_second_ctrl_c_ends_at_once():
    seen = []

    def stubborn(weights):
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
            seen.append(1)
        raise AssertionError("not reached")

    with pytest.raises(KeyboardInterrupt):
        minimise(stubborn, np.ones(2))
    assert len(seen) == 1


def test_the_second_ctrl_c_inside_compiled_code():
    """Which garbles the exception; it comes out as what it was."""

    def garbled():
        signal.raise_signal(signal.SIGINT)
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise SystemError("returned a result with an exception set")

    with pytest.raises(KeyboardInterrupt), heed_interruptions():
        garbled()
    with pytest.raises(SystemError), heed_interruptions():
        raise SystemError("of its own")


def test_the_second_sigterm_kills():
    code = """
import os, signal
from partita.training import heed_interruptions
with heed_interruptions() as interruption:
    os.kill(os.getpid(), signal.SIGTERM)
    print(interruption.cause, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    print("still here", flush=True)
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert process.returncode == -signal.SIGTERM
    assert process.stdout == b"SIGTERM\n"


def test_the_fit_after_a_sigterm_ends_the_program():
    """But not before the model of the one that was ended is saved, and files are closed."""
    code = """
import atexit, os, signal
import partita as pt
from partita.training import heed_interruptions
atexit.register(print, "closed")
words, tags = [["a", "b"]], [["A", "B"]]
with heed_interruptions():
    os.kill(os.getpid(), signal.SIGTERM)
    model = pt.Tagger(progress=False).fit(words, tags)
    model = pt.Tagger(progress=False).fit(words, tags)
print(model.training_.reason)
pt.HiddenMarkovTagger(progress=False).fit(words, tags)
print("still here")
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert process.returncode == 128 + signal.SIGTERM
    assert process.stderr == b""
    said = process.stdout.decode().splitlines()
    assert said[0].startswith("Interrupted (SIGTERM) before the first iteration")
    assert said[1:] == ["closed"]


def test_after_a_sigterm_a_handler_of_others_gets_it_with_the_next_fit():
    calls = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: calls.append(number))
    try:
        with heed_interruptions():
            signal.raise_signal(signal.SIGTERM)
        assert calls == []
        tagger = pt.Tagger(progress=False, max_iterations=1).fit([["a"]], [["A"]])
        assert not tagger.training_.interrupted
        assert calls == [signal.SIGTERM]
        end_if_terminated()
        assert len(calls) == 1
    finally:
        signal.signal(signal.SIGTERM, before)


def test_ctrl_c_ends_one_fit_only():
    with heed_interruptions():
        signal.raise_signal(signal.SIGINT)
    tagger = pt.Tagger(progress=False, max_iterations=1).fit([["a"]], [["A"]])
    assert not tagger.training_.interrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_one_stage_of_a_fit_ends_the_later_ones(number, monkeypatch):
    stages = []

    def signalled(corpus, way, *more, **options):
        signal.raise_signal(number)
        stages.append(run(corpus, way, *more, **options))
        return stages[-1]

    monkeypatch.setattr(hidden_markov_weights, "run", signalled)
    tagger = pt.HiddenMarkovTagger(features=["suffix1"], n_restarts=3, progress=False)
    tagger.fit([["a", "b"], ["b", "a"]], [["A", "B"], ["?", "A"]])
    assert [stage.interrupted for stage in stages] == [True]
    assert tagger.training_.reason.startswith("Interrupted")
    assert len(tagger.reasons_) == 1


def test_handlers_of_others_are_kept():
    calls = []
    before = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    try:
        with heed_interruptions(), heed_interruptions() as inner:
            signal.raise_signal(signal.SIGINT)
            assert inner.is_requested
            assert calls == []
            signal.raise_signal(signal.SIGINT)
            assert calls == [signal.SIGINT]
        signal.raise_signal(signal.SIGINT)
        assert len(calls) == 2
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with heed_interruptions() as ignored:
            signal.raise_signal(signal.SIGINT)
        assert not ignored.is_requested
    finally:
        signal.signal(signal.SIGINT, before)


def test_ray_takes_no_signal_from_us(monkeypatch):
    """It installs a handler of its own as it starts."""

    class Ray:
        is_initialized = staticmethod(lambda: False)
        cluster_resources = staticmethod(lambda: {"CPU": 2.0})

        @staticmethod
        def init(**options):
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))

    monkeypatch.setattr(cluster, "ray_module", lambda: Ray)
    with heed_interruptions() as interruption:
        assert cluster.start(2) == (2, True)
        signal.raise_signal(signal.SIGTERM)
    assert interruption.cause == "SIGTERM"


def test_other_threads_install_nothing():
    before = signal.getsignal(signal.SIGINT)
    found = []

    def run():
        with heed_interruptions() as interruption:
            found.append(signal.getsignal(signal.SIGINT) is before)
            found.append(interruption.is_requested)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [True, False]


def test_a_run_in_another_thread_heeds_the_main_thread():
    """Whose block is around it, as when a program trains several models at once."""
    corpus = MemoryCorpus(Likelihood(), chain_batches(), n_threads=1)
    results = []
    started, sent = threading.Event(), threading.Event()

    def judge(weights):
        started.set()
        sent.wait()
        return 0.0

    def run():
        options = {"held_out": judge, "patience": 10_000}
        results.append(train(corpus, LBFGS(**ENDLESS), **options))

    with heed_interruptions():
        thread = threading.Thread(target=run)
        thread.start()
        started.wait()
        os.kill(os.getpid(), signal.SIGINT)
        sent.set()
        thread.join()
    assert results[0].interrupted


def test_nothing_is_broken_off_outside_of_a_run():
    with heed_interruptions():
        signal.raise_signal(signal.SIGINT)
        break_if_interrupted()
        with interruptible_run(), pytest.raises(Interrupted, match="Ctrl-C"):
            break_if_interrupted()
        break_if_interrupted()
