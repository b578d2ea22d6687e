"""The rules of one source sentence under an ITG, as parts that D_n(x) and every D(x, y) share.

A part is a rule at a place: word s translated as y, word s deleted, y inserted at source boundary
i, the target m words long, or the source words s .. t-1 split at S, in the same order or inverted.
Its score may depend on all of the source sentence. Forests of the sentence, with a target or
without, only say which part each of their edges is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from partita.arrays import IntArray
from partita.grammars.choices import TargetChoices
from partita.grammars.forest import EmptyForestError, Forest, Rule
from partita.grammars.itg import bounded_forest, pair_forest
from partita.grammars.rule_arrays import Sides, target_words
from partita.structures.batch import offsets as offsets_of
from partita.structures.forests import Forests
from partita.structures.hypergraph import Hypergraph
from partita.structures.tied_forests import TiedForest

NONE = -1


@dataclass(frozen=True, eq=False)
class SourceParts:
    """The parts of a source sentence, numbered: links, deletions, insertions, lengths, splits.

    >>> links = TargetChoices(
    ...     np.array([7, 8, 9]), np.array([0, 2, 3])
    ... )  # 7 or 8 for word 0, 9 for word 1
    >>> insertions = TargetChoices(
    ...     np.array([5, 5, 5]), np.array([0, 1, 2, 3])
    ... )  # 5 at each boundary
    >>> parts = SourceParts(links, insertions, longest=3)
    >>> parts.first_deletion, parts.first_insertion, parts.first_length, parts.first_split
    (3, 5, 8, 12)
    >>> parts.n_parts  # one way to split two words, straight or inverted
    14
    """

    links: TargetChoices
    """Translations of each source word, without repetition; n groups."""
    insertions: TargetChoices
    """What may be inserted at each source boundary, without repetition; n + 1 groups."""
    longest: int
    """Most target words."""

    @property
    def n_source(self) -> int:
        """Number of source words."""
        return self.links.n_groups

    @cached_property
    def bounds(self) -> tuple[int, int, int, int, int, int]:
        """Where links, deletions, insertions, lengths and splits begin, and the end of all."""
        deletions, n = len(self.links.words), self.n_source
        lengths = deletions + n + len(self.insertions.words)
        splits = lengths + self.longest + 1
        return 0, deletions, deletions + n, lengths, splits, splits + 2 * self.n_splits

    @property
    def first_deletion(self) -> int:
        """The part of deleting word 0; word s is s further."""
        return self.bounds[1]

    @property
    def first_insertion(self) -> int:
        """The part of the first word in `insertions`."""
        return self.bounds[2]

    @property
    def first_length(self) -> int:
        """The part of an empty target; that of m words is m further."""
        return self.bounds[3]

    @property
    def first_split(self) -> int:
        """The part of the first split by the straight rule; those of the inverted rule follow."""
        return self.bounds[4]

    @property
    def n_splits(self) -> int:
        """Number of triples s < S < t of source boundaries."""
        n = self.n_source
        return (n + 1) * n * (n - 1) // 6

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return self.bounds[5]

    @property
    def without_score(self) -> int:
        """The part of edges without a score, see `TiedForest`."""
        return self.n_parts

    @property
    def forbidden(self) -> int:
        """The part of edges that are not allowed, see `TiedForest`."""
        return self.n_parts + 1

    def bounded(self, topology: "Topology") -> TiedForest:
        """D_n(x): all derivations with at most `longest` target words; O(edges) look-ups."""
        shape = (self.n_source, self.longest)
        if shape != (topology.n_source, topology.longest):
            raise ValueError(
                f"the topology is of {topology.n_source} source and at most {topology.longest} "
                f"target words; expected {shape[0]} and {shape[1]}."
            )
        numbers = [
            self._padded(self.links, 0, topology.most_links),
            np.arange(self.first_deletion, self.first_insertion),
            self._padded(self.insertions, self.first_insertion, topology.most_insertions),
            np.arange(self.first_length, self.without_score + 1),
        ]
        parts = np.concatenate(numbers).astype(np.int32)[topology.slots]
        return TiedForest(topology.forest, parts, self.n_parts)

    def pair(self, target: IntArray) -> TiedForest:
        """D(x, y): the derivations whose target is the given one, as numbers of words.

        Raises `EmptyForestError` where there is none.
        """
        links, insertions = self.places(target)
        if len(target) > self.longest:
            raise EmptyForestError(
                f"the target has {len(target)} words; expected at most {self.longest}. Allow "
                "longer targets, or leave the pair out."
            )
        deletions = np.ones(self.n_source, dtype=np.bool_)
        can_insert = (insertions != NONE).any(axis=0)
        forest = pair_forest(links != NONE, deletions, can_insert, normal_form=True)
        parts = self._pair_parts(forest, links, insertions).astype(np.int32)
        return TiedForest(Forests([forest.hypergraph]), parts, self.n_parts)

    def places(self, target: IntArray) -> tuple[IntArray, IntArray]:
        """The part of each target word at each source word, (n, m), and boundary, (n + 1, m).

        -1 where it is no choice.
        """
        return (
            _places(self.links, 0, target),
            _places(self.insertions, self.first_insertion, target),
        )

    def _pair_parts(self, forest: Forest, links: IntArray, insertions: IntArray) -> IntArray:
        """The part of each edge of D(x, y)."""
        spans = forest.edge_spans
        parts = np.full(forest.hypergraph.n_edges, self.without_score)
        is_link = forest.rule == Rule.LINK
        parts[is_link] = links[spans[is_link, 0], spans[is_link, 2]]
        is_deletion = forest.rule == Rule.DELETION
        parts[is_deletion] = self.first_deletion + spans[is_deletion, 0]
        is_insertion = forest.rule == Rule.INSERTION
        inserted = insertions[spans[is_insertion, 0], spans[is_insertion, 2]]
        parts[is_insertion] = np.where(inserted == NONE, self.forbidden, inserted)
        parts[forest.rule == Rule.START] = self.first_length + forest.links_shape[1]
        place_splits(forest, parts, self.first_split, self.n_splits)
        return parts

    def _padded(self, choices: TargetChoices, first: int, most: int) -> IntArray:
        """The parts of each group's words, forbidden ones behind them up to `most`; flat."""
        counts = np.diff(choices.offsets)
        places = choices.offsets[:-1, np.newaxis] + np.arange(most)
        missing = np.arange(most) >= counts[:, np.newaxis]
        return np.where(missing, self.forbidden, first + places).reshape(-1)


