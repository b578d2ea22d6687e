"""Linear-chain conditional random fields: distributions over tag sequences."""

from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, FloatArray, IntArray, Number, Values
from partita.distribution import chain_entropy as spans
from partita.distribution.base import Distribution
from partita.distribution.chain_entropy import EntropyLattices, UncertainSpan
from partita.distribution.checks import check_addition, check_support
from partita.kernels import parts as part_kernels
from partita.kernels.chains import entropy as chain_entropy
from partita.structures.array_structures import made_once
from partita.structures.batch import check_scores, is_list, number_array, whole_number
from partita.structures.chains import Chains
from partita.structures.forms import recognise, shape_of
from partita.structures.part_arrays import axes
from partita.structures.settling import PRECISE

UNARY = axes("n s", "a score for every word and tag")
SHARED = axes("s s", "a score for every pair of neighbouring tags")
BY_POSITION = axes("n-1 s s", "a table for each pair of neighbours")
PAIRWISE = "(s, s), or (n-1, s, s) with a table for each pair of neighbours"


class ChainParts(NamedTuple):
    """Something for every part of a chain: marginals, max-marginals, gradients or directions."""

    unary: Values
    """For each word and tag, (n, s)."""
    pairwise: Values
    """For each transition, [left tag, right tag]: (s, s) where shared, else (n-1, s, s)."""


