"""The arguments of a parser, checked, and what follows from them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita.arrays import IntArray
from partita.data.arc_rules import ArcRule
from partita.estimators.parsing.model import may_be_projective
from partita.estimators.parsing.templates import Description
from partita.training import LBFGS, SGD, AdaGrad, Adam, Penalty
from partita.training.optimisers import Cosine, Optimiser

Path = str | os.PathLike[str]
AVERAGE_FROM = 1
"""The pass, counted from 0, from which on weights are averaged over steps."""
BATCHES_PER_STEP = 6
"""A step is cut into so many batches, for threads to share."""
FEW_CROSSING = 0.05
"""Share of training sentences with crossing arcs below which trees are projective by default."""
RATES = {"adam": 0.003, "adagrad": 0.03, "sgd": 0.1}
N_PASSES = 6
STOCHASTIC: dict[str, type[Adam | AdaGrad | SGD]] = {"adam": Adam, "adagrad": AdaGrad, "sgd": SGD}


@dataclass(frozen=True)
class Plan:
    """The arguments of `DependencyParser`, checked."""

    projective: bool | None
    single_root: bool
    features: Description | None
    min_count: int
    n_bits: int
    labels: bool
    label_bits: int
    objective: str
    l2: float | None
    optimiser: str | None
    rate: float | None
    max_iterations: int | None
    batch_sentences: int
    n_models: int
    entropy_weight: float
    entropy_ramp: int
    renyi_alpha: float | None
    rules: Sequence[ArcRule] | None
    rule_weight: float
    warm_start: Any
    patience: int
    checkpoint_seconds: float
    seed: int
    n_threads: int | None
    progress: bool | None
    checkpoint: Path | None
    resume: bool
    log: Path | None

    def __post_init__(self) -> None:
        choices = {
            "objective": (self.objective, ("likelihood", "risk")),
            "optimiser": (self.optimiser, (None, "lbfgs", *STOCHASTIC)),
        }
        for name, (value, allowed) in choices.items():
            if value not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise ValueError(f"{name} is {value!r}; expected one of {listed}.")
        if self.rules and self.optimiser not in (None, "lbfgs"):
            raise ValueError(
                f"rules came with the optimiser {self.optimiser!r}; their expectations are those "
                "of all sentences at once, so that it takes optimiser='lbfgs'."
            )
        for name, number, least, most in (
            ("n_bits", self.n_bits, 3, 28),
            ("label_bits", self.label_bits, 1, 24),
            ("min_count", self.min_count, 1, 2**31),
            ("batch_sentences", self.batch_sentences, 1, 2**31),
            ("n_models", self.n_models, 1, 2**31),
        ):
            if not least <= number <= most:
                raise ValueError(f"{name} is {number}; expected {least} to {most}.")
        for name, weight in (
            ("entropy_weight", self.entropy_weight),
            ("rule_weight", self.rule_weight),
            ("rate", 1.0 if self.rate is None else self.rate),
        ):
            if not 0 <= weight < np.inf:
                raise ValueError(f"{name} is {weight}; expected a finite number, 0 or more.")

    def decided(self, heads: Sequence[IntArray]) -> "Plan":
        """With `projective` set: whether hardly any of the trees has arcs that cross."""
        if self.projective is not None:
            return self
        taught = [each for each in heads if (each >= 0).any()]
        n_crossing = sum(not may_be_projective(each) for each in taught)
        return replace(self, projective=n_crossing < FEW_CROSSING * max(len(taught), 1))

    def further_models(self) -> "list[Plan]":
        """A plan for each model after the first, with a seed and files of its own."""
        n_models = 1 if self.method == "lbfgs" else self.n_models
        return [self._further(number) for number in range(1, n_models)]

    def _further(self, number: int) -> "Plan":
        checkpoint, log = (
            None if path is None else f"{os.fspath(path)}.{number + 1}"
            for path in (self.checkpoint, self.log)
        )
        return replace(self, seed=self.seed + number, checkpoint=checkpoint, log=log)

    @property
    def method(self) -> str:
        """The name of the optimiser: rules take all sentences at once."""
        return self.optimiser or ("lbfgs" if self.rules else "adagrad")

    @property
    def penalty(self) -> Penalty:
        """Few passes keep weights small; to the end of the way, a penalty must."""
        usual = 1.0 if self.method == "lbfgs" else 0.0
        return Penalty(l2=usual if self.l2 is None else self.l2)

    def chosen_optimiser(self) -> Optimiser[Any]:
        """The optimiser that the arguments describe."""
        if self.method == "lbfgs":
            return LBFGS() if self.max_iterations is None else LBFGS(self.max_iterations)
        return STOCHASTIC[self.method](
            rate=Cosine(RATES[self.method] if self.rate is None else self.rate),
            n_iterations=N_PASSES if self.max_iterations is None else self.max_iterations,
            batches_per_step=BATCHES_PER_STEP,
            average_from=AVERAGE_FROM,
        )