@dataclass(frozen=True, eq=False)
class Topology:
    """D_n(x) of all sentences of one length: its edges, and for each edge a slot.

    A slot is a part of a sentence with `most_links` translations for every word and
    `most_insertions` insertions at every boundary; a sentence with fewer forbids the rest.
    """

    n_source: int
    longest: int
    most_links: int
    most_insertions: int

    @cached_property
    def forest(self) -> Forests:
        """The hypergraph, laid out."""
        return self._built[0]

    @property
    def slots(self) -> NDArray[np.int32]:
        """The slot of each edge; the one behind the last for edges without a score."""
        return self._built[1]

    @cached_property
    def _built(self) -> tuple[Forests, NDArray[np.int32]]:
        n, most = self.n_source, self.most_links
        plain = bounded_forest(
            [range(most)] * n,
            np.ones(n, dtype=np.bool_),
            self.most_insertions > 0,
            self.longest,
            normal_form=True,
        )
        first_insertion = n * most + n
        first_length = first_insertion + (n + 1) * self.most_insertions
        first_split = first_length + self.longest + 1
        n_splits = (n + 1) * n * (n - 1) // 6
        slots = np.full(plain.hypergraph.n_edges, first_split + 2 * n_splits)
        is_leaf = (plain.rule == Rule.LINK) | (plain.rule == Rule.DELETION)
        slots[is_leaf] = plain.part[is_leaf]
        starts = np.flatnonzero(plain.rule == Rule.START)
        tails = plain.hypergraph.tails_flat[plain.hypergraph.tail_offsets[starts]]
        slots[starts] = first_length + plain.node_spans[tails, 3]
        place_splits(plain, slots, first_split, n_splits)
        insertions = np.flatnonzero(plain.rule == Rule.INSERTION)
        boundaries = plain.edge_spans[insertions, 0]
        slots[insertions] = first_insertion + boundaries * self.most_insertions
        graph, extra = _with_copies(plain.hypergraph, insertions, self.most_insertions)
        slots = np.concatenate([slots, slots[insertions][extra[0]] + extra[1]])
        return Forests([graph]), slots.astype(np.int32)


def _with_copies(
    graph: Hypergraph, leaves: IntArray, n_copies: int
) -> tuple[Hypergraph, tuple[IntArray, IntArray]]:
    """The hypergraph with n_copies edges in place of each leaf; which leaf and which copy each
    new edge is.
    """
    which = np.repeat(np.arange(len(leaves)), max(n_copies - 1, 0))
    copy = np.tile(np.arange(1, max(n_copies, 1)), len(leaves))
    if len(which) == 0:
        return graph, (which, copy)
    heads = np.concatenate([graph.heads, graph.heads[leaves][which]])
    ends = np.full(len(which), graph.tail_offsets[-1])
    offsets = np.concatenate([graph.tail_offsets, ends])
    larger = Hypergraph.from_flat(heads, graph.tails_flat, offsets, graph.root, graph.n_nodes)
    return larger, (which, copy)


