"""A column made of others: the word that marks the place of each word in its sentence.

Where content words are heads, as in Universal Dependencies, what tells attachments apart is not at
the modifier (`house`) but a little before it (`in` the old house).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from partita.arrays import BoolArray, IntArray
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
    return replace(words, columns={**columns, MARKER: _markers(words)})


def _markers(words: Words) -> Column:
    is_mark, is_barrier = _kinds(words)
    places = np.arange(len(is_mark))
    # The last mark or barrier up to each word, and so that before the next one.
    last = np.maximum.accumulate(np.where(is_mark | is_barrier, places, -1))
    last = np.concatenate([np.full(1, -1), last])[:-1]
    first = np.repeat(np.cumsum(words.n_words) - words.n_words, words.n_words)
    has_one = (last >= first) & (places - last <= REACH) & is_mark[last]
    codes, names = _names(words, last[has_one])
    texts = dict.fromkeys(["", *names])
    numbers = {text: number for number, text in enumerate(texts)}
    found = np.zeros(len(places), dtype=np.int64)
    found[has_one] = np.array([numbers[name] for name in names], dtype=np.int64)[codes]
    return Column(tuple(texts), found)


def _kinds(words: Words) -> tuple[BoolArray, BoolArray]:
    """Which words mark a place, and which others end what a mark reaches; by different values."""
    columns = words.columns
    tags = columns["UPOS"]
    is_mark = _holds(tags, MARKING.__contains__)
    is_particle, is_barrier = _holds(tags, "PART".__eq__), _holds(tags, BARRIERS.__contains__)
    if "FEATS" in columns:
        feats = columns["FEATS"]
        is_particle &= ~_holds(feats, lambda feat: "Neg" in feat)
        is_mark |= _holds(feats, _asks)
    is_mark |= is_particle
    return is_mark, is_barrier & ~is_mark


def _holds(column: Column, condition: Callable[[str], bool]) -> BoolArray:
    """What holds of the value of each word."""
    of_values = np.array([condition(value) for value in column.values], dtype=np.bool_)
    return of_values[column.numbers]


def _names(words: Words, marks: IntArray) -> tuple[IntArray, list[str]]:
    """For each of some words a number, and what words with these numbers are called."""
    columns = words.columns
    forms = columns["FORM" if "FORM" in columns else "LEMMA"]
    lemmas = columns.get("LEMMA", forms)
    is_empty = _holds(lemmas, EMPTY.__eq__)[marks]
    own = np.where(is_empty, len(lemmas.values) + forms.numbers[marks], lemmas.numbers[marks])
    different, codes = np.unique(own, return_inverse=True)
    values = (*lemmas.values, *forms.values)
    return codes, [values[number].lower() for number in different.tolist()]


def _asks(feat: str) -> bool:
    return "PronType=Rel" in feat or "PronType=Int" in feat
