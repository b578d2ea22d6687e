"""Bracketed trees as the rows of binary ones that `ConstituencyTree` is about, and back again.

A phrase of more than two parts is cut from the left, (A b c d) into (A b (c d)), and the spans that
this adds have the label "". Phrases over the same words are one label, joined from the top down by
"+", as in "S+VP"; a word's label is that of the phrases over it alone, "" if there are none. Tags
are not part of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from partita.structures.phrase_trees import PhraseTree

# NumPy only where it is used: the command reads files' formats before it needs any array.
if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from partita.arrays import IntArray

NO_LABEL = ""
JOINT = "+"
Span = tuple[int, int, str]


def binary_spans(tree: PhraseTree) -> list[Span]:
    """First word, last word and label of all 2 n - 1 spans of the binary tree, from the top down.

    >>> from partita.data import parse_brackets
    >>> binary_spans(parse_brackets("(S (VP (V go) (P on) (R now)))")[0])
    [(0, 2, 'S+VP'), (0, 0, ''), (1, 2, ''), (1, 1, ''), (2, 2, '')]
    """
    found: list[Span] = []
    _collect(tree, 0, [], found)
    return found


def _collect(node: PhraseTree, first: int, above: list[str], found: list[Span]) -> int:
    """The spans of a phrase, under others over the same words; returns the word behind it."""
    if node.word is not None:
        found.append((first, first, JOINT.join(above)))
        return first + 1
    if len(node.children) == 1:
        return _collect(node.children[0], first, [*above, node.label], found)
    opened, labels, start = [], JOINT.join([*above, node.label]), first
    for place, child in enumerate(node.children):
        if place < len(node.children) - 1:
            opened.append(len(found))
            found.append((start, start, labels if place == 0 else NO_LABEL))
        start = _collect(child, start, [], found)
    for place in opened:
        found[place] = (found[place][0], start - 1, found[place][2])
    return start


def span_labels(trees: Iterable[PhraseTree]) -> tuple[str, ...]:
    """All labels of the binary trees, "" first and then in the order of the alphabet.

    >>> from partita.data import parse_brackets
    >>> span_labels(parse_brackets("(S (VP (V go) (AP (R now))))"))
    ('', 'AP', 'S+VP')
    """
    found = {label for tree in trees for _, _, label in binary_spans(tree)}
    return (NO_LABEL, *sorted(found - {NO_LABEL}))


def binary_rows(tree: PhraseTree, numbers: Mapping[str, int]) -> "IntArray":
    """Rows (first, last, label), (2 n - 1, 3), as `ConstituencyTree` has them.

    >>> from partita.data import parse_brackets
    >>> binary_rows(parse_brackets("(S (N a) (V b))")[0], {"": 0, "S": 1}).tolist()
    [[0, 1, 1], [0, 0, 0], [1, 1, 0]]
    """
    import numpy as np

    return np.array([(first, last, numbers[label]) for first, last, label in binary_spans(tree)])


def bracketed(
    rows: "ArrayLike", labels: Sequence[str], words: Sequence[str], tags: Sequence[str]
) -> PhraseTree:
    """The tree of rows (first, last, label) from the top down, with its words and their tags.

    Where the top has no label it becomes "TOP", since a tree has one.

    >>> rows = [[0, 2, 1], [0, 0, 0], [1, 2, 0], [1, 1, 0], [2, 2, 2]]
    >>> print(bracketed(rows, ("", "S+VP", "AP"), ["go", "on", "now"], ["V", "P", "R"]))
    (S (VP (V go) (P on) (AP (R now))))
    """
    import numpy as np

    waiting = [(int(f), int(e), labels[int(number)]) for f, e, number in np.asarray(rows)][::-1]
    first, last, label = waiting[-1]
    waiting[-1] = first, last, label or "TOP"
    (tree,) = _below(waiting, words, tags)
    return tree


def _below(
    waiting: list[Span], words: Sequence[str], tags: Sequence[str]
) -> tuple[PhraseTree, ...]:
    """The constituents of the next span and all below it; several where it has no label."""
    first, last, label = waiting.pop()
    if first == last:
        found: tuple[PhraseTree, ...] = (PhraseTree(tags[first], (), words[first]),)
    else:
        found = _below(waiting, words, tags)
        found += _below(waiting, words, tags)
    for name in reversed(label.split(JOINT) if label else []):
        found = (PhraseTree(name, found),)
    return found
