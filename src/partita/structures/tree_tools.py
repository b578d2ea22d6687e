"""Dependency trees as plain heads: is it a tree, do its arcs cross, which trees are there.

heads[i] is the head of word i + 1, and 0 is the root.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import IntArray

Arc = tuple[int, int]
"""(head, modifier)."""


def is_tree(heads: ArrayLike, *, single_root: bool = False) -> bool:
    """Whether every word descends from the root; with `single_root`, through one word.

    >>> is_tree([2, 0, 2]), is_tree([2, 1, 2])  # John and saw are each other's heads
    (True, False)
    >>> is_tree([0, 0, 2]), is_tree([0, 0, 2], single_root=True)
    (True, False)
    """
    heads = np.asarray(heads)
    in_range = bool(((0 <= heads) & (heads <= heads.size)).all())
    if not in_range or find_cycle(heads):
        return False
    return not single_root or int((heads == 0).sum()) == 1


def find_cycle(heads: ArrayLike) -> list[int]:
    """The words of a cycle, each followed by its head; empty for a tree.

    >>> find_cycle([2, 3, 1, 0]), find_cycle([1]), find_cycle([0, 1])
    ([1, 2, 3], [1], [])
    """
    parents = [0, *np.asarray(heads).tolist()]
    # The walk that first met a node; the root is met by none, and ends them all.
    met = [0] * len(parents)
    for start in range(1, len(parents)):
        word = start
        while word != 0 and met[word] == 0:
            met[word] = start
            word = parents[word]
        if word != 0 and met[word] == start:
            cycle = [word]
            while parents[cycle[-1]] != word:
                cycle.append(parents[cycle[-1]])
            return cycle
    return []


def crossing_arcs(heads: ArrayLike) -> list[tuple[Arc, Arc]]:
    """The pairs of arcs that cross when all are drawn above the words, the root at the left.

    Arcs are (head, modifier), in the order of their modifiers.

    >>> crossing_arcs([2, 0, 2])
    []
    >>> crossing_arcs([3, 4, 0, 3])
    [((3, 1), (4, 2)), ((4, 2), (0, 3))]
    """
    heads = np.asarray(heads)
    words = np.arange(1, heads.size + 1)
    left, right = np.minimum(heads, words), np.maximum(heads, words)
    # Whether the second arc starts under the first and ends behind it.
    leaves = (left[:, None] < left) & (left < right[:, None]) & (right[:, None] < right)
    arcs = list(zip(heads.tolist(), words.tolist(), strict=True))
    return [(arcs[a], arcs[b]) for a, b in np.argwhere(np.triu(leaves | leaves.T)).tolist()]


def is_projective(heads: ArrayLike) -> bool:
    """Whether the heads are a tree no two of whose arcs cross.

    >>> is_projective([2, 0, 2]), is_projective([3, 4, 0, 3])
    (True, False)
    """
    return is_tree(heads) and not crossing_arcs(heads)


def all_trees(
    n_words: int, *, projective: bool = False, single_root: bool = False
) -> Iterator[IntArray]:
    """Every tree of a short sentence, in lexicographic order of the heads.

    There are (n+1)^(n-1) of them, n^(n-1) with a single root; of *John saw Mary*:

    >>> len(list(all_trees(3))), len(list(all_trees(3, single_root=True)))
    (16, 9)
    >>> len(list(all_trees(3, projective=True)))
    12
    >>> len(list(all_trees(3, projective=True, single_root=True)))
    7
    """
    if n_words < 1:
        raise ValueError(f"n_words is {n_words}; expected at least 1: no words have no tree.")
    for index in np.ndindex(*(n_words + 1,) * n_words):
        heads = np.array(index, dtype=np.int64)
        if is_tree(heads, single_root=single_root) and not (projective and crossing_arcs(heads)):
            yield heads
