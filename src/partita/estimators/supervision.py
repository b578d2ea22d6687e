"""What is known of each sentence, everything, something or nothing: an objective and its batches.

Labels teach by a course (likelihood, risk, ...), sentences without labels by their entropy and by
expectations. An objective becomes selectable by a line in `COURSES`; what it is compared with
follows from `TARGETS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.estimators.pieces import Piece
from partita.objectives import (
    ContrastiveDivergence,
    CostedCounts,
    Counts,
    ExpectedCost,
    Likelihood,
    LocallyNormalised,
    MarginalLikelihood,
    Objective,
    Observed,
    SampledLikelihood,
    Schedule,
    SoftmaxMargin,
    StructuredPerceptron,
    Sum,
    ramp,
)
from partita.structures.base import Structure
from partita.training.batches import Batch


class Known(IntEnum):
    """How much is known of a sentence's structure."""

    ALL = 0
    SOME = 1
    NOTHING = 2


class Knowledge(ABC):
    """The labels of sentences, as an estimator numbers them; what follows from them is here."""

    labels: Sequence[IntArray]
    """Of each encoded sentence, -1 where nothing is known."""

    @abstractmethod
    def allowed(self, piece: Piece) -> BoolArray:
        """Which parts agree with what is known, (n_parts,)."""

    @abstractmethod
    def n_known(self) -> int:
        """How many words have a label."""

    def right(self, piece: Piece) -> Sequence[Structure]:
        """The right structures, where everything is known."""
        return piece.of(self.labels)

    def counts(self, piece: Piece) -> Counts:
        """Their counts."""
        return Counts.of(piece.structures, self.right(piece))

    def cost(self, piece: Piece) -> FloatArray:
        """1 for a choice that is wrong for certain (a tag, an arc), else 0."""
        wrong: BoolArray = piece.structures.is_choice() & ~self.allowed(piece)
        return wrong.astype(np.float64)


class Course(NamedTuple):
    """How labels teach: where everything is known, and where something is."""

    full: Objective
    partial: Objective

    @property
    def is_convex(self) -> bool:
        """Whether a run may begin anywhere."""
        return isinstance(self.full, CONVEX)

    @property
    def is_random(self) -> bool:
        """Whether gradients are drawn at random, so that only mini-batch optimisers serve."""
        return self.full.is_random


# Samples stand for the likelihood, which would be there already if a run began with that.
CONVEX = (
    Likelihood,
    SoftmaxMargin,
    StructuredPerceptron,
    ContrastiveDivergence,
    SampledLikelihood,
)
LIKELIHOOD = Course(Likelihood(), MarginalLikelihood())
RISK = Course(ExpectedCost(), ExpectedCost())
ObjectiveName = Literal["likelihood", "risk", "softmax-margin", "contrastive-divergence"]
COURSES: dict[ObjectiveName, Callable[[int, int], Course]] = {
    "likelihood": lambda n_steps, seed: LIKELIHOOD,
    "risk": lambda n_steps, seed: RISK,
    "softmax-margin": lambda n_steps, seed: Course(SoftmaxMargin(), MarginalLikelihood()),
    "contrastive-divergence": lambda n_steps, seed: Course(
        ContrastiveDivergence(n_steps, np.random.default_rng(seed)), MarginalLikelihood()
    ),
}
"""By the name that users say: of a number of steps and a seed, for what is drawn at random."""

TARGETS: dict[type[Objective], Callable[[Knowledge, Piece], Any]] = {
    MarginalLikelihood: lambda knowledge, piece: knowledge.allowed(piece),
    ExpectedCost: lambda knowledge, piece: knowledge.cost(piece),
    SoftmaxMargin: lambda knowledge, piece: CostedCounts(
        knowledge.counts(piece), knowledge.cost(piece)
    ),
    ContrastiveDivergence: lambda knowledge, piece: Observed.of(
        piece.structures, knowledge.right(piece)
    ),
}
"""What an objective is compared with; the counts of the right structures if it is not listed."""


def course_of(objective: ObjectiveName | Objective, n_steps: int = 1, seed: int = 0) -> Course:
    """The course of a name, or of an objective that a user made.

    `n_steps` and `seed` are for a name whose gradients are drawn at random.

    >>> course_of(ExpectedCost()).is_convex
    False
    """
    if isinstance(objective, str):
        return COURSES[objective](n_steps, seed)
    takes_part = any(isinstance(objective, each) for each in (MarginalLikelihood, ExpectedCost))
    return Course(objective, objective if takes_part else MarginalLikelihood())


def target_of(objective: Objective, knowledge: Knowledge, piece: Piece) -> Any:
    """What an objective compares a piece with."""
    for each in type(objective).__mro__:
        if each in TARGETS:
            return TARGETS[each](knowledge, piece)
    return knowledge.counts(piece)


