"""What a long run shows while it lasts.

A run tells a display what happens; what becomes of it is the display's business. Write one of your
own to draw curves in a notebook or to report to a server, and pass it as `progress`.
"""

import math
import sys
import time
from abc import ABC, abstractmethod
from typing import Any, TextIO

from partita.training.checkpoint import Record

SECONDS_BETWEEN = 10.0
"""Between lines, where each is a new one."""
SECONDS_ON_TERMINAL = 0.1
"""Where a line is written over the one before."""


class Display(ABC):
    """Is told what happens in one run after the other."""

    @abstractmethod
    def begin(self, n_iterations: int) -> None:
        """A run of so many iterations at most begins."""

    @abstractmethod
    def show(self, record: Record) -> None:
        """An iteration ended."""

    @abstractmethod
    def advance(self, share: float) -> None:
        """So much of a pass over the data is done, 0 to 1; told often, and from any thread."""

    @abstractmethod
    def say(self, text: str) -> None:
        """There is something to tell, in a line: a stage begins, a file cannot be written."""

    @abstractmethod
    def end(self) -> None:
        """The run ended, one way or another."""


class NoDisplay(Display):
    """Shows nothing."""

    def begin(self, n_iterations: int) -> None:
        """Nothing."""

    def show(self, record: Record) -> None:
        """Nothing."""

    def advance(self, share: float) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


class PlainDisplay(Display):
    """One line: rewritten on a terminal, else a new one at least every ten seconds.

    Long passes over the data are shown in between, so that silence means trouble.
    """

    def __init__(self, stream: TextIO, seconds_between: float | None = None) -> None:
        self._stream: TextIO | None = stream
        self._is_terminal = stream.isatty()
        default = SECONDS_ON_TERMINAL if self._is_terminal else SECONDS_BETWEEN
        self._seconds_between = default if seconds_between is None else seconds_between
        self._n_iterations = 0
        self._first: Record | None = None
        self._last: Record | None = None
        self._began = self._shown = -math.inf
        self._width = 0

    def begin(self, n_iterations: int) -> None:
        """Forgets the run before."""
        self._n_iterations = n_iterations
        self._first = self._last = None
        self._began = time.monotonic()
        if not self._is_terminal:
            # A short run needs no line; a long one has its first when the first is due.
            self._shown = max(self._shown, self._began)

    def show(self, record: Record) -> None:
        """Writes the line, if the last one is old enough."""
        self._first, self._last = self._first or record, record
        if self._is_due():
            left = time_left(self._first, record, self._n_iterations)
            self._rewrite(f"iteration {record.iteration}: {described(record)}, {left}")

    def advance(self, share: float) -> None:
        """Writes how far the pass is, if the last line is old enough."""
        # Passes that end before a line is due are told by their iteration.
        if time.monotonic() - max(self._shown, self._began) < max(self._seconds_between, 1.0):
            return
        number = self._last.iteration + 1 if self._last else 1
        seconds = time.monotonic() - self._began
        self._rewrite(
            f"iteration {number}: {share:.0%} of a pass over the data, {clock(seconds)} since the "
            "run began"
        )

    def say(self, text: str) -> None:
        """Writes a line of its own."""
        self._end_line()
        self._write(text + "\n")

    def end(self) -> None:
        """Leaves the cursor on a new line."""
        self._end_line()

    def _is_due(self) -> bool:
        return time.monotonic() - self._shown >= self._seconds_between

    def _rewrite(self, line: str) -> None:
        self._shown = time.monotonic()
        if self._is_terminal:
            self._write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._write(line + "\n")

    def _end_line(self) -> None:
        if self._width:
            self._write("\n")
            self._width = 0

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody looks any more (a closed pipe, a closed window): no reason to lose the model.
            self._stream = None


class RichDisplay(Display):
    """A bar with the same numbers, by the optional package `rich`."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream)
        self._bars: Any = None
        self._task: Any = None
        self._n_iterations = 0
        self._first: Record | None = None
        self._numbers = ""

    def begin(self, n_iterations: int) -> None:
        """A new bar."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._first, self._numbers, self._n_iterations = None, "", n_iterations
        numbers = TextColumn("{task.fields[numbers]}")
        self._bars = Progress(BarColumn(20), MofNCompleteColumn(), numbers, console=self._console)
        self._task = self._bars.add_task("", total=n_iterations, numbers="")
        self._bars.start()

    def show(self, record: Record) -> None:
        """Moves the bar."""
        self._first = self._first or record
        left = time_left(self._first, record, self._n_iterations)
        self._numbers = f"{described(record)}, {left}"
        self._bars.update(self._task, completed=record.iteration, numbers=self._numbers)

    def advance(self, share: float) -> None:
        """How far the pass is, behind the numbers; the bar itself is drawn ten times a second."""
        if self._bars is not None and share < 1.0:
            self._bars.update(self._task, numbers=f"{self._numbers} ({share:.0%})")

    def say(self, text: str) -> None:
        """A line above the bar."""
        self._console.print(text, markup=False, highlight=False)

    def end(self) -> None:
        """Leaves the bar as it is."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None


def choose_display(progress: bool | Display | None = None, stream: TextIO | None = None) -> Display:
    """A display as it is; or one on a stream, if asked for, or if it is a terminal and not refused.

    The stream is standard error if none is given.

    >>> import io
    >>> display = choose_display(True, io.StringIO())
    >>> type(display).__name__, type(choose_display(None, io.StringIO())).__name__
    ('PlainDisplay', 'NoDisplay')
    """
    if isinstance(progress, Display):
        return progress
    stream = stream or sys.stderr
    # A program without a console has no standard error.
    if stream is None or stream.closed or not (stream.isatty() if progress is None else progress):
        return NoDisplay()
    if not stream.isatty():
        return PlainDisplay(stream)
    try:
        return RichDisplay(stream)
    except ImportError:
        return PlainDisplay(stream)


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
    return f"at most {clock(pace * max(n_iterations - last.iteration, 0))} left"


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> clock(3725.4)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
