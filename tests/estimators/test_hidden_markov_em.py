"""Hidden Markov models with features, by expectation-maximisation: beside the direct gradient."""

import signal

import numpy as np
import pytest

from partita import HiddenMarkovTagger
from partita.estimators.tagging.emission_features import EmissionFeatures
from partita.estimators.tagging.hidden_markov_model import HiddenMarkovModel
from partita.estimators.tagging.tags import TagSet
from partita.features.log_linear import LogLinear
from partita.objectives.evidence import Evidence
from partita.text.word_symbols import WordSymbols
from partita.training import LBFGS, OWLQN, ModelFileError, Penalty, build_corpus, train
from partita.training.log_linear_corpus import LogLinearCorpus
from partita.training.log_linear_em import LogLinearExpectationMaximisation, LogLinearState

VOCABULARY = ["walked", "talked", "the", "sea"]
SENTENCES = [["the", "sea", "the"], ["talked"], ["sea", "walked", "walked"]]
LABELS = [["?", "B", "?"], ["?"], ["?", "A", "C"]]
EXACT = {"loss_tolerance": 0.0, "gradient_tolerance": 1e-9}

FRAMES = [["dogs", "walked"], ["cats", "talked"], ["cows", "barked"], ["birds", "walked", "cats"]]
SMALL = {"dogs": ["N"], "barked": ["V"], "walked": ["N", "V"], "cats": ["N", "V"]}


@pytest.fixture(scope="module")
def features():
    dictionary = {"the": ["A"], "sea": ["B", "C"]}
    model = HiddenMarkovModel(TagSet(["A", "B", "C"]), WordSymbols(VOCABULARY, []), dictionary)
    return EmissionFeatures(model, ["suffix2", "capital"])


@pytest.fixture(scope="module")
def corpus(features):
    pieces = features.model.pieces(features.model.rows(SENTENCES, LABELS))
    batches = [piece.batch({"Evidence": None}, None) for piece in pieces]
    return LogLinearCorpus(build_corpus(Evidence(), batches), features.log_linear)


def starting(features):
    return np.random.default_rng(4).normal(size=features.n_weights)


@pytest.mark.parametrize("penalty", [Penalty(l2=0.5), Penalty(l2=0.5, l1=0.1)])
def test_the_loss_falls_to_where_the_gradient_is_zero(features, corpus, penalty):
    m_step = OWLQN(50, **EXACT) if penalty.l1 else LBFGS(50, **EXACT)
    em = LogLinearExpectationMaximisation(features.log_linear, 400, 0.0, m_step)
    result = train(corpus, em, penalty=penalty, weights=starting(features))
    losses = [record.loss for record in result.history]
    assert np.all(np.diff(losses) <= 1e-9 * losses[0])
    assert losses[-1] < losses[0] - 0.1
    # Its loss is that of the direct gradient, which finds nothing better from there.
    assert result.loss == pytest.approx(
        corpus.value(result.weights)
        + penalty.smooth(result.weights)
        + penalty.absolute(result.weights),
        abs=1e-9,
    )
    direct = OWLQN(200, **EXACT) if penalty.l1 else LBFGS(200, **EXACT)
    further = train(corpus, direct, penalty=penalty, weights=result.weights)
    assert further.loss == pytest.approx(result.loss, abs=1e-6)
    if not penalty.l1:
        assert result.history[-1].gradient_norm < 1e-3


def test_both_ways_end_on_the_same_hill():
    """One word of each kind is known, so that there is one hill to find."""
    options = {"dictionary": SMALL, "features": ["suffix1"], "l2": 1.0, "loss_tolerance": 1e-12}
    found = [
        HiddenMarkovTagger(optimiser=optimiser, max_iterations=500, **options).fit(FRAMES * 3)
        for optimiser in ("em", "lbfgs")
    ]
    by_em, by_gradient = found
    assert by_em.training_.loss == pytest.approx(by_gradient.training_.loss, rel=1e-6)
    np.testing.assert_allclose(
        np.exp(by_em.log_emissions_), np.exp(by_gradient.log_emissions_), atol=1e-3
    )
    assert by_em.predict([["cows"], ["birds", "talked"]]) == [["N"], ["N", "V"]]
    (history,) = by_em.histories_
    assert np.all(np.diff(history) >= -1e-9 * abs(history[0]))


@pytest.mark.parametrize("start", ["chance", "classes"])
def test_words_alone_and_any_number_of_threads(start):
    options = {"n_tags": 2, "features": "usual", "l2": 0.1, "optimiser": "em", "start": start}
    one, two = (
        HiddenMarkovTagger(workers=n, max_iterations=5, n_restarts=2, **options).fit(FRAMES * 3)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.log_emissions_, two.log_emissions_)
    assert len(one.histories_) == len(one.reasons_) == 2


def test_labels_teach_first():
    options = {"features": "usual", "l2": 0.1, "optimiser": "em"}
    labelled = HiddenMarkovTagger(**options).fit(FRAMES[:2], [["N", "V"]] * 2)
    assert labelled.predict([["birds", "barked"]]) == [["N", "V"]]
    both = HiddenMarkovTagger(**options).fit(
        FRAMES[:2], [["N", "V"]] * 2, unlabelled=FRAMES[2:], held_out=(FRAMES[:1], [["N", "V"]])
    )
    assert both.predict([["birds", "barked"]]) == [["N", "V"]]


def fitted(max_iterations, **run):
    options = {"n_tags": 2, "features": "usual", "l2": 0.1, "optimiser": "em", "loss_tolerance": 0}
    return HiddenMarkovTagger(max_iterations=max_iterations, **options, **run).fit(FRAMES)


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    run = {"checkpoint": tmp_path / "run", "log": tmp_path / "log"}
    fitted(2, **run)
    resumed, whole = fitted(5, resume=True, **run), fitted(5)
    np.testing.assert_array_equal(resumed.log_emissions_, whole.log_emissions_)
    assert (tmp_path / "log").read_text().count('"event": "iteration"') == 5
    with pytest.raises(ModelFileError, match="another run: optimiser is"):
        fitted(5, resume=True, **run).set_params(optimiser="lbfgs").fit(FRAMES)


def test_a_signal_in_an_m_step_keeps_the_model_before(monkeypatch):
    calls, loss = [], LogLinear.loss

    def interrupted(self, counts):
        calls.append(counts)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return loss(self, counts)

    monkeypatch.setattr(LogLinear, "loss", interrupted)
    tagger = fitted(5)
    assert tagger.training_.interrupted
    assert "after 2 iterations" in tagger.reasons_[0]
    monkeypatch.undo()
    np.testing.assert_array_equal(tagger.log_emissions_, fitted(2).log_emissions_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimiser": "em", "neighbourhood": "trans1"}, "scores are no probabilities"),
        ({"optimiser": "lbfgs"}, "without features or a neighbourhood"),
        ({"optimiser": "newton"}, "optimiser is 'newton'; expected"),
    ],
)
def test_ways_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        HiddenMarkovTagger(n_tags=2, **options).fit(FRAMES)


def test_plain_models_may_name_their_way():
    plain, named = (HiddenMarkovTagger(n_tags=2, optimiser=way).fit(FRAMES) for way in (None, "em"))
    np.testing.assert_array_equal(plain.log_emissions_, named.log_emissions_)


def test_the_table_is_that_of_the_corpus(features, corpus):
    em = LogLinearExpectationMaximisation(features.log_linear)
    with pytest.raises(ValueError, match="with the same table"):
        train(corpus.corpus, em)
    assert not em.accepts(LogLinearState(0, np.zeros(1), 0.0, 0.0, np.zeros(1)))
