"""Conditions on words, `field=value`: what constraints and rules are about.

The fields are those of templates: `FORM.suffix3=ing`, `UPOS[-1]=DET`, `FEATS.each=Case=Nom`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.text.attributes import Attributes
from partita.text.extraction import TemplateFeatures
from partita.text.fields import Field, Template, parse_field
from partita.text.words import Words


@dataclass(frozen=True)
class Condition:
    """A field and the value that it should have; of one that sees several things, one of them.

    >>> Condition(Field("FORM", 0, "suffix3"), "ing").text
    'FORM.suffix3=ing'
    """

    field: Field
    value: str

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.field.short}={self.value}"


def parse_condition(text: str) -> Condition | None:
    """From its text; None if it does not look like one, an error if there is no such view.

    >>> parse_condition("FEATS.each=Case=Nom")
    Condition(field=Field(column='FEATS', offset=0, view='each'), value='Case=Nom')
    """
    name, sign, value = text.partition("=")
    field = parse_field(name)
    return Condition(field, value) if sign and field is not None else None


def holding(conditions: Sequence[Condition], words: Words) -> Attributes:
    """For each word the numbers of the conditions that hold of it; no two may be the same.

    >>> from partita.text.words import read_words
    >>> words = read_words([["walking", "the", "dog"]])
    >>> conditions = [parse_condition("FORM.suffix3=ing"), parse_condition("FORM[-1]=the")]
    >>> holding(conditions, words).ids, holding(conditions, words).offsets
    (array([0, 1], dtype=int32), array([0, 1, 1, 2]))
    """
    if len(set(conditions)) != len(conditions):
        twice = next(each for each in conditions if conditions.count(each) > 1)
        raise ValueError(f"the condition {twice.text} came twice; expected each of them once.")
    fields = dict.fromkeys(condition.field for condition in conditions)
    templates = [Template((field,)) for field in fields]
    features, encoded = TemplateFeatures.build(templates, words)
    numbers = {f"{each.field.text}={each.value}": n for n, each in enumerate(conditions)}
    names = map(features.name, range(features.n_attributes))
    new_ids = np.array([numbers.get(name, -1) for name in names], dtype=np.int64)
    return encoded.words.renumbered(new_ids)
