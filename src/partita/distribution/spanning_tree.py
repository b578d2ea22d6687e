"""Non-projective dependency parsing: distributions over all spanning trees."""

from partita.distribution.trees import Tree
from partita.structures.spanning_trees import SpanningTrees


class SpanningTree(Tree):
    """p(tree) proportional to exp(sum over words of arcs[head, word]), over all dependency trees.

    Arcs may cross; `ProjectiveTree` leaves such trees out. See `Tree` for the arguments.
    Log-partition, marginals and `covariance_product` cost O(n³) and are right however strongly
    words prefer each other; `pair_marginals` and `covariance` cost O(n⁴).

    Three words have 16 trees, of which 4 use the arc from word 1 to word 2 that is forbidden here:

    >>> import numpy as np
    >>> arcs = np.zeros((4, 4))
    >>> arcs[1, 2] = -np.inf
    >>> p = SpanningTree(arcs)
    >>> float(np.exp(p.log_partition).round(9)), float(p.marginals[1, 2])
    (12.0, 0.0)
    >>> SpanningTree(np.zeros((4, 4)), single_root=True).argmax
    array([0, 1, 1])
    """

    structures: SpanningTrees
    kind = SpanningTrees
