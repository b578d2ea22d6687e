"""Trees whose arcs cross, and the nearest ones whose arcs do not."""

import numpy as np

from partita.arrays import IntArray
from partita.distribution.projective_tree import ProjectiveTree
from partita.structures.tree_tools import is_projective


def may_be_projective(heads: IntArray) -> bool:
    """Whether some projective tree has the known heads (-1 where one is not known).

    >>> may_be_projective(np.array([3, 4, -1, -1]))
    False
    """
    known = heads >= 0
    if known.all():
        return is_projective(heads)
    if known.sum() < 2:
        return True
    return bool((_most_agreeing(heads, single_root=False) == heads)[known].all())


def nearest_projective(heads: IntArray, *, single_root: bool) -> IntArray:
    """The projective tree that needs the fewest steps of words up to their heads' heads.

    A tree whose arcs cross becomes projective when some words move to an ancestor of their head;
    the best choice of all is one run of Eisner's algorithm. A projective tree stays as it is. Where
    some heads are not known (-1), those that no projective tree has together with most of the
    others become unknown, too.

    >>> nearest_projective(np.array([3, 4, 0, 3]), single_root=True)
    array([3, 3, 0, 3])
    >>> nearest_projective(np.array([3, 4, -1, 3]), single_root=True)
    array([ 3, -1, -1,  3])
    """
    if (heads < 0).any():
        agreeing = _most_agreeing(heads, single_root=single_root)
        return np.where(agreeing == heads, heads, -1)
    n_words = len(heads)
    arcs = np.full((n_words + 1, n_words + 1), -np.inf)
    for word in range(1, n_words + 1):
        head, steps = int(heads[word - 1]), 0
        arcs[head, word] = 0.0
        while head != 0:
            head, steps = int(heads[head - 1]), steps + 1
            if head != 0 or not single_root:
                arcs[head, word] = -float(steps)
    best: IntArray = ProjectiveTree(arcs, single_root=single_root).argmax
    return best


def _most_agreeing(heads: IntArray, *, single_root: bool) -> IntArray:
    """The projective tree with the most of the known heads."""
    known = np.flatnonzero(heads >= 0)
    arcs = np.zeros((len(heads) + 1, len(heads) + 1))
    arcs[heads[known], known + 1] = 1.0
    best: IntArray = ProjectiveTree(arcs, single_root=single_root).argmax
    return best
