"""Templates of arc features as data: which fields of which words, together, make a feature.

In text, one template a line, made of fields (see `partita.text.fields`) of words with a role; #
begins a comment:

    head.FORM modifier.UPOS
    head.UPOS head.UPOS[1] modifier.UPOS[-1] modifier.UPOS
    head.UPOS between.UPOS modifier.UPOS
    head.UPOS modifier.UPOS between.UPOS=PUNCT
    head.UPOS modifier.FORM.lower.suffix3 modifier.FEATS.each

`head` and `modifier` are the two ends. `between.UPOS` makes a feature of every tag between them
(one such field in all templates; the 63 most frequent values are told apart), `between.UPOS=PUNCT`
counts the words with that tag (0 to 3); CCONJ counts CONJ, too, which it was called in version 1 of
Universal Dependencies. Every template is combined with the direction of the arc,
and a second time with its distance too; neither is written down.

The columns are those of CoNLL-U, and MARKER: the adposition, conjunction or relative word before a
word. Where a field has nothing to see that is a value like others, since every template has a
feature at every arc; only sets (`FEATS.each`, `between.UPOS`) may be empty.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from partita.data.errors import DataError
from partita.data.text import read_text
from partita.text.fields import Field, RoleField, RoleTemplate, parse_role_field
from partita.text.markers import MARKER, with_sources
from partita.text.stand_ins import with_stand_ins
from partita.text.template_files import MEMORY, described, read_word, template_lines

ROLES = ("head", "modifier", "between")
MOST_COUNTERS = 8
OLD_NAMES = {"CCONJ": "CONJ"}
"""Of universal tags, in version 1 of Universal Dependencies."""
EXPECTED = (
    "head, modifier or between, a dot and a field, as in head.FORM, modifier.UPOS[-1] or "
    "head.FORM.lower.suffix3"
)


@dataclass(frozen=True)
class ArcTemplate(RoleTemplate):
    """Fields of head, modifier and the words between that make a feature together."""

    @property
    def kind(self) -> str:
        """How it is computed: "set", "count", "pair", "head" or "modifier"."""
        if any(map(is_set, self.fields)):
            return "set"
        if self.at("between"):
            return "count"
        if self.at("head") and self.at("modifier"):
            return "pair"
        return "head" if self.at("head") else "modifier"


def is_counted(field: Field, value: str, seen: str) -> bool:
    """Whether a word of which a field sees `seen` is one of those to be counted between.

    >>> from partita.text.fields import parse_field
    >>> [is_counted(parse_field("UPOS"), "CCONJ", seen) for seen in ("CCONJ", "CONJ", "SCONJ")]
    [True, True, False]
    """
    return seen == value or (field.column == "UPOS" and OLD_NAMES.get(value) == seen)


ArcDescription = str | os.PathLike[str] | Sequence[ArcTemplate]
"""Templates of arcs, their text, or a path to a file with it."""


def is_set(field: RoleField) -> bool:
    """Whether it has many values at once."""
    return field.field.is_multiple or (field.role == "between" and field.value is None)


def read_arc_templates(given: ArcDescription) -> tuple[ArcTemplate, ...]:
    r"""Templates from any form in which a user may have them.

    >>> [template.kind for template in read_arc_templates("head.UPOS\nhead.FORM modifier.FORM")]
    ['head', 'pair']
    """
    return described(given, parse_arc_templates, ArcTemplate)


def read_arc_template_file(path: str) -> tuple[ArcTemplate, ...]:
    """The templates of a file; its name is for messages."""
    return parse_arc_templates(read_text(path), path)


def parse_arc_templates(text: str, source: str = MEMORY) -> tuple[ArcTemplate, ...]:
    """Templates from their text."""
    templates: dict[ArcTemplate, int] = {}
    for number, line in template_lines(text, source):
        template = ArcTemplate(tuple(_field(word, source, number) for word in line.split()))
        if template in templates:
            raise DataError(
                source,
                number,
                f"{template.text!r} stands in line {templates[template]} already; expected each "
                "template once. Remove one of them.",
            )
        _check(template, source, number)
        templates[template] = number
    counted = {(f.field, f.value) for each in templates for f in each.at("between")}
    if len([value for _, value in counted if value is not None]) > MOST_COUNTERS:
        raise DataError(
            source,
            None,
            f"{len(counted)} kinds of words between are counted; expected {MOST_COUNTERS} at most.",
        )
    return tuple(templates)


def _field(word: str, source: str, line: int) -> RoleField:
    if word in ("direction", "distance"):
        raise DataError(
            source,
            line,
            f"found {word!r}, which every template is combined with anyway. Leave it out.",
        )
    found = read_word(_parsed, word, EXPECTED, source, line)
    is_between = found.role == "between"
    if is_between and found.field.offset:
        raise DataError(source, line, f"found {word!r}; expected no offset of words between.")
    if not is_between and found.value is not None:
        raise DataError(
            source,
            line,
            f"found a value in {word!r}; expected one only to count words between, as in "
            "between.UPOS=PUNCT.",
        )
    return found


def _parsed(word: str) -> RoleField | None:
    found = parse_role_field(word)
    return None if found is None or found.role not in ROLES else found


def _check(template: ArcTemplate, source: str, line: int) -> None:
    if template.kind == "set":
        for role in ROLES:
            if sum(map(is_set, template.at(role))) > 1:
                raise DataError(
                    source, line, f"{template.text!r} has two sets at {role}; expected one."
                )
        if any(field.value is not None for field in template.fields):
            raise DataError(
                source,
                line,
                f"{template.text!r} has a set and a count of words between; expected one of them.",
            )


def set_between(templates: Sequence[ArcTemplate]) -> Field | None:
    """The field of which every value between is a feature; None if no template has one."""
    fields = {f.field for t in templates for f in t.at("between") if is_set(f)}
    if len(fields) > 1:
        names = " and ".join(sorted(f"between.{field.short}" for field in fields))
        raise ValueError(
            f"the templates have {names}; expected one of them. Count some values of the other, as "
            "in between.UPOS=VERB."
        )
    return fields.pop() if fields else None


def columns_of(templates: Sequence[ArcTemplate], names: Sequence[str]) -> tuple[str, ...]:
    """The columns that sentences must have for some templates, in the order of `names`.

    Those that are not among `names` come last.
    """
    used = with_sources(set().union(*(template.columns for template in templates)))
    known = [name for name in names if name in used]
    return (*known, *sorted(used - {*known, MARKER}))


DEFAULT = """
# one end
head.FORM
head.LEMMA head.UPOS
head.UPOS
head.XPOS
head.LEMMA head.XPOS
head.UPOS head.UPOS[-1] head.UPOS[1]
head.XPOS head.XPOS[1]
modifier.FORM
modifier.LEMMA modifier.UPOS
modifier.UPOS
modifier.XPOS
modifier.LEMMA modifier.XPOS
modifier.UPOS modifier.UPOS[-1] modifier.UPOS[1]
modifier.XPOS modifier.XPOS[1]
modifier.XPOS modifier.XPOS[-1]
# both ends
head.FORM modifier.FORM
head.LEMMA modifier.LEMMA
head.LEMMA head.UPOS modifier.LEMMA modifier.UPOS
head.LEMMA head.XPOS modifier.XPOS
head.LEMMA modifier.UPOS
head.XPOS modifier.LEMMA modifier.XPOS
head.UPOS modifier.LEMMA
head.FORM modifier.XPOS
head.XPOS modifier.FORM
head.UPOS modifier.UPOS
head.XPOS modifier.XPOS
head.XPOS head.FEATS modifier.XPOS modifier.FEATS
head.UPOS head.FEATS modifier.UPOS modifier.FEATS
head.FEATS modifier.UPOS
head.UPOS modifier.FEATS
# with the words that mark their place
head.UPOS modifier.UPOS modifier.MARKER
head.LEMMA modifier.UPOS modifier.MARKER
head.UPOS modifier.LEMMA modifier.MARKER
head.UPOS head.MARKER modifier.UPOS modifier.MARKER
head.UPOS head.MARKER modifier.UPOS
head.XPOS modifier.XPOS modifier.MARKER
# with their neighbours
head.UPOS head.UPOS[1] modifier.UPOS[-1] modifier.UPOS
head.UPOS head.UPOS[-1] modifier.UPOS[-1] modifier.UPOS
head.UPOS head.UPOS[1] modifier.UPOS modifier.UPOS[1]
head.UPOS head.UPOS[-1] modifier.UPOS modifier.UPOS[1]
head.XPOS head.XPOS[1] modifier.XPOS[-1] modifier.XPOS
head.XPOS head.XPOS[-1] modifier.XPOS[-1] modifier.XPOS
head.XPOS head.XPOS[1] modifier.XPOS modifier.XPOS[1]
head.XPOS head.XPOS[-1] modifier.XPOS modifier.XPOS[1]
head.UPOS modifier.UPOS[-1] modifier.UPOS modifier.UPOS[1]
head.UPOS head.UPOS[-1] head.UPOS[1] modifier.UPOS
head.UPOS modifier.UPOS modifier.LEMMA[-1]
head.UPOS modifier.UPOS modifier.LEMMA[1]
head.UPOS modifier.UPOS head.LEMMA[1]
head.UPOS modifier.UPOS head.LEMMA[-1]
head.UPOS head.UPOS[1] head.UPOS[2] modifier.UPOS
head.UPOS modifier.UPOS modifier.UPOS[1] modifier.UPOS[2]
head.UPOS modifier.UPOS[-2] modifier.UPOS[-1] modifier.UPOS
head.LEMMA modifier.UPOS modifier.UPOS[1]
head.UPOS modifier.LEMMA modifier.UPOS[1]
head.UPOS modifier.LEMMA modifier.UPOS[-1]
head.LEMMA head.UPOS[1] modifier.UPOS
head.LEMMA head.UPOS[-1] modifier.UPOS
# what lies between
head.UPOS modifier.UPOS between.UPOS=PUNCT between.UPOS=VERB
head.UPOS modifier.UPOS between.UPOS=CCONJ between.UPOS=PUNCT
head.UPOS modifier.UPOS between.UPOS=NOUN between.UPOS=ADP
head.LEMMA modifier.UPOS between.UPOS=VERB between.UPOS=PUNCT
head.UPOS modifier.LEMMA between.UPOS=VERB between.UPOS=PUNCT
head.LEMMA modifier.LEMMA between.UPOS=VERB
head.UPOS between.UPOS modifier.UPOS
"""
"""What is used if nobody says otherwise; lines whose columns are missing are left out."""


def default_arc_templates(columns: Sequence[str]) -> tuple[ArcTemplate, ...]:
    """The default templates for sentences with some of the CoNLL-U columns.

    Others stand in for columns that are not there, see `stand_ins`; templates for which there are
    none are left out.
    """
    found = (with_stand_ins(template.fields, columns) for template in parse_arc_templates(DEFAULT))
    return tuple(dict.fromkeys(ArcTemplate(fields) for fields in found if fields is not None))
