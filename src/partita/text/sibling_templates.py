"""Templates of siblings in a tree: fields of a head, a modifier, and the one next to it inwards.

    head.UPOS inner.UPOS modifier.UPOS
    inner.LEMMA modifier.LEMMA

`inner` is the next modifier towards the head on the same side. A modifier that is the nearest one
has none, which is a value like others. Every template is combined with the side on which they
stand, and a second time with the distance of the two modifiers (of the modifier and the head where
there is no other); neither is written down.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from partita.text.fields import RoleField, RoleTemplate, parse_role_field
from partita.text.stand_ins import with_stand_ins
from partita.text.template_files import MEMORY, read_word, template_lines

ROLES = ("head", "inner", "modifier")
EXPECTED = f"{', '.join(ROLES[:-1])} or {ROLES[-1]}, a dot and a field, as in inner.UPOS"


@dataclass(frozen=True)
class SiblingTemplate(RoleTemplate):
    """Fields of head, inner sibling and modifier that make a feature together."""


def parse_sibling_templates(text: str, source: str = MEMORY) -> tuple[SiblingTemplate, ...]:
    """Templates from their text.

    >>> [template] = parse_sibling_templates("head.UPOS inner.UPOS modifier.FORM.lower")
    >>> template.at("inner")[0].text
    'inner.UPOS'
    """
    return tuple(
        SiblingTemplate(
            tuple(read_word(_parsed, word, EXPECTED, source, number) for word in line.split())
        )
        for number, line in template_lines(text, source)
    )


def _parsed(word: str) -> RoleField | None:
    found = parse_role_field(word)
    if found is None or found.role not in ROLES or found.value is not None:
        return None
    return None if found.field.is_multiple else found


def default_sibling_templates(columns: Sequence[str]) -> tuple[SiblingTemplate, ...]:
    """The templates of siblings for sentences that have some of the CoNLL-U columns.

    Others stand in for columns that are not there, see `stand_ins`.
    """
    found = (with_stand_ins(each.fields, columns) for each in parse_sibling_templates(DEFAULT))
    return tuple(dict.fromkeys(SiblingTemplate(fields) for fields in found if fields is not None))


DEFAULT = """
# all three
head.UPOS inner.UPOS modifier.UPOS
head.XPOS inner.XPOS modifier.XPOS
head.LEMMA inner.UPOS modifier.UPOS
head.UPOS inner.LEMMA modifier.UPOS
head.UPOS inner.UPOS modifier.LEMMA
head.UPOS inner.UPOS inner.MARKER modifier.UPOS modifier.MARKER
# the two siblings
inner.UPOS modifier.UPOS
inner.XPOS modifier.XPOS
inner.LEMMA modifier.LEMMA
inner.LEMMA modifier.UPOS
inner.UPOS modifier.LEMMA
inner.UPOS inner.MARKER modifier.UPOS modifier.MARKER
"""
"""What is used if nobody says otherwise; lines whose columns are missing are left out."""
