"""The clock of `make fuzz`: compilation is no fault of the input that met a kernel first."""

import signal

import pytest

from tools.fuzz.session import PATIENCE, Clock


@pytest.fixture
def clock():
    yield Clock()
    signal.setitimer(signal.ITIMER_PROF, 0)


def left():
    return signal.getitimer(signal.ITIMER_PROF)[0]


def test_the_clock_stands_still_while_numba_compiles(clock):
    clock.start()
    for _ in range(2):  # kernels that call kernels
        clock.on_start(None)
        assert left() == 0.0
    clock.on_end(None)
    assert left() == 0.0
    clock.on_end(None)
    # The system counts in steps of some milliseconds, and rounds up.
    assert 0.0 < left() < PATIENCE + 0.1


def test_a_clock_that_nobody_started_is_not_started(clock):
    clock.on_start(None)
    clock.on_end(None)
    assert left() == 0.0
