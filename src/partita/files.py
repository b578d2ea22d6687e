"""Files in and out: a write replaces the old file at once or not at all."""

import os
import tempfile
from pathlib import Path
from typing import Any


class atomic_writer:  # noqa: N801 (used like a function, as `open` is)
    """A binary file that replaces `path` if the block ends well, and vanishes if it does not."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def __enter__(self) -> Any:
        # In the same directory, since a rename is atomic only within one file system.
        handle, self._temporary = tempfile.mkstemp(
            prefix=f".{self._path.name}.", suffix=".partial", dir=self._path.parent
        )
        self._file = os.fdopen(handle, "wb")
        return self._file

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
                os.chmod(self._temporary, 0o666 & ~_umask())
                self._file.close()
                os.replace(self._temporary, self._path)
                _sync_directory(self._path.parent)
        finally:
            self._file.close()
            Path(self._temporary).unlink(missing_ok=True)


def _umask() -> int:
    """The permissions that new files of this process lack (mkstemp makes private ones)."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_directory(directory: Path) -> None:
    """Make a rename survive a power cut, where the system can (Windows cannot open directories)."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
