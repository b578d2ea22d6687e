"""Axes of a plot: from values to places on the paper, with ticks at round numbers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from partita.show.metrics import text_width
from partita.show.svg import line, write

SMALL = 11.0


class Axis(NamedTuple):
    """Values from `low` to `high` on the places `first` to `last`, evenly or by their logarithm."""

    low: float
    high: float
    first: float
    last: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = np.log(low), np.log(high), np.log(value)
        return float(self.first + (value - low) / (high - low) * (self.last - self.first))

    @property
    def ticks(self) -> list[float]:
        """Round numbers on the axis, about five of them."""
        if self.logarithmic:
            return _powers(self.low, self.high)
        step = _round_step(self.high - self.low)
        first = int(np.ceil(self.low / step - 1e-9))
        last = int(np.floor(self.high / step + 1e-9))
        return [index * step for index in range(first, last + 1)]


def fitting(values: Sequence[float], first: float, last: float, logarithmic: bool = False) -> Axis:
    """An axis that holds all values with a little room beyond them.

    >>> axis = fitting([0.0, 9.7], 0.0, 100.0)
    >>> axis.high, axis.ticks, axis(5.0)
    (10.0, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0], 50.0)
    """
    low, high = float(min(values)), float(max(values))
    if logarithmic:
        room = (high / low) ** 0.04 if high > low else 2.0
        return Axis(low / room, high * room, first, last, True)
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = _round_step(high - low)
    low, high = (np.floor(low / step + 1e-9) * step, np.ceil(high / step - 1e-9) * step)
    return Axis(float(low), float(high), first, last)


def draw_axes(x: Axis, y: Axis, x_label: str, y_label: str) -> Iterator[str]:
    """Thin lines at the ticks of y, small strokes at those of x, numbers and names."""
    for value in y.ticks:
        yield line(x.first, y(value), x.last, y(value), "grid")
        name = tick_name(value)
        yield write(x.first - 8, y(value) + 4, name, ink="quiet", anchor="end", size=SMALL)
    yield line(x.first, y.first, x.last, y.first, "quiet")
    for value in x.ticks:
        yield line(x(value), y.first, x(value), y.first + 4, "quiet")
        name = tick_name(value)
        yield write(x(value), y.first + 17, name, ink="quiet", anchor="middle", size=SMALL)
    middle = (x.first + x.last) / 2
    yield write(middle, y.first + 36, x_label, anchor="middle")
    # Above the axis, where it can be read without turning the head.
    yield write(x.first - y_room(y), y.last - 14, y_label)


def y_room(y: Axis) -> float:
    """How wide the numbers beside the axis are, with the space around them."""
    return 8 + max((text_width(tick_name(value), SMALL) for value in y.ticks), default=0.0)


def tick_name(value: float) -> str:
    """A round number in print.

    >>> tick_name(0.30000000000000004), tick_name(200000.0), tick_name(1e-05)
    ('0.3', '200,000', '1e-05')
    """
    if value and (abs(value) >= 1e7 or abs(value) < 1e-3):
        return f"{value:.0e}"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def _round_step(extent: float) -> float:
    """1, 2 or 5 times a power of ten, about a fifth of the extent."""
    power = 10.0 ** np.floor(np.log10(extent / 5))
    return float(next(power * m for m in (1, 2, 5, 10) if power * m >= extent / 6 * (1 - 1e-9)))


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten between two numbers, with 2 and 5 times them where there are few."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    few = np.log10(high / low) < 2.5
    values = [m * 10.0**power for power in powers for m in ((1, 2, 5) if few else (1,))]
    return [value for value in values if low <= value <= high]
