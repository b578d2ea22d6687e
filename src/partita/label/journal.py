"""The journal: every answer is a line of JSON on the disk before anybody is told that it is.

Lines are only ever appended, an undo is a line, too, and `fsync` follows each. What a killed
process left of a last line was never acknowledged, and is cut off. One process holds the journal.
"""

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from partita.files import StrPath, locked, sync_directory

VERSION = 1
Record = Mapping[str, Any]


class JournalError(ValueError):
    """A journal that cannot be used: of other data, damaged, or held by another process."""


class Journal:
    """Records in a file, in order; the first says what the others are about.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "out.journal"
    >>> with Journal(path, {"corpus": "1f3a"}) as journal:
    ...     journal.append({"kind": "skip", "id": "a"})
    {'kind': 'skip', 'id': 'a', 'number': 1}
    >>> with Journal(path, {"corpus": "1f3a"}) as journal:
    ...     [record["kind"] for record in journal.records]
    ['skip']
    """

    def __init__(self, path: StrPath, about: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._about = {"kind": "start", "version": VERSION, **about}
        self._writing = threading.Lock()
        is_new = not self.path.exists()
        self._file = open(self.path, "ab+")  # noqa: SIM115 (held for as long as the journal)
        if not locked(self._file.fileno()):
            self._file.close()
            raise JournalError(
                f"{self.path} is in use by another process; expected one server for one output. "
                "Use the page that is open already, or end the other server."
            )
        try:
            self.records = self._read()
        except JournalError:
            self._file.close()
            raise
        if is_new:
            sync_directory(self.path.parent)

    def append(self, record: Record) -> Record:
        """Write a record, with its number; when this returns, it is on the disk."""
        with self._writing:
            numbered = {**record, "number": len(self.records) + 1}
            self._write(numbered)
            self.records.append(numbered)
        return numbered

    def close(self) -> None:
        """Let another process have it."""
        self._file.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, record: Record) -> None:
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        end = self._file.seek(0, os.SEEK_END)
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            # On a full disk half a line may be there; the next one must not be glued to it.
            os.ftruncate(self._file.fileno(), end)
            raise

    def _read(self) -> list[Record]:
        self._file.seek(0)
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            # The process was killed while it wrote: nobody was told that this is saved.
            os.ftruncate(self._file.fileno(), whole)
            os.fsync(self._file.fileno())
        # Not `splitlines`, which knows ends of lines that JSON leaves as they are.
        lines = data[:whole].decode("utf-8", errors="replace").split("\n")[:-1]
        records = [self._parsed(number, line) for number, line in enumerate(lines, start=1)]
        if not records:
            self._write(self._about)
            return []
        self._check(records[0])
        return records[1:]

    def _parsed(self, number: int, line: str) -> Record:
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict) or "kind" not in record:
            raise JournalError(
                f"{self.path}, line {number}: found {line[:60]!r}; expected a record in JSON. "
                "Restore the file from a copy, or name another output."
            )
        return record

    def _check(self, first: Record) -> None:
        for name, expected in self._about.items():
            if first.get(name) != expected:
                raise JournalError(
                    f"{self.path} is about {name} {first.get(name)!r}, and this command about "
                    f"{expected!r}; expected the same sentences and the same labels as when it was "
                    "begun. Give these again, or name another output."
                )
