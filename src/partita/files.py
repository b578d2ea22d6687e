"""Files in and out: a write replaces the old file at once or not at all."""

import contextlib
import errno
import glob
import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

StrPath = str | os.PathLike[str]

PARTIAL = ".partial"
"""What the name of a file ends in while it is written."""
LONGEST_NAME = 255
"""Bytes of a name of a file."""
N_ADDED = len(f"..12345678{PARTIAL}")
"""Bytes of a partial file's name beside those of the file's own."""
IS_FOLDER = "it is a folder; give the name of a file"
LOCK = ".lock"
"""The file that a process holds as long as it uses a folder."""


class atomic_writer:  # noqa: N801 (used like a function, as `open` is)
    """A binary file that replaces `path` if the block ends well, and vanishes if it does not.

    What a killed process left behind of the same file is removed first. A link is followed; what
    is no plain file, such as a pipe or /dev/null, is written to as it is. Errors of the system name
    the path, and not what the file is called while it is written.
    """

    def __init__(self, path: StrPath) -> None:
        self._name = os.fspath(path)
        self._path = _place(path)

    def __enter__(self) -> Any:
        self._temporary: str | None = None
        if _is_special(self._path):
            self._file: Any = open(self._path, "wb")
            return self._file
        self._check_place()
        remove_partial_files(self._path)
        with self._naming_the_path():
            handle, self._temporary = _made_partial(self._path)
        self._file = os.fdopen(handle, "wb")
        return self._file

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is not None and isinstance(error, OSError) and error.filename is None:
            error.filename = self._name
        with self._naming_the_path():
            self._finish(kind is None)

    def _finish(self, is_whole: bool) -> None:
        """Put the file into its place if it is whole, or remove what there is of it."""
        if self._temporary is None:
            self._file.close()
            return
        try:
            if is_whole:
                self._file.flush()
                os.fsync(self._file.fileno())
                os.chmod(self._temporary, 0o666 & ~_umask())
                self._file.close()
                os.replace(self._temporary, self._path)
                sync_directory(self._path.parent)
        finally:
            # On a full disk, closing fails once more.
            with contextlib.suppress(OSError):
                self._file.close()
            Path(self._temporary).unlink(missing_ok=True)

    def _check_place(self) -> None:
        """That there is a folder for the file, and not one in its place."""
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, IS_FOLDER, self._name)
        if not self._path.parent.exists():
            raise FileNotFoundError(errno.ENOENT, _no_folder(self._path.parent), self._name)

    @contextlib.contextmanager
    def _naming_the_path(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno is None:
                raise
            raise OSError(error.errno, error.strerror, self._name) from None


def check_outputs(
    outputs: Mapping[str, StrPath | None],
    inputs: Mapping[str, StrPath | None] | None = None,
    staged: Collection[str] = (),
) -> None:
    """Before hours of work: every output can be written, and none is an input or another output.

    The names say what each file is for, in messages; a file that is None is not wanted. What
    killed processes left behind of the outputs is removed. Outputs that are `staged` are
    written to the name with .2, .3 and so on behind it, too, which may be no other file either.

    >>> check_outputs({"the model": "a.model"}, {"the training data": "./a.model"})
    Traceback (most recent call last):
        ...
    ValueError: the model would be written to a.model, which is the training data; ...
    """
    taken = [(what, path) for what, path in (inputs or {}).items() if path is not None]
    for what, path in outputs.items():
        if path is None:
            continue
        for other, its_path in taken:
            if is_same_file(path, its_path):
                raise ValueError(
                    f"{what} would be written to {os.fspath(path)}, which is {other}; expected "
                    "a file of its own. Give another name."
                )
            if what in staged:
                _check_stages(what, path, other, its_path)
            if other in staged:
                _check_stages(other, its_path, what, path)
        _check_output(what, path)
        taken.append((what, path))


def _check_stages(what: str, path: StrPath, other: str, its_path: StrPath) -> None:
    """An error if a later stage of a file would be another file."""
    start = f"{os.path.realpath(path)}."
    number = os.path.realpath(its_path).removeprefix(start)
    there = (each for each in glob.glob(f"{glob.escape(start)}*") if each[len(start) :].isdigit())
    if number.isdigit() or any(is_same_file(each, its_path) for each in there):
        raise ValueError(
            f"{what} would be written to {os.fspath(path)}, and in later stages of the training to "
            f"{os.fspath(path)}.2 and so on, of which {os.fspath(its_path)} is {other}; expected "
            "files of their own. Give another name."
        )


def check_folder(what: str, path: StrPath) -> None:
    """Before hours of work: a folder that is there, or one that can be made."""
    place = Path(os.path.realpath(path))
    there = next(each for each in (place, *place.parents) if each.exists())
    if not there.is_dir():
        raise ValueError(
            f"{what} is {os.fspath(path)}, and {there} is a file; expected a folder, or a name "
            "that is free for one. Give another name."
        )
    problem = _problem_of_folder(there)
    if problem is not None:
        raise ValueError(f"{what} is {os.fspath(path)}: {problem}.")


def remove_partial_files(path: StrPath) -> None:
    """Remove what killed processes left behind while they wrote this file."""
    path = Path(os.path.realpath(path))
    start = _partial_start(path)
    try:
        names = os.listdir(path.parent)
    except OSError:
        return
    for name in names:
        middle = name.removeprefix(start).removesuffix(PARTIAL)
        if name == f"{start}{middle}{PARTIAL}" and "." not in middle:
            with contextlib.suppress(OSError):
                _remove_unless_locked(path.parent / name)


def is_same_file(path: StrPath, other: StrPath) -> bool:
    """Whether two names lead to one file, which is no pipe or the like."""
    try:
        # A pipe or /dev/null may well be used twice.
        return os.path.samefile(path, other) and not _is_special(Path(path))
    except OSError:
        return os.path.realpath(path) == os.path.realpath(other)


class ScratchFolder:
    """A temporary folder that `close` deletes; one of a process that was killed, the next one does.

    >>> folder = ScratchFolder("partita-example-")
    >>> folder.path.is_dir()
    True
    >>> folder.close()
    >>> folder.path.exists()
    False
    """

    def __init__(self, prefix: str) -> None:
        for other in Path(tempfile.gettempdir()).glob(f"{glob.escape(prefix)}*/{LOCK}"):
            with contextlib.suppress(OSError):
                _remove_folder_unless_locked(other)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._handle = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR)
        locked(self._handle)

    def close(self) -> None:
        """Delete it and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._handle)


def _made_partial(path: Path) -> tuple[int, str]:
    """A new file to be renamed to the path, marked as in use: its handle and its name."""
    while True:
        # In the same directory, since a rename is atomic only within one file system.
        handle, name = tempfile.mkstemp(PARTIAL, _partial_start(path), path.parent)
        if locked(handle) and os.path.exists(name):
            return handle, name
        # Another process took it for one that was left behind, before it was marked.
        os.close(handle)


def _partial_start(path: Path) -> str:
    """What the names of a file's partial files begin with; they must not be too long, either."""
    name = path.name
    while len(os.fsencode(name)) > LONGEST_NAME - N_ADDED:
        name = name[:-1]
    return f".{name}."


