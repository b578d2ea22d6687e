"""Tests in forked processes: each begins where collection ended, and nothing it does is kept."""

import contextlib
import functools
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

MEMORY = 6 << 30
"""Bytes that one test may ask for: a mistake may ask for terabytes."""
PATIENCE = 3000
"""Lines of a function without a new one among them after which it is watched no longer."""
Lines = dict[str, int]
"""A file to the place of its first line in the numbering of all lines."""


@dataclass(frozen=True)
class Outcome:
    """How a forked process ended: with a status of its own, or None if it was killed."""

    index: int
    status: int | None
    said: bytes


def forked(jobs: Iterable[Callable[[int], int]], n_at_once: int) -> Iterator[Outcome]:
    """Run each job in a process of its own; a job gets a pipe to write to and gives a status."""
    running: dict[int, tuple[int, int]] = {}
    for index, job in enumerate(jobs):
        if len(running) >= n_at_once:
            yield _ended(running)
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reader)
            _run(job, writer)
        os.close(writer)
        running[process] = (index, reader)
    while running:
        yield _ended(running)


def _run(job: Callable[[int], int], writer: int) -> None:
    """The whole life of a forked process."""
    status = 3
    with contextlib.suppress(BaseException):
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        status = job(writer)
    os._exit(status)


def _ended(running: dict[int, tuple[int, int]]) -> Outcome:
    process, state = os.wait()
    index, reader = running.pop(process)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    return Outcome(index, os.WEXITSTATUS(state) if os.WIFEXITED(state) else None, said)


def limit(seconds: float) -> None:
    """End this process when it has used so much time of a processor, whatever waits elsewhere."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    # What waits for nobody uses no processor.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(20 * seconds) + 60)


def passes(item: pytest.Item) -> bool:
    """Whether a test passes; one that is skipped notices nothing, so it does not count."""
    reports = runtestprotocol(item, log=False, nextitem=None)
    return all(report.passed for report in reports)


def traced(item: pytest.Item, lines: Lines, seconds: float, writer: int) -> int:
    """Run a test; say which lines it runs, and how long it takes.

    A function is watched until all its lines have been seen, or none for a while; most of the time
    is spent in few lines, so that watching costs little.
    """
    seen: dict[CodeType, set[int]] = {}
    waiting: dict[CodeType, int] = {}

    def within(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            code, line = frame.f_code, frame.f_lineno
            if line not in seen[code]:
                seen[code].add(line)
                waiting[code] = PATIENCE if seen[code] != _lines_of(code) else 0
            waiting[code] -= 1
            if waiting[code] < 0:
                frame.f_trace_lines = False
        return within

    def enter(frame: FrameType, _event: str, _: Any) -> Any:
        code: CodeType = frame.f_code
        if code.co_filename not in lines:
            return None
        if code not in seen:
            seen[code], waiting[code] = set(), PATIENCE
        return within if waiting[code] >= 0 else None

    limit(seconds)
    threading.settrace(enter)
    sys.settrace(enter)
    began = time.process_time()
    is_passed = passes(item)
    sys.settrace(None)
    took = time.process_time() - began
    numbers = {lines[code.co_filename] + line for code, found in seen.items() for line in found}
    os.write(writer, (f"{took:.4f} " + " ".join(map(str, sorted(numbers)))).encode())
    return 0 if is_passed else 1


@functools.cache
def _lines_of(code: CodeType) -> frozenset[int]:
    """The lines of a function itself."""
    return frozenset(line for _, _, line in code.co_lines() if line is not None)
