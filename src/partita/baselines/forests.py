"""The pseudo-code of Aziz's slides on hypergraphs (seed 004) in plain Python, with its corrections.

Corrected: outside starts at the root only; siblings are tail positions, not nodes; axioms are
edges with an empty tail, and a node without edges is worth zero; a cycle is an error; expected
features are weighted by the edge and divided by the root's inside. Not in the slides: the
covariance product, by the same algorithms in the expectation semiring, and lazy k-best lists (Huang
and Chiang, 2005). Recursive where the slides are.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from functools import cached_property

from partita.baselines.semirings import Expectation, Log, Mean, Probability, Semiring, Value
from partita.structures.hypergraph import Hypergraph


class PlainForest:
    """Edges `heads[e] <- tails[e]` with the backward and the forward star of every node.

    >>> PlainForest([0, 0, 1], [(), (), (0, 0)], root=1).order
    [0, 1]
    """

    def __init__(self, heads: Sequence[int], tails: Sequence[Sequence[int]], root: int) -> None:
        self.heads, self.tails, self.root = heads, tails, root
        self.n_nodes = 1 + max(root, *heads, *(u for nodes in tails for u in nodes))
        self.backward: list[list[int]] = [[] for _ in range(self.n_nodes)]
        self.forward: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for e, head in enumerate(heads):
            self.backward[head].append(e)
            for u in tails[e]:
                self.forward[u].append(e)

    @classmethod
    def of(cls, hypergraph: Hypergraph) -> "PlainForest":
        """The same edges as the library has them."""
        tails = [hypergraph.tails(edge).tolist() for edge in range(hypergraph.n_edges)]
        return cls(hypergraph.heads.tolist(), tails, hypergraph.root)

    def siblings(self, edge: int, place: int) -> list[int]:
        """The other tails of an edge: what stands beside the tail at a place, by position.

        >>> PlainForest([0, 0, 1], [(), (), (0, 0)], root=1).siblings(2, 0)  # a node may be its own
        [0]
        """
        return [u for other, u in enumerate(self.tails[edge]) if other != place]

    @cached_property
    def order(self) -> list[int]:
        """TopSort: every node behind the tails of all its edges."""
        waiting = [{u for e in star for u in self.tails[e]} for star in self.backward]
        ready = [v for v in range(self.n_nodes) if not waiting[v]]
        order = []
        while ready:
            u = ready.pop()
            order.append(u)
            for e in self.forward[u]:
                v = self.heads[e]
                if u in waiting[v]:
                    waiting[v].discard(u)
                    if not waiting[v]:
                        ready.append(v)
        if len(order) < self.n_nodes:
            raise ValueError("the hypergraph has a cycle; expected none.")
        return order


def inside(forest: PlainForest, weights: Sequence[Value], semiring: Semiring[Value]) -> list[Value]:
    """For each node the sum over its derivations of the product of the weights of their edges.

    I(v) = sum over edges e into v of w(e) times I(u) of each tail u, from left to right (equation
    14); zero where no edge leads to v. The answer for the whole is at the root. Costs one sum and
    one product per edge and tail.

    >>> from partita.baselines.semirings import Counting
    >>> inside(PlainForest([0, 0, 1], [(), (), (0, 0)], root=1), [1, 1, 1], Counting())
    [2, 4]
    """
    if len(weights) != len(forest.heads):
        raise ValueError(
            f"{len(weights)} weights came for a hypergraph of {len(forest.heads)} edges; expected "
            "one for each edge."
        )
    values = [semiring.zero] * forest.n_nodes
    for v in forest.order:
        for e in forest.backward[v]:
            k = weights[e]
            for u in forest.tails[e]:
                k = semiring.times(k, values[u])
            values[v] = semiring.plus(values[v], k)
    return values


def outside(
    forest: PlainForest, weights: Sequence[Value], semiring: Semiring[Value], inner: Sequence[Value]
) -> list[Value]:
    """For each node the sum over derivations of the root of what is not below the node.

    O(root) = one; O(u) = sum over the places of u among the tails of edges e of O(head(e)) w(e)
    times I of its siblings there (equation 15). For a semiring whose product does not commute, as
    with lists of edges, what stands around a node comes out in another order than in a derivation.

    >>> from partita.baselines.semirings import Counting
    >>> forest = PlainForest([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> outside(forest, [1, 1, 1], Counting(), inside(forest, [1, 1, 1], Counting()))
    [4, 1]
    """
    values = [semiring.zero] * forest.n_nodes
    values[forest.root] = semiring.one
    for v in reversed(forest.order):
        for e in forest.backward[v]:
            for i, u in enumerate(forest.tails[e]):
                k = semiring.times(weights[e], values[v])
                for s in forest.siblings(e, i):
                    k = semiring.times(k, inner[s])
                values[u] = semiring.plus(values[u], k)
    return values


def edge_terms(
    forest: PlainForest,
    weights: Sequence[Value],
    semiring: Semiring[Value],
    inner: Sequence[Value],
    outer: Sequence[Value],
) -> Iterator[Value]:
    """O(head) w(e) times I of the tails, for each edge: what ExpectedFeatures sums."""
    for e, head in enumerate(forest.heads):
        k = semiring.times(outer[head], weights[e])
        for u in forest.tails[e]:
            k = semiring.times(k, inner[u])
        yield k


def marginals(
    forest: PlainForest, scores: Sequence[float], inner: Sequence[float], outer: Sequence[float]
) -> list[float]:
    """The expected number of times that each edge is used."""
    log_partition = inner[forest.root]
    terms = edge_terms(forest, scores, Log(), inner, outer)
    return [math.exp(term - log_partition) for term in terms]


def expected_values(
    forest: PlainForest, weights: Sequence[float], values: Sequence[Sequence[float]]
) -> list[float]:
    """ExpectedFeatures: the expected sum of values over the edges of a derivation.

    sum over edges e of O(head) w(e) times I of the tails, times values[e], over I(root), in plain
    probabilities as the slides have it.

    >>> forest = PlainForest([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> expected_values(forest, [3.0, 1.0, 1.0], [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    [1.5, 0.5]
    """
    ring = Probability()
    inner = inside(forest, weights, ring)
    terms = edge_terms(forest, weights, ring, inner, outside(forest, weights, ring, inner))
    sums = [0.0] * len(values[0])
    for term, row in zip(terms, values, strict=True):
        for k, value in enumerate(row):
            sums[k] += term * value
    return [total / inner[forest.root] for total in sums]


def covariance_product(
    forest: PlainForest, scores: Sequence[float], direction: Sequence[float]
) -> list[float]:
    """The derivative of the marginals along a direction: p(e) (E[direction | e] - E[direction])."""
    semiring = Expectation()
    weights = [Mean(score, value) for score, value in zip(scores, direction, strict=True)]
    inner = inside(forest, weights, semiring)
    outer = outside(forest, weights, semiring, inner)
    root = inner[forest.root]
    return [
        math.exp(term.log_weight - root.log_weight) * float(term.mean - root.mean)
        for term in edge_terms(forest, weights, semiring, inner, outer)
    ]


def k_best(forest: PlainForest, scores: Sequence[float], k: int) -> list[float]:
    """The scores of the k best derivations, by lazy lists of (score, edge, ranks)."""
    Item = tuple[float, int, tuple[int, ...]]
    found: dict[int, list[Item]] = {}
    heaps: dict[int, list[Item]] = {}
    seen: dict[int, set[tuple[int, tuple[int, ...]]]] = {}

    def push(v: int, e: int, ranks: tuple[int, ...]) -> None:
        if (e, ranks) in seen[v]:
            return
        score = scores[e]
        for u, rank in zip(forest.tails[e], ranks, strict=True):
            extend(u, rank + 1)
            if len(found[u]) <= rank:
                return
            score += found[u][rank][0]
        seen[v].add((e, ranks))
        heapq.heappush(heaps[v], (-score, e, ranks))

    def extend(v: int, count: int) -> None:
        if v not in found:
            found[v], heaps[v], seen[v] = [], [], set()
            for e in forest.backward[v]:
                push(v, e, (0,) * len(forest.tails[e]))
        while len(found[v]) < count:
            if found[v]:
                _, e, ranks = found[v][-1]
                for i in range(len(ranks)):
                    push(v, e, (*ranks[:i], ranks[i] + 1, *ranks[i + 1 :]))
            if not heaps[v]:
                return
            score, e, ranks = heapq.heappop(heaps[v])
            found[v].append((-score, e, ranks))

    extend(forest.root, k)
    return [score for score, _, _ in found[forest.root]]
