"""Long runs of taggers: held-out sentences, checkpoints, resuming, logs."""

import json
from dataclasses import replace

import numpy as np
import pytest

from partita.data import ExpectationConstraint
from partita.estimators import runs
from partita.estimators.tagging.hidden_markov_tagger import HiddenMarkovTagger
from partita.estimators.tagging.tagger import Tagger
from small_tagging import sentences

WORDS, TAGS = sentences(30, seed=1)
MORE, _ = sentences(20, seed=2)
HELD_OUT = sentences(15, seed=3)
EXPECTED = ExpectationConstraint(f"w={WORDS[0][0]}", {TAGS[0][0]: 1.0})

KINDS = {
    "likelihood": {},
    "entropy": {"entropy_weight": 0.1},
    "risk": {"objective": "risk"},
    "adam": {"optimiser": "adam"},
}


def fitted(options, held_out=None, **more):
    unlabelled = MORE if "entropy_weight" in options else ()
    tagger = Tagger(**options, **more, l2=0.1, progress=False)
    return tagger.fit(WORDS, TAGS, unlabelled=unlabelled, held_out=held_out)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_in_pieces_ends_in_the_same_model(tmp_path, kind):
    whole = fitted(KINDS[kind], max_iterations=12)
    path = tmp_path / "run"
    for most in (3, 7, 12):
        found = fitted(KINDS[kind], max_iterations=most, checkpoint=path, resume=True)
    assert found.training_.n_iterations == whole.training_.n_iterations
    if kind in ("likelihood", "adam"):
        assert found.weights_.tobytes() == whole.weights_.tobytes()


class KilledError(Exception):
    """What a test raises where a process would be killed."""


@pytest.mark.parametrize("kind", ["likelihood", "entropy", "risk"])
@pytest.mark.parametrize("n_writes", [2, 9, 14])
def test_a_run_that_dies_resumes_to_the_same_model(tmp_path, monkeypatch, kind, n_writes):
    # The two runs of entropy and risk take 8 iterations each, so writes fall into both.
    from partita.training import checkpoint

    options = {**KINDS[kind], "max_iterations": 8}
    whole = fitted(options)
    path, left = tmp_path / "run", [n_writes]
    write = checkpoint.write_checkpoint

    def dying(*arguments):
        if left[0] == 0:
            raise KilledError
        left[0] -= 1
        write(*arguments)

    monkeypatch.setattr(checkpoint, "write_checkpoint", dying)
    try:
        fitted(options, checkpoint=path, checkpoint_seconds=0.0)
        assert kind == "likelihood"
    except KilledError:
        pass
    monkeypatch.setattr(checkpoint, "write_checkpoint", write)
    found = fitted(options, checkpoint=path, resume=True)
    assert found.weights_.tobytes() == whole.weights_.tobytes()


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "run"
    fitted({"entropy_weight": 0.1}, max_iterations=3, checkpoint=path)
    with pytest.raises(
        ValueError, match=r"another run: term_weights is .* Resume with the options"
    ):
        fitted({"entropy_weight": 0.2}, checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="another run: objective is"):
        fitted({}, checkpoint=path, resume=True)


def expected_errors(tagger, words, tags):
    """1 - the mean probability of the right tag, as a plain sum."""
    probabilities = [
        row[tag]
        for rows, sequence in zip(tagger.predict_marginals(words).named(), tags, strict=True)
        for row, tag in zip(rows, sequence, strict=True)
    ]
    return 1 - sum(probabilities) / len(probabilities)


def test_the_best_weights_on_held_out_sentences_are_kept(tmp_path):
    log = tmp_path / "log"
    tagger = fitted({}, held_out=HELD_OUT, patience=3, log=log)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    losses = [event["held_out"] for event in events if event["event"] == "iteration"]
    best = int(np.argmin(losses))
    assert "Stopped early" in tagger.training_.reason
    assert len(losses) == best + 1 + 3
    found = expected_errors(tagger, *HELD_OUT)
    np.testing.assert_allclose(found, losses[best], rtol=0, atol=1e-9)
    plain = fitted({}, max_iterations=best + 1)
    assert tagger.weights_.tobytes() == plain.weights_.tobytes()


def test_tags_that_training_never_saw_do_not_move_the_judgement():
    words, tags = HELD_OUT
    strange = [["NEW", *sequence[1:]] for sequence in tags]
    unknown = [["?", *sequence[1:]] for sequence in tags]
    first = fitted({}, held_out=(words, strange))
    second = fitted({}, held_out=(words, unknown))
    assert first.weights_.tobytes() == second.weights_.tobytes()
    assert first.training_.history[-1].held_out == second.training_.history[-1].held_out
    with pytest.raises(ValueError, match="held_out has no word with known tags"):
        fitted({}, held_out=([["dog"]], [["NEW"]]))
    with pytest.raises(ValueError, match="held_out came without tags"):
        fitted({}, held_out=([["dog"]], None))


def test_the_start_counts_where_training_makes_it_worse():
    good = fitted({})
    names = good.tags_
    wrong = [[names[names.index(tag) - 1] for tag in sequence] for sequence in TAGS]
    tagger = Tagger(warm_start=good, progress=False, patience=2)
    tagger.fit(WORDS, wrong, held_out=HELD_OUT)
    assert "best after 0" in tagger.training_.reason
    assert tagger.weights_.tobytes() == good.weights_.tobytes()


