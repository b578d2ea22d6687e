"""Files that a command is to write: whether it can, and none of them is one that it reads."""

import os
from collections.abc import Iterator
from typing import Any

from partita.cli.options import Options, flag_of
from partita.data.text import STANDARD, source_name
from partita.files import check_outputs

OUTPUTS = ("output", "checkpoint", "log", "diagram")
"""Arguments that name files to write."""
STANDARD_INPUT = "/dev/stdin"
"""A name of the file that a shell gives as standard input, if it is one."""
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
    read = {
        f"an input of this command ({source_name(text)})": path
        for name, value in values.items()
        if name not in OUTPUTS
        for text in _texts(value)
        if os.path.isfile(path := STANDARD_INPUT if text == STANDARD else text)
    }
    written = {
        _what(name): values[name] for name in OUTPUTS if name in values and values[name] != STANDARD
    }
    check_outputs(written, read, staged=set(map(_what, STAGED)))


def _what(name: str) -> str:
    return f"what {flag_of(name)} names"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
