"""Ctrl-C and SIGTERM as a wish that a run reads between batches, never as an exception anywhere.

Python turns Ctrl-C into an exception wherever it happens to be; inside compiled code that becomes
a `SystemError` with a broken result, and the work of hours is gone. While a run lasts, a handler
of our own only notes that the signal came. The run reads the note between batches and between
iterations, and ends in good order. The second signal does what the first would have done without
us.

A fit may take several runs. Those that only improve a model end before they begin once a signal
came; one without which the model would be worthless, such as that of a parser's labels, makes its
first iteration first.

SIGTERM is meant for the process, not for the run: a cluster is about to take the machine back. What
comes after the run has its time, such as saving the model; the next `fit` ends the process.

Signals belong to the main thread. In any other thread nothing is installed, and Ctrl-C does there
what it always did; but a wish noted by the main thread ends the runs of all threads.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

CAUSES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
"""The signals that end a run, and what they are called."""

_Handler = Callable[[int, FrameType | None], Any] | int | None


class Interrupted(Exception):  # noqa: N818 (no error: somebody wished it)
    """A pass over the corpus was broken off, since the run is to end; what it found is dropped.

    As text it says why: "Ctrl-C" or "SIGTERM".
    """


class Interruption:
    """Whether a signal came since handlers were installed, and which."""

    def __init__(self) -> None:
        self.cause: str | None = None
        """"Ctrl-C" or "SIGTERM"; None if neither came."""
        self.n_runs = 0
        """Runs under way that will catch `Interrupted`."""

    @property
    def is_requested(self) -> bool:
        """Whether the runs are to end."""
        return self.cause is not None


_current: Interruption | None = None
_is_terminated = False
"""Whether SIGTERM ended an earlier block, and the process has not been ended since."""
_counting = threading.Lock()


@contextmanager
def heed_interruptions() -> Iterator[Interruption]:
    """For the time of a block, Ctrl-C and SIGTERM only ask training to end, and lose nothing.

    `train` does this for itself. Put it around several runs and what lies between them (a whole
    `fit`, or a `fit` and a `save`): the signal that ends the first run then ends the later ones
    before they begin, and one that arrives between two runs is not lost. A block inside another
    shares what the outer one notes. Only what calls `break_if_interrupted`, as every pass over a
    corpus does, is ended early; the rest of the block runs to its end.

    >>> with heed_interruptions() as interruption:
    ...     signal.raise_signal(signal.SIGINT)
    ...     print("still here")
    still here
    >>> interruption.is_requested, interruption.cause
    (True, 'Ctrl-C')
    """
    global _current, _is_terminated
    if _current is not None:
        yield _current
        return
    if threading.current_thread() is not threading.main_thread():
        yield Interruption()
        return
    interruption = Interruption()
    handlers = _Handlers(interruption)
    _current = interruption
    try:
        handlers.install()
        yield interruption
    except SystemError as error:
        if not handlers.was_called_again:
            raise
        # The second Ctrl-C arrived inside compiled code, which garbles exceptions.
        raise KeyboardInterrupt from error
    finally:
        handlers.restore()
        _current = None
        _is_terminated |= interruption.cause == CAUSES[signal.SIGTERM]


def end_if_terminated() -> None:
    """End the process if SIGTERM ended a run before; what every `fit` begins with.

    By `SystemExit` with status 143, as a shell reports it, so that files are closed and temporary
    ones removed; where somebody handles SIGTERM otherwise, that handler gets it now. Within
    `heed_interruptions` nothing happens: its later runs end before they begin.

    >>> end_if_terminated()
    """
    global _is_terminated
    if not _is_terminated or _current is not None:
        return
    _is_terminated = False
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        raise SystemExit(128 + signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)


@contextmanager
def interruptible_run() -> Iterator[Interruption]:
    """A block that catches `Interrupted`: inside it, passes over the corpus may be broken off."""
    with heed_interruptions() as interruption:
        _count(interruption, 1)
        try:
            yield interruption
        finally:
            _count(interruption, -1)


@contextmanager
def unbroken(is_needed: bool = True) -> Iterator[None]:
    """A part of a run that a first signal does not break off, if the model needs it.

    Where runs of other threads are under way, their signal breaks it off nevertheless.
    """
    interruption = _current
    if interruption is None or not is_needed:
        yield
        return
    _count(interruption, -1)
    try:
        yield
    finally:
        _count(interruption, 1)


def break_if_interrupted() -> None:
    """Raise `Interrupted` if a signal came and a run is under way; between batches, any thread.

    Functions that judge weights on held-out data and take long should call this now and then.
    Outside of a run nothing happens: nobody would catch it, and the model would be lost.

    >>> break_if_interrupted()
    """
    interruption = _current
    if interruption is not None and interruption.is_requested and interruption.n_runs:
        raise Interrupted(interruption.cause)


@contextmanager
def handlers_kept() -> Iterator[None]:
    """What a block of others installs for our signals is taken back, while we heed them.

    Ray installs a handler of its own for SIGTERM as it starts, which ends the process at once.

    >>> with heed_interruptions() as interruption:
    ...     with handlers_kept():
    ...         before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ...     signal.raise_signal(signal.SIGTERM)
    >>> interruption.cause
    'SIGTERM'
    """
    is_ours = threading.current_thread() is threading.main_thread()
    heeded = CAUSES if is_ours and _current is not None else {}
    before = {number: signal.getsignal(number) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _count(interruption: Interruption, change: int) -> None:
    with _counting:
        interruption.n_runs += change


class _Handlers:
    """Our handlers for the signals, and those that were there before."""

    def __init__(self, interruption: Interruption) -> None:
        self._interruption = interruption
        self._previous: dict[int, _Handler] = {}
        self.was_called_again = False

    def install(self) -> None:
        for number in CAUSES:
            previous = signal.getsignal(number)
            # What is ignored (as in `nohup`) stays so; what was not set from Python, which gives
            # None, could not be restored.
            if previous not in (signal.SIG_IGN, None):
                self._previous[number] = previous
                signal.signal(number, self._note)

    def restore(self) -> None:
        for number, previous in self._previous.items():
            # Whoever replaced ours in the meantime meant it.
            if signal.getsignal(number) == self._note:
                signal.signal(number, previous)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self._interruption.is_requested:
            self._interruption.cause = CAUSES[signal.Signals(number)]
            return
        self.was_called_again = True
        self.restore()
        previous = self._previous[number]
        if callable(previous):
            previous(number, frame)
        else:
            os.kill(os.getpid(), number)
