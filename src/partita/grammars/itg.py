"""Inversion transduction grammars: S -> X, X -> [X X] | <X X> | x/y | x/eps | eps/y (Wu, 1997)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, IntArray
from partita.grammars.forest import EmptyForestError, Forest
from partita.grammars.lexicon import Lexicon
from partita.kernels.bitext import itg_bounded, itg_edges, itg_pair
from partita.kernels.bitext.itg_edges import Edges
from partita.structures.hypergraph import Hypergraph

MOST_KEPT = 0.75
"""The share of edges in derivations from which on the others' memory is left to them."""


@dataclass(frozen=True, eq=False)
class ITG:
    """An inversion transduction grammar over the words of a lexicon.

    With `normal_form` every alignment has exactly one derivation; the plain grammar has many. The
    normal form is a part of the plain grammar: null words are attached to the link before them by
    straight rules, deletions first, and no left child of a rule is of the same kind as the rule.

    >>> lexicon = Lexicon.from_pairs([(0, 0), (1, 1)], n_source=2, n_target=2)
    >>> ITG(lexicon).pair([0, 1], [1, 0]).hypergraph.n_edges
    89
    >>> ITG(lexicon, normal_form=True).pair([0, 1], [1, 0]).hypergraph.n_edges
    19
    """

    lexicon: Lexicon
    normal_form: bool = False

    def pair(self, source: ArrayLike, target: ArrayLike) -> Forest:
        """D(x, y), all derivations of a pair of sentences, as word numbers: O(n³ m³) edges."""
        allowed = self.lexicon.allowed(source, target)
        return pair_forest(*allowed, normal_form=self.normal_form)

    def bounded(self, source: ArrayLike, longest: int, *, summed: bool = True) -> Forest:
        """D_n(x), all derivations of a sentence with at most `longest` target words.

        Where `summed`, one edge for each source word stands for all its translations, with the
        score `lexicon.translations(source).log_sums(...)`; otherwise each has its own, in the order
        of `translations(source).words`. The edge of
        an insertion stands for all words, with the score `lexicon.insertions.log_sums(...)`.
        """
        translations = self.lexicon.translations(source)
        first_choice = translations.offsets[:-1]
        n_choices, words = np.diff(translations.offsets), translations.words
        if summed:
            first_choice = np.arange(translations.n_groups)
            n_choices, words = (n_choices > 0).astype(np.int64), np.full(len(n_choices), -1)
        can_delete = self.lexicon.can_delete[np.asarray(source, dtype=np.int64)]
        can_insert = bool(self.lexicon.can_insert.any())
        shape = (first_choice, n_choices, can_delete, can_insert, longest)
        return _bounded(*shape, words, normal_form=self.normal_form)


def pair_forest(
    links: ArrayLike, deletions: ArrayLike, insertions: ArrayLike, *, normal_form: bool = False
) -> Forest:
    """D(x, y): all derivations of a pair of sentences.

    `links` (n, m), `deletions` (n,) and `insertions` (m,) say which terminal rules are allowed.
    Nodes are (i, j, k, l), source words i .. j-1 and target words k .. l-1; only those in a
    derivation of the pair are there. Costs O(n³ m³), some 40 million edges a second; in the normal
    form with few links per word there are far fewer: 10,000 for 15 x 15 words with three each.

    >>> [pair_forest(np.ones((n, n)), np.zeros(n), np.zeros(n)).hypergraph.n_edges for n in (1, 2)]
    [2, 7]
    """
    can_link, can_delete, can_insert = (
        np.ascontiguousarray(np.asarray(array, dtype=np.bool_))
        for array in (links, deletions, insertions)
    )
    if can_link.ndim != 2 or can_link.shape != (*can_delete.shape, *can_insert.shape):
        raise ValueError(
            f"links has shape {can_link.shape}, deletions {can_delete.shape} and insertions "
            f"{can_insert.shape}; expected (n, m), (n,) and (m,) for n source and m target words."
        )
    n, m = can_link.shape
    build = itg_pair.normal if normal_form else itg_pair.plain
    edges = _built(build, can_link, can_delete, can_insert)
    if edges is None:
        raise EmptyForestError(_no_pair(can_link, can_delete, can_insert))
    return Forest(_hypergraph(edges), edges.rule, edges.part, None, edges.spans, n, (n, m), m)


