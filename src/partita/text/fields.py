"""Fields: what is seen in a column at a neighbour; all templates, constraints and rules name them.

`FORM[-1].lower.suffix3` is the column FORM of the word before, in lower case, its last three
letters; `[0]`, the word itself, may be left out. See `partita.text.views` for what can follow.
"""

import re
from dataclasses import dataclass

from partita.text.views import find_parts, is_multiple

FIELD = re.compile(r"(?P<column>[^\s\[\]]+)\[(?P<offset>[+-]?\d+)\](?:\.(?P<view>\S+))?")
SHORT = re.compile(r"(?P<column>[^\s\[\].%]+)(?:\.(?P<view>\S+))?")
"""Without an offset; the name of the column has no dots then."""


@dataclass(frozen=True)
class Field:
    """What is seen in a column at a neighbour: `FORM[-1].lower`.

    >>> Field("FORM", -1, "lower").text, Field("FORM").short
    ('FORM[-1].lower', 'FORM')
    """

    column: str | int
    """A column's name, or its number among the columns of the data."""
    offset: int = 0
    """0 for the word itself, -1 for the word before."""
    view: str = ""
    """See `partita.text.views`; the value itself if empty."""

    @property
    def text(self) -> str:
        """As it is written in a file of templates."""
        return f"{self.column}[{self.offset}]{self._dotted_view}"

    @property
    def short(self) -> str:
        """The text without an offset of 0."""
        return self.text if self.offset else f"{self.column}{self._dotted_view}"

    @property
    def is_multiple(self) -> bool:
        """Whether it may see several things at once."""
        return is_multiple(self.view)

    @property
    def _dotted_view(self) -> str:
        return f".{self.view}" if self.view else ""


def parse_field(text: str) -> Field | None:
    """A field from its text; None if it does not look like one, an error if there is no such view.

    >>> parse_field("FORM[-1].lower"), parse_field("UPOS")
    (Field(column='FORM', offset=-1, view='lower'), Field(column='UPOS', offset=0, view=''))
    """
    found = FIELD.fullmatch(text) or SHORT.fullmatch(text)
    if found is None:
        return None
    view = found["view"] or ""
    find_parts(view)
    return Field(found["column"], int(found.groupdict().get("offset") or 0), view)


@dataclass(frozen=True)
class Template:
    """Fields that together form one attribute of a word, or of the step to it from the word before.

    Where a field has nothing to see there is no attribute; where one sees several things there is
    an attribute for each. A template without fields always holds.

    >>> Template((Field("FORM", -1), Field("FORM"))).text
    'FORM[-1] FORM[0]'
    """

    fields: tuple[Field, ...]
    transition: bool = False
    name: str = ""
    """How its attributes are shown; its text if empty."""

    def __post_init__(self) -> None:
        several = [field.text for field in self.fields if field.is_multiple]
        if len(several) > 1:
            raise ValueError(
                f"a template has {' and '.join(several)}, which see several things each; expected "
                "one such field at most. Write a template for each of them."
            )

    @property
    def text(self) -> str:
        """As it is written in a file of templates."""
        fields = " ".join(field.text for field in self.fields)
        return f"transition: {fields}".strip() if self.transition else fields

    @property
    def label(self) -> str:
        """What the names of its attributes begin with."""
        return self.name or self.text


@dataclass(frozen=True)
class RoleField:
    """A field of a word with a role in a tree: `head.UPOS`, `modifier.UPOS[-1]`.

    With a value, as in `between.UPOS=PUNCT`, words are counted that have it.

    >>> RoleField("head", Field("UPOS", 1)).text, RoleField("between", Field("UPOS"), "VERB").text
    ('head.UPOS[1]', 'between.UPOS=VERB')
    """

    role: str
    field: Field
    value: str | None = None

    @property
    def column(self) -> str:
        """The name of the column."""
        return str(self.field.column)

    @property
    def text(self) -> str:
        """As it is written."""
        value = "" if self.value is None else f"={self.value}"
        return f"{self.role}.{self.field.short}{value}"


@dataclass(frozen=True)
class RoleTemplate:
    """Fields of the words of a tree that make a feature together; subclasses say of which words.

    >>> head = RoleField("head", Field("UPOS"))
    >>> template = RoleTemplate((head, RoleField("modifier", Field("FORM", -1))))
    >>> template.text, template.at("head") == (head,), sorted(template.columns)
    ('head.UPOS modifier.FORM[-1]', True, ['FORM', 'UPOS'])
    """

    fields: tuple[RoleField, ...]

    @property
    def text(self) -> str:
        """As it is written."""
        return " ".join(field.text for field in self.fields)

    def at(self, role: str) -> tuple[RoleField, ...]:
        """The fields of the word with a role."""
        return tuple(field for field in self.fields if field.role == role)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it looks at."""
        return frozenset(field.column for field in self.fields)


def parse_role_field(text: str) -> RoleField | None:
    """From its text; None if it does not look like one, an error if there is no such view.

    >>> parse_role_field("between.FORM.lower=and")
    RoleField(role='between', field=Field(column='FORM', offset=0, view='lower'), value='and')
    """
    role, _, rest = text.partition(".")
    name, sign, value = rest.partition("=")
    field = parse_field(name)
    return None if field is None else RoleField(role, field, value if sign else None)
