"""Weights for some pairs of attribute and column, against a dense table with zeros elsewhere."""

import numpy as np
import pytest

from partita.features import Attributes, PairFeatures, Pairs, RowFeatures

N_ATTRIBUTES, WIDTH, N_ROWS = 30, 9, 80


@pytest.fixture(params=[False, True], ids=["binary", "values"])
def problem(request):
    rng = np.random.default_rng(3)
    lists = [rng.choice(N_ATTRIBUTES, size=n, replace=False) for n in rng.integers(0, 7, N_ROWS)]
    values = [rng.normal(size=len(each)) for each in lists] if request.param else None
    rows = Attributes.from_lists(lists, values)
    tags = rng.integers(-1, WIDTH, N_ROWS)
    return lists, rows, tags, rng


def test_the_pairs_that_occur(problem):
    lists, rows, tags, _ = problem
    expected = sorted(
        {
            (int(a), int(tag))
            for each, tag in zip(lists, tags, strict=True)
            for a in each
            if tag >= 0
        }
    )
    halves = [rows[:15], rows[15:]], [tags[:15], tags[15:]]
    for pairs in (
        Pairs.seen([rows], [tags], N_ATTRIBUTES, WIDTH),
        Pairs.seen(*halves, N_ATTRIBUTES, WIDTH),
    ):
        assert list(zip(pairs.attributes.tolist(), pairs.columns.tolist(), strict=True)) == expected
        assert (np.diff(pairs.firsts) >= 0).all()
        assert len(pairs.firsts) == N_ATTRIBUTES + 1


def test_as_a_table_with_zeros(problem):
    _, rows, tags, rng = problem
    pairs = Pairs.seen([rows], [tags], N_ATTRIBUTES, WIDTH)
    starts, n_parts = 3 + WIDTH * np.arange(N_ROWS)[::-1], 3 + WIDTH * N_ROWS
    features = PairFeatures(rows, starts, pairs, n_parts)
    dense = RowFeatures(rows, starts, WIDTH, N_ATTRIBUTES, n_parts)
    assert 0 < pairs.n_rows < N_ATTRIBUTES  # both kinds of attributes
    table = np.zeros((N_ATTRIBUTES, WIDTH))
    table[pairs.attributes, pairs.columns] = rng.normal(size=pairs.n_pairs)
    weights, gradient = pairs.flat(table), rng.normal(size=n_parts)
    np.testing.assert_allclose(
        features.scores(weights), dense.scores(table.ravel()), rtol=0, atol=1e-12
    )
    expected = pairs.flat(dense.gradient(gradient).reshape(N_ATTRIBUTES, WIDTH))
    np.testing.assert_allclose(features.gradient(gradient), expected, rtol=0, atol=1e-12)
    assert pairs.table(weights).tobytes() == table.tobytes()
    assert not weights[pairs.zeros].any()


def test_what_does_not_fit():
    rows = Attributes.from_lists([[0], [1]])
    pairs = Pairs(np.array([0, 1, 2]), np.array([0, 1], np.int32), 2)
    PairFeatures(rows, [0, 2], pairs, 4)
    with pytest.raises(ValueError, match="starts has shape"):
        PairFeatures(rows, [0], pairs, 4)
    with pytest.raises(ValueError, match="attributes range from 0 to 5"):
        PairFeatures(Attributes.from_lists([[0], [5]]), [0, 2], pairs, 4)
    with pytest.raises(ValueError, match="columns of pairs range from 0 to 1; expected 0 to 0"):
        Pairs(np.array([0, 1, 2]), np.array([0, 1], np.int32), 1)
    with pytest.raises(ValueError, match="end within the 3 parts"):
        PairFeatures(rows, [0, 2], pairs, 3)
