"""What the edges of every forest over a source sentence know: the words that they span."""

from abc import ABC
from functools import cached_property

from partita.arrays import IntArray
from partita.structures.hypergraph import Hypergraph


class SpannedEdges(ABC):
    """A hypergraph whose nodes have spans; an edge has that of its head."""

    hypergraph: Hypergraph
    node_spans: IntArray
    """First and last source boundary of each node; where there is a target also first and last
    target boundary, (n_nodes, 2 or 4)."""

    @cached_property
    def edge_spans(self) -> IntArray:
        """The span of each edge's head: as `node_spans`, a row per edge."""
        return self.node_spans[self.hypergraph.heads]

    @property
    def source_start(self) -> IntArray:
        """First source word of each edge."""
        return self.edge_spans[:, 0]

    @property
    def source_end(self) -> IntArray:
        """The place after the last source word of each edge."""
        return self.edge_spans[:, 1]
