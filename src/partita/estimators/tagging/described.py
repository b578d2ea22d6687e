"""Estimators whose words are described by templates: what taggers and segmenters have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from partita.arrays import FloatArray
from partita.estimators.options import Declared, at_least, declared, option
from partita.text.extraction import TemplateFeatures
from partita.text.templates import Description, read_template_file


def read_names(text: str) -> list[str]:
    """Names with commas between them."""
    return [name for name in text.split(",") if name]


@declared
class DescribedWords(Declared):
    """Which features of words there are."""

    weights_: FloatArray = field(init=False)

    features: Description | None = option(
        None,
        "templates of words: objects, their text, or a path to a file with it (ours or CRF++'s); "
        "good defaults if left out. Not used for words that bring features",
        read=read_template_file,
        metavar="FILE",
        is_kept=False,
    )
    min_count: int | None = option(
        None,
        "attributes of words that occur less often are left out; if left out itself it is 1, or 2 "
        "for the default features of 50,000 words or more, which makes a model of a third of the "
        "size that is as good",
        at_least(1),
    )
    columns: Sequence[str] | None = option(
        None,
        "of `Sentence` objects: the columns to learn from; in CoNLL-U the words, elsewhere all but "
        "the tags if left out",
        read=read_names,
        metavar="NAME,...",
    )

    def _weights(self) -> FloatArray:
        return self.weights_

    def _take_templates(self, header: Mapping[str, Any], features: Any) -> None:
        """Templates of the user's own come back as the option; a file keeps them as features."""
        if header["own_features"] and isinstance(features, TemplateFeatures):
            self.features = features.templates
