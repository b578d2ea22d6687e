"""What an objective is: a statistic of a batch, a way to pull a slope back, and a loss."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.structures.batch import number_array

Pullback = Callable[[FloatArray], FloatArray]
"""Slope of the loss with respect to the summed statistic -> gradient with respect to `p.scores`."""

Schedule = Callable[[int], float]
"""Iteration (counted from 0) -> weight of a term."""


class Objective(ABC):
    """A loss of a whole corpus: loss(total), where total = the statistics of all batches summed.

    One batch at a time, `objective(p, target)` gives the statistic and a pullback; the caller sums
    the statistics, asks `loss` for the loss and its slope, and pulls the slope back through every
    batch. Nothing expensive beyond the statistic is computed until a pullback is called.

        statistics, pullbacks = zip(*(objective(p, target) for p, target in batches))
        loss, slope = objective.loss(sum(statistics))
        gradients = [pullback(slope) for pullback in pullbacks]

    `target` is what the objective compares with, prepared once per batch by
    `partita.objectives.targets`; `sample_weights` holds one number per sentence (all 1 if left
    out).
    """

    needs_total: bool
    """Whether the slope is known only after a first pass over the whole corpus.

    If not, the loss is the statistic itself, `slope` is [1.0], and one pass does it.
    """
    n_statistics: int
    """The length of the statistic."""
    is_random: bool = False
    """Whether loss and gradient are drawn at random: for optimisers that take many small steps.

    A line search, as in L-BFGS and OWL-QN, compares losses, which here says nothing.
    """

    @abstractmethod
    def __call__(
        self, p: Distribution, target: Any, sample_weights: FloatArray | None = None
    ) -> tuple[FloatArray, Pullback]:
        """The statistic of a batch, shape (n_statistics,), and its pullback."""

    def prepare(self, p: Distribution) -> None:
        """Say what of a distribution the pullback will want, before anything is asked of it.

        Called only where a gradient is wanted; the answers do not depend on it.

        >>> from partita import LinearChain
        >>> from partita.objectives import Entropy
        >>> p = LinearChain(np.zeros((3, 2)), np.zeros((2, 2)))
        >>> Entropy().prepare(p)
        """
        return

    @abstractmethod
    def loss(self, total: FloatArray) -> tuple[float, FloatArray]:
        """The loss, and its slope with respect to `total`, both for the summed statistic.

        >>> from partita.objectives import Likelihood
        >>> Likelihood().loss(np.array([2.5]))
        (2.5, array([1.]))
        """

    def named(self, name: str) -> "Sum":
        """This objective as a term with a name, by which batches give it its targets.

        >>> from partita.objectives import Entropy, Likelihood
        >>> (Likelihood().named("tags") + 0.1 * Entropy().named("unlabelled")).names
        ['tags', 'unlabelled']
        """
        return Sum((Term(self, name=name),))

    def __add__(self, other: "Objective | Sum") -> "Sum":
        return as_sum(self) + other

    def __rmul__(self, weight: float | Schedule) -> "Sum":
        return Sum((Term(self, weight),))


class Gradient(Protocol):
    """Computes the gradient of all sentences' losses with respect to the scores, when asked."""

    def __call__(self) -> FloatArray:
        """The gradient, shape (n_parts,); the caller may overwrite it."""


class AdditiveObjective(Objective):
    """A loss that is a sum over batches: the statistic, shape (1,), is the loss itself.

    >>> from partita.objectives import Entropy
    >>> isinstance(Entropy(), AdditiveObjective), Entropy().needs_total
    (True, False)
    """

    needs_total = False
    n_statistics = 1

    def loss(self, total: FloatArray) -> tuple[float, FloatArray]:
        """The statistic is the loss, and the slope [1.0]."""
        return float(total[0]), np.ones(1)


