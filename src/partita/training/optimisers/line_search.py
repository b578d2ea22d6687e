"""A step along a direction of descent that satisfies the strong Wolfe conditions.

    loss(step) <= loss(0) + SUFFICIENT * step * slope(0)      the loss falls enough
    |slope(step)| <= FLAT * |slope(0)|                        and the slope levels out

Bracket, then zoom with cubic interpolation (Nocedal & Wright 2006, algorithms 3.5 and 3.6). Where
the loss no longer changes beyond its rounding error, the slopes decide (Hager & Zhang 2005,
equation 4.1), so that the gradient can become as small as the arithmetic allows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray

SUFFICIENT = 1e-4
FLAT = 0.9
N_EVALUATIONS = 30
ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Relative error of a loss that is a long sum."""


@dataclass(frozen=True)
class Point:
    """A point on the line: how far, and what was found there."""

    step: float
    weights: FloatArray
    loss: float
    gradient: FloatArray
    """Along the line and across, in units of the weights where there are such."""
    gradient_norm: float
    """Where all units are 1."""
    weights_norm: float
    slope: float
    """Along the line."""


Line = Callable[[float], Point]
"""How far -> the point there."""


def line_search(line: Line, origin: Point, first_step: float) -> Point | None:
    """A point with a lower loss that satisfies the conditions; None if there is none to find."""
    return _bracketed(line, origin, first_step) if origin.slope < 0.0 else None


def _bracketed(line: Line, origin: Point, step: float) -> Point | None:
    """Go further until a good point is found, or an interval that must contain one."""
    previous = origin
    for n_evaluations in range(1, N_EVALUATIONS + 1):
        point = line(step)
        if _is_good(origin, point):
            return point
        if not _is_lower(origin, point) or not point.loss < previous.loss:
            return _zoomed(line, origin, previous, point, N_EVALUATIONS - n_evaluations)
        if point.slope >= 0.0:
            return _zoomed(line, origin, point, previous, N_EVALUATIONS - n_evaluations)
        previous, step = point, 4.0 * step
    return previous


def _zoomed(line: Line, origin: Point, low: Point, high: Point, n_evaluations: int) -> Point | None:
    """Shrink the interval between `low`, the best point yet, and `high`, until a point is good."""
    for _ in range(n_evaluations):
        point = line(_interpolated(low, high))
        if _is_good(origin, point):
            return point
        if not _is_lower(origin, point) or not point.loss < low.loss:
            high = point
        else:
            if point.slope * (high.step - low.step) >= 0.0:
                high = low
            low = point
        if abs(high.step - low.step) <= ROUNDING * max(abs(high.step), abs(low.step)):
            break
    return low if low.step > 0.0 and low.loss < origin.loss else None


def _is_lower(origin: Point, point: Point) -> bool:
    return point.loss <= origin.loss + SUFFICIENT * point.step * origin.slope


def _is_good(origin: Point, point: Point) -> bool:
    """The strong Wolfe conditions, or, where rounding hides the loss, their form in slopes."""
    if not math.isfinite(point.loss):
        return False
    level = abs(point.slope) <= -FLAT * origin.slope
    same = abs(point.loss - origin.loss) <= ROUNDING * abs(origin.loss)
    hidden = same and point.slope <= (2.0 * SUFFICIENT - 1.0) * origin.slope
    return level and (_is_lower(origin, point) or hidden)


def _interpolated(low: Point, high: Point) -> float:
    """The minimum of the cubic through both ends, kept a tenth away from them."""
    width = high.step - low.step
    if not (math.isfinite(high.loss) and math.isfinite(high.slope)):
        return low.step + 0.1 * width
    mean = low.slope + high.slope - 3.0 * (high.loss - low.loss) / width
    discriminant = mean * mean - low.slope * high.slope
    if not 0.0 <= discriminant < math.inf:
        return low.step + 0.5 * width
    root = math.copysign(math.sqrt(discriminant), width)
    bottom = high.slope - low.slope + 2.0 * root
    share = 1.0 - (high.slope + root - mean) / bottom if bottom else 0.5
    return low.step + min(max(share, 0.1), 0.9) * width
