"""Learning which words translate each other, the alignment of their places summed out.

Weights are probabilities themselves: of translations, and of jumps. Minus the gradient is what
expectation-maximisation needs, the expected counts.
"""

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np

from partita.arrays import FloatArray
from partita.kernels.bitext import hmm_steps, model1
from partita.objectives.base import AdditiveObjective, Pullback, checked_weights, scaled
from partita.objectives.targets import refuse_target
from partita.structures.bitext_cells import BitextCells, DirectionParts


class CellScores(NamedTuple):
    """Sentence pairs with the probabilities of their cells: all that these objectives ask for."""

    structures: BitextCells
    scores: FloatArray

    @classmethod
    def from_flat(cls, structures: BitextCells, scores: FloatArray) -> Self:
        """As distributions are made."""
        return cls(structures, scores)


class AlignmentEvidence(AdditiveObjective):
    """-log p(target | source) - log p(source | target), summed over pairs; the target is None."""

    def __call__(
        self, p: Any, target: None, sample_weights: FloatArray | None = None
    ) -> tuple[FloatArray, Pullback]:
        """The loss, shape (1,), and minus the expected counts."""
        refuse_target(target, self)
        cells: BitextCells = p.structures
        weights = checked_weights(sample_weights, cells.n_sentences)
        counts = np.zeros(cells.n_parts)
        losses = np.zeros(cells.n_sentences)
        of_model, of_counts = cells.split(p.scores), cells.split(counts)
        for shape, model, found in zip(cells.shapes, of_model, of_counts, strict=True):
            losses -= self._infer(shape, model, weights, found)
        self._compare(cells, of_counts)
        for (offsets, *_), found in zip(cells.shapes, of_counts, strict=True):
            if sample_weights is not None:
                found.cells[:] *= np.repeat(weights, np.diff(offsets))
        np.negative(counts, out=counts)
        return (weights @ losses).reshape(1), lambda slope: scaled(counts, slope[0])

    @abstractmethod
    def _infer(
        self, shape: Any, model: DirectionParts, weights: FloatArray, counts: DirectionParts
    ) -> FloatArray:
        """Fills in the posteriors of one direction; the log-likelihood of each pair."""

    def _compare(self, cells: BitextCells, counts: list[DirectionParts]) -> None:
        """What directions make of each other's posteriors; nothing if they are on their own."""


class Model1Evidence(AlignmentEvidence):
    """Of IBM Model 1, in both directions: each word chooses the word it comes from alone.

    >>> cells = BitextCells(np.array([1]), np.array([1]))  # no word and one, with one word
    >>> p = CellScores(cells, np.array([0.1, 0.3, 0.2, 0.2]))
    >>> statistic, pullback = Model1Evidence()(p, None)
    >>> np.exp(-statistic).round(9), pullback(np.ones(1))
    (array([0.04]), array([-0.25, -0.75, -0.5 , -0.5 ]))
    """

    def _infer(
        self, shape: Any, model: DirectionParts, weights: FloatArray, counts: DirectionParts
    ) -> FloatArray:
        found = np.empty(len(weights))
        model1.posteriors(model.cells, *shape, counts.cells, found)
        return found


class HiddenMarkovEvidence(AlignmentEvidence):
    """Of hidden Markov models in both directions: places follow places (see `Jumps`).

    With `agreement` (Liang, Taskar & Klein 2006) a pair of words counts with the product of its
    posteriors in both directions: the counts are then no gradient of the loss.
    """

    def __init__(self, null_probability: float, *, agreement: bool) -> None:
        self.null_probability = null_probability
        self.agreement = agreement

    def _infer(
        self, shape: Any, model: DirectionParts, weights: FloatArray, counts: DirectionParts
    ) -> FloatArray:
        found = np.empty(len(weights))
        expected = counts.jumps, counts.departures, counts.starts
        jumps = model.jumps, model.starts, self.null_probability
        hmm_steps.infer_pairs(model.cells, shape, jumps, weights, expected, counts.cells, found)
        return found

    def _compare(self, cells: BitextCells, counts: list[DirectionParts]) -> None:
        if self.agreement:
            hmm_steps.agree(*cells.shapes, *(each.cells for each in counts))
