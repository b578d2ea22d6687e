"""Forests: hypergraphs whose edges know their rule and the words that they span."""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partita.arrays import FloatArray, IntArray
from partita.grammars.parts import RuleScores
from partita.grammars.spans import SpannedEdges
from partita.kernels.bitext import itg_edges
from partita.structures.forests import checked_derivation
from partita.structures.hypergraph import Hypergraph


class EmptyForestError(ValueError):
    """A sentence, or a pair, has no derivation."""


class Rule(IntEnum):
    """Rules of an inversion transduction grammar."""

    START = itg_edges.START
    """S -> X."""
    STRAIGHT = itg_edges.STRAIGHT
    """X -> [X X]: both sides in the same order."""
    INVERTED = itg_edges.INVERTED
    """X -> <X X>: the target side in the other order."""
    LINK = itg_edges.LINK
    """X -> x/y."""
    DELETION = itg_edges.DELETION
    """X -> x/eps."""
    INSERTION = itg_edges.INSERTION
    """X -> eps/y."""
    UNIT = itg_edges.UNIT
    """No rule of the grammar: joins nodes of the normal form that stand for the same X."""


@dataclass(frozen=True, eq=False)
class Forest(SpannedEdges):
    """All derivations of a source sentence, or of a pair, under an inversion transduction grammar.

    `hypergraph` holds the derivations; its tails are in the order of the source. Every edge is an
    instance of a rule, and `part[e]` says which: an index into the flat `RuleScores` of the
    sentence. Edges that no rule scores (START, UNIT) have the index `n_parts`.

    Where the target is given, target boundaries are places in it, and `target_word` a place. Where
    it is not, `target_word` is the number of a word, or -1 where the edge stands for the sum over
    words; target boundaries are places if the forest is a `positioned_forest`, else `target_start`
    is 0 and `target_end` the number of target words.
    """

    hypergraph: Hypergraph
    rule: NDArray[np.int8]
    """`Rule` of each edge, (n_edges,)."""
    part: IntArray
    """Which rule score each edge has, (n_edges,)."""
    choices: IntArray | None
    """Where the target is not given, the number of the target word of each link score."""
    node_spans: IntArray
    """First and last source boundary, first and last target boundary of each node, (n_nodes, 4)."""
    n_source: int
    links_shape: tuple[int, ...]
    """Shape of `RuleScores.links`: (n_source, n_target), or (n_choices,)."""
    n_insertions: int
    """Length of `RuleScores.insertions`."""
    insertion_choices: IntArray | None = None
    """Where inserted words are told apart but the target is not given, their numbers."""

    @property
    def n_parts(self) -> int:
        """Number of rule scores of the sentence."""
        return int(np.prod(self.links_shape)) + self.n_source + self.n_insertions + 2

    @property
    def target_start(self) -> IntArray:
        """First target word of each edge; 0 where nodes know only how many there are."""
        return self.edge_spans[:, 2]

    @property
    def target_end(self) -> IntArray:
        """The place after the last target word; the number of words where that is all they know."""
        return self.edge_spans[:, 3]

    @cached_property
    def source_word(self) -> IntArray:
        """The place of the source word of each link and deletion; -1 for other edges."""
        has_word = (self.rule == Rule.LINK) | (self.rule == Rule.DELETION)
        return np.where(has_word, self.source_start, -1)

    @cached_property
    def target_word(self) -> IntArray:
        """Place or number of the target word of each link and insertion; -1 for other edges."""
        word = np.full(self.hypergraph.n_edges, -1)
        links = np.flatnonzero(self.rule == Rule.LINK)
        insertions = np.flatnonzero(self.rule == Rule.INSERTION)
        if self.choices is not None:
            word[links] = self.choices[self.part[links]]
            if self.insertion_choices is not None:
                first = self.n_parts - 2 - self.n_insertions
                word[insertions] = self.insertion_choices[self.part[insertions] - first]
            return word
        word[links] = self.part[links] % max(self.n_insertions, 1)
        word[insertions] = self.part[insertions] - (self.n_parts - 2 - self.n_insertions)
        return word

    @cached_property
    def source_split(self) -> IntArray:
        """Where the second tail of a binary rule starts on the source side; -1 for other edges."""
        split = np.full(self.hypergraph.n_edges, -1)
        binary = np.flatnonzero(np.diff(self.hypergraph.tail_offsets) == 2)
        second = self.hypergraph.tails_flat[self.hypergraph.tail_offsets[binary] + 1]
        split[binary] = self.node_spans[second, 0]
        return split

    def edge_scores(self, scores: RuleScores) -> FloatArray:
        """The score of each edge, (n_edges,), from the scores of the rules; 0 for START and UNIT.

        >>> from partita.grammars.itg import pair_forest
        >>> forest = pair_forest(np.ones((1, 1)), np.zeros(1), np.zeros(1))
        >>> scores = RuleScores(np.array([[-2.0]]), np.zeros(1), np.zeros(1), 0.0, 0.0)
        >>> [(Rule(r).name, s) for r, s in zip(forest.rule, forest.edge_scores(scores).tolist())]
        [('LINK', -2.0), ('START', 0.0)]
        """
        flat = scores.flat()
        if len(flat) != self.n_parts:
            raise ValueError(
                f"{len(flat)} rule scores came; expected {self.n_parts}: links "
                f"{self.links_shape}, deletions ({self.n_source},), insertions "
                f"({self.n_insertions},), straight and inverted."
            )
        return np.append(flat, 0.0)[self.part]

    def rule_counts(self, edge_counts: FloatArray) -> RuleScores:
        """Counts of the rules from counts of the edges: the transpose of `edge_scores`.

        With the marginals of the edges, the expected number of uses of every rule.
        """
        counts: FloatArray = np.bincount(
            self.part, weights=edge_counts, minlength=self.n_parts + 1
        ).astype(np.float64)
        return RuleScores.from_flat(counts[: self.n_parts], self.links_shape, self.n_source)

    def leaves_of(self, derivation: ArrayLike) -> IntArray:
        """The terminal edges of a derivation, in the order of the target.

        A deletion stands where its empty target does.
        """
        edges = checked_derivation(self.hypergraph, derivation, 0)
        n_tails = np.diff(self.hypergraph.tail_offsets)
        stack: list[list[int]] = []
        for edge in edges[::-1].tolist():
            if n_tails[edge] == 0:
                stack.append([edge])
            elif n_tails[edge] == 2:
                first, second = stack.pop(), stack.pop()
                inverted = self.rule[edge] == Rule.INVERTED
                stack.append(second + first if inverted else first + second)
        return np.array(stack.pop(), dtype=np.int64)

    def tree_of(self, derivation: ArrayLike) -> Any:
        """A derivation as nested tuples: ("straight", left, right), ("inverted", left, right).

        Leaves are (source place, target place in its `yield_of`), None on a side without a word;
        what `partita.show.derivation` draws.

        >>> from partita.grammars.itg import pair_forest
        >>> from partita.structures.forests import Forests
        >>> forest = pair_forest(np.eye(2)[::-1], np.zeros(2), np.zeros(2))
        >>> best = Forests([forest.hypergraph]).argmax(np.zeros(forest.hypergraph.n_edges))
        >>> forest.tree_of(best.structures[0])
        ('inverted', (0, 1), (1, 0))
        """
        edges = checked_derivation(self.hypergraph, derivation, 0)
        n_tails = np.diff(self.hypergraph.tail_offsets)
        # An edge may occur several times, so leaves are told apart by their place in preorder.
        stack: list[tuple[Any, list[int]]] = []
        for index in range(len(edges) - 1, -1, -1):
            edge = edges[index]
            if n_tails[edge] == 0:
                stack.append((index, [] if self.rule[edge] == Rule.DELETION else [index]))
            elif n_tails[edge] == 2:
                (left, first), (right, second) = stack.pop(), stack.pop()
                is_inverted = self.rule[edge] == Rule.INVERTED
                name = "inverted" if is_inverted else "straight"
                stack.append(
                    ((name, left, right), second + first if is_inverted else first + second)
                )
        tree, order = stack.pop()
        place = {index: target for target, index in enumerate(order)}

        def named(node: Any) -> Any:
            if isinstance(node, tuple):
                return node[0], named(node[1]), named(node[2])
            source = int(self.source_word[edges[node]])
            return source if source >= 0 else None, place.get(node)

        return named(tree)

    def yield_of(self, derivation: ArrayLike) -> IntArray:
        """The target words of a derivation, in order: `target_word` of its links and insertions.

        >>> from partita.grammars.itg import bounded_forest
        >>> forest = bounded_forest([[5], [6, 7]], [False, False], False, 2)  # 5 6, 5 7, 6 5, 7 5
        >>> from partita.distribution.hypergraph import HypergraphDistribution
        >>> p = HypergraphDistribution(forest.hypergraph, np.zeros(forest.hypergraph.n_edges))
        >>> sorted(forest.yield_of(derivation).tolist() for derivation, _ in p.k_best(9))
        [[5, 6], [5, 7], [6, 5], [7, 5]]
        """
        leaves = self.leaves_of(derivation)
        words: IntArray = self.target_word[leaves[self.rule[leaves] != Rule.DELETION]]
        return words

    def alignment_of(self, derivation: ArrayLike) -> list[tuple[int, int]]:
        """The links of a derivation: places in the source and in its `yield_of`, by source."""
        leaves = self.leaves_of(derivation)
        leaves = leaves[self.rule[leaves] != Rule.DELETION]
        links = np.flatnonzero(self.rule[leaves] == Rule.LINK)
        return sorted(zip(self.source_word[leaves[links]].tolist(), links.tolist(), strict=True))
