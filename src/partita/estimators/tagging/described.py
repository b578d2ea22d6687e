"""Estimators whose words are described by templates: what taggers and segmenters have in common."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from partita.arrays import FloatArray
from partita.data.word_classes import read_word_classes
from partita.estimators.options import Declared, at_least, declared, option
from partita.estimators.tagging.word_classes import WordClasses
from partita.text.extraction import TemplateFeatures
from partita.text.templates import Description, read_template_file
from partita.text.word_columns import CLASS, TagLexicon, WordColumn, count_tags, with_columns
from partita.text.words import Words


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
        "attributes of words that occur less often are left out; if left out itself it is 1, but 2 "
        "for default features of several words, and for all default features of 50,000 words or "
        "more: models of half and a third of the size that are better and as good",
        at_least(1),
    )
    columns: Sequence[str] | None = option(
        None,
        "of `Sentence` objects: the columns to learn from; in CoNLL-U the words, elsewhere all but "
        "the tags if left out",
        read=read_names,
        metavar="NAME,...",
    )

    classes: WordClasses | Mapping[str, str] | None = option(
        None,
        "classes of words, by word in lower case, which templates see as the column CLASS: those "
        "of `WordClasses`, or a dictionary; a file of them has a class, a tab and a word a line, "
        "as `partita train classes` and programs for Brown clusters write",
        read=read_word_classes,
        metavar="FILE",
        is_kept=False,
    )
    lexicon: bool = option(
        False,
        "templates see the tags that a word had in training, as the column LEXICON; a training "
        "sentence sees those of other sentences. This gained 0.4 points with 1,000 sentences "
        "of English and 0.3 with 2,000 of Basque, and lost 0.1 on Ancient Greek, whose development "
        "part is another book",
    )

    def class_columns(self, source: str) -> list[WordColumn]:
        """The column of classes, if there are such, of the words in another column."""
        if self.classes is None:
            return []
        given = self.classes.classes_ if isinstance(self.classes, WordClasses) else self.classes
        return [WordColumn(CLASS, source, given)]

    def added_columns(
        self, words: Words, tags: Iterable[Sequence[str | None]]
    ) -> tuple[Words, list[WordColumn]]:
        """The columns that these options add, and training sentences with what they are to see.

        `tags` are those of each sentence, None for one that is not known.
        """
        if words.form != "columns":
            for name in ("classes", "lexicon"):
                if getattr(self, name):
                    raise ValueError(
                        f"{name} came with words that bring features, whose text is not known; "
                        "expected words as text or columns."
                    )
            return words, []
        source = next(iter(words.columns))
        added = self.class_columns(source)
        words = with_columns(words, added)
        if self.lexicon and (counts := count_tags(words, source, tags)):
            lexicon = TagLexicon(source, counts)
            added.append(lexicon.column)
            words = lexicon.seen_in_training(words)
        return words, added

    def _weights(self) -> FloatArray:
        return self.weights_

    def _take_templates(self, header: Mapping[str, Any], features: Any) -> None:
        """Templates of the user's own come back as the option; a file keeps them as features."""
        if header["own_features"] and isinstance(features, TemplateFeatures):
            self.features = features.templates
