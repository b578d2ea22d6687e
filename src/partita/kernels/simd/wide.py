"""Numbers with the precision of a double and no bounds on their size.

A wide number is a pair (m, e) that stands for m 2^(512 e), with m = 0 or 2^-256 <= |m| < 2^256.
Scaling by powers of two is exact, so arithmetic rounds as that of doubles does, but nothing under-
or overflows. In arrays the pair is the last axis.
"""

import math

import numpy as np

from partita.kernels.jit import step

ZERO = (0.0, 0.0)
ONE = (1.0, 0.0)
_UP, _DOWN = 2.0**512, 2.0**-512
_MOST, _LEAST = 2.0**256, 2.0**-256
# 512 log 2; the high part ends in zero bits, so that its product with an exponent is exact.
_LOG_HIGH = 512 * 0.6931471803691238
_LOG_LOW = 512 * 1.9082149292705877e-10
_LOG = _LOG_HIGH + _LOG_LOW
# Exponents below this have products with the high part that are exact.
_EXACT = 2.0**21


@step
def widen(m, e):
    """m 2^(512 e) with m brought into range, for 2^-768 <= |m| < 2^768."""
    if abs(m) >= _MOST:
        return m * _DOWN, e + 1.0
    if abs(m) < _LEAST:
        return (m * _UP, e - 1.0) if m != 0.0 else (0.0, 0.0)
    return m, e


@step
def add(x, y):
    """x + y."""
    if x[0] == 0.0:
        return y
    if y[0] == 0.0:
        return x
    gap = x[1] - y[1]
    if gap == 0.0:
        return widen(x[0] + y[0], x[1])
    if gap == 1.0:
        return widen(x[0] + y[0] * _DOWN, x[1])
    if gap == -1.0:
        return widen(x[0] * _DOWN + y[0], y[1])
    return x if gap > 0.0 else y


@step
def multiply(x, y):
    """x * y."""
    return widen(x[0] * y[0], x[1] + y[1])


@step
def divide(x, y):
    """x / y, for y other than 0."""
    return widen(x[0] / y[0], x[1] - y[1])


@step
def negative(x):
    """-x."""
    return -x[0], x[1]


@step
def multiply_add(x, y, z):
    """x * y + z."""
    return add(multiply(x, y), z)


@step
def exponential(x):
    """e^x of a double; 0 at -inf."""
    if x == -math.inf:
        return 0.0, 0.0
    e = np.floor(x / _LOG + 0.5)
    rest = (x - e * _LOG_HIGH) - e * _LOG_LOW
    if abs(e) >= _EXACT:
        # The products above would be rounded by more than their difference; this is exact, with a
        # unit that is wrong by less than x is.
        rest = np.fmod(x, _LOG)
        e = np.rint((x - rest) / _LOG)
    return widen(math.exp(rest), e)


@step
def logarithm(x):
    """The logarithm of a positive number as a double."""
    return math.log(x[0]) + x[1] * _LOG_LOW + x[1] * _LOG_HIGH


@step
def narrow(x):
    """The nearest double; 0 where that is too small, infinite where it is too large."""
    if x[1] == 0.0:
        return x[0]
    if x[1] < 0.0:
        return x[0] * _DOWN * (_DOWN if x[1] < -1.0 else 1.0) if x[1] > -3.0 else 0.0
    return x[0] * _UP * (_UP if x[1] > 1.0 else 1.0) if x[1] < 3.0 else x[0] * np.inf
