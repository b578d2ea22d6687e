"""The pseudo-code of Aziz's slides (seed 004) in plain Python, with the corrections of ERRATA.md.

Corrected: outside starts at the root only; siblings are tail positions, not nodes; axioms are
edges with an empty tail, and a node without edges is worth zero; a cycle is an error; expected
features are weighted by the edge and divided by the root's inside. Not in the slides: the
covariance product, by the same algorithms over dual numbers, and lazy k-best lists (Huang and
Chiang, 2005). Recursive where the slides are.
"""

import heapq
import math
from dataclasses import dataclass, field


@dataclass
class Graph:
    heads: list
    tails: list
    root: int
    backward: dict = field(default_factory=dict)
    forward: dict = field(default_factory=dict)

    def __post_init__(self):
        nodes = set(self.heads).union(*self.tails)
        self.backward = {v: [] for v in nodes}
        self.forward = {v: [] for v in nodes}
        for e, head in enumerate(self.heads):
            self.backward[head].append(e)
            for u in self.tails[e]:
                self.forward[u].append(e)


def top_sort(graph):
    waiting = {v: {u for e in star for u in graph.tails[e]} for v, star in graph.backward.items()}
    ready = [v for v in waiting if not waiting[v]]
    order = []
    while ready:
        u = ready.pop()
        order.append(u)
        for e in graph.forward[u]:
            v = graph.heads[e]
            if u in waiting[v]:
                waiting[v].discard(u)
                if not waiting[v]:
                    ready.append(v)
    if len(order) < len(waiting):
        raise ValueError("the hypergraph has a cycle")
    return order


class LogSemiring:
    zero, one = -math.inf, 0.0

    @staticmethod
    def plus(a, b):
        low, high = min(a, b), max(a, b)
        return high if low == -math.inf else high + math.log1p(math.exp(low - high))

    @staticmethod
    def times(a, b):
        return a + b


class DualSemiring:
    """Logarithms beside their derivatives."""

    zero, one = (-math.inf, 0.0), (0.0, 0.0)

    @staticmethod
    def plus(a, b):
        total = LogSemiring.plus(a[0], b[0])
        if total == -math.inf:
            return a
        return total, math.exp(a[0] - total) * a[1] + math.exp(b[0] - total) * b[1]

    @staticmethod
    def times(a, b):
        return a[0] + b[0], a[1] + b[1]


def inside(graph, order, weights, ring):
    values = {}
    for v in order:
        total = ring.zero
        for e in graph.backward[v]:
            k = weights[e]
            for u in graph.tails[e]:
                k = ring.times(k, values[u])
            total = ring.plus(total, k)
        values[v] = total
    return values


def outside(graph, order, weights, ring, inner):
    values = dict.fromkeys(order, ring.zero)
    values[graph.root] = ring.one
    for v in reversed(order):
        for e in graph.backward[v]:
            for i, u in enumerate(graph.tails[e]):
                k = ring.times(weights[e], values[v])
                for j, s in enumerate(graph.tails[e]):
                    if i != j:
                        k = ring.times(k, inner[s])
                values[u] = ring.plus(values[u], k)
    return values


def edge_terms(graph, weights, ring, inner, outer):
    """O(head) w(e) product of I(tails), for each edge."""
    for e, head in enumerate(graph.heads):
        k = ring.times(outer[head], weights[e])
        for u in graph.tails[e]:
            k = ring.times(k, inner[u])
        yield k


def marginals(graph, scores, inner, outer):
    log_partition = inner[graph.root]
    terms = edge_terms(graph, scores, LogSemiring, inner, outer)
    return [math.exp(term - log_partition) for term in terms]


def covariance_product(graph, order, scores, direction):
    weights = list(zip(scores, direction, strict=True))
    inner = inside(graph, order, weights, DualSemiring)
    outer = outside(graph, order, weights, DualSemiring, inner)
    log_partition, moved = inner[graph.root]
    terms = edge_terms(graph, weights, DualSemiring, inner, outer)
    return [math.exp(value - log_partition) * (slope - moved) for value, slope in terms]


def k_best(graph, scores, k):
    """The scores of the k best derivations, by lazy lists of (score, edge, ranks)."""
    found, heaps, seen = {}, {}, {}

    def push(v, e, ranks):
        if (e, ranks) in seen[v]:
            return
        score = scores[e]
        for u, rank in zip(graph.tails[e], ranks, strict=True):
            extend(u, rank + 1)
            if len(found[u]) <= rank:
                return
            score += found[u][rank][0]
        seen[v].add((e, ranks))
        heapq.heappush(heaps[v], (-score, e, ranks))

    def extend(v, count):
        if v not in found:
            found[v], heaps[v], seen[v] = [], [], set()
            for e in graph.backward[v]:
                push(v, e, (0,) * len(graph.tails[e]))
        while len(found[v]) < count:
            if found[v]:
                _, e, ranks = found[v][-1]
                for i in range(len(ranks)):
                    push(v, e, (*ranks[:i], ranks[i] + 1, *ranks[i + 1 :]))
            if not heaps[v]:
                return
            score, e, ranks = heapq.heappop(heaps[v])
            found[v].append((-score, e, ranks))

    extend(graph.root, k)
    return [score for score, _, _ in found[graph.root]]
