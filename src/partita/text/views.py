"""What a feature sees of a word: its lower case, its affixes, its shape; a small language of names.

A view turns a value of a column into another text, or into nothing (–) where there is nothing to
see. Views are chained by dots: `lower.suffix3`. They mean the same in the templates of taggers and
parsers, in the classes of rare words, in constraints and in rules:

| view | sees | USA | McDonald's | 3-year-old | an | ... |
|---|---|---|---|---|---|---|
| `lower` | the text in lower case | usa | mcdonald's | 3-year-old | an | ... |
| `shape` | X, x and d for kinds of characters, runs as one | X | XxXx'x | d-x-x | x | . |
| `pattern` | as `shape`, with runs of up to four | XXX | XxXxxxx'x | d-xxxx-xxx | xx | ... |
| `kind` | one of six kinds | upper | title | digit | lower | symbol |
| `capital` | where capitals are | all | first | – | – | – |
| `digit` | whether digits are all of it, or some | – | – | some | – | – |
| `hyphen` | whether there is one | – | – | yes | – | – |
| `punctuation` | whether there is no letter and no digit | – | – | – | – | yes |
| `prefix2` | the first two characters of a longer text | US | Mc | 3- | – | .. |
| `suffix2` | the last two characters of a longer text | SA | 's | ld | – | .. |
| `cut2` | the first two characters, or a shorter text | US | Mc | 3- | an | .. |
| `end2` | the last two characters, or a shorter text | SA | 's | ld | an | .. |

Numbers may be any from 1 on. A value may hold several with bars between them:

| view | sees | Case=Nom&#124;Number=Sing | dog&#124;false&#124;NN | _ |
|---|---|---|---|---|
| `part2` | the second of them | Number=Sing | false | – |
| `value:Case` | the value of a name | Nom | – | – |
| `each` | every one, an attribute for each | Case=Nom and Number=Sing | dog and false and NN | – |

A new view is a function here, with `@view`, and a row of the table.
"""

import re
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import groupby, repeat
from typing import Any, Literal, NamedTuple, TypeVar, cast

from partita.arrays import IntArray
from partita.text.columns import Column

View = Callable[[str], str | None]
Parts = Callable[[str], list[str]]
Argument = Literal["none", "size", "name"]

BAR = "|"
"""Between the parts of a value that holds several."""
EACH = "each"
"""The view that sees several things at once: the last of a chain."""
NOTHING = ("", "_")
"""Values without parts; CoNLL-U has `_`."""
LONG_RUN = re.compile(r"(.)\1{4,}", re.DOTALL)
NAMED = re.compile(r"(?P<name>[a-z]+)(?:(?P<size>[1-9]\d*)|:(?P<argument>.+))?")


class Entry(NamedTuple):
    """A view as it was written, and what stands behind its name."""

    function: Callable[..., str | None]
    argument: Argument

    def example(self, name: str) -> str:
        """How the view is written."""
        return name + {"none": "", "size": "3", "name": ":NAME"}[self.argument]


VIEWS: dict[str, Entry] = {}
"""All views by name."""
Seen = TypeVar("Seen", str, str | None)
Written = TypeVar("Written", bound=Callable[..., Any])


def view(argument: Argument = "none") -> Callable[[Written], Written]:
    """Make a function of a text a view, called as it is; `argument` comes second if there is one.

    A "size" stands behind the name as a number, a "name" behind a colon.
    """

    def entered(function: Written) -> Written:
        VIEWS[function.__name__] = Entry(function, argument)
        return function

    return entered


class _Kinds(dict[int, str]):
    """What each character counts as, for `str.translate`; filled as characters come."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character.isupper():
            kind = "X"
        elif character.isalpha():
            kind = "x"
        else:
            kind = "d" if character.isdigit() else character
        self[code] = kind
        return kind


KINDS = _Kinds()


OF_KINDS: dict[str, Callable[[str], str | None]] = {}
"""Views that see the kinds of characters alone, as functions of these kinds."""


def of_kinds(function: Callable[[str], Seen]) -> Callable[[str], Seen]:
    """From a function of the kinds of a text's characters to one of the text."""
    OF_KINDS[function.__name__] = function

    @wraps(function)
    def of_text(text: str) -> Seen:
        return function(text.translate(KINDS))

    return of_text


