"""Garbage, which is not looked for while kernels are compiled."""

import gc
from types import SimpleNamespace

import numba
import pytest

from partita.kernels import collecting
from partita.kernels.parts import largest


@pytest.fixture
def pause():
    was_on = gc.isenabled()
    gc.enable()
    yield collecting.PauseListener()
    gc.enable() if was_on else gc.disable()


def ours():
    return of_module("partita.kernels.parts")


def of_module(name):
    function = SimpleNamespace(__module__=name)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


def test_nothing_is_looked_for_until_the_outermost_is_compiled(pause):
    pause.on_start(ours())
    pause.on_start(of_module("numba.np.arrayobj"))
    pause.on_start(ours())
    pause.on_end(ours())
    pause.on_end(of_module("numba.np.arrayobj"))
    assert not gc.isenabled()
    pause.on_end(ours())
    assert gc.isenabled()


def test_the_code_of_others_is_not_our_business(pause):
    pause.on_start(of_module("somebody.module"))
    assert gc.isenabled()
    pause.on_end(of_module("somebody.module"))
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off(pause):
    gc.disable()
    pause.on_start(ours())
    pause.on_end(ours())
    assert not gc.isenabled()


def test_it_is_on_again_where_compiling_fails():
    if not hasattr(largest, "py_func"):
        pytest.skip("nothing is compiled")
    was_on = gc.isenabled()
    with pytest.raises(numba.TypingError):
        largest(object)
    assert gc.isenabled() == was_on
