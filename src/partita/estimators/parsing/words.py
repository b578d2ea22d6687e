"""Sentences as columns of numbers: each distinct value once, and a number for every word."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from partita.arrays import Array, IntArray
from partita.data.conllu import EMPTY
from partita.data.sentences import Sentence
from partita.text.vocabulary import hashes

NAMES = ("FORM", "LEMMA", "UPOS", "XPOS", "FEATS")
TUPLES = ("FORM", "UPOS", "XPOS", "LEMMA", "FEATS")
"""What the columns of words that come as tuples are."""
RARE, ROOT, EDGE = "\0rare", "\0root", "\0edge"
"""Values that no text has: of words seen too seldom, of the root, and beyond the sentence."""


@dataclass(frozen=True)
class Column:
    """The values of one column."""

    values: tuple[str, ...]
    """The distinct ones."""
    numbers: IntArray
    """(n_words,): which of them each word of all sentences has."""


@dataclass(frozen=True)
class Words:
    """All sentences end to end."""

    n_words: IntArray
    """Of each sentence."""
    columns: dict[str, Column]

    @property
    def first_nodes(self) -> IntArray:
        """(n_sentences + 1,): the node of each sentence's root, where its words follow."""
        starts = np.zeros(len(self.n_words) + 1, dtype=np.int64)
        np.cumsum(self.n_words + 1, out=starts[1:])
        return starts


def read_words(sentences: Sequence[Any], columns: Sequence[str] | None = None) -> Words:
    """The columns of sentences; those that all of them have if `columns` is left out.

    >>> words = read_words([[("dogs", "NOUN"), ("bark", "VERB")]])
    >>> words.columns["UPOS"].values, words.n_words
    (('NOUN', 'VERB'), array([2]))
    """
    n_words = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    if n_words.size and n_words.min() == 0:
        empty = int(np.argmin(n_words))
        raise ValueError(f"{where(sentences[empty], empty)} has no words; leave it out.")
    given = [_columns(sentence, index) for index, sentence in enumerate(sentences)]
    if columns is None:
        columns = [name for name in NAMES if all(name in each for each in given)]
    for index, each in enumerate(given):
        missing = [name for name in columns if name not in each]
        if missing:
            raise ValueError(
                f"{where(sentences[index], index)} has no column {missing[0]}; expected "
                f"{', '.join(columns)}, which the features of this parser look at."
            )
    found = {name: _column([each[name] for each in given]) for name in columns}
    if "UPOS" in found and ("LEMMA" in found or "FORM" in found):
        # Of the same columns in training and after it, whatever else sentences have.
        found["MARKER"] = _column(
            [_markers({name: each[name] for name in found}) for each in given]
        )
    return Words(n_words, found)


def where(sentence: Any, index: int) -> str:
    """How to name a sentence in a message."""
    return sentence.where() if isinstance(sentence, Sentence) else f"sentence {index}"


def _columns(sentence: Any, index: int) -> dict[str, Any]:
    if isinstance(sentence, Sentence):
        return dict(sentence.columns)
    if isinstance(sentence, str):
        raise ValueError(
            f"sentence {index} is the text {sentence[:40]!r}; expected a list of words, such as "
            "its split()."
        )
    if all(isinstance(word, str) for word in sentence):
        return {"FORM": tuple(sentence)}
    sizes = {len(word) if isinstance(word, tuple | list) else 0 for word in sentence}
    if len(sizes) != 1 or not 1 <= min(sizes) <= len(TUPLES):
        raise ValueError(
            f"sentence {index} has words of {sorted(sizes)} values; expected plain words, or "
            f"tuples of the same length: {', '.join(TUPLES)}, as many of these as there are."
        )
    columns = dict(zip(TUPLES, zip(*sentence, strict=True), strict=False))
    for name, values in columns.items():
        for value in values:
            if not isinstance(value, str):
                raise ValueError(
                    f"sentence {index} has a word whose {name} is {value!r}; expected text, and "
                    "'_' where there is none."
                )
    return columns


MARKING = frozenset({"ADP", "SCONJ", "CCONJ"})
BARRIERS = frozenset({"VERB", "PUNCT"})
REACH = 6


