"""Files that a command is to write: whether it can, and none of them is one that it reads."""

import os
from collections.abc import Iterator
from typing import Any

from partita.cli.options import Options, flag_of
from partita.data.text import STANDARD, source_name
from partita.files import check_outputs, is_same_file

OUTPUTS = ("output", "checkpoint", "log", "diagram")
"""Arguments that name files to write."""
DRAWINGS = "draw"
"""The argument that names a drawing, or for some commands a folder of them."""
STANDARD_INPUT, STANDARD_OUTPUT = "/dev/stdin", "/dev/stdout"
"""Names of the files that a shell gives as standard input and output, if they are files."""
STAGED = ("checkpoint", "log")
"""Those whose name has .2, .3 and so on behind it in later stages of a training."""


def check_files(options: Options) -> None:
    """Fail before the work rather than after it, and never over a file that is read."""
    values = {name: value for name, value in vars(options).items() if value is not None}
    for name in STAGED:
        if values.get(name) == STANDARD:
            raise ValueError(
                f"{flag_of(name)} is {STANDARD}, which is standard output; expected the name of a "
                f"file (a file of this very name is ./{STANDARD})."
            )
    read = inputs_of(options)
    for what, path in read.items():
        if is_same_file(STANDARD_OUTPUT, path):
            raise ValueError(
                f"standard output would be written to {what}, which would grow while it is read; "
                "expected a file of its own. Give another name behind > or >>."
            )
    written = {
        _what(name): values[name] for name in OUTPUTS if name in values and values[name] != STANDARD
    }
    check_outputs(written, read, staged=set(map(_what, STAGED)))


def inputs_of(options: Options) -> dict[str, str]:
    """The files that a command reads, each with what messages call it."""
    return {
        f"an input of this command ({source_name(text)})": path
        for name, value in vars(options).items()
        if name not in (*OUTPUTS, DRAWINGS)
        for text in _texts(value)
        if os.path.isfile(path := STANDARD_INPUT if text == STANDARD else text)
    }


def _what(name: str) -> str:
    return f"what {flag_of(name)} names"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
