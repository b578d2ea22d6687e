"""Distributions over the derivations of a hypergraph."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray, Values
from partita.distribution.base import Distribution
from partita.structures.forests import Forests
from partita.structures.forms import Form
from partita.structures.hypergraph import Hypergraph


class HypergraphDistribution(Distribution[Values, IntArray]):
    """p(derivation) proportional to exp(sum of the scores of its edges, as often as they occur).

    Parameters
    ----------
    hypergraph
        A `Hypergraph`, or a list of them for a batch.
    scores
        One score per edge, (n_edges,); for a batch a list of such arrays.

    A derivation is the array of its edges in preorder: top-down, left to right (see `Forests`).
    `sample` gives a list of derivations, since they differ in length. Log-partition and marginals
    cost O(edges + tails); a marginal is the expected number of times the edge occurs, so it can
    be more than 1. Where the scores change and the hypergraphs do not, `with_scores` saves laying
    them out anew.

    >>> forest = Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)  # two leaves, each of two kinds
    >>> p = HypergraphDistribution(forest, np.log([3.0, 1.0, 1.0]))
    >>> float(np.exp(p.log_partition).round(9))  # (3 + 1)²
    16.0
    >>> p.marginals
    array([1.5, 0.5, 1. ])
    >>> p.argmax
    array([2, 0, 0])
    >>> [(edges.tolist(), round(float(np.exp(score)))) for edges, score in p.k_best(2)]
    [([2, 0, 0], 9), ([2, 1, 0], 3)]
    """

    structures: Forests

    def __init__(self, hypergraph: Hypergraph | Sequence[Hypergraph], scores: Any) -> None:
        form = Form("one" if isinstance(hypergraph, Hypergraph) else "list")
        graphs = [hypergraph] if isinstance(hypergraph, Hypergraph) else list(hypergraph)
        for index, graph in enumerate(graphs):
            if not isinstance(graph, Hypergraph):
                raise ValueError(
                    f"hypergraph {index} is a {type(graph).__name__}; expected a Hypergraph, or a "
                    "list of them. Make one by Hypergraph(heads, tails, root)."
                )
        if scores is None:
            raise ValueError(
                "scores is None; expected one score per edge, (n_edges,), or a list of such arrays "
                "for a batch. Where all derivations are alike, give np.zeros(hypergraph.n_edges)."
            )
        super().__init__(Forests(graphs), form, scores)

    @property
    def inside(self) -> Values:
        """For each node, (n_nodes,), the log of the summed weight of its derivations.

        -inf for a node that has none.

        >>> forest = Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
        >>> np.exp(HypergraphDistribution(forest, np.zeros(3)).inside).round(9)
        array([2., 4.])
        """
        return self._form.one_or_list(self.structures.inside(self.inference))

    @property
    def outside(self) -> Values:
        """For each node, (n_nodes,), the log of the summed weight of what can stand around it.

        0 for the root, -inf for a node that it does not lead to. Inside times outside, over the
        partition function, is the expected number of times the node occurs.

        >>> forest = Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
        >>> np.exp(HypergraphDistribution(forest, np.zeros(3)).outside).round(9)
        array([4., 1.])
        """
        return self._form.one_or_list(self.structures.outside(self.scores, self.inference))

    def expected_features(self, features: Any) -> Values:
        """Expected sum of feature vectors over the edges of a derivation: features.T @ marginals.

        `features` is (n_edges, n_features), dense or a SciPy sparse matrix; a list for a batch.
        The result is (n_features,), or a list of such arrays.

        >>> forest = Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
        >>> features = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 5.0]])
        >>> HypergraphDistribution(forest, np.zeros(3)).expected_features(features)
        array([1., 6.])
        """
        matrices = [features] if self._form.kind == "one" else list(features)
        if len(matrices) != self.structures.n_sentences:
            raise ValueError(
                f"features of {len(matrices)} sentences came; expected a matrix for each of the "
                f"{self.structures.n_sentences} hypergraphs."
            )
        marginals = self.structures.split(self.certain.inference.marginals)
        return self._form.one_or_list(
            [_summed(matrix, row) for matrix, row in zip(matrices, marginals, strict=True)]
        )


def _summed(features: Any, marginals: FloatArray) -> FloatArray:
    """features.T @ marginals, for a dense or sparse matrix."""
    matrix = features if hasattr(features, "tocsr") else np.asarray(features, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != len(marginals):
        raise ValueError(
            f"features has shape {matrix.shape}; expected ({len(marginals)}, n_features), a row of "
            "features for every edge."
        )
    return np.asarray(matrix.T @ marginals)
