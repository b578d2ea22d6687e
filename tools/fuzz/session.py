"""One target, input after input, in one process."""

import argparse
import json
import os
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Protocol

from numba.core import event  # noqa: TID251 (to hear of compilations, not to compile)

from tools.fuzz.target import Finding, Target, scratch
from tools.fuzz.targets import TARGETS

FOUND = Path("build") / "fuzz"
PATIENCE = 20.0
"""Seconds of a processor that an input may take, compilation left out: what takes longer hangs."""
COMPILATION = "numba:compile"
"""What Numba calls the event."""


class Counter(Protocol):
    """A number that two processes see."""

    value: int


def fuzz(name: str, seed: int, n_inputs: int | None, seconds: float, tried: Counter) -> None:
    """Try inputs of one target; exit with 1 if there are findings.

    `tried` is seen by the process that started this one, in case that it does not survive an input.
    """
    # What argparse asks of the system for every flag is the same every time.
    argparse._ = lambda text: text  # type: ignore[attr-defined]
    os.environ["COLUMNS"] = "80"
    signal.signal(signal.SIGPROF, _hang)
    clock = Clock()
    event.register(COMPILATION, clock)
    folder, kinds = scratch(), set[str]()
    try:
        target = TARGETS[name](folder)
        began = time.monotonic()
        while (
            tried.value < n_inputs if n_inputs is not None else time.monotonic() - began < seconds
        ):
            case = drawn(target, seed, tried.value)
            tried.value += 1
            try:
                clock.start()
                target.check(case)
            except Exception as error:
                kind = _where(error)
                if kind not in kinds:
                    kinds.add(kind)
                    _say(f"{name}: {kind}\n  {kept(case, target, seed, tried.value)}")
            if tried.value % 10_000 == 0:
                _say(f"{name}: {tried.value:,} inputs so far")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _say(f"{name}: {tried.value:,} inputs from seed {seed}, {len(kinds)} findings")
    sys.exit(1 if kinds else 0)


def drawn(target: Target, seed: int, number: int) -> Any:
    """The input of this number: the same again whenever it is asked for."""
    return target.draw(Random(f"{target.name} {seed} {number}"))


def kept(case: Any, target: Target, seed: int, number: int) -> Path:
    """The file that an input is written to, as a line of the corpus."""
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"{target.name}-{seed}-{number}.json"
    path.write_text(json.dumps(case) + "\n")
    return path


def killed_by(name: str, seed: int, number: int) -> Path:
    """The file of the input that the interpreter did not survive."""
    folder = scratch()
    try:
        target = TARGETS[name](folder)
        return kept(drawn(target, seed, number - 1), target, seed, number)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Clock(event.Listener):  # type: ignore[misc]
    """The time that an input has left; it stands still while Numba compiles.

    That takes longer than any input where a kernel is met for the first time, and is no fault of
    the input that met it.
    """

    def __init__(self) -> None:
        self._left = 0.0
        self._depth = 0

    def start(self) -> None:
        """All of it."""
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)

    def on_start(self, event: Any) -> None:
        """Stop."""
        # A kernel that calls another one compiles that first.
        if not self._depth:
            self._left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Go on, unless the time was over already."""
        self._depth -= 1
        if not self._depth and self._left:
            signal.setitimer(signal.ITIMER_PROF, self._left)


def _hang(number: int, frame: FrameType | None) -> None:
    raise Finding(f"no answer after {PATIENCE:.0f} seconds")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _where(error: Exception) -> str:
    """The error and the last line of ours, by which findings are told apart."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {last.filename}:{last.lineno}: {str(error)[:300]}"
