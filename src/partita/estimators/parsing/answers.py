"""Questions to a parser, batch by batch: decoding under constraints, labels."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.distribution.trees import Tree
from partita.estimators.parsing.labels import LabelModel
from partita.estimators.parsing.labels import one_subject as best_with_one_subject
from partita.estimators.parsing.model import ParserModel, Piece
from partita.estimators.parsing.words import Words
from partita.objectives.partial import known_heads
from partita.structures.base import Structure

Arcs = Sequence[tuple[int, int]]
"""(head, modifier), where words count from 1 and 0 is the root."""
SUBJECTS = ("nsubj", "csubj")
DECODERS = ("best", "risk", "joint")
N_CANDIDATES = 8
"""Trees among which the most probable labelled one is looked for."""


def with_projective(model: ParserModel, projective: bool) -> ParserModel:
    """The same model over another set of trees."""
    return replace(model, projective=projective)


def allowed_arcs(
    piece: Piece, required: Sequence[Arcs] | None, forbidden: Sequence[Arcs] | None
) -> BoolArray | None:
    """Which arcs of a piece its trees may use; None if all."""
    if required is None and forbidden is None:
        return None
    allowed = np.ones(piece.trees.n_parts, dtype=np.bool_)
    for index, arcs in zip(piece.sentences, piece.trees.split(allowed), strict=True):
        for head, modifier in (forbidden or {index: ()})[index]:
            _check_arc(head, modifier, len(arcs) - 1, index)
            arcs[head, modifier] = False
        for head, modifier in (required or {index: ()})[index]:
            _check_arc(head, modifier, len(arcs) - 1, index)
            others = np.arange(len(arcs)) != head
            arcs[others, modifier] = False
    return allowed


def _check_arc(head: int, modifier: int, n_words: int, sentence: int) -> None:
    if not (0 <= head <= n_words and 1 <= modifier <= n_words and head != modifier):
        raise ValueError(
            f"the arc ({head}, {modifier}) came for sentence {sentence}, which has {n_words} "
            "words; expected (head, modifier), two different words counted from 1, or 0, the root, "
            "as head."
        )


def decoded(p: Tree, decoder: str, allowed: BoolArray | None) -> list[Structure]:
    """The best tree of each sentence, or that of least risk, among those of allowed arcs."""
    if allowed is not None:
        p = p.flat_restricted(allowed)
    if decoder == "best":
        return p.best.structures
    # The fewest wrong arcs to be expected; arcs that no tree has stay out of it.
    marginals = np.where(p.scores == -np.inf, -np.inf, p.inference.marginals)
    return p.with_scores(marginals).best.structures


def candidates(p: Tree, allowed: BoolArray | None) -> list[list[tuple[IntArray, float]]]:
    """The best trees of each sentence, and their scores."""
    restricted = p if allowed is None else p.flat_restricted(allowed)
    found: list[list[tuple[IntArray, float]]] = restricted.k_best(N_CANDIDATES)
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
