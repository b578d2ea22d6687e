"""Distributions over projective dependency trees of the second order: arcs and siblings."""

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from partita.arrays import IntArray, Values
from partita.distribution.base import Distribution
from partita.distribution.trees import arc_pairs
from partita.structures.forms import recognise
from partita.structures.part_arrays import axes
from partita.structures.sibling_trees import SiblingTrees

ARCS = axes(
    "n+1 n+1",
    "a score for every head and modifier with the root as row 0; -inf for an arc that cannot be",
)
SIBLINGS = axes(
    "n+1 n+1 n+1",
    "a score for every head, inner sibling (or the head again) and modifier; -inf for what cannot "
    "be",
)


class SiblingParts(NamedTuple):
    """Something for every part: marginals, gradients or directions."""

    arcs: Values
    """[head, modifier], (n+1, n+1)."""
    siblings: Values
    """[head, inner, modifier], (n+1, n+1, n+1)."""


class SiblingTree(Distribution[SiblingParts, IntArray]):
    """p(tree) proportional to exp(sum over words of arcs[h, m] + siblings[h, s, m]), projective.

    The inner sibling s of a word m is the next modifier of its head h towards it, on the same side;
    where m is the nearest one, s = h. So scores may depend on which modifiers stand side by side:
    one subject, an object before a place (McDonald & Pereira 2006). Log-partition and marginals
    cost O(n³), the covariance product about twice as much.

    Parameters
    ----------
    arcs
        Scores [head, modifier], (n+1, n+1), with the root as row 0. Column 0 and the diagonal are
        ignored, whatever is there. A batch is a list of such arrays, or one padded array with a
        leading axis, (B, N+1, N+1).
    siblings
        Scores [head, inner, modifier], (n+1, n+1, n+1), in the same form. Cells in which `inner`
        is not the head, nor between it and the modifier, are ignored.
    single_root
        Whether exactly one word hangs on the root; else one or more.
    n_words
        Number of words of each row of a padded array; all N if left out.
    mask
        Or which words of a padded array are there, booleans (B, N).

    A structure is its heads, (n,), with heads[i] the head of word i + 1 and 0 the root. In `score`
    and `log_prob`, heads that are no projective tree are an error.

    >>> import numpy as np
    >>> p = SiblingTree(np.zeros((4, 4)), np.zeros((4, 4, 4)))  # John saw Mary
    >>> float(np.exp(p.log_partition).round(9))
    12.0
    >>> siblings = np.zeros((4, 4, 4))
    >>> siblings[0, 1:] = -np.inf  # the root has no two modifiers: no inner sibling
    >>> q = SiblingTree(np.zeros((4, 4)), siblings)
    >>> float(np.exp(q.log_partition).round(9))
    7.0
    >>> round(float(q.marginals.siblings[1, 2, 3]), 3)  # saw and Mary both hang on John
    0.143
    """

    structures: SiblingTrees
    parts_type = SiblingParts

    def __init__(
        self,
        arcs: Any,
        siblings: Any,
        single_root: bool = False,
        *,
        n_words: "ArrayLike | None" = None,
        mask: "ArrayLike | None" = None,
    ) -> None:
        given = [("arcs", arcs, ARCS), ("siblings", siblings, SIBLINGS)]
        form, lengths, _ = recognise(given, n_words, mask)
        super().__init__(SiblingTrees(lengths, single_root=single_root), form, arcs, siblings)

    def pair_marginals(self) -> Values:
        """p(both arcs), indexed [head, modifier, head2, modifier2]; a list for a batch.

        Twice the same arc gives its marginal; two heads of one word give 0. The size is (n+1)⁴,
        the cost O(n⁵).

        >>> import numpy as np
        >>> pairs = SiblingTree(np.zeros((3, 3)), np.zeros((3, 3, 3))).pair_marginals()
        >>> round(float(pairs[0, 1, 0, 2]), 9)  # both words hang on the root, in one tree of three
        0.333333333
        """
        trees, p = self.structures, self.certain
        found = zip(
            trees.arc_covariance(p.scores, p.inference),
            trees.split_arrays(p.inference.marginals)[0],
            strict=True,
        )
        return self._form.one_or_list([arc_pairs(*each) for each in found])
