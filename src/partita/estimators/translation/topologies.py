"""The forests of sentences by their length, which all sentences of that length share."""

import threading
from dataclasses import dataclass, field
from typing import Any

from partita.grammars.source_parts import Topology

BYTES_PER_EDGE = 100
"""A hypergraph, its layout and the slots."""
MOST_BYTES = 2**30


@dataclass(eq=False)
class Topologies:
    """D_n(x) by the number of source words, kept as long as there is room; for several threads."""

    _held: dict[tuple[int, ...], Topology] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    def __getstate__(self) -> dict[str, Any]:
        """Nothing, for copies and other processes: forests can be built again."""
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._held, self._lock = {}, threading.Lock()

    def get(self, *shape: int) -> Topology:
        """The topology of a number of words, a longest target, and most links and insertions."""
        # One thread at a time, or each would build the same forest.
        with self._lock:
            if shape not in self._held:
                self._held[shape] = Topology(*shape)
                self._make_room()
            return self._held[shape]

    def _make_room(self) -> None:
        """Give up the forests of other lengths that came first."""
        sizes = {shape: BYTES_PER_EDGE * len(held.slots) for shape, held in self._held.items()}
        while sum(sizes.values()) > MOST_BYTES and len(sizes) > 1:
            first = next(iter(sizes))
            del sizes[first], self._held[first]
