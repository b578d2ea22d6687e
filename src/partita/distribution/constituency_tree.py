"""Distributions over binary constituency trees: the algorithm of Cocke, Kasami and Younger."""

from typing import Any

from numpy.typing import ArrayLike

from partita.distribution.base import Distribution
from partita.structures.array_structures import made_once
from partita.structures.constituents import ConstituencyTrees
from partita.structures.forms import recognise
from partita.structures.part_arrays import axes

SPANS = axes(
    "n n",
    "a score for every first and last word of a span (if a last axis is labels, say labelled=True)",
)
LABELLED_SPANS = axes("n n n_labels", "as labelled=True says, by first word, last word and label")


class ConstituencyTree(Distribution):
    """p(tree) proportional to exp(sum of spans[first, last] over all spans of a binary tree).

    A tree over n words has n spans of one word and n - 1 longer ones, each cut into two; all 2n - 1
    are scored. With labels every span has one, and the labels of different spans are independent
    given the tree.

    Parameters
    ----------
    spans
        Scores [first, last] of shape (n, n), both words in the span; where `labelled`,
        (n, n, n_labels). Cells below the diagonal are ignored, whatever is there. A batch is a
        list of such arrays, or one padded array with a leading axis, (B, N, N) or
        (B, N, N, n_labels).
    labelled
        Whether spans have labels, along the last axis. Three axes without it are a batch.
    n_words
        Number of words of each row of a padded array; all N if left out.
    mask
        Or which words of a padded array are there, booleans (B, N). A word that is not there is in
        no span, wherever it stands; spans count the words of the array.

    A structure is an integer array of rows (first, last), or (first, last, label), for each span,
    from the top down; `last` is the last word of the span itself. In `score` and `log_prob` rows
    may come in any order; rows that are no binary tree are an error. Log-partition, marginals, the
    covariance product, the best tree and max-marginals cost O(n³ + n² n_labels) each.

    >>> import numpy as np
    >>> p = ConstituencyTree(np.zeros((4, 4)))
    >>> float(np.exp(p.log_partition).round(9))
    5.0
    >>> p.marginals.round(1)
    array([[1. , 0.4, 0.4, 1. ],
           [0. , 1. , 0.4, 0.4],
           [0. , 0. , 1. , 0.4],
           [0. , 0. , 0. , 1. ]])
    >>> ConstituencyTree(np.eye(3, k=1)[:2, :2]).argmax  # the whole, the first word, the second
    array([[0, 1],
           [0, 0],
           [1, 1]])
    """

    structures: ConstituencyTrees

    def __init__(
        self,
        spans: Any,
        *,
        labelled: bool = False,
        n_words: "ArrayLike | None" = None,
        mask: "ArrayLike | None" = None,
    ) -> None:
        shape = LABELLED_SPANS if labelled else SPANS
        form, lengths, sizes = recognise([("spans", spans, shape)], n_words, mask)
        trees = made_once(ConstituencyTrees, lengths, sizes.get("n_labels"))
        super().__init__(trees, form, spans)
