"""Data files that a command reads: patterns such as 'corpus/*.conllu' stand for their files."""

import shlex
from collections.abc import Iterator
from typing import Any

from partita.cli.options import Options
from partita.data.files import matching_files

DATA = (
    "train",
    "unlabelled",
    "held_out",
    "input",
    "gold",
    "source",
    "target",
    "also",
    "raw",
    "merge",
    "pool",
    "test",
)
"""Arguments that name files of sentences; a list of names takes as many files as match."""


def expand_patterns(options: Options) -> None:
    """Put the files that match in place of patterns, so that nothing else has to know of them.

    A shell does so, too, unless they are quoted, as they must be for a cluster's, or for Windows.
    """
    for name in DATA:
        value = getattr(options, name, None)
        if isinstance(value, list):
            setattr(options, name, list(_each(value)))
        elif value is not None:
            setattr(options, name, _one(value))


def _each(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, str):
            yield from matching_files(value)
        else:  # two or three files that belong together
            yield list(map(_one, value))


def _one(pattern: str) -> str:
    """The only file that matches."""
    found = matching_files(pattern)
    if len(found) > 1:
        joined = " ".join(map(shlex.quote, found[:2])) + (" ..." if len(found) > 2 else "")
        raise ValueError(
            f"{pattern!r} matches {len(found)} files ({joined}); expected one file here. Join them "
            f"first (cat {joined} > all), or run the command once for each."
        )
    return found[0]
