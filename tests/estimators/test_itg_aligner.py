"""The latent-variable CRF of alignment: its likelihood, its gradient, its answers."""

import contextlib
import signal

import numpy as np
import pytest

from enumerate_pairs import log_partition_of_choices, log_partition_of_pair
from partita import Aligner
from partita.data.alignments import Alignment
from partita.estimators.alignment import gold
from partita.estimators.alignment.em import EmCourse
from partita.estimators.alignment.gold import GoldOptions, costs
from partita.estimators.alignment.itg_links import ways
from partita.estimators.alignment.latent import Bound
from partita.estimators.alignment.link_family import LinkCrf, LinkFamily
from partita.estimators.alignment.link_lexicon import LinkLexicon
from partita.estimators.alignment.material import read_pairs
from partita.estimators.alignment.models import ItgAlignment, LinkLesson, learn_generative
from partita.estimators.groups import Runs
from partita.estimators.runs import run
from partita.objectives import ContrastiveEstimation
from partita.text.word_vocabulary import WordVocabulary
from partita.training import build_corpus
from partita.training.interruption import end_if_terminated

FRENCH = ["la maison bleue", "la fleur", "une maison", "la fleur bleue", "une fleur"] * 2
ENGLISH = ["the blue house", "the flower", "a house", "the blue flower", "a flower"] * 2
SOURCE, TARGET = ([tuple(line.split()) for line in lines] for lines in (FRENCH, ENGLISH))
OPTIONS = {"n_translations": 3, "max_iterations": 2, "batch_size": 4, "n_iterations": 2}


def itg(alignments=None, *, source=SOURCE, target=TARGET, **options):
    model = ItgAlignment(**{**OPTIONS, **options})
    return Aligner(model=model, workers=1, progress=False).fit(source, target, alignments)


@pytest.fixture(scope="module")
def generative():
    words = WordVocabulary.learn(SOURCE), WordVocabulary.learn(TARGET)
    pairs, runs = read_pairs(SOURCE, TARGET), Runs(progress=False)
    return learn_generative(LinkLesson(words, pairs), EmCourse(n_iterations=2), runs)[0]


@pytest.fixture(scope="module")
def family(generative):
    words, tables = ways(generative)[0]
    return LinkFamily(*words, LinkLexicon.learn(words, tables, 3), Bound(1.0, 1.0))


def batch_of(family, places):
    pairs = [family.encode_pair(SOURCE[k], TARGET[k]) for k in places]
    return family.batch(pairs), pairs


def random_weights(family, seed=0):
    start = family.first_weights()
    return start + 0.3 * np.random.default_rng(seed).normal(size=len(start))


def test_likelihood_is_that_of_all_derivations(family):
    batch, pairs = batch_of(family, [0, 1])
    weights, lexicon = random_weights(family), family.lexicon
    loss = build_corpus(ContrastiveEstimation(), [batch], workers=1).value(weights)
    expected = 0.0
    n_pairs, n_shared = lexicon.proposals.values.shape
    pair_scores = lexicon.proposals.values @ weights[:n_shared] + weights[n_shared:][:n_pairs]
    at = n_shared + n_pairs
    word_scores = lexicon.deletion_values @ weights[at : at + 2]
    word_scores += weights[at + 2 : at + 2 + len(word_scores)]
    for x, y in pairs:
        allowed, rows = lexicon.proposals.links(x, y)
        links = np.where(allowed, pair_scores[rows], -np.inf)
        rest = word_scores[x], weights[-2], weights[-1]
        inserted = lexicon.log_inserted[y]
        choices, rows = lexicon.proposals.choices(x)
        scores = [pair_scores[own] for own in np.split(rows, choices.offsets[1:-1])]
        expected += log_partition_of_choices(scores, *rest, len(x) + 1)
        expected -= log_partition_of_pair(links, rest[0], inserted + rest[1], rest[2])
    assert loss == pytest.approx(expected, abs=1e-9)
    log_probs = [family.log_prob(pair, weights) for pair in pairs]
    assert sum(log_probs) == pytest.approx(-expected, abs=1e-9)


