"""How wide text is, roughly: the font is the viewer's, so nobody knows exactly."""

import unicodedata

NARROW, WIDE = set("ijltf.,;:'|!()[]{}I \"`-"), set("mwMWQO@%&+=<>~—…")


def text_width(words: str, size: float = 12.0) -> float:
    """Width in pixels, a little more than most sans-serif fonts need.

    >>> text_width("ill") < text_width("all") < text_width("mmm") < text_width("漢字漢")
    True
    """
    return size * sum(map(_em, words))


def shortened(words: str, width: float, size: float = 12.0) -> str:
    """The text, or as much of it as fits into `width` with an ellipsis.

    >>> shortened("Donaudampfschifffahrtsgesellschaft", 80.0)
    'Donaudam…'
    """
    if text_width(words, size) <= width:
        return words
    room = width - text_width("…", size)
    for index, character in enumerate(words):
        room -= size * _em(character)
        if room < 0:
            return words[:index] + "…"
    return words


def percent(p: float) -> str:
    """A probability in print, short: .83, and 1 or 0 only if it is that to two digits.

    >>> percent(0.834), percent(0.999), percent(0.0)
    ('.83', '1', '0')
    """
    return f"{p:.2f}".removeprefix("0").removesuffix("00").removesuffix(".") or "0"


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in NARROW:
        return 0.36
    if character in WIDE:
        return 0.92
    return 0.72 if character.isupper() else 0.6
