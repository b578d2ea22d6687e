"""A sign of life at least every ten seconds, where standard error is no terminal.

On a terminal a bar moves; in the log of a batch job silence would mean trouble. Whatever a command
writes to standard error is a sign of life; only where nothing came for ten seconds, a line says
that the command still works.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

SECONDS = 10.0
"""The longest silence."""


class Watched:
    """Standard error, which knows when it was written to last."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.last = time.monotonic()
        self.done = threading.Event()
        """Set when no more signs are wanted."""

    def write(self, text: str) -> int:
        """Writes, and notes the time."""
        self.last = time.monotonic()
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def wait_in_silence() -> None:
    """From now on the command waits for somebody, and silence is what is expected."""
    if isinstance(sys.stderr, Watched):
        sys.stderr.done.set()


@contextmanager
def signs_of_life(seconds: float = SECONDS) -> Iterator[None]:
    """Lines on standard error while the body works, wherever it is silent for so many seconds."""
    original = sys.stderr
    if original is None or original.closed or original.isatty():
        yield
        return
    watched, began = Watched(original), time.monotonic()

    def beat() -> None:
        while not watched.done.wait(max(watched.last + seconds - time.monotonic(), 0.0)):
            if time.monotonic() - watched.last >= seconds:
                minutes, rest = divmod(round(time.monotonic() - began), 60)
                watched.write(f"still at work, {minutes}:{rest:02} since the command began\n")
                watched.flush()

    thread = threading.Thread(target=beat, name="partita signs of life", daemon=True)
    sys.stderr = cast(Any, watched)
    thread.start()
    try:
        yield
    finally:
        watched.done.set()
        thread.join()
        sys.stderr = original
