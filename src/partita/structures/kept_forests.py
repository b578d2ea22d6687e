"""Forests that batches share: built once, and kept while somebody has them, or they are few."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from weakref import WeakValueDictionary

from partita.structures.tied_forests import TiedForest

MOST_EDGES = 2**19
"""Of forests that are kept though nobody has them: some 40 MB."""


class KeptForests:
    """Forests by a key: those that are in use, and the last ones that were, up to `MOST_EDGES`.

    A parser asks batch after batch, whose sentences have the same few lengths; a forest takes
    longer to build than to search.
    """

    def __init__(self, most_edges: int = MOST_EDGES) -> None:
        self._most_edges = most_edges
        self._used: WeakValueDictionary[Hashable, TiedForest] = WeakValueDictionary()
        self._last: OrderedDict[Hashable, TiedForest] = OrderedDict()
        self._n_edges = 0
        """Of the last ones."""
        self._lock = Lock()

    def get(self, key: Hashable, build: Callable[[], TiedForest]) -> TiedForest:
        """The forest of a key, built if it is not there."""
        forest = self._used.get(key)
        if forest is None:
            # Outside the lock: two threads may build the same, and one of them is kept.
            forest = self._used.setdefault(key, build())
        if forest.hypergraph.n_edges <= self._most_edges:
            self._keep(key, forest)
        return forest

    def _keep(self, key: Hashable, forest: TiedForest) -> None:
        with self._lock:
            if key not in self._last:
                self._n_edges += forest.hypergraph.n_edges
            self._last[key] = forest
            self._last.move_to_end(key)
            while self._n_edges > self._most_edges:
                _, oldest = self._last.popitem(last=False)
                self._n_edges -= oldest.hypergraph.n_edges
