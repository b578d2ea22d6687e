"""Scores on a set of structures: every derived quantity, once for all structures."""

import copy
from typing import TYPE_CHECKING, Any, Generic, Self

import numpy as np

from partita.arrays import FloatArray, Number, Values
from partita.distribution import entropies, exact
from partita.distribution.checks import (
    check_comparable,
    check_largest,
    check_precision,
    checked_draw,
)
from partita.distribution.shaped import Parts, ShapedDistribution
from partita.structures.base import Structure, too_large
from partita.structures.batch import whole_number
from partita.structures.distinct import distinct_structures, in_full
from partita.structures.settling import ADDABLE, PRECISE

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    One = TypeVar("One", default=Any)
else:
    from typing import TypeVar

    One = TypeVar("One")
    """A structure of one sentence."""


class Distribution(ShapedDistribution[Parts], Generic[Parts, One]):
    """p(structure) = exp(score(structure) - A), for each sentence of a batch.

    A structure's score is the sum of the scores of its parts, and A, the log-partition, makes the
    probabilities sum to one. A subclass has a constructor that says what the arrays of scores
    mean; its `Structures` supply log-partition, marginals, covariance product, argmax, k-best and
    samples; everything else follows from these and is written here.

    Numbers are plain floats for one sentence and arrays of length n_sentences for a batch;
    arrays over parts come back in the form the scores came in. The examples below are of one word
    with two tags, whose scores are 0 and log 3.

    >>> from partita import LinearChain
    >>> p = LinearChain([[[0.0, np.log(3.0)]]], np.zeros((2, 2)))  # a batch of one sentence
    >>> np.exp(p.log_partition).round(9), p.entropy.round(3)
    (array([4.]), array([0.562]))
    """

    # ------------------------------------------------------------------ log-partition and gradient

    @property
    def log_partition(self) -> Number:
        """A = log sum over structures of exp(score).

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> round(np.exp(p.log_partition).item(), 9)
        4.0
        """
        if self.largest > PRECISE:
            return self._form.scalar(exact.log_partition(self))
        return self._form.scalar(self.inference.log_partition.copy())

    @property
    def marginals(self) -> Parts:
        """Expected count of every part: the gradient of the log-partition.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.marginals.unary.round(9)
        array([[0.25, 0.75]])
        """
        return self._shaped(self.certain.inference.marginals)

    def covariance_product(self, direction: Any) -> Parts:
        """Covariance of the part counts, times a vector over parts in the form of the scores.

        The derivative of `marginals` when the scores move along `direction`, so the Hessian of the
        log-partition times it; costs about two calls of `marginals`, and no matrix is formed.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.covariance_product((np.array([[1.0, 0.0]]), None)).unary
        array([[ 0.1875, -0.1875]])
        """
        return self._shaped(self.certain.flat_covariance_product(self._flatten(direction)))

    def covariance(self) -> Values:
        """Dense covariance of the part counts, parts in C order of the scores; a list for a batch.

        Meant for checks and small sentences: its size is the square of the number of parts.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.covariance()[:2, :2]  # the two tags; four transitions that never occur follow
        array([[ 0.1875, -0.1875],
               [-0.1875,  0.1875]])
        """
        p = self.certain
        return self._form.one_or_list(p.structures.covariance(p.scores, p.inference))

    # ------------------------------------------------------------------ what follows from them

    def expectation(self, values: Any) -> Number:
        """Expected sum of `values`, one per part in the form of the scores: <values, marginals>.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> round(p.expectation((np.array([[8.0, 4.0]]), None)), 9)
        5.0
        """
        return self._form.scalar(self.certain.flat_expectation(self._flatten(values)))

    @property
    def entropy(self) -> Number:
        """H = -sum p log p = A - <scores, marginals>, in nats.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> round(p.entropy, 6)  # -(0.25 log 0.25 + 0.75 log 0.75)
        0.562335
        """
        return self._form.scalar(entropies.entropy(self.certain))

    def entropy_gradient(self) -> Parts:
        """Gradient of the entropy with respect to the scores: -covariance_product(scores).

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.entropy_gradient().unary.round(3)
        array([[ 0.206, -0.206]])
        """
        return self._shaped(entropies.entropy_gradient(self.certain))

    def cross_entropy(self, other: Self) -> Number:
        """-sum p log q = A_q - <scores_q, marginals_p>; infinite where q forbids what p allows.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> q = LinearChain(np.zeros((1, 2)), np.zeros((2, 2)))
        >>> round(p.cross_entropy(q), 6)  # log 2
        0.693147
        """
        self._check_comparable(other)
        p, q = self.certain, other.settled
        with np.errstate(over="ignore"):
            found = np.atleast_1d(q.log_partition) - p.flat_expectation(q.scores)
        if q.largest > PRECISE:
            sizes = np.abs(q.scores)
            added = np.maximum(p.flat_expectation(sizes), q.certain.flat_expectation(sizes))
            # What q forbids is infinitely surprising; that is no loss of digits.
            is_forbidden = p.flat_expectation(q.scores) == -np.inf
            added = np.where(is_forbidden, 0.0, added)
            check_precision(self.structures, "the cross-entropy", found, added)
        return self._form.scalar(found)

    def kl_divergence(self, other: Self) -> Number:
        """sum p log(p / q) = cross_entropy(other) - entropy.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.kl_divergence(p)
        0.0
        """
        # Rounding may leave less than nothing.
        return self._form.scalar(
            np.maximum(np.atleast_1d(self.cross_entropy(other) - self.entropy), 0.0)
        )

    def renyi_entropy(self, alpha: float) -> Number:
        """log(sum p^alpha) / (1 - alpha) = (A(alpha scores) - alpha A(scores)) / (1 - alpha).

        alpha = 0 counts the allowed structures (as a logarithm), 1 is the entropy, and infinity is
        minus the log-probability of the best structure. Costs one more log-partition, or near 1 a
        few (see `partita.distribution.entropies`).

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> [round(np.exp(p.renyi_entropy(alpha)).item(), 6) for alpha in (0, 2, np.inf)]
        [2.0, 1.6, 1.333333]
        """
        if not alpha >= 0:
            raise ValueError(f"alpha is {alpha}; expected a number from 0 to infinity.")
        p = self.certain_within(max(1.0, 1.0 / alpha)) if alpha > 0 else self
        return self._form.scalar(entropies.renyi_entropy(p, alpha))

    def n_best_entropy(self, k: int) -> Number:
        """Entropy of the k best structures alone, renormalised (Kim et al. 2006).

        The usual approximation where the exact `entropy` is not to be had; here for comparison.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.n_best_entropy(1), round(p.n_best_entropy(2) - p.entropy, 9)
        (0.0, 0.0)
        """
        # Those that are out of reach have probability 0.
        best = self.certain.settled.k_best(k)
        lists = [best] if self._form.kind == "one" else best
        entropies = []
        for found in lists:
            scores = np.array([score for _, score in found])
            # Halves, since the difference of two doubles may be too large for one.
            logs = scores / 2 - scores[0] / 2
            logs = 2.0 * logs[logs > -1000.0]  # the rest have probability 0
            weights = np.exp(logs)
            entropies.append(np.log(weights.sum()) - weights @ logs / weights.sum())
        return self._form.scalar(np.array(entropies))

    # ------------------------------------------------------------------ structures

    def counts(self, structure: Structure) -> FloatArray:
        """How often each part occurs in a structure (one per sentence), as a flat vector.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.counts([1])  # two tags, then four transitions
        array([0., 1., 0., 0., 0., 0.])
        """
        return self.structures.counts(self._form.split_structures(self.structures, structure))

    def indicators(self, structure: Structure) -> Parts:
        """How often each part occurs in a structure, in the form of the scores.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.indicators([1]).unary
        array([[0., 1.]])
        """
        return self._shaped(self.counts(structure))

    def score(self, structure: Structure) -> Number:
        """Sum of the scores of a structure's parts, a structure per sentence; -inf if forbidden.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.score([0])
        0.0
        """
        return self._form.scalar(self._score(self.counts(structure)))

    def log_prob(self, structure: Structure) -> Number:
        """log p(structure) = score(structure) - A.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> round(np.exp(p.log_prob([1])).item(), 9)
        0.75
        """
        counts = self.counts(structure)
        if self.largest > PRECISE:
            return self._form.scalar(exact.log_prob(self, counts))
        p = self.settled
        return self._form.scalar(p.flat_score(counts) - p.inference.log_partition)

    @property
    def count(self) -> Any:
        """How many structures have a probability above 0; a list for a batch.

        A whole number, however large: chains, trees and forests count in whole numbers.

        >>> from partita import LinearChain, SpanningTree
        >>> LinearChain(np.zeros((3, 2)), np.array([[0.0, -np.inf], [0.0, 0.0]])).count
        4
        >>> SpanningTree(np.zeros((51, 51))).count == 51**49
        True
        """
        return self._form.one_or_list(self.structures.count(self.scores > -np.inf))

    @property
    def best_score(self) -> Number:
        """The score of the best structure.

        >>> from partita import LinearChain
        >>> LinearChain(np.array([[0.0, 3.0]]), np.zeros((2, 2))).best_score
        3.0
        """
        if self.largest <= PRECISE:
            return self._form.scalar(self.best.scores.copy())
        return self._form.scalar(self._score(self.structures.counts(self.certain.best.structures)))

    @property
    def argmax(self) -> One | Any:
        """A structure with the highest score.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.argmax
        array([1])
        """
        best = copy.deepcopy(self.certain.best.structures)
        return self._form.join_structures(self.structures, best)

    @property
    def max_marginals(self) -> Parts:
        """For each part the score of the best structure that uses it; -inf where none can.

        No structure at all is an error, as for all other questions.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.max_marginals.unary.round(3)
        array([[0.   , 1.099]])
        """
        is_small = self.largest <= PRECISE
        found = self.flat_max_marginals() if is_small else exact.max_marginals(self)
        check_largest(self.structures, self.scores, found)
        return self._shaped(found, largest=True)

    def k_best(self, k: int) -> list[Any]:
        """The k best structures as `(structure, score)`, best first; a list of lists for a batch.

        Fewer where fewer are allowed: a structure with a forbidden part is never listed.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> [(tags.tolist(), round(score, 3)) for tags, score in p.k_best(3)]
        [([1], 1.099), ([0], 0.0)]
        """
        k, is_small = whole_number("k", k, 1), self.largest <= PRECISE
        best = self.flat_k_best(k) if is_small else exact.k_best(self, k)
        return self._form.join_k_best(self.structures, best)

    def sample(self, size: int, rng: np.random.Generator, *, replace: bool = True) -> Structure:
        """`size` independent structures, exactly from p, along the first axis of each sentence.

        With `replace=False` no two are the same: each is drawn from p without those before it, and
        `size` may be no more than `count` (see `partita.structures.distinct`).

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.sample(1000, np.random.default_rng(0)).mean(axis=0).round(1)
        array([0.8])
        >>> sorted(p.sample(2, np.random.default_rng(0), replace=False).tolist())
        [[0], [1]]
        """
        if replace:
            p = self.certain
            samples = p.structures.sample(p.scores, p.inference, *checked_draw(size, rng))
        else:
            samples = in_full(self.structures, self.flat_distinct(size, rng), size)
        return self._form.join_samples(self.structures, samples)

    def flat_distinct(self, size: int, rng: np.random.Generator) -> list[list[Structure]]:
        """Samples without replacement of each sentence, `size` of them or as many as there are.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> [
        ...     tags.tolist() for tags in p.flat_distinct(5, np.random.default_rng(0))[0]
        ... ]  # there are two
        [[1], [0]]
        """
        size, rng = checked_draw(size, rng)
        _ = self.inference  # An error where there is no structure.
        p = self.certain
        drawn = distinct_structures(p.structures, p.settled.scores, size, rng)
        counts = [size] * len(drawn) if p is self else self.structures.count(self.scores > -np.inf)
        for sentence, (each, count) in enumerate(zip(drawn, counts, strict=True)):
            if len(each) < min(size, count) and p is not self:
                # Those that are out of reach come behind the others.
                if self.largest > ADDABLE:
                    raise too_large(self.structures, self.scores, sentence)
                return distinct_structures(self.structures, self.settled.scores, size, rng)
        return drawn

    def _repr_html_(self) -> str | None:
        # The drawings know the distributions, so that this layer can know of them only here.
        from partita.distribution.drawings import html

        return html(self)

    # ------------------------------------------------------------------ helpers

    def _score(self, counts: FloatArray) -> FloatArray:
        """The score of a structure per sentence given by its flat part counts."""
        return exact.score(self, counts) if self.largest > PRECISE else self.flat_score(counts)

    def _check_comparable(self, other: Self) -> None:
        check_comparable(self, other)
