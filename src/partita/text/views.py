"""What a feature sees of a word: its lower case, its affixes, its shape; a small language of names.

A view turns a value of a column into another text, or into None where there is nothing to see (the
suffix of a word that is too short). Views are chained by dots: `lower.suffix3`.

A value may hold several with bars between them, such as `Case=Nom|Number=Sing` or `dog|false|NN`.
`part2` sees the second of them; `each` sees all of them, and makes an attribute of each.
"""

import re
from collections.abc import Callable
from itertools import groupby

View = Callable[[str], str | None]
Parts = Callable[[str], list[str]]

PLAIN: dict[str, View] = {}
SIZED: dict[str, Callable[[str, int], str | None]] = {}


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
BAR = "|"
"""Between the parts of a value that holds several."""
EACH = "each"
"""The view that sees several things at once: the last of a chain."""
NOTHING = ("", "_")
"""Values without parts; CoNLL-U has `_`."""
LONG_RUN = re.compile(r"(.)\1{4,}", re.DOTALL)


def lower(text: str) -> str:
    """The text in lower case."""
    return text.lower()


def shape(text: str) -> str:
    """X for a capital, x for a small letter, d for a digit, runs shortened; the rest as it is.

    >>> shape("McDonald's"), shape("1990-95")
    ("XxXx'x", 'd-d')
    """
    return "".join(kind for kind, _ in groupby(text.translate(KINDS)))


def pattern(text: str) -> str:
    """`shape` with runs of up to four kept, so that USA and I differ.

    >>> pattern("USA"), pattern("Washington")
    ('XXX', 'Xxxxx')
    """
    return LONG_RUN.sub(lambda run: run[0][:4], text.translate(KINDS))


def digit(text: str) -> str | None:
    """Whether digits are all of it, or some."""
    if not any(map(str.isdigit, text)):
        return None
    return "all" if text.isdigit() else "some"


def hyphen(text: str) -> str | None:
    """Whether there is a hyphen in it."""
    return "yes" if "-" in text else None


def capital(text: str) -> str | None:
    """Where its capitals are: at the start, everywhere, or inside."""
    if text == text.lower():
        return None
    if text.isupper():
        return "all" if len(text) > 1 else "single"
    return "first" if text[0].isupper() else "inside"


def punctuation(text: str) -> str | None:
    """Whether it has no letter and no digit."""
    return None if any(map(str.isalnum, text)) else "yes"


def prefix(text: str, size: int) -> str | None:
    """The first characters of a longer text."""
    return text[:size] if len(text) > size else None


def suffix(text: str, size: int) -> str | None:
    """The last characters of a longer text."""
    return text[-size:] if len(text) > size else None


def part(text: str, number: int) -> str | None:
    """One of the parts of a text with bars between them, counted from 1.

    >>> part("dog|false|NN", 3), part("dog|false|NN", 4)
    ('NN', None)
    """
    parts = text.split(BAR)
    return parts[number - 1] if number <= len(parts) else None


PLAIN.update(
    capital=capital,
    digit=digit,
    hyphen=hyphen,
    lower=lower,
    pattern=pattern,
    punctuation=punctuation,
    shape=shape,
)
SIZED.update(part=part, prefix=prefix, suffix=suffix)


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
        view = find_view(name)
        return lambda text: [] if (seen := view(text)) is None else [seen]
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
    ValueError: there is no view 'upper'; there are capital, digit, ...
    """
    functions = [_single(part) for part in name.split(".")] if name else []
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


def _single(name: str) -> View:
    if name in PLAIN:
        return PLAIN[name]
    sized = re.fullmatch(r"([a-z]+)([1-9]\d*)", name)
    if sized and sized[1] in SIZED:
        function, size = SIZED[sized[1]], int(sized[2])
        return lambda text: function(text, size)
    raise ValueError(
        f"there is no view {name!r}; there are {', '.join(PLAIN)}, and with a length "
        f"{', '.join(f'{known}1' for known in SIZED)} and so on; each comes last. Chain them by "
        "dots."
    )
