"""The log of a run: a file with a JSON object a line."""

import contextlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from partita.files import atomic_writer
from partita.training.checkpoint import Record


class RunLog:
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
