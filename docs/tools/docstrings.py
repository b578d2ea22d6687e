"""Docstrings as Markdown, for the reference: lists of parameters, and examples in fences.

Our docstrings are plain text with three forms that Markdown reads otherwise: sections underlined
with dashes, names with an indented description below them, and examples that begin with >>>.
"""

import re
from typing import Any

import griffe


class Markdown(griffe.Extension):
    """Rewrites the docstring of every object that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)


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
            names = ", ".join(f"`{name.strip()}`" for name in line.split(","))
            lines.append(f"- {names}:")
        else:
            is_list = is_list and (not line or line.startswith(" "))
            lines.append(line)
    return "\n".join(lines + ["```"] * is_example)
