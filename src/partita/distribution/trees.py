"""Distributions over dependency trees: arcs in, heads out."""

from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray, Values
from partita.distribution.base import Distribution
from partita.structures.array_structures import made_once
from partita.structures.forms import recognise
from partita.structures.part_arrays import axes
from partita.structures.trees import Trees

ARCS = axes(
    "n+1 n+1",
    "a score for every head and modifier with the root as row 0; -inf for an arc that cannot be "
    "(if a last axis is labels, say labelled=True)",
)
LABELLED_ARCS = axes(
    "n+1 n+1 n_labels", "as labelled=True says, with the root as row 0; -inf for what cannot be"
)


Heads: TypeAlias = IntArray | Any
"""The heads of the words; with labels (heads, labels)."""


class Tree(Distribution[Values, Heads]):
    """p(tree) proportional to exp(sum over words of arcs[head, word]); subclasses say which trees.

    Parameters
    ----------
    arcs
        Scores [head, modifier] of shape (n+1, n+1) with the root as row 0; where `labelled`,
        (n+1, n+1, n_labels). Column 0 and the diagonal are ignored, whatever is there. A batch is a
        list of such arrays, or one padded array with a leading axis, (B, N+1, N+1) or
        (B, N+1, N+1, n_labels).
    single_root
        Whether exactly one word hangs on the root; else one or more.
    labelled
        Whether arcs have labels, along the last axis. Three axes without it are a batch.
    n_words
        Number of words of each row of a padded array; all N if left out.
    mask
        Or which words of a padded array are there, booleans (B, N). A word that is not there is
        no head and has none, wherever it stands; heads count the words of the array.

    A structure is its heads, (n,), with heads[i] the head of word i + 1 and 0 the root; labelled,
    a tuple (heads, labels). In `score` and `log_prob`, heads that are no tree of the set (a cycle,
    a second root under `single_root`) are an error; a tree with a forbidden arc gives -inf.
    """

    structures: Trees
    kind: ClassVar[type[Trees]]
    """The set of trees."""

    def __init__(
        self,
        arcs: Any,
        single_root: bool = False,
        *,
        labelled: bool = False,
        n_words: "ArrayLike | None" = None,
        mask: "ArrayLike | None" = None,
    ) -> None:
        shape = LABELLED_ARCS if labelled else ARCS
        form, lengths, sizes = recognise((("arcs", arcs, shape),), n_words, mask)
        if single_root is not True and single_root is not False:
            single_root = _one_or_many(single_root)
        trees = made_once(_trees, lengths, self.kind, sizes.get("n_labels"), single_root)
        super().__init__(trees, form, arcs)

    def pair_marginals(self, *, labelled: bool = False) -> Values:
        """p(both arcs), indexed [head, modifier, head2, modifier2]; a list for a batch.

        Twice the same arc gives its marginal; two heads of one word give 0. Of labelled arcs the
        labels are summed first, unless `labelled`: [head, modifier, label, head2, modifier2,
        label2]. The size is (n+1)⁴, times n_labels² with labels.

        >>> from partita import SpanningTree
        >>> pairs = SpanningTree(np.zeros((3, 3))).pair_marginals()
        >>> round(float(pairs[0, 1, 0, 2]), 9)  # both words hang on the root, in one tree of three
        0.333333333
        """
        trees, p = self.structures, self.certain
        if labelled:
            if trees.n_labels is None:
                raise ValueError(
                    "labelled pairs were asked of arcs without labels; leave labelled=True out, or "
                    "make the distribution with labelled=True."
                )
            found = zip(
                trees.covariance(p.scores, p.inference),
                trees.split(p.inference.marginals),
                strict=True,
            )
            return self._form.one_or_list([_labelled_pairs(*each) for each in found])
        _, inference = trees.arc_inference(p.scores, p.inference)
        pairs = [
            arc_pairs(covariance, marginals)
            for covariance, marginals in zip(
                trees.arc_covariance(p.scores, p.inference),
                trees.split_arcs(inference.marginals),
                strict=True,
            )
        ]
        return self._form.one_or_list(pairs)


def _trees(n_words: IntArray, kind: type[Trees], n_labels: int | None, single_root: bool) -> Trees:
    return kind(n_words, n_labels, single_root=single_root)


def _one_or_many(single_root: Any) -> bool:
    """A caller's yes or no that is none of Python's."""
    if not isinstance(single_root, np.bool_):
        raise ValueError(
            f"single_root is {single_root!r}; expected True or False. Lengths go by n_words=..., "
            "labels by labelled=True."
        )
    return bool(single_root)


def arc_pairs(covariance: FloatArray, marginals: FloatArray) -> FloatArray:
    """p(a and b) = Cov[a, b] + p(a) p(b), exact for the arcs of one word."""
    n_nodes = len(marginals)
    flat = marginals.ravel()
    pairs: FloatArray = (covariance + np.outer(flat, flat)).reshape((n_nodes,) * 4)
    heads, words = np.arange(n_nodes), np.arange(n_nodes)
    # A word has one head: its arcs exclude each other, and each is certain given itself.
    pairs[:, words, :, words] = 0.0
    pairs[heads[:, None], words, heads[:, None], words] = marginals
    return pairs


def _labelled_pairs(covariance: FloatArray, marginals: FloatArray) -> FloatArray:
    """The same for arcs with labels, of which a word has one."""
    flat, shape = marginals.ravel(), marginals.shape
    pairs: FloatArray = (covariance + np.outer(flat, flat)).reshape(shape + shape)
    words = np.arange(len(marginals))
    pairs[:, words, :, :, words] = 0.0
    parts = np.arange(flat.size)
    pairs.reshape(flat.size, flat.size)[parts, parts] = flat
    return pairs
