"""Docstrings as Markdown, for the reference: lists of parameters, and examples in fences.

Our docstrings are plain text with three forms that Markdown reads otherwise: sections underlined
with dashes, names with an indented description below them, and examples that begin with >>>.
Options of estimators are declared once, and docstrings list them when their class is made: such a
class is imported.
"""

import re
from importlib import import_module
from typing import Any

import griffe


class Markdown(griffe.Extension):
    """Rewrites the docstring of every object that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if isinstance(obj, griffe.Class) and is_declared(obj):
            obj.docstring = griffe.Docstring(written(obj), parent=obj)
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)


def is_declared(owner: griffe.Class) -> bool:
    """Whether it is a class of options, as in `partita.estimators.options`."""
    return any(str(each.value) == "declared" for each in owner.decorators)


def written(owner: griffe.Class) -> str:
    """The docstring of a class as it is in memory."""
    return getattr(import_module(owner.module.path), owner.name).__doc__


def markdown(text: str) -> str:
    """The docstring in Markdown."""
    lines: list[str] = []
    given = text.expandtabs().splitlines()
    is_list = is_example = False
    for index, line in enumerate(given):
        following = given[index + 1] if index + 1 < len(given) else ""
        if re.fullmatch(r"-{3,}", line):
            continue
        if re.fullmatch(r"-{3,}", following):
            lines += [f"**{line}**", ""]
            is_list = True
        elif line.startswith(">>>") and not is_example:
            lines += ["```pycon", line]
            is_example = True
        elif is_example and not line.strip():
            lines += ["```", ""]
            is_example = False
        elif is_example:
            lines.append(line)
        elif is_list and line and not line.startswith(" ") and following.startswith("    "):
            names, colon, kind = line.partition(" : ")
            names = ", ".join(f"`{name.strip()}`" for name in names.split(","))
            lines.append(f"- {names}{colon}{plain(kind)}:")
        else:
            is_list = is_list and (not line or line.startswith(" "))
            lines.append(plain(line) if is_list else line)
    return "\n".join(lines + ["```"] * is_example)


def plain(text: str) -> str:
    """The text with its `<` as such: outside code, Markdown takes what follows for HTML."""
    pieces = text.split("`")
    pieces[::2] = [piece.replace("<", "&lt;") for piece in pieces[::2]]
    return "`".join(pieces)
