"""The k best projective trees of one sentence, lazily: Huang & Chiang (2005), algorithm 3.

An item is a word with all that it governs on one side, or two such halves that meet under an arc.
It is made of two smaller items, in a way for each place to split it and each tree of either part.
The trees of an item are found in order, the next one only when it is asked for; every tree has
exactly one derivation, so none is found twice.
"""

import heapq
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.kernels.projective import log as eisner_log
from partita.kernels.projective.side_by_side import N_CHARTS

RIGHT, LEFT, PAIR = 0, 1, 2
Key = tuple[int, int, int]
"""Kind, first word and last word: the head of RIGHT is the first word, that of LEFT the last."""


class Way(NamedTuple):
    """One way to make an item: where to split it, and which trees of its two parts to take."""

    loss: float
    """Minus the score, so that the best way is the smallest."""
    split: int
    ranks: tuple[int, int]


class Item:
    """The trees of a span that were found so far, and the ways that may come next."""

    def __init__(self, found: list[Way], queue: list[Way]) -> None:
        self.found = found
        self.queue = queue
        heapq.heapify(queue)
        self.successors: list[tuple[int, tuple[int, int]]] = []
        """Splits and ranks that follow the last way found, not yet in the queue."""
        self.is_complete = not queue


class BestTrees:
    """The best trees of one sentence with scores [head, modifier], found one after the other."""

    def __init__(self, arcs: FloatArray, *, single_root: bool) -> None:
        self.n_words = len(arcs) - 1
        charts = np.empty((N_CHARTS, *arcs.shape))
        self.shift = eisner_log.best_charts(
            arcs.ravel(), self.n_words, single_root, charts.reshape(-1)
        )
        self.weight, self.right, self.left, self.arc = charts[:4]
        self.items: dict[Key, Item] = {}

    def first(self, k: int) -> list[tuple[IntArray, float]]:
        """The k best trees, best first, as heads and score; fewer if there are fewer."""
        whole = (RIGHT, 0, self.n_words)
        self.find(whole, k - 1)
        return [
            (self.heads(whole, rank), self.shift - way.loss)
            for rank, way in enumerate(self.items[whole].found[:k])
        ]

    def find(self, key: Key, rank: int) -> None:
        """Find the trees of an item up to `rank`, if there are so many.

        Each needs trees of smaller items first; these wait on a stack, not in recursive calls,
        since a long sentence nests deeply.
        """
        stack = [(key, rank)]
        while stack:
            key, rank = stack[-1]
            item = self.item(key)
            if len(item.found) > rank or item.is_complete:
                stack.pop()
                continue
            needed = self.queue_successors(key, item)
            if needed is not None:
                stack.append(needed)
            elif item.queue:
                way = heapq.heappop(item.queue)
                item.found.append(way)
                item.successors = successors(way)
            else:
                item.is_complete = True

    def queue_successors(self, key: Key, item: Item) -> tuple[Key, int] | None:
        """Queue what follows the last way found; returns a tree of a part that must come first."""
        while item.successors:
            split, ranks = item.successors[-1]
            own, *parts = self.parts(key, split)
            scores = []
            for part, rank in zip(parts, ranks, strict=True):
                smaller = self.item(part)
                if len(smaller.found) > rank:
                    scores.append(-smaller.found[rank].loss)
                elif not smaller.is_complete:
                    return part, rank
            if len(scores) == 2:
                heapq.heappush(item.queue, Way(-(own + scores[0] + scores[1]), split, ranks))
            item.successors.pop()
        return None

    def item(self, key: Key) -> Item:
        """An item, made at first use with the best way of each split, known from the chart."""
        if key not in self.items:
            kind, i, j = key
            if i == j:
                self.items[key] = Item([Way(0.0, i, (0, 0))], [])
            else:
                first = i + 1 if kind == RIGHT else i
                losses = -self.best_scores(kind, i, j)
                ways = [
                    Way(loss, first + k, (0, 0))
                    for k, loss in enumerate(losses.tolist())
                    if loss < np.inf
                ]
                self.items[key] = Item([], ways)
        return self.items[key]

    def best_scores(self, kind: int, i: int, j: int) -> FloatArray:
        """Score of the best tree of an item for each split: the terms of Eisner's recursion."""
        scores: FloatArray
        if kind == RIGHT:
            scores = self.arc[i, i + 1 : j + 1] + self.right[j, i + 1 : j + 1]
        elif kind == LEFT:
            scores = self.left[i, i:j] + self.arc[j, i:j]
        else:
            scores = self.right[i, i:j] + self.left[j, i + 1 : j + 1]
        return scores

    def parts(self, key: Key, split: int) -> tuple[float, Key, Key]:
        """The score of the arc at a split (0 for a pair) and the two parts of the item."""
        kind, i, j = key
        if kind == RIGHT:
            return float(self.weight[i, split]), (PAIR, i, split), (RIGHT, split, j)
        if kind == LEFT:
            return float(self.weight[j, split]), (PAIR, split, j), (LEFT, i, split)
        return 0.0, (RIGHT, i, split), (LEFT, split + 1, j)

    def heads(self, key: Key, rank: int) -> IntArray:
        """Heads of the tree of an item with a rank."""
        heads = np.zeros(self.n_words, dtype=np.int64)
        stack = [(key, rank)]
        while stack:
            key, rank = stack.pop()
            kind, i, j = key
            if i < j:
                # The best tree of a part may not have been asked for: the chart knew its score.
                self.find(key, rank)
                way = self.items[key].found[rank]
                if kind != PAIR:
                    heads[way.split - 1] = i if kind == RIGHT else j
                stack += zip(self.parts(key, way.split)[1:], way.ranks, strict=True)
        return heads


def successors(way: Way) -> list[tuple[int, tuple[int, int]]]:
    """The ways with the next tree of either part; the second part moves on with the first at 0.

    So every pair of ranks follows exactly one other.
    """
    first, second = way.ranks
    following = [(way.split, (first + 1, second))]
    if first == 0:
        following.append((way.split, (0, second + 1)))
    return following