def _check_output(what: str, path: StrPath) -> None:
    place = _place(path)
    if place.is_dir():
        problem: str | None = IS_FOLDER
    elif _is_special(place):
        problem = None if os.access(place, os.W_OK) else "it cannot be written to"
    else:
        remove_partial_files(place)
        problem = _problem_of_folder(place.parent)
    if problem is not None:
        raise ValueError(f"{what} cannot be written to {os.fspath(path)}: {problem}.")


def _no_folder(folder: Path) -> str:
    return f"there is no folder {folder}; make it first, or correct the path"


def _problem_of_folder(folder: Path) -> str | None:
    """Why a file cannot be made in a folder; None if it can."""
    if not folder.exists():
        return _no_folder(folder)
    try:
        # Permissions alone do not tell: a disk may be full or mounted for reading only.
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(1))
            file.flush()
    except OSError as error:
        return f"no file can be made in its folder ({error.strerror}); choose another one"
    return None


def _place(path: StrPath) -> Path:
    """Where a name leads; a shell's pipe, as behind /dev/stdout, has no other name than that."""
    return Path(path) if _is_special(Path(path)) else Path(os.path.realpath(path))


def _is_special(path: Path) -> bool:
    """Whether it is there and neither a plain file nor a folder."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def locked(handle: int) -> bool:
    """Mark an open file as in use until it is closed or its process dies; False if it is."""
    try:
        import fcntl
    except ImportError:  # Windows, where an open file cannot be removed anyway
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_unless_locked(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        is_left = locked(handle)
    finally:
        os.close(handle)
    if is_left:
        path.unlink()


def _remove_folder_unless_locked(lock: Path) -> None:
    handle = os.open(lock, os.O_RDWR)
    try:
        if locked(handle):
            shutil.rmtree(lock.parent, ignore_errors=True)
    finally:
        os.close(handle)


def _umask() -> int:
    """The permissions that new files of this process lack (mkstemp makes private ones)."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def sync_directory(directory: Path) -> None:
    """Make a rename survive a power cut, where the system can (Windows cannot open directories)."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
