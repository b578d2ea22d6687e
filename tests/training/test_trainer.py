"""Whole runs: every optimiser at the same optimum, early stopping, logs, checkpoints."""

import functools
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from partita.objectives import Entropy, GeneralizedExpectation, Likelihood, ramp
from partita.training.checkpoint import write_checkpoint
from partita.training.memory_corpus import MemoryCorpus
from partita.training.model_file import ModelFileError
from partita.training.optimisers import (
    LBFGS,
    OWLQN,
    SGD,
    AdaGrad,
    Adam,
    Cosine,
    ExpectationMaximisation,
    InverseSquareRoot,
    InverseTime,
    Linear,
)
from partita.training.penalties import Penalty
from partita.training.running import RunningTotals
from partita.training.trainer import train
from small_corpora import (
    N_WEIGHTS,
    Evidence,
    chain_batches,
    evidence_batches,
    first_weights,
    most_likely,
)

PENALTY = Penalty(l2=1.0)
EXACT = LBFGS(gradient_tolerance=1e-10, loss_tolerance=0.0)


@pytest.fixture(scope="module")
def corpus():
    return MemoryCorpus(Likelihood(), chain_batches(60, 3), n_threads=2)


@pytest.fixture(scope="module")
def optimum(corpus):
    result = train(corpus, EXACT, penalty=PENALTY)
    assert "Converged" in result.reason
    return result


STOCHASTIC = {
    "SGD": SGD(rate=InverseTime(0.5, half_life=200), n_iterations=60, average_from=30),
    "SGD linear": SGD(rate=Linear(0.5, warm_up=10), n_iterations=60),
    "AdaGrad": AdaGrad(rate=0.5, n_iterations=60, average_from=30, batches_per_step=2),
    "AdaGrad root": AdaGrad(rate=InverseSquareRoot(0.5, 100), n_iterations=60, average_from=30),
    "Adam": Adam(rate=Cosine(0.1, warm_up=5), n_iterations=60),
}


@pytest.mark.parametrize("name", STOCHASTIC)
def test_mini_batches_reach_the_same_optimum(corpus, optimum, name):
    result = train(corpus, STOCHASTIC[name], penalty=PENALTY, seed=3)
    loss = corpus.value(result.weights) + PENALTY.smooth(result.weights)
    assert loss == pytest.approx(optimum.loss, rel=2e-3)
    assert loss >= optimum.loss * (1 - 1e-12)
    np.testing.assert_allclose(result.weights, optimum.weights, atol=0.12, rtol=0)
    assert "passes" in result.reason


def test_owlqn_without_l1_is_lbfgs(corpus, optimum):
    options = {"gradient_tolerance": 1e-9, "loss_tolerance": 0.0}
    result = train(corpus, OWLQN(**options), penalty=PENALTY)
    np.testing.assert_allclose(result.weights, optimum.weights, atol=1e-7, rtol=0)


def test_mini_batches_with_l1(corpus):
    penalty = Penalty(l1=2.0)
    exact = train(corpus, OWLQN(gradient_tolerance=1e-9, loss_tolerance=0.0), penalty=penalty)
    rate = InverseTime(0.5, half_life=100)
    result = train(corpus, SGD(rate=rate, n_iterations=50), penalty=penalty)
    loss = corpus.value(result.weights) + penalty.absolute(result.weights)
    assert loss == pytest.approx(exact.loss, rel=1e-2)


@pytest.mark.parametrize("optimiser", [LBFGS(), OWLQN(scaled=True), SGD(), AdaGrad(), Adam()])
def test_the_same_model_for_any_number_of_threads(optimiser):
    optimiser = replace(optimiser, n_iterations=5)
    if isinstance(optimiser, SGD | AdaGrad | Adam):
        optimiser = replace(optimiser, batches_per_step=3)
    weights = [
        train(
            MemoryCorpus(Likelihood(), chain_batches(), n_threads=n), optimiser, penalty=PENALTY
        ).weights.tobytes()
        for n in (1, 2, 3)
    ]
    assert weights[0] == weights[1] == weights[2]


