"""Drawings that commands write: a file each, in a directory."""

import errno
import os
from collections.abc import Sequence
from typing import Any

from partita.cli.options import Argument, say

DRAW = Argument(
    "draw", str, None, "write a drawing of each answer here, in SVG", metavar="DIRECTORY"
)


def check_directory(path: str) -> None:
    """A directory that is there, or one that can be made."""
    parent = os.path.dirname(os.path.abspath(path))
    if os.path.exists(path) and not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, "Is a file; name a directory", path)
    if not os.path.isdir(parent):
        raise FileNotFoundError(errno.ENOENT, "No such directory", parent)
    if not os.access(path if os.path.isdir(path) else parent, os.W_OK):
        raise PermissionError(errno.EACCES, "The directory cannot be written to", path)


def save_drawings(directory: str, pictures: Sequence[Any]) -> None:
    """Files 1.svg and so on, with as many digits as the last one needs; none where None is."""
    os.makedirs(directory, exist_ok=True)
    width = len(str(len(pictures)))
    drawn = [(number, picture) for number, picture in enumerate(pictures, 1) if picture is not None]
    for number, picture in drawn:
        picture.save(os.path.join(directory, f"{number:0{width}}.svg"))
    say(f"Wrote {len(drawn)} drawing{'' if len(drawn) == 1 else 's'} to {directory}")
