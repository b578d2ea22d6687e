"""Chu-Liu-Edmonds step by step, to be read and printed; `SpanningTree.argmax` is the fast one."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import IntArray
from partita.show.contractions import GraphStep
from partita.structures.batch import check_scores
from partita.structures.tree_checks import why_empty

Node = int
"""0 is the root, then the words, then contracted nodes in the order of their making."""
Arc = tuple[Node, Node]
"""(head, modifier)."""
Graph = dict[Arc, float]


@dataclass
class ContractionTrace:
    """The best tree, and the steps that lead to it as lines of text; printing shows them all."""

    heads: IntArray
    score: float
    steps: list[str]
    graphs: list[GraphStep]
    """The graph of each step, for `partita.show.contraction`."""

    def __str__(self) -> str:
        return "\n".join(self.steps)


def contraction_trace(
    arcs: ArrayLike, words: Sequence[str] | None = None, *, single_root: bool = False
) -> ContractionTrace:
    """The best spanning tree of one sentence by Chu-Liu-Edmonds, with every step in words.

    `arcs` is (n+1, n+1), [head, modifier], with the root as row 0. Several words may hang on the
    root, unless `single_root`: then every arc of the root is lowered first, by more than all other
    choices together could gain, so that a second one never pays. The example is that of McDonald
    et al. (2005):

    >>> import numpy as np
    >>> arcs = np.full((4, 4), -np.inf)
    >>> arcs[0, 1:] = [9, 10, 9]
    >>> arcs[1, 2:] = [20, 3]
    >>> arcs[2, [1, 3]] = [30, 30]
    >>> arcs[3, 1:3] = [11, 0]
    >>> print(contraction_trace(arcs, ["John", "saw", "Mary"]))
    best arcs: saw -> John 30, John -> saw 20, saw -> Mary 30
    cycle: John -> saw -> John, score 50, becomes c1
      into c1: root -> c1 40 by root -> saw, Mary -> c1 31 by Mary -> John
      out of c1: c1 -> Mary 30 by saw -> Mary
    best arcs: root -> c1 40, c1 -> Mary 30
    no cycle
    open c1: root -> saw replaces John -> saw
    tree: saw -> John 30, root -> saw 10, saw -> Mary 30; score 70
    """
    scores = np.array(arcs, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or len(scores) < 2:
        raise ValueError(
            f"arcs has shape {scores.shape}; expected (n+1, n+1), a score for every head and "
            "modifier of one sentence with the root as row 0."
        )
    n_words = len(scores) - 1
    if words is not None and len(words) != n_words:
        raise ValueError(f"{len(words)} words came with arcs for {n_words}; expected one for each.")
    np.fill_diagonal(scores, -np.inf)
    scores[:, 0] = -np.inf
    check_scores("arcs", scores)
    if reason := why_empty(scores, single_root=single_root):
        raise ValueError(f"the sentence has no structure: {reason}. Allow more arcs.")
    graph = {
        (head, word): float(scores[head, word])
        for word in range(1, n_words + 1)
        for head in range(n_words + 1)
        if scores[head, word] > -np.inf
    }
    writer = _Writer(["root", *(words or map(str, range(1, n_words + 1)))])
    lowered = dict(graph)
    if single_root:
        penalty = _root_penalty(graph, n_words)
        lowered = {arc: score - penalty * (arc[0] == 0) for arc, score in graph.items()}
        writer.say(f"one root: each arc of the root is lowered by {penalty:g}")
    best = _best_tree(lowered, writer)
    heads = np.array([best[word] for word in range(1, n_words + 1)])
    score = sum(graph[head, word] for word, head in enumerate(heads.tolist(), start=1))
    tree = {(best[word], word): graph[best[word], word] for word in range(1, n_words + 1)}
    writer.say(f"tree: {writer.arcs(tree)}; score {score:g}")
    writer.draw("the best tree", graph, best, [])
    return ContractionTrace(heads, score, writer.steps, writer.graphs)


def _root_penalty(graph: Graph, n_words: int) -> float:
    """More than all words together could gain by other heads."""
    spread = 0.0
    for word in range(1, n_words + 1):
        scores = [score for (_, modifier), score in graph.items() if modifier == word]
        spread += max(scores) - min(scores)
    return 1.0 + spread


@dataclass
class _Writer:
    """Names of the nodes, and the lines written so far."""

    names: list[str]
    steps: list[str] = field(default_factory=list)
    n_contracted: int = 0
    graphs: list[GraphStep] = field(default_factory=list)

    def draw(self, title: str, graph: Graph, best: dict[Node, Node], cycle: list[Node]) -> None:
        """Keep a step for a picture, its nodes numbered as they stand in it."""
        nodes = sorted({node for arc in graph for node in arc})
        place = {node: index for index, node in enumerate(nodes)}
        self.graphs.append(
            GraphStep(
                title,
                [self.names[node] for node in nodes],
                [(place[h], place[m], score) for (h, m), score in graph.items()],
                [(place[head], place[modifier]) for modifier, head in best.items()],
                [place[node] for node in cycle],
            )
        )

    def say(self, line: str) -> None:
        self.steps.append(line)

    def new_node(self) -> Node:
        self.n_contracted += 1
        self.names.append(f"c{self.n_contracted}")
        return len(self.names) - 1

    def arc(self, arc: Arc) -> str:
        return f"{self.names[arc[0]]} -> {self.names[arc[1]]}"

    def arcs(self, graph: Graph) -> str:
        return ", ".join(f"{self.arc(arc)} {score:g}" for arc, score in graph.items())

    def origins(self, graph: Graph, origin: dict[Arc, Arc]) -> str:
        return ", ".join(
            f"{self.arc(arc)} {score:g} by {self.arc(origin[arc])}" for arc, score in graph.items()
        )


def _best_tree(graph: Graph, writer: _Writer) -> dict[Node, Node]:
    """The head of every node of a graph: greedy arcs, and while they have a cycle, contraction."""
    best: dict[Node, Node] = {}
    for head, node in graph:
        if node not in best or graph[head, node] > graph[best[node], node]:
            best[node] = head
    writer.say(f"best arcs: {writer.arcs({(h, m): graph[h, m] for m, h in best.items()})}")
    cycle = _cycle(best)
    title = "best arcs: a cycle" if cycle else "best arcs: no cycle"
    writer.draw(title, graph, best, cycle)
    if not cycle:
        writer.say("no cycle")
        return best
    new = writer.new_node()
    contracted, origin = _contract(graph, best, cycle, new, writer)
    tree = _best_tree(contracted, writer)
    return _opened(tree, best, cycle, new, origin, writer)


def _cycle(best: dict[Node, Node]) -> list[Node]:
    """The nodes of a cycle, each followed by its head; empty if there is none."""
    for start in best:
        walk = [start]
        while walk[-1] in best:
            head = best[walk[-1]]
            if head in walk:
                return walk[walk.index(head) :]
            walk.append(head)
    return []


def _contract(
    graph: Graph, best: dict[Node, Node], cycle: list[Node], new: Node, writer: _Writer
) -> tuple[Graph, dict[Arc, Arc]]:
    """The graph with the cycle as one node, and the arc of this graph behind each changed one.

    s(new, w) = max_v s(v, w) and s(u, new) = max_v [s(u, v) - s(best head of v, v)] + s(cycle),
    over the nodes v of the cycle.
    """
    total = sum(graph[best[node], node] for node in cycle)
    contracted: Graph = {}
    origin: dict[Arc, Arc] = {}
    for (head, modifier), score in graph.items():
        if head in cycle and modifier in cycle:
            continue
        arc = (new if head in cycle else head, new if modifier in cycle else modifier)
        if modifier in cycle:
            score = score - graph[best[modifier], modifier] + total
        if arc not in contracted or score > contracted[arc]:
            contracted[arc] = score
            origin[arc] = (head, modifier)
    ring = " -> ".join(writer.names[node] for node in [cycle[0], *reversed(cycle)])
    writer.say(f"cycle: {ring}, score {total:g}, becomes {writer.names[new]}")
    for place, side in (("into", 1), ("out of", 0)):
        touching = {arc: score for arc, score in contracted.items() if arc[side] == new}
        if touching:
            writer.say(f"  {place} {writer.names[new]}: {writer.origins(touching, origin)}")
    return contracted, origin


def _opened(
    tree: dict[Node, Node],
    best: dict[Node, Node],
    cycle: list[Node],
    new: Node,
    origin: dict[Arc, Arc],
    writer: _Writer,
) -> dict[Node, Node]:
    """The tree with the contracted node opened: one arc of the cycle gives way."""
    opened = {node: best[node] for node in cycle}
    for modifier, head in tree.items():
        real_head, real_modifier = origin[head, modifier]
        opened[real_modifier] = real_head
        if modifier == new:
            entering, leaving = (real_head, real_modifier), (best[real_modifier], real_modifier)
            writer.say(
                f"open {writer.names[new]}: {writer.arc(entering)} replaces {writer.arc(leaving)}"
            )
    return opened