def place_splits(forest: Forest, parts: IntArray, first: int, n_splits: int) -> None:
    """Write the parts of binary rules, but for those that only attach words without a partner.

    Such a rule has a tail without words on one side; or it joins what stands before all links with
    the rest, and is the last before the start.
    """
    graph = forest.hypergraph
    starts = graph.tail_offsets[:-1][forest.rule == Rule.START]
    is_top = np.isin(graph.heads, graph.tails_flat[starts])
    binary = np.flatnonzero((np.diff(graph.tail_offsets) == 2) & ~is_top)
    left = forest.node_spans[graph.tails_flat[graph.tail_offsets[binary]]]
    right = forest.node_spans[graph.tails_flat[graph.tail_offsets[binary] + 1]]
    has_words = [(side[:, 1] > side[:, 0]) & (side[:, 3] > side[:, 2]) for side in (left, right)]
    kept = has_words[0] & has_words[1]
    chosen, left, right = binary[kept], left[kept], right[kept]
    number = split_numbers(forest.n_source)[left[:, 0], left[:, 1], right[:, 1]]
    parts[chosen] = first + number + n_splits * (forest.rule[chosen] == Rule.INVERTED)


def _places(choices: TargetChoices, first: int, target: IntArray) -> IntArray:
    """The part of each target word at each group, (n_groups, m); -1 where it is no choice."""
    group = np.repeat(np.arange(choices.n_groups), np.diff(choices.offsets))
    places = np.full((choices.n_groups, len(target)), NONE, dtype=np.int64)
    choice, position = np.nonzero(choices.words[:, np.newaxis] == target)
    places[group[choice], position] = first + choice
    return places


@lru_cache(maxsize=256)
def split_numbers(n: int) -> NDArray[np.int32]:
    """The number of each triple of boundaries s < S < t of n words, [s, S, t]; -1 for others.

    >>> split_numbers(2)[0, 1, 2]
    np.int32(0)
    """
    s, middle, t = np.meshgrid(*3 * [np.arange(n + 1)], indexing="ij")
    valid = (s < middle) & (middle < t)
    numbers = np.full(valid.shape, NONE, dtype=np.int32)
    numbers[valid] = np.arange(valid.sum())
    return numbers


def splits(n: int) -> tuple[IntArray, IntArray, IntArray]:
    """The boundaries s, S and t of each split of n words, in the order of `split_numbers`."""
    s, middle, t = np.nonzero(split_numbers(n) != NONE)
    return s, middle, t


def targets_of(
    parts: SourceParts, forest: TiedForest, derivations: Sequence[IntArray]
) -> list[IntArray]:
    """The target words of derivations of D_n(x) or D(x, y), each in order; O(edges).

    >>> choices = TargetChoices(np.array([7, 8]), np.array([0, 1, 2]))
    >>> parts = SourceParts(
    ...     choices, TargetChoices(np.zeros(0, dtype=np.int64), np.zeros(4, int)), 2
    ... )
    >>> forest = parts.pair(np.array([8, 7]))
    >>> targets_of(parts, forest, forest.forest.argmax(np.zeros(len(forest.parts))).structures)
    [array([8, 7])]
    """
    offsets = forest.hypergraph.tail_offsets
    edges = np.concatenate([np.zeros(0, dtype=np.int64), *derivations])
    n_tails, used = offsets[edges + 1] - offsets[edges], forest.parts[edges].astype(np.int64)
    # A rule for every link and insertion, and one each for what has no words, one tail, two tails
    # in the order of the source, and two in the other.
    n_links, n_leaves = parts.first_deletion, parts.first_deletion + len(parts.insertions.words)
    inverted = (used >= parts.first_split + parts.n_splits) & (used < parts.n_parts)
    is_insertion = (used >= parts.first_insertion) & (used < parts.first_length)
    rules = np.select(
        [n_tails == 2, n_tails == 1, used < n_links, is_insertion],
        [n_leaves + 2 + inverted, n_leaves + 1, used, n_links + used - parts.first_insertion],
        n_leaves,
    )
    words = np.concatenate([parts.links.words, parts.insertions.words]).astype(np.int32)
    symbols = np.concatenate([words, np.array([-1, -1, -2, -2, -1], dtype=np.int32)])
    lengths = np.concatenate([np.ones(n_leaves, dtype=np.int64), [0, 1, 2, 2]])
    sides = Sides(symbols, offsets_of(lengths))
    starts = offsets_of(np.array([len(each) for each in derivations], dtype=np.int64))
    return target_words(np.arange(len(edges)), starts, rules, n_tails, sides)
