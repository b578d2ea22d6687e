"""What a structure owes the rest of the library: its parts and its dynamic program."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray

Structure = Any
"""Plain integers: tags, heads, (heads, labels) or the hyperedges of a derivation."""


class Inference(NamedTuple):
    """Log-partition and marginals of a batch, and what the covariance product can reuse."""

    log_partition: FloatArray
    """A(scores) of each sentence, shape (n_sentences,); -inf where no structure is allowed."""
    marginals: FloatArray
    """The gradient of A: the expected count of every part, shape (n_parts,)."""
    state: tuple[Any, ...] = ()
    """Messages kept for `covariance_product` and `sample`; private to the structure."""


class Best(NamedTuple):
    """The best structure of each sentence and its score (-inf where none is allowed)."""

    structures: list[Structure]
    scores: FloatArray


class Structures(ABC):
    """The sets of structures of a batch of independent sentences.

    The parts of sentence b are `part_offsets[b] : part_offsets[b + 1]` of every vector over
    parts: scores, marginals, directions, costs and counts all share this one index. Scores are
    finite or -inf; they were checked at the door.

    To add a structure, implement the methods below; everything else is derived from them.
    """

    part_offsets: IntArray
    n_words: IntArray
    """Number of words of each sentence (0 for a forest, whose derivations have any length)."""

    @property
    def n_sentences(self) -> int:
        """Number of sentences in the batch."""
        return len(self.part_offsets) - 1

    @property
    def n_parts(self) -> int:
        """Number of parts of all sentences together."""
        return int(self.part_offsets[-1])

    @abstractmethod
    def is_same_set(self, other: Self) -> bool:
        """Whether both are the same sets of structures, of the same parts."""

    @abstractmethod
    def infer(self, scores: FloatArray) -> Inference:
        """Log-partition and marginals of every sentence."""

    @abstractmethod
    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """Hessian of the log-partition times a finite `direction`, over all parts."""

    @abstractmethod
    def covariance(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of the part counts of each sentence."""

    @abstractmethod
    def argmax(self, scores: FloatArray) -> Best:
        """The best structure of each sentence."""

    @abstractmethod
    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """For each part, the score of the best structure that uses it; -inf if none does."""

    @abstractmethod
    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """The k best allowed structures of each sentence, best first; fewer if there are fewer."""

    @abstractmethod
    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """`size` independent structures of each sentence, along a leading axis."""

    @abstractmethod
    def is_choice(self) -> BoolArray:
        """Which parts count as right or wrong, (n_parts,): tags, arcs, edges; no transitions."""

    @abstractmethod
    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """Why a sentence has no allowed structure, for its reader: a clause without a full stop."""

    @abstractmethod
    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """How often each part occurs in one given structure per sentence."""


ALL_FORBIDDEN = "every one uses a part whose score is -inf"
"""`why_empty` where nothing simpler can be said."""


def covariance_from_products(
    structures: Structures, scores: FloatArray, inference: Inference
) -> list[FloatArray]:
    """Dense covariance, one product per part of the longest sentence.

    Column k of every sentence's matrix comes from the same product, along the direction that has
    a one at the k-th part of each sentence.
    """
    starts, n_parts = structures.part_offsets[:-1], np.diff(structures.part_offsets)
    matrices = [np.empty((n, n)) for n in n_parts]
    for part in range(n_parts.max(initial=0)):
        direction = np.zeros(structures.n_parts)
        direction[starts[part < n_parts] + part] = 1.0
        product = structures.covariance_product(scores, inference, direction)
        for matrix, start, n in zip(matrices, starts, n_parts, strict=True):
            if part < n:
                matrix[:, part] = product[start : start + n]
    return matrices
