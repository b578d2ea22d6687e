"""Steps of chains in one compiled call: the numbers of the general way, by any threads."""

import signal
import time
from dataclasses import replace

import numpy as np
import pytest

from partita.kernels.weights import chain_steps as kernels
from partita.objectives import Entropy, Likelihood
from partita.training import chain_steps
from partita.training.chain_steps import ChainPass
from partita.training.memory_corpus import MemoryCorpus
from partita.training.mini_batches import ColumnSteps
from partita.training.optimisers import AdaGrad, CorpusProblem
from partita.training.penalties import Penalty
from partita.training.support import BatchColumns
from partita.training.trainer import train
from small_corpora import chain_batches


def passes(corpus, first=0.0, n_passes=2):
    problem, optimiser = CorpusProblem(corpus, Penalty(l2=1.0)), AdaGrad(rate=0.5)
    state = optimiser.start(problem, np.full(corpus.n_weights, first))
    for _ in range(n_passes):
        state = optimiser.step(problem, state)
    return state


def general(monkeypatch):
    monkeypatch.setattr(ColumnSteps, "whole_pass", lambda *_: None)


@pytest.mark.parametrize("per_batch", [1, 2, 5, 30])
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_the_same_bits_as_the_general_way(per_batch, n_threads, monkeypatch):
    batches = chain_batches(40, per_batch, n_attributes=50)
    found = passes(MemoryCorpus(Likelihood(), batches, n_threads=n_threads))
    general(monkeypatch)
    expected = passes(MemoryCorpus(Likelihood(), batches, n_threads=1))
    assert found.loss == expected.loss
    assert found.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-13)
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_nobody_waits_busily_while_the_step_is_compiled(monkeypatch):
    batches, asked = chain_batches(40, 5, n_attributes=50), []
    expected = passes(MemoryCorpus(Likelihood(), batches, n_threads=2))
    share = ChainPass._share

    def noted(self, first, end, thread):
        asked.append((first, thread, self._helpers is not None))
        return share(self, first, end, thread)

    monkeypatch.setattr(ChainPass, "_share", noted)
    monkeypatch.setattr(chain_steps, "is_ready", lambda _: False)
    monkeypatch.setattr(chain_steps, "STRETCH", 1)
    found = passes(MemoryCorpus(Likelihood(), batches, n_threads=2))
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert (0, 0, False) in asked
    assert (1, 0, True) in asked


@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_would_underflow_goes_the_general_way(n_threads, monkeypatch):
    batches, rng = chain_batches(), np.random.default_rng(0)
    corpus = MemoryCorpus(Likelihood(), batches, n_threads=n_threads)
    weights = 1000.0 * rng.normal(size=corpus.n_weights)
    ways = []
    steps = ChainPass.steps

    def noted(self, number):
        ways.append(steps(self, number))
        return ways[-1]

    monkeypatch.setattr(ChainPass, "steps", noted)
    found = passes(corpus, weights)
    assert [] in ways
    general(monkeypatch)
    expected = passes(MemoryCorpus(Likelihood(), batches, n_threads=1), weights)
    assert found.loss == expected.loss
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_an_error_of_a_helper_is_no_endless_wait(monkeypatch):
    def failing(first, end, thread, *rest):
        if thread == 0:
            # As if the helper had taken a task, and failed.
            time.sleep(0.1)
            return -1
        raise MemoryError("no room")

    monkeypatch.setattr(kernels, "share_steps", failing)
    with pytest.raises(MemoryError, match="no room"):
        passes(MemoryCorpus(Likelihood(), chain_batches(), n_threads=2))


def test_an_error_between_steps_sends_the_helpers_home():
    corpus = MemoryCorpus(Likelihood(), chain_batches(), n_threads=2)

    def broken(share):
        if share > 0.5:
            raise RuntimeError("watched")

    corpus.watcher = broken
    with pytest.raises(RuntimeError, match="watched"):
        passes(corpus)


def test_which_corpora_it_is_for():
    batches = chain_batches(terms=("Likelihood", "Entropy"))
    both = MemoryCorpus(Likelihood() + 0.1 * Entropy(), batches)
    assert both.chain_batches(0) is None
    batches = chain_batches()
    assert MemoryCorpus(Likelihood(), batches).chain_batches(0) is not None
    assert MemoryCorpus(0.5 * Likelihood(), batches).chain_batches(0) is None
    weighted = [replace(each, sample_weights=np.ones(3)) for each in batches]
    assert MemoryCorpus(Likelihood(), weighted).chain_batches(0) is None


def test_rows_of_any_width_in_one_corpus(monkeypatch):
    """Batches of many parts have rows as longer integers; all come in one call."""
    batches = chain_batches(40, 5, n_attributes=50)
    expected = passes(MemoryCorpus(Likelihood(), batches, n_threads=1))
    corpus = MemoryCorpus(Likelihood(), batches, n_threads=2)
    first, *others = corpus.columns.blocks
    wide = tuple(
        replace(
            block,
            single=block.single._replace(rows=block.single.rows.astype(np.int32)),
            repeated=block.repeated._replace(rows=block.repeated.rows.astype(np.int32)),
        )
        for block in first
    )
    monkeypatch.setattr(MemoryCorpus, "columns", BatchColumns((wide, *others)))
    found = passes(corpus)
    assert found.loss == expected.loss
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_a_signal_is_heeded_within_a_pass(monkeypatch):
    made, steps = [], ChainPass.steps

    def noted(self, number):
        made.append(number)
        if number > chain_steps.STRETCH:
            signal.raise_signal(signal.SIGINT)
        return steps(self, number)

    monkeypatch.setattr(ChainPass, "steps", noted)
    batches = chain_batches(20 * chain_steps.STRETCH, 2)
    corpus = MemoryCorpus(Likelihood(), batches, n_threads=2)
    result = train(corpus, AdaGrad(), penalty=Penalty(l2=1.0))
    assert result.interrupted
    assert made == [0, chain_steps.STRETCH, 2 * chain_steps.STRETCH]
