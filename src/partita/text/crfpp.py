"""Template files of CRF++, as they are: U and B lines with %x[row,column] macros.

A U line describes words. A B line describes transitions: alone, one table of tag pairs; with
macros, a table for each value they take at the word that the transition leads to.
"""

import re

from partita.data.errors import DataError
from partita.text.fields import Field, Template

MACRO = re.compile(r"%x\[\s*([+-]?\d+)\s*,\s*(\d+)\s*\]")
LINE = re.compile(r"([UB][^\s:%]*)(?::\s*(.*))?")


def is_crfpp(text: str) -> bool:
    r"""Whether a text looks like a CRF++ template file, not like our own form.

    >>> is_crfpp("# Unigram\nU00:%x[0,0]"), is_crfpp("FORM[0].lower")
    (True, False)
    """
    return "%x[" in text or any(
        re.match(r"[UB]\w*:|B\d*$", line.strip()) for line in text.splitlines()
    )


def parse(text: str, source: str) -> tuple[Template, ...]:
    r"""The templates of a file.

    >>> for template in parse("U01:%x[-1,0]/%x[0,1]  \n\nB", "template"):
    ...     print(template.label, template.fields, template.transition)
    U01 (Field(column=0, offset=-1, view=''), Field(column=1, offset=0, view='')) False
    B () True
    >>> parse("U01:%x[0]", "template")
    Traceback (most recent call last):
    partita.data.errors.DataError: template, line 1: found '%x[0]'; expected %x[row,column] ...
    """
    templates: list[Template] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        template = _parse_line(line, source, number)
        if template.label in lines:
            # CRF++ would let their attributes share weights; nobody who writes this wants that.
            raise DataError(
                source,
                number,
                f"the name {template.label!r} is used again, first in line "
                f"{lines[template.label]}; expected a name of its own for each template.",
            )
        lines[template.label] = number
        templates.append(template)
    if not templates:
        raise DataError(source, None, "there are no templates; expected lines that begin U or B.")
    return tuple(templates)


def _parse_line(line: str, source: str, number: int) -> Template:
    found = LINE.fullmatch(line)
    if found is None:
        raise DataError(
            source,
            number,
            f"found {line!r}; expected a template such as U01:%x[-1,0] or B, or a # comment.",
        )
    name, body = found[1], found[2] or ""
    rest = MACRO.sub("", body)
    if "%" in rest:
        wrong = rest[rest.index("%") :].split("/")[0]
        raise DataError(
            source,
            number,
            f"found {wrong!r}; expected %x[row,column] with whole numbers, the row counted from "
            "the current word and the column from 0.",
        )
    fields = tuple(Field(int(column), int(row)) for row, column in MACRO.findall(body))
    return Template(fields, transition=name.startswith("B"), name=name)
