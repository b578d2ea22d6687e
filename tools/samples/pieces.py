"""What the sample grammar builds: English words in a tree, and German tokens linked to them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

T = TypeVar("T")


@dataclass(eq=False)
class Word:
    """An English word: its CoNLL-U columns, its head, and the chunk that it belongs to.

    Words of one chunk share the object `group`; `written`, if given, is the text of the multiword
    token that this word begins with the next one ("doesn't").
    """

    form: str
    lemma: str
    tag: str
    penn: str
    features: str = "_"
    head: "Word | None" = None
    relation: str = "root"
    chunk: str = ""
    group: object = None
    written: str = ""


@dataclass(eq=False)
class Token:
    """A German token, and the English words that it translates, surely or possibly."""

    form: str
    sure: tuple[Word, ...] = ()
    possible: tuple[Word, ...] = ()


@dataclass
class Phrase:
    """What a rule yields: one head, and the words of both sides in their own orders."""

    head: Word
    english: list[Word]
    german: list[Token]
    person: str = "3sg"
    is_pronoun: bool = False
    gender: str = "n"
    kinds: frozenset[str] = frozenset()


@dataclass
class Draws:
    """Random choices from `random()` alone, which every version of Python computes alike."""

    seed: int
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def chance(self, probability: float) -> bool:
        """True with the probability."""
        return self._random.random() < probability

    def weighted(self, choices: Sequence[tuple[T, float]]) -> T:
        """One of the choices, each with a weight."""
        left = self._random.random() * sum(weight for _, weight in choices)
        for choice, weight in choices[:-1]:
            left -= weight
            if left < 0:
                return choice
        return choices[-1][0]

    def ranked(self, choices: Sequence[T]) -> T:
        """One of the choices, by Zipf's law: rank r, from 1, with a weight of 1 / (r + 1)."""
        return self.weighted([(choice, 1 / (rank + 2)) for rank, choice in enumerate(choices)])

    def number(self, first: int, last: int) -> int:
        """A whole number from first to last, both included."""
        return first + int(self._random.random() * (last - first + 1))


def attach(modifier: Word, head: Word, relation: str) -> Word:
    """The modifier, with its head and relation."""
    modifier.head, modifier.relation = head, relation
    return modifier


def chunked(kind: str, words: Sequence[Word]) -> None:
    """Make one chunk of the words."""
    group = object()
    for word in words:
        word.chunk, word.group = kind, group


def copied(german: str, *sure: Word, possible: tuple[Word, ...] = ()) -> Token:
    """A German token for the English words."""
    return Token(german, sure, possible)


def punctuation(form: str, head: Word) -> Word:
    """A punctuation mark below a head."""
    return Word(form, form, "PUNCT", form, head=head, relation="punct")
