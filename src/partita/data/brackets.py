"""Bracketed trees, as the Penn Treebank and its followers write them: reader and writer.

    (S (NP (DT the) (NN dog)) (VP (VBZ barks)))

A phrase is a label and its children; a word stands in a constituent of its own, whose label is
its tag. A tree may go over several lines, and an outer pair of brackets without a label is dropped.
"""

import re
from collections.abc import Iterable
from os import PathLike
from typing import Any

from partita.data.errors import DataError, shown
from partita.data.text import read_text, source_name, write_text
from partita.files import StrPath
from partita.structures.phrase_trees import PhraseTree

MOST_DEEP = 400
"""Brackets within brackets; a sentence of a treebank has some 30."""
_TOKEN = re.compile(r"[()]|[^\s()]+")


def read_brackets(path: StrPath) -> list[PhraseTree]:
    """The trees of a file; `-` is standard input, and a name that ends in .gz is decompressed.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trees.mrg"
    >>> _ = path.write_text("(NP (DT the) (NN dog))")
    >>> read_brackets(path)[0].words
    ('the', 'dog')
    """
    return parse_brackets(read_text(path), source_name(path))


def parse_brackets(text: str, source: str = "<text>") -> list[PhraseTree]:
    """The trees of a text; errors name `source` and the line.

    >>> [tree.label for tree in parse_brackets("( (S (NN a)) ) (NP (NN b))")]
    ['S', 'NP']
    """
    trees: list[PhraseTree] = []
    open_brackets: list[_Open] = []
    for number, line in enumerate(text.splitlines(), 1):
        for token in _TOKEN.findall(line):
            if token == "(":
                open_brackets.append(_Open(number))
                if len(open_brackets) > MOST_DEEP:
                    raise DataError(
                        source,
                        number,
                        f"found more than {MOST_DEEP} brackets within each other; expected a tree "
                        f"of a sentence. The tree begins in line {open_brackets[0].line}: check "
                        "that it ends.",
                    )
            elif token != ")":
                _add_text(open_brackets, token, source, number)
            elif not open_brackets:
                raise DataError(
                    source,
                    number,
                    "found a closing bracket that no opening one belongs to; expected trees such "
                    "as (S (NP (NN dogs)) (VP (VBP bark))). Remove it.",
                )
            else:
                closed = _closed(open_brackets.pop(), not open_brackets, source, number)
                (open_brackets[-1].children if open_brackets else trees).append(closed)
    if open_brackets:
        raise DataError(
            source,
            open_brackets[0].line,
            f"a tree begins here and does not end: {len(open_brackets)} closing brackets are "
            "missing at the end of the file. Add them.",
        )
    return trees


class _Open:
    """A constituent whose closing bracket has not come yet."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.label: str | None = None
        self.word: str | None = None
        self.children: list[PhraseTree] = []


def _add_text(open_brackets: list[_Open], token: str, source: str, line: int) -> None:
    if not open_brackets:
        raise DataError(
            source,
            line,
            f"found {shown(token)} outside of all brackets; expected a tree, which begins with an "
            "opening one.",
        )
    last = open_brackets[-1]
    if last.label is None and not last.children:
        last.label = token
    elif last.word is None and not last.children and last.label is not None:
        last.word = token
    else:
        raise DataError(
            source,
            line,
            f"found {shown(token)} where a constituent has its parts already; expected an opening "
            "or a closing bracket. A word stands in brackets of its own, with its tag: (NN dog).",
        )


def _closed(last: _Open, is_outermost: bool, source: str, line: int) -> PhraseTree:
    if last.word is not None and last.children:
        raise DataError(
            source,
            line,
            f"the constituent {shown(last.label or '')} has the word {shown(last.word)} beside "
            "others; expected a word in brackets of its own, with its tag: (NN dog).",
        )
    if last.label is None and len(last.children) == 1 and is_outermost:
        return last.children[0]
    if last.label is None or (last.word is None and not last.children):
        raise DataError(
            source,
            line,
            f"the constituent {shown(last.label or '()')} that began in line {last.line} is empty "
            "or has no label; expected a label and a word or further constituents.",
        )
    return PhraseTree(last.label, tuple(last.children), last.word)


def write_brackets(path: StrPath, trees: Iterable[PhraseTree]) -> None:
    """Write a file in one step, a tree a line; `-` is standard output, and `.gz` is compressed.

    >>> write_brackets("-", parse_brackets("( (NP (DT the) (NN dog)) )"))
    (NP (DT the) (NN dog))
    """
    # Up to 0.2.0 the trees came first, unlike in all other writers: such programs go on working.
    given: tuple[Any, Any] = (path, trees)
    file, written = given[::-1] if isinstance(trees, str | PathLike) else given
    write_text(file, "".join(f"{tree}\n" for tree in written))
