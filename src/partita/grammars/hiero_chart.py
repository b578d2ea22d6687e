"""Charts of synchronous rules: every rule over every span, and the same for a given target."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from partita.arrays import IntArray
from partita.grammars.rule_arrays import RuleArrays, Sides, target_words
from partita.kernels.bitext import hiero_source, hiero_targets
from partita.structures.batch import offsets as offsets_of
from partita.structures.hypergraph import Hypergraph

FIRST_ROOM = 64
"""Edges for each span, at the first try."""
NOBODY = np.empty(0, dtype=np.int64)
"""No word has a second symbol."""


class Chart(NamedTuple):
    """The edges of all derivations, those into a node before those out of it."""

    heads: IntArray
    rule: IntArray
    tail_offsets: IntArray
    tails: IntArray
    symbols: IntArray
    """The nonterminal of each node."""
    spans: IntArray
    """First and last boundary of each node, on the source side, and of the target if it is given;
    (n_nodes, 2 or 4)."""
    root: int
    """The node of the whole sentence."""
    is_ascending: bool = False
    """Whether it is known that tails have smaller numbers than heads."""

    def hypergraph(self) -> Hypergraph:
        """The edges as a hypergraph."""
        shape = self.tails, self.tail_offsets, self.root, len(self.symbols)
        return Hypergraph.from_kernel(self.heads, *shape, is_ascending=self.is_ascending)


def parse_source(
    rules: RuleArrays, words: IntArray, longest_span: int | None, alone: IntArray | None = None
) -> Chart | None:
    """D(x): every rule over every span of a sentence; None if there is no derivation.

    `alone` has a second symbol for each word, -1 for none, that only a rule of one word sees.
    """
    n = len(words)
    longest = n if longest_span is None else longest_span
    others, room, n_nodes = NOBODY if alone is None else alone, FIRST_ROOM * (n + 1) ** 2, -1
    while n_nodes < 0:
        found, root, n_nodes, n_edges, n_tails = hiero_source.derive(
            words, others, rules.start, longest, rules.states, rules.words, rules.steps,
            rules.runs, rules.ends, rules.unary_order, room,
        )  # fmt: skip
        room *= 4
    if root < 0:
        return None
    offsets, symbols = 2 * n_edges, 3 * n_edges + 1
    spans = symbols + n_nodes
    tails = spans + 2 * n_nodes
    return Chart(
        found[:n_edges], found[n_edges:offsets], found[offsets:symbols],
        found[tails : tails + n_tails], found[symbols:spans],
        found[spans:tails].reshape(n_nodes, 2), root, True,
    )  # fmt: skip


def restrict(chart: Chart, targets: Sides, words: IntArray) -> Chart | None:
    """D(x, y): every node of D(x) split by the target words k .. l-1 that it derives.

    `targets` has the target side of each rule, in which -1 - p stands for tail p of its edges.
    """
    n, n_nodes = len(words), len(chart.symbols)
    room = 2 * len(chart.heads) + FIRST_ROOM
    while True:
        firsts, lasts = np.empty((2, n_nodes, n + 1), dtype=np.int64)
        chains = firsts, lasts, np.empty(room, dtype=np.int64)
        splits = np.empty((3, room), dtype=np.int64)
        edges, counts = _edges(room), np.zeros(3, dtype=np.int64)
        if hiero_targets.restrict(chart[:4], targets, words, chains, tuple(splits), edges, counts):
            break
        room *= 4
    node = splits[0, : counts[0]]
    spans = np.column_stack([chart.spans[node], splits[1, : counts[0]], splits[2, : counts[0]]])
    (whole,) = ((node == chart.root) & (spans[:, 2] == 0) & (spans[:, 3] == n)).nonzero()
    return _chart(edges, counts, chart.symbols[node], spans, whole[0] if len(whole) else -1)


def targets_of(chart: Chart, targets: Sides, derivations: Sequence[IntArray]) -> list[IntArray]:
    """The target words of derivations, each an array of edges, top-down and left to right."""
    starts = offsets_of(np.array([len(edges) for edges in derivations], dtype=np.int64))
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *derivations])
    return target_words(flat, starts, chart.rule, np.diff(chart.tail_offsets), targets)


def _edges(room: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Room for heads, rules, offsets of tails, and tails."""
    heads, rules = np.empty((2, room), dtype=np.int64)
    return heads, rules, np.empty(room + 1, dtype=np.int64), np.empty(2 * room, dtype=np.int64)


def _chart(
    edges: tuple[IntArray, IntArray, IntArray, IntArray],
    counts: IntArray,
    symbols: IntArray,
    spans: IntArray,
    root: int,
) -> Chart | None:
    """What can be reached from the root, if there is one."""
    if root < 0:
        return None
    number = np.empty(counts[0], dtype=np.int64)
    hiero_targets.prune(root, edges, counts, number)
    kept = (number >= 0).nonzero()[0]
    heads, rules, tail_offsets, tails = edges
    _, n, n_tails = counts.tolist()
    return Chart(
        heads[:n].copy(), rules[:n].copy(), tail_offsets[: n + 1].copy(), tails[:n_tails].copy(),
        symbols[kept], np.ascontiguousarray(spans[kept]), int(number[root]),
    )  # fmt: skip
