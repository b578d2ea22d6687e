"""IBM Model 1: a table of word translation probabilities, learnt from a bitext."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partita.arrays import Array, FloatArray, IntArray
from partita.estimators.alignment.pairs import Meetings, check_pairs, with_empty_word
from partita.kept import kept_array, kept_offsets
from partita.kernels.bitext import model1, word_pairs
from partita.text.word_vocabulary import Numbered, WordNumbers

Report = Callable[[int, float], None]
"""Called after each iteration with its number, from 1, and the log-likelihood before it."""


@dataclass(frozen=True, eq=False)
class WordTable:
    """t(target | source): sparse, a row of target words for each source word; row 0 is empty word.

    >>> table = WordTable(
    ...     offsets=np.array([0, 1, 1, 3]),
    ...     targets=np.array([2, 2, 3], dtype=np.int32),
    ...     probabilities=np.array([1.0, 0.25, 0.75]),
    ...     unseen=np.array([0.0, 0.5, 0.0]),
    ... )
    >>> table.probability([0, 2, 2, 1], [2, 2, 3, 2])
    array([1.  , 0.25, 0.75, 0.5 ])
    >>> pairs, probabilities = table.best(1)
    >>> pairs
    array([[0, 2],
           [2, 3]])
    """

    offsets: IntArray
    """The entries of source word x: offsets[x] to offsets[x + 1], (n_source + 1,)."""
    targets: NDArray[np.int32]
    """The target word of each entry, ascending in a row."""
    probabilities: FloatArray
    """Of each entry."""
    unseen: FloatArray
    """Of any target word that is not in the row of a source word, (n_source,)."""

    @property
    def n_source(self) -> int:
        """Source words, with the empty one and the unknown one."""
        return len(self.unseen)

    def probability(self, source: ArrayLike, target: ArrayLike) -> FloatArray:
        """t(target | source) of pairs of numbers, which broadcast; O(log row) each."""
        sources, targets = np.broadcast_arrays(source, target)
        if sources.size and not 0 <= sources.min() <= sources.max() < self.n_source:
            raise ValueError(
                f"source has words from {sources.min()} to {sources.max()}; expected numbers from "
                f"0 to {self.n_source - 1}."
            )
        out = np.empty(sources.size)
        word_pairs.look_up(
            self.offsets,
            self.targets,
            self.probabilities,
            self.unseen,
            sources.ravel().astype(np.int32),
            targets.ravel().astype(np.int32),
            out,
        )
        return out.reshape(sources.shape)

    def matrix(self, source: WordNumbers, target: WordNumbers) -> FloatArray:
        """The probabilities of one sentence pair, (n + 1, m); row 0 is of the empty word."""
        words = np.concatenate([np.zeros(1, dtype=np.int32), source])
        return self.probability(words[:, None], target[None, :])

    def cells(self, source: Numbered, target: Numbered) -> FloatArray:
        """`matrix` of many sentence pairs, flat, one after the other."""
        check_pairs(source, target, self.n_source, np.iinfo(np.int32).max)
        with_null = with_empty_word(source)
        out = np.empty(int((with_null.n_words * target.n_words).sum()))
        word_pairs.look_up_cells(
            self.offsets,
            self.targets,
            self.probabilities,
            self.unseen,
            with_null.numbers,
            with_null.offsets,
            target.numbers,
            target.offsets,
            out,
        )
        return out

    def best(self, k: int) -> tuple[IntArray, FloatArray]:
        """The k likeliest target words of each source word: pairs (p, 2) and probabilities (p,).

        Ordered by source word, then from the likeliest on; ties go to the lower number.
        """
        if k < 1:
            raise ValueError(f"k is {k}; expected 1 or more.")
        source = np.repeat(np.arange(self.n_source), np.diff(self.offsets))
        order = np.lexsort((self.targets, -self.probabilities, source))
        # Sorting keeps the rows in their places, so an entry's rank is its distance to the start.
        rank = np.arange(len(order)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        kept = order[rank < k]
        return np.column_stack([source[kept], self.targets[kept]]), self.probabilities[kept]

    def pruned(self, min_probability: float) -> "WordTable":
        """Without the entries below a probability, which become `unseen`."""
        kept = self.probabilities >= min_probability
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])
        return WordTable(
            ends[self.offsets], self.targets[kept], self.probabilities[kept], self.unseen
        )

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        return dict(vars(self))

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Self:
        """The table that `arrays` describes."""
        unseen = kept_array(arrays, "unseen", np.float64, None)
        targets = kept_array(arrays, "targets", np.int32, None, below=2**31)
        offsets = kept_offsets(arrays, "offsets", len(unseen), len(targets))
        probabilities = kept_array(arrays, "probabilities", np.float64, len(targets))
        return cls(offsets, targets, probabilities, unseen)


def train_model1(
    source: Numbered,
    target: Numbered,
    n_source: int,
    n_target: int,
    *,
    n_iterations: int = 5,
    alpha: float = 0.0,
    on_iteration: Report | None = None,
) -> WordTable:
    """t(target | source) by expectation-maximisation, from even probabilities on.

    log p(target | source) = sum_j log 1/(n + 1) sum_i t(target_j | source_i), with the empty word
    among the n + 1. `n_source` and `n_target` are the sizes of the vocabularies. With `alpha`
    above 0 a row has a Dirichlet prior and the estimate is that of variational Bayes, which keeps
    rare words from explaining everything around them; 0 is plain maximum likelihood, and the
    log-likelihood then never falls. O(cells) an iteration, a cell being a place of a source and a
    target word in a pair. For the other direction, swap the arguments.

    >>> from partita.text.word_vocabulary import WordVocabulary
    >>> french = [["la", "maison"], ["la", "fleur"], ["maison"]]
    >>> english = [["the", "house"], ["the", "flower"], ["house"]]
    >>> source, target = WordVocabulary.learn(french), WordVocabulary.learn(english)
    >>> table = train_model1(
    ...     source.encode(french), target.encode(english), len(source), len(target)
    ... )
    >>> float(table.probability(source.number("la"), target.number("the"))) > 0.8
    True
    """
    if n_iterations < 1:
        raise ValueError(f"n_iterations is {n_iterations}; expected 1 or more.")
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha is {alpha}; expected a number, 0 or more.")
    meetings = Meetings.of(source, target, n_source, n_target)
    shape = meetings.cell_offsets, meetings.n_source, meetings.n_target
    even = 1.0 / (n_target - 1)
    probabilities, unseen = np.full(len(meetings.targets), even), np.full(n_source, even)
    for iteration in range(1, n_iterations + 1):
        posteriors, log_likelihood = np.empty(len(meetings.cells)), np.empty(len(source))
        model1.posteriors(probabilities[meetings.cells], *shape, posteriors, log_likelihood)
        counts = np.bincount(meetings.cells, posteriors, minlength=len(probabilities))
        model1.normalise(meetings.offsets, counts, alpha, probabilities, unseen)
        if on_iteration is not None:
            on_iteration(iteration, float(log_likelihood.sum()))
    return WordTable(meetings.offsets, meetings.targets, probabilities, unseen)