def test_two_runs_have_two_logs(tmp_path):
    fitted({"objective": "risk"}, max_iterations=4, log=tmp_path / "log")
    objectives = [
        json.loads((tmp_path / name).read_text().splitlines()[0])["objective"]
        for name in ("log", "log.2")
    ]
    assert objectives == [["Likelihood"], ["ExpectedCost"]]


def test_saved_models_do_not_keep_paths_of_training(tmp_path):
    tagger = fitted({}, checkpoint=tmp_path / "run", log=tmp_path / "log", max_iterations=2)
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").get_params()["checkpoint"] is None


# ------------------------------------------------------------------ hidden Markov models


def hidden(**options):
    tagger = HiddenMarkovTagger(
        **{"n_tags": 4, "loss_tolerance": 0.0, "progress": False, **options}
    )
    return tagger.fit(WORDS)


def weights(tagger):
    return np.concatenate([tagger.log_transitions_.ravel(), tagger.log_emissions_.ravel()])


def test_expectation_maximisation_in_pieces(tmp_path):
    whole = hidden(n_restarts=2, max_iterations=9)
    path = tmp_path / "run"
    for most in (4, 9):
        found = hidden(n_restarts=2, max_iterations=most, checkpoint=path, resume=True)
    assert weights(found).tobytes() == weights(whole).tobytes()
    assert {each.name for each in tmp_path.iterdir()} == {"run", "run.2"}
    found.save(tmp_path / "model")
    assert HiddenMarkovTagger.load(tmp_path / "model").checkpoint is None


def test_expectation_maximisation_stops_on_held_out_sentences(tmp_path):
    few, log = (WORDS[:5], TAGS[:5]), tmp_path / "log"
    options = {"unlabelled_weight": 1.0, "progress": False, "log": log, "patience": 2}
    tagger = HiddenMarkovTagger(**options).fit(*few, unlabelled=MORE, held_out=HELD_OUT)
    losses = [json.loads(line).get("held_out") for line in log.read_text().splitlines()[1:-1]]
    found = expected_errors(tagger, *HELD_OUT)
    assert found <= min(losses) + 1e-9
    with pytest.raises(ValueError, match="held_out has no word with known tags"):
        tagger.fit(*few, unlabelled=MORE, held_out=([["dog"]], [["NEW"]]))


def test_unlabelled_words_count_less_than_labels():
    few = WORDS[:5], TAGS[:5]
    share = 0.3 * sum(map(len, TAGS[:5])) / sum(map(len, MORE))
    by_default, by_hand, whole = (
        HiddenMarkovTagger(unlabelled_weight=weight, progress=False).fit(*few, unlabelled=MORE)
        for weight in (None, share, 1.0)
    )
    assert weights(by_default).tobytes() == weights(by_hand).tobytes()
    assert weights(by_default).tobytes() != weights(whole).tobytes()


# ------------------------------------------------------------------ sentences without tags


def test_the_loss_is_labels_and_entropy_and_shares_and_penalty():
    options = {"entropy_weight": 0.3, "share_weight": 0.7, "l2": 0.5, "progress": False}
    tagger = Tagger(**options, max_iterations=30).fit(WORDS, TAGS, unlabelled=MORE)
    n_known, n_others = sum(map(len, TAGS)), sum(map(len, MORE))
    marginals = np.concatenate(tagger.predict_marginals(MORE))
    flat = [tag for sequence in TAGS for tag in sequence]
    shares = np.array([flat.count(tag) for tag in tagger.tags_]) / n_known
    divergence = shares @ np.log(shares / marginals.mean(axis=0))
    expected = (
        -tagger.log_prob(WORDS, TAGS).sum()
        + 0.3 * n_known * tagger.entropy(MORE).sum() / n_others
        + 0.7 * n_known * divergence
        + 0.25 * (tagger.weights_ @ tagger.weights_)
    )
    np.testing.assert_allclose(tagger.training_.loss, expected, rtol=1e-9)


def test_shares_need_both_kinds_of_sentences():
    with pytest.raises(ValueError, match="no sentences came without tags"):
        Tagger(share_weight=1.0).fit(WORDS, TAGS)
    with pytest.raises(ValueError, match="share_weight is -1"):
        Tagger(share_weight=-1.0).fit(WORDS, TAGS)


@pytest.mark.parametrize(
    ("options", "most", "tolerance"),
    [
        ({}, 1000, 1e-6),
        ({"objective": "softmax-margin"}, 1000, 1e-6),
        ({"objective": "risk"}, 200, 1e-4),
        ({"entropy_weight": 0.1}, 200, 1e-4),
        (
            {"constraints": [ExpectationConstraint(f"w={WORDS[0][0]}", {TAGS[0][0]: 1.0})]},
            200,
            1e-4,
        ),
        ({"objective": "risk", "loss_tolerance": 0.01, "max_iterations": 5}, 5, 0.01),
    ],
)
def test_runs_without_one_best_place_end_sooner(options, most, tolerance, monkeypatch):
    used, original = [], runs.train

    def noted(corpus, optimiser, **more):
        used.append(optimiser)
        return original(corpus, replace(optimiser, n_iterations=1), **more)

    monkeypatch.setattr(runs, "train", noted)
    fitted(options)
    assert {(each.n_iterations, each.loss_tolerance) for each in used} == {(most, tolerance)}
