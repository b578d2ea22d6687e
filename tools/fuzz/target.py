"""What is fuzzed: a target draws inputs, and takes any input or says what is wrong with it."""

import argparse
import contextlib
import copy
import io
import json
import os
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

CORPUS = Path(__file__).parent / "corpus"


class Finding(AssertionError):  # noqa: N818 (it is what is looked for)
    """Something that must not happen."""


class Target(ABC):
    """Inputs are values of JSON, so that one that breaks something can be kept in a file."""

    name: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """Where it may write."""
        self.prepare()

    def prepare(self) -> None:
        """Make what inputs are derived from."""
        return

    @abstractmethod
    def draw(self, rng: Random) -> Any:
        """An input."""

    @abstractmethod
    def check(self, case: Any) -> None:
        """Try an input; any exception is a finding."""

    def corpus(self) -> list[Any]:
        """Inputs that once broke something."""
        path = CORPUS / f"{self.name}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]


def run_command(arguments: list[str], known_as: str | None = None) -> tuple[int, str, str]:
    """Status, output and errors of a command in this process; no exception may come out of it.

    Arguments that are the same again and again, on a file that differs, are understood once for
    each name they are `known_as`: that takes longer than the rest.
    """
    from partita.cli import main

    with captured() as (out, err), _understood_once(known_as):
        try:
            status = main(arguments)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 2
    errors = err.getvalue()
    if status not in (0, 1, 2):
        raise Finding(f"status {status}: {errors}")
    if "Traceback" in errors:
        raise Finding(errors)
    if status == 2 and len(errors.strip()) < 20:
        raise Finding(f"status 2 without a sentence: {errors!r}")
    return status, out.getvalue(), errors


class _Understood:
    """In the place of the parser: it gives what the same arguments gave before."""

    known: dict[tuple[str, ...], argparse.Namespace] = {}

    def __init__(self, build: Callable[[], argparse.ArgumentParser], name: str) -> None:
        self.build, self.name = build, name

    def parse_args(self, given: list[str]) -> argparse.Namespace:
        """A copy, since commands write into it."""
        key = (self.name, *given)
        if key not in self.known:
            self.known[key] = self.build().parse_args(given)
        return copy.copy(self.known[key])


@contextlib.contextmanager
def _understood_once(name: str | None) -> Iterator[None]:
    from partita.cli import parser

    build = parser.build_parser
    if name is not None:
        parser.build_parser = lambda: _Understood(build, name)  # type: ignore[assignment,return-value]
    try:
        yield
    finally:
        parser.build_parser = build


@contextlib.contextmanager
def captured() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Standard streams for the time of a block: nothing to read, and what is written."""
    before = sys.stdin, sys.stdout, sys.stderr
    out, err = io.StringIO(), io.StringIO()
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO()), out, err
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """In a folder for the time of a block."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def scratch() -> Path:
    """A folder for files, in memory where there is such a thing."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="partita-fuzz-", dir=memory if memory.is_dir() else None))