class Expectations(Protocol):
    """What should hold of the expectations of sentences without labels."""

    def term(self) -> Sum:
        """Its term of the objective."""

    def target(self, piece: Piece) -> Any:
        """What the term compares a piece with."""


class EntropyTerm(NamedTuple):
    """The entropy of sentences without labels, its weight reached after `over` iterations."""

    objective: Objective
    weight: float
    over: int

    def term(self) -> Sum:
        """Its term of the objective."""
        if not self.over:
            return self.weight * self.objective
        # More than 0 from the first iteration on: without the entropy the weights may have
        # converged already.
        schedule: Schedule = ramp(self.weight, over=self.over, start=-1)
        return schedule * self.objective


def locally(objective: Sum) -> Sum:
    """The same terms under the same names, of chains that are normalised at every step.

    >>> locally(Likelihood() + 0.5 * ExpectedCost()).names
    ['Likelihood', 'ExpectedCost']
    """
    terms = zip(objective.terms, objective.names, strict=True)
    return Sum(
        tuple(
            replace(term, objective=LocallyNormalised(term.objective), name=name)
            for term, name in terms
        )
    )


class Lesson(NamedTuple):
    """A term of the objective, which sentences teach it, and what it compares them with."""

    term: Sum
    groups: tuple[Known, ...]
    target: Callable[[Piece], Any]


@dataclass(frozen=True)
class Lessons:
    """Sentences sorted by what is known of them, and all that is to be learnt from them."""

    pieces: Mapping[Known, Sequence[Piece]]
    knowledge: Knowledge
    course: Course = LIKELIHOOD
    sample_weights: FloatArray | None = None
    """One for each encoded sentence."""
    entropy: EntropyTerm | None = None
    expectations: Sequence[Expectations] = ()
    what: str = "labels"
    """What labels are called: "tags", "heads"."""

    def __post_init__(self) -> None:
        if self.entropy is not None and not self.pieces[Known.NOTHING]:
            raise ValueError(
                f"entropy_weight is above 0, but no sentence came without {self.what}; give such "
                "sentences to fit (unlabelled=...), or leave the weight at 0."
            )

    @property
    def has_labels(self) -> bool:
        """Whether anything is known of any sentence."""
        return bool(self.pieces[Known.ALL] or self.pieces[Known.SOME])

    @property
    def is_convex(self) -> bool:
        """Whether the loss has one minimum: labels alone, all of them or none of a sentence."""
        beside = bool(self.expectations) or self.entropy is not None or self.pieces[Known.SOME]
        return self.course.is_convex and not beside

    def beginning(self) -> "Lessons | None":
        """What to learn first, where the loss is not convex; None if it may begin anywhere.

        Neither risk nor entropy is convex: weights that make the labels likely, without either of
        them, are a good place to start.
        """
        teaches = self.has_labels or bool(self.expectations)
        if not teaches or (self.course.is_convex and self.entropy is None):
            return None
        return replace(self, course=LIKELIHOOD, entropy=None)

    def assemble(self) -> tuple[Sum, Iterator[Batch]]:
        """The objective, and the batches with their targets, made as they are taken."""
        lessons = self._lessons()
        if not lessons:
            raise ValueError(
                f"nothing says what to learn; expected {self.what}, or expectations, beside "
                f"sentences without {self.what}."
            )
        objective = lessons[0].term
        for lesson in lessons[1:]:
            objective = objective + lesson.term
        batches = self._batches(dict(zip(objective.names, lessons, strict=True)))
        if any(piece.is_local for pieces in self.pieces.values() for piece in pieces):
            objective = locally(objective)
        return objective, batches

    def _batches(self, lessons: Mapping[str, Lesson]) -> Iterator[Batch]:
        for group, pieces in self.pieces.items():
            for piece in pieces:
                targets = {
                    name: lesson.target(piece)
                    for name, lesson in lessons.items()
                    if group in lesson.groups
                }
                # A batch that no term learns from would only cost time.
                if targets:
                    yield piece.batch(targets, self.sample_weights)

    def _lessons(self) -> list[Lesson]:
        known = tuple(each for each in (Known.ALL, Known.SOME) if self.pieces[each])
        full, partial = self.course
        if full is partial:
            lessons = [self._labels(full, known)] if known else []
        else:
            pairs = ((full, Known.ALL), (partial, Known.SOME))
            lessons = [self._labels(each, (group,)) for each, group in pairs if group in known]
        if self.entropy is not None:
            lessons.append(Lesson(self.entropy.term(), (Known.NOTHING,), lambda piece: None))
        # Expectations are taught by sentences without labels, or by all if there are no such.
        groups = (Known.NOTHING,) if self.pieces[Known.NOTHING] else tuple(Known)
        return lessons + [Lesson(each.term(), groups, each.target) for each in self.expectations]

    def _labels(self, objective: Objective, groups: tuple[Known, ...]) -> Lesson:
        return Lesson(
            1.0 * objective, groups, lambda piece: target_of(objective, self.knowledge, piece)
        )
