"""Whole registers of doubles and of singles: copies, and what is seen of them on the way."""

import numpy as np
import pytest

from partita.kernels.doors import padded

TYPES = [(np.float64, np.float64), (np.float32, np.float64), (np.float32, np.float32)]


@pytest.mark.parametrize(("source_type", "target_type"), TYPES)
@pytest.mark.parametrize("n_cells", [1, 7, 8, 15, 16, 17, 31, 32, 45])
def test_a_copy_sees_each_cell(source_type, target_type, n_cells):
    values = np.random.default_rng(n_cells).normal(size=n_cells).astype(source_type)
    for place in range(n_cells):
        for value, is_odd in (
            (np.nan, True),
            (-np.nan, True),
            (np.inf, True),
            (-np.inf, False),
            (np.finfo(source_type).max, False),
            (np.finfo(source_type).min, False),
            (np.finfo(source_type).smallest_subnormal, False),
        ):
            source, target = values.copy(), np.empty(n_cells, target_type)
            source[place] = value
            finite = source[np.isfinite(source)]
            seen = padded.copy(source, target)
            assert seen == (is_odd, np.abs(finite).max(initial=0.0))
            np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize(("source_type", "target_type"), TYPES)
def test_rows_of_a_padded_batch_are_put_end_to_end(source_type, target_type):
    # Arcs of sentences of 20 and 3 words, of rows of 20.
    batch = np.random.default_rng(0).normal(size=(2, 21, 21)).astype(source_type)
    batch[1, 4:], batch[1, :, 4:] = np.nan, np.nan
    out, n_words = np.empty(21 * 21 + 4 * 4, target_type), np.array([20, 3])
    seen = padded.gather(
        batch.reshape(-1), 21 * 21, 21, 2, 1, 1, n_words, np.array([0, 21 * 21]), out
    )
    expected = np.concatenate([batch[0].ravel(), batch[1, :4, :4].ravel()])
    np.testing.assert_array_equal(out, expected)
    assert seen == (False, np.abs(expected).max())
