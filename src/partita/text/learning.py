"""From training sentences to features of words: templates, names or matrices, as they came."""

from collections.abc import Mapping
from typing import Any

from partita.arrays import Array
from partita.text.extraction import TemplateFeatures
from partita.text.named_features import NamedFeatures
from partita.text.real_features import RealFeatures
from partita.text.templates import Description, default_templates, read_templates, resolved
from partita.text.word_features import GIVEN, Encoded, WordFeatures
from partita.text.words import Words

KINDS: dict[str, type[WordFeatures]] = {
    kind.form: kind for kind in (TemplateFeatures, NamedFeatures, RealFeatures)
}
MANY_WORDS = 50_000
"""From here on the default templates leave out what occurs once."""


def learn_features(
    words: Words, templates: Description | None = None, min_count: int | None = None
) -> tuple[WordFeatures, Encoded]:
    """The features that words bring, or those that templates make of them; and the words' own.

    `templates` are good ones if left out. `min_count` is 1 if left out; 2 for good ones and many
    words.
    """
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
        usual = 2 if words.n_words.sum() >= MANY_WORDS else 1
        return TemplateFeatures.build(default_templates(words.columns), words, min_count or usual)
    read = resolved(read_templates(templates), tuple(words.columns))
    return TemplateFeatures.build(read, words, min_count or 1)


def stored_features(features: WordFeatures) -> tuple[dict[str, Any], dict[str, Array]]:
    """What a model file keeps of features: a header and arrays."""
    return {"form": features.form, **features.header()}, features.arrays()


def restored_features(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> WordFeatures:
    """From what a model file kept."""
    return KINDS[header["form"]].restored(header, arrays)
