"""Classes of words that stand beside the same words, learnt from text alone, and a tree of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.kernels.classes import exchange as exchanges
from partita.kernels.classes import tree as trees
from partita.structures.batch import offsets
from partita.text.columns import Column

SMALL = 2**16
"""n log n is looked up below this, and computed from here on."""
FEW = 1000
"""A run ends when a pass moves less than one word in this many."""


@dataclass(frozen=True)
class NeighbourClasses:
    """A class for every different word, and a path of 0 and 1 in a tree for every class."""

    classes: IntArray
    """(n_values,): the class of each different word."""
    paths: tuple[str, ...]
    """Of each class; classes that are alike begin alike."""
    gains: FloatArray
    """The log-likelihood of the text, but for a constant, before the first pass and after each."""


def neighbour_classes(
    words: Column,
    n_words: IntArray,
    n_classes: int,
    *,
    max_passes: int,
    rng: np.random.Generator | None = None,
    watch: Callable[[int, int], None] = lambda n_passes, n_moved: None,
) -> NeighbourClasses:
    """Classes of the words of sentences, (n_sentences,) `n_words` each, that make bigrams likely.

    See `kernels.classes.exchange`. The most frequent words have a class each at first, and all
    others the last one; with `rng` each word has one by chance. A pass costs O(different pairs of
    neighbours x classes), the tree O(classes^3). After every pass `watch` gets its number, and how
    many words moved.

    >>> words = Column.of("a dog sleeps a cat sleeps a dog barks a cat barks".split())
    >>> found = neighbour_classes(words, np.full(4, 3), 3, max_passes=5)
    >>> dict(zip(words.values, found.classes.tolist()))
    {'a': 0, 'dog': 1, 'sleeps': 2, 'cat': 1, 'barks': 2}
    """
    n_values = len(words.values)
    n_classes = min(n_classes, n_values)
    text = _with_boundaries(words.numbers, n_words, n_values)
    sizes = np.bincount(text[1:], minlength=n_values + 1)
    pairs, counts = np.unique(text[:-1] * (n_values + 1) + text[1:], return_counts=True)
    left, right = np.divmod(pairs, n_values + 1)
    order = np.argsort(-sizes[:n_values], kind="stable")
    classes = _first_classes(order, n_classes, rng)
    found = _counted(classes, left, right, counts, sizes, n_classes)
    terms = _information(np.arange(SMALL))
    behind, ahead = _neighbours(left, right, counts), _neighbours(right, left, counts)
    room = [exchanges.Beside(*np.zeros((2, n_classes + 1), dtype=np.int64)) for _ in range(2)]
    gains = [_likelihood(found)]
    for n_passes in range(1, max_passes + 1):
        n_moved = exchanges.exchange(
            order, behind, ahead, sizes, classes, found, *room, terms, np.empty(n_classes)
        )
        gains.append(_likelihood(found))
        watch(n_passes, n_moved)
        if n_moved * FEW < n_values:
            break
    paths = tree_paths(found, n_classes)
    return NeighbourClasses(classes[:n_values], paths, np.array(gains))


def tree_paths(counts: exchanges.ClassCounts, n_classes: int) -> tuple[str, ...]:
    """The path of each class in the tree of mergers; `counts` are changed."""
    mergers = np.zeros((max(n_classes - 1, 0), 2), dtype=np.int64)
    is_there = np.ones(n_classes + 1, dtype=np.bool_)
    room = np.zeros((n_classes, n_classes))
    trees.merge(counts, _information(np.arange(SMALL)), is_there, room, mergers)
    return paths_of(mergers.tolist(), n_classes)


def paths_of(mergers: Sequence[Sequence[int]], n_classes: int) -> tuple[str, ...]:
    """Paths from mergers (class, class that joins it), the last of which is the root.

    >>> paths_of([(0, 2), (0, 1)], 3)
    ('00', '1', '01')
    """
    paths = [""] * n_classes
    for one, other in reversed(mergers):
        paths[one], paths[other] = paths[one] + "0", paths[one] + "1"
    return tuple(paths)


def _with_boundaries(numbers: IntArray, n_words: IntArray, boundary: int) -> IntArray:
    """The words of all sentences with a boundary before each, and one at the end."""
    text = np.insert(numbers, offsets(n_words[n_words > 0])[:-1], boundary)
    return np.append(text, boundary)


def _first_classes(order: IntArray, n_classes: int, rng: np.random.Generator | None) -> IntArray:
    """A class for each word; the boundary, the last word, has one of its own."""
    classes = np.full(len(order) + 1, n_classes, dtype=np.int64)
    if rng is None:
        classes[order] = np.minimum(np.arange(len(order)), n_classes - 1)
    else:
        classes[:-1] = rng.integers(n_classes, size=len(order))
    return classes


def _neighbours(ones: IntArray, others: IntArray, counts: IntArray) -> exchanges.Neighbours:
    """Of each word the others beside it."""
    order = np.argsort(ones, kind="stable")
    n_values = max(int(ones.max()), int(others.max())) + 1
    firsts = np.searchsorted(ones[order], np.arange(n_values + 1))
    return exchanges.Neighbours(firsts, others[order], counts[order])


def _counted(
    classes: IntArray,
    left: IntArray,
    right: IntArray,
    counts: IntArray,
    sizes: IntArray,
    n_classes: int,
) -> exchanges.ClassCounts:
    """How often classes occur, and follow each other."""
    after = np.zeros((n_classes + 1, n_classes + 1), dtype=np.int64)
    np.add.at(after, (classes[left], classes[right]), counts)
    of_classes = np.zeros(n_classes + 1, dtype=np.int64)
    np.add.at(of_classes, classes, sizes)
    return exchanges.ClassCounts(after, np.ascontiguousarray(after.T), of_classes)


def _information(n: IntArray) -> FloatArray:
    """n log n."""
    return np.asarray(n * np.log(np.maximum(n, 1)), dtype=np.float64)


def _likelihood(counts: exchanges.ClassCounts) -> float:
    """What classes change of the log-likelihood of the text."""
    return float(_information(counts.after).sum() - 2 * _information(counts.sizes).sum())
