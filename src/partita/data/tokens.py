"""Words of running text: a few rules, of our own, that know punctuation.

A chunk between blanks loses the punctuation at its ends, each sign (or run of one sign) a word of
its own; what belongs to a word stays: the period of `Mr.` and of initials, decimal points, the
apostrophe of `don't`, addresses. Text that is tokenised already stays as it is, but for words
whose own spelling ends in such a sign.
"""

import re

_SHORT = """
mr mrs ms dr prof st jr sr vs etc cf al inc ltd co corp no vol fig eq ed eds pp approx dept capt
jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun
bzw usw ca nr str dt z.b d.h u.a a.m p.m e.g i.e u.s u.k ph.d
"""
ABBREVIATIONS = frozenset(_SHORT.split())
"""In lower case, without the last period."""

_OPENING = "\"'`“”„‘’‚«»‹›([{<$£€¥¿¡…–—*"
_CLOSING = ".,;:!?\"'`“”‘’«»‹›)]}>%…–—*"
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}
_ADDRESS = re.compile(r"(?:https?://|www\.|ftp://)\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+")
_CLITIC = re.compile(r"['’][^\W\d_]{1,2}", re.IGNORECASE)
_BRACKET_NAME = re.compile(r"-[A-Z]{3}-")
# Dashes, and signs that only forgotten blanks put between letters.
_INSIDE = re.compile(r"(--+|—|…|\.{2,}|(?<=[^\W\d_])[,;!?](?=[^\W\d_]))")


def tokenise(line: str) -> list[str]:
    """The words of a line of running text.

    >>> tokenise('"Mr. Smith paid $3.50," she said (twice).')
    ['"', 'Mr.', 'Smith', 'paid', '$', '3.50', ',', '"', 'she', 'said', '(', 'twice', ')', '.']
    >>> tokenise("Don't look at https://example.org/a,b, look here...")
    ["Don't", 'look', 'at', 'https://example.org/a,b', ',', 'look', 'here', '...']
    """
    return [word for chunk in split_at_blanks(line) for word in _words(chunk)]


def split_at_blanks(line: str) -> list[str]:
    """The words of a line that is tokenised already.

    >>> split_at_blanks("don't,  stop .")
    ["don't,", 'stop', '.']
    """
    # Not line.split(), which would split words at a no-break space.
    return [word for word in line.replace("\t", " ").split(" ") if word]


def _words(chunk: str) -> list[str]:
    """The words of a chunk without blanks."""
    if not any(map(str.isalnum, chunk)) or _CLITIC.fullmatch(chunk):
        # A smiley, a dash, a row of dots; or the 's of text that is tokenised already.
        return [chunk]
    if _BRACKET_NAME.fullmatch(chunk):
        return [chunk]
    start = 0
    while chunk[start] in _OPENING:
        start += 1
    before, core = _runs(chunk[:start]), chunk[start:]
    after: list[str] = []
    while core[-1] in _CLOSING and not _belongs(core):
        run = re.search(f"{re.escape(core[-1])}+$", core)
        assert run is not None
        after.insert(0, run[0])
        core = core[: run.start()]
    if _ADDRESS.fullmatch(core):
        return [*before, core, *after]
    return [*before, *filter(None, _INSIDE.split(core)), *after]


def _belongs(core: str) -> bool:
    """Whether the last sign is part of the word: of an abbreviation, or closing its own bracket."""
    last, rest = core[-1], core[:-1]
    if last == ".":
        is_known = rest.lower() in ABBREVIATIONS or _INITIALS.fullmatch(core) is not None
        return is_known and not rest.endswith(".")
    return last in _PAIRS and _PAIRS[last] in rest


def _runs(signs: str) -> list[str]:
    return [run[0] for run in re.finditer(r"(.)\1*", signs)]