def test_gradient_by_finite_differences(family):
    batch, _ = batch_of(family, [0, 1, 2])
    corpus = build_corpus(ContrastiveEstimation(), [batch], workers=1)
    weights = random_weights(family, 1)
    _, gradient = corpus.value_and_gradient(weights)
    assert np.abs(gradient).max() > 0.1
    for index in range(len(weights)):
        step = np.zeros(len(weights))
        step[index] = 1e-5
        slope = (corpus.value(weights + step) - corpus.value(weights - step)) / 2e-5
        assert gradient[index] == pytest.approx(slope, abs=1e-7)


def test_scores_of_a_pair_are_those_of_training(generative, family):
    batch, [(x, y)] = batch_of(family, [3])
    weights = random_weights(family, 2)
    found = LinkCrf(family, weights, *ways(generative)[0][1]).scores(SOURCE[3], TARGET[3])
    pairs = batch.structures.members[0]
    trained = pairs.split(batch.features.scores(weights)[: pairs.n_parts])[0]
    allowed, _ = family.lexicon.proposals.links(x, y)
    np.testing.assert_allclose(found.links[allowed], trained.links[allowed], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.deletions, trained.deletions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.insertions, trained.insertions, rtol=0, atol=1e-12)
    assert found.inverted == trained.inverted


def test_it_aligns_and_a_loaded_model_answers_alike(tmp_path):
    aligner = itg()
    new = [("la", "maison", "rouge")], [("the", "red", "house")]
    probabilities = aligner.predict_marginals(SOURCE, TARGET)
    right = [(0, 0), (1, 2), (2, 1)]
    assert aligner.predict(SOURCE, TARGET, decoder="viterbi")[0] == right
    assert probabilities[0].argmax(axis=1).tolist() == [0, 2, 1]
    alone = aligner.predict_marginals(SOURCE[:1], TARGET[:1])[0]
    np.testing.assert_array_equal(alone, probabilities[0])
    aligner.save(tmp_path / "model")
    again = Aligner.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.predict_marginals(*new)[0], aligner.predict_marginals(*new)[0]
    )
    assert isinstance(again.model, ItgAlignment)
    assert repr(again.model) == repr(aligner.model)
    assert "conditional random field over ITG derivations" in str(again.inspect())


def test_gold_links_are_learnt(tmp_path):
    wrong = Alignment(sure=((0, 1), (1, 0)), possible=((2, 2),))  # against all other evidence
    gold = [wrong if k % 5 == 0 else None for k in range(len(SOURCE))]
    aligner = itg(gold, gold_l2=0.01, word_l2=0.01)
    (found,) = aligner.predict(SOURCE[:1], TARGET[:1], decoder="viterbi")
    assert {(0, 1), (1, 0)} <= set(found)
    assert list(aligner.stages_) == ["HMM", "CRF", "CRF, target to source", "CRF, gold links"]
    assert aligner.training_ is aligner.stages_["CRF, gold links"]
    aligner.save(tmp_path / "model")
    again = Aligner.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.predict_marginals(SOURCE, TARGET)[1], aligner.predict_marginals(SOURCE, TARGET)[1]
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_gold_links_that_a_signal_left_unread_change_nothing(number, monkeypatch):
    def signalled(*arguments, **options):
        signal.raise_signal(number)
        return run(*arguments, **options)

    monkeypatch.setattr(gold, "run", signalled)
    aligner = itg([Alignment(((0, 1),))] * len(SOURCE))
    monkeypatch.undo()
    with contextlib.suppress(SystemExit):  # of the next fit after SIGTERM
        end_if_terminated()
    assert aligner.training_.reason.startswith("Interrupted")
    expected = itg().predict_marginals(SOURCE, TARGET)
    for found, other in zip(aligner.predict_marginals(SOURCE, TARGET), expected, strict=True):
        np.testing.assert_array_equal(found, other)


