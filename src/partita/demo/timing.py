"""Timing of small computations, and tables of it."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from partita import show
from partita.arrays import FloatArray
from partita.demo.page import Html, figure, table

ENOUGH = 0.2
"""Seconds for which a computation is repeated."""

UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}

Method = Callable[[int], FloatArray]
"""From the size of the problem to its answer."""
Times = dict[str, dict[int, float]]


def best_time(compute: Callable[[], object]) -> float:
    """Seconds of the fastest of some runs; the first, which may compile, does not count."""
    compute()
    best, spent = np.inf, 0.0
    while spent < ENOUGH:
        start = time.perf_counter()
        compute()
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return best


def compare(
    methods: Mapping[str, Method], limits: Mapping[str, int], sizes: Sequence[int]
) -> tuple[Times, float]:
    """Times of every method up to the size it may be asked for, and their largest difference.

    The difference is relative to the largest number of the first method's answer.
    """
    times: Times = {name: {} for name in methods}
    worst = 0.0
    for size in sizes:
        expected = None
        for name, method in methods.items():
            if size > limits[name]:
                continue
            answer = method(size)
            if expected is None:
                expected = answer
            difference = float(np.abs(answer - expected).max() / np.abs(expected).max())
            worst = max(worst, difference)
            times[name][size] = best_time(partial(method, size))
    return times, worst


def exponent(times: Mapping[int, float], n_sizes: int = 3) -> float:
    """The power of the size as which time grows, fitted to the last sizes.

    >>> round(exponent({10: 1.0, 20: 1.5, 40: 4.0, 80: 16.0, 160: 64.0}), 3)
    2.0
    """
    sizes, seconds = np.log(list(times.items())[-n_sizes:]).T
    return float(np.polyfit(sizes, seconds, 1)[0])


def in_print(seconds: float) -> str:
    """A time with a fitting unit, three digits of it.

    >>> in_print(2.512), in_print(0.00123), in_print(0.0000123)
    ('2.51 s', '1.23 ms', '12.3 µs')
    """
    unit, size = next(
        (unit, size) for unit, size in UNITS.items() if seconds >= size or unit == "µs"
    )
    return f"{seconds / size:.3g} {unit}"


def plots(times: Times, what: str, unit: str = "words") -> list[Html]:
    """The times as curves on logarithmic axes, and as a table with the powers that fit them."""
    curves = {
        name: [(n, 1e3 * seconds) for n, seconds in found.items()] for name, found in times.items()
    }
    sizes = sorted({n for found in times.values() for n in found})
    rows = [
        (
            name,
            f"{exponent(found):.1f}",
            *(in_print(found[n]) if n in found else "–" for n in sizes),
        )
        for name, found in times.items()
    ]
    return [
        figure(
            show.curves(curves, x_label=unit, y_label="milliseconds", title=what, logarithmic="xy"),
            f"{what}. Both axes are logarithmic, so that a straight line is a power of the number "
            f"of {unit}, and its slope the exponent; in the table it is fitted to the last three.",
        ),
        table((what, f"power of {unit}", *(f"{n} {unit}" for n in sizes)), rows),
    ]
