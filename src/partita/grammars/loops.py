"""Forests with loops: nodes that derive themselves, so that there are infinitely many derivations.

Every cycle is a loop at one node v: an edge whose head is among its own tails, once or twice. So
the sum over all derivations of v solves an equation of its own,

    X = c0 + c1 X + c2 X²,    X = 2 c0 / (A + sqrt(A² - 4 c0 c2)),    A = 1 - c1,

with c_k the sum over edges into v, each times its other tails, that have v itself k times among
their tails. The solution is the smallest positive one; there is none, and the sum is infinite,
where c1 >= 1 or 4 c0 c2 > A². A visit to v from above leads to gain = 1 / sqrt(A² - 4 c0 c2) visits
on average. Plain Python: a few thousand edges a hundredth of a second.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.structures.batch import offsets
from partita.structures.distinct import ForestWays

LOG_2 = math.log(2.0)


class LoopSums(NamedTuple):
    """What the inside pass leaves behind."""

    inside: FloatArray
    """Log sum of the derivations of each node, (n_nodes,); inf where it is infinite."""
    shares: FloatArray
    """p(edge | its head), (n_edges,); 0 where the head has no derivation, or too many."""
    gains: FloatArray
    """Expected visits of each node for each visit from above, (n_nodes,)."""


@dataclass(frozen=True, eq=False)
class LoopedForest:
    """Edges `heads[e] <- tails[e]`: tails up to the head, of which two at most are the head itself.

    >>> repeat = LoopedForest([0, 1, 1], [(), (0,), (1, 0)], root=1)  # one or more of node 0
    >>> sums = repeat.sums(np.log([0.5, 1.0, 1.0]))
    >>> np.exp(sums.inside).round(9)  # 1/2 + 1/4 + ...
    array([0.5, 1. ])
    >>> repeat.marginals(sums).round(9)
    array([2., 1., 1.])
    """

    heads: IntArray
    tails: tuple[tuple[int, ...], ...]
    root: int

    def __init__(self, heads: Sequence[int], tails: Sequence[Sequence[int]], root: int) -> None:
        object.__setattr__(self, "heads", np.array(heads, dtype=np.int64))
        object.__setattr__(self, "tails", tuple(tuple(nodes) for nodes in tails))
        object.__setattr__(self, "root", root)
        for edge, (head, nodes) in enumerate(zip(heads, self.tails, strict=True)):
            if any(node > head for node in nodes) or nodes.count(head) > 2:
                raise ValueError(
                    f"edge {edge} leads from {nodes} to {head}; expected tails up to the head, "
                    "which may be the head itself twice at most. Number the nodes bottom-up."
                )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.heads.max()) + 1

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.heads)

    @cached_property
    def stars(self) -> list[list[int]]:
        """The edges into each node."""
        stars: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for edge, head in enumerate(self.heads.tolist()):
            stars[head].append(edge)
        return stars

    # ------------------------------------------------------------------ sums

    def sums(self, scores: FloatArray) -> LoopSums:
        """The inside pass."""
        inside = np.full(self.n_nodes, -np.inf)
        shares, gains = np.zeros(self.n_edges), np.ones(self.n_nodes)
        for node, star in enumerate(self.stars):
            values = [self._value(edge, scores, inside) for edge in star]
            n_selves = [self.tails[edge].count(node) for edge in star]
            terms = [
                _log_sum([v for v, k in zip(values, n_selves, strict=True) if k == order])
                for order in range(3)
            ]
            inside[node], gains[node] = _solved(*terms)
            if -np.inf < inside[node] < np.inf:
                whole = [v + k * inside[node] for v, k in zip(values, n_selves, strict=True)]
                shares[star] = np.exp(np.array(whole) - inside[node])
        return LoopSums(inside, shares, gains)

    def _value(self, edge: int, scores: FloatArray, inside: FloatArray) -> float:
        """Score of an edge and inside of its tails but the head itself."""
        head = self.heads[edge]
        parts = [float(scores[edge]), *(inside[u] for u in self.tails[edge] if u != head)]
        # Nothing times infinitely much is nothing.
        return -np.inf if -np.inf in parts else math.fsum(parts) if np.inf not in parts else np.inf

    def node_counts(self, sums: LoopSums) -> FloatArray:
        """Expected number of times that each node occurs, (n_nodes,)."""
        from_above = np.zeros(self.n_nodes)
        from_above[self.root] = 1.0
        counts = np.zeros(self.n_nodes)
        for node in range(self.n_nodes - 1, -1, -1):
            # A node that never occurs may be one whose own sum is infinite.
            if from_above[node] > 0.0:
                counts[node] = from_above[node] * sums.gains[node]
                for edge in self.stars[node]:
                    for tail in self.tails[edge]:
                        if tail != node:
                            from_above[tail] += counts[node] * sums.shares[edge]
        return counts

    def marginals(self, sums: LoopSums) -> FloatArray:
        """Expected number of times that each edge occurs, (n_edges,)."""
        expected: FloatArray = self.node_counts(sums)[self.heads] * sums.shares
        return expected

    def covariance_product(self, sums: LoopSums, direction: FloatArray) -> FloatArray:
        """How the marginals change when the scores move along a direction, (n_edges,)."""
        slopes, share_slopes, gain_slopes = self._inside_slopes(sums, direction)
        counts = self.node_counts(sums)
        from_above, product = np.zeros(self.n_nodes), np.zeros(self.n_edges)
        for node in range(self.n_nodes - 1, -1, -1):
            if counts[node] == 0.0:
                continue
            moved = sums.gains[node] * from_above[node] + counts[node] * gain_slopes[node]
            for edge in self.stars[node]:
                change = moved * sums.shares[edge] + counts[node] * share_slopes[edge]
                product[edge] = change
                for tail in self.tails[edge]:
                    if tail != node:
                        from_above[tail] += change
        return product

    def _inside_slopes(
        self, sums: LoopSums, direction: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Slopes of the inside values, of the shares, and of the logarithms of the gains."""
        slopes, gain_slopes = np.zeros(self.n_nodes), np.zeros(self.n_nodes)
        share_slopes = np.zeros(self.n_edges)
        for node, star in enumerate(self.stars):
            below = {
                edge: direction[edge] + sum(slopes[u] for u in self.tails[edge] if u != node)
                for edge in star
                if sums.shares[edge] > 0.0
            }
            mean = sum(sums.shares[edge] * value for edge, value in below.items())
            slopes[node] = sums.gains[node] * mean if below else 0.0
            for edge, value in below.items():
                n_selves = self.tails[edge].count(node)
                share_slopes[edge] = sums.shares[edge] * (value + (n_selves - 1) * slopes[node])
                gain_slopes[node] += sums.gains[node] * n_selves * share_slopes[edge]
        return slopes, share_slopes, gain_slopes

    def sample(self, sums: LoopSums, rng: np.random.Generator) -> list[int]:
        """The edges of a derivation in preorder, drawn with its probability."""
        waiting, derivation = [self.root], []
        while waiting:
            star = self.stars[waiting.pop()]
            edge = star[_drawn(sums.shares[star], rng.random())]
            derivation.append(edge)
            waiting += reversed(self.tails[edge])
        return derivation

    def sample_distinct(
        self, scores: FloatArray, sums: LoopSums, size: int, rng: np.random.Generator
    ) -> list[list[int]]:
        """Derivations as `sample` gives them, without replacement, or all if there are fewer."""
        order = np.argsort(self.heads, kind="stable")
        tails = [self.tails[edge] for edge in order.tolist()]
        arrays = (
            offsets(np.bincount(self.heads)),
            np.array([node for nodes in tails for node in nodes], dtype=np.int64),
            offsets(np.array([len(nodes) for nodes in tails])),
        )
        ways = ForestWays.of(scores[order], sums.inside, arrays, self.root)
        return [order[ways.places(way)].tolist() for way in ways.distinct(size, rng)]

    def count(self, allowed: BoolArray) -> int | None:
        """Derivations by allowed edges, (n_edges,); None if there are infinitely many.

        >>> repeat = LoopedForest([0, 1, 1], [(), (0,), (1, 0)], root=1)  # one or more of node 0
        >>> repeat.count(np.array([True, True, True])), repeat.count(np.array([True, True, False]))
        (None, 1)
        """
        n_ways: list[int | None] = []
        for node, star in enumerate(self.stars):
            total: int | None = 0
            has_loop = False
            for edge in star:
                others = _product([n_ways[u] for u in self.tails[edge] if u != node])
                if not allowed[edge] or others == 0:
                    continue
                if node in self.tails[edge]:
                    has_loop = True
                else:
                    total = None if total is None or others is None else total + others
            # Where the node has a derivation, a loop leads from each one to another.
            n_ways.append(None if has_loop and total != 0 else total)
        return n_ways[self.root]

    # ------------------------------------------------------------------ the best

    def best(self, scores: FloatArray) -> FloatArray:
        """The score of the best derivation of each node; inf where ever longer ones are better."""
        best = np.full(self.n_nodes, -np.inf)
        for node, star in enumerate(self.stars):
            values = [(self._value(e, scores, best), self.tails[e].count(node)) for e in star]
            best[node] = max((value for value, k in values if k == 0), default=-np.inf)
            if best[node] > -np.inf and any(v + (k - 1) * best[node] > 0 for v, k in values if k):
                best[node] = np.inf
        return best

    def max_marginals(self, scores: FloatArray, best: FloatArray) -> FloatArray:
        """For each edge the score of the best derivation that uses it; -inf if none does."""
        around, through = np.full(self.n_nodes, -np.inf), np.full(self.n_edges, -np.inf)
        around[self.root] = 0.0
        for node in range(self.n_nodes - 1, -1, -1):
            for edge in self.stars[node]:
                inner = [best[tail] for tail in self.tails[edge]]
                if around[node] == -np.inf or scores[edge] == -np.inf or -np.inf in inner:
                    continue
                through[edge] = around[node] + scores[edge] + sum(inner)
                for tail, value in zip(self.tails[edge], inner, strict=True):
                    if tail != node:
                        around[tail] = max(around[tail], through[edge] - value)
        return through

    def k_best(self, scores: FloatArray, k: int) -> list[tuple[list[int], float]]:
        """The k best derivations, edges in preorder, best first; fewer if there are fewer."""
        search = _BestFirst(self, scores)
        search.extend(self.root, k)
        found = search.found[self.root][:k]
        return [(search.edges(self.root, rank), item.score) for rank, item in enumerate(found)]