class LinearChain(Distribution[ChainParts, IntArray]):
    """p(tags) proportional to exp(sum_t unary[t, y_t] + sum_t pairwise[y_t, y_(t+1)]).

    With `start` and `stop` also exp(start[first tag] + stop[last tag]).

    Parameters
    ----------
    unary
        Scores of tags, (n, s); a list of such arrays for a batch, or one padded array
        (B, N, s) with `n_words`.
    pairwise
        Scores of transitions, [left tag, right tag]: one (s, s) for all positions (and all
        sentences of a batch), or (n-1, s, s) for each pair of neighbours; for a batch also a list
        of these, or padded (B, N-1, s, s), or (B, s, s).
    start, stop
        Scores of the first tag and of the last one, (s,), for all sentences. They are added to
        the unary scores of the first and last word, so that their marginals are the unary ones
        there: the gradient of the log-partition by `start` is `marginals.unary[0]`.
    n_words
        Number of words of each row of a padded array; all N if left out.
    mask
        Or which words of a padded array are there, booleans (B, N). A word that is not there has
        no tag, wherever it stands: its neighbours are neighbours of each other, by the table that
        leads to the second of them.

    Transitions given once for several sentences give results summed over them (the best of them
    for `max_marginals`). Log-partition and marginals cost O(n s²).

    >>> p = LinearChain(np.zeros((3, 2)), np.array([[0.0, -np.inf], [0.0, 0.0]]))
    >>> float(np.exp(p.log_partition).round(9))  # 000, 100, 110 and 111
    4.0
    >>> p.marginals.unary[:, 1].round(9)
    array([0.75, 0.5 , 0.25])
    >>> p = LinearChain(np.zeros((2, 2)), np.zeros((2, 2)), start=[0.0, np.log(3.0)])
    >>> p.marginals.unary.round(9)
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """

    structures: Chains
    parts_type = ChainParts

    def __init__(
        self,
        unary: Any,
        pairwise: Any,
        *,
        start: "ArrayLike | None" = None,
        stop: "ArrayLike | None" = None,
        n_words: "ArrayLike | None" = None,
        mask: "ArrayLike | None" = None,
    ) -> None:
        shape = BY_POSITION if _is_by_position(unary, pairwise) else SHARED
        given = (("unary", unary, UNARY), ("pairwise", pairwise, shape))
        form, lengths, sizes = recognise(given, n_words, mask)
        chains = made_once(_chains, lengths, sizes["s"], shape is SHARED)
        super().__init__(chains, form, unary, pairwise)
        if start is not None or stop is not None:
            self._add_ends(start, stop)

    def _add_ends(self, start: "ArrayLike | None", stop: "ArrayLike | None") -> None:
        """Add the scores of first and last tags to the unary scores of those words."""
        n_tags, (first, last) = self.structures.n_tags, self.structures.end_parts
        for name, given, parts in (("start", start, first), ("stop", stop, last)):
            if given is None:
                continue
            scores = number_array(name, given, f"({n_tags},), a score for every tag")
            if scores.shape != (n_tags,):
                raise ValueError(
                    f"{name} has shape {scores.shape}; expected ({n_tags},), a score for every tag."
                )
            check_scores(name, scores)
            # No sum is larger than this. Kernels read no columns of tables.
            self.largest += float(part_kernels.largest(np.ascontiguousarray(scores))[0])
            if self.largest > PRECISE:
                check_addition(name, self.scores[parts], scores)
            self.scores[parts] += scores

    # ------------------------------------------------------------------ Mann & McCallum 2007

    @cached_property
    def by_position(self) -> "LinearChain":
        """The same distribution with a transition table for every pair of neighbours.

        >>> p = LinearChain(np.zeros((3, 2)), np.zeros((2, 2)))
        >>> p.marginals.pairwise.shape, p.by_position.marginals.pairwise.shape
        ((2, 2), (2, 2, 2))
        """
        chains = self.structures
        if not chains.shared:
            return self
        spread = Chains(chains.n_words, chains.n_tags, shared=False)
        scores = np.empty(spread.n_parts)
        for source, target in zip(chains.split(self.scores), spread.split(scores), strict=True):
            for given, view in zip(source, target, strict=True):
                view[...] = given
        return LinearChain.from_flat(spread, scores, replace(self._form, once=(False, False)))

    @cached_property
    def entropy_lattices(self) -> EntropyLattices:
        """Entropy of all tags before each word, and of all behind it, given the word's tag.

        In nats, 0 where there is nothing before or behind; O(n s²).

        >>> p = LinearChain(np.zeros((3, 2)), np.zeros((2, 2)))
        >>> (p.entropy_lattices.before / np.log(2)).round(9)  # in bits
        array([[0., 0.],
               [1., 1.],
               [2., 2.]])
        """
        # Something for every tag of every word, so of the shape of the unary scores.
        rows = np.zeros((2, self.structures.n_parts))
        for row, lattice in zip(rows, self._lattices, strict=True):
            row[self.structures.is_choice()] = lattice.reshape(-1)
        before, behind = (self._shaped(row).unary for row in rows)
        return EntropyLattices(before, behind)

    def span_entropy(self, first: "ArrayLike", last: "ArrayLike") -> Number:
        """Entropy of the tags of the words `first` to `last`, both included, counting from 0.

        One span for all sentences of a batch, or one for each.

        >>> p = LinearChain(np.zeros((5, 2)), np.zeros((2, 2)))
        >>> round(p.span_entropy(1, 3) / p.span_entropy(1, 1), 9)  # in bits
        3.0
        """
        entropies = [
            spans.span_entropy(*arguments)
            for arguments in zip(
                *self.marginals_by_position, self._each(first), self._each(last), strict=True
            )
        ]
        return self._form.scalar(np.array(entropies))

    def constrained_entropy(self, first: "ArrayLike", tags: Any, *, joint: bool = False) -> Number:
        """Entropy of all other tags, given the tags of the words from `first` on.

        -sum p(rest | tags) log p(rest | tags) over the rest of the sequence: what is before given
        the first tag, plus what is behind given the last. With `joint` the terms are
        -p(rest, tags) log p(rest, tags), so they sum to the whole entropy over all choices of
        `tags`. For a batch, `tags` is a list of sequences.

        >>> p = LinearChain(np.zeros((5, 2)), np.zeros((2, 2)))
        >>> round(p.constrained_entropy(1, [0, 1]) / p.span_entropy(1, 1), 9)  # in bits
        3.0
        """
        tags = self._form.one_each("tags", tags, self.structures.n_sentences)
        lattices = [self.structures.split_words(lattice) for lattice in self._lattices]
        entropies = [
            spans.constrained_entropy(*arguments, joint=joint)
            for arguments in zip(
                *self.marginals_by_position, *lattices, self._each(first), tags, strict=True
            )
        ]
        return self._form.scalar(np.array(entropies))

    def most_uncertain_span(self, n_words: int) -> UncertainSpan | Any:
        """The span of `n_words` words whose tags have the highest entropy; a list for a batch.

        O(n s²), however long the spans are.

        >>> p = LinearChain(np.array([[9.0, 0.0], [0.0, 0.0], [1.0, 0.0]]), np.zeros((2, 2)))
        >>> span = p.most_uncertain_span(2)
        >>> span.first, span.last, round(span.entropy, 3)
        (1, 2, 1.275)
        """
        n_words = whole_number("n_words", n_words, 1)
        found = []
        for unary, pairs in zip(*self.marginals_by_position, strict=True):
            spans.check_span(0, n_words - 1, len(unary))
            entropies = spans.span_entropies(unary, pairs, n_words)
            first = int(np.argmax(entropies))
            found.append(UncertainSpan(first, first + n_words - 1, float(entropies[first])))
        return self._form.one_or_list(found)

    def entropy_by_forward_pass(self) -> Number:
        """`entropy` in one pass from left to right (Hernando et al. 2005), O(n s²).

        The same number without marginals, out of O(s) numbers at a time. With the scores of a
        hidden Markov model it is the entropy of the tags given the words.

        >>> p = LinearChain(np.zeros((5, 2)), np.zeros((2, 2)))
        >>> round(float(p.entropy_by_forward_pass() / np.log(2)), 9)
        5.0
        """
        chains = self.structures
        log_partition, entropies = np.empty((2, chains.n_sentences))
        stride = 0 if chains.shared else chains.n_tags**2
        scores = self.certain.settled.scores
        chain_entropy.forward_only(scores, *chains.shape, stride, log_partition, entropies)
        check_support(self.structures, scores, log_partition)
        return self._form.scalar(entropies)

    def entropy_gradient_by_lattices(self) -> ChainParts:
        """`entropy_gradient` by the recursion of Mann & McCallum, O(n s²).

        The same numbers as the covariance product gives, from the entropy lattices instead.

        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.entropy_gradient_by_lattices().unary.round(3)
        array([[ 0.206, -0.206]])
        """
        p = self.by_position
        gradient = np.empty(p.structures.n_parts)
        chain_entropy.gradient(
            p.certain.inference.marginals, *p.structures.shape, *self._lattices, gradient
        )
        return self._gathered(gradient)

    @cached_property
    def _lattices(self) -> tuple[FloatArray, FloatArray]:
        p = self.by_position
        before, behind = np.empty((2, p.structures.word_offsets[-1], p.structures.n_tags))
        chain_entropy.lattices(p.certain.inference.marginals, *p.structures.shape, before, behind)
        return before, behind

    @property
    def marginals_by_position(self) -> tuple[list[Array], list[Array]]:
        """Of each sentence p(tag), (n, s), and p(tag and next tag), (n-1, s, s).

        >>> unary, pairs = LinearChain(np.zeros((3, 2)), np.zeros((2, 2))).marginals_by_position
        >>> unary[0].shape, pairs[0].shape
        ((3, 2), (2, 2, 2))
        """
        return self.by_position.structures.split(self.by_position.certain.inference.marginals)

    def _gathered(self, parts: FloatArray) -> ChainParts:
        """A vector over the parts of `by_position`, summed where transitions are shared."""
        if not self.structures.shared:
            return self._shaped(parts)
        gathered = np.empty(self.structures.n_parts)
        spread = self.by_position.structures.split(parts)
        for view, unary in zip(self.structures.split(gathered)[0], spread[0], strict=True):
            view[...] = unary
        for view, tables in zip(self.structures.split(gathered)[1], spread[1], strict=True):
            view[...] = tables.sum(axis=0)
        return self._shaped(gathered)

    def _each(self, number: "ArrayLike") -> list[int]:
        """A number given once for all sentences, or once for each, as one for each."""
        numbers, n_sentences = np.asarray(number), self.structures.n_sentences
        if numbers.dtype.kind not in "iu" or numbers.shape not in {(), (n_sentences,)}:
            raise ValueError(
                f"a place in the sentence is given as {number!r}; expected a whole number, or one "
                f"for each of the {n_sentences} sentences, counting words from 0."
            )
        each: list[int] = np.broadcast_to(numbers, n_sentences).tolist()
        return each


