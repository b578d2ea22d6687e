"""Files that a command is to write: whether it can, and none of them is one that it reads."""

import errno
import os
from collections.abc import Iterator
from typing import Any

from partita.cli.options import Options, flag_of
from partita.data.text import STANDARD

OUTPUTS = ("output", "checkpoint", "log", "diagram")
"""Arguments that name files to write."""


def check_outputs(options: Options) -> None:
    """Fail before the work rather than after it, and never over a file that is read."""
    values = {name: value for name, value in vars(options).items() if value is not None}
    outputs = {
        name: os.fspath(values[name])
        for name in OUTPUTS
        if name in values and values[name] != STANDARD
    }
    inputs = [
        path
        for name, value in values.items()
        if name not in OUTPUTS
        for path in _texts(value)
        if os.path.isfile(path)
    ]
    for number, (name, path) in enumerate(outputs.items()):
        check_output(path)
        others = [*inputs, *list(outputs.values())[:number]]
        for other in others:
            if os.path.realpath(other) == os.path.realpath(path):
                use = "reads" if other in inputs else "writes something else to"
                raise ValueError(
                    f"{flag_of(name)} is {path}, which this command also {use}; expected another "
                    "file. Nothing was written."
                )


def check_output(path: str) -> None:
    """That a file can be written."""
    directory = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "Is a directory; name a file", path)
    if not os.path.isdir(directory):
        raise FileNotFoundError(errno.ENOENT, "No such directory", directory)
    if not os.access(directory, os.W_OK):
        raise PermissionError(errno.EACCES, "The directory cannot be written to", directory)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
