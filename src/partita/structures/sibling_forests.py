"""Second-order projective trees as forests: in logarithms, for all that needs no great speed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, IntArray
from partita.kernels.siblings import parts as sibling_parts
from partita.structures.base import Structure
from partita.structures.forests import Forests
from partita.structures.hypergraph import Hypergraph
from partita.structures.part_arrays import PartArray
from partita.structures.step_structures import StepStructures
from partita.structures.tied_forests import TiedForest

RIGHT, LEFT, PAIR, ARC = range(4)
"""Kinds of nodes, as the charts of `kernels.siblings.scaled`."""


class SiblingForests(StepStructures):
    """All projective trees, with one part (head, inner sibling, modifier) for each word.

    The steps are the terms of the recursion in `kernels.siblings.scaled`: O(n³) of them.
    """

    one_per_word = True

    def __init__(self, n_words: ArrayLike, *, single_root: bool) -> None:
        super().__init__(n_words, [PartArray("siblings", 3, 1)], (single_root,))
        self.single_root = single_root

    def forest(self, n_words: int) -> TiedForest:
        """Edges from arrays of their ends, since a long sentence has a million of them."""
        width = n_words + 1
        n_parts = width**3

        def node(kind: int, i: IntArray, j: IntArray) -> IntArray:
            return (kind * width + i) * width + j

        def part(h: IntArray, s: IntArray, m: IntArray) -> IntArray:
            return (h * width + s) * width + m

        i, k, j = _in_order(width)
        edges: list[tuple[IntArray, list[IntArray], IntArray]] = []

        def add(which: BoolArray, head: IntArray, tails: list[IntArray], scored: IntArray) -> None:
            edges.append((head[which], [tail[which] for tail in tails], scored[which]))

        nothing = np.full(i.shape, n_parts)
        same, words, whole = np.arange(width), i > 0, (i == 0) & (j == n_words)
        for kind in (RIGHT, LEFT):
            edges.append((node(kind, same, same), [], np.full(width, n_parts)))
        under, over = (i < k) & (k <= j), (i <= k) & (k < j)
        add(
            under & (words | whole), node(RIGHT, i, j), [node(ARC, i, k), node(RIGHT, k, j)],
            nothing,
        )  # fmt: skip
        add(over & words, node(LEFT, i, j), [node(LEFT, i, k), node(ARC, j, k)], nothing)
        after = np.minimum(k + 1, n_words)
        add(over & words, node(PAIR, i, j), [node(RIGHT, i, k), node(LEFT, after, j)], nothing)
        # Without inner sibling: h = i < j = m, and its mirror image.
        first, wide = (k == i) & (i < j), (k == i) & (i < j) & words
        below, above = np.minimum(i + 1, n_words), np.maximum(j - 1, 0)
        add(first, node(ARC, i, j), [node(LEFT, below, j)], part(i, i, j))
        add(wide, node(ARC, j, i), [node(RIGHT, i, above)], part(j, j, i))
        between = (i < k) & (k < j)
        heads = between & words if self.single_root else between
        add(heads, node(ARC, i, j), [node(ARC, i, k), node(PAIR, k, j)], part(i, k, j))
        add(between & words, node(ARC, j, i), [node(PAIR, i, k), node(ARC, j, k)], part(j, k, i))
        sizes = np.concatenate([np.full(len(head), len(tails)) for head, tails, _ in edges])
        graph = Hypergraph.from_flat(
            np.concatenate([head for head, _, _ in edges]),
            np.concatenate([np.stack(tails, axis=1).ravel() for _, tails, _ in edges if tails]),
            np.concatenate([[0], np.cumsum(sizes)]),
            root=n_words,  # RIGHT of the root, as far as the last word.
            n_nodes=4 * width * width,
        )
        return TiedForest(
            Forests([graph]), np.concatenate([scored for _, _, scored in edges]), n_parts
        )

    def structure(self, n_words: int, *places: IntArray) -> Structure:
        """The head of each word."""
        head, _, modifier = places[0].T
        heads = np.empty(n_words, dtype=np.int64)
        heads[modifier - 1] = head
        return heads

    def places(self, n_words: int, structure: Structure, sentence: int) -> Sequence[ArrayLike]:
        """A part for each word."""
        return [sibling_places(np.asarray(structure, dtype=np.int64))]


def _in_order(width: int) -> tuple[IntArray, IntArray, IntArray]:
    """All i <= k <= j below a number, in order.

    >>> [axis.tolist() for axis in _in_order(2)]
    [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]]
    """
    i, k = np.triu_indices(width)
    n_behind = width - k
    starts = np.cumsum(n_behind) - n_behind
    j = np.arange(n_behind.sum()) - np.repeat(starts - k, n_behind)
    return np.repeat(i, n_behind), np.repeat(k, n_behind), j


def sibling_places(heads: IntArray) -> IntArray:
    """Rows (head, inner sibling, modifier) of a tree, in the order of the words.

    >>> sibling_places(np.array([2, 0, 2, 2]))
    array([[2, 2, 1],
           [0, 0, 2],
           [2, 2, 3],
           [2, 3, 4]])
    """
    heads = np.ascontiguousarray(heads)
    inner = np.empty_like(heads)
    sibling_parts.inner_siblings(heads, np.empty(len(heads) + 1, dtype=np.int64), inner)
    return np.stack([heads, inner, np.arange(1, len(heads) + 1)], axis=1)
