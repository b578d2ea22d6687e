"""From training sentences to features of words: templates, names or matrices, as they came."""

from collections.abc import Mapping, Sequence
from typing import Any

from partita.arrays import Array
from partita.text.extraction import TemplateFeatures
from partita.text.fields import Template
from partita.text.named_features import NamedFeatures
from partita.text.real_features import RealFeatures
from partita.text.templates import Description, default_templates, read_templates, resolved
from partita.text.word_columns import WordColumn, with_columns
from partita.text.word_features import GIVEN, Encoded, WordFeatures
from partita.text.words import Words

KINDS: dict[str, type[WordFeatures]] = {
    kind.form: kind for kind in (TemplateFeatures, NamedFeatures, RealFeatures)
}
MANY_WORDS = 50_000
"""From here on the default templates leave out what occurs once."""


def learn_features(
    words: Words,
    templates: Description | None = None,
    min_count: int | None = None,
    added: Sequence[WordColumn] = (),
) -> tuple[WordFeatures, Encoded]:
    """The features that words bring, or those that templates make of them; and the words' own.

    `templates` are good ones if left out, and `min_count` is 1, or what is good for those. `added`
    are more columns, which follow from the words.
    """
    words = with_columns(words, added)
    if words.form != "columns" and templates is not None:
        raise ValueError(
            f"templates (features=...) came with {GIVEN[words.form]}; expected one of the two. "
            "Give plain words, or leave the templates out."
        )
    if words.form == "names":
        return NamedFeatures.build(words, min_count or 1)
    if words.form == "matrix":
        return RealFeatures.build(words, min_count or 1)
    if templates is None:
        good = default_templates(words.columns)
        least = min_count or good_counts(good, int(words.n_words.sum()))
        return TemplateFeatures.build(good, words, least, added)
    read = resolved(read_templates(templates), tuple(words.columns))
    return TemplateFeatures.build(read, words, min_count or 1, added)


def good_counts(templates: Sequence[Template], n_words: int) -> list[int]:
    """How often attributes of each default template must occur in a corpus of so many words.

    What two fields saw together once says little that they do not say alone, and is half of all
    attributes of a small corpus: without them taggers are better, in half the memory.
    """
    return [2 if n_words >= MANY_WORDS or len(t.fields) > 1 else 1 for t in templates]


def stored_features(features: WordFeatures) -> tuple[dict[str, Any], dict[str, Array]]:
    """What a model file keeps of features: a header and arrays."""
    return {"form": features.form, **features.header()}, features.arrays()


def restored_features(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> WordFeatures:
    """From what a model file kept."""
    return KINDS[header["form"]].restored(header, arrays)
