"""The one way kernels are compiled."""

from numba import njit

from partita.kernels.cache import choose_folder

choose_folder()

kernel = njit(cache=True, nogil=True, error_model="numpy")
"""Compiled once and kept on disk, without the GIL, with IEEE division instead of exceptions.

No `fastmath`: reassociation would break the argument reduction of the exponential, and -inf
would be undefined.
"""

inlined = njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
"""A `kernel` that is always compiled into its caller: for steps of a few dozen nanoseconds.

Passing an array costs seven words, so that a call of five arrays takes as long as the step itself.
"""
