"""Distributions on flat vectors over parts: the numbers that everything else is derived from."""

from functools import cached_property

import numpy as np

from partita.arrays import FloatArray
from partita.distribution.checks import check_shape, check_shapes, check_support, restored
from partita.kernels import parts
from partita.structures.base import Best, Inference, Structure, Structures
from partita.structures.batch import flat_vector
from partita.structures.settling import ADDABLE, UNIT


class FlatDistribution:
    """p(structure) = exp(score(structure) - A) of a batch, asked in flat vectors over its parts.

    A vector over parts is (n_parts,), the sentences one after the other and the parts of each in
    C order of its arrays; a number for each sentence is (n_sentences,). This is the index that
    objectives, features and kernels share; callers with arrays use the methods without `flat`.

    >>> from partita import LinearChain
    >>> p = LinearChain([[[0.0, np.log(3.0)]], [[0.0, 0.0]]], np.zeros((2, 2)))  # two sentences
    >>> p.scores.round(2), p.structures.part_offsets  # two tags and four transitions of each
    (array([0. , 1.1, 0. , 0. , 0. , 0. , 0. , 0. , 0. , 0. , 0. , 0. ]), array([ 0,  6, 12]))
    >>> np.exp(p.inference.log_partition).round(9), p.inference.marginals[[0, 1, 6, 7]].round(9)
    (array([4., 2.]), array([0.25, 0.75, 0.5 , 0.5 ]))
    >>> tag_0 = np.zeros(12)
    >>> tag_0[[0, 6]] = 1.0  # the first tag of either sentence
    >>> p.flat_expectation(tag_0).round(9), p.flat_score(tag_0)
    (array([0.25, 0.5 ]), array([0., 0.]))
    >>> p.flat_covariance_product(tag_0)[[0, 1, 6, 7]].round(9)
    array([ 0.1875, -0.1875,  0.25  , -0.25  ])
    >>> p.flat_max_marginals()[[0, 1, 6, 7]].round(2)
    array([0. , 1.1, 0. , 0. ])
    >>> [[tags.tolist() for tags, score in found] for found in p.flat_k_best(1)]
    [[[1]], [[0]]]
    >>> round(p.largest, 2)
    1.1
    """

    structures: Structures
    _single: FloatArray | None = None
    """The scores in the single precision that they came in, where structures take it."""
    _single_log_partition: FloatArray | None = None
    _single_marginals: FloatArray | None = None
    """What `infer_single` has found; the marginals until they are given away."""
    _inference: Inference | None = None
    known_entropy: FloatArray | None = None
    """Of each sentence, if `infer_with_entropy` has found it."""
    _entropy_gradients: list[FloatArray] | None = None
    """None or one; a list, so that copies of the distribution do not give away the same."""

    @cached_property
    def scores(self) -> FloatArray:
        """One score per part of all sentences, flat."""
        # Where they came in double precision, this is set and not computed.
        assert self._single is not None
        return self._single.astype(np.float64)

    @property
    def inference(self) -> Inference:
        """Flat log-partition and marginals, computed once; no structure at all is an error."""
        # Not a cached property, whose lock takes a tenth of what a sentence does.
        if self._inference is None:
            self._keep(self.structures.infer(self.scores))
        assert self._inference is not None
        return self._inference

    def _keep(self, inference: Inference) -> None:
        check_shapes(self.structures, inference)
        check_support(self.structures, self.scores, inference.log_partition)
        self._inference = inference

    def infer_once(self) -> None:
        """Say first that log-partition and marginals are all that will be wanted.

        It changes no answer; a covariance product may take longer then.

        >>> from partita import ProjectiveTree
        >>> p = ProjectiveTree(np.zeros((3, 3)))
        >>> p.infer_once()
        >>> np.exp(p.inference.log_partition).round(9)
        array([3.])
        """
        if self._inference is None:
            self._keep(self.structures.infer_once(self.scores))

    def infer_single(self) -> FloatArray | None:
        """Log-partitions, where scores came in single precision and marginals are wanted in it.

        Everything is computed in double precision, and marginals are rounded once. None where
        structures do not know how, or the other inference is there already.

        >>> from partita import ProjectiveTree
        >>> p = ProjectiveTree(np.zeros((3, 3), dtype=np.float32))
        >>> np.exp(p.infer_single()).round(9)
        array([3.])
        >>> p.take_single_marginals().reshape(3, 3)[:, 1:].round(3).tolist()[1]
        [0.0, 0.3330000042915344]
        """
        if self._single_log_partition is None and self._single is not None:
            if self._inference is not None:
                return None
            found = self.structures.infer_once(self._single)
            check_support(self.structures, self._single, found.log_partition)
            self._single_log_partition, self._single_marginals, _ = found
        return self._single_log_partition

    def take_single_marginals(self) -> FloatArray | None:
        """Those that `infer_single` has found, once: they are given away, not copied.

        >>> from partita import ProjectiveTree
        >>> print(ProjectiveTree(np.zeros((3, 3))).take_single_marginals())
        None
        """
        marginals, self._single_marginals = self._single_marginals, None
        return marginals

    def infer_with_entropy(self) -> None:
        """Say first that the entropy's gradient will be wanted: one pass may then give it too.

        It changes no answer, and does nothing where structures do not know how.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.infer_with_entropy()
        >>> p.known_entropy is None or p.known_entropy.round(6).tolist() == [0.562335]
        True
        """
        if self._inference is not None:
            return
        found = self.structures.infer_with_entropy(self.scores)
        if found is not None:
            self._keep(found.inference)
            self.known_entropy, self._entropy_gradients = found.entropy, [found.gradient]

    def take_entropy_gradient(self) -> FloatArray | None:
        """What `infer_with_entropy` has found, once: it is given away, not copied.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> print(p.take_entropy_gradient())  # nobody said that it would be wanted
        None
        """
        return self._entropy_gradients.pop() if self._entropy_gradients else None

    def flat_covariance_product(self, direction: FloatArray) -> FloatArray:
        """`covariance_product` on flat vectors over parts.

        A part whose marginal is 0 does not vary, so its direction (often the score -inf) counts
        as 0.
        """
        inference = self.inference
        direction = flat_vector("direction", direction, self.structures.n_parts)
        largest, is_finite = parts.largest(direction)
        if not is_finite:
            possible = np.empty_like(direction)
            if not parts.clear_impossible(inference.marginals, direction, possible):
                raise ValueError(
                    "direction has a value that is not finite at a part that can occur; expected "
                    "finite numbers wherever the marginal is above 0."
                )
            direction = possible
            largest, _ = parts.largest(direction)
        unit = UNIT if largest > ADDABLE else 1.0
        if unit > 1.0:
            direction = direction / unit
        product = self.structures.covariance_product(self.scores, inference, direction)
        check_shape(self.structures, "covariance_product", "values", product)
        return product if unit == 1.0 else restored("the covariance product", product, unit)

    def flat_expectation(self, values: FloatArray) -> FloatArray:
        """`expectation` of a flat vector over parts, for each sentence.

        0 times infinity is 0 here: a part that never occurs contributes nothing.
        """
        values = flat_vector("values", values, self.structures.n_parts)
        return self._sum_by_sentence("the expectation", self.inference.marginals, values)

    def flat_score(self, counts: FloatArray) -> FloatArray:
        """Score of a structure per sentence given by its flat part counts."""
        counts = flat_vector("counts", counts, self.structures.n_parts)
        return self._sum_by_sentence("the score", counts, self.scores)

    @cached_property
    def best(self) -> Best:
        """The best structure of each sentence with its score."""
        scores, unit = self._addable
        best = self.structures.argmax(scores)
        check_support(self.structures, self.scores, best.scores)
        return Best(best.structures, restored("the best score", best.scores, unit))

    def flat_max_marginals(self) -> FloatArray:
        """`max_marginals` as a flat vector over parts."""
        scores, unit = self._addable
        found: FloatArray = restored("a max-marginal", self.structures.max_marginals(scores), unit)
        return found

    def flat_k_best(self, k: int) -> list[list[tuple[Structure, float]]]:
        """The k best structures of each sentence and their scores."""
        scores, unit = self._addable
        best = self.structures.k_best(scores, k)
        highest = np.array([found[0][1] if found else -np.inf for found in best])
        check_support(self.structures, self.scores, highest)
        if unit == 1.0:
            return best
        return [
            [(structure, float(restored("a score", score, unit))) for structure, score in found]
            for found in best
        ]

    @cached_property
    def largest(self) -> float:
        """The largest absolute value of the scores that are finite."""
        return float(parts.largest(self.scores)[0])

    @cached_property
    def _addable(self) -> tuple[FloatArray, float]:
        """Scores whose sums do not overflow, and the unit they are in.

        Best structures are the same in any unit, and a power of two costs no digits.
        """
        if self.largest <= ADDABLE:
            return self.scores, 1.0
        return self.scores / UNIT, UNIT

    def _sum_by_sentence(self, what: str, counts: FloatArray, values: FloatArray) -> FloatArray:
        """sum over the parts of each sentence of counts * values."""
        offsets, sums = self.structures.part_offsets, np.empty(self.structures.n_sentences)
        parts.sum_products(counts, values, offsets, sums)
        if not np.isfinite(sums).all() and parts.largest(values)[0] > ADDABLE:
            parts.sum_products(counts, values / UNIT, offsets, sums)
            sums = restored(what, sums, UNIT)
        return sums
