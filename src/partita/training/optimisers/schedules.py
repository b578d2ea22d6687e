"""Learning rates: the step, counted from 0, and the number of steps in all -> a rate."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar


class Rate(ABC):
    """A learning rate that may change from step to step."""

    looks_ahead: ClassVar[bool] = False
    """Whether it depends on the number of steps in all."""

    @abstractmethod
    def at(self, step: int, n_steps: int) -> float:
        """The rate of a step, counted from 0, in a run of `n_steps`."""


@dataclass(frozen=True)
class Constant(Rate):
    """The same rate at every step.

    >>> Constant(0.1).at(1000, 2000)
    0.1
    """

    rate: float

    def at(self, step: int, n_steps: int) -> float:
        """The rate."""
        return self.rate


@dataclass(frozen=True)
class InverseTime(Rate):
    """rate / (1 + step / half_life): half of the rate after `half_life` steps.

    >>> InverseTime(0.1, half_life=100).at(100, 2000)
    0.05
    """

    rate: float
    half_life: float

    def at(self, step: int, n_steps: int) -> float:
        """rate / (1 + step / half_life)."""
        return self.rate / (1.0 + step / self.half_life)


@dataclass(frozen=True)
class InverseSquareRoot(Rate):
    """rate / sqrt(1 + step / quarter), where `quarter` says after how many steps it falls.

    >>> InverseSquareRoot(0.1).at(3, 2000)
    0.05
    """

    rate: float
    quarter: float = 1.0

    def at(self, step: int, n_steps: int) -> float:
        """rate / sqrt(1 + step / quarter)."""
        return self.rate / math.sqrt(1.0 + step / self.quarter)


@dataclass(frozen=True)
class WarmedUp(Rate):
    """Linearly up to `rate` in `warm_up` steps; subclasses say how it falls from there on."""

    rate: float
    warm_up: int = 0
    looks_ahead = True

    @abstractmethod
    def share(self, phase: float) -> float:
        """The share of the rate that is left after a share of the other steps, both 0 to 1."""

    def at(self, step: int, n_steps: int) -> float:
        """Up, then down."""
        if step < self.warm_up:
            return self.rate * (step + 1) / self.warm_up
        return self.rate * self.share((step - self.warm_up) / max(n_steps - self.warm_up, 1))


@dataclass(frozen=True)
class Linear(WarmedUp):
    """Linearly up to `rate` in `warm_up` steps, then linearly down to 0 at the end.

    >>> rate = Linear(0.1, warm_up=10)
    >>> [rate.at(step, 110) for step in (4, 9, 60, 110)]
    [0.05, 0.1, 0.05, 0.0]
    """

    def share(self, phase: float) -> float:
        """A straight line."""
        return 1.0 - phase


@dataclass(frozen=True)
class Cosine(WarmedUp):
    """Linearly up to `rate` in `warm_up` steps, then half a cosine wave down to 0 at the end.

    >>> rate = Cosine(0.1)
    >>> [round(rate.at(step, 100), 3) for step in (0, 50, 100)]
    [0.1, 0.05, 0.0]
    """

    def share(self, phase: float) -> float:
        """Half a wave."""
        return 0.5 * (1.0 + math.cos(math.pi * phase))


def as_rate(rate: float | Rate) -> Rate:
    """A number as a constant rate; a rate as it is."""
    return rate if isinstance(rate, Rate) else Constant(rate)
