"""Distributions whose scores are given as one vector over parts for each sentence."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from partita.distribution.base import Distribution
from partita.structures.base import Structures
from partita.structures.forms import Form


class PartDistribution(Distribution):
    """p(structure) proportional to exp(sum of the scores of its parts), for any `Structures`.

    For sets of structures that have no class of their own; a batch, whose `scores` are a list with
    a vector over the parts of each sentence (or one for each of `structures.arrays`).

    >>> import numpy as np
    >>> from partita.structures.forests import Forests
    >>> from partita.structures.hypergraph import Hypergraph
    >>> graph = Hypergraph([0, 0], [(), ()], root=0)
    >>> PartDistribution(Forests([graph]), [np.log([1.0, 3.0])]).marginals[0].round(9)
    array([0.25, 0.75])
    """

    def __init__(self, structures: Structures, scores: Sequence[ArrayLike]) -> None:
        super().__init__(structures, Form("list"), scores)
