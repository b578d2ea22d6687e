"""Standard error while a command runs: that nobody reads it is no reason to lose a model."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any, cast


class Messages:
    """A stream whose lines go nowhere where it cannot be written to.

    As on a full disk, in a closed window, or behind a pipe whose reader has seen enough.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes, if that is possible."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Likewise."""
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def harmless_messages() -> Iterator[None]:
    """For the time of a command, what is written to standard error never ends it."""
    original = sys.stderr
    with ExitStack() as files:
        # Where it is closed, `print` would put messages among results.
        stream = original or files.enter_context(open(os.devnull, "w"))
        sys.stderr = cast(Any, Messages(stream))
        try:
            yield
        finally:
            sys.stderr = original
