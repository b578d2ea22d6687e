"""D_n(x) with places in the target: rules that know which target words they span."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partita.arrays import BoolArray, IntArray
from partita.grammars.forest import EmptyForestError, Forest, Rule
from partita.grammars.itg import no_translation, pair_forest
from partita.structures.batch import offsets
from partita.structures.hypergraph import Hypergraph


class _SpanEdges(NamedTuple):
    """A forest and what its edges and nodes are."""

    graph: Hypergraph
    rule: NDArray[np.int8]
    part: IntArray
    node_spans: IntArray


def positioned_forest(
    choices: Sequence[ArrayLike],
    deletions: ArrayLike,
    insertions: ArrayLike,
    longest: int,
    *,
    normal_form: bool = False,
) -> Forest:
    """D_n(x): the derivations of `bounded_forest`, with real target spans instead of lengths.

    `choices` holds for each source word the numbers of the target words that it may be linked to,
    `insertions` the numbers of those that may be inserted, each with an edge of its own ([-1] for
    one edge that stands for all, [] for none), and `deletions` (n,) says which words may be
    deleted. Nodes are (i, j, k, l), source words i .. j-1 and target words k .. l-1, as in
    `pair_forest`, once for each number of target words up to `longest`. So `edge_spans` says where
    each edge stands in the target, a feature of that can be the same in D_n(x) and in D(x, y), and
    log P(y | x, n) = log Z(x, y) - log Z_n(x) holds with such features too. Parts are those of
    `bounded_forest`, with an insertion score for each word that may be inserted. The sum of
    O(n³ m³) over all lengths m: for short sentences.

    >>> forest = positioned_forest([[5], [6]], [False, False], [], 2)
    >>> links = forest.rule == Rule.LINK
    >>> list(zip(forest.target_word[links].tolist(), forest.target_start[links].tolist()))
    [(5, 0), (5, 1), (6, 0), (6, 1)]
    """
    words = [_numbers(each) for each in choices]
    inserted = _numbers(insertions)
    can_delete = np.ascontiguousarray(np.asarray(deletions, dtype=np.bool_))
    n_choices = np.array([len(each) for each in words], dtype=np.int64)
    if can_delete.shape != n_choices.shape:
        raise ValueError(
            f"deletions has shape {can_delete.shape}; expected ({len(words)},), a boolean for each "
            "word that has choices."
        )
    if longest < 0:
        raise ValueError(f"longest is {longest}; expected 0 or more target words.")
    forests = [
        forest
        for m in range(longest + 1)
        if (forest := _of_length(n_choices, can_delete, len(inserted), m, normal_form)) is not None
    ]
    if not forests:
        raise EmptyForestError(no_translation(n_choices, can_delete, longest))
    joined = _joined([_told_apart(forest, n_choices, len(inserted)) for forest in forests])
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *words])
    return Forest(
        joined.graph,
        joined.rule,
        joined.part,
        numbers,
        joined.node_spans,
        len(words),
        (len(numbers),),
        len(inserted),
        inserted,
    )


def _numbers(words: ArrayLike) -> IntArray:
    return np.asarray(words, dtype=np.int64).reshape(-1)


def _of_length(
    n_choices: IntArray, can_delete: BoolArray, n_insertions: int, m: int, normal_form: bool
) -> Forest | None:
    """All derivations with m target words, as D(x, y) of an unknown y; None where there is none."""
    if len(n_choices) + m == 0:
        return None
    links = np.repeat(n_choices[:, np.newaxis] > 0, m, axis=1)
    try:
        return pair_forest(links, can_delete, np.full(m, n_insertions > 0), normal_form=normal_form)
    except EmptyForestError:
        return None


def _told_apart(forest: Forest, n_choices: IntArray, n_insertions: int) -> _SpanEdges:
    """Edges for every word in place of those that stand for any, with parts and node spans."""
    graph, rule = forest.hypergraph, forest.rule
    is_link, is_insertion = rule == Rule.LINK, rule == Rule.INSERTION
    n_copies = np.ones(graph.n_edges, dtype=np.int64)
    n_copies[is_link] = n_choices[forest.source_word[is_link]]
    n_copies[is_insertion] = n_insertions
    edges = np.repeat(np.arange(graph.n_edges), n_copies)
    copy = np.arange(len(edges)) - np.repeat(np.cumsum(n_copies) - n_copies, n_copies)
    first_choice, n_links, n = np.cumsum(n_choices) - n_choices, n_choices.sum(), len(n_choices)
    first_parts = np.full(graph.n_edges, n_links + n + n_insertions + 2)
    first_parts[is_link] = first_choice[forest.source_word[is_link]]
    is_deletion = rule == Rule.DELETION
    first_parts[is_deletion] = n_links + forest.source_word[is_deletion]
    first_parts[is_insertion] = n_links + n
    first_parts[rule == Rule.STRAIGHT] = n_links + n + n_insertions
    first_parts[rule == Rule.INVERTED] = n_links + n + n_insertions + 1
    # Only edges without tails are copied, so that the tails stay as they are.
    n_tails = np.diff(graph.tail_offsets)[edges]
    larger = Hypergraph.from_flat(
        graph.heads[edges], graph.tails_flat, offsets(n_tails), graph.root, graph.n_nodes
    )
    return _SpanEdges(larger, rule[edges], first_parts[edges] + copy, forest.node_spans)


def _joined(forests: Sequence[_SpanEdges]) -> _SpanEdges:
    """One forest whose root has the derivations of all: the roots, each its last node, become one.

    A derivation has the edges that it had.
    """
    n_nodes = np.array([each.graph.n_nodes - 1 for each in forests])
    root, starts = int(n_nodes.sum()), np.cumsum(n_nodes) - n_nodes
    graphs = list(zip([each.graph for each in forests], starts.tolist(), strict=True))
    heads = [np.where(g.heads == g.root, root, g.heads + start) for g, start in graphs]
    tails = [graph.tails_flat + start for graph, start in graphs]
    n_tails = np.concatenate([np.diff(graph.tail_offsets) for graph, _ in graphs])
    hypergraph = Hypergraph.from_flat(
        np.concatenate(heads), np.concatenate(tails), offsets(n_tails), root, root + 1
    )
    spans = [each.node_spans[:-1] for each in forests]
    return _SpanEdges(
        hypergraph,
        np.concatenate([each.rule for each in forests]),
        np.concatenate([each.part for each in forests]),
        np.concatenate([*spans, forests[-1].node_spans[-1:]]),
    )
