"""Any of the formats, guessed from the text: nobody should have to name what can be seen."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, get_args, overload

from partita.data.columns import DOCUMENT_START, columns_text, parse_columns
from partita.data.conllu import conllu_text, parse_conllu
from partita.data.lines import without_blanks
from partita.data.plain import Tokeniser, parse_plain, plain_text
from partita.data.sentences import Sentence
from partita.data.text import read_text, source_name, write_text
from partita.data.tokens import split_at_blanks
from partita.files import StrPath

Format: TypeAlias = Literal["conllu", "columns", "plain"]
FORMATS: tuple[Format, ...] = get_args(Format)

_COMMENT = re.compile(r"# ?(sent_id|text|newdoc|newpar|global\.columns)\b")
_CONLLU_ROW = re.compile(r"\d+([-.]\d+)?\t")
_TAG = re.compile(r"[A-Z]{1,6}\$?(-\w+)?")
_N_LOOKED_AT = 1000
"""Lines that a guess looks at."""


class ReadingMatter(NamedTuple):
    """A text, or a piece of one, and what is known of it."""

    text: str
    source: str
    first_line: int = 1
    names: Sequence[str] | None = None
    """Of the columns, where the text does not say them."""
    separator: str = ""
    """Of the columns in the piece before."""
    tokeniser: Tokeniser = split_at_blanks


class FormatWays(NamedTuple):
    """All that the library has to know of a format."""

    title: str
    parse: Callable[[ReadingMatter], list[Sentence]]
    written: Callable[[Iterable[Sentence]], str]
    end: re.Pattern[str]
    """Matches up to the last place where a text can be cut; the group ends there."""
    beside: tuple[str, ...] = ()
    """How lines begin that belong to the sentence after them."""


WAYS: dict[Format, FormatWays] = {
    "conllu": FormatWays(
        "CoNLL-U",
        lambda it: parse_conllu(it.text, it.source, it.first_line),
        conllu_text,
        re.compile(r"(?s).*(\n\n)"),
        ("#",),
    ),
    "columns": FormatWays(
        "CoNLL columns",
        lambda it: parse_columns(it.text, it.names, it.source, it.first_line, it.separator),
        columns_text,
        re.compile(r"(?s).*(\n[ \t]*\n)"),
        (DOCUMENT_START,),
    ),
    "plain": FormatWays(
        "plain text",
        lambda it: parse_plain(
            it.text, it.names[0] if it.names else "FORM", it.source, it.first_line, it.tokeniser
        ),
        plain_text,
        re.compile(r"(?s).*(\n)"),
    ),
}


@dataclass(frozen=True, repr=False)
class Document(Sequence[Sentence]):
    r"""The sentences of a file, and the format they came in.

    >>> document = parse_sentences("Dogs NNS\nbark VBP\n\nCats NNS\nsleep VBP\n", source="my.txt")
    >>> document.description
    'my.txt: CoNLL columns (2 columns), 2 sentences, 4 words'
    >>> document[1].column("0")
    ('Cats', 'sleep')
    """

    sentences: tuple[Sentence, ...]
    format: Format
    source: str

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Sentence, ...]: ...
    def __getitem__(self, index: int | slice) -> Sentence | tuple[Sentence, ...]:
        return self.sentences[index]

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        return f"Document({self.description})"

    def _repr_html_(self) -> str:
        from partita.data.drawings import document_html

        return document_html(self.description, self.sentences)

    @property
    def names(self) -> tuple[str, ...]:
        r"""The names of the columns.

        >>> parse_sentences("Dogs NNS\n\nCats NNS\n").names
        ('0', '1')
        """
        return self.sentences[0].names

    @property
    def n_words(self) -> int:
        """How many words there are.

        >>> parse_sentences("the dog barks").n_words
        3
        """
        return sum(map(len, self.sentences))

    @property
    def description(self) -> str:
        """What was read, for a line of progress."""
        sizes = f"{count(len(self), 'sentence')}, {count(self.n_words, 'word')}"
        return f"{self.source}: {self.kind}, {sizes}"

    @property
    def kind(self) -> str:
        r"""The format in words.

        >>> parse_sentences("Dogs NNS\n\nCats NNS\n").kind
        'CoNLL columns (2 columns)'
        """
        title = WAYS[self.format].title
        if self.format == "columns":
            title += f" ({count(len(self.names), 'column')})"
        return title


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "word"), count(1200, "word")
    ('1 word', '1,200 words')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def read_sentences(
    path: StrPath,
    *,
    format: Format | None = None,
    names: Sequence[str] | None = None,
    tokeniser: Tokeniser = split_at_blanks,
) -> Document:
    """The sentences of a file, in the format that it seems to have (or the one that is given).

    `names` are for the columns of CoNLL columns, and the first for the words of plain text. `-`
    is standard input; `.gz` is decompressed. `tokeniser` is for plain text, see `parse_plain`.

    >>> from partita import samples
    >>> document = read_sentences(samples.path("chunks-dev.txt"))
    >>> document.kind, len(document), document.n_words
    ('CoNLL columns (3 columns)', 100, 1054)
    """
    return parse_sentences(
        read_text(path), format=format, names=names, source=source_name(path), tokeniser=tokeniser
    )


def parse_sentences(
    text: str,
    *,
    format: Format | None = None,
    names: Sequence[str] | None = None,
    source: str = "<text>",
    tokeniser: Tokeniser = split_at_blanks,
) -> Document:
    """The sentences of a text; see `read_sentences`.

    >>> parse_sentences("the dog barks")[0].column("FORM")
    ('the', 'dog', 'barks')
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"the format {format!r} came; expected one of {', '.join(FORMATS)}.")
    format = format or guess_format(text)
    matter = ReadingMatter(text, source, names=names, tokeniser=tokeniser)
    return Document(tuple(WAYS[format].parse(matter)), format, source)


