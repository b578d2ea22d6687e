"""Pseudo-projective parsing (Nivre & Nilsson 2005): labels remember which arcs were lifted.

A tree whose arcs cross becomes projective when some words move up to an ancestor of their head
(`projective.nearest_projective`). The label of such a word gets that of the head it had, as in
`obj↑advcl`. A parser of projective trees learns both, and from a label with a mark its answer is
taken back down: to the first word below its head, level by level, that has the label behind the
mark.
"""

from collections.abc import Sequence

import numpy as np

from partita.arrays import IntArray

MARK = "↑"


def marked(heads: IntArray, lifted: IntArray, labels: Sequence[str]) -> tuple[str, ...]:
    """The labels of a tree, those of words that were lifted with a mark.

    >>> marked(np.array([3, 4, 0, 3]), np.array([3, 3, 0, 3]), ["det", "obj", "root", "advcl"])
    ('det', 'obj↑advcl', 'root', 'advcl')
    """
    return tuple(
        label if old == new else f"{label}{MARK}{labels[old - 1]}"
        for label, old, new in zip(labels, heads.tolist(), lifted.tolist(), strict=True)
    )


def lowered(heads: IntArray, labels: Sequence[str]) -> tuple[IntArray, list[str]]:
    """Heads and labels with all marks followed, where there is a word that they can mean.

    >>> lowered(np.array([3, 3, 0, 3]), ["det", "obj↑advcl", "root", "advcl"])
    (array([3, 4, 0, 3]), ['det', 'obj', 'root', 'advcl'])
    """
    parts = [label.partition(MARK) for label in labels]
    plain = [label for label, _, _ in parts]
    found = heads.copy()
    for word, (_, mark, wanted) in enumerate(parts, start=1):
        if mark:
            found[word - 1] = _first_below(found, plain, word, wanted)
    return found, plain


def _first_below(heads: IntArray, labels: Sequence[str], word: int, wanted: str) -> int:
    """The first word with a label below a word's head, not below the word; the head if none is.

    Level by level; on one level, that which stands nearest.
    """
    level = [int(heads[word - 1])]
    while level:
        below = np.flatnonzero(np.isin(heads, level)) + 1
        below = below[below != word]
        fitting: list[int] = [other for other in below.tolist() if labels[other - 1] == wanted]
        if fitting:
            return min(fitting, key=lambda other: abs(other - word))
        level = below.tolist()
    return int(heads[word - 1])
