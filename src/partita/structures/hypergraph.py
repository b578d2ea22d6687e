"""Hypergraphs: nodes, and edges that lead from a sequence of tails to a head."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, IntArray
from partita.kernels.forests import order as forest_order
from partita.structures.batch import is_whole

MOST_NODES = 2**31
"""More nodes than a forest in memory has; a larger number is a mistake in the numbering."""
MOST_NAMED = 50
"""How many nodes of a cycle an error message lists."""
ASCENDING = np.arange(2**12)
"""The order of the nodes of small forests, made once: they take some microseconds altogether."""
ASCENDING.setflags(write=False)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Hypergraph:
    """Edges `heads[e] <- tails[e]` between nodes, without a cycle, and a root.

    Parameters
    ----------
    heads
        The head of each edge: a node, a whole number from 0 on.
    tails
        For each edge the sequence of its tails. A node may occur several times in it; an edge
        with no tails is an axiom.
    root
        The node that is derived; an edge must lead to it.

    A derivation of a node is an edge into it, with a derivation of each of its tails in turn. A
    node that no edge leads to has no derivation. Construction costs O(nodes + edges + tails), a
    million edges some 20 milliseconds by `from_flat`; stars are found when they are first asked
    for. Arrays cannot be written to.

    >>> forest = Hypergraph(heads=[0, 1, 2, 2], tails=[(), (0,), (0, 1), (1, 1)], root=2)
    >>> forest
    Hypergraph(n_nodes=3, n_edges=4, root=2)
    >>> forest.backward_star(2), forest.forward_star(1)
    (array([2, 3]), array([2, 3, 3]))
    >>> forest.tails(3), forest.order
    (array([1, 1]), array([0, 1, 2]))
    """

    heads: IntArray
    """Head of each edge, (n_edges,)."""
    tails_flat: IntArray
    """Tails of all edges, end to end."""
    tail_offsets: IntArray
    """The tails of edge e are `tails_flat[tail_offsets[e] : tail_offsets[e + 1]]`."""
    root: int
    n_nodes: int
    order: IntArray
    """All nodes, tails before heads; ascending where the caller's numbers allow it."""

    def __init__(self, heads: "ArrayLike", tails: "Sequence[ArrayLike]", root: int) -> None:
        counts, tails_flat = _joined(tails)
        heads = _nodes("heads", heads)
        tail_offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        largest = max(int(nodes.max(initial=0)) for nodes in (heads, tails_flat))
        self._build(heads, tails_flat, tail_offsets, root, largest + 1)

    @classmethod
    def from_flat(
        cls,
        heads: "ArrayLike",
        tails_flat: "ArrayLike",
        tail_offsets: "ArrayLike",
        root: int,
        n_nodes: int,
    ) -> Self:
        """Edge e has the tails `tails_flat[tail_offsets[e] : tail_offsets[e + 1]]`.

        The fast way: no Python object per edge. The arrays are checked and copied.

        >>> Hypergraph.from_flat([0, 1], [0, 0], [0, 0, 2], root=1, n_nodes=2).tails(1)
        array([0, 0])
        """
        hypergraph = cls.__new__(cls)
        hypergraph._build(
            _whole_numbers("heads", heads),
            _whole_numbers("tails_flat", tails_flat),
            _whole_numbers("tail_offsets", tail_offsets),
            root,
            n_nodes,
        )
        return hypergraph

    @classmethod
    def from_kernel(
        cls,
        heads: IntArray,
        tails_flat: IntArray,
        tail_offsets: IntArray,
        root: int,
        n_nodes: int,
        *,
        is_ascending: bool = False,
    ) -> Self:
        """As `from_flat`, for arrays that a kernel of ours has just made.

        They are neither checked nor copied, and cannot be written to any more. `is_ascending` if
        the kernel sees to it that tails have smaller numbers than heads.

        >>> heads, tails, offsets = np.array([0, 1]), np.array([0, 0]), np.array([0, 0, 2])
        >>> Hypergraph.from_kernel(heads, tails, offsets, root=1, n_nodes=2)
        Hypergraph(n_nodes=2, n_edges=2, root=1)
        """
        hypergraph = cls.__new__(cls)
        hypergraph._finish(heads, tails_flat, tail_offsets, root, n_nodes, is_ascending)
        return hypergraph

    def __reduce__(self) -> tuple[Any, ...]:
        shape = (self.heads, self.tails_flat, self.tail_offsets, self.root, self.n_nodes)
        return type(self).from_flat, shape

    def __repr__(self) -> str:
        return f"Hypergraph(n_nodes={self.n_nodes}, n_edges={self.n_edges}, root={self.root})"

    @property
    def n_edges(self) -> int:
        """Number of edges.

        >>> Hypergraph([0, 1], [(), (0, 0)], root=1).n_edges
        2
        """
        return len(self.heads)

    @property
    def backward_offsets(self) -> IntArray:
        """Node v: the edges `backward_edges[backward_offsets[v] : backward_offsets[v + 1]]`.

        >>> forest = Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
        >>> forest.backward_offsets, forest.backward_edges
        (array([0, 2, 3]), array([0, 1, 2]))
        """
        return self._backward[0]

    @property
    def backward_edges(self) -> IntArray:
        """See `backward_offsets`."""
        return self._backward[1]

    @property
    def forward_offsets(self) -> IntArray:
        """Node v: the edges `forward_edges[forward_offsets[v] : forward_offsets[v + 1]]`.

        >>> forest = Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
        >>> forest.forward_offsets, forest.forward_edges  # edge 2 has node 0 in its tails twice
        (array([0, 2, 2]), array([2, 2]))
        """
        return self._forward[0]

    @property
    def forward_edges(self) -> IntArray:
        """See `forward_offsets`."""
        return self._forward[1]

    def tails(self, edge: int) -> IntArray:
        """The tails of an edge, in order."""
        edge = _index("edge", edge, self.n_edges)
        return self.tails_flat[self.tail_offsets[edge] : self.tail_offsets[edge + 1]]

    def siblings(self, edge: int, place: int) -> IntArray:
        """The other tails of an edge, beside the one at a place; a node may be its own sibling.

        >>> Hypergraph([0, 1, 2], [(), (0,), (0, 1, 0)], root=2).siblings(2, 0)
        array([1, 0])
        """
        tails = self.tails(edge)
        if len(tails) == 0:
            raise ValueError(
                f"edge {edge} has no tails; expected one with two, whose siblings are."
            )
        return np.delete(tails, _index("place", place, len(tails)))

    def backward_star(self, node: int) -> IntArray:
        """The edges whose head is the node."""
        node = _index("node", node, self.n_nodes)
        return self.backward_edges[self.backward_offsets[node] : self.backward_offsets[node + 1]]

    def forward_star(self, node: int) -> IntArray:
        """The edges in whose tails the node is, once for each position that it has there."""
        node = _index("node", node, self.n_nodes)
        return self.forward_edges[self.forward_offsets[node] : self.forward_offsets[node + 1]]

    def has_same_edges(self, other: "Hypergraph") -> bool:
        """Whether the other has the same edges, in the same order, and the same root.

        >>> forest = Hypergraph([0, 1], [(), (0, 0)], root=1)
        >>> forest.has_same_edges(Hypergraph([0, 1], [(), (0,)], root=1))
        False
        """
        return self is other or (
            self.root == other.root
            and np.array_equal(self.heads, other.heads)
            and np.array_equal(self.tail_offsets, other.tail_offsets)
            and np.array_equal(self.tails_flat, other.tails_flat)
        )

    def pruned(self) -> tuple[Self, IntArray]:
        """The hypergraph of the edges that occur in a derivation of the root, and their indices.

        An edge is left out if a tail has no derivation, or if it cannot be reached from the root.
        The nodes that stay keep their order and are numbered anew without gaps.

        >>> forest = Hypergraph([0, 1, 3, 3], [(), (0,), (1, 0), (2,)], root=3)  # 2 is never made
        >>> forest.pruned()
        (Hypergraph(n_nodes=3, n_edges=3, root=2), array([0, 1, 2]))
        """
        kept = np.flatnonzero(self.alive_edges())
        if kept.size == 0:
            raise ValueError(
                f"the root {self.root} has no derivation: every edge into it needs, further down, "
                "a node that no edge leads to. Add axioms (edges without tails) for the leaves, or "
                "leave this forest out."
            )
        starts, ends = self.tail_offsets[kept], self.tail_offsets[kept + 1]
        counts = ends - starts
        offsets = np.concatenate([[0], np.cumsum(counts)])
        positions = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], counts)
        heads, tails_flat = self.heads[kept], self.tails_flat[positions]
        is_kept = np.zeros(self.n_nodes, dtype=np.bool_)
        is_kept[heads] = True  # an alive tail is productive, so it is an alive head too
        number = np.cumsum(is_kept) - 1
        pruned = self.from_flat(
            number[heads], number[tails_flat], offsets, int(number[self.root]), int(is_kept.sum())
        )
        return pruned, kept

    def alive_edges(self) -> BoolArray:
        """Whether each edge occurs in a derivation of the root, (n_edges,).

        >>> Hypergraph(
        ...     [0, 1, 3, 3], [(), (0,), (1, 0), (2,)], root=3
        ... ).alive_edges()  # 2 is never made
        array([ True,  True,  True, False])
        """
        alive: BoolArray = forest_order.alive_edges(
            self.tails_flat,
            self.tail_offsets,
            self.backward_offsets,
            self.backward_edges,
            self.order,
            self.root,
        )
        return alive

    def _build(
        self, heads: IntArray, tails_flat: IntArray, tail_offsets: IntArray, root: int, n_nodes: int
    ) -> None:
        n_nodes = _index("n_nodes", n_nodes, MOST_NODES + 1)
        if not forest_order.is_sound(heads, tails_flat, tail_offsets, n_nodes):
            _refuse_shape(heads, tails_flat, tail_offsets, n_nodes)
        self._finish(heads, tails_flat, tail_offsets, _checked_root(root, heads, n_nodes), n_nodes)

    def _finish(
        self,
        heads: IntArray,
        tails_flat: IntArray,
        tail_offsets: IntArray,
        root: int,
        n_nodes: int,
        is_ascending: bool = False,
    ) -> None:
        """Order the nodes."""
        fields = vars(self)  # frozen, but not yet: this is its beginning
        fields.update(
            heads=heads,
            tails_flat=tails_flat,
            tail_offsets=tail_offsets,
            root=root,
            n_nodes=n_nodes,
        )
        if is_ascending or forest_order.is_ascending(heads, tails_flat, tail_offsets):
            order = ASCENDING[:n_nodes] if n_nodes <= len(ASCENDING) else np.arange(n_nodes)
        else:
            order = forest_order.topological_order(heads, tail_offsets, *self._forward)
        if len(order) < n_nodes:
            _refuse_cycle(forest_order.find_cycle(tails_flat, tail_offsets, *self._backward, order))
        for array in (heads, tails_flat, tail_offsets, order):
            array.setflags(write=False)
        fields["order"] = order

    @cached_property
    def _backward(self) -> tuple[IntArray, IntArray]:
        return _frozen(forest_order.group(self.heads, self.n_nodes))

    @cached_property
    def _forward(self) -> tuple[IntArray, IntArray]:
        stars = forest_order.forward_stars(self.tails_flat, self.tail_offsets, self.n_nodes)
        return _frozen(stars)


