"""Sentences with the columns that parsers look at: those of CoNLL-U, as far as they are there."""

from collections.abc import Iterable, Sequence
from typing import Any

from partita.data.conllu import EMPTY
from partita.data.sentences import Sentence
from partita.text.markers import with_markers
from partita.text.sentences import are_sentences, check_not_empty, has_columns, listed, where
from partita.text.words import CountedWords, Words, common_columns, read_words

NAMES = ("FORM", "LEMMA", "UPOS", "XPOS", "FEATS")
TUPLES = ("FORM", "UPOS", "XPOS", "LEMMA", "FEATS")
"""What the columns of words that come as tuples are."""


def read_tree_words(sentences: Iterable[Any], columns: Sequence[str] | None = None) -> Words:
    """The columns of sentences, those that all of them have if `columns` is left out; and markers.

    Words may be plain text, or tuples of as many of `TUPLES` as there are.

    >>> words = read_tree_words([[("dogs", "NOUN"), ("bark", "VERB")]])
    >>> list(words.columns), words.n_words
    (['FORM', 'UPOS', 'MARKER'], array([2]))
    """
    given = listed(sentences)
    check_not_empty(given)
    if not are_sentences(given) and any(map(has_columns, given)):
        given = [each if has_columns(each) else _with_columns(each) for each in given]
    chosen = common_columns(given, TUPLES, NAMES) if columns is None else tuple(columns)
    for index, sentence in enumerate(given):
        missing = has_columns(sentence) and [n for n in chosen if n not in sentence.columns]
        if missing:
            raise ValueError(
                f"{where(sentence, index)} has no column {missing[0]}; expected "
                f"{', '.join(chosen)}, which the features of this parser look at."
            )
    words = read_words(given, chosen, names=TUPLES)
    if words.form != "columns":
        raise ValueError(
            "words with features came; expected plain words, or tuples of the same length: "
            f"{', '.join(TUPLES)}, as many of these as there are."
        )
    return with_markers(words)


def telling_columns(words: Words | CountedWords) -> tuple[str, ...]:
    """The form, and the columns that tell words apart: not those that are `_` or blank throughout.

    Many treebanks have no tags of their own in XPOS, and default templates that look at it would
    only take time and weights.

    >>> rows = [("dogs", "NOUN", "_"), ("bark", "VERB", "_")]
    >>> telling_columns(read_tree_words([rows]))
    ('FORM', 'UPOS')
    """
    return tuple(
        name
        for name, column in words.columns.items()
        if name == "FORM" or set(column.values) - {EMPTY, ""}
    )


def _with_columns(sentence: Any) -> Sentence:
    """A sentence whose tokens come beside sentences with columns."""
    words = read_words([sentence], names=TUPLES)
    return Sentence({name: tuple(column) for name, column in words.columns.items()})
