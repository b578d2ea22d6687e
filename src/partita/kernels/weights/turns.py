"""Threads that wait for each other in compiled code, and leave the interpreter to others."""

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.meeting import STOPPED, add_to, wait_for

LINE = 8
"""Counters in a line of the cache; each that is waited for has one of its own."""
FIRST = STOPPED + LINE


def new_counters(n_counters):
    """All 0."""
    return np.zeros(FIRST + LINE * n_counters, dtype=np.int64)


@kernel
def wait_until(counters, number, least):
    """Wait until a counter is at least so much; False if everything was stopped before."""
    return wait_for(counters, FIRST + LINE * number, least)


@kernel
def count(counters, number):
    """One more, seen by all threads."""
    add_to(counters, FIRST + LINE * number, 1)


@kernel
def stop(counters):
    """Let nobody wait any more."""
    add_to(counters, STOPPED, 1)