def _frozen(arrays: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
    for array in arrays:
        array.setflags(write=False)
    return arrays


def _joined(tails: "Sequence[ArrayLike]") -> tuple[IntArray, IntArray]:
    """Number of tails of each edge, and the tails of all edges end to end."""
    for edge, nodes in enumerate(tails):
        if not hasattr(nodes, "__len__") or isinstance(nodes, str | bytes):
            raise ValueError(
                f"tails[{edge}] is {nodes!r}; expected a sequence of nodes, () for an axiom and "
                "(node,) for a single tail."
            )
    counts = np.fromiter((len(nodes) for nodes in tails), dtype=np.int64, count=len(tails))  # type: ignore[arg-type]
    return counts, _nodes("tails", list(chain.from_iterable(tails)))  # type: ignore[arg-type]


def _whole_numbers(name: str, values: "ArrayLike") -> IntArray:
    """A caller's whole numbers as a fresh int64 vector."""
    try:
        array: Array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is no sequence of whole numbers: {error}") from None
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} is an array of {array.dtype} of shape {array.shape}; expected a sequence of "
            "whole numbers. Convert floating point numbers with .astype(int)."
        )
    return array.astype(np.int64)


def _nodes(name: str, values: "ArrayLike") -> IntArray:
    """A caller's nodes: whole numbers from 0 on."""
    nodes = _whole_numbers(name, values)
    wrong = np.flatnonzero((nodes < 0) | (nodes >= MOST_NODES))
    if wrong.size:
        raise ValueError(
            f"{name} holds {nodes[wrong[0]]} (at place {wrong[0]} of all); expected nodes, "
            f"whole numbers from 0 to {MOST_NODES - 1}. Number the nodes from 0 without gaps."
        )
    return nodes