def bounded_forest(
    choices: Sequence[ArrayLike],
    deletions: ArrayLike,
    can_insert: bool,
    longest: int,
    *,
    normal_form: bool = False,
) -> Forest:
    """D_n(x): all derivations of a sentence with at most `longest` target words, or none at all.

    `choices` holds for each source word the numbers of the target words that it may be linked to,
    each with an edge of its own; [-1], say, for one edge that stands for all. `deletions` (n,) and
    `can_insert` say which words may be deleted, and whether any may be inserted. Nodes are
    (i, j, length). Costs O(n³ longest²), some 40 million edges a second; the edges depend on the
    numbers of choices only, so sentences of one length can share a forest.

    >>> bounded_forest([[-1], [-1]], [True, True], True, 2).hypergraph.n_edges
    64
    """
    words = [np.asarray(numbers, dtype=np.int64).reshape(-1) for numbers in choices]
    can_delete = np.ascontiguousarray(np.asarray(deletions, dtype=np.bool_))
    if can_delete.shape != (len(words),):
        raise ValueError(
            f"deletions has shape {can_delete.shape}; expected ({len(words)},), a boolean for each "
            "word that has choices."
        )
    n_choices = np.array([len(numbers) for numbers in words], dtype=np.int64)
    first_choice = np.cumsum(n_choices) - n_choices
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *words])
    shape = (first_choice, n_choices, can_delete, bool(can_insert), longest)
    return _bounded(*shape, numbers, normal_form=normal_form)


def _bounded(
    first_choice: IntArray,
    n_choices: IntArray,
    can_delete: BoolArray,
    can_insert: bool,
    longest: int,
    words: IntArray,
    *,
    normal_form: bool,
) -> Forest:
    """D_n(x) where `words` are the numbers of all choices, those of word i from first_choice[i]."""
    if longest < 0:
        raise ValueError(f"longest is {longest}; expected 0 or more target words.")
    build = itg_bounded.normal if normal_form else itg_bounded.plain
    edges = _built(build, first_choice, n_choices, can_delete, can_insert, int(longest))
    if edges is None:
        raise EmptyForestError(no_translation(n_choices, can_delete, longest))
    n, shape = len(n_choices), (len(words),)
    return Forest(_hypergraph(edges), edges.rule, edges.part, words, edges.spans, n, shape, 1)


def _built(build: Callable[..., None], *given: Any) -> Edges | None:
    """What a kernel builds: counted first, then written; None if there is nothing.

    NumPy's large arrays have large pages, which kernels cannot ask for.
    """
    counts = np.zeros(3, dtype=np.int64)
    build(*given, None, counts)
    n_edges, n_tails, n_nodes = counts.tolist()
    if not n_edges:
        return None
    sizes = (n_edges, n_tails, n_edges + 1, n_edges, n_edges, (n_nodes, 4))
    kinds: tuple[Any, ...] = (np.int64, np.int64, np.int64, np.int8, np.int64, np.int64)
    edges = Edges(*(np.empty(size, dtype=kind) for size, kind in zip(sizes, kinds, strict=True)))
    build(*given, edges, counts)
    itg_edges.keep_needed(edges, counts)
    kept, kept_tails, kept_nodes = counts.tolist()
    ends = (kept, kept_tails, kept + 1, kept, kept, kept_nodes)
    needed = [array[:end] for array, end in zip(edges, ends, strict=True)]
    # A copy gives back the memory of what was left out; where that is little, it does not pay.
    is_most = kept >= MOST_KEPT * n_edges
    return Edges(*(array if is_most else array.copy() for array in needed))


def _hypergraph(edges: Edges) -> Hypergraph:
    """Its root is the last node, and every node comes behind its tails."""
    n_nodes = len(edges.spans)
    shape = edges.tails, edges.tail_offsets, n_nodes - 1, n_nodes
    return Hypergraph.from_kernel(edges.heads, *shape, is_ascending=True)


def _no_pair(links: BoolArray, deletions: BoolArray, insertions: BoolArray) -> str:
    lonely_source = np.flatnonzero(~links.any(axis=1) & ~deletions)
    lonely_target = np.flatnonzero(~links.any(axis=0) & ~insertions)
    if links.shape == (0, 0):
        reason = "both sentences are empty"
    elif lonely_source.size:
        reason = f"source word {lonely_source[0]} can be neither linked nor deleted"
    elif lonely_target.size:
        reason = f"target word {lonely_target[0]} can be neither linked nor inserted"
    else:
        reason = "the allowed links cannot be completed without crossing in a forbidden pattern"
    return (
        f"the pair of {links.shape[0]} source and {links.shape[1]} target words has no derivation: "
        f"{reason}. Allow more links, deletions or insertions, or leave the pair out."
    )


def no_translation(n_choices: IntArray, deletions: BoolArray, longest: int) -> str:
    """Why a sentence has no derivation with at most `longest` target words, and what to do."""
    lonely = np.flatnonzero((n_choices == 0) & ~deletions)
    if len(n_choices) == 0:
        reason = "the sentence is empty and nothing can be inserted"
    elif lonely.size:
        reason = f"word {lonely[0]} can be neither linked nor deleted"
    else:
        reason = f"more than {longest} of its words must be linked"
    return (
        f"the sentence of {len(n_choices)} words has no derivation with at most {longest} target "
        f"words: {reason}. Allow more links or deletions, or a longer target."
    )