@view()
def lower(text: str) -> str:
    """The text in lower case."""
    return text.lower()


@view()
@of_kinds
def shape(kinds: str) -> str:
    """X for a capital, x for a small letter, d for a digit, runs shortened; the rest as it is.

    >>> shape("McDonald's"), shape("1990-95")
    ("XxXx'x", 'd-d')
    """
    return "".join(kind for kind, _ in groupby(kinds))


@view()
@of_kinds
def pattern(kinds: str) -> str:
    """`shape` with runs of up to four kept, so that USA and I differ.

    >>> pattern("USA"), pattern("Washington")
    ('XXX', 'Xxxxx')
    """
    return LONG_RUN.sub(lambda run: run[0][:4], kinds)


@view()
def kind(text: str) -> str:
    """The first of these that fits: with a digit, without letters, with a hyphen, and then by case.

    >>> kind("1,200"), kind("$"), kind("co-op"), kind("USA"), kind("I"), kind("iPhone")
    ('digit', 'symbol', 'hyphen', 'upper', 'title', 'lower')
    """
    if any(map(str.isdigit, text)):
        return "digit"
    if not any(map(str.isalpha, text)):
        return "symbol"
    if "-" in text:
        return "hyphen"
    if text.isupper() and len(text) > 1:
        return "upper"
    return "title" if text[0].isupper() else "lower"


@view()
@of_kinds
def digit(kinds: str) -> str | None:
    """Whether digits are all of it, or some."""
    n_digits = kinds.count("d")
    return None if n_digits == 0 else "all" if n_digits == len(kinds) else "some"


@view()
@of_kinds
def hyphen(kinds: str) -> str | None:
    """Whether there is a hyphen in it."""
    return "yes" if "-" in kinds else None


@view()
def capital(text: str) -> str | None:
    """Where its capitals are: at the start, everywhere, or inside."""
    if text == text.lower():
        return None
    if text.isupper():
        return "all" if len(text) > 1 else "single"
    return "first" if text[0].isupper() else "inside"


@view()
def punctuation(text: str) -> str | None:
    """Whether it has no letter and no digit."""
    return None if is_word(text) else "yes"


def is_word(text: str) -> bool:
    """Whether there is a letter or a digit in it."""
    return any(map(str.isalnum, text))


@view("size")
def prefix(text: str, size: int) -> str | None:
    """The first characters of a longer text."""
    return text[:size] if len(text) > size else None


@view("size")
def suffix(text: str, size: int) -> str | None:
    """The last characters of a longer text."""
    return text[-size:] if len(text) > size else None


@view("size")
def cut(text: str, size: int) -> str:
    """The first characters, or all of a shorter text: a rough stemmer."""
    return text[:size]


@view("size")
def end(text: str, size: int) -> str:
    """The last characters, or all of a shorter text."""
    return text[-size:]


@view("size")
def part(text: str, number: int) -> str | None:
    """One of the parts of a text with bars between them, counted from 1.

    >>> part("dog|false|NN", 3), part("dog|false|NN", 4)
    ('NN', None)
    """
    parts = text.split(BAR)
    return parts[number - 1] if number <= len(parts) else None


@view("name")
def value(text: str, name: str) -> str | None:
    """The value of a name, where the parts of a text are `name=value`.

    >>> value("Case=Nom|Number=Sing", "Number"), value("_", "Number")
    ('Sing', None)
    """
    for item in text.split(BAR):
        key, sign, found = item.partition("=")
        if sign and key == name:
            return found
    return None


def is_multiple(name: str) -> bool:
    """Whether a view sees several things in one value.

    >>> is_multiple("lower.each"), is_multiple("lower")
    (True, False)
    """
    return name.rpartition(".")[2] == EACH


