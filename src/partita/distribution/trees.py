"""Distributions over dependency trees: arcs in, heads out."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partita import show
from partita.arrays import Array, FloatArray
from partita.distribution.base import SUM, Combine, Distribution
from partita.kernels.trees.labels import fill_unused
from partita.show.display import MOST_WORDS
from partita.show.svg import Svg
from partita.structures.batch import (
    Form,
    check_scores,
    recognise,
    word_counts,
)
from partita.structures.trees import Trees

ARCS = "(n+1, n+1), a score for every head and modifier with the root as row 0"
LABELLED_ARCS = "(n+1, n+1, n_labels), as labelled=True says, with the root as row 0"


class Tree(Distribution):
    """p(tree) proportional to exp(sum over words of arcs[head, word]); subclasses say which trees.

    Parameters
    ----------
    arcs
        Scores [head, modifier] of shape (n+1, n+1) with the root as row 0; where `labelled`,
        (n+1, n+1, n_labels). Column 0 and the diagonal are ignored, whatever is there. A batch is a
        list of such arrays, or one padded array with a leading axis, (B, N+1, N+1) or
        (B, N+1, N+1, n_labels).
    single_root
        Whether exactly one word hangs on the root; else one or more.
    labelled
        Whether arcs have labels, along the last axis. Three axes without it are a batch.
    n_words
        Number of words of each row of a padded array; all N if left out.

    A structure is its heads, (n,), with heads[i] the head of word i + 1 and 0 the root; labelled,
    a tuple (heads, labels). In `score` and `log_prob`, heads that are no tree of the set (a cycle,
    a second root under `single_root`) are an error; a tree with a forbidden arc gives -inf.
    """

    structures: Trees

    def __init__(
        self,
        arcs: Any,
        single_root: bool = False,
        *,
        labelled: bool = False,
        n_words: ArrayLike | None = None,
    ) -> None:
        expected, n_axes = (LABELLED_ARCS, 3) if labelled else (ARCS, 2)
        form, arrays = recognise("arcs", arcs, (n_axes,), n_words, expected)
        form = replace(form, n_padded=max(form.n_padded - 1, 0))
        n_labels = _number_of_labels(arrays, form, arcs) if labelled else None
        for index, array in enumerate(arrays):
            where = "" if form.kind == "one" else f" of sentence {index}"
            _check_shape(where, array, expected)
        lengths = np.array([len(array) - 1 for array in arrays], dtype=np.int64)
        if n_words is not None:
            lengths = word_counts(n_words, len(arrays), form.n_padded)
        structures = self._trees(lengths, n_labels, single_root)
        self.structures, self._form = structures, form
        scores = self._flatten(arcs, np.float64)
        fill_unused(scores, structures.n_words, structures.part_offsets, n_labels or 1, -np.inf)
        super().__init__(structures, scores, form)
        if scores.size and not scores.max() < np.inf:
            for index, array in enumerate(structures.split(scores)):
                check_scores("arcs" if form.kind == "one" else f"arcs[{index}]", array)

    @staticmethod
    @abstractmethod
    def _trees(n_words: Any, n_labels: int | None, single_root: bool) -> Trees:
        """The set of trees."""

    def pair_marginals(self) -> Any:
        """p(both arcs), indexed [head, modifier, head2, modifier2]; a list for a batch.

        Twice the same arc gives its marginal; two heads of one word give 0. Of labelled arcs the
        labels are summed first. The size is (n+1)⁴.
        """
        trees = self.structures
        _, inference = trees.arc_inference(self.scores, self.inference)
        pairs = [
            _pairs(covariance, marginals)
            for covariance, marginals in zip(
                trees.arc_covariance(self.scores, self.inference),
                trees.split_arcs(inference.marginals),
                strict=True,
            )
        ]
        return pairs[0] if self._form.kind == "one" else pairs

    def _flatten(self, values: Any, dtype: type) -> Any:
        trees = self.structures
        flat: Array = np.empty(trees.n_parts, dtype=dtype)
        views = trees.split(flat)
        given = self._form.split("arcs", values, [view.shape for view in views], dtype)
        for view, array in zip(views, given, strict=True):
            view[...] = array
        return flat

    def _shaped(self, parts: FloatArray, combine: Combine = SUM) -> Any:
        labels = () if self.structures.n_labels is None else (self.structures.n_labels,)
        return self._form.join(
            self.structures.split(parts), lambda n: (n + 1, n + 1, *labels), combine.neutral
        )

    def _drawings(self, sentence: int) -> list[Svg]:
        n_words = int(self.structures.n_words[sentence])
        if n_words > MOST_WORDS:
            return []
        _, inference = self.structures.arc_inference(self.scores, self.inference)
        marginals = self.structures.split_arcs(inference.marginals)[sentence]
        found = self.best.structures[sentence]
        heads, labels = found if isinstance(found, tuple) else (found, None)
        words = [str(word) for word in range(1, n_words + 1)]
        drawn = show.tree(words, heads, labels=labels, probabilities=marginals)
        return [drawn, show.arcs(words, marginals, heads=heads)]


def _number_of_labels(arrays: list[Array], form: Form, arcs: Any) -> int:
    """The number of labels, the same in every sentence; 1 where no array says it."""
    found = {array.shape[2] for array in arrays}
    if form.kind == "padded":
        found = {np.shape(arcs)[3]}
    if len(found) > 1:
        raise ValueError(
            f"the sentences of arcs have {sorted(found)} labels; expected the same number in all."
        )
    return found.pop() if found else 1


def _check_shape(where: str, array: Array, expected: str) -> None:
    if array.shape[0] != array.shape[1]:
        hint = "" if array.ndim == 3 else " If the last axis is labels, say labelled=True."
        raise ValueError(
            f"arcs{where} has shape {array.shape}; expected {expected}. Use -inf for an arc that "
            f"cannot be.{hint}"
        )
    if len(array) < 2 or array.size == 0:
        raise ValueError(
            f"arcs{where} has shape {array.shape}; expected at least one word beside the root, and "
            "one label where there are any. An empty sentence has no structure: leave it out."
        )


def _pairs(covariance: FloatArray, marginals: FloatArray) -> FloatArray:
    """p(a and b) = Cov[a, b] + p(a) p(b), exact for the arcs of one word."""
    n_nodes = len(marginals)
    flat = marginals.ravel()
    pairs: FloatArray = (covariance + np.outer(flat, flat)).reshape((n_nodes,) * 4)
    heads, words = np.arange(n_nodes), np.arange(n_nodes)
    # A word has one head: its arcs exclude each other, and each is certain given itself.
    pairs[:, words, :, words] = 0.0
    pairs[heads[:, None], words, heads[:, None], words] = marginals
    return pairs
