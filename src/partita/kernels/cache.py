"""Where compiled code is kept, and a word about it when compiling takes long."""

import hashlib
import logging
import os
import re
import stat
import tempfile
import threading
import time
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, event

PATIENCE = 2.0
"""Seconds of compilation after which a user is told what the waiting is for."""
LOGGER = logging.getLogger("partita")
KERNELS = Path(__file__).parent
IMPORT = re.compile(r"^\s*(?:from|import) partita\.kernels\.([\w.]+)", re.MULTILINE)
"""What a file imports of the kernels: modules, or packages."""


def choose_folder() -> None:
    """Keep compiled code beside the sources; else with the user's caches; else in a folder in /tmp.

    Numba does the first two by itself, and refuses to work where neither can be written to, as in
    a container with a read-only file system.
    """
    if numba.config.CACHE_DIR or _is_writable(Path(__file__).parent / "__pycache__"):
        return
    from numba.misc.appdirs import AppDirs

    if _is_writable(Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)):
        return
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"partita-{user}"
    if not _is_ours(folder):
        folder = Path(tempfile.mkdtemp(prefix="partita-"))
    numba.config.CACHE_DIR = str(folder)
    LOGGER.warning(
        "partita: its folder and the user's cache are read-only, so compiled code is kept in %s. "
        "Set NUMBA_CACHE_DIR to a folder that lasts to compile only once.",
        folder,
    )


def forgive_damage() -> None:
    """What cannot be read of kept code is compiled again.

    Numba passes on whatever `pickle` raises: at a file that was cut short, and at one of an earlier
    version of Partita whose classes had other names, since it reads them before it compares dates.
    """
    files: Any = caching.IndexDataCacheFile
    load_index, load_data = files._load_index, files._load_data

    def index_of(self: Any) -> Any:
        try:
            return load_index(self)
        except OSError:
            raise
        except Exception:
            return {}

    def data_of(self: Any, name: str) -> Any:
        try:
            return load_data(self, name)
        except OSError:
            raise
        except Exception as error:
            raise OSError(f"{name} cannot be read") from error

    files._load_index, files._load_data = index_of, data_of


def heed_imports() -> None:
    """Kept code is that of all files its own one imports; Numba looks at its own one alone.

    What those say is compiled into it, so that after an update, or a change of a step, old code
    would work on arrays that new code has laid out.
    """
    located: Any = caching._SourceFileBackedLocatorMixin
    own_stamp = located.get_source_stamp

    def stamp_of(self: Any) -> Any:
        return own_stamp(self), _digest(Path(self._py_file))

    located.get_source_stamp = stamp_of


@cache
def _digest(path: Path) -> bytes:
    """Of all kernels that a file imports, and of what these import."""
    found, ahead = set[Path](), [path]
    while ahead:
        new = _imported(ahead.pop()) - found
        found |= new
        ahead += new
    return hashlib.sha256(b"".join(_text(each) for each in sorted(found))).digest()


@cache
def _imported(path: Path) -> frozenset[Path]:
    names = IMPORT.findall(_text(path).decode())
    places = [KERNELS.joinpath(*name.split(".")) for name in names]
    # Of a package any module may be meant.
    files = [
        place.glob("*.py") if place.is_dir() else [place.with_suffix(".py")] for place in places
    ]
    return frozenset(chain.from_iterable(files))


@cache
def _text(path: Path) -> bytes:
    return path.read_bytes()


def _is_writable(folder: Path) -> bool:
    """Whether a file can be written there; the folder is made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can have put code there, which would run; makes the folder if missing."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError:
        return False
    is_owned = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return stat.S_ISDIR(about.st_mode) and is_owned and not about.st_mode & 0o022


class Announcer(event.Listener):  # type: ignore[misc]
    """Says once, when compiling has taken more than two seconds, that it does and how to avoid it.

    Compilations nest: the time is that of the outermost ones of a thread.
    """

    def __init__(self) -> None:
        self._local = threading.local()
        self._seconds = 0.0
        self.has_spoken = False

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled."""
        depth = getattr(self._local, "depth", 0)
        if depth == 0:
            self._local.began = time.monotonic()
        self._local.depth = depth + 1
        self._speak(event, self._seconds + time.monotonic() - self._local.began)

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        self._local.depth -= 1
        seconds = time.monotonic() - self._local.began
        self._speak(event, self._seconds + seconds)
        if self._local.depth == 0:
            self._seconds += seconds

    def _speak(self, event: Any, seconds: float) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if self.has_spoken or seconds < PATIENCE or not module.startswith("partita."):
            return
        self.has_spoken = True
        what = module.removeprefix("partita.kernels.").partition(".")[0]
        LOGGER.warning(
            "partita: compiling what this needs (%s), once; it is kept for the next time. "
            "`partita compile` does it for everything.",
            what,
        )


ANNOUNCER = Announcer()
event.register("numba:compile", ANNOUNCER)
