"""Feature templates as data: which columns, seen how, at which neighbours, form an attribute.

In text, one template a line: fields such as `FORM[0]`, `FORM[-1].lower` or `FORM[0].lower.suffix3`
(column, offset, views; `[0]` may be left out), several of them for a combination; `transition:`
before a template makes its attributes describe the step from the tag before to this one, and alone,
which is the default, it stands for a plain table of such steps; # begins a comment.

    FORM[0].lower
    FORM[-1].lower FORM[0].lower
    FORM[0].suffix3
    transition:
    transition: FORM[0].capital

A column may hold several values with bars between them: `FEATS[0].each` makes an attribute of each,
and `2[0].part3` sees the third (see `partita.text.views`).

Files of CRF++ are read as they are, see `partita.text.crfpp`.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from partita.data.errors import DataError
from partita.data.text import read_text
from partita.text import crfpp
from partita.text.fields import Field, Template, parse_field
from partita.text.template_files import MEMORY, described, read_word, template_lines
from partita.text.views import BAR, NOTHING
from partita.text.word_columns import CLASS, LEXICON

TRANSITION = "transition:"
EXPECTED = "fields such as FORM, FORM[-1].lower or FORM.suffix3, with blanks between them"

NEARLY_ALL = 0.95
"""Of the values of a column; a bar may also be a word."""

Description = str | os.PathLike[str] | Sequence[Template]
"""Templates, their text (ours or CRF++'s), or a path to a file with it."""


def read_templates(given: Description) -> tuple[Template, ...]:
    r"""Templates from any form in which a user may have them.

    >>> for template in read_templates("FORM[0].lower\ntransition:"):
    ...     print(template.text)
    FORM[0].lower
    transition:
    """
    return described(given, parse_templates, Template)


def read_template_file(path: str) -> tuple[Template, ...]:
    """The templates of a file; its name is for messages."""
    return parse_templates(read_text(path), path)


def parse_templates(text: str, source: str = MEMORY) -> tuple[Template, ...]:
    """Templates from their text, or from that of a CRF++ template file."""
    if crfpp.is_crfpp(text):
        return crfpp.parse(text, source)
    templates = [_parse_line(line, source, number) for number, line in template_lines(text, source)]
    if not any(template.transition for template in templates):
        # Without transitions words would be tagged one by one; nobody means that.
        templates.append(Template((), transition=True))
    return tuple(templates)


def default_templates(columns: Mapping[str, Sequence[str]]) -> tuple[Template, ...]:
    """Features that serve most taggers: of words in the first column, and of all other columns.

    Where the values of another column hold several with bars between them, every part is an
    attribute of its own.

    >>> len(default_templates({"FORM": ["dogs"]}))
    40
    >>> len(default_templates({"FORM": ["dogs", "bark"], "XPOS": ["NNS", "VBP"]}))
    54
    >>> len(default_templates({"FORM": ["dogs", "bark"], "2": ["dog|true|NN", "bark|false|VB"]}))
    49
    """
    first, *others = columns
    text = WORD_TEMPLATES
    for other in others:
        if other in ADDED_TEMPLATES:
            text += ADDED_TEMPLATES[other].replace("C[", f"{other}[")
            continue
        views = part_views(columns[other])
        if not views:
            text += OTHER_TEMPLATES.replace("C[", f"{other}[")
        for view in views:
            text += PART_TEMPLATES.replace("C[", f"{other}[").replace(".part", f".{view}")
    return parse_templates(text.replace("W[", f"{first}[") + TRANSITION)


def part_views(values: Sequence[str]) -> tuple[str, ...]:
    """The views of a column whose values hold several with bars between them; none elsewhere.

    `part1`, `part2`, ... where (nearly) all values have the same number of parts, which stand for
    different things then; `each` for sets such as `Case=Nom|Number=Sing`, also of one or none.

    >>> part_views(["dog|true|NN", "bark|false|VB"]), part_views(["Case=Nom|Number=Sing", "_"])
    (('part1', 'part2', 'part3'), ('each',))
    >>> part_views(["NN", "|", "VB"])
    ()
    """
    counts = Counter(values)
    n_parts: Counter[int] = Counter()
    for value, count in counts.items():
        n_parts[value.count(BAR) + 1] += count
    usual, n_usual = max(n_parts.items(), key=lambda item: item[1], default=(1, 0))
    if usual > 1 and n_usual >= NEARLY_ALL * len(values):
        return tuple(f"part{number}" for number in range(1, usual + 1))
    named = all("=" in part for v in counts if v not in NOTHING for part in v.split(BAR))
    return ("each",) if named and len(n_parts) > 1 else ()


def resolved(templates: Sequence[Template], columns: Sequence[str]) -> tuple[Template, ...]:
    """Templates with the names of columns in place of their numbers; all columns must be there."""
    return tuple(
        replace(template, fields=tuple(_with_name(field, columns) for field in template.fields))
        for template in templates
    )


def _with_name(field: Field, columns: Sequence[str]) -> Field:
    column = field.column
    if isinstance(column, int):
        if column >= len(columns):
            raise ValueError(
                f"a template uses column {column}, counting from 0; the data have "
                f"{len(columns)}: {', '.join(columns)}. Correct the template, or give tokens as "
                "tuples of all columns, or sentences with them."
            )
        return replace(field, column=columns[column])
    if column not in columns:
        raise ValueError(
            f"a template uses column {column!r}; the data have {', '.join(columns)}. Correct the "
            "template, or name more columns (columns=...)."
        )
    return field


def _parse_line(line: str, source: str, number: int) -> Template:
    transition = line.startswith(TRANSITION)
    rest = line.removeprefix(TRANSITION).strip()
    fields = []
    for word in rest.split():
        field = read_word(parse_field, word, EXPECTED, source, number)
        fields.append(field)
    try:
        return Template(tuple(fields), transition=transition)
    except ValueError as error:
        raise DataError(source, number, str(error)) from None


WORD_TEMPLATES = """
W[0]
W[0].lower
W[-1].lower
W[1].lower
W[-2].lower
W[2].lower
W[-1].lower W[0].lower
W[0].lower W[1].lower
W[-1].lower W[1].lower
W[0].lower.prefix1
W[0].lower.prefix2
W[0].lower.prefix3
W[0].lower.prefix4
W[0].lower.prefix5
W[0].lower.end1
W[0].lower.end2
W[0].lower.end3
W[0].lower.end4
W[0].lower.end5
W[-1].lower.end2
W[1].lower.end2
W[-1].lower.end3
W[1].lower.end3
W[0].shape
W[-1].shape
W[1].shape
W[0].pattern
W[-1].shape W[0].shape
W[0].shape W[1].shape
W[-1].shape W[0].shape W[1].shape
W[0].digit
W[0].hyphen
W[0].capital
W[0].punctuation
W[-1].capital W[0].capital
W[0].capital W[1].capital
W[0].lower.end3 W[1].lower
W[-1].lower W[0].lower.end3
W[0].capital W[0].lower.end3
"""
"""Of words; W stands for the first column."""

OTHER_TEMPLATES = """
C[0]
C[-1]
C[1]
C[-2]
C[2]
C[-1] C[0]
C[0] C[1]
C[-2] C[-1]
C[1] C[2]
C[-1] C[0] C[1]
C[-2] C[-1] C[0]
C[0] C[1] C[2]
C[0] W[0].lower
C[-1] C[1]
"""
"""Of every other column, C."""

ADDED_TEMPLATES = {
    CLASS: """
C[0]
C[0].cut4
C[0].cut6
""",
    LEXICON: """
C[0]
""",
}
"""Of columns that follow from the words, C, by name."""

PART_TEMPLATES = """
C[-1].part
C[0].part
C[1].part
"""
"""Of every other column whose values hold several, for each view of them."""