def _markers(columns: dict[str, Any]) -> list[str]:
    """The word that marks each word's place in the sentence: the last adposition, conjunction,
    infinitive particle, relative or interrogative word within `REACH` words before it, with no verb
    or punctuation between; "" if there is none.

    Where content words are heads, as in Universal Dependencies, what tells attachments apart is not
    at the modifier (`house`) but a little before it (`in` the old house).
    """
    tags = columns["UPOS"]
    forms = columns.get("FORM") or columns["LEMMA"]
    lemmas = columns.get("LEMMA") or forms
    feats = columns.get("FEATS") or ("",) * len(tags)
    found = []
    last, marker = -REACH - 1, ""
    words = zip(tags, forms, lemmas, feats, strict=True)
    for place, (tag, form, lemma, feat) in enumerate(words):
        found.append(marker if place - last <= REACH else "")
        if tag in MARKING or (tag == "PART" and "Neg" not in feat) or _asks(feat):
            last, marker = place, (form if lemma == EMPTY else lemma).lower()
        elif tag in BARRIERS:
            last = -REACH - 1
    return found


def _asks(feat: str) -> bool:
    return "PronType=Rel" in feat or "PronType=Int" in feat


class _Numbers(dict[str, int]):
    """A number for every value, in the order in which they came."""

    def __missing__(self, value: str) -> int:
        self[value] = number = len(self)
        return number


def _column(values: Sequence[Sequence[str]]) -> Column:
    table = _Numbers()
    n_words = sum(map(len, values))
    numbers = np.fromiter(
        map(table.__getitem__, chain.from_iterable(values)), dtype=np.int64, count=n_words
    )
    return Column(tuple(table), numbers)


KNOWN = {"form": "FORM", "lower": "FORM", "lemma": "LEMMA"}
"""Views whose rare values are all the same, and the columns that they look at."""


@dataclass(frozen=True)
class Lexicon:
    """What was seen often enough in training to be told apart; it cannot grow."""

    known: dict[str, frozenset[str]]
    """The values of the views `form`, `lower` and `lemma`; others are rare words."""
    kinds: tuple[str, ...]
    """The tags that sets of words between can have, at most 63; others share the last bit."""

    @classmethod
    def learn(cls, words: Words, min_count: int, kind_column: str) -> "Lexicon":
        """From the words of the training sentences."""
        known = {}
        for view, column in KNOWN.items():
            if column not in words.columns:
                continue
            values, numbers = words.columns[column].values, words.columns[column].numbers
            counts: Counter[str] = Counter()
            for value, count in zip(values, np.bincount(numbers).tolist(), strict=True):
                counts[value.lower() if view == "lower" else value] += count
            known[view] = frozenset(value for value, n in counts.items() if n >= min_count)
        kinds: tuple[str, ...] = ()
        if kind_column in words.columns:
            column_ = words.columns[kind_column]
            counts_ = np.bincount(column_.numbers).tolist()
            pairs = sorted(zip(column_.values, counts_, strict=True), key=lambda p: (-p[1], p[0]))
            kinds = tuple(value for value, _ in pairs[:63])
        return cls(known, kinds)

    def shown(self, view: str, value: str) -> str:
        """What a value of a column looks like in a view.

        >>> Lexicon({"lower": frozenset({"dog"})}, ()).shown("lower", "Dog")
        'dog'
        """
        if view == "lower":
            value = value.lower()
        if view in KNOWN:
            return value if value in self.known[view] else RARE
        if view.startswith("prefix"):
            return value.lower()[: int(view[6:])]
        if view.startswith("suffix"):
            return value.lower()[-int(view[6:]) :]
        if view == "shape":
            return _shape(value)
        if view.startswith("feats:"):
            return dict_of(value).get(view[6:], "")
        return value

    def names(self, words: Words, view: str, column: str) -> list[str]:
        """What each distinct value of a column looks like in a view."""
        return [self.shown(view, value) for value in words.columns[column].values]

    def hashed(self, words: Words, view: str, column: str) -> Array:
        """64 bits for each distinct value of a column in a view."""
        return hashes(self.names(words, view, column))


def dict_of(value: str) -> dict[str, str]:
    """Morphological features by name."""
    if value == EMPTY:
        return {}
    return {name: text for name, _, text in (item.partition("=") for item in value.split("|"))}


def members(value: str) -> list[str]:
    """Every morphological feature of a value of FEATS."""
    return [] if value == EMPTY else value.split("|")


def _shape(value: str) -> str:
    kinds = [
        "X" if c.isupper() else "x" if c.islower() else "9" if c.isdigit() else c for c in value
    ]
    return "".join(
        kind for place, kind in enumerate(kinds) if place < 2 or kind != kinds[place - 1]
    )[:8]
