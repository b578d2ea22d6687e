"""Lines of a text: blocks of them between blank ones, those that are wrong, texts that recur."""

import re
from collections.abc import Iterable, Iterator, Sequence

AT_ONCE = 2**20
"""Letters of a text that are split at a time."""

_BLANK = re.compile(r"^[ \t]+$", re.MULTILINE)


class SharedText(dict[str, str]):
    """Texts in which what is equal is one object.

    Data repeat few texts many times: a third of the memory, and looking them up is faster.

    >>> first, again = SharedText().of(["".join("no"), "".join("no")])
    >>> first is again
    True
    """

    def __missing__(self, text: str) -> str:
        self[text] = text
        return text

    def of(self, texts: Iterable[str]) -> list[str]:
        """The same texts, as they are shared."""
        return list(map(self.__getitem__, texts))


def blocks(text: str, first: int = 1, blanks: str = "") -> Iterator[tuple[int, list[str], str]]:
    r"""Runs of lines that a blank line ends, each with the number of its first line, and the end.

    `first` is the number of the text's first line; lines of nothing but letters of `blanks` are
    blank, too.

    Surplus blank lines open the next block, as they are; those at the end of the text are a
    block of their own, so that nothing is lost.

    >>> list(blocks("a\nb\n\n\nc\n"))
    [(1, ['a', 'b'], ''), (4, ['', 'c'], '')]
    >>> list(blocks("a\n\t\nb", blanks=" \t"))
    [(1, ['a'], '\t'), (3, ['b'], '')]
    """
    if not any(_begins_line(text, blank) for blank in blanks):
        yield from _empty_line_blocks(text, first)
        return
    block: list[str] = []
    has_content = False
    end = len(text) - text.endswith("\n")
    for number, line in enumerate(_split(text, "\n", end), start=first):
        is_content = bool(line.strip(blanks))
        if is_content or not has_content:
            block.append(line)
            has_content = has_content or is_content
        else:
            yield first, block, line
            first, block, has_content = number + 1, [], False
    if block:
        yield first, block, ""


def _begins_line(text: str, letter: str) -> bool:
    return text.startswith(letter) or f"\n{letter}" in text


def _empty_line_blocks(text: str, first: int) -> Iterator[tuple[int, list[str], str]]:
    """Blocks where only empty lines are blank: a split at these, which is the fastest way."""
    waiting = ""
    for piece in _split(text, "\n\n", len(text)):
        block = waiting + piece
        if not block.strip("\n"):
            waiting = block + "\n\n"
            continue
        if block.endswith("\n"):  # the end of the text
            block = block[:-1]
        lines = block.split("\n")
        yield first, lines, ""
        first, waiting = first + len(lines) + 1, ""
    # What waited is no end of a block, but for the last line's own.
    rest = waiting.removesuffix("\n\n")
    if rest:
        yield first, rest.removesuffix("\n").split("\n"), ""


def _split(text: str, separator: str, end: int) -> Iterator[str]:
    """A text as far as its end, split a piece at a time: all of it at once is twice the text."""
    start = 0
    while (found := text.find(separator, start + AT_ONCE, end)) >= 0:
        piece = text[start:found]
        # Of a run of line ends, separators are counted from its beginning.
        found -= (len(piece) - len(piece.rstrip("\n"))) % len(separator)
        yield from text[start:found].split(separator)
        start = found + len(separator)
    yield from text[start:end].split(separator)


def broken_line(lines: Sequence[str], separator: str, n_separators: int) -> int | None:
    r"""The first of some lines that has more separators than it should, or a line end; or None.

    None of them has fewer.

    >>> broken_line(["a\tb", "a\tb\tc"], "\t", 1)
    1
    """
    text = "\n".join(lines)
    if text.count(separator) == len(lines) * n_separators and text.count("\n") == len(lines) - 1:
        return None
    return next(
        index
        for index, line in enumerate(lines)
        if line.count(separator) != n_separators or "\n" in line
    )


def without_blanks(text: str) -> str:
    r"""Lines of nothing but blanks and tabs made empty.

    >>> without_blanks("a\n \t\nb")
    'a\n\nb'
    """
    return _BLANK.sub("", text) if _BLANK.search(text) else text