def find_parts(name: str) -> Parts:
    """The function that lists what a view sees in a value: nothing, one thing, or several.

    >>> find_parts("lower.each")("Case=Nom|Number=Sing"), find_parts("each")("_")
    (['case=nom', 'number=sing'], [])
    >>> find_parts("suffix3")("Running"), find_parts("suffix3")("an")
    (['ing'], [])
    """
    if not is_multiple(name):
        single = find_view(name)
        return lambda text: [] if (seen := single(text)) is None else [seen]
    before = find_view(name.removesuffix(EACH).removesuffix("."))

    def parts(text: str) -> list[str]:
        seen = before(text)
        return [] if seen is None or seen in NOTHING else list(dict.fromkeys(seen.split(BAR)))

    return parts


def find_view(name: str) -> View:
    """The function of a view, or of several chained by dots; "" is the text itself.

    >>> find_view("lower.suffix3")("Running")
    'ing'
    >>> find_view("upper")
    Traceback (most recent call last):
    ValueError: there is no view 'upper'; there are lower, shape, ...
    """
    functions = [_single(each) for each in name.split(".")] if name else []
    if len(functions) == 1:
        return functions[0]

    def chained(text: str) -> str | None:
        seen: str | None = text
        for function in functions:
            if seen is None:
                return None
            seen = function(seen)
        return seen

    return chained


class ViewedTexts:
    """What views see of some texts; that with which several chains begin is looked at once.

    >>> texts = ViewedTexts(["Running", "An"])
    >>> texts.seen_by("lower.suffix3"), texts.seen_by("lower.end2")
    (['ing', None], ['ng', 'an'])
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._beginnings: dict[str, Sequence[str | None]] = {"": texts}
        self._kinds: dict[str, Column] = {}

    def seen_by(self, name: str) -> Sequence[str | None]:
        """What a view sees of each text, one thing at most; "" is the text itself."""
        if not name:
            return self._beginnings[name]
        before, _, last = name.rpartition(".")
        if before not in self._beginnings:
            self._beginnings[before] = self.seen_by(before)
        texts, (function, arguments) = self._beginnings[before], _named(last)
        if before and None in texts:
            return [None if text is None else function(text, *arguments) for text in texts]
        if last in OF_KINDS:
            numbers, seen = self._seen_of_kinds(before, last)
            return list(map(seen.__getitem__, numbers.tolist()))
        return list(map(function, texts, *map(repeat, arguments)))

    def of_kinds(self, name: str) -> tuple[IntArray, list[str | None]] | None:
        """What a view sees of the kinds of characters: few different things, and which of a text.

        None for a view that sees something else, or of something that not all texts have.
        """
        before, _, last = name.rpartition(".")
        if last not in OF_KINDS:
            return None
        if before not in self._beginnings:
            self._beginnings[before] = self.seen_by(before)
        if before and None in self._beginnings[before]:
            return None
        return self._seen_of_kinds(before, last)

    def _seen_of_kinds(self, before: str, last: str) -> tuple[IntArray, list[str | None]]:
        kinds = self._kinds_of(before)
        return kinds.numbers, list(map(OF_KINDS[last], kinds.values))

    def _kinds_of(self, name: str) -> Column:
        """The kinds of the characters of what a chain sees."""
        if name not in self._kinds:
            texts = cast(Sequence[str], self._beginnings[name])
            # Once for every character that comes, in place of once for each of a text.
            found = "\n".join(texts).translate(KINDS).split("\n")
            if len(found) != len(texts):
                found = [text.translate(KINDS) for text in texts]
            self._kinds[name] = Column.of(found)
        return self._kinds[name]


def _single(name: str) -> View:
    function, arguments = _named(name)
    return (lambda text: function(text, *arguments)) if arguments else function


def _named(name: str) -> tuple[Callable[..., str | None], tuple[int | str, ...]]:
    """The function of a view that is no chain, and what comes behind the text."""
    found = NAMED.fullmatch(name)
    entry = None if found is None else VIEWS.get(found["name"])
    if found is not None and entry is not None:
        function, argument = entry
        given = {"none": None, "size": found["size"], "name": found["argument"]}[argument]
        if argument == "none" and found["name"] == name:
            return function, ()
        if given is not None:
            return function, (int(given) if argument == "size" else given,)
    known = ", ".join(entry.example(each) for each, entry in VIEWS.items())
    raise ValueError(
        f"there is no view {name!r}; there are {known}, and {EACH}, which comes last. Chain them "
        "by dots."
    )
