"""Distributions whose scores are given as one vector over parts for each sentence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray
from partita.distribution.base import SUM, Combine, Distribution
from partita.show.svg import Svg
from partita.structures.base import Structures
from partita.structures.batch import Form, check_scores, pieces


class PartDistribution(Distribution):
    """p(structure) proportional to exp(sum of the scores of its parts), for any `Structures`.

    For sets of structures that have no class of their own; a batch, whose `scores` are a list with
    a vector over the parts of each sentence.

    >>> from partita.structures.chains import Chains
    >>> p = PartDistribution(Chains([1], n_tags=2, shared=True), [np.log([1.0, 3, 1, 1, 1, 1])])
    >>> p.marginals[0][:2].round(9)
    array([0.25, 0.75])
    """

    def __init__(self, structures: Structures, scores: Sequence[ArrayLike]) -> None:
        self.structures, self._form = structures, Form("list")
        super().__init__(structures, self._flatten(scores, np.float64, "scores"), self._form)
        check_scores("scores", self.scores)

    def _drawings(self, sentence: int) -> list[Svg]:
        return []

    def _flatten(self, values: Any, dtype: type, name: str = "values") -> Any:
        shapes = [(n_parts,) for n_parts in np.diff(self.structures.part_offsets).tolist()]
        arrays = self._form.split(name, values, shapes, dtype)
        return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)

    def _shaped(self, parts: FloatArray, combine: Combine = SUM) -> Any:
        return self._form.join(pieces(parts, self.structures.part_offsets), lambda n: (n,))
