"""Templates of the labels of arcs: fields of head, modifier and their relatives in a tree.

    head.UPOS modifier.LEMMA child.LEMMA distance

Roles: the `modifier` (whose label it is) and its `head`; the head's head, `grandparent`; the
nearest other modifiers of the head, `left` and `right`, and its `first` and `last`; every `child`
of the modifier, and every `sibling`, each a feature of its own. `distance` is that of head and
modifier.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from partita.text.fields import RoleField, parse_role_field
from partita.text.stand_ins import with_stand_ins
from partita.text.template_files import MEMORY, read_word, template_lines

ROLES = ("modifier", "head", "grandparent", "left", "right", "first", "last", "child", "sibling")
SETS = {"child": "modifier", "sibling": "head"}
"""Roles that many words may have, and whose modifiers these words are."""
DISTANCE = "distance"
EXPECTED = f"one of the roles {', '.join(ROLES)}, a dot and a field, or {DISTANCE}"


@dataclass(frozen=True)
class LabelTemplate:
    """Fields that make a feature of a label together, and whether the arc's distance does, too."""

    fields: tuple[RoleField, ...]
    has_distance: bool = False

    @property
    def text(self) -> str:
        """As it is written."""
        return " ".join([*(field.text for field in self.fields), *[DISTANCE] * self.has_distance])

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it looks at."""
        return frozenset(field.column for field in self.fields)


def parse_label_templates(text: str, source: str = MEMORY) -> tuple[LabelTemplate, ...]:
    """Templates from their text.

    >>> [template] = parse_label_templates("head.UPOS modifier.FORM[-1].lower distance")
    >>> template.text
    'head.UPOS modifier.FORM[-1].lower distance'
    """
    templates = []
    for number, line in template_lines(text, source):
        words = line.split()
        fields = [
            read_word(_parsed, word, EXPECTED, source, number) for word in words if word != DISTANCE
        ]
        templates.append(LabelTemplate(tuple(fields), DISTANCE in words))
    return tuple(templates)


def _parsed(word: str) -> RoleField | None:
    found = parse_role_field(word)
    return None if found is None or found.role not in ROLES or found.value is not None else found


def default_label_templates(columns: Sequence[str]) -> tuple[LabelTemplate, ...]:
    """The templates of labels for sentences that have some of the CoNLL-U columns.

    Others stand in for columns that are not there, see `stand_ins`.
    """
    found: dict[LabelTemplate, None] = {}
    for template in parse_label_templates(DEFAULT):
        fields = with_stand_ins(template.fields, columns)
        if fields is not None:
            found[LabelTemplate(fields, template.has_distance)] = None
    return tuple(found)


MODIFIER = """
modifier.FORM
modifier.LEMMA
modifier.LEMMA modifier.XPOS
modifier.UPOS
modifier.XPOS
modifier.FEATS
modifier.FORM.lower.suffix3
modifier.XPOS modifier.XPOS[-1] modifier.XPOS[1]
modifier.UPOS modifier.FORM[-1].lower
modifier.UPOS modifier.FORM[1].lower
modifier.LEMMA modifier.UPOS[-1]
modifier.LEMMA modifier.UPOS[1]
"""
"""What the word itself tells of its label."""
ENDS = """
head.UPOS
head.LEMMA
head.LEMMA head.UPOS modifier.UPOS
head.LEMMA modifier.LEMMA
head.LEMMA modifier.XPOS
head.XPOS modifier.LEMMA
head.UPOS modifier.UPOS
"""
"""What it tells together with its head."""
DEFAULT = f"""{MODIFIER}{ENDS}
head.UPOS modifier.UPOS distance
head.XPOS modifier.XPOS
head.XPOS modifier.XPOS distance
head.XPOS modifier.XPOS modifier.XPOS[-1]
head.XPOS modifier.XPOS modifier.XPOS[1]
head.FEATS modifier.FEATS modifier.UPOS
head.UPOS modifier.UPOS grandparent.UPOS
head.UPOS modifier.UPOS grandparent.LEMMA
head.LEMMA modifier.UPOS left.UPOS
head.UPOS modifier.UPOS left.UPOS
head.UPOS modifier.UPOS right.UPOS
head.UPOS modifier.UPOS left.UPOS right.UPOS
head.UPOS modifier.UPOS left.LEMMA
head.UPOS modifier.UPOS right.LEMMA
head.UPOS modifier.UPOS first.LEMMA
head.UPOS modifier.UPOS first.UPOS last.UPOS
head.UPOS modifier.LEMMA first.LEMMA
head.LEMMA modifier.UPOS first.LEMMA
head.UPOS modifier.UPOS child.LEMMA
head.UPOS modifier.UPOS child.UPOS
head.LEMMA modifier.UPOS child.LEMMA
modifier.UPOS child.XPOS
modifier.LEMMA child.LEMMA
head.UPOS modifier.UPOS sibling.UPOS
head.UPOS modifier.UPOS sibling.LEMMA
head.LEMMA modifier.UPOS sibling.UPOS
"""
