"""A column made of others: the word that marks the place of each word in its sentence.

Where content words are heads, as in Universal Dependencies, what tells attachments apart is not at
the modifier (`house`) but a little before it (`in` the old house).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from partita.data.conllu import EMPTY
from partita.text.columns import Column
from partita.text.words import Words

MARKER = "MARKER"
"""The name of the column."""
MARKING = frozenset({"ADP", "SCONJ", "CCONJ", "CONJ"})
"""Tags of words that mark a place; CONJ is what version 1 of Universal Dependencies calls CCONJ."""
BARRIERS = frozenset({"VERB", "PUNCT"})
REACH = 6


def with_sources(columns: set[str]) -> set[str]:
    """Some columns, and those that a column of markers needs where it is one of them."""
    return columns | {"FORM", "UPOS"} if MARKER in columns else columns


def with_markers(words: Words) -> Words:
    """Words with a column of markers, if they have the columns UPOS and FORM or LEMMA.

    A marker is the last adposition, conjunction, infinitive particle, relative or interrogative
    word within `REACH` words before a word, with no verb or punctuation between; "" if there is
    none. It is looked for in all columns that are there: a model must read the same ones always.

    >>> from partita.text.words import read_words
    >>> words = read_words([[("in", "ADP"), ("old", "ADJ"), ("houses", "NOUN")]], ("FORM", "UPOS"))
    >>> list(with_markers(words).columns["MARKER"])
    ['', 'in', 'in']
    """
    columns = words.columns
    if "UPOS" not in columns or not ("FORM" in columns or "LEMMA" in columns):
        return words
    return replace(words, columns={**columns, MARKER: Column.of(_markers(words))})


def _markers(words: Words) -> Iterator[str]:
    columns = words.columns
    tags = columns["UPOS"]
    forms = columns["FORM" if "FORM" in columns else "LEMMA"]
    lemmas = columns.get("LEMMA", forms)
    feats: Iterable[str] = columns["FEATS"] if "FEATS" in columns else [""] * len(tags)
    rows = zip(tags, forms, lemmas, feats, strict=True)
    for n_words in words.n_words.tolist():
        last, marker = -REACH - 1, ""
        for place in range(n_words):
            tag, form, lemma, feat = next(rows)
            yield marker if place - last <= REACH else ""
            if tag in MARKING or (tag == "PART" and "Neg" not in feat) or _asks(feat):
                last, marker = place, (form if lemma == EMPTY else lemma).lower()
            elif tag in BARRIERS:
                last = -REACH - 1


def _asks(feat: str) -> bool:
    return "PronType=Rel" in feat or "PronType=Int" in feat
