"""Counts of keys from many parts of a corpus, brought together as they come."""

from collections.abc import Sequence

import numpy as np

from partita.text.extraction import KeyCounts


class MergedCounts:
    """The keys of each template with their counts, over all parts so far.

    Parts are kept until they are as long as what was merged before, so that every key is sorted
    O(log parts) times.

    >>> merged = MergedCounts()
    >>> merged.add([(np.array([2, 5]), np.array([1, 1]))])
    >>> merged.add([(np.array([5, 7]), np.array([2, 1]))])
    >>> merged.total()
    [(array([2, 5, 7]), array([1, 3, 1]))]
    """

    def __init__(self) -> None:
        self._merged: list[KeyCounts] = []
        self._waiting: list[list[KeyCounts]] = []

    def add(self, part: Sequence[KeyCounts]) -> None:
        """The counts of one more part."""
        if not self._merged:
            self._merged = list(part)
            self._waiting = [[] for _ in part]
            return
        for index, counts in enumerate(part):
            self._waiting[index].append(counts)
            if sum(len(keys) for keys, _ in self._waiting[index]) >= len(self._merged[index][0]):
                self._merge(index)

    def total(self) -> list[KeyCounts]:
        """All of them."""
        for index in range(len(self._merged)):
            self._merge(index)
        return self._merged

    def _merge(self, index: int) -> None:
        if not self._waiting[index]:
            return
        parts = [self._merged[index], *self._waiting[index]]
        keys, places = np.unique(np.concatenate([each for each, _ in parts]), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([each for _, each in parts]))
        self._merged[index], self._waiting[index] = (keys, counts), []
