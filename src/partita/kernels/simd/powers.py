"""Powers of 2: by them numbers are scaled without rounding, and their logarithms are a product."""

import numpy as np

from partita.kernels.jit import inlined

_EXPONENT, _BIAS = 0x7FF << 52, 1023
_LOG_2 = 0.6931471805599453


@inlined
def power_below(x):
    """The largest power of 2 that is at most x, for normal x > 0."""
    return np.int64(np.float64(x).view(np.int64) & _EXPONENT).view(np.float64)


@inlined
def log_of_power(power):
    """The logarithm of a power of 2."""
    return ((np.float64(power).view(np.int64) >> 52) - _BIAS) * _LOG_2
