"""Scores on a set of structures: every derived quantity, once for all structures."""

import copy
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from partita.arrays import BoolArray, FloatArray
from partita.kernels import parts
from partita.show.display import notebook_html
from partita.show.svg import Svg
from partita.structures.base import Best, Inference, Structure, Structures
from partita.structures.batch import Form, flat_vector, whole_number


class Combine(NamedTuple):
    """How values of several sentences for one part are merged, and what padding holds."""

    function: np.ufunc
    neutral: float


SUM, BEST = Combine(np.add, 0.0), Combine(np.maximum, -np.inf)


class Distribution(ABC):
    """p(structure) = exp(score(structure) - A), for each sentence of a batch.

    A structure's score is the sum of the scores of its parts, and A, the log-partition, makes the
    probabilities sum to one. A subclass says how arrays go in and out (`_flatten`, `_shaped`);
    its `Structures` supply log-partition, marginals, covariance product, argmax, k-best and
    samples; everything else follows from these and is written here.

    Numbers are plain floats for one sentence and arrays of length n_sentences for a batch;
    arrays over parts come back in the form the scores came in. The examples below are of one word
    with two tags, whose scores are 0 and log 3.

    >>> from partita import LinearChain
    >>> p = LinearChain([[[0.0, np.log(3.0)]]], np.zeros((2, 2)))  # a batch of one sentence
    >>> np.exp(p.log_partition).round(9), p.entropy.round(3)
    (array([4.]), array([0.562]))
    """

    structures: Structures
    scores: FloatArray
    """One score per part of all sentences, flat."""

    def __init__(self, structures: Structures, scores: FloatArray, form: Form) -> None:
        self.structures = structures
        self.scores = scores
        self._form = form

    @classmethod
    def from_flat(
        cls, structures: Structures, scores: FloatArray, form: Form | None = None
    ) -> Self:
        """The distribution over a prepared batch from one flat, float64 score vector.

        For callers in a hurry: nothing is checked but the length, and a contiguous float64 vector
        is not copied. Results over parts come back as lists, unless `form` says otherwise.
        """
        scores = flat_vector("scores", scores, structures.n_parts)
        distribution = cls.__new__(cls)
        Distribution.__init__(distribution, structures, scores, form or Form("list"))
        return distribution

    @abstractmethod
    def _flatten(self, values: Any, dtype: type) -> Any:
        """Values for every part, in the form of the scores, as one flat array of `dtype`."""

    @abstractmethod
    def _shaped(self, parts: FloatArray, combine: Combine = SUM) -> Any:
        """A flat vector over parts, in the form of the scores; its memory may be shared.

        Parts whose scores a caller gave once for several sentences are merged by `combine`.
        """

    @abstractmethod
    def _drawings(self, sentence: int) -> list[Svg]:
        """What a notebook shows of one sentence."""

    # ------------------------------------------------------------------ log-partition and gradient

    @cached_property
    def inference(self) -> Inference:
        """Flat log-partition and marginals, computed once; no structure at all is an error."""
        inference = self.structures.infer(self.scores)
        self._check_support(inference.log_partition)
        return inference

    @property
    def log_partition(self) -> Any:
        """A = log sum over structures of exp(score).

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> round(np.exp(p.log_partition).item(), 9)
        4.0
        """
        return self._form.scalar(self.inference.log_partition.copy())

    @property
    def marginals(self) -> Any:
        """Expected count of every part: the gradient of the log-partition.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.marginals.unary.round(9)
        array([[0.25, 0.75]])
        """
        # A copy, so that whoever writes to it does not change later answers; so too below.
        return self._shaped(self.inference.marginals.copy())

    def covariance_product(self, direction: Any) -> Any:
        """Covariance of the part counts, times a vector over parts in the form of the scores.

        The derivative of `marginals` when the scores move along `direction`, so the Hessian of the
        log-partition times it; costs about two calls of `marginals`, and no matrix is formed.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.covariance_product((np.array([[1.0, 0.0]]), None)).unary
        array([[ 0.1875, -0.1875]])
        """
        return self._shaped(self.flat_covariance_product(self._flatten(direction, np.float64)))

    def flat_covariance_product(self, direction: FloatArray) -> FloatArray:
        """`covariance_product` on flat vectors over parts.

        A part whose marginal is 0 does not vary, so its direction (often the score -inf) counts
        as 0.
        """
        inference = self.inference
        direction = flat_vector("direction", direction, self.structures.n_parts)
        if not parts.all_finite(direction):
            possible = np.empty_like(direction)
            if not parts.clear_impossible(inference.marginals, direction, possible):
                raise ValueError(
                    "direction has a value that is not finite at a part that can occur; expected "
                    "finite numbers wherever the marginal is above 0."
                )
            direction = possible
        return self.structures.covariance_product(self.scores, inference, direction)

    def covariance(self) -> Any:
        """Dense covariance of the part counts, parts in C order of the scores; a list for a batch.

        Meant for checks and small sentences: its size is the square of the number of parts.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.covariance()[:2, :2]  # the two tags; four transitions that never occur follow
        array([[ 0.1875, -0.1875],
               [-0.1875,  0.1875]])
        """
        matrices = self.structures.covariance(self.scores, self.inference)
        return matrices[0] if self._form.kind == "one" else matrices

    # ------------------------------------------------------------------ what follows from them

    def expectation(self, values: Any) -> Any:
        """Expected sum of `values`, one per part in the form of the scores: <values, marginals>.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> round(p.expectation((np.array([[8.0, 4.0]]), None)), 9)
        5.0
        """
        return self._form.scalar(self.flat_expectation(self._flatten(values, np.float64)))

    def flat_expectation(self, values: FloatArray) -> FloatArray:
        """`expectation` of a flat vector over parts, for each sentence.

        0 times infinity is 0 here: a part that never occurs contributes nothing.
        """
        values = flat_vector("values", values, self.structures.n_parts)
        return self._sum_by_sentence(self.inference.marginals, values)

    @property
    def entropy(self) -> Any:
        """H = -sum p log p = A - <scores, marginals>, in nats.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> round(p.entropy, 6)  # -(0.25 log 0.25 + 0.75 log 0.75)
        0.562335
        """
        return self._form.scalar(self.inference.log_partition - self.flat_expectation(self.scores))

    def entropy_gradient(self) -> Any:
        """Gradient of the entropy with respect to the scores: -covariance_product(scores).

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.entropy_gradient().unary.round(3)
        array([[ 0.206, -0.206]])
        """
        return self._shaped(-self.flat_covariance_product(self.scores))

    def cross_entropy(self, other: Self) -> Any:
        """-sum p log q = A_q - <scores_q, marginals_p>; infinite where q forbids what p allows.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> q = LinearChain(np.zeros((1, 2)), np.zeros((2, 2)))
        >>> round(p.cross_entropy(q), 6)  # log 2
        0.693147
        """
        self._check_comparable(other)
        return self._form.scalar(
            other.inference.log_partition - self.flat_expectation(other.scores)
        )

    def kl_divergence(self, other: Self) -> Any:
        """sum p log(p / q) = cross_entropy(other) - entropy.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.kl_divergence(p)
        0.0
        """
        return self.cross_entropy(other) - self.entropy

    def renyi_entropy(self, alpha: float) -> Any:
        """log(sum p^alpha) / (1 - alpha) = (A(alpha scores) - alpha A(scores)) / (1 - alpha).

        alpha = 0 counts the allowed structures (as a logarithm), 1 is the entropy, and infinity is
        minus the log-probability of the best structure. Costs one more log-partition.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> [round(np.exp(p.renyi_entropy(alpha)).item(), 6) for alpha in (0, 2, np.inf)]
        [2.0, 1.6, 1.333333]
        """
        if not alpha >= 0:
            raise ValueError(f"alpha is {alpha}; expected a number from 0 to infinity.")
        if alpha == 1:
            return self.entropy
        log_partition = self.inference.log_partition
        if alpha == np.inf:
            return self._form.scalar(log_partition - self.best.scores)
        tempered = self.tempered(alpha).inference.log_partition
        return self._form.scalar((tempered - alpha * log_partition) / (1 - alpha))

    def n_best_entropy(self, k: int) -> Any:
        """Entropy of the k best structures alone, renormalised (Kim et al. 2006).

        The usual approximation where the exact `entropy` is not to be had; here for comparison.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.n_best_entropy(1), round(p.n_best_entropy(2) - p.entropy, 9)
        (0.0, 0.0)
        """
        best = self.k_best(k)
        lists = [best] if self._form.kind == "one" else best
        entropies = []
        for found in lists:
            scores = np.array([score for _, score in found])
            weights = np.exp(scores - scores[0])
            log_total = np.log(weights.sum())
            entropies.append(log_total - weights @ (scores - scores[0]) / weights.sum())
        return self._form.scalar(np.array(entropies))

    def tempered(self, alpha: float) -> Self:
        """The distribution proportional to p^alpha: `alpha` times the scores, -inf kept."""
        forbidden = self.scores == -np.inf
        tempered = np.multiply(alpha, self.scores, out=self.scores.copy(), where=~forbidden)
        return self.with_scores(tempered)

    def restricted(self, allowed: Any) -> Self:
        """The same distribution on the structures that use allowed parts only.

        `allowed` holds a boolean per part, in the form of the scores. The log-partition of the
        result minus that of this one is the log-probability of the restriction.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> allowed = p.restricted((np.array([[True, False]]), None))
        >>> round(np.exp(allowed.log_partition - p.log_partition).item(), 9)
        0.25
        """
        return self.flat_restricted(self._flatten(allowed, np.bool_))

    def flat_restricted(self, allowed: BoolArray) -> Self:
        """`restricted` by a flat vector of booleans over parts."""
        (allowed,) = Form("one").split("allowed", allowed, [self.scores.shape], np.bool_)
        return self.with_scores(np.where(allowed, self.scores, -np.inf))

    def with_scores(self, scores: FloatArray) -> Self:
        """The same structures with other flat scores."""
        return self.from_flat(self.structures, scores, self._form)

    # ------------------------------------------------------------------ structures

    def counts(self, structure: Structure) -> FloatArray:
        """How often each part occurs in a structure (one per sentence), as a flat vector."""
        return self.structures.counts(
            self._form.split_structures(structure, self.structures.n_words)
        )

    def score(self, structure: Structure) -> Any:
        """Sum of the scores of a structure's parts, a structure per sentence; -inf if forbidden.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.score([0])
        0.0
        """
        return self._form.scalar(self.flat_score(self.counts(structure)))

    def flat_score(self, counts: FloatArray) -> FloatArray:
        """Score of a structure per sentence given by its flat part counts."""
        counts = flat_vector("counts", counts, self.structures.n_parts)
        return self._sum_by_sentence(counts, self.scores)

    def log_prob(self, structure: Structure) -> Any:
        """log p(structure) = score(structure) - A.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> round(np.exp(p.log_prob([1])).item(), 9)
        0.75
        """
        return self.score(structure) - self.log_partition

    @cached_property
    def best(self) -> Best:
        """The best structure of each sentence with its score."""
        best = self.structures.argmax(self.scores)
        self._check_support(best.scores)
        return best

    @property
    def argmax(self) -> Structure:
        """A structure with the highest score.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.argmax
        array([1])
        """
        return self._form.join_structures(copy.deepcopy(self.best.structures))

    @property
    def max_marginals(self) -> Any:
        """For each part the score of the best structure that uses it; -inf where none can.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.max_marginals.unary.round(3)
        array([[0.   , 1.099]])
        """
        return self._shaped(self.structures.max_marginals(self.scores), BEST)

    def k_best(self, k: int) -> Any:
        """The k best structures as `(structure, score)`, best first; a list of lists for a batch.

        Fewer where fewer are allowed: a structure with a forbidden part is never listed.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> [(tags.tolist(), round(score, 3)) for tags, score in p.k_best(3)]
        [([1], 1.099), ([0], 0.0)]
        """
        best = self.structures.k_best(self.scores, whole_number("k", k, 1))
        self._check_support(np.array([0.0 if found else -np.inf for found in best]))
        return best[0] if self._form.kind == "one" else best

    def sample(self, size: int, rng: np.random.Generator) -> Structure:
        """`size` independent structures, exactly from p, along the first axis of each sentence.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.sample(1000, np.random.default_rng(0)).mean(axis=0).round(1)
        array([0.8])
        """
        size = whole_number("size", size, 0)
        if not isinstance(rng, np.random.Generator):
            raise ValueError(
                f"rng is {rng!r}; expected a NumPy Generator, such as np.random.default_rng(0)."
            )
        samples = self.structures.sample(self.scores, self.inference, size, rng)
        return self._form.join_structures(samples)

    def _repr_html_(self) -> str | None:
        try:
            numbers = np.stack([np.atleast_1d(self.log_partition), np.atleast_1d(self.entropy)])
        except ValueError:
            # There is a sentence without any structure; whoever asks for a number is told why.
            return None
        facts = [f"log-partition {a:.4g}, entropy {h:.4g} nats" for a, h in numbers.T]
        return notebook_html(type(self).__name__, facts, self._drawings)

    # ------------------------------------------------------------------ helpers

    def _sum_by_sentence(self, counts: FloatArray, values: FloatArray) -> FloatArray:
        sums = np.empty(self.structures.n_sentences)
        parts.sum_products(counts, values, self.structures.part_offsets, sums)
        return sums

    def _check_comparable(self, other: Self) -> None:
        if type(self) is not type(other) or not self.structures.is_same_set(other.structures):
            raise ValueError(
                f"{_described(self)} was compared with {_described(other)}; expected "
                "two distributions over the same parts and the same set of structures. Forbid by "
                "-inf what only one of them allows."
            )

    def _check_support(self, values: FloatArray) -> None:
        for sentence in np.flatnonzero(values == -np.inf).tolist():
            raise ValueError(
                f"sentence {sentence} (counting from 0) has no structure: "
                f"{self.structures.why_empty(self.scores, sentence)}. Allow more parts, or leave "
                "the sentence out."
            )


def _described(other: Any) -> str:
    if not isinstance(other, Distribution):
        return f"a {type(other).__name__}"
    sets = other.structures
    return f"a {type(other).__name__} ({sets.n_sentences} sentences, {sets.n_parts} parts)"
