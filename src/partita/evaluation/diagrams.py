"""Diagrams as SVG text, which any browser shows; no package is needed."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

import numpy as np

from partita.evaluation.calibration import Bin, calibration_error

WIDTH, HEIGHT = 480, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 36, 52
"""Margins around the plotting area."""
# Okabe & Ito's palette, which people with any colour vision can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
DASHED = 'stroke="#666" stroke-dasharray="4 3"'
N_TICKS = 5

Place = Callable[[float], float]
"""A value -> its coordinate in the picture."""
Curve = Sequence[tuple[float, float]]


def reliability_diagram(bins: Sequence[Bin], title: str = "Reliability") -> str:
    """A bar for each bin, as high as its accuracy; the diagonal is perfect calibration.

    Bars are drawn at the mean probability of their bin; how dark they are says how many
    predictions are in it. The expected calibration error stands in the title.

    >>> from partita.evaluation.calibration import reliability
    >>> svg = reliability_diagram(reliability([0.9, 0.6], [True, False]))
    >>> svg[:4], svg.count("<rect")
    ('<svg', 3)
    """
    x, y = _scale(0.0, 1.0, LEFT, WIDTH - RIGHT), _scale(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    most = max((found.n for found in bins), default=0)
    marks = []
    for found in bins:
        if not found.n:
            continue
        left, right, top = x(found.low) + 1, x(found.high) - 1, y(found.accuracy)
        opacity = 0.25 + 0.75 * found.n / most
        words = f"{found.n} predictions, mean probability {found.mean_probability:.3f}, "
        marks.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{y(0) - top:.1f}" fill="{COLOURS[0]}" fill-opacity="{opacity:.2f}">'
            f"<title>{words}accuracy {found.accuracy:.3f}</title></rect>"
        )
        marks.append(_dot(x(found.mean_probability), top, COLOURS[1]))
    marks.append(_line(x(0), y(0), x(1), y(1), DASHED))
    axes = _axes((0.0, 1.0), (0.0, 1.0), "probability of the predicted tag", "share that is right")
    error = calibration_error(bins)
    return _picture(f"{title}: expected calibration error {error:.4f}", axes + marks)


def curves_diagram(
    curves: Mapping[str, Curve], *, title: str, x_name: str, y_name: str, best: float | None = None
) -> str:
    """Curves through (x, y) points, by name; `best` is a horizontal line to compare with.

    >>> svg = curves_diagram(
    ...     {"a": [(0, 1), (5, 2)], "b": [(0, 0)]}, title="t", x_name="x", y_name="y"
    ... )
    >>> svg.count("<polyline")
    2
    """
    points = [point for curve in curves.values() for point in curve]
    if not points:
        raise ValueError("there are no points to draw; expected at least one in some curve.")
    x_range = _range([x for x, _ in points])
    y_range = _range([y for _, y in points] + ([] if best is None else [best]))
    x, y = _scale(*x_range, LEFT, WIDTH - RIGHT), _scale(*y_range, HEIGHT - BOTTOM, TOP)
    marks = _axes(x_range, y_range, x_name, y_name)
    if best is not None:
        marks.append(_line(LEFT, y(best), WIDTH - RIGHT, y(best), DASHED))
    for index, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in curve)
        marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        marks += [_dot(x(a), y(b), colour) for a, b in curve]
        row = HEIGHT - BOTTOM - 14 * (len(curves) - index) + 4
        marks.append(_text(WIDTH - RIGHT - 8, row, name, f'text-anchor="end" fill="{colour}"'))
    return _picture(title, marks)


def _picture(title: str, marks: Sequence[str]) -> str:
    body = "\n".join(marks)
    heading = _text(WIDTH / 2, 20, title, 'text-anchor="middle" font-size="14"')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="sans-serif" font-size="12" role="img">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n'
        f"{heading}\n{body}\n</svg>\n"
    )


def _axes(
    x_range: tuple[float, float], y_range: tuple[float, float], x_name: str, y_name: str
) -> list[str]:
    x, y = _scale(*x_range, LEFT, WIDTH - RIGHT), _scale(*y_range, HEIGHT - BOTTOM, TOP)
    bottom, middle = HEIGHT - BOTTOM, (TOP + HEIGHT - BOTTOM) / 2
    marks = []
    for value in np.linspace(*x_range, N_TICKS + 1).tolist():
        marks.append(_line(x(value), bottom, x(value), bottom + 4, 'stroke="#000"'))
        marks.append(_text(x(value), bottom + 18, f"{value:.4g}", 'text-anchor="middle"'))
    for value in np.linspace(*y_range, N_TICKS + 1).tolist():
        marks.append(_line(LEFT, y(value), WIDTH - RIGHT, y(value), 'stroke="#ddd"'))
        marks.append(_text(LEFT - 6, y(value) + 4, f"{value:.3g}", 'text-anchor="end"'))
    marks.append(_line(LEFT, bottom, WIDTH - RIGHT, bottom, 'stroke="#000"'))
    marks.append(_line(LEFT, TOP, LEFT, bottom, 'stroke="#000"'))
    centre = (LEFT + WIDTH - RIGHT) / 2
    marks.append(_text(centre, HEIGHT - 12, x_name, 'text-anchor="middle"'))
    turned = f'text-anchor="middle" transform="rotate(-90 16 {middle:.1f})"'
    marks.append(_text(16, middle, y_name, turned))
    return marks


def _range(values: Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest value, never the same."""
    low, high = float(min(values)), float(max(values))
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _scale(low: float, high: float, first: float, last: float) -> Place:
    return lambda value: first + (value - low) / (high - low) * (last - first)


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def _dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'


def _text(x: float, y: float, words: str, style: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'
