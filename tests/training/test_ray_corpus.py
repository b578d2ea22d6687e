"""The corpus on Ray: the same bits as with threads, also when a worker is killed."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lost_node import OPTIMISER
from partita.objectives import Entropy, GeneralizedExpectation, Likelihood, ramp
from partita.objectives.evidence import Evidence
from partita.training import cluster, ray_corpus
from partita.training.corpora import build_corpus
from partita.training.interruption import end_if_terminated, heed_interruptions
from partita.training.memory_corpus import MemoryCorpus
from partita.training.optimisers import LBFGS, OWLQN, SGD, AdaGrad, Adam, ExpectationMaximisation
from partita.training.penalties import Penalty
from partita.training.summation import total
from partita.training.trainer import train
from small_corpora import (
    N_WEIGHTS,
    chain_batches,
    evidence_batches,
    first_weights,
    most_likely,
)

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.slow

TERMS = ("Likelihood", "Entropy", "GeneralizedExpectation")
OBJECTIVE = (
    Likelihood() + ramp(0.2, over=3) * Entropy() + 5.0 * GeneralizedExpectation([0.6, 0.3, 0.1])
)
ADDITIVE = Likelihood() + 0.1 * Entropy()
PENALTY = Penalty(l2=0.5)


def batches(terms=TERMS):
    return chain_batches(30, 3, terms=terms) + chain_batches(12, 3, terms=terms[1:2], seed=5)


@pytest.fixture(scope="module")
def corpus():
    with heed_interruptions() as interruption:
        corpus = build_corpus(OBJECTIVE, batches(), workers="ray:2")
        # Ray has started, and a signal is still a wish.
        signal.raise_signal(signal.SIGTERM)
        assert interruption.cause == "SIGTERM"
    with contextlib.suppress(SystemExit):
        end_if_terminated()
    with corpus:
        yield corpus


@pytest.fixture(scope="module")
def additive(corpus):
    """Without expectations, which take a pass more; the fixture before starts Ray."""
    return build_corpus(ADDITIVE, batches(TERMS[:2]), workers="ray:2")


def test_more_workers_than_cores_are_refused(corpus):
    with pytest.raises(
        ValueError, match="64 Ray workers were asked for, and the running Ray has 2"
    ):
        build_corpus(OBJECTIVE, batches(), workers="ray:64")


@pytest.mark.parametrize("n_threads", [1, 3])
def test_bits_are_those_of_threads(corpus, n_threads):
    weights = np.random.default_rng(0).normal(size=N_WEIGHTS)
    loss, gradient = corpus.value_and_gradient(weights, iteration=2)
    local = MemoryCorpus(OBJECTIVE, batches(), n_threads=n_threads)
    assert local.n_shards == corpus.n_shards == 14
    expected, its_gradient = local.value_and_gradient(weights, iteration=2)
    assert loss == expected
    assert gradient.tobytes() == its_gradient.tobytes()
    assert corpus.value(weights, iteration=2) == expected
    assert corpus.digest == local.digest


def test_the_number_of_workers_does_not_matter(corpus):
    weights = np.random.default_rng(0).normal(size=N_WEIGHTS)
    expected = corpus.value_and_gradient(weights)
    with build_corpus(OBJECTIVE, batches(), workers="ray:1") as other:
        found = other.value_and_gradient(weights)
    assert found[0] == expected[0]
    assert found[1].tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("optimiser", [LBFGS(n_iterations=8), OWLQN(n_iterations=8, scaled=True)])
def test_whole_passes_lead_to_the_same_model(corpus, optimiser):
    """With entropy, on a ramp, and expectations."""
    local = MemoryCorpus(OBJECTIVE, batches(), n_threads=2)
    penalty = PENALTY if isinstance(optimiser, LBFGS) else Penalty(l1=0.1)
    expected = train(local, optimiser, penalty=penalty)
    found = train(corpus, optimiser, penalty=penalty)
    assert found.weights.tobytes() == expected.weights.tobytes()
    assert found.reason == expected.reason


@pytest.mark.parametrize("kind", [SGD, AdaGrad, Adam])
@pytest.mark.parametrize("batches_per_step", [1, 3])
def test_mini_batches_lead_to_the_same_model(additive, kind, batches_per_step):
    optimiser = kind(n_iterations=3, batches_per_step=batches_per_step, average_from=1)
    local = MemoryCorpus(ADDITIVE, batches(TERMS[:2]), n_threads=2)
    expected = train(local, optimiser, penalty=PENALTY, seed=7)
    found = train(additive, optimiser, penalty=PENALTY, seed=7)
    assert found.weights.tobytes() == expected.weights.tobytes()
    assert [record.loss for record in found.history] == [r.loss for r in expected.history]


def test_mini_batches_with_expectations_lead_to_the_same_model(corpus):
    optimiser = Adam(rate=0.01, n_iterations=3, batches_per_step=2)
    local = MemoryCorpus(OBJECTIVE, batches(), n_threads=2)
    expected = train(local, optimiser, penalty=PENALTY)
    assert train(corpus, optimiser, penalty=PENALTY).weights.tobytes() == expected.weights.tobytes()


def test_expectation_maximisation_leads_to_the_same_model(corpus):
    em = ExpectationMaximisation(most_likely, n_iterations=10)
    local = MemoryCorpus(Evidence(), evidence_batches(), n_threads=2)
    expected = train(local, em, weights=first_weights())
    with build_corpus(Evidence(), evidence_batches(), workers="ray:2") as other:
        found = train(other, em, weights=first_weights())
    assert found.weights.tobytes() == expected.weights.tobytes()
    assert found.n_iterations == 10


def test_a_worker_killed_in_a_whole_pass(corpus, monkeypatch):
    optimiser = LBFGS(n_iterations=12, loss_tolerance=0.0)
    local = MemoryCorpus(OBJECTIVE, batches(), n_threads=1)
    expected = train(local, optimiser, penalty=PENALTY)
    victim = ray.get(corpus.team.hosts[0].process.remote())
    calls = []

    def kill_in_the_ninth(parts):
        """All workers have been asked for their sums."""
        calls.append(1)
        if len(calls) == 9:
            os.kill(victim, signal.SIGKILL)
        return total(parts)

    monkeypatch.setattr(ray_corpus, "total", kill_in_the_ninth)
    found = train(corpus, optimiser, penalty=PENALTY)
    assert found.weights.tobytes() == expected.weights.tobytes()
    assert found.n_iterations == expected.n_iterations > 9
    assert ray.get(corpus.team.hosts[0].process.remote()) != victim


def test_a_worker_killed_among_mini_batches(additive, monkeypatch):
    optimiser = Adam(n_iterations=3, batches_per_step=3)
    local = MemoryCorpus(ADDITIVE, batches(TERMS[:2]), n_threads=1)
    expected = train(local, optimiser, penalty=PENALTY)
    victim = ray.get(additive.team.hosts[1].process.remote())
    calls = []
    wait = additive._wait

    def kill_in_the_ninth(answers):
        calls.append(1)
        if len(calls) == 9:
            os.kill(victim, signal.SIGKILL)
        wait(answers)

    monkeypatch.setattr(additive, "_wait", kill_in_the_ninth)
    found = train(additive, optimiser, penalty=PENALTY)
    assert found.weights.tobytes() == expected.weights.tobytes()
    assert ray.get(additive.team.hosts[1].process.remote()) != victim


@pytest.mark.parametrize("optimiser", [LBFGS(n_iterations=6), Adam(n_iterations=6)])
def test_a_run_begun_with_threads_goes_on_with_ray(additive, tmp_path, optimiser):
    path = tmp_path / "checkpoint"
    local = MemoryCorpus(ADDITIVE, batches(TERMS[:2]), n_threads=2)
    expected = train(local, optimiser, penalty=PENALTY)
    train(local, replace(optimiser, n_iterations=3), penalty=PENALTY, checkpoint=path)
    found = train(additive, optimiser, penalty=PENALTY, checkpoint=path, resume=True)
    assert found.weights.tobytes() == expected.weights.tobytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_workers_compute(additive, monkeypatch, number):
    """The wish is read while the driver waits; the pass that is broken off is dropped."""
    monkeypatch.setattr(cluster, "SECONDS_TO_HEED", 0.001)
    calls = []

    def watcher(share):
        calls.append(share)
        if len(calls) == 20:
            signal.raise_signal(number)

    display = ray_display(watcher)
    optimiser = LBFGS(n_iterations=1000, gradient_tolerance=0.0, loss_tolerance=0.0)
    result = train(additive, optimiser, penalty=PENALTY, progress=display)
    assert result.interrupted
    with contextlib.suppress(SystemExit):
        end_if_terminated()
    local = MemoryCorpus(ADDITIVE, batches(TERMS[:2]))
    same = replace(optimiser, n_iterations=result.n_iterations)
    expected = train(local, same, penalty=PENALTY)
    assert result.weights.tobytes() == expected.weights.tobytes()


def ray_display(watcher):
    from partita.training.progress import NoDisplay

    class Watching(NoDisplay):
        def advance(self, share):
            watcher(share)

    return Watching()


def test_folders_of_killed_drivers_are_removed(corpus):
    left = Path(tempfile.mkdtemp(prefix="partita-shards-"))
    (left / ".lock").touch()
    (left / "shard-0000").write_bytes(b"x")
    in_use = corpus._scratch.path
    with build_corpus(OBJECTIVE, batches(), workers="ray:1") as other:
        assert not left.exists()
        assert in_use.exists()
        folder = other._scratch.path
        assert folder.exists()
    assert not folder.exists()


def test_a_folder_of_ones_own(corpus, tmp_path):
    weights = np.random.default_rng(0).normal(size=N_WEIGHTS)
    folder = tmp_path / "new"
    with build_corpus(OBJECTIVE, iter(batches()), workers="ray:2", cache=folder) as other:
        found = other.value_and_gradient(weights)
        assert other.digest == corpus.digest
    assert found[1].tobytes() == corpus.value_and_gradient(weights)[1].tobytes()
    assert folder.exists()


@pytest.mark.skipif("PARTITA_CLUSTER" not in os.environ, reason="takes half a minute")
def test_a_lost_machine():
    """RAY_ADDRESS names a cluster of two, one of which is lost on the way, and another joins."""
    script = Path(__file__).with_name("lost_node.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    n_nodes, weights = done.stdout.split()
    local = MemoryCorpus(Likelihood(), chain_batches(30))
    expected = train(local, OPTIMISER, penalty=PENALTY)
    assert n_nodes == "2"
    assert weights == expected.weights.tobytes().hex()
