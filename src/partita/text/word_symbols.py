"""What a hidden Markov model emits: frequent words, and classes of rare ones."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from partita.arrays import IntArray
from partita.text.views import find_view, kind

MISSING = -1
"""The number of a word that says nothing: None, or one of a class that was never seen."""

LEAST_CLASS = 10
"""A class with a suffix is kept if it has this many rare words; smaller ones join a wider class."""
SUFFIXES = {size: find_view(f"lower.suffix{size}") for size in (3, 2, 1)}
LEAST_STEM = 2
"""Letters before a suffix that tells a class; measured: one is too few, by 0.1 % of the tags."""


class WordSymbols:
    """A number for every word: its own if it was frequent, else that of its class.

    A class is a kind of word (digits, capitals, ...) and a suffix of up to three letters, see
    `word_classes`; a rare word belongs to the narrowest class that was kept. A word of no class,
    like None, is `MISSING`.

    >>> symbols = WordSymbols(words=["the", "dog"], classes=["lower", "lower-ing"])
    >>> symbols.numbers(["dog", "barking", "sleeps", "Paris", None])
    array([ 1,  3,  2, -1, -1])
    """

    def __init__(self, words: Sequence[str], classes: Sequence[str]) -> None:
        self.words = tuple(words)
        self.classes = tuple(classes)
        self._classes = {name: i for i, name in enumerate(self.classes, start=len(self.words))}
        self._numbers: dict[str | None, int] = {word: i for i, word in enumerate(self.words)}
        self._own = frozenset(self.words)

    @classmethod
    def learn(cls, words: Iterable[str | None], min_count: int) -> "WordSymbols":
        """Words that came at least `min_count` times, most frequent first, and classes of others.

        >>> WordSymbols.learn(["a", "b", "a", None, "c"], min_count=2).words
        ('a',)
        """
        return cls.counted(Counter(word for word in words if word is not None), min_count)

    @classmethod
    def counted(cls, counts: Mapping[str, int], min_count: int) -> "WordSymbols":
        """The same, from how often words came."""
        order = sorted(counts, key=lambda word: (-counts[word], word))
        kept = [word for word in order if counts[word] >= min_count]
        rare = {word: counts[word] for word in order[len(kept) :]}
        return cls(kept, _kept_classes(rare))

    def __len__(self) -> int:
        return len(self.words) + len(self.classes)

    def __contains__(self, word: object) -> bool:
        """Whether a word has a number of its own."""
        return word in self._own

    def name(self, number: int) -> str:
        """A word, or a class in angle brackets."""
        if number < len(self.words):
            return self.words[number]
        return f"<{self.classes[number - len(self.words)]}>"

    def numbers(self, words: Sequence[str | None]) -> IntArray:
        """The number of each word."""
        known = self._numbers
        for word in set(words).difference(known):
            known[word] = self._number_of_class(word)
        return np.fromiter(map(known.__getitem__, words), dtype=np.int64, count=len(words))

    def _number_of_class(self, word: str | None) -> int:
        if word is None:
            return MISSING
        found = (self._classes[name] for name in word_classes(word) if name in self._classes)
        return next(found, MISSING)


def word_classes(word: str) -> list[str]:
    """The classes of a word, the narrowest first: its kind with suffixes, and alone.

    >>> word_classes("Walking")
    ['title-ing', 'title-ng', 'title-g', 'title']
    >>> word_classes("1,200"), word_classes("...")
    (['digit'], ['symbol'])
    """
    of_word = kind(word)
    if of_word in ("digit", "symbol"):
        return [of_word]
    suffixes = [see(word) for size, see in SUFFIXES.items() if len(word) >= size + LEAST_STEM]
    return [*(f"{of_word}-{suffix}" for suffix in suffixes), of_word]


def _kept_classes(rare: dict[str, int]) -> list[str]:
    """Classes large enough to be kept, and kinds, as far as a rare word falls into them."""
    sizes: Counter[str] = Counter()
    for word, count in rare.items():
        for name in word_classes(word):
            sizes[name] += count
    large = {name for name, size in sizes.items() if size >= LEAST_CLASS or "-" not in name}
    used = {next(name for name in word_classes(word) if name in large) for word in rare}
    return sorted(used)
