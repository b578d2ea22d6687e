"""Plots of numbers: curves, calibration, bars."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from partita.show.axes import Axis, draw_axes, fitting, tick_name, y_room
from partita.show.metrics import shortened, text_width
from partita.show.svg import Svg, element, line, picture, write

WIDTH, HEIGHT = 520.0, 320.0
"""Of the plotting area."""
MARGIN, TOP, BOTTOM, LINE = 12.0, 40.0, 52.0, 15.0
NAME_WIDTH = 210.0
# Curves differ by colour and by dash, so that they can be told apart in print, too.
INKS = ("accent", "contrast", "third", "fourth", "fifth", "quiet")
DASHES = (None, "7 3", "2 3", "10 3 2 3", "5 2", "1 2")

Curve = Sequence[tuple[float, float]]


class ReliabilityBin(Protocol):
    """Predictions of about the same probability, as `partita.evaluation.reliability` gives them."""

    @property
    def low(self) -> float:
        """Lowest probability in it."""

    @property
    def high(self) -> float:
        """Highest probability in it."""

    @property
    def n(self) -> int:
        """How many predictions it holds."""

    @property
    def mean_probability(self) -> float:
        """What the model said."""

    @property
    def accuracy(self) -> float:
        """How many of them were right."""


def curves(
    curves: Mapping[str, Curve],
    *,
    x_label: str,
    y_label: str,
    title: str | None = None,
    best: float | None = None,
    logarithmic: str = "",
) -> Svg:
    """Curves through (x, y) points, each with its name at its end.

    `best` is a horizontal line to compare with, and `logarithmic` names the axes that are: "x",
    "y" or "xy".

    >>> drawing = curves({"a": [(0, 1), (5, 2)], "b": [(0, 0)]}, x_label="x", y_label="y")
    >>> drawing.text.count("<polyline")
    2
    """
    points = _checked_points(curves, logarithmic)
    heights = [*points[:, 1].tolist(), *([] if best is None else [best])]
    y = fitting(heights, TOP + HEIGHT, TOP, "y" in logarithmic)
    left = MARGIN + y_room(y)
    x = fitting(points[:, 0].tolist(), left, left + WIDTH, "x" in logarithmic)
    marks = list(draw_axes(x, y, x_label, y_label))
    if best is not None:
        marks.append(_dashed(x.first, y(best), x.last, y(best)))
    for index, (name, curve) in enumerate(curves.items()):
        marks += _curve(x, y, name, curve, index)
    marks += _names(x, y, curves)
    width = x.last + 12 + max(text_width(shortened(name, NAME_WIDTH)) for name in curves) + MARGIN
    told = "; ".join(
        f"{name} ends at {tick_name(curve[-1][0])}, {curve[-1][1]:.4g}"
        for name, curve in curves.items()
        if len(curve)
    )
    heading = title or f"{y_label} against {x_label}"
    return picture(width, TOP + HEIGHT + BOTTOM, heading, marks, told)


def reliability(bins: Sequence[ReliabilityBin], *, title: str = "Reliability") -> Svg:
    """A bar for each bin as high as the share that is right, and a dot at what the model said.

    Where probabilities mean what they say, bars and dots meet the diagonal. The more predictions
    a bin holds, the stronger its ink. Bins come from `partita.evaluation.reliability`.

    >>> from partita.evaluation.calibration import reliability as sorted_into_bins
    >>> drawing = reliability(sorted_into_bins([0.9, 0.6], [True, False]))
    >>> drawing.text.count('class="accent"')
    2
    """
    y = Axis(0.0, 1.0, TOP + HEIGHT, TOP)
    left = MARGIN + y_room(y)
    x = Axis(0.0, 1.0, left, left + HEIGHT)
    most = max((found.n for found in bins), default=0)
    marks = list(draw_axes(x, y, "probability of what was predicted", "share that is right"))
    filled = [found for found in bins if found.n]
    for found in filled:
        told = f"{found.n} predictions, mean probability {found.mean_probability:.3f}, "
        marks.append(
            element(
                "rect",
                x=x(found.low) + 1,
                y=y(found.accuracy),
                width=x(found.high) - x(found.low) - 2,
                height=y(0) - y(found.accuracy),
                class_="accent",
                fill_opacity=0.2 + 0.7 * found.n / most,
                tip=f"{told}accuracy {found.accuracy:.3f}",
            )
        )
    marks.append(_dashed(x(0), y(0), x(1), y(1)))
    marks += [_dot(x(found.mean_probability), y(found.accuracy), "contrast") for found in filled]
    told = "; ".join(
        f"said {found.mean_probability:.2f}, right {found.accuracy:.2f}, of {found.n}"
        for found in filled
    )
    return picture(x.last + 2 * MARGIN, TOP + HEIGHT + BOTTOM, title, marks, told)


def bars(values: Mapping[str, float], *, title: str = "Values") -> Svg:
    """A horizontal bar for each name, with its number at its end; negative ones point to the left.

    >>> bars({"plus": 2.0, "minus": -1.0}).text.count('class="accent"')
    1
    """
    if not values:
        raise ValueError("there are no values to draw; expected at least one.")
    left = 2 * MARGIN + max(text_width(shortened(name, NAME_WIDTH)) for name in values)
    numbers = [f"{value:.3g}" for value in values.values()]
    room = 8 + max(map(text_width, numbers))
    low, high = min(0.0, *values.values()), max(0.0, *values.values())
    if low == high:
        high = 1.0
    x = Axis(low, high, left + room * (low < 0), left + room * (low < 0) + 260)
    marks = []
    for index, ((name, value), text) in enumerate(zip(values.items(), numbers, strict=True)):
        y, end = MARGIN + 20 * index, x(value)
        marks.append(write(left - 8, y + 13, shortened(name, NAME_WIDTH), anchor="end"))
        marks.append(
            element(
                "rect",
                x=min(end, x(0)),
                y=y + 3,
                width=abs(end - x(0)),
                height=13.0,
                class_="accent" if value >= 0 else "contrast",
                tip=f"{name}: {value}",
            )
        )
        side, anchor = (6, "start") if value >= 0 else (-6, "end")
        marks.append(write(end + side, y + 13, text, ink="quiet", anchor=anchor, size=11))
    bottom = MARGIN + 20.0 * len(values)
    marks.append(line(x(0), MARGIN, x(0), bottom, "quiet"))
    told = ", ".join(f"{name} {value:.3g}" for name, value in values.items())
    return picture(x.last + room + MARGIN, bottom + MARGIN, title, marks, told)


def _checked_points(curves: Mapping[str, Curve], logarithmic: str) -> np.ndarray:
    if not any(len(curve) for curve in curves.values()):
        raise ValueError("there are no points to draw; expected at least one in some curve.")
    points = np.array([point for curve in curves.values() for point in curve], dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError("a curve holds what is no finite point; expected pairs of numbers (x, y).")
    for axis, values in zip("xy", points.T, strict=True):
        if axis in logarithmic and values.min() <= 0:
            raise ValueError(
                f"{axis} is as low as {values.min()}; expected numbers above 0 on a logarithmic "
                "axis."
            )
    return points


def _curve(x: Axis, y: Axis, name: str, curve: Curve, index: int) -> Iterator[str]:
    places = [(x(a), y(b)) for a, b in curve]
    yield element(
        "polyline",
        points=" ".join(f"{a:.1f},{b:.1f}" for a, b in places),
        fill="none",
        class_=f"{INKS[index % len(INKS)]}-line",
        stroke_width=2,
        stroke_dasharray=DASHES[index % len(DASHES)],
        stroke_linejoin="round",
        tip=name,
    )
    if len(curve) <= 60:
        ink = INKS[index % len(INKS)]
        for (a, b), (left, top) in zip(curve, places, strict=True):
            yield _dot(left, top, ink, f"{name}: {tick_name(a)}, {b:.4g}")


def _names(x: Axis, y: Axis, curves: Mapping[str, Curve]) -> Iterator[str]:
    """The name of each curve at its last point, moved apart where two would touch."""
    wanted = [
        (y(max(curve)[1]) if len(curve) else y.first, index, name)
        for index, (name, curve) in enumerate(curves.items())
    ]
    places = [height for height, _, _ in sorted(wanted)]
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + LINE)
    # What was pushed below the plot moves up again, and pushes the others.
    limit = y.first
    for index in reversed(range(len(places))):
        places[index] = min(places[index], limit)
        limit = places[index] - LINE
    for place, (_, index, name) in zip(places, sorted(wanted), strict=True):
        ink, short = INKS[index % len(INKS)], shortened(name, NAME_WIDTH)
        yield write(x.last + 10, place + 4, short, ink=ink, tip=name * (short != name))


def _dashed(x1: float, y1: float, x2: float, y2: float) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_="quiet-line", stroke_dasharray="4 3")


def _dot(x: float, y: float, ink: str, tip: str = "") -> str:
    return element("circle", cx=x, cy=y, r=3.2, class_=ink, tip=tip)