class SentenceObjective(AdditiveObjective):
    """A loss that is the sum of the losses of the sentences, each times its sample weight.

    A sentence's loss depends on the scores of its own parts only, so a subclass gives the losses
    and their gradient, and the weights are applied here.

    >>> class Surprise(SentenceObjective):  # of one structure per sentence, in bits
    ...     def losses(self, p, target):
    ...         counts = p.counts(target)
    ...         losses = p.inference.log_partition - p.flat_score(counts)
    ...         return losses / np.log(2), lambda: (p.inference.marginals - counts) / np.log(2)
    >>> from partita import LinearChain
    >>> p = LinearChain([np.zeros((3, 2))], np.zeros((2, 2)))
    >>> statistic, pullback = Surprise()(p, [[0, 1, 1]])
    >>> statistic.round(9), Surprise().losses(p, [[0, 1, 1]])[0].round(9)
    (array([3.]), array([3.]))
    """

    @abstractmethod
    def losses(self, p: Distribution, target: Any) -> tuple[FloatArray, Gradient]:
        """The loss of each sentence, shape (n_sentences,), and the gradient of their sum."""

    def __call__(
        self, p: Distribution, target: Any, sample_weights: FloatArray | None = None
    ) -> tuple[FloatArray, Pullback]:
        """The weighted sum of the sentences' losses, shape (1,), and its pullback."""
        losses, gradient = self.losses(p, target)
        if sample_weights is None:
            return losses.sum(keepdims=True), lambda slope: scaled(gradient(), slope[0])
        weights = checked_weights(sample_weights, len(losses))
        # A sentence of weight 0 is left out, even where its loss is infinite.
        used = weights > 0
        total = (weights[used] @ losses[used]).reshape(1)
        return total, lambda slope: gradient() * spread(p, slope[0] * weights)


def scaled(gradient: FloatArray, factor: float) -> FloatArray:
    """gradient * factor, in place, and no work at all where the factor is 1."""
    if factor != 1.0:
        gradient *= factor
    return gradient


def spread(p: Distribution, values: FloatArray) -> FloatArray:
    """A number per sentence as a number per part."""
    return np.repeat(values, np.diff(p.structures.part_offsets))


def checked_weights(sample_weights: Any, n_items: int, name: str = "sample_weights") -> FloatArray:
    """A finite number, 0 or more, for each item; 1 where none came."""
    if sample_weights is None:
        return np.ones(n_items)
    expected = f"({n_items},), one number for each sentence"
    weights = number_array(name, sample_weights, expected)
    if weights.shape != (n_items,):
        raise ValueError(f"{name} has shape {weights.shape}; expected {expected}.")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise ValueError(
            f"{name}[{wrong[0]}] is {weights[wrong[0]]}, negative or not finite; expected "
            "finite numbers, 0 or more. A weight of 0 leaves a sentence out."
        )
    return weights


@dataclass(frozen=True)
class Term:
    """An objective with its weight, a number or a schedule of the iteration; and with a name.

    >>> from partita.objectives import Entropy, ramp
    >>> Term(Entropy(), ramp(0.1, over=20)).weight_at(10)
    0.05
    """

    objective: Objective
    weight: float | Schedule = 1.0
    name: str = ""
    """By which batches give it its targets; if empty, `Sum.names` has one."""

    def __post_init__(self) -> None:
        if not (callable(self.weight) or isinstance(self.weight, float | int | np.number)):
            raise ValueError(
                f"an objective was multiplied by {self.weight!r}; expected a number, or a function "
                "of the iteration such as ramp(0.1, over=20)."
            )

    def weight_at(self, iteration: int) -> float:
        """The weight in an iteration, counted from 0."""
        return _at(self.weight, iteration)