def _solved(c0: float, c1: float, c2: float) -> tuple[float, float]:
    """log X of X = c0 + c1 X + c2 X², given the logarithms, and the gain; inf where there is none.

    The root of the discriminant is taken relative to A, so that nothing overflows.
    """
    if c0 == -np.inf:
        return -np.inf, 1.0
    if c1 >= 0.0 or c0 == np.inf or c2 == np.inf:
        return np.inf, np.inf
    log_a = log_one_minus_exp(c1)
    log_ratio = 2.0 * LOG_2 + c0 + c2 - 2.0 * log_a
    if log_ratio > 0.0:
        return np.inf, np.inf
    root = math.sqrt(-math.expm1(log_ratio))
    gain = math.exp(-log_a) / root if root > 0.0 else np.inf
    return LOG_2 + c0 - log_a - math.log1p(root), gain


def log_one_minus_exp(x: float) -> float:
    """log(1 - e^x) for x < 0, without cancellation at either end."""
    return math.log(-math.expm1(x)) if x > -LOG_2 else math.log1p(-math.exp(x))


def _product(counts: list[int | None]) -> int | None:
    """The product of numbers, None for infinity; nothing times infinitely much is nothing."""
    known = [count for count in counts if count is not None]
    return 0 if 0 in known else math.prod(known) if len(known) == len(counts) else None


