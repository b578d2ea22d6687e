"""The forests of a bitext: D(x, y) and D_n(x) of every pair, built when needed, kept if small."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload

import numpy as np

from partita.arrays import IntArray
from partita.estimators.translation.sentences import SourceSentence
from partita.grammars.forest import EmptyForestError
from partita.grammars.source_parts import Topology
from partita.structures.tied_forests import TiedForest

BYTES_PER_EDGE = 100
"""Of a forest of a pair: a hypergraph, its layout and the parts."""
MOST_TOPOLOGY_BYTES = 2**30
"""Of the forests of sentences, one for each length."""


class EncodedPair(NamedTuple):
    """A source sentence, and its translation as numbers."""

    source: SourceSentence
    target: IntArray


@dataclass(eq=False)
class ForestCache:
    """Forests by length of the sentence, and of pairs until `most_bytes` are used.

    D_n(x) is the same for all sentences of a length, so it is kept as long as there is room.
    D(x, y) of a pair takes 2 milliseconds to build; those that came first are kept.
    """

    most_links: int
    most_insertions: int
    most_bytes: int = 2**30
    n_bytes: int = 0
    _topologies: dict[tuple[int, int], Topology] = field(default_factory=dict)
    _pairs: dict[int, tuple[EncodedPair, TiedForest]] = field(default_factory=dict)
    """By `id` of the pair, which is held so that no other can get its number."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __getstate__(self) -> dict[str, int]:
        """Without the forests, for copies, digests and other processes: they can be built again."""
        names = ("most_links", "most_insertions", "most_bytes")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def bounded(self, source: SourceSentence) -> TiedForest:
        """D_n(x)."""
        key = (source.parts.n_source, source.parts.longest)
        # One thread at a time, or each would build the same forest.
        with self._lock:
            topology = self._topologies.get(key)
            if topology is None:
                topology = Topology(*key, self.most_links, self.most_insertions)
                self._keep(key, topology)
        return source.parts.bounded(topology)

    def _keep(self, key: tuple[int, int], topology: Topology) -> None:
        """Room is made by giving up the forests of other lengths that came first."""
        self._topologies[key] = topology
        sizes = {each: BYTES_PER_EDGE * len(held.slots) for each, held in self._topologies.items()}
        while sum(sizes.values()) > MOST_TOPOLOGY_BYTES and len(sizes) > 1:
            first = next(iter(sizes))
            del sizes[first], self._topologies[first]

    def pair(self, pair: EncodedPair) -> TiedForest:
        """D(x, y); an `EmptyForestError` where it has no derivation."""
        held = self._pairs.get(id(pair))
        if held is not None:
            return held[1]
        forest = pair.source.parts.pair(pair.target)
        size = BYTES_PER_EDGE * len(forest.parts)
        if self.n_bytes + size <= self.most_bytes:
            self._pairs[id(pair)] = pair, forest
            self.n_bytes += size
        return forest

    def forget_pairs(self) -> None:
        """Give up the forests of pairs, which only training asks for again."""
        self._pairs.clear()
        self.n_bytes = 0

    def is_reachable(self, pair: EncodedPair) -> bool:
        """Whether the pair has a derivation."""
        if (pair.target < 0).any() or len(pair.target) > pair.source.parts.longest:
            return False
        try:
            forest = self.pair(pair)
        except EmptyForestError:
            return False
        scores = forest.edge_scores(np.zeros(forest.n_parts))
        reachable = bool(forest.forest.infer(scores).log_partition[0] > -np.inf)
        if not reachable and self._pairs.pop(id(pair), None) is not None:
            self.n_bytes -= BYTES_PER_EDGE * len(forest.parts)
        return reachable


class PairForests(Sequence[TiedForest]):
    """D(x, y) and D_n(x) of each pair in turn: the batch of `Neighbourhoods.pairs`."""

    def __init__(self, pairs: Sequence[EncodedPair], cache: ForestCache) -> None:
        self.pairs = tuple(pairs)
        self._cache = cache

    def __len__(self) -> int:
        return 2 * len(self.pairs)

    @overload
    def __getitem__(self, index: int) -> TiedForest: ...
    @overload
    def __getitem__(self, index: slice) -> list[TiedForest]: ...
    def __getitem__(self, index: int | slice) -> TiedForest | list[TiedForest]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        pair = self.pairs[index // 2]
        return self._cache.bounded(pair.source) if index % 2 else self._cache.pair(pair)