@dataclass(frozen=True)
class Sum:
    """Weighted objectives, each with data of its own: `Likelihood() + 0.1 * Entropy()`.

    Loss = sum over terms of weight * loss(total of the term). Weights may change from iteration
    to iteration (see `ramp`). Terms that are given the same batches can share one distribution,
    and so one inference, per batch. `named` gives a term a name of its own.

    >>> from partita.objectives import Entropy, Likelihood, ramp
    >>> objective = Likelihood() + ramp(0.1, over=20) * Entropy()
    >>> objective.names
    ['Likelihood', 'Entropy']
    >>> objective.weights_at(iteration=10)
    [1.0, 0.05]
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        names = self.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(
                f"two terms of an objective are named {twice[0]!r}; expected different names. "
                "Choose another one by named(...)."
            )

    @property
    def names(self) -> list[str]:
        """A name for each term: its own, or that of its class, numbered from 2 if it is repeated.

        >>> from partita.objectives import Entropy
        >>> (Entropy() + Entropy().named("news") + Entropy()).names
        ['Entropy', 'news', 'Entropy2']
        """
        counts: Counter[str] = Counter()
        names = []
        for term in self.terms:
            kind = type(term.objective).__name__
            if not term.name:
                counts[kind] += 1
            number = counts[kind] if counts[kind] > 1 else ""
            names.append(term.name or f"{kind}{number}")
        return names

    def named(self, name: str) -> "Sum":
        """A sum of one term, with a name for it."""
        if len(self.terms) != 1:
            raise ValueError(
                f"the name {name!r} came for a sum of {len(self.terms)} terms, {self.names}; "
                "expected one term. Name each of them before they are added."
            )
        return Sum((replace(self.terms[0], name=name),))

    def weights_at(self, iteration: int) -> list[float]:
        """The weight of each term in an iteration, counted from 0."""
        return [term.weight_at(iteration) for term in self.terms]

    def loss(
        self, totals: Sequence[FloatArray], iteration: int = 0
    ) -> tuple[float, list[FloatArray]]:
        """The loss for one total statistic per term, and the slope for each term's pullbacks.

        >>> from partita.objectives import Entropy, Likelihood
        >>> loss, slopes = (Likelihood() + 0.5 * Entropy()).loss([np.array([3.0]), np.array([2.0])])
        >>> loss, slopes
        (4.0, [array([1.]), array([0.5])])
        """
        loss, slopes = 0.0, []
        for term, total in zip(self.terms, totals, strict=True):
            weight = term.weight_at(iteration)
            term_loss, slope = term.objective.loss(total)
            # A term that is switched off contributes nothing, even where its loss is infinite.
            loss += weight * term_loss if weight else 0.0
            slopes.append(weight * slope)
        return loss, slopes

    def __add__(self, other: "Objective | Sum") -> "Sum":
        return Sum(self.terms + as_sum(other).terms)

    def __rmul__(self, factor: float | Schedule) -> "Sum":
        return Sum(tuple(replace(t, weight=_product(factor, t.weight)) for t in self.terms))


def as_sum(objective: Objective | Sum) -> Sum:
    """A single objective as a sum of one term; a sum as it is.

    >>> from partita.objectives import Entropy
    >>> as_sum(Entropy()).names
    ['Entropy']
    """
    if not isinstance(objective, Objective | Sum):
        raise ValueError(
            f"an objective was added to {objective!r}; expected another objective, times a number "
            "if you like: Likelihood() + 0.1 * Entropy()."
        )
    return objective if isinstance(objective, Sum) else Sum((Term(objective),))


def _at(weight: float | Schedule, iteration: int) -> float:
    return float(weight(iteration) if callable(weight) else weight)


def _product(factor: float | Schedule, weight: float | Schedule) -> float | Schedule:
    if callable(factor) or callable(weight):
        return lambda iteration: _at(factor, iteration) * _at(weight, iteration)
    return factor * weight


def ramp(weight: float, over: int, *, start: int = 0) -> Schedule:
    """A weight that grows evenly from 0 at iteration `start` to `weight`, `over` iterations later.

    A large weight of a regulariser from the first iteration often leads to a bad optimum.

    >>> schedule = ramp(0.1, over=20)
    >>> [schedule(iteration) for iteration in (0, 10, 20, 30)]
    [0.0, 0.05, 0.1, 0.1]
    """
    if over < 1:
        raise ValueError(f"over is {over}; expected a number of iterations, 1 or more.")
    return lambda iteration: weight * min(max((iteration - start) / over, 0.0), 1.0)