def test_a_gold_pair_of_weight_zero_teaches_nothing():
    wrong, right = Alignment(((0, 1), (1, 0))), Alignment(((0, 0), (1, 2), (2, 1)))
    gold = [wrong, *[None] * 4, right, *[None] * 4]
    options = {**OPTIONS, "gold_l2": 0.01, "word_l2": 0.01}
    aligner = Aligner(model=ItgAlignment(**options), workers=1, progress=False)
    aligner.fit(SOURCE, TARGET, gold, sample_weight=[0.0] + 9 * [1.0])
    assert aligner.predict(SOURCE[:1], TARGET[:1], decoder="viterbi") == [[(0, 0), (1, 2), (2, 1)]]


def test_pairs_that_are_too_large_go_to_the_generative_models():
    aligner = itg(most_cells=4)
    (p, q) = aligner.directed_marginals(SOURCE[:1], TARGET[:1])[0]
    (found,) = aligner.predict_marginals(SOURCE[:1], TARGET[:1])
    np.testing.assert_allclose(found, (p + q) / 2, rtol=0, atol=1e-12)
    assert aligner.predict(SOURCE[:1], TARGET[:1], decoder="viterbi")[0]
    with pytest.raises(ValueError, match="9 places for a link; expected at most most_cells, 4"):
        aligner.k_best(SOURCE[:1], TARGET[:1], 2)


def test_what_is_skipped_is_counted():
    # One pair is too long; one has a target that is longer than all others of its length.
    source = [*SOURCE, ("la",), ("la",) * 20]
    target = [*TARGET, ("the",) * 9, ("the",)]
    aligner = itg(source=source, target=target, directions="forward")
    assert aligner.counts_.n_used == len(source)
    counts = aligner.stage_counts_["CRF"]
    assert (counts.n_long, counts.n_beyond, counts.n_repeated, counts.n_used) == (1, 1, 5, 5)
    assert "5 that came before" in str(counts)
    aligner = itg(source=source, target=target, directions="forward", training_pairs=2)
    counts = aligner.stage_counts_["CRF"]
    assert (counts.n_pairs, counts.n_used, counts.n_spare) == (len(source), 2, 3)


def test_what_is_skipped_of_gold_pairs_is_told():
    gold = [Alignment(((0, 0),))] * 3 + [None] * (len(SOURCE) - 3)
    aligner = itg(gold, gold_cells=4)
    assert [each.n_repeated for each in aligner.stage_counts_.values()] == [5, 5, 0]
    assert aligner.stage_counts_["CRF, gold links"].n_long == 1
    aligner = itg(gold, gold_cells=1)
    assert aligner.stage_counts_["CRF, gold links"].n_long == 3
    assert "CRF, gold links" not in aligner.stages_


def test_a_supervised_crf_without_a_penalty():
    aligner = itg([Alignment(((0, 0),))] * len(SOURCE), gold_l2=0.0, word_l2=0.0)
    assert np.isfinite(aligner.training_.weights).all()
    assert aligner.predict_marginals(SOURCE, TARGET)[0][0, 0] > 0.5


def test_where_all_pairs_are_too_long_it_starts_from_the_tables():
    aligner = itg(training_words=1)
    assert aligner.predict_marginals(SOURCE, TARGET)[1].shape == (2, 2)
    found = aligner.predict(SOURCE[1:2], TARGET[1:2], decoder="viterbi")
    assert found == [[(0, 0), (1, 1)]]
    assert aligner.training_.reason == "There is no pair to learn from."


