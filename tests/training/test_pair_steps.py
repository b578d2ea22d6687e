"""Steps of translators' pairs in one compiled call: the numbers of the general way."""

import signal
import time
from dataclasses import replace

import numpy as np
import pytest

from partita import Itg, Translator
from partita.estimators.alignment import latent
from partita.features.base import RepeatedFeatures
from partita.kernels.weights import pair_steps as kernels
from partita.objectives import Entropy
from partita.objectives.contrastive import ContrastiveEstimation
from partita.training import pair_steps
from partita.training.memory_corpus import MemoryCorpus
from partita.training.mini_batches import BlockSteps
from partita.training.optimisers import SGD, AdaGrad, Adam, CorpusProblem
from partita.training.pair_steps import PairPass
from partita.training.penalties import Penalty
from partita.training.support import find_support
from partita.training.trainer import train
from tests.estimators.small_translation import bitext


@pytest.fixture(scope="module")
def batches():
    """Ten or more, each of some pairs."""
    kept, made = [], latent.pair_batches

    def noted(*given):
        for batch in made(*given):
            kept.append(batch)
            yield batch

    source, target = bitext()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latent, "pair_batches", noted)
        grammar = Itg(n_bits=11, max_iterations=1)
        Translator(grammar=grammar, progress=False).fit(3 * source, 3 * target)
    assert len(kept) > 8
    return kept


@pytest.fixture(autouse=True)
def eight_are_enough(monkeypatch):
    monkeypatch.setattr(pair_steps, "ENOUGH", 8)


def passes(corpus, optimiser=None, penalty=None, first=0.0, n_passes=2):
    optimiser = optimiser or Adam(rate=0.1, n_iterations=n_passes, batches_per_step=2)
    problem = CorpusProblem(corpus, penalty or Penalty(l2=1.0))
    state = optimiser.start(problem, np.full(corpus.n_weights, first))
    for _ in range(n_passes):
        state = optimiser.step(problem, state)
    return state


def general(monkeypatch):
    monkeypatch.setattr(BlockSteps, "whole_pass", lambda *_: None)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("per_step", [1, 2, 3])
def test_the_same_bits_as_the_general_way(batches, n_threads, per_step, monkeypatch):
    optimiser = Adam(rate=0.1, n_iterations=2, batches_per_step=per_step, average_from=1)
    found = passes(MemoryCorpus(ContrastiveEstimation(), batches, n_threads=n_threads), optimiser)
    general(monkeypatch)
    expected = passes(MemoryCorpus(ContrastiveEstimation(), batches, n_threads=1), optimiser)
    assert found.loss == expected.loss
    assert found.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-13)
    np.testing.assert_array_equal(found.weights, expected.weights)
    np.testing.assert_array_equal(found.drift, expected.drift)


@pytest.mark.parametrize("optimiser", [SGD(rate=0.1), AdaGrad(rate=0.1)])
@pytest.mark.parametrize("penalty", [Penalty(), Penalty(l2=1.0, l1=0.5)])
def test_other_optimisers_and_penalties_and_weights_of_pairs(
    batches, optimiser, penalty, monkeypatch
):
    rng = np.random.default_rng(0)
    sizes = [each.structures.n_sentences // 2 for each in batches]
    weighted = [
        replace(each, sample_weights=rng.random(size))
        for each, size in zip(batches, sizes, strict=True)
    ]
    corpus = MemoryCorpus(ContrastiveEstimation(), weighted, n_threads=2)
    found = passes(corpus, optimiser, penalty)
    general(monkeypatch)
    expected = passes(corpus, optimiser, penalty)
    assert found.loss == expected.loss
    np.testing.assert_array_equal(found.weights, expected.weights)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_would_underflow_goes_the_general_way(batches, n_threads, monkeypatch):
    corpus = MemoryCorpus(ContrastiveEstimation(), batches, n_threads=n_threads)
    weights = 1000.0 * np.random.default_rng(0).normal(size=corpus.n_weights)
    ways, steps = [], PairPass.steps

    def noted(self, number):
        ways.append(steps(self, number))
        return ways[-1]

    monkeypatch.setattr(PairPass, "steps", noted)
    found = passes(corpus, first=weights)
    assert [] in ways
    general(monkeypatch)
    expected = passes(corpus, first=weights)
    assert found.loss == expected.loss
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_nobody_waits_busily_while_the_step_is_compiled(batches, monkeypatch):
    corpus = MemoryCorpus(ContrastiveEstimation(), batches, n_threads=2)
    expected, asked, share = passes(corpus), [], PairPass._share

    def noted(self, first, end, thread):
        asked.append((first, thread, self._helpers is not None))
        return share(self, first, end, thread)

    monkeypatch.setattr(PairPass, "_share", noted)
    monkeypatch.setattr(pair_steps, "is_ready", lambda _: False)
    monkeypatch.setattr(pair_steps, "STRETCH", 1)
    np.testing.assert_array_equal(passes(corpus).weights, expected.weights)
    assert (0, 0, False) in asked
    assert (1, 0, True) in asked


def test_an_error_of_a_helper_is_no_endless_wait(batches, monkeypatch):
    def failing(first, end, thread, *rest):
        if thread == 0:
            # As if the helper had taken a task, and failed.
            time.sleep(0.1)
            return -1
        raise MemoryError("no room")

    monkeypatch.setattr(kernels, "share_steps", failing)
    with pytest.raises(MemoryError, match="no room"):
        passes(MemoryCorpus(ContrastiveEstimation(), batches, n_threads=2))


def test_a_signal_is_heeded_within_a_pass(batches, monkeypatch):
    made, steps = [], PairPass.steps

    def noted(self, number):
        made.append(number)
        if number:
            signal.raise_signal(signal.SIGINT)
        return steps(self, number)

    monkeypatch.setattr(PairPass, "steps", noted)
    corpus = MemoryCorpus(ContrastiveEstimation(), batches, n_threads=2)
    assert train(corpus, AdaGrad(), penalty=Penalty(l2=1.0)).interrupted
    assert made == [0, pair_steps.STRETCH]


def test_which_corpora_it_is_for(batches):
    loss = ContrastiveEstimation()
    assert MemoryCorpus(loss, batches).pair_batches(0) is not None
    assert MemoryCorpus(0.5 * loss, batches).pair_batches(0) is None
    assert MemoryCorpus(loss, batches[:3]).pair_batches(0) is None
    both = [replace(each, targets={**each.targets, "Entropy": None}) for each in batches]
    assert MemoryCorpus(loss + 0.1 * Entropy(), both).pair_batches(0) is None
    assert MemoryCorpus(loss, batches).chain_batches(0) is None


@pytest.mark.parametrize("n_threads", [1, 2])
def test_weights_that_batches_have_are_found_without_a_gradient(batches, n_threads, monkeypatch):
    maps = [each.features for each in batches]
    found = find_support(maps, maps[0].n_weights, n_threads)
    monkeypatch.setattr(RepeatedFeatures, "mark", lambda *_: False)
    expected = find_support(maps, maps[0].n_weights, n_threads)
    np.testing.assert_array_equal(found.visits, expected.visits)
    np.testing.assert_array_equal(found.bits, expected.bits)
    assert 0 < (found.visits > 0).sum() < len(found.visits)