def guess_format(text: str) -> Format:
    r"""The format that a text seems to have.

    CoNLL-U has comments such as `# text = ...`, or lines of ten columns, separated by tabs, that
    begin with a number. Columns have tabs; or blank lines (or -DOCSTART-) among lines most of
    which have the same number of words. Everything else is plain text, and so are lines each of
    which a blank one follows, unless they end in what looks like tags (NN, B-NP).

    A wrong line does not change the guess, so that its reader can name it.

    >>> guess_format("the dog barks\nit is a loud one\n")
    'plain'
    >>> guess_format("the DT\ndog NN\n\nit PRP\n")
    'columns'
    >>> guess_format("the dog barks\n\nthe cat sleeps\n")
    'plain'
    """
    lines = without_blanks("\n".join(text.split("\n", _N_LOOKED_AT)[:_N_LOOKED_AT])).split("\n")
    if any(map(_is_conllu, lines)):
        return "conllu"
    words = [line for line in lines if line and not line.startswith(DOCUMENT_START)]
    if any("\t" in line for line in words):
        return "columns"
    has_documents = len(words) < sum(map(bool, lines))
    if not has_documents and "" not in lines[: _last(lines)]:
        return "plain"
    has_rows = has_documents or any(map(all, pairwise(lines)))
    return "columns" if _are_columns([line.split() for line in words], has_rows) else "plain"


def _are_columns(lines: Sequence[Sequence[str]], has_rows: bool) -> bool:
    """Whether lines with blank ones among them, or between any two of them, look like columns."""
    width, n_alike = next(iter(Counter(map(len, lines)).most_common(1)), (0, 0))
    if has_rows and n_alike > 0.8 * len(lines):
        return True
    # Few lines, one of which is wrong; or sentences of one word, as in a list of names.
    alike = [line for line in lines if len(line) == width > 1]
    # The tag of a full stop is often a full stop.
    n_tagged = sum(bool(_TAG.fullmatch(line[-1])) or line[-1] == line[0] for line in alike)
    return n_alike > 0.5 * len(lines) and n_tagged > 0.8 * len(alike)


def _last(lines: Sequence[str]) -> int:
    """The position of the last line that is not blank."""
    return max((index for index, line in enumerate(lines) if line), default=0)


def _is_conllu(line: str) -> bool:
    is_row = line.count("\t") == 9 and _CONLLU_ROW.match(line) is not None
    return is_row or _COMMENT.match(line) is not None


def sentences_text(sentences: Iterable[Sentence], format: Format) -> str:
    r"""Sentences as a text of the format.

    >>> sentences_text([Sentence({"FORM": ("the", "dog")})], "plain")
    'the dog\n'
    """
    return WAYS[format].written(sentences)


def write_sentences(path: StrPath, sentences: Iterable[Sentence], format: Format) -> None:
    """Write a file in one step; `-` is standard output, and `.gz` is compressed.

    >>> write_sentences("-", [Sentence({"FORM": ("the", "dog")})], "plain")
    the dog
    """
    write_text(path, sentences_text(sentences, format))
