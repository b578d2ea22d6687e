"""What all languages of templates share: where their text comes from, its lines and comments."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from partita.data.errors import DataError
from partita.data.text import read_text

MEMORY = "<templates>"
"""The source of templates that came from no file."""

Made = TypeVar("Made")


def described(
    given: str | os.PathLike[str] | Sequence[Made],
    parse: Callable[[str, str], tuple[Made, ...]],
    kind: type[Made],
) -> tuple[Made, ...]:
    """Templates from any form in which a user may have them: text, a path to it, or objects."""
    if isinstance(given, os.PathLike):
        return parse(read_text(given), os.fspath(given))
    if isinstance(given, str):
        return parse(given, MEMORY)
    for template in given:
        if not isinstance(template, kind):
            raise ValueError(
                f"features holds a {type(template).__name__}; expected {kind.__name__} objects, "
                "the text of templates, or a path (pathlib.Path) to a file with it."
            )
    return tuple(given)


def template_lines(text: str, source: str) -> Iterator[tuple[int, str]]:
    """The lines with something in them and their numbers; # begins a comment."""
    n_lines = 0
    for number, line in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if line:
            n_lines += 1
            yield number, line
    if not n_lines:
        raise DataError(source, None, "there are no templates; expected one a line.")


def read_word(
    parse: Callable[[str], Made | None], word: str, expected: str, source: str, line: int
) -> Made:
    """What a word of a template says; if it cannot be read, an error that says where and why."""
    hint = " Name a file by a pathlib.Path." if source == MEMORY else ""
    try:
        found = parse(word)
    except ValueError as error:
        raise DataError(source, line, f"found {word!r}: {error}{hint}") from None
    if found is None:
        raise DataError(source, line, f"found {word!r}; expected {expected}.{hint}")
    return found
