"""The form in which scores come and results go, and other distributions on the same structures."""

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np

from partita.arrays import BoolArray, FloatArray
from partita.distribution.checks import check_settled, check_support
from partita.distribution.flat import FlatDistribution
from partita.distribution.names import Names, described, names_of
from partita.structures.base import Structures, too_large
from partita.structures.batch import boolean_array, flat_vector
from partita.structures.doors import flat_scores, flat_values, shaped, single_scores
from partita.structures.forms import Form
from partita.structures.settling import ADDABLE, PRECISE, SMALL, settled

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Parts = TypeVar("Parts", default=Any)
else:
    from typing import TypeVar

    Parts = TypeVar("Parts")
    """Something for every part: an array, or a named tuple of arrays."""


class ShapedDistribution(FlatDistribution, Generic[Parts]):
    """A flat distribution that takes arrays and gives them back in the form in which they came."""

    parts_type: ClassVar[Callable[..., Any]]
    """The named tuple of a distribution whose scores are several arrays."""
    names: Names | None = None
    """For people, see `named`."""

    def __init__(self, structures: Structures, form: Form, *given: Any) -> None:
        """From one array of scores for each of `structures.arrays`, in the form that they have."""
        self.structures = structures
        single = single_scores(structures, form, given)
        if single is None:
            self.scores, self.largest = flat_scores(structures, form, given)
        else:
            self._single, self.largest = single
        self._form = form

    @classmethod
    def from_flat(
        cls, structures: Structures, scores: FloatArray, form: Form | None = None
    ) -> Self:
        """The distribution over a prepared batch from one flat, float64 score vector.

        For callers in a hurry: nothing is checked but the length, and a contiguous float64 vector
        is not copied. Results over parts come back as lists, unless `form` says otherwise.

        >>> from partita import LinearChain
        >>> batch = LinearChain([np.zeros((1, 2)), np.zeros((3, 2))], np.zeros((2, 2))).structures
        >>> p = LinearChain.from_flat(batch, np.zeros(batch.n_parts))
        >>> np.exp(p.log_partition).round(9)
        array([2., 8.])
        """
        distribution = cls.__new__(cls)
        distribution.structures = structures
        distribution.scores = flat_vector("scores", scores, structures.n_parts)
        distribution._form = form or Form("list", once=(False,) * len(structures.arrays))
        return distribution

    def _flatten(self, values: Any, dtype: type = np.float64) -> Any:
        """Values for every part, in the form of the scores, as one flat array of `dtype`."""
        arrays = self.structures.arrays
        if len(arrays) == 1:
            values = (values,)
        elif not (isinstance(values, tuple | list) and len(values) == len(arrays)):
            names = ", ".join(array.name for array in arrays)
            raise ValueError(
                f"{type(values).__name__} came; expected a tuple ({names}) in the form of the "
                "scores, each of them None where it has nothing to say."
            )
        return flat_values(self.structures, self._form, values, dtype)

    def _shaped(self, parts: FloatArray, *, largest: bool = False, copied: bool = True) -> Parts:
        """A flat vector over parts, in the form of the scores, with memory of its own.

        Parts whose scores a caller gave once for several sentences are added up, or the largest
        is taken.
        """
        arrays = shaped(self.structures, self._form, parts, largest=largest, copied=copied)
        found: Parts = arrays[0] if len(arrays) == 1 else self.parts_type(*arrays)
        return found

    # ------------------------------------------------------------------ on the same structures

    def tempered(self, alpha: float) -> Self:
        """The distribution proportional to p^alpha: `alpha` times the scores, -inf kept.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.tempered(2.0).marginals.unary.round(9)  # 1² and 3², of 10
        array([[0.1, 0.9]])
        """
        allowed = self.scores > -np.inf
        with np.errstate(over="ignore"):
            tempered = np.multiply(alpha, self.scores, out=self.scores.copy(), where=allowed)
        if alpha * self.largest == np.inf:
            sentence = np.searchsorted(
                self.structures.part_offsets,
                np.flatnonzero(allowed & np.isinf(tempered))[0],
                "right",
            )
            raise too_large(self.structures, self.scores, int(sentence) - 1)
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
        """`restricted` by a flat vector of booleans over parts.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.flat_restricted(np.array([True, False, True, True, True, True])).marginals.unary
        array([[1., 0.]])
        """
        allowed = boolean_array("allowed", allowed)
        if allowed.shape != self.scores.shape:
            raise ValueError(
                f"allowed has shape {allowed.shape}; expected {self.scores.shape}, a boolean for "
                "each part of the batch."
            )
        return self.with_scores(np.where(allowed, self.scores, -np.inf))

    def with_scores(self, scores: FloatArray) -> Self:
        """The same structures with other flat scores.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
        >>> p.with_scores(np.zeros(6)).marginals.unary
        array([[0.5, 0.5]])
        """
        found = self.from_flat(self.structures, scores, self._form)
        found.names = self.names
        return found

    @property
    def settled(self) -> Self:
        """The same distribution; from large scores, what all structures have in common is taken.

        A sum of scores of 1e12 has no digits left for an entropy. Scores that are not large stay
        as they are.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[1e15, 1e15 + 1.0]]), np.zeros((2, 2)))
        >>> p.settled.scores[:2]
        array([-1.,  0.])
        """
        # One that kept itself would be in memory until the next search for such rings. Differences
        # of scores that cannot be added up may be beyond the largest double.
        return self._settled if SMALL < self.largest <= ADDABLE else self

    @cached_property
    def _settled(self) -> Self:
        return self.with_scores(self.structures.centred(self.scores, self.inference))

    @property
    def certain(self) -> Self:
        """The same distribution, from scores whose sums keep their digits.

        It is this one unless scores are very large. What all structures have in common is then
        taken from them, and parts that are in no structure of probability above 0 are forbidden;
        if large scores that cancel are left, nobody knows which structures are good, and that is
        an error.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[1e17, 1e17 + 32.0, 0.0]]), np.zeros((3, 3)))
        >>> p.certain.scores[:3]
        array([-32.,   0., -inf])
        """
        # Not all of it a cached property, whose lock takes a tenth of what a sentence does.
        return self if self.largest <= PRECISE else self._certain

    @cached_property
    def _certain(self) -> Self:
        return self.certain_within(1.0)

    def certain_within(self, reach: float) -> Self:
        """`certain`, where structures that are `reach` times as far from the best count too.

        >>> from partita import LinearChain
        >>> p = LinearChain(np.array([[1e17, 1e17 - 1e4]]), np.zeros((2, 2)))
        >>> p.certain.scores[:2], p.certain_within(1000.0).scores[:2]
        (array([  0., -inf]), array([     0., -10000.]))
        """
        if self.largest <= PRECISE:
            return self
        best = self.structures.argmax(self._addable[0])
        check_support(self.structures, self.scores, best.scores)
        found = settled(self.structures, self.scores, reach)
        check_settled(found.sizes)
        return self.with_scores(found.scores)

    # ------------------------------------------------------------------ names

    def named(
        self, words: Sequence[str] | Sequence[Sequence[str]], choices: Sequence[str] = ()
    ) -> Self:
        """The same distribution with names for people, which drawings in a notebook carry.

        `words` are those of the sentence, or a list of them for each of a batch; `choices` are the
        names of the tags or labels.

        >>> from partita import LinearChain
        >>> LinearChain(np.zeros((2, 2)), np.zeros((2, 2))).named(["dogs", "bark"], ["N", "V"])
        LinearChain(dogs bark, 2 tags)
        """
        found = copy.copy(self)
        found.names = names_of(self.structures, words, choices)
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({described(self)})"
