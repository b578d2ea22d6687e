"""Questions to a parser, batch by batch: decoding under constraints, labels."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.dependencies import sentence_name
from partita.data.sentences import Sentence
from partita.distribution.trees import Tree
from partita.estimators.parsing.labels import LabelModel
from partita.estimators.parsing.labels import one_subject as best_with_one_subject
from partita.estimators.parsing.model import ParserModel, Piece
from partita.estimators.parsing.words import Words, where
from partita.objectives.partial import known_heads
from partita.structures.base import Structure
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.trees import Trees

Arcs = Sequence[tuple[int, int]]
"""(head, modifier), where words count from 1 and 0 is the root."""
SUBJECTS = ("nsubj", "csubj")
DECODERS = ("best", "risk", "joint")
N_CANDIDATES = 8
"""Trees among which the most probable labelled one is looked for."""


def with_projective(model: ParserModel, projective: bool) -> ParserModel:
    """The same model over another set of trees."""
    return replace(model, projective=projective)


def in_threads(
    answer: Callable[[Piece], list[Any]], pieces: Iterable[Piece], n_threads: int | None
) -> Iterator[list[Any]]:
    """The answer to each piece, in order, whichever thread gave it; all cores for None."""
    n_threads = n_threads or os.cpu_count() or 1
    if n_threads == 1:
        yield from map(answer, pieces)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(answer, pieces)


@dataclass(frozen=True)
class ArcLimits:
    """For each of all sentences, arcs that its tree must have and arcs that it may not have."""

    sentences: Sequence[Any]
    required: Sequence[Arcs] | None
    forbidden: Sequence[Arcs] | None

    def __post_init__(self) -> None:
        for name, arcs in (("required", self.required), ("forbidden", self.forbidden)):
            if arcs is not None and len(arcs) != len(self.sentences):
                raise ValueError(
                    f"{name} has arcs for {len(arcs)} sentences, and {len(self.sentences)} came; "
                    "expected a list for each, an empty one where there are none."
                )

    def restricted(self, p: Tree, piece: Piece) -> Tree:
        """The trees of a piece's sentences that are left."""
        if self.required is None and self.forbidden is None:
            return p
        allowed = np.ones(piece.trees.n_parts, dtype=np.bool_)
        for index, arcs in zip(piece.sentences, piece.trees.split(allowed), strict=True):
            for head, modifier in self._of(self.forbidden, index):
                arcs[head, modifier] = False
            for head, modifier in self._of(self.required, index):
                arcs[np.arange(len(arcs)) != head, modifier] = False
        left = p.flat_restricted(allowed)
        impossible = np.flatnonzero(piece.trees.argmax(left.scores).scores == -np.inf)
        if impossible.size:
            self._refuse(piece.sentences[int(impossible[0])], piece.trees)
        return left

    def _refuse(self, index: int, trees: Trees) -> NoReturn:
        sentence = self.sentences[index]
        conditions = ["whose arcs do not cross"] * isinstance(trees, ProjectiveTrees)
        conditions += ["with one root"] * trees.single_root
        name = sentence_name(sentence) if isinstance(sentence, Sentence) else "this sentence"
        raise ValueError(
            f"{where(sentence, index)}: {' '.join(['no tree', ' and '.join(conditions)]).strip()} "
            f"has all arcs that are required of {name} and none that is forbidden. Require or "
            "forbid fewer arcs."
        )

    def _of(self, arcs: Sequence[Arcs] | None, index: int) -> Arcs:
        found, n_words = () if arcs is None else arcs[index], len(self.sentences[index])
        for head, modifier in found:
            if not (0 <= head <= n_words and 1 <= modifier <= n_words and head != modifier):
                raise ValueError(
                    f"{where(self.sentences[index], index)}: the arc ({head}, {modifier}) came for "
                    f"a sentence of {n_words} words; expected (head, modifier), two different "
                    "words counted from 1, or 0, the root, as head."
                )
        return found


def decoded(p: Tree, decoder: str) -> list[Structure]:
    """The best tree of each sentence, or that of least risk."""
    if decoder == "best":
        return p.best.structures
    # The fewest wrong arcs to be expected; arcs that no tree has stay out of it.
    marginals = np.where(p.scores == -np.inf, -np.inf, p.inference.marginals)
    return p.with_scores(marginals).best.structures


def candidates(p: Tree) -> list[list[tuple[IntArray, float]]]:
    """The best trees of each sentence, and their scores."""
    found: list[list[tuple[IntArray, float]]] = p.k_best(N_CANDIDATES)
    return found


def most_probable_labelled(
    model: LabelModel,
    weights: FloatArray,
    words: Words,
    trees: Sequence[list[tuple[IntArray, float]]],
) -> list[IntArray]:
    """Of each sentence's candidates the one whose score + log p(best labels | tree) is largest.

    The labels look at siblings, children and the head's head, so that they know of a tree what
    scores of single arcs cannot.
    """
    ends = np.cumsum(words.n_words)[:-1]
    totals = np.full((N_CANDIDATES, len(trees)), -np.inf)
    for rank in range(max(map(len, trees), default=0)):
        flat = np.concatenate([found[min(rank, len(found) - 1)][0] for found in trees])
        best = model.log_probabilities(weights, words, flat).max(axis=1)
        for index, (found, part) in enumerate(zip(trees, np.split(best, ends), strict=True)):
            if rank < len(found):
                totals[rank, index] = found[rank][1] + part.sum()
    chosen = totals.argmax(axis=0)
    return [found[rank][0] for found, rank in zip(trees, chosen.tolist(), strict=True)]


def agreeing(p: Tree, heads: Sequence[IntArray]) -> FloatArray:
    """Log-partition of the trees that have the known heads (-1 where not known)."""
    allowed = known_heads(p.structures, heads)
    scores = np.where(allowed, p.scores, -np.inf)
    # A tree that is not allowed has probability 0; that is an answer, not an error.
    return p.structures.infer(scores).log_partition


def labels_of_trees(
    model: LabelModel,
    weights: FloatArray,
    words: Words,
    heads: Sequence[IntArray],
    *,
    one_subject: bool,
) -> list[list[str]]:
    """The best label of every arc."""
    flat = np.concatenate(heads)
    table = model.log_probabilities(weights, words, flat)
    if one_subject:
        is_subject = np.array([name.split(":")[0] in SUBJECTS for name in model.names])
        owners = np.repeat(words.first_nodes[:-1], words.n_words) + flat
        best = best_with_one_subject(table, owners, is_subject)
    else:
        best = table.argmax(axis=1)
    names = np.array(model.names, dtype=object)[best]
    ends = np.cumsum(words.n_words)[:-1]
    return [part.tolist() for part in np.split(names, ends)]
