"""Lattices end to end, as kernels visit them, and as hypergraphs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, IntArray
from partita.structures.batch import offsets
from partita.structures.forests import Forests
from partita.structures.hypergraph import Hypergraph
from partita.structures.lattices import WordLattice
from partita.structures.tied_forests import TiedForest

NOTHING = (-1, -1, -1)
"""The row of an edge that is no word."""


def lay_out(items: Sequence[Sequence[WordLattice]]) -> tuple[IntArray | BoolArray, ...]:
    """What the kernel wants: words of bundles, bundles of items, lattices, their arcs and states.

    Equal bundles of one item are summed once for all its lattices.
    """
    none = np.zeros(0, dtype=np.int64)
    lattices = [lattice for item in items for lattice in item]
    words: list[IntArray] = []
    arcs, n_bundles = [], []
    for item in items:
        numbers: dict[tuple[int, ...], int] = {}
        for lattice in item:
            own = [numbers.setdefault(bundle, len(numbers)) for bundle in lattice.bundles]
            rows = lattice.arcs.copy()
            rows[:, 2] = np.array(own, dtype=np.int64)[rows[:, 2]]
            arcs.append(rows)
        words += [np.array(bundle, dtype=np.int64) for bundle in numbers]
        n_bundles.append(len(numbers))
    return (
        np.concatenate([none, *words]),
        _ends([len(bundle) for bundle in words]),
        _ends(n_bundles),
        _ends([len(item) for item in items]),
        np.concatenate([np.zeros((0, 3), dtype=np.int64), *arcs]),
        _ends([len(rows) for rows in arcs]),
        np.concatenate([np.zeros(0, dtype=np.bool_), *(each.is_final for each in lattices)]),
        _ends([each.n_states for each in lattices]),
    )


def _ends(sizes: Sequence[int]) -> IntArray:
    return offsets(np.array(sizes, dtype=np.int64))


def item_forest(
    item: Sequence[WordLattice], n_choices: int, n_tags: int, ends: bool
) -> tuple[TiedForest, IntArray]:
    """The hypergraph of an item, and for each edge the row (lattice, word, tag) that it writes.

    Parts as in `LatticeChains`. The root has a tail for each lattice.
    """
    table = n_choices * n_tags + np.arange(n_tags**2).reshape(n_tags, n_tags)
    n_parts = n_choices * n_tags + n_tags**2 + (2 * n_tags if ends else 0)
    # An edge without a score has the part behind the last, see `TiedForest`.
    starts = (
        n_choices * n_tags + n_tags**2 + np.arange(n_tags) if ends else np.full(n_tags, n_parts)
    )
    stops = starts + n_tags if ends else starts
    edges = _LatticeEdges()
    finals = [
        _add_lattice(edges, index, lattice, table, starts, stops)
        for index, lattice in enumerate(item)
    ]
    return edges.forest(finals, n_parts)


def _add_lattice(
    edges: "_LatticeEdges",
    index: int,
    lattice: WordLattice,
    table: IntArray,
    starts: IntArray,
    stops: IntArray,
) -> int:
    """Add the edges of a lattice; returns the node of all its sentences.

    Nodes, for each state and tag: a word with the tag came last (F), and a word with the tag may
    come next (G). F[r, k] <- G[q, k] is a word, and G[q, k] <- F[q, j] a transition.
    """
    n_tags = len(table)
    tags, square = np.arange(n_tags), table.shape
    F = edges.nodes(lattice.n_states * n_tags).reshape(lattice.n_states, n_tags)
    G = edges.nodes(F.size).reshape(F.shape)
    final = int(edges.nodes(1)[0])
    edges.add(G[0], None, starts)
    for state in range(1, lattice.n_states):
        before = np.broadcast_to(F[state][:, np.newaxis], square)
        edges.add(np.broadcast_to(G[state], square), before, table)
        if lattice.is_final[state]:
            edges.add(np.full(n_tags, final), F[state], stops)
    for source, target, bundle in lattice.arcs.tolist():
        for word in lattice.bundles[bundle]:
            rows = np.column_stack([np.full(n_tags, index), np.full(n_tags, word), tags])
            edges.add(F[target], G[source], word * n_tags + tags, rows)
    return final


@dataclass
class _LatticeEdges:
    """Edges with at most one tail, and what each stands for, as they are found."""

    n_nodes: int = 0
    heads: list[IntArray] = field(default_factory=list)
    tails: list[IntArray] = field(default_factory=list)
    parts: list[IntArray] = field(default_factory=list)
    rows: list[IntArray] = field(default_factory=list)

    def nodes(self, count: int) -> IntArray:
        """New nodes."""
        self.n_nodes += count
        return np.arange(self.n_nodes - count, self.n_nodes)

    def add(
        self, heads: IntArray, tails: IntArray | None, parts: IntArray, rows: ArrayLike = NOTHING
    ) -> None:
        """Edges of the same shape; without tails they are axioms."""
        self.heads.append(heads.ravel())
        self.tails.append(np.full(heads.size, -1) if tails is None else tails.ravel())
        self.parts.append(parts.ravel())
        self.rows.append(np.broadcast_to(rows, (heads.size, 3)))

    def forest(self, finals: list[int], n_parts: int) -> tuple[TiedForest, IntArray]:
        """The forest of a root above the given nodes, and the row of each edge."""
        tails = np.concatenate(self.tails)
        n_tails = np.append(tails >= 0, len(finals)).astype(np.int64)
        graph = Hypergraph.from_flat(
            np.append(np.concatenate(self.heads), self.n_nodes),
            np.append(tails[tails >= 0], finals),
            offsets(n_tails),
            root=self.n_nodes,
            n_nodes=self.n_nodes + 1,
        )
        parts = np.append(np.concatenate(self.parts), n_parts)
        return TiedForest(Forests([graph]), parts, n_parts), np.concatenate([*self.rows, [NOTHING]])
