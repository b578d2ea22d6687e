"""Columns that follow from the words: the class of each, or the tags it had in training."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any
from zlib import crc32

import numpy as np

from partita.arrays import IntArray
from partita.kept import kept_texts
from partita.text.columns import Column
from partita.text.views import NOTHING
from partita.text.words import Words

CLASS, LEXICON = "CLASS", "LEXICON"
"""The names of columns of classes, and of tags seen."""
UNKNOWN_WORD = "?"
"""What the lexicon has for a word that training did not see."""
ONCE = "once"
"""Behind the tag of a word that came once, which says less than that of a frequent one."""
N_FOLDS = 10
"""Parts of the training sentences, each of which sees the tags of the others only."""
ENOUGH = 0.05
"""The share of a word's occurrences from which on a tag is listed."""


@dataclass(frozen=True)
class WordColumn:
    """A column whose values a table has for the words of another, in lower case.

    >>> classes = WordColumn("CLASS", "FORM", {"dogs": "0110"})
    >>> list(classes.of(Column.of(["Dogs", "bark"])))
    ['0110', '_']
    """

    name: str
    source: str
    """The column of the words."""
    values: Mapping[str, str]
    unknown: str = NOTHING[1]
    """The value of all other words."""

    def of(self, words: Column) -> Column:
        """The values of some words."""
        known = self.values.get
        found = Column.of(known(word.lower(), self.unknown) for word in words.values)
        return replace(found, numbers=found.numbers[words.numbers])

    def values_of(self, words: Sequence[str]) -> tuple[str, ...]:
        """The different values of some words."""
        return self.of(Column.of(words)).values

    def header(self) -> dict[str, Any]:
        """What a model file keeps."""
        return {
            "name": self.name,
            "source": self.source,
            "words": list(self.values),
            "values": list(self.values.values()),
            "unknown": self.unknown,
        }

    @classmethod
    def restored(cls, header: Mapping[str, Any]) -> "WordColumn":
        """From what a model file kept."""
        words, values = (kept_texts(header[name], name) for name in ("words", "values"))
        name, source, unknown = kept_texts(
            [header[name] for name in ("name", "source", "unknown")], "columns"
        )
        return cls(name, source, dict(zip(words, values, strict=True)), unknown)


def with_columns(words: Words, added: Sequence[WordColumn]) -> Words:
    """Words with more columns; those that are there already stay as they are."""
    new = {
        each.name: each.of(words.columns[each.source])
        for each in added
        if each.name not in words.columns
    }
    return replace(words, columns={**words.columns, **new}) if new else words


TagCounts = Counter[tuple[str, int, str]]
"""How often a word, in lower case, had a tag in a part of the training sentences."""


def count_tags(words: Words, source: str, tags: Iterable[Sequence[str | None]]) -> TagCounts:
    """The tags of words in a column, of each sentence; None is a tag that is not known."""
    column = words.columns[source]
    lower = [value.lower() for value in column.values]
    folds = np.repeat(_folds(column, words.n_words), words.n_words)
    rows = zip(column.numbers.tolist(), folds.tolist(), chain.from_iterable(tags), strict=True)
    return Counter((lower[word], fold, tag) for word, fold, tag in rows if tag is not None)


@dataclass(frozen=True)
class TagLexicon:
    """The tags that words had in training, most frequent first.

    A tag is listed if the word had it in a twentieth of the cases. A sentence of the training part
    must not see its own tags: it sees those of nine tenths of the sentences, it and its like not
    among them.

    >>> counts = Counter({("dog", 0, "NOUN"): 3, ("dog", 1, "VERB"): 1})
    >>> lexicon = TagLexicon("FORM", counts)
    >>> lexicon.column.values, lexicon.without["dog", 0]
    ({'dog': 'NOUN VERB'}, 'VERB once')
    """

    source: str
    """The column of the words."""
    counts: TagCounts

    @cached_property
    def column(self) -> WordColumn:
        """What new sentences see."""
        totals = {word: _listed(found) for word, found in self._totals.items()}
        return WordColumn(LEXICON, self.source, totals, UNKNOWN_WORD)

    @cached_property
    def without(self) -> dict[tuple[str, int], str]:
        """By word and part what the sentences of the part see, where they have the word."""
        parts: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
        for (word, fold, tag), count in self.counts.items():
            parts[word, fold][tag] += count
        return {key: _listed(self._totals[key[0]] - found) for key, found in parts.items()}

    @cached_property
    def values(self) -> tuple[str, ...]:
        """All that sentences may see, in training or later."""
        known = {*self.without.values(), *self.column.values.values(), UNKNOWN_WORD}
        return tuple(sorted(known))

    @cached_property
    def _totals(self) -> dict[str, Counter[str]]:
        totals: dict[str, Counter[str]] = defaultdict(Counter)
        for (word, _, tag), count in self.counts.items():
            totals[word][tag] += count
        return totals

    def seen_in_training(self, words: Words) -> Words:
        """Training sentences with the column as they are to see it."""
        column, known, others = words.columns[self.source], self.column.values, self.without
        lower = [value.lower() for value in column.values]
        folds = np.repeat(_folds(column, words.n_words), words.n_words)
        rows = zip(column.numbers.tolist(), folds.tolist(), strict=True)
        numbers = {value: number for number, value in enumerate(self.values)}
        seen = np.fromiter(
            (
                numbers[others.get((lower[word], fold)) or known.get(lower[word], UNKNOWN_WORD)]
                for word, fold in rows
            ),
            dtype=np.int64,
            count=len(column),
        )
        # The same order of values whatever sentences come first, so that models are the same.
        return replace(words, columns={**words.columns, LEXICON: Column(self.values, seen)})


def _folds(column: Column, n_words: IntArray) -> IntArray:
    """The part of each sentence, by its words: sentences that are the same are in the same."""
    ends = np.cumsum(n_words).tolist()
    texts = (
        "\n".join(column[end - n : end]) for end, n in zip(ends, n_words.tolist(), strict=True)
    )
    return np.fromiter((crc32(text.encode()) % N_FOLDS for text in texts), np.int64, len(ends))


def _listed(counts: Mapping[str, int]) -> str:
    """The tags of a word as one text, which says so if the word came only once."""
    total = sum(counts.values())
    order = sorted(counts, key=lambda tag: (-counts[tag], tag))
    listed = [tag for tag in order if counts[tag] >= ENOUGH * total]
    return " ".join([*listed, ONCE] if total == 1 else listed) or UNKNOWN_WORD