def test_the_seed_orders_the_batches(corpus):
    first, again, other = (
        train(corpus, Adam(n_iterations=2), seed=seed).weights.tobytes() for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_averages_are_averages(corpus):
    """The average over one pass of SGD, from the weights after each step."""
    optimiser = SGD(rate=0.3, n_iterations=2, average_from=1)
    before = train(corpus, SGD(rate=0.3, n_iterations=1), penalty=PENALTY).weights
    seen, weights = [], before.copy()
    order = np.random.default_rng([0, 1]).permutation(len(corpus.batches))
    share = corpus.support.shares[:N_WEIGHTS].astype(np.float64) / corpus.n_sentences
    for index in order:
        gradient = np.zeros(N_WEIGHTS)
        corpus.add_mini_batch(weights, [index], 0, RunningTotals({}), gradient)
        gradient /= 3
        gradient[gradient != 0] += (share * weights)[gradient != 0]
        weights = weights - 0.3 * gradient
        seen.append(weights)
    averaged = train(corpus, optimiser, penalty=PENALTY).weights
    np.testing.assert_allclose(averaged, np.mean(seen, axis=0), atol=1e-12, rtol=0)


def test_likelihood_and_entropy_with_a_ramp():
    """The end of a ramp is the optimum of its last weight."""
    data = chain_batches(30, 3) + chain_batches(30, 3, terms=("Entropy",), seed=1)
    ramped, fixed = (
        train(MemoryCorpus(Likelihood() + weight * Entropy(), data), EXACT, penalty=PENALTY)
        for weight in (ramp(0.2, over=8), 0.2)
    )
    assert ramped.n_iterations > 8
    assert ramped.loss == pytest.approx(fixed.loss, rel=1e-6)
    alone = train(MemoryCorpus(Likelihood(), chain_batches(30, 3)), EXACT, penalty=PENALTY)
    unlabelled = MemoryCorpus(Entropy(), chain_batches(30, 3, terms=("Entropy",), seed=1))
    assert unlabelled.value(fixed.weights) < unlabelled.value(alone.weights)


def test_expectations_meet_their_targets():
    objective = 100.0 * GeneralizedExpectation([0.6, 0.3, 0.1])
    corpus = MemoryCorpus(objective, chain_batches(terms=("GeneralizedExpectation",)))
    result = train(corpus, LBFGS(n_iterations=100), penalty=Penalty(l2=1e-6))
    (term,) = objective.terms
    totals = corpus.sums(result.weights, objective.names, None).statistics
    found = term.objective.expectations(totals["GeneralizedExpectation"])
    np.testing.assert_allclose(found, [0.6, 0.3, 0.1], atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    "optimiser",
    [
        Adam(rate=Linear(0.05), n_iterations=40),
        AdaGrad(rate=0.3, n_iterations=60, batches_per_step=2),
        SGD(rate=0.3, n_iterations=100),
    ],
)
def test_expectations_meet_their_targets_by_mini_batches(optimiser):
    """The slope is that of running totals: the same minimum as of all sentences at once."""
    objective = 24.0 * GeneralizedExpectation([0.6, 0.3, 0.1])
    corpus = MemoryCorpus(objective, chain_batches(terms=("GeneralizedExpectation",)))
    result = train(corpus, optimiser, penalty=Penalty(l2=1e-6))
    totals = corpus.sums(result.weights, objective.names, None).statistics
    found = objective.terms[0].objective.expectations(totals["GeneralizedExpectation"])
    np.testing.assert_allclose(found, [0.6, 0.3, 0.1], atol=0.02, rtol=0)
    # The loss of a pass is nearly that at its end.
    assert result.loss == pytest.approx(corpus.value(result.weights), abs=0.05)


def test_a_pass_of_tiny_steps_follows_the_whole_gradient():
    """All mini-batches of a pass together: likelihood, and expectations with running totals."""
    terms = ("Likelihood", "GeneralizedExpectation")
    objective = Likelihood() + 10.0 * GeneralizedExpectation([0.6, 0.3, 0.1])
    corpus = MemoryCorpus(objective, chain_batches(terms=terms))
    weights = np.random.default_rng(0).normal(size=N_WEIGHTS)
    rate = 1e-7
    moved = train(corpus, SGD(rate=rate, n_iterations=1), weights=weights).weights - weights
    _, gradient = corpus.value_and_gradient(weights)
    np.testing.assert_allclose(moved, -rate * gradient / 3, rtol=1e-4, atol=1e-4 * rate)


def test_running_totals_by_any_number_of_threads(tmp_path):
    terms = ("Likelihood", "GeneralizedExpectation")
    objective = Likelihood() + 10.0 * GeneralizedExpectation([0.6, 0.3, 0.1])
    adam = Adam(rate=0.01, n_iterations=4, batches_per_step=2)
    corpora = [MemoryCorpus(objective, chain_batches(terms=terms), n_threads=n) for n in (1, 3)]
    one, three = (train(corpus, adam).weights.tobytes() for corpus in corpora)
    assert one == three
    # A run that is resumed ends where an unbroken one does.
    path = tmp_path / "run"
    train(corpora[0], replace(adam, n_iterations=2), checkpoint=path)
    resumed = train(corpora[0], adam, checkpoint=path, resume=True)
    assert resumed.weights.tobytes() == one


@pytest.fixture
def hidden_markov_run():
    em = ExpectationMaximisation(most_likely, n_iterations=15)
    corpus = MemoryCorpus(Evidence(), evidence_batches())
    return functools.partial(train, corpus, em, weights=first_weights())


def test_em_of_a_hidden_markov_model(hidden_markov_run):
    result = hidden_markov_run()
    losses = [record.loss for record in result.history]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.5


def test_a_warm_start_is_short(corpus, optimum):
    result = train(corpus, LBFGS(), penalty=PENALTY, weights=optimum.weights)
    assert result.n_iterations == 0
    assert "Converged after 0 iterations" in result.reason
    with pytest.raises(ValueError, match="the first weights have shape"):
        train(corpus, weights=np.zeros(3))


def test_early_stopping_returns_the_best_on_held_out_data(corpus):
    held_out = MemoryCorpus(Likelihood(), chain_batches(20, 5, seed=9))
    # Hardly any penalty: the loss on other data soon rises.
    result = train(corpus, EXACT, penalty=Penalty(l2=1e-4), held_out=held_out, patience=4)
    losses = [record.held_out for record in result.history]
    assert held_out.value(result.weights) == min(losses)
    assert losses.index(min(losses)) == len(losses) - 5
    assert "Stopped early" in result.reason
    assert "patience" in result.reason


@pytest.mark.parametrize(
    "optimiser",
    [
        LBFGS(n_iterations=12, loss_tolerance=0.0),
        LBFGS(n_iterations=12, loss_tolerance=0.0, scaled=True),
        OWLQN(n_iterations=12),
        OWLQN(n_iterations=12, scaled=True),
        SGD(n_iterations=6, average_from=2),
        AdaGrad(n_iterations=6, average_from=4),
        Adam(n_iterations=6, rate=Cosine(0.1)),
    ],
)
@pytest.mark.parametrize("early", [False, True])
def test_a_resumed_run_ends_as_an_unbroken_one(tmp_path, monkeypatch, corpus, optimiser, early):
    held_out = MemoryCorpus(Likelihood(), chain_batches(20, 5, seed=9)) if early else None
    run = functools.partial(train, corpus, optimiser, penalty=PENALTY, held_out=held_out)
    check_that_it_resumes(run, tmp_path, monkeypatch)


def test_a_resumed_em_run_ends_as_an_unbroken_one(tmp_path, monkeypatch, hidden_markov_run):
    check_that_it_resumes(hidden_markov_run, tmp_path, monkeypatch)


class KilledError(Exception):
    """As if the process had been killed."""


def check_that_it_resumes(run, tmp_path, monkeypatch):
    """A run that breaks off at its third checkpoint goes on to the same end, bit for bit."""
    path = tmp_path / "checkpoint"
    written = []

    def write_three(path, run, about):
        write_checkpoint(path, run, about)
        written.append(run)
        if len(written) == 3:
            raise KilledError

    whole = run()
    broken = {"checkpoint": path, "checkpoint_seconds": 0.0}
    monkeypatch.setattr("partita.training.checkpoint.write_checkpoint", write_three)
    with pytest.raises(KilledError):
        run(**broken)
    resumed = run(resume=True, **broken)
    assert resumed.weights.tobytes() == whole.weights.tobytes()
    assert [r[:3] for r in resumed.history] == [r[:3] for r in whole.history]
    assert resumed.reason == whole.reason


def test_a_finished_run_can_go_on(tmp_path, corpus):
    path = tmp_path / "checkpoint"
    short = train(corpus, LBFGS(n_iterations=3), penalty=PENALTY, checkpoint=path)
    assert "the most that were allowed" in short.reason
    options = {"penalty": PENALTY, "checkpoint": path, "resume": True}
    longer = train(corpus, LBFGS(n_iterations=9), **options)
    whole = train(corpus, LBFGS(n_iterations=9), penalty=PENALTY)
    assert longer.weights.tobytes() == whole.weights.tobytes()
    assert train(corpus, LBFGS(n_iterations=9), **options).weights.tobytes() == (
        whole.weights.tobytes()
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": np.full(N_WEIGHTS, np.nan)}, "the first weights have a value that is NaN"),
        ({"patience": 0}, "patience is 0; expected at least 1"),
        ({"optimiser": LBFGS(n_iterations=-1)}, "n_iterations is -1; expected at least 0"),
    ],
)
def test_options_that_make_no_run(corpus, options, message):
    with pytest.raises(ValueError, match=message):
        train(corpus, **options)


