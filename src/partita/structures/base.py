"""What a structure owes the rest of the library: its parts and its dynamic program."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, Self

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.memory import keep_freed_memory
from partita.structures.part_arrays import VECTOR, PartArray

# Here and not in __init__, since phrase trees, which readers of files need, do without NumPy.
keep_freed_memory()

Run = Callable[..., Iterable[Any]]
"""Called like `map`, by one thread or several."""
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


class InferenceWithEntropy(NamedTuple):
    """An inference, and what entropy regularisation wants to know beside it."""

    inference: Inference
    entropy: FloatArray
    """A - <scores, marginals> of each sentence, shape (n_sentences,)."""
    gradient: FloatArray
    """The gradient of the entropy with respect to the scores, shape (n_parts,)."""


class Best(NamedTuple):
    """The best structure of each sentence and its score (-inf where none is allowed)."""

    structures: list[Structure]
    scores: FloatArray


ALL_FORBIDDEN = "every one uses a part whose score is -inf"
"""`why_empty` where nothing simpler can be said."""


class Structures(ABC):
    """The sets of structures of a batch of independent sentences.

    The parts of sentence b are `part_offsets[b] : part_offsets[b + 1]` of every vector over
    parts: scores, marginals, directions, costs and counts all share this one index. Scores are
    finite or -inf; they were checked at the door.

    To add a structure, implement the abstract methods; the others have an answer that is right
    for every structure, which a structure that knows better may replace. `StepStructures`
    implements all but three of them.
    """

    part_offsets: IntArray
    n_words: IntArray
    """Number of words of each sentence (0 for a forest, whose derivations have any length)."""
    arrays: tuple[PartArray, ...] = (VECTOR,)
    """The arrays that the parts of a sentence come as, one after the other."""
    reads_unused: bool = True
    """Whether kernels may read scores of cells that are in no structure, which then are -inf."""
    one_per_word: bool = False
    """Whether a structure holds a number for each word, as tags and heads do."""
    ways: Any = None
    """How arrays of the last form come in and go out (see `doors`), as most of the next ones do."""
    run: Run = map
    """Who works on the blocks of a batch, for structures that have some: called like `map`."""

    @cached_property
    def n_sentences(self) -> int:
        """Number of sentences in the batch."""
        return len(self.part_offsets) - 1

    @cached_property
    def n_parts(self) -> int:
        """Number of parts of all sentences together."""
        return int(self.part_offsets[-1])

    @cached_property
    def n_parts_each(self) -> int | None:
        """Number of parts of each sentence, where all have as many and there are some."""
        n_parts = np.diff(self.part_offsets)
        return int(n_parts[0]) if n_parts.size and (n_parts == n_parts[0]).all() else None

    @property
    def takes_single(self) -> bool:
        """Whether `infer_once` takes scores in single precision too, and gives marginals in it."""
        return False

    @property
    def lengths(self) -> IntArray:
        """What the shapes of the arrays depend on; for a vector over parts, its length."""
        return np.diff(self.part_offsets)

    @cached_property
    def largest_length(self) -> int:
        """The largest of the lengths."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def array_starts(self) -> list[IntArray]:
        """For each array, where it begins among the parts of each sentence."""
        starts, start = [], self.part_offsets[:-1]
        for array in self.arrays:
            starts.append(start)
            start = start + array.n_parts(self.lengths)
        return starts

    @cached_property
    def array_shapes(self) -> list[list[tuple[int, ...]]]:
        """For each array, its shape in each sentence."""
        lengths = self.lengths.tolist()
        return [[array.shape(length) for length in lengths] for array in self.arrays]

    def split_array(self, index: int, parts: Array) -> list[Array]:
        """Of one of the arrays, views of the sentences' shares of a flat vector over parts."""
        if self.n_parts_each is None:
            return [parts[start:end].reshape(shape) for start, end, shape in self._shares[index]]
        # Sentences of one length are the rows of an array, which takes a tenth of that.
        start, end, shape = self._shares[index][0]
        rows = parts.reshape(self.n_sentences, self.n_parts_each)[:, start:end]
        return list(rows.reshape(self.n_sentences, *shape))

    def split_arrays(self, parts: Array) -> tuple[list[Array], ...]:
        """For each array, views of the sentences' shares of a flat vector over parts."""
        return tuple(self.split_array(index, parts) for index in range(len(self.arrays)))

    @cached_property
    def _shares(self) -> list[list[tuple[int, int, tuple[int, ...]]]]:
        """For each array, where its share of the parts of each sentence begins and ends."""
        return [
            [(start, start + prod(shape), shape) for start, shape in zip(*each, strict=True)]
            for each in zip((s.tolist() for s in self.array_starts), self.array_shapes, strict=True)
        ]

    @cached_property
    def shares_of_one(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """For each array, where it begins and ends in the only sentence, and its shape."""
        return [shares[0] for shares in self._shares]

    @cached_property
    def shares_of_batch(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """The same for the only array of sentences of one length; nothing for all others."""
        if len(self.arrays) > 1 or self.n_parts_each is None:
            return []
        shape = self.n_sentences, *self.array_shapes[0][0]
        return [(0, self.n_parts, shape)] if prod(shape) == self.n_parts else []

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
    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """How often each part occurs in one given structure per sentence."""

    # ------------------------------------------------------------------ right for every structure

    def infer_once(self, scores: FloatArray) -> Inference:
        """`infer` for who will hardly ask for more: a covariance product may take longer then."""
        return self.infer(scores)

    def infer_with_entropy(self, scores: FloatArray) -> InferenceWithEntropy | None:
        """Inference, entropy and its gradient in one pass; None if there is no faster way.

        The other way is `covariance_product` along the scores, once `infer` is done.
        """
        return None

    def covariance(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of the part counts of each sentence."""
        return covariance_from_products(self, scores, inference)

    def centred(self, scores: FloatArray, inference: Inference) -> FloatArray:
        """Scores of the same distribution without what all structures of a sentence have in common.

        As they are, where nothing is known to be in every structure; a new array otherwise.
        """
        return scores

    def count(self, allowed: BoolArray) -> list[int]:
        """How many structures use allowed parts only, (n_parts,), of each sentence.

        Exactly, where a structure counts in whole numbers; here from the log-partition, so right to
        12 digits or so.
        """
        log_counts = self.infer(np.where(allowed, 0.0, -np.inf)).log_partition
        return [round(float(np.exp(log_count))) for log_count in log_counts]

    def is_choice(self) -> BoolArray:
        """Which parts count as right or wrong, (n_parts,): those of the first array.

        So tags and not transitions, arcs and not siblings.
        """
        choices = np.zeros(self.n_parts, dtype=np.bool_)
        for view in self.split_arrays(choices)[0]:
            view[...] = True
        return choices

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """Why a sentence has no allowed structure, for its reader: a clause without a full stop."""
        return ALL_FORBIDDEN

    def clear_unused(self, scores: FloatArray) -> float:
        """Write -inf over the scores of cells that are in no structure, whatever is there.

        Returns how many of them were neither finite nor -inf. Only for structures whose arrays
        have such cells, as the diagonal of a matrix of arcs.
        """
        return 0.0

    def moved(self, structure: Structure, places: IntArray) -> Structure:
        """A structure of a sentence whose word i stands at places[i] of another, numbered as there.

        Only for structures that name words, as heads do; tags stay as they are.
        """
        return structure


def too_large(structures: Structures, scores: FloatArray, sentence: int) -> ValueError:
    """The error of a sentence whose scores have sums beyond the largest double."""
    offsets = structures.part_offsets
    mine = scores[offsets[sentence] : offsets[sentence + 1]]
    largest = np.abs(mine[np.isfinite(mine)]).max(initial=0.0)
    return ValueError(
        f"the scores of sentence {sentence} (counting from 0) are too large to be added up: one "
        f"is {largest:.3g}. Scores are natural logarithms; subtract a constant, or scale them."
    )


def covariance_from_products(
    structures: Structures,
    scores: FloatArray,
    inference: Inference,
    n_parts: IntArray | None = None,
) -> list[FloatArray]:
    """Dense covariance, one product per part of the longest sentence.

    Column k of every sentence's matrix comes from the same product, along the direction that has
    a one at the k-th part of each sentence. `n_parts` limits it to the first parts of each.
    """
    starts = structures.part_offsets[:-1]
    n_parts = np.diff(structures.part_offsets) if n_parts is None else n_parts
    matrices = [np.empty((n, n)) for n in n_parts]
    for part in range(n_parts.max(initial=0)):
        direction = np.zeros(structures.n_parts)
        direction[starts[part < n_parts] + part] = 1.0
        product = structures.covariance_product(scores, inference, direction)
        for matrix, start, n in zip(matrices, starts, n_parts, strict=True):
            if part < n:
                matrix[:, part] = product[start : start + n]
    return matrices