def _refuse_shape(
    heads: IntArray, tails_flat: IntArray, tail_offsets: IntArray, n_nodes: int
) -> None:
    """Say what `is_sound` found: lengths agree, offsets ascend, every node is below n_nodes."""
    _nodes("heads", heads)
    _nodes("tails_flat", tails_flat)
    if len(heads) == 0:
        raise ValueError(
            "no edges came; expected at least one, into the root. A forest without derivations has "
            "no hypergraph: leave the sentence out."
        )
    if len(tail_offsets) != len(heads) + 1:
        raise ValueError(
            f"there are {len(heads)} heads and tails of {len(tail_offsets) - 1} edges; expected "
            "one head and one (possibly empty) sequence of tails for each edge."
        )
    ascending = tail_offsets[0] == 0 and (np.diff(tail_offsets) >= 0).all()
    if not ascending or tail_offsets[-1] != len(tails_flat):
        raise ValueError(
            f"tail_offsets goes from {tail_offsets[0]} to {tail_offsets[-1]} for {len(tails_flat)} "
            "tails; expected it to start with 0, never to descend, and to end with the number of "
            "tails: np.concatenate([[0], np.cumsum(number of tails of each edge)])."
        )
    for name, nodes in (("heads", heads), ("tails_flat", tails_flat)):
        if nodes.max(initial=-1) >= n_nodes:
            place = int(nodes.argmax())
            raise ValueError(
                f"{name}[{place}] is {nodes[place]}; expected a node from 0 to {n_nodes - 1}, "
                f"since n_nodes is {n_nodes}. Give the number of all nodes."
            )


def _checked_root(root: int, heads: IntArray, n_nodes: int) -> int:
    """The root as a plain integer: a node that an edge leads to."""
    checked = _index("root", root, n_nodes)
    if not (heads == checked).any():
        raise ValueError(
            f"the root {root} is the head of no edge; expected the node whose derivations are "
            "meant. A forest without derivations has no hypergraph: leave the sentence out."
        )
    return checked


def _index(name: str, value: int, count: int) -> int:
    if not is_whole(value) or not 0 <= value < count:
        raise ValueError(f"{name} is {value!r}; expected a whole number from 0 to {count - 1}.")
    return int(value)


def _refuse_cycle(cycle: IntArray) -> None:
    nodes = [str(node) for node in cycle[:MOST_NAMED]]
    nodes.append(str(cycle[0]) if len(cycle) <= MOST_NAMED else f"... ({len(cycle)} nodes in all)")
    raise ValueError(
        f"the hypergraph has a cycle: {' <- '.join(nodes)} (each head followed by one of its "
        "tails); expected none, since its derivations would never end. Add to what a node "
        "stands for (a length, a span) until no node can derive itself."
    )
