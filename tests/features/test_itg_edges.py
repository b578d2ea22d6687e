"""Tables of rule features: the map against its matrix, and how words are compared."""

import numpy as np
import pytest

from partita.features.itg_edges import TableFeatures
from partita.text.likeness import likeness, likenesses


@pytest.mark.parametrize("has_own", [True, False])
def test_against_the_matrix(has_own):
    rng = np.random.default_rng(0)
    values, rows, parts = rng.normal(size=(4, 3)), [2, 0, 2, 3], [5, 1, 0, 5]
    features = TableFeatures(values, rows, parts, 6, has_own=has_own)
    matrix = np.zeros((6, features.n_weights))
    for row, part in zip(rows, parts, strict=True):
        matrix[part, :3] += values[row]
        if has_own:
            matrix[part, 3 + row] += 1.0
    weights, slopes = rng.normal(size=features.n_weights), rng.normal(size=6)
    np.testing.assert_allclose(features.scores(weights), matrix @ weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(features.gradient(slopes), matrix.T @ slopes, rtol=0, atol=1e-12)


def test_tables_that_do_not_fit():
    with pytest.raises(ValueError, match="rows range from 4 to 4; expected 0 to 3"):
        TableFeatures(np.zeros((4, 1)), [4], [0], 1)
    with pytest.raises(ValueError, match="a row of the table for each part"):
        TableFeatures(np.zeros((4, 1)), [1, 2], [0], 1)


def test_spelling():
    assert likeness("", "") == 1.0
    assert likeness("in", "inn") == 0.0
    assert likeness("Parliament", "parlement") == 0.4
    np.testing.assert_array_equal(likenesses(["a", "b"], ["a"]), [[1.0], [0.0]])
    assert likenesses([], ["a"]).shape == (0, 1)
