"""Alignment error rate and its relatives, by hand."""

import numpy as np
import pytest

from partita.data.alignments import Alignment
from partita.evaluation.alignments import alignment_scores, link_counts

GOLD = [
    Alignment(sure=((0, 0), (1, 1)), possible=((1, 2), (2, 2))),
    Alignment(sure=((0, 1),)),
    Alignment(),
]
FOUND = [{(0, 0), (1, 2), (3, 3)}, {(0, 1), (1, 0)}, set()]


def test_error_rate_by_hand():
    counts = link_counts(GOLD, FOUND)
    assert counts == (5, 3, 2, 3)
    np.testing.assert_allclose(counts.error_rate, 1 - (2 + 3) / (5 + 3), rtol=1e-12)
    np.testing.assert_allclose(counts.precision, 3 / 5, rtol=1e-12)
    np.testing.assert_allclose(counts.recall, 2 / 3, rtol=1e-12)


def test_f1_is_its_complement_where_all_is_sure():
    gold = [Alignment(sure=((0, 0), (1, 1), (2, 2)))]
    counts = link_counts(gold, [[(0, 0), (1, 2)]])
    np.testing.assert_allclose(counts.f1, 1 - counts.error_rate, rtol=1e-12)


def test_repeated_links_count_once():
    assert link_counts(GOLD[:1], [[(0, 0), (0, 0)]]).n_found == 1


def test_nothing_found_and_nothing_to_find():
    assert link_counts([Alignment()], [[]]).error_rate == 0
    counts = link_counts(GOLD, [[], [], []])
    assert (counts.error_rate, counts.precision, counts.recall, counts.f1) == (1, 1, 0, 0)
    assert link_counts([], []).error_rate == 0


def test_intervals():
    scores = alignment_scores(GOLD * 10, FOUND * 10, n_samples=200)
    for value, low, high in scores[:4]:
        assert low <= value <= high
    assert scores.error_rate.value == link_counts(GOLD, FOUND).error_rate
    assert scores.error_rate.low < scores.error_rate.high
    assert "AER                37.50% (95 % of samples:" in str(scores)


def test_other_numbers_of_pairs():
    with pytest.raises(ValueError, match="2 predicted alignments came for 3 gold"):
        link_counts(GOLD, FOUND[:2])
