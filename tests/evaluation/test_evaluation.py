import numpy as np
import pytest

from partita.data.schemes import chunks
from partita.evaluation import (
    Counted,
    accuracy,
    accuracy_by_tag,
    bootstrap,
    calibration_error,
    chunk_scores,
    many_to_one,
    reliability,
)
from partita.evaluation.chunks import conlleval_chunks


def test_accuracy():
    assert accuracy([["a", "b"], ["c", "d"]], [["a", "x"], ["c", "d"]]) == 0.75
    assert accuracy([["a", "?"]], [["a", "x"]]) == 1.0
    assert np.isnan(accuracy([], []))
    by_tag = accuracy_by_tag([["a", "b", "a"]], [["a", "a", "c"]])
    assert by_tag == {"a": (2, 2, 1), "b": (1, 0, 0), "c": (0, 1, 0)}


def test_sentences_must_match():
    with pytest.raises(ValueError, match="1 predicted sentences came for 2"):
        accuracy([["a"], ["b"]], [["a"]])
    with pytest.raises(ValueError, match="sentence 1 .* has 1 gold tags and 2"):
        chunk_scores([["O"], ["O"]], [["O"], ["O", "O"]])


def test_many_to_one():
    gold = [["N", "N", "V", "N", "V", "D"]]
    share, meaning = many_to_one(gold, [["0", "0", "0", "1", "1", "2"]])
    # 0 stands for N (2 of 3), 1 for N (a tie with V), 2 for D.
    assert meaning == {"0": "N", "1": "N", "2": "D"}
    assert share == pytest.approx(4 / 6)


def test_chunks_by_hand():
    gold = [["B-NP", "I-NP", "O", "B-VP", "B-NP"], ["B-NP", "B-NP"]]
    found = [["B-NP", "I-NP", "B-PP", "B-VP", "I-VP"], ["B-NP", "I-NP"]]
    scores = chunk_scores(gold, found)
    # Gold: NP VP NP, NP NP. Found: NP PP VP(longer), NP(longer). Right: the first NP.
    assert scores.overall == Counted(5, 4, 1)
    assert scores.by_type == {
        "NP": Counted(4, 2, 1),
        "PP": Counted(0, 1, 0),
        "VP": Counted(1, 1, 0),
    }
    assert scores.overall.precision == 0.25
    assert scores.overall.recall == 0.2
    assert scores.overall.f1 == pytest.approx(2 * 0.25 * 0.2 / 0.45)
    assert scores.accuracy == pytest.approx(4 / 7)
    assert scores.by_type["PP"].recall == scores.by_type["PP"].f1 == 0.0


@pytest.mark.parametrize(
    "tags",
    [
        ["I-P", "I-P", "B-P", "O", "I-Q"],  # IOB1
        ["B-P", "I-P", "B-P", "O", "B-Q"],  # IOB2
        ["B-P", "E-P", "S-P", "O", "S-Q"],  # BIOES
    ],
)
def test_all_schemes_read_alike(tags):
    scores = chunk_scores([["B-P", "I-P", "B-P", "O", "B-Q"]], [tags])
    assert scores.overall == Counted(3, 3, 3)
    assert scores.overall.f1 == 1.0


def test_no_chunks_at_all():
    scores = chunk_scores([["O"]], [["O"]])
    assert scores.overall.f1 == 0.0
    assert scores.by_type == {}
    assert "processed 1 tokens with 0 phrases" in str(scores)


def test_bootstrap_of_a_mean():
    rng = np.random.default_rng(0)
    values = rng.normal(size=400).tolist()
    found = bootstrap(lambda items: float(np.mean(items)), values, n_samples=2000)
    assert found.value == pytest.approx(np.mean(values))
    # The normal interval: 1.96 standard errors each way.
    width = 1.96 * np.std(values) / 20
    assert found.high - found.value == pytest.approx(width, rel=0.1)
    assert found.value - found.low == pytest.approx(width, rel=0.1)
    assert found == bootstrap(lambda items: float(np.mean(items)), values, n_samples=2000)


def test_bootstrap_resamples_together():
    def same(a, b):
        assert a == b
        return 1.0

    assert bootstrap(same, [1, 2, 3], [1, 2, 3], n_samples=5) == (1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"have \[1, 2\] items"):
        bootstrap(same, [1], [1, 2])
    with pytest.raises(ValueError, match="confidence is 95"):
        bootstrap(same, [1], [1], confidence=95)


def test_reliability_by_hand():
    bins = reliability([0.1, 0.5, 0.6, 1.0, 0.0], [False, True, False, True, False], n_bins=2)
    # 0.5 is in the lower bin, 1 in the upper one.
    assert [found.n for found in bins] == [3, 2]
    assert bins[0].mean_probability == pytest.approx(0.2)
    assert bins[0].accuracy == pytest.approx(1 / 3)
    assert bins[1].mean_probability == pytest.approx(0.8)
    assert bins[1].accuracy == 0.5
    assert calibration_error(bins) == pytest.approx((3 * (1 / 3 - 0.2) + 2 * 0.3) / 5)
    assert np.isnan(reliability([0.9], [True])[0].accuracy)
    assert np.isnan(calibration_error(reliability([], np.zeros(0, dtype=bool))))


def test_calibrated_predictions_have_little_error():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    right = rng.random(20_000) < p
    assert calibration_error(reliability(p, right)) < 0.02
    assert calibration_error(reliability(p**2, right)) > 0.1


@pytest.mark.parametrize(
    "p, right, message",
    [
        ([-3.0], [True], "expected 0 to 1"),
        ([0.5], [1], "expected booleans"),
        ([0.5, 0.5], [True], "one of each"),
    ],
)
def test_what_is_no_probability(p, right, message):
    with pytest.raises(ValueError, match=message):
        reliability(p, right)


def test_chunks_as_conlleval_reads_them():
    for tags in (["B-A", "I-A", "B-A", "I-B", "O", "I-A"], ["I-A", "I-A", "B-A", "O"]):
        assert conlleval_chunks(tags) == chunks(tags)
    # It has no rule for S, nor for B after E.
    tags = ["B-A", "E-A", "B-A", "E-A", "O", "S-A", "S-A", "S-B"]
    assert [(each.first, each.last) for each in conlleval_chunks(tags)] == [(0, 3), (5, 6), (7, 7)]
    assert [each.first for each in chunks(tags)] == [0, 2, 5, 6, 7]
    assert chunk_scores([tags], [tags]).overall.n_gold == 5
    assert chunk_scores([tags], [tags], "conlleval").overall.n_gold == 3
