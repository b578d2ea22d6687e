"""The words of the sample grammar: the tables in `lexicon/`, and English inflection."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from partita.data.errors import DataError

LEXICON = Path(__file__).parent / "lexicon"
VOWELS = "aeiou"


@dataclass(frozen=True)
class Noun:
    """A noun of both languages; `compound` is an English noun before it (apple tree)."""

    english: str
    plural: str
    article: str
    german: str
    oblique: str
    german_plural: str
    kinds: frozenset[str]
    compound: str = ""

    @property
    def gender(self) -> str:
        """The German gender: m, f or n."""
        return {"der": "m", "die": "f", "das": "n"}[self.article]


@dataclass(frozen=True)
class Verb:
    """A verb of both languages, with an English particle and a German prefix where it has them."""

    english: str
    past: str
    participle: str
    progressive: str
    particle: str
    prefix: str
    infinitive: str
    third: str
    german_participle: str
    auxiliary: str
    frame: tuple[str, ...]

    @property
    def third_person(self) -> str:
        """He walks, he tries, he watches."""
        return plural_of(self.english)

    @property
    def is_reflexive(self) -> bool:
        """German says `sich` with it."""
        return self.prefix == "sich"


@dataclass(frozen=True)
class Adjective:
    """An adjective of both languages; `stem` is what stands before a German ending."""

    english: str
    german: str
    stem: str
    kinds: frozenset[str]


@dataclass(frozen=True)
class Name:
    """The name of a person (gender m or f) or of a place."""

    english: str
    german: str
    kind: str


@dataclass(frozen=True)
class Adverb:
    """An adverb of both languages."""

    english: str
    german: str
    kind: str


def plural_of(word: str) -> str:
    """The regular plural of a noun, which is also the third person of a verb.

    >>> [plural_of(word) for word in ("dog", "city", "boy", "church", "go")]
    ['dogs', 'cities', 'boys', 'churches', 'goes']
    """
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "sh", "ch", "x", "o")) else "s")


def _lines(table: str) -> Iterator[list[list[str]]]:
    text = (LEXICON / table).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            fields = [field.split() for field in line.split("|")]
            if not all(fields):
                raise DataError(table, number, f"found {line!r}; expected fields between |.")
            yield fields


@cache
def nouns() -> tuple[Noun, ...]:
    """All nouns, frequent ones first.

    >>> noun = nouns()[0]
    >>> noun.english, noun.plural, noun.german, noun.gender
    ('man', 'men', 'Mann', 'm')
    """
    found = []
    for english, (article, singular, plural), kinds in _lines("nouns.txt"):
        compound, _, base = english[0].rpartition("+")
        nominative, _, oblique = singular.partition("/")
        found.append(
            Noun(
                base,
                english[1] if len(english) > 1 else plural_of(base),
                article,
                nominative,
                oblique or nominative,
                plural,
                frozenset(kinds)
                | ({"inside"} if {"place", "top"} & set(kinds) == {"place"} else set()),
                compound,
            )
        )
    return tuple(found)


@cache
def verbs() -> tuple[Verb, ...]:
    """All verbs, frequent ones first.

    >>> verb = next(verb for verb in verbs() if verb.particle)
    >>> verb.english, verb.particle, verb.prefix, verb.german_participle
    ('pick', 'up', 'auf', 'aufgehoben')
    """
    found = []
    for english, (infinitive, third, participle, auxiliary), frame in _lines("verbs.txt"):
        base, _, particle = english[0].partition("+")
        prefix, _, stem = infinitive.rpartition("=")
        past = english[1] if len(english) > 1 else base + "ed"
        separable = prefix if prefix != "sich" else ""
        found.append(
            Verb(
                base,
                past,
                english[2] if len(english) > 2 else past,
                english[3] if len(english) > 3 else base + "ing",
                particle,
                prefix,
                stem,
                third,
                separable + participle,
                auxiliary,
                tuple(frame),
            )
        )
    return tuple(found)


@cache
def adjectives() -> tuple[Adjective, ...]:
    """All adjectives, frequent ones first."""
    found = []
    for [english], [german], kinds in _lines("adjectives.txt"):
        form, _, stem = german.partition("/")
        found.append(Adjective(english, form, stem or form, frozenset(kinds)))
    return tuple(found)


@cache
def names() -> tuple[Name, ...]:
    """All names, frequent ones first."""
    return tuple(Name(name[0], name[-1], kind) for name, [kind] in _lines("names.txt"))


@cache
def adverbs() -> tuple[Adverb, ...]:
    """All adverbs, frequent ones first."""
    return tuple(Adverb(*(field[0] for field in line)) for line in _lines("adverbs.txt"))


def starts_with_vowel(word: str) -> bool:
    """Whether `an` stands before it.

    >>> starts_with_vowel("apple"), starts_with_vowel("book")
    (True, False)
    """
    return re.match("[aeiou]", word) is not None