def test_costs_of_links():
    alignment = Alignment(sure=((0, 0),), possible=((1, 0),))
    found = costs(alignment, 2, 2, GoldOptions(sure_reward=3.0, wrong_cost=2.0))
    assert found.tolist() == [-3.0, 2.0, 0.0, 2.0] + [0.0] * 6


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    gold = [Alignment(((0, 0),))] * 3 + [None] * (len(SOURCE) - 3)

    def fitted(passes, **options):
        # Only a rate that does not look ahead is the same for another number of passes.
        how = {"max_iterations": passes, "schedule": "constant", "average": False}
        model = ItgAlignment(**{**OPTIONS, **how})
        aligner = Aligner(model=model, workers=1, progress=False, **options)
        return aligner.fit(SOURCE, TARGET, gold)

    run = {"checkpoint": tmp_path / "run", "log": tmp_path / "log"}
    fitted(1, **run)
    names = ["log", "log.2", "log.3", "run", "run.2", "run.3"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    (tmp_path / "run.3").unlink()
    resumed, whole = fitted(3, resume=True, **run), fitted(3)
    for a, b in zip(
        resumed.predict_marginals(SOURCE, TARGET),
        whole.predict_marginals(SOURCE, TARGET),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_other_pairs_may_choose_the_pass():
    model = ItgAlignment(**OPTIONS)
    aligner = Aligner(model=model, workers=1, progress=False)
    aligner.fit(SOURCE[2:], TARGET[2:], held_out=(SOURCE[:2], TARGET[:2]))
    assert all(np.isfinite(each.held_out) for each in aligner.stages_["CRF"].history)
    with pytest.raises(ValueError, match="held_out has 3 parts; expected two"):
        aligner.fit(SOURCE, TARGET, held_out=(SOURCE, TARGET, SOURCE))
    with pytest.raises(ValueError, match="held_out has no pair with words on both sides"):
        aligner.fit(SOURCE, TARGET, held_out=([[]], [["a"]]))


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_questions_about_all_alignments(direction):
    aligner = itg()
    pair = SOURCE[:1], TARGET[:1]
    every = aligner.k_best(*pair, 100, direction=direction)[0]
    assert len(every) == 34  # one-to-one alignments of three words
    total = np.logaddexp.reduce([log_prob for _, log_prob in every])
    assert total == pytest.approx(0.0, abs=1e-9)
    found = aligner.log_prob(
        3 * pair[0], 3 * pair[1], [links for links, _ in every[:3]], direction=direction
    )
    np.testing.assert_allclose(found, [p for _, p in every[:3]], rtol=0, atol=1e-9)
    entropy = -sum(np.exp(p) * p for _, p in every)
    assert aligner.entropy(*pair, direction=direction)[0] == pytest.approx(entropy, abs=1e-9)
    drawn = aligner.sample(*pair, 2000, np.random.default_rng(0), direction=direction)[0]
    links, log_prob = every[0]
    assert drawn.count(links) / 2000 == pytest.approx(np.exp(log_prob), abs=0.05)
    rng = np.random.default_rng(0)
    (distinct,) = aligner.sample(*pair, 100, rng, direction=direction, replace=False)
    assert sorted(distinct) == sorted(links for links, _ in every)
    marginals = np.zeros((3, 3))
    for links, p in every:
        for link in links:
            marginals[link] += np.exp(p)
    crf = aligner.model_.latent[direction == "backward"]
    sides = pair[0][0], pair[1][0]
    expected = crf.marginals(*sides) if direction == "forward" else crf.marginals(*sides[::-1]).T
    np.testing.assert_allclose(marginals, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("directions", 0, "'forward' or 'both'"),
        ("n_translations", "x", "a whole number, 1 or more"),
        ("n_translations", 2.5, "a whole number, 1 or more"),
        ("pool", 7, "a number, 0 to 1"),
        ("gold_share", float("nan"), "a number, 0 to 1"),
        ("batch_size", 0, "a whole number, 1 or more"),
        ("held_out_share", 1.0, "a number, 0 to 0.9"),
        ("gold_l2", -1.0, "a number, 0 or more"),
        ("gold_passes", True, "a whole number, 1 or more"),
    ],
)
def test_values_that_make_no_sense(name, value, expected):
    with pytest.raises(ValueError, match=f"{name} is {value!r}; expected {expected}"):
        itg(**{name: value})
