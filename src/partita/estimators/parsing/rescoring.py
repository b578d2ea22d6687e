"""The best trees of one parser, compared by the scores of another as well.

A parser of the second order knows more of a tree than one of the first, but its trees cannot cross;
one of the first order, over all spanning trees, was taught by trees as they are. Either has a score
for any tree, since words have siblings whether arcs cross or not. So one proposes its exact k best,
and both choose among these.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.estimators.parsing.model import ParserModel, without_labels
from partita.structures.sibling_forests import sibling_places

N_PROPOSED = 32
"""Trees that are proposed."""
SHARE = 0.3
"""Of the other parser, in what trees are compared by; chosen on Basque, 0.2 to 0.4 are alike."""

Scored = list[tuple[IntArray, float]]
"""Trees of a sentence and their scores."""


@dataclass(frozen=True)
class Rescorer:
    """A parser that others' trees are shown to."""

    model: ParserModel
    weights: FloatArray

    def rescored(self, sentences: Sequence[Any], found: Sequence[Scored]) -> list[Scored]:
        """Trees of some sentences with (1 - SHARE) times their scores and SHARE times ours."""
        result = []
        for piece in self.model.pieces(self.model.encode(sentences)):
            p = without_labels(piece.at(self.weights))
            for scores, trees in zip(
                zip(*p.structures.split_arrays(p.scores), strict=True), piece.of(found), strict=True
            ):
                result.append(
                    [
                        (heads, (1 - SHARE) * score + SHARE * tree_score(scores, heads))
                        for heads, score in trees
                    ]
                )
        return result


def tree_score(scores: Sequence[Array], heads: IntArray) -> float:
    """The score of a tree, from those of arcs and perhaps of siblings, also where arcs cross.

    >>> arcs, siblings = np.zeros((4, 4)), np.zeros((4, 4, 4))
    >>> arcs[2, 1], siblings[2, 2, 1], siblings[0, 0, 2] = 1.0, 0.5, 0.25
    >>> tree_score([arcs, siblings], np.array([2, 0, 2]))
    1.75
    """
    arcs, *siblings = scores
    total = float(arcs[heads, np.arange(1, len(heads) + 1)].sum())
    for each in siblings:
        total += float(each[tuple(sibling_places(heads).T)].sum())
    return total


def best_scored(trees: Scored) -> IntArray:
    """The tree with the largest score; the first of them, where there are several."""
    return max(trees, key=lambda tree: tree[1])[0]