def _log_sum(values: list[float]) -> float:
    largest = max(values, default=-np.inf)
    if not math.isfinite(largest):
        return largest
    return largest + math.log(math.fsum(math.exp(value - largest) for value in values))


def _drawn(shares: FloatArray, uniform: float) -> int:
    """An index with probability proportional to its share."""
    sums = np.cumsum(shares)
    index = int(np.searchsorted(sums, uniform * sums[-1], side="right"))
    # Rounding may put the threshold at the total: step back to an index that has a share.
    return min(index, int(np.flatnonzero(shares)[-1]))


class _KnownDerivation(NamedTuple):
    """A derivation of a node: an edge, and which derivation of each of its tails."""

    score: float
    edge: int
    ranks: tuple[int, ...]


class _BestFirst:
    """Lazy lists of the best derivations of each node (Huang and Chiang 2005), loops included.

    A derivation by a loop is no better than the derivation of the same node within it, so it is
    queued when that one has been found.
    """

    def __init__(self, forest: LoopedForest, scores: FloatArray) -> None:
        self.forest, self.scores = forest, scores
        self.found: list[list[_KnownDerivation]] = [[] for _ in range(forest.n_nodes)]
        self.queues: list[list[tuple[float, int, tuple[int, ...]]] | None] = [None] * forest.n_nodes
        self.seen: list[set[tuple[int, tuple[int, ...]]]] = [set() for _ in range(forest.n_nodes)]
        self.later: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in range(forest.n_nodes)]

    def extend(self, node: int, count: int) -> None:
        """Find the `count` best derivations of a node, if there are so many."""
        if self.queues[node] is None:
            self.queues[node] = []
            for edge in self.forest.stars[node]:
                self.push(node, edge, (0,) * len(self.forest.tails[edge]))
        queue = self.queues[node]
        assert queue is not None
        while len(self.found[node]) < count and queue:
            loss, edge, ranks = heapq.heappop(queue)
            self.found[node].append(_KnownDerivation(-loss, edge, ranks))
            waiting, self.later[node] = self.later[node], []
            for candidate in [*waiting, *_successors(edge, ranks)]:
                self.push(node, *candidate)

    def push(self, node: int, edge: int, ranks: tuple[int, ...]) -> None:
        """Queue a derivation, or keep it for later if it needs one of the node itself."""
        if (edge, ranks) in self.seen[node] or self.scores[edge] == -np.inf:
            return
        score = float(self.scores[edge])
        for tail, rank in zip(self.forest.tails[edge], ranks, strict=True):
            if tail == node and rank >= len(self.found[node]):
                self.later[node].append((edge, ranks))
                return
            self.extend(tail, rank + 1)
            if rank >= len(self.found[tail]):
                return
            score += self.found[tail][rank].score
        self.seen[node].add((edge, ranks))
        queue = self.queues[node]
        assert queue is not None
        heapq.heappush(queue, (-score, edge, ranks))

    def edges(self, node: int, rank: int) -> list[int]:
        """The edges of a derivation in preorder."""
        derivation, waiting = [], [(node, rank)]
        while waiting:
            node, rank = waiting.pop()
            item = self.found[node][rank]
            derivation.append(item.edge)
            waiting += reversed([*zip(self.forest.tails[item.edge], item.ranks, strict=True)])
        return derivation


def _successors(edge: int, ranks: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    for place, rank in enumerate(ranks):
        yield edge, (*ranks[:place], rank + 1, *ranks[place + 1 :])
