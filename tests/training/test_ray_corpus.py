"""The corpus on Ray: the same numbers as in one thread, also when a worker is killed."""

import os
import signal

import numpy as np
import pytest

from partita.objectives import GeneralizedExpectation, Likelihood
from partita.training.corpus import MemoryCorpus, build_corpus
from partita.training.optimisers import LBFGS, Adam
from partita.training.penalties import Penalty
from partita.training.summation import total
from partita.training.trainer import train
from small_corpora import N_WEIGHTS, chain_batches

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.slow

OBJECTIVE = Likelihood() + 5.0 * GeneralizedExpectation([0.6, 0.3, 0.1])
PENALTY = Penalty(l2=0.5)
OPTIMISER = LBFGS(n_iterations=12, loss_tolerance=0.0)


def batches():
    return chain_batches(30, 3, terms=("Likelihood", "GeneralizedExpectation"))


@pytest.fixture(scope="module")
def corpus():
    with build_corpus(OBJECTIVE, batches(), workers="ray:2", n_shards=5) as corpus:
        yield corpus


def test_more_workers_than_cores_are_refused(corpus):
    with pytest.raises(
        ValueError, match="64 Ray workers were asked for, and the running Ray has 2"
    ):
        build_corpus(OBJECTIVE, batches(), workers="ray:64")


def test_bits_are_those_of_threads(corpus):
    weights = np.random.default_rng(0).normal(size=N_WEIGHTS)
    loss, gradient = corpus.value_and_gradient(weights)
    local = MemoryCorpus(OBJECTIVE, batches(), n_threads=1, n_shards=5)
    expected, its_gradient = local.value_and_gradient(weights)
    assert loss == expected
    assert gradient.tobytes() == its_gradient.tobytes()
    assert corpus.value(weights) == expected


def test_a_killed_worker_does_not_change_the_model(corpus, monkeypatch):
    expected = train(MemoryCorpus(OBJECTIVE, batches(), n_threads=1), OPTIMISER, penalty=PENALTY)
    victim = ray.get(corpus.workers[0].process.remote())
    calls = []

    def kill_in_the_ninth(parts):
        """All workers have been asked for their sums, and none has been heard yet."""
        calls.append(1)
        if len(calls) == 9:
            os.kill(victim, signal.SIGKILL)
        return total(parts)

    monkeypatch.setattr("partita.training.ray_corpus.total", kill_in_the_ninth)
    found = train(corpus, OPTIMISER, penalty=PENALTY)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-10, rtol=0)
    assert found.n_iterations == expected.n_iterations > 9
    assert ray.get(corpus.workers[0].process.remote()) != victim


def test_mini_batches_are_for_threads(corpus):
    with pytest.raises(TypeError, match="too often for a cluster"):
        train(corpus, Adam())
