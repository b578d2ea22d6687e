"""What all tests share."""

import functools
import math
import os
import threading

import numpy as np
import pytest

from browsers import launched


def in_silence(function):
    """A function of `math` that is NaN or infinite where Python has an error, as in C."""

    def silent(x, *base):
        try:
            return function(x, *base)
        except (OverflowError, ValueError):
            return float(getattr(np, function.__name__)(np.float64(x)))

    return silent


def filled(function):
    """Room for numbers that holds NaN, or a whole number too low for anything.

    The lowest one of all would be taken for what some kernels write where there is nothing.
    """

    def room(*shape, **options):
        array = function(*shape, **options)
        if array.dtype.kind == "f":
            array.fill(np.nan)
        elif array.dtype.kind == "c":  # two numbers each, see `simd.either`
            array.fill(complex(np.nan, np.nan))
        elif array.dtype.kind == "i":
            array.fill(np.iinfo(array.dtype).min // 2)
        return array

    return room


def after(first, function):
    """A function that calls another one first."""

    def both(*arguments):
        first()
        return function(*arguments)

    return both


if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
    # Compiled kernels overflow to inf in silence and then take the safe path; so do they here.
    # NumPy's settings are of one thread, so every new one begins with them.
    silence = functools.partial(np.seterr, over="ignore", invalid="ignore", divide="ignore")
    silence()
    threading.Thread.run = after(silence, threading.Thread.run)
    math.exp, math.log = in_silence(math.exp), in_silence(math.log)
    # What a kernel reads before it is written is not 0 by chance.
    np.empty, np.empty_like = filled(np.empty), filled(np.empty_like)


@pytest.fixture(scope="module")
def browser():
    yield from launched()
