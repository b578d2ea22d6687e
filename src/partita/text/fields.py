"""The two objects that feature templates are made of."""

from dataclasses import dataclass

from partita.text.views import is_multiple


@dataclass(frozen=True)
class Field:
    """What is seen in a column at a neighbour: `FORM[-1].lower`.

    >>> Field("FORM", -1, "lower").text
    'FORM[-1].lower'
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
        return f"{self.column}[{self.offset}]" + (f".{self.view}" if self.view else "")


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
        several = [field.text for field in self.fields if is_multiple(field.view)]
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
