"""Forests with loops: words are inserted by rules that lead back to their own node.

A node stands for a span of a source sentence, an edge for an instance of a rule of the inversion
transduction grammar, plain or in its normal form.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.grammars.choices import TargetChoices
from partita.grammars.loops import LoopedForest

NONE = -1
"""In place of a node that is not there."""


@dataclass
class SpanRuleForest:
    """A forest with loops whose edges are instances of rules, as it grows; the root comes last.

    Parts as in `UnboundedTargets`; an edge that no rule scores has the part behind the last.
    """

    choices: TargetChoices
    heads: list[int] = field(default_factory=list)
    tails: list[tuple[int, ...]] = field(default_factory=list)
    edge_parts: list[int] = field(default_factory=list)
    n_nodes: int = 0

    def node(self) -> int:
        """A new node."""
        self.n_nodes += 1
        return self.n_nodes - 1

    def add(self, head: int, part: int, *tails: int) -> None:
        """A new edge, unless one of its tails is not there."""
        if NONE not in tails:
            self.heads.append(head)
            self.tails.append(tails)
            self.edge_parts.append(part)

    def link(self, head: int, word: int) -> None:
        """Edges for all translations of a source word."""
        first, end = self.choices.offsets[word : word + 2].tolist()
        for part in range(first, end):
            self.add(head, part)

    @property
    def n_source(self) -> int:
        """Number of source words."""
        return self.choices.n_groups

    @property
    def deletion(self) -> int:
        """The part of deleting word 0."""
        return len(self.choices.words)

    @property
    def insertion(self) -> int:
        """The part of an insertion; the straight and the inverted rule follow."""
        return self.deletion + self.n_source

    @property
    def free(self) -> int:
        """The part of edges without a score."""
        return self.insertion + 3

    @cached_property
    def graph(self) -> LoopedForest:
        """The edges."""
        return LoopedForest(self.heads, self.tails, self.n_nodes - 1)

    @cached_property
    def parts(self) -> IntArray:
        """The part of each edge."""
        return np.array(self.edge_parts, dtype=np.int64)

    def edge_scores(self, scores: FloatArray) -> FloatArray:
        """The score of each edge from those of the parts."""
        result: FloatArray = np.append(scores, 0.0)[self.parts]
        return result

    def part_counts(self, edges: FloatArray) -> FloatArray:
        """Sums over the edges of each part."""
        counts = np.bincount(self.parts, weights=edges, minlength=self.free + 1)
        return counts[: self.free].astype(np.float64)

    def structure(self, derivation: Sequence[int]) -> IntArray:
        """A derivation's parts, those that have a score."""
        parts = self.parts[list(derivation)]
        return parts[parts < self.free]

    @cached_property
    def _rules(self) -> dict[tuple[int, ...], list[int]]:
        """The heads of edges by their part and tails; edges without a score by their tail."""
        rules: dict[tuple[int, ...], list[int]] = {}
        for head, tails, part in zip(self.heads, self.tails, self.edge_parts, strict=True):
            rules.setdefault((part, *tails), []).append(head)
        return rules

    def derives(self, parts: IntArray) -> bool:
        """Whether parts in preorder are a derivation of the root."""
        is_vector = parts.ndim == 1 and parts.size > 0 and parts.dtype.kind in "iu"
        if not is_vector or parts.min() < 0 or parts.max() >= self.free:
            return False
        stack: list[set[int]] = []
        for part in reversed(parts.tolist()):
            if part <= self.insertion:
                stack.append(self._closed(self._rules.get((part,), [])))
            elif len(stack) < 2:
                return False
            else:
                first, second = stack.pop(), stack.pop()
                pairs = [(part, u, v) for u in first for v in second]
                heads = [head for key in pairs for head in self._rules.get(key, [])]
                stack.append(self._closed(heads))
        return len(stack) == 1 and self.n_nodes - 1 in stack[0]

    def _closed(self, nodes: Sequence[int]) -> set[int]:
        """The nodes, and all that edges without a score lead to."""
        found, waiting = set(nodes), list(nodes)
        while waiting:
            for head in self._rules.get((self.free, waiting.pop()), []):
                if head not in found:
                    found.add(head)
                    waiting.append(head)
        return found


