"""Templates of arc features as data: which views of which words, together, make a feature.

In text, one template a line, made of atoms; # begins a comment:

    head.form modifier.upos
    head.upos head+1.upos modifier-1.upos modifier.upos
    head.upos between.upos modifier.upos
    head.upos modifier.upos between.upos=PUNCT
    head.upos modifier.upos modifier.feat

`head` and `modifier` are the two ends, with an offset for their neighbours. `between.upos` makes a
feature of every tag between them, `between.upos=PUNCT` counts the words with that tag (0 to 3).
Every template is combined with the direction of the arc, and a second time with its distance too;
neither is written down. The views are

    form lower lemma upos xpos      columns as they are, `lower` in lower case
    feats, feats:Case               all morphological features as one value, or one of them
    feat                            a feature for every morphological feature
    prefix2, suffix3, shape         of the form; any number of letters
    marker                          the adposition, conjunction or relative word before a word
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from partita.data.errors import DataError

MEMORY = "<templates>"
ATOM = re.compile(r"(?P<where>[a-z]+)(?P<offset>[+-]\d+)?\.(?P<view>[^\s=]+)(?:=(?P<value>\S+))?")
VIEW = re.compile(
    r"form|lower|lemma|marker|upos|xpos|feats|feat|shape|feats:\S+|(?:prefix|suffix)[1-9]\d?"
)
COLUMNS = {
    "lemma": "LEMMA",
    "upos": "UPOS",
    "xpos": "XPOS",
    "feats": "FEATS",
    "feat": "FEATS",
    "marker": "MARKER",
}
"""The columns of views that are not of the form; MARKER is made of the others."""
MOST_COUNTERS = 8

Description = str | os.PathLike[str] | Sequence["Template"]
"""Templates, their text, or a path to a file with it."""


@dataclass(frozen=True)
class Atom:
    """One view of one word, or of the words between."""

    where: str
    """"head", "modifier" or "between"."""
    offset: int
    view: str
    value: str | None = None
    """What is counted, between head and modifier."""

    @property
    def column(self) -> str:
        """The CoNLL-U column that it is a view of."""
        return COLUMNS.get(self.view.partition(":")[0], "FORM")

    @property
    def is_set(self) -> bool:
        """Whether it has many values at once."""
        return self.view == "feat" or (self.where == "between" and self.value is None)

    @property
    def text(self) -> str:
        """As it is written."""
        offset = f"{self.offset:+d}" if self.offset else ""
        value = "" if self.value is None else f"={self.value}"
        return f"{self.where}{offset}.{self.view}{value}"


@dataclass(frozen=True)
class Template:
    """Atoms that make a feature together."""

    atoms: tuple[Atom, ...]

    @property
    def text(self) -> str:
        """As it is written."""
        return " ".join(atom.text for atom in self.atoms)

    def at(self, where: str) -> tuple[Atom, ...]:
        """The atoms of the head, of the modifier or between."""
        return tuple(atom for atom in self.atoms if atom.where == where)

    @property
    def kind(self) -> str:
        """How it is computed: "set", "count", "pair", "head" or "modifier"."""
        if any(atom.is_set for atom in self.atoms):
            return "set"
        if self.at("between"):
            return "count"
        if self.at("head") and self.at("modifier"):
            return "pair"
        return "head" if self.at("head") else "modifier"


def read_templates(given: Description) -> tuple[Template, ...]:
    r"""Templates from any form in which a user may have them.

    >>> [template.kind for template in read_templates("head.upos\nhead.form modifier.form")]
    ['head', 'pair']
    """
    if isinstance(given, os.PathLike):
        return parse_templates(Path(given).read_text(encoding="utf-8"), os.fspath(given))
    if isinstance(given, str):
        return parse_templates(given)
    for template in given:
        if not isinstance(template, Template):
            raise ValueError(
                f"features holds a {type(template).__name__}; expected Template objects, the text "
                "of templates, or a path (pathlib.Path) to a file with it."
            )
    return tuple(given)


def parse_templates(text: str, source: str = MEMORY) -> tuple[Template, ...]:
    """Templates from their text."""
    templates: dict[Template, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        template = Template(tuple(_atom(word, source, number) for word in words))
        if template in templates:
            raise DataError(
                source,
                number,
                f"{template.text!r} stands in line {templates[template]} already; expected each "
                "template once. Remove one of them.",
            )
        _check(template, source, number)
        templates[template] = number
    if not templates:
        raise DataError(source, None, "there are no templates; expected a line for each.")
    counted = {(atom.view, atom.value) for each in templates for atom in each.at("between")}
    if len([value for _, value in counted if value is not None]) > MOST_COUNTERS:
        raise DataError(
            source,
            None,
            f"{len(counted)} kinds of words between are counted; expected {MOST_COUNTERS} at most.",
        )
    return tuple(templates)


def _atom(text: str, source: str, line: int) -> Atom:
    found = ATOM.fullmatch(text)
    if text in ("direction", "distance"):
        raise DataError(
            source,
            line,
            f"found {text!r}, which every template is combined with anyway. Leave it out.",
        )
    if found is None or found["where"] not in ("head", "modifier", "between"):
        raise DataError(
            source,
            line,
            f"found {text!r}; expected head, modifier or between, an offset if any, a dot and a "
            "view, as in head.form or modifier-1.upos.",
        )
    if not VIEW.fullmatch(found["view"]):
        raise DataError(
            source,
            line,
            f"found the view {found['view']!r} in {text!r}; expected form, lower, lemma, upos, "
            "xpos, feats, feats:NAME, feat, marker, shape, or prefix or suffix with a number of "
            "letters.",
        )
    is_between = found["where"] == "between"
    if is_between and found["offset"]:
        raise DataError(source, line, f"found {text!r}; expected no offset behind between.")
    if is_between and found["value"] is None and found["view"] not in ("upos", "xpos"):
        raise DataError(
            source,
            line,
            f"found {text!r}; expected between.upos or between.xpos, for every tag between, or a "
            "value to count, as in between.lower=and.",
        )
    if not is_between and found["value"] is not None:
        raise DataError(
            source,
            line,
            f"found a value in {text!r}; expected one only to count words between, as in "
            "between.upos=PUNCT.",
        )
    return Atom(found["where"], int(found["offset"] or 0), found["view"], found["value"])


def _check(template: Template, source: str, line: int) -> None:
    if template.kind == "set":
        for where in ("head", "modifier", "between"):
            if sum(atom.is_set for atom in template.at(where)) > 1:
                raise DataError(
                    source, line, f"{template.text!r} has two sets at {where}; expected one."
                )
        if any(atom.value is not None for atom in template.atoms):
            raise DataError(
                source,
                line,
                f"{template.text!r} has a set and a count of words between; expected one of them.",
            )


def columns_of(templates: Sequence[Template]) -> tuple[str, ...]:
    """The CoNLL-U columns that templates look at, in the order of the file."""
    used = {atom.column for template in templates for atom in template.atoms}
    if "MARKER" in used:
        used |= {"FORM", "UPOS"}
    return tuple(name for name in ("FORM", "LEMMA", "UPOS", "XPOS", "FEATS") if name in used)


DEFAULT = """
# one end
head.form
head.lemma head.upos
head.upos
head.xpos
head.lemma head.xpos
head.upos head-1.upos head+1.upos
head.xpos head+1.xpos
modifier.form
modifier.lemma modifier.upos
modifier.upos
modifier.xpos
modifier.lemma modifier.xpos
modifier.upos modifier-1.upos modifier+1.upos
modifier.xpos modifier+1.xpos
modifier.xpos modifier-1.xpos
# both ends
head.form modifier.form
head.lemma modifier.lemma
head.lemma head.upos modifier.lemma modifier.upos
head.lemma head.xpos modifier.xpos
head.lemma modifier.upos
head.xpos modifier.lemma modifier.xpos
head.upos modifier.lemma
head.form modifier.xpos
head.xpos modifier.form
head.upos modifier.upos
head.xpos modifier.xpos
head.xpos head.feats modifier.xpos modifier.feats
head.upos head.feats modifier.upos modifier.feats
head.feats modifier.upos
head.upos modifier.feats
# with the words that mark their place
head.upos modifier.upos modifier.marker
head.lemma modifier.upos modifier.marker
head.upos modifier.lemma modifier.marker
head.upos head.marker modifier.upos modifier.marker
head.upos head.marker modifier.upos
head.xpos modifier.xpos modifier.marker
# with their neighbours
head.upos head+1.upos modifier-1.upos modifier.upos
head.upos head-1.upos modifier-1.upos modifier.upos
head.upos head+1.upos modifier.upos modifier+1.upos
head.upos head-1.upos modifier.upos modifier+1.upos
head.xpos head+1.xpos modifier-1.xpos modifier.xpos
head.xpos head-1.xpos modifier-1.xpos modifier.xpos
head.xpos head+1.xpos modifier.xpos modifier+1.xpos
head.xpos head-1.xpos modifier.xpos modifier+1.xpos
head.upos modifier-1.upos modifier.upos modifier+1.upos
head.upos head-1.upos head+1.upos modifier.upos
head.upos modifier.upos modifier-1.lemma
head.upos modifier.upos modifier+1.lemma
head.upos modifier.upos head+1.lemma
head.upos modifier.upos head-1.lemma
head.upos head+1.upos head+2.upos modifier.upos
head.upos modifier.upos modifier+1.upos modifier+2.upos
head.upos modifier-2.upos modifier-1.upos modifier.upos
head.lemma modifier.upos modifier+1.upos
head.upos modifier.lemma modifier+1.upos
head.upos modifier.lemma modifier-1.upos
head.lemma head+1.upos modifier.upos
head.lemma head-1.upos modifier.upos
# what lies between
head.upos modifier.upos between.upos=PUNCT between.upos=VERB
head.upos modifier.upos between.upos=CCONJ between.upos=PUNCT
head.upos modifier.upos between.upos=NOUN between.upos=ADP
head.lemma modifier.upos between.upos=VERB between.upos=PUNCT
head.upos modifier.lemma between.upos=VERB between.upos=PUNCT
head.lemma modifier.lemma between.upos=VERB
head.upos between.upos modifier.upos
"""
"""What is used if nobody says otherwise; lines whose columns are missing are left out."""


def default_templates(columns: Sequence[str]) -> tuple[Template, ...]:
    """The default templates for sentences with some of the CoNLL-U columns."""
    return tuple(
        template
        for template in parse_templates(DEFAULT)
        if all(atom.column in columns for atom in template.atoms)
    )
