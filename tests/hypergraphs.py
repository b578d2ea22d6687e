"""Small hypergraphs for tests, and all their derivations. Shares no code with the library."""

import itertools
import math

import numpy as np


def random_edges(n_edges):
    """Heads, tails and root: a hypergraph that depends on the number of its edges alone.

    There are repeated tails, empty tails, shared nodes, a node that no edge leads to (so that
    edges out of it are dead), and nodes that the root does not lead to. Node numbers are shuffled.
    """
    rng = np.random.default_rng(n_edges)
    n_nodes = 3 + n_edges // 4
    # Repeated tails make derivations exponentially long in the depth, so large ones are flat.
    highest = 0.85 if n_edges < 50 else 0.5
    heads, tails = [1, n_nodes - 1], [(), (1, 1)]
    while len(heads) < n_edges:
        head = int(rng.integers(1, n_nodes)) if len(heads) % 3 else n_nodes - 1
        below = max(1, math.ceil(highest * head))
        n_tails = int(rng.choice(4, p=[0.2, 0.3, 0.35, 0.15]))
        # Node 0 is dead: keep it rare.
        nodes = [int(rng.integers(below)) or int(rng.integers(below)) for _ in range(n_tails)]
        if n_tails == 2 and rng.random() < 0.5:
            nodes = [nodes[0], nodes[0]]
        heads.append(head)
        tails.append(tuple(nodes))
    shuffled = rng.permutation(n_nodes).tolist()
    heads = [shuffled[head] for head in heads]
    tails = [tuple(shuffled[node] for node in nodes) for nodes in tails]
    return heads, tails, shuffled[n_nodes - 1]


def all_derivations(heads, tails, root):
    """Every derivation of the root as the tuple of its edges, top-down and left to right."""

    def below(node):
        found = []
        for edge, head in enumerate(heads):
            if head == node:
                for parts in itertools.product(*[below(tail) for tail in tails[edge]]):
                    found.append((edge, *itertools.chain.from_iterable(parts)))
        return found

    return below(root)


def edge_counts(derivations, n_edges):
    """A row of edge counts for every derivation."""
    return [[derivation.count(edge) for edge in range(n_edges)] for derivation in derivations]


class Numbering:
    """Numbers for nodes, given as they are first named, and the edges between them."""

    def __init__(self):
        self.nodes, self.heads, self.tails, self.parts = {}, [], [], []

    def node(self, name):
        return self.nodes.setdefault(name, len(self.nodes))

    def edge(self, head, *tails, part=None):
        """An edge that stands for a part of another structure, or for none."""
        self.heads.append(self.node(head))
        self.tails.append(tuple(self.node(tail) for tail in tails))
        self.parts.append(part)

    def scores(self, of_part):
        return np.array([0.0 if part is None else of_part(part) for part in self.parts])

    def sums(self, values, shape):
        """Values of edges, summed by the part that they stand for."""
        result = np.zeros(shape)
        for part, value in zip(self.parts, values, strict=True):
            if part is not None:
                result[part] += value
        return result


def chain_edges(n_words, n_tags):
    """All tag sequences: part (t, i, j) is tag j at word t behind tag i, with i = 0 at word 0."""
    chain = Numbering()
    for t, j in itertools.product(range(n_words), range(n_tags)):
        if t == 0:
            chain.edge((t, j), part=(t, 0, j))
            continue
        for i in range(n_tags):
            chain.edge((t, j), (t - 1, i), part=(t, i, j))
    for j in range(n_tags):
        chain.edge("goal", (n_words - 1, j))
    return chain


def eisner_edges(n_words, *, single_root=False):
    """Eisner's chart: all projective trees; part (h, m) is the arc from head h to modifier m."""
    chart = Numbering()
    first = 1 if single_root else 0
    for i in range(first, n_words + 1):
        chart.edge(("complete", i, i, "left"))
        chart.edge(("complete", i, i, "right"))
    for width in range(1, n_words + 1):
        for i in range(first, n_words + 1 - width):
            j = i + width
            for k in range(i, j):
                halves = ("complete", i, k, "right"), ("complete", k + 1, j, "left")
                chart.edge(("arc", i, j, "right"), *halves, part=(i, j))
                if i > 0:
                    chart.edge(("arc", i, j, "left"), *halves, part=(j, i))
                    left = ("complete", i, k, "left"), ("arc", k, j, "left")
                    chart.edge(("complete", i, j, "left"), *left)
            for k in range(i + 1, j + 1):
                right = ("arc", i, k, "right"), ("complete", k, j, "right")
                chart.edge(("complete", i, j, "right"), *right)
    if single_root:
        for k in range(1, n_words + 1):
            halves = ("complete", 1, k, "left"), ("complete", k, n_words, "right")
            chart.edge("goal", *halves, part=(0, k))
    else:
        chart.edge("goal", ("complete", 0, n_words, "right"))
    return chart