def test_a_checkpoint_of_another_run_is_refused(tmp_path, corpus):
    path = tmp_path / "checkpoint"
    train(corpus, LBFGS(n_iterations=1), penalty=PENALTY, checkpoint=path)
    with pytest.raises(ModelFileError, match=r"another run: l2 is 1.0 there and 2.0 here"):
        train(corpus, penalty=Penalty(l2=2.0), checkpoint=path, resume=True)
    with pytest.raises(ModelFileError, match="optimiser is 'LBFGS' there and 'Adam' here"):
        train(corpus, Adam(), penalty=PENALTY, checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="resume came without a checkpoint"):
        train(corpus, resume=True)
    absent = tmp_path / "absent"
    assert train(corpus, LBFGS(n_iterations=1), checkpoint=absent, resume=True).n_iterations == 1


def test_the_log_has_a_line_for_every_iteration(tmp_path, corpus):
    log = tmp_path / "log.jsonl"
    options = {"checkpoint": tmp_path / "checkpoint", "resume": True, "log": log}
    train(corpus, LBFGS(n_iterations=2), **options)
    result = train(corpus, LBFGS(n_iterations=4), **options)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["event"] for event in events] == ["start"] + 4 * ["iteration"] + ["end"]
    assert events[0]["optimiser"] == "LBFGS"
    assert [event["loss"] for event in events[1:-1]] == [record.loss for record in result.history]
    assert events[1]["held_out"] is None
    assert events[-1]["reason"] == result.reason


def test_the_last_line_says_what_was_reached_and_what_more_would_bring(corpus):
    result = train(corpus, LBFGS(n_iterations=4), penalty=Penalty(l2=0.1))
    fall = result.history[0].loss - result.loss
    found = re.search(r"at a loss of (\S+): the last 4 lowered it by (\S+) %", result.reason)
    assert float(found[1]) == pytest.approx(result.loss, rel=1e-5)
    share = float(found[2]) / 100  # of the loss at the start
    assert share / (1 - share) * result.loss > fall  # the first step counts, too
    assert "as many more would bring about as much, or less" in result.reason
    result = train(corpus, LBFGS(loss_tolerance=0.5), penalty=Penalty(l2=0.1))
    assert "less than 50 % (loss_tolerance); 10 more would bring less" in result.reason
    result = train(corpus, AdaGrad(n_iterations=3))
    assert "one more (max_iterations) would bring about as much, or less" in result.reason
