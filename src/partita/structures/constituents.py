"""Binary constituency trees: every span of words in the tree has a score, and maybe a label."""

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray
from partita.structures.base import Inference, Structure
from partita.structures.batch import largest_finite
from partita.structures.part_arrays import PartArray
from partita.structures.step_structures import Step, StepStructures
from partita.structures.tied_forests import TiedForest


class ConstituencyTrees(StepStructures):
    """All binary trees over sentences of `n_words` words, where `n_labels` with labelled spans.

    The parts of a sentence of n words are its spans, [first, last] of shape (n, n) with both words
    in the span; with labels, (n, n, n_labels). Cells below the diagonal belong to no tree: what is
    there is ignored. A tree has 2 n - 1 spans, single words among them.

    A structure is an array of rows (first, last), or (first, last, label), for each span of the
    tree from the top down and from left to right; a caller's rows may come in any order.
    """

    def __init__(self, n_words: ArrayLike, n_labels: int | None = None) -> None:
        self.n_labels = n_labels
        labels = () if n_labels is None else (n_labels,)
        super().__init__(n_words, [PartArray("spans", 2, inner=labels)])

    def forest(self, n_words: int) -> TiedForest:
        """A node for each span, and with labels a second one, of the span without its label."""
        return self.build(n_words, self._steps(n_words), root=(0, n_words - 1))

    def _steps(self, n_words: int) -> Iterator[Step]:
        """Head, tails and cell of each step.

        (i, j): a tree over the words i to j. ("inside", i, j): the same without its own label.
        """
        for first in range(n_words):
            for last in range(first, n_words):
                span = (first, last)
                cuts = range(first, last)
                tails: list[Sequence[Hashable]] = [((first, k), (k + 1, last)) for k in cuts] or [
                    ()
                ]
                if self.n_labels is None:
                    for pair in tails:
                        yield span, pair, ("spans", first, last)
                    continue
                inside = ("inside", first, last)
                for label in range(self.n_labels):
                    yield span, (inside,), ("spans", first, last, label)
                for pair in tails:
                    yield inside, pair, None

    def structure(self, n_words: int, *places: IntArray) -> Structure:
        """Rows from the top down: of spans that begin together, the longest is first."""
        rows = places[0]
        return rows[np.lexsort((-rows[:, 1], rows[:, 0]))]

    def places(self, n_words: int, structure: Structure, sentence: int) -> Sequence[ArrayLike]:
        """The cells are the rows themselves."""
        rows = np.asarray(structure)
        names = "(first, last)" if self.n_labels is None else "(first, last, label)"
        n_columns = 2 if self.n_labels is None else 3
        shape = (2 * n_words - 1, n_columns)
        if rows.shape != shape or rows.dtype.kind not in "iu":
            raise ValueError(
                f"the tree of sentence {sentence} is an array of {rows.dtype} of shape "
                f"{rows.shape}; expected {shape}, a row {names} of whole numbers for each span of "
                "a binary tree, single words among them."
            )
        return (rows,)

    def moved(self, structure: Structure, places: IntArray) -> Structure:
        """Spans name words, which a padded batch may have at other places."""
        rows = np.array(structure)
        rows[:, :2] = places[rows[:, :2]]
        return rows

    def centred(self, scores: FloatArray, inference: Inference) -> FloatArray:
        """Less the largest score: of each word, of the whole sentence, and of all other spans.

        The first two are in every tree, and of the others every tree has as many, n - 2.
        """
        centred = scores.copy()
        self.clear_unused(centred)
        for spans in self.split_arrays(centred)[0]:
            table = spans.reshape(len(spans), len(spans), -1)
            inner = np.ones(table.shape[:2], dtype=np.bool_)
            np.fill_diagonal(inner, val=False)
            inner[0, -1] = False
            cells = [table[word, word] for word in range(len(table))]
            cells += [table[0, -1]] * (len(table) > 1)
            for each in cells:
                each -= largest_finite(each, (0,))
            table[inner] -= largest_finite(table[inner], (0, 1))
        return centred

    def clear_unused(self, scores: FloatArray) -> float:
        """-inf below the diagonal."""
        n_wrong = 0
        for spans in self.split_arrays(scores)[0]:
            unused = np.tril_indices(len(spans), -1)
            n_wrong += int((~(spans[unused] < np.inf)).sum())
            spans[unused] = -np.inf
        return float(n_wrong)