def _chains(n_words: IntArray, n_tags: int, shared: bool) -> Chains:
    return Chains(n_words, n_tags, shared=shared)


def _is_by_position(unary: Any, pairwise: Any) -> bool:
    """Whether there is a transition table for each pair of neighbours, by the number of axes."""
    if type(unary) is type(pairwise) is np.ndarray and pairwise.ndim == 2:
        return False
    is_listed = is_list(unary, UNARY.n_dimensions)
    is_batch = is_listed or len(shape_of("unary", unary, UNARY)) > UNARY.n_dimensions
    if is_batch and is_list(pairwise, SHARED.n_dimensions):
        found = {len(shape_of("pairwise", array, SHARED)) for array in pairwise}
        if len(found) > 1 or not found <= {2, 3}:
            raise ValueError(
                f"pairwise is a list of arrays with {sorted(found)} axes for a batch; expected "
                f"{PAIRWISE}, alike for all sentences."
            )
        return found == {3}
    n_axes = len(shape_of("pairwise", pairwise, SHARED))
    # A padded batch has one axis more, or one table for all sentences.
    is_padded = is_batch and not is_listed
    if n_axes == 2 or (not is_batch and n_axes == 3) or (is_padded and n_axes in (3, 4)):
        return n_axes == 3 + is_padded
    raise ValueError(
        f"pairwise has shape {np.shape(pairwise)} for unary scores of "
        f"{'a batch' if is_batch else 'one sentence'}; expected {PAIRWISE}, with a list or a "
        "leading batch axis where unary has one."
    )
