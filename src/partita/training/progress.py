"""What a long run shows while it lasts, on standard error; and its log, a JSON object a line."""

import contextlib
import json
import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from partita.files import atomic_writer
from partita.training.checkpoint import Record


class Display(ABC):
    """Shows one iteration after the other."""

    @abstractmethod
    def show(self, record: Record) -> None:
        """An iteration ended."""

    @abstractmethod
    def close(self) -> None:
        """The run ended."""


class NoDisplay(Display):
    """Shows nothing."""

    def show(self, record: Record) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class PlainDisplay(Display):
    """One line: rewritten on a terminal, else a new one when enough time has passed."""

    def __init__(self, n_iterations: int, stream: TextIO, seconds_between: float = 10.0) -> None:
        self._n_iterations = n_iterations
        self._stream = stream
        self._seconds_between = 0.1 if stream.isatty() else seconds_between
        self._first: Record | None = None
        self._shown = -math.inf
        self._width = 0

    def show(self, record: Record) -> None:
        """Writes the line, if the last one is old enough."""
        self._first = self._first or record
        if record.seconds - self._shown < self._seconds_between:
            return
        self._shown = record.seconds
        left = time_left(self._first, record, self._n_iterations)
        line = f"iteration {record.iteration}: {described(record)}, {left}"
        if self._stream.isatty():
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Leaves the cursor on a new line."""
        if self._width:
            self._stream.write("\n")


class RichDisplay(Display):
    """A bar with the same numbers, by the optional package `rich`."""

    def __init__(self, n_iterations: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._n_iterations = n_iterations
        self._first: Record | None = None
        numbers = TextColumn("{task.fields[numbers]}")
        self._bars = Progress(
            BarColumn(20), MofNCompleteColumn(), numbers, console=Console(stderr=True)
        )
        self._task = self._bars.add_task("", total=n_iterations, numbers="")
        self._bars.start()

    def show(self, record: Record) -> None:
        """Moves the bar."""
        self._first = self._first or record
        left = time_left(self._first, record, self._n_iterations)
        numbers = f"{described(record)}, {left}"
        self._bars.update(self._task, completed=record.iteration, numbers=numbers)

    def close(self) -> None:
        """Leaves the bar as it is."""
        self._bars.stop()


def choose_display(progress: bool | None, n_iterations: int) -> Display:
    """A display if asked for, or if standard error is a terminal and nobody asked for none."""
    wanted = sys.stderr.isatty() if progress is None else progress
    if not wanted:
        return NoDisplay()
    if not sys.stderr.isatty():
        return PlainDisplay(n_iterations, sys.stderr)
    try:
        return RichDisplay(n_iterations)
    except ImportError:
        return PlainDisplay(n_iterations, sys.stderr)


def described(record: Record) -> str:
    """The numbers of an iteration.

    >>> described(Record(3, 12.5, 0.25, float("nan"), 1.0))
    'loss 12.5, gradient 0.25'
    """
    text = f"loss {record.loss:.7g}"
    if not math.isnan(record.gradient_norm):
        text += f", gradient {record.gradient_norm:.3g}"
    return text if math.isnan(record.held_out) else f"{text}, held out {record.held_out:.6g}"


def time_left(first: Record, last: Record, n_iterations: int) -> str:
    """How long it takes at this pace if every allowed iteration is needed.

    >>> first, last = (Record(i, 0.0, 0.0, 0.0, 2.0 * i) for i in (10, 40))
    >>> time_left(first, last, n_iterations=100)
    'at most 0:02:00 left'
    """
    if last.iteration == first.iteration:
        return "time left unknown"
    pace = (last.seconds - first.seconds) / (last.iteration - first.iteration)
    seconds = round(pace * max(n_iterations - last.iteration, 0))
    return f"at most {seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left"


class Log:
    """A file with a JSON object for the start, for each iteration, and for the end of a run.

    It is begun anew from the history of the run, so that a resumed run leaves the same log as an
    unbroken one, but for the seconds. Where it cannot be written it ends, and the run goes on.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        about: dict[str, Any],
        history: Sequence[Record],
    ) -> None:
        self._path = path
        self._file: TextIO | None = None
        self.problem = ""
        """A sentence that says why the log has no end; empty if it has one."""
        if path is None:
            return
        events = [{"event": "start", **about}, *map(_event, history)]
        lines = "".join(json.dumps(event) + "\n" for event in events)
        with self._noting_problems():
            with atomic_writer(path) as file:
                file.write(lines.encode())
            self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 (closed by `close`)

    def iteration(self, record: Record) -> None:
        """An iteration ended."""
        self._write(_event(record))

    def end(self, reason: str) -> None:
        """The run ended."""
        self._write({"event": "end", "reason": reason})

    def close(self) -> None:
        """Closes the file, however the run ended."""
        if self._file is not None:
            # What could not be written before cannot be written now.
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _write(self, event: dict[str, Any]) -> None:
        if self._file is None:
            return
        with self._noting_problems():
            self._file.write(json.dumps(event) + "\n")
            self._file.flush()

    @contextlib.contextmanager
    def _noting_problems(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            path = os.fspath(self._path or "")
            self.problem = f"The log {path} could not be written: {error.strerror or error}."
            self.close()


def _event(record: Record) -> dict[str, Any]:
    """A record as JSON, which knows no infinity and no NaN."""
    numbers = {
        name: value if math.isfinite(value) else None for name, value in record._asdict().items()
    }
    return {"event": "iteration", **numbers}
