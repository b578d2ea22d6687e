"""A hidden Markov model as a linear chain: where its log-probabilities lie among the weights.

The weights are a table of rows, a column per tag (all logarithms):

    symbols       emissions[w, k] = p(word w | tag k); a column sums to 1
    1             start[k]        = p(tag k at the first word)
    n_masks       0 where a tag is allowed, -inf where not; fixed, for tags that are known
    n_tags        transitions[j, k] = p(tag k | tag j before it); a row sums to 1

A word's unary scores are the sum of the rows that apply to it, so the score of a tag sequence is
its joint log-probability with the words, and the log-partition that of the words alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.distribution.linear_chain import LinearChain
from partita.estimators.pieces import Piece
from partita.features.chains import tag_features
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.training.batches import CACHED_PARTS, cut

NOISE = 0.1
"""Counts of what nobody has seen, at the start; above 0, or it would stay impossible for ever."""


@dataclass(frozen=True)
class HiddenMarkovLayout:
    """The rows of the table, and which emissions are allowed."""

    n_symbols: int
    masks: BoolArray
    """Allowed tags, (n_masks, n_tags)."""
    allowed: BoolArray
    """Allowed emissions, (n_symbols, n_tags)."""

    @property
    def n_tags(self) -> int:
        """Number of tags."""
        return int(self.masks.shape[1])

    @property
    def n_attributes(self) -> int:
        """Rows that describe words: all but the transitions."""
        return self.n_symbols + 1 + len(self.masks)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the table."""
        return self.n_attributes + self.n_tags, self.n_tags

    def split(self, table: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Views of start (s,), transitions (s, s) and emissions (n_symbols, s)."""
        table = table.reshape(self.shape)
        return table[self.n_symbols], table[self.n_attributes :], table[: self.n_symbols]

    def weights(
        self, start: FloatArray, transitions: FloatArray, emissions: FloatArray
    ) -> FloatArray:
        """The flat weights of a model."""
        masks = np.where(self.masks, 0.0, -np.inf)
        return np.concatenate([emissions, start[None], masks, transitions]).ravel()

    def maximise(self, counts: FloatArray) -> FloatArray:
        """The most likely weights for (expected) counts: each distribution its shares of them.

        A distribution without any counts is even over what is allowed.
        """
        start, transitions, emissions = self.split(counts)
        everything = np.ones_like(transitions, dtype=np.bool_)
        return self.weights(
            log_shares(start, everything[0], axis=0),
            log_shares(transitions, everything, axis=1),
            log_shares(emissions, self.allowed, axis=0),
        )

    def pseudo_counts(self, alpha: float) -> FloatArray:
        """`alpha` for everything that is allowed, flat; nothing for masks."""
        table = np.zeros(self.shape)
        start, transitions, emissions = self.split(table)
        start[:], transitions[:], emissions[:] = alpha, alpha, alpha * self.allowed
        return table.ravel()

    def counts(
        self, words: "SymbolRows", tags: IntArray, sample_weight: FloatArray | None = None
    ) -> FloatArray:
        """How often each row occurs with each tag where all tags are known, flat.

        The start has counts of its own, and a transition none at the first word of a sentence.
        `sample_weight` says what each sentence counts.
        """
        s, n_rows = self.n_tags, self.shape[0]
        seen = words.symbols >= 0
        first = words.first
        rows = np.concatenate(
            [
                words.symbols[seen],
                np.full(first.sum(), self.n_symbols),
                self.n_attributes + tags[:-1][~first[1:]],
            ]
        )
        columns = np.concatenate([tags[seen], tags[first], tags[1:][~first[1:]]])
        counted = None
        if sample_weight is not None:
            of_words = np.repeat(sample_weight, words.n_words)
            counted = np.concatenate([of_words[seen], of_words[first], of_words[1:][~first[1:]]])
        found = np.bincount(rows * s + columns, counted, minlength=n_rows * s)
        return found.astype(np.float64)

    def pieces(
        self,
        words: "SymbolRows",
        first: int = 0,
        last: int | None = None,
        *,
        most: int = CACHED_PARTS,
    ) -> Iterator[Piece]:
        """The sentences from `first` on and before `last`, in pieces of `most` parts."""
        lengths, s = words.n_words[first:last], self.n_tags
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(words.n_words)])
        attributes = self.attributes(words)
        for part in cut(lengths * s + s * s, most):
            sentences = range(first + part.start, first + part.stop)
            chains = Chains(lengths[part.start : part.stop], s, shared=True)
            rows = attributes[ends[sentences.start] : ends[sentences.stop]]
            features = tag_features(chains, rows, self.n_attributes)
            yield Piece(sentences, LinearChain, chains, features)

    def attributes(self, words: "SymbolRows") -> Attributes:
        """For each word its symbol, the start if it is the first, and masks that apply to it."""
        start = np.where(words.first, self.n_symbols, -1)
        masks = np.where(words.masks >= 0, words.masks + self.n_symbols + 1, -1)
        rows = np.column_stack([words.symbols, start, masks])
        applies = rows >= 0
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(applies.sum(axis=1))])
        return Attributes(rows[applies].astype(np.int32), offsets)


@dataclass(frozen=True)
class SymbolRows:
    """Sentences end to end, as numbers: the symbol of each word and the tags it may have."""

    n_words: IntArray
    """Of each sentence, at least 1."""
    symbols: IntArray
    """Of each word; -1 for one that says nothing."""
    masks: IntArray
    """Of each word, (n, 2): by the dictionary, and by a known tag; -1 where any tag may be."""

    @property
    def first(self) -> BoolArray:
        """Whether each word is the first of its sentence."""
        first = np.zeros(len(self.symbols), dtype=np.bool_)
        first[np.cumsum(self.n_words) - self.n_words] = True
        return first

    def fully_labelled(self, n_tags: int) -> BoolArray:
        """For each sentence whether all its tags are known; masks of sets come behind the tags'."""
        known = (self.masks[:, 1] >= 0) & (self.masks[:, 1] < n_tags)
        whole: BoolArray = np.logical_and.reduceat(known, np.cumsum(self.n_words) - self.n_words)
        return whole

    @property
    def is_plain(self) -> bool:
        """Whether nothing is known of any tag."""
        return bool((self.masks < 0).all())

    def tagged(self, tags: IntArray) -> "SymbolRows":
        """With known tags, -1 for one that is not known."""
        return replace(self, masks=np.column_stack([self.masks[:, 0], tags]))

    def select(self, sentences: BoolArray) -> "SymbolRows":
        """Some of the sentences."""
        words = np.repeat(sentences, self.n_words)
        return SymbolRows(self.n_words[sentences], self.symbols[words], self.masks[words])


def log_shares(counts: FloatArray, allowed: BoolArray, axis: int) -> FloatArray:
    """log(counts / their sum along an axis); even over what is allowed where the sum is 0.

    >>> log_shares(np.array([3.0, 1.0, 0.0]), np.array([True, True, True]), axis=0).round(2)
    array([-0.29, -1.39,  -inf])
    """
    totals = counts.sum(axis=axis, keepdims=True)
    counts = np.where(totals > 0, counts, allowed)
    totals = counts.sum(axis=axis, keepdims=True)
    logs = np.full(counts.shape, -np.inf)
    np.log(counts, out=logs, where=counts > 0)
    # A tag that may emit nothing has no words at all, and keeps its logarithms of -inf.
    logs -= np.log(totals, out=np.zeros(totals.shape), where=totals > 0)
    return logs


def random_counts(
    layout: HiddenMarkovLayout, observed: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Counts to start expectation-maximisation from where there are no labels, flat.

    `observed` says how often each symbol occurs, (n_symbols,). Its occurrences are shared out at
    random among its tags (Dirichlet, all shares alike likely), and so are transitions.
    """
    table = np.zeros(layout.shape)
    start, transitions, emissions = layout.split(table)
    shares = rng.exponential(size=emissions.shape) * layout.allowed
    totals = shares.sum(axis=1, keepdims=True)
    emissions[:] = observed[:, None] * np.divide(shares, totals, out=shares, where=totals > 0)
    start[:] = rng.exponential(size=start.shape)
    transitions[:] = rng.exponential(size=transitions.shape)
    return table.ravel()


def informed_counts(
    layout: HiddenMarkovLayout, expected: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Counts to start from where another model knows how often tags emit symbols; flat.

    With some noise, so that starts differ, and so do tags of which no label says anything.
    `expected` are those of `expected_emissions`.
    """
    table = np.full(layout.shape, NOISE) * (0.5 + rng.random(layout.shape))
    emissions = layout.split(table)[2]
    emissions += expected
    emissions *= layout.allowed * (0.5 + rng.random(emissions.shape))
    return table.ravel()


def expected_emissions(
    layout: HiddenMarkovLayout, words: SymbolRows, marginals: FloatArray
) -> FloatArray:
    """How often each tag emits each symbol, (n_symbols, s), if tags have some probabilities."""
    expected = np.zeros((layout.n_symbols, layout.n_tags))
    seen = words.symbols >= 0
    np.add.at(expected, words.symbols[seen], marginals[seen])
    return expected


def tag_marginals(layout: HiddenMarkovLayout, words: SymbolRows, weights: FloatArray) -> FloatArray:
    """The probability of each tag at each word of all sentences, (n, s)."""
    unaries = [row for piece in layout.pieces(words) for row in piece.at(weights).marginals.unary]
    return np.concatenate([np.zeros((0, layout.n_tags)), *unaries])


def product(counts: FloatArray, weights: FloatArray) -> float:
    """<counts, weights>, where nothing times -inf is nothing."""
    used = counts > 0
    return float(counts[used] @ weights[used])