def plain_forest(choices: TargetChoices) -> SpanRuleForest:
    """X[s, t] <- terminal | [X[s, S] X[S, t]] | <the same two>, for s <= S <= t."""
    forest = SpanRuleForest(choices)
    n, straight = forest.n_source, forest.insertion + 1
    X = np.full((n + 1, n + 1), NONE, dtype=np.int64)
    for i in range(n + 1):
        X[i, i] = forest.node()
        forest.add(int(X[i, i]), forest.insertion)
        for rule in (straight, straight + 1):
            forest.add(int(X[i, i]), rule, int(X[i, i]), int(X[i, i]))
    for width in range(1, n + 1):
        for s in range(n + 1 - width):
            t = s + width
            X[s, t] = forest.node()
            if width == 1:
                forest.link(int(X[s, t]), s)
                forest.add(int(X[s, t]), forest.deletion + s)
            for S in range(s, t + 1):
                for rule in (straight, straight + 1):
                    forest.add(int(X[s, t]), rule, int(X[s, S]), int(X[S, t]))
    forest.add(forest.node(), forest.free, int(X[0, n]))
    return forest


def normal_forest(choices: TargetChoices) -> SpanRuleForest:
    """The normal form, see `kernels.bitext.itg_bounded`: one derivation for every alignment."""
    forest = SpanRuleForest(choices)
    n, free, straight = forest.n_source, forest.free, forest.insertion + 1
    insertions = [forest.node() for _ in range(n + 1)]
    deletions = [forest.node() for _ in range(n)]
    for node in insertions:
        forest.add(node, forest.insertion)
    for word, node in enumerate(deletions):
        forest.add(node, forest.deletion + word)
    X, C, D = (np.full((n + 1, n + 1), NONE, dtype=np.int64) for _ in range(3))
    for s in range(n - 1, -1, -1):
        linked = NONE
        for t in range(s + 1, n + 1):
            # A link of word s, the words behind it deleted; then any number of insertions.
            shorter, linked = linked, forest.node()
            if t == s + 1:
                forest.link(linked, s)
            forest.add(linked, straight, shorter, deletions[t - 1])
            block = forest.node()
            forest.add(block, free, linked)
            forest.add(block, straight, block, insertions[t])
            _add_span(forest, X, C, D, block, s, t)
    top = _prefixed(forest, X, insertions, deletions)
    forest.add(forest.node(), free, top)
    return forest


def _add_span(
    forest: SpanRuleForest, X: IntArray, C: IntArray, D: IntArray, block: int, s: int, t: int
) -> None:
    """D = straight or block,   C = inverted or block,   X = straight or C;   [C X],   <D X>."""
    free, rule = forest.free, forest.insertion + 1
    straight, inverted = forest.node(), forest.node()
    for S in range(s + 1, t):
        forest.add(straight, rule, int(C[s, S]), int(X[S, t]))
        forest.add(inverted, rule + 1, int(D[s, S]), int(X[S, t]))
    for chart, nodes in ((D, (straight, block)), (C, (inverted, block))):
        chart[s, t] = forest.node()
        for node in nodes:
            forest.add(int(chart[s, t]), free, node)
    X[s, t] = forest.node()
    for node in (straight, int(C[s, t])):
        forest.add(int(X[s, t]), free, node)


def _prefixed(
    forest: SpanRuleForest, X: IntArray, insertions: Sequence[int], deletions: Sequence[int]
) -> int:
    """Null words before all links, deletions first, and the rest; or either alone."""
    n, free, rule = forest.n_source, forest.free, forest.insertion + 1
    prefixes, deleted = [], NONE
    for i in range(n + 1):
        if i > 0:
            before, deleted = deleted, forest.node()
            forest.add(deleted, *((free,) if i == 1 else (rule, before)), deletions[i - 1])
        prefix = forest.node()
        forest.add(prefix, free, deleted if i > 0 else insertions[0])
        forest.add(prefix, rule, prefix, insertions[i])
        prefixes.append(prefix)
    top = forest.node()
    for i in range(n):
        forest.add(top, rule, prefixes[i], int(X[i, n]))
    forest.add(top, free, int(X[0, n]))
    forest.add(top, free, prefixes[n])
    return top
