"""Totals of the whole corpus, kept up to date while mini-batches change the weights."""

from collections.abc import Mapping, Sequence

from partita.arrays import FloatArray


class RunningTotals:
    """The statistics of terms whose slope depends on the whole corpus, batch by batch.

    They are taken at the weights with which a pass begins. When some batches are visited, what they
    contributed then gives way to what they contribute now, so that the totals, and with them the
    slope of a distance between targets and expectations, never lag behind by more than a pass.

    >>> import numpy as np
    >>> totals = RunningTotals({"Shares": np.array([[1.0], [2.0], [3.0]])})
    >>> totals.visit([1], {"Shares": np.array([5.0])})
    >>> totals.totals
    {'Shares': array([9.])}
    """

    def __init__(self, by_batch: Mapping[str, FloatArray]) -> None:
        self._by_batch = by_batch
        self.totals = {name: rows.sum(axis=0) for name, rows in by_batch.items()}

    def visit(self, indices: Sequence[int], statistics: Mapping[str, FloatArray]) -> None:
        """Take in the statistics, summed, of batches that are visited for the first time."""
        for name, rows in self._by_batch.items():
            self.totals[name] = self.totals[name] + statistics[name] - rows[indices].sum(axis=0)
