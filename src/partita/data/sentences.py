"""One sentence of a data file: named columns of words, and what is needed to write it back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from partita.data.errors import DataError

MOST_LETTERS = 60
"""Of the text of a sentence, in its `repr`."""
MEMORY = "<memory>"
"""The source of a sentence that came from no file."""


@dataclass(frozen=True, repr=False)
class Sentence:
    """Named columns of equal length, one value per word.

    CoNLL-U names its columns ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS and MISC;
    other files name them "0", "1", ... or as the reader was told.

    The rest is what a writer needs to give the file back: `before` and `after`, the lines before
    and after the words (comments, -DOCSTART- lines, surplus blank lines); `extras`, the lines
    among the words that are no words (multiword tokens and empty nodes), each with the number of
    words that precede it; `separator`, what stands between columns; `end`, the line that ends it,
    of nothing but blanks. `first_line` is the number of the first line after `before`, in the file
    `source`.

    >>> sentence = Sentence({"FORM": ("dogs", "bark"), "UPOS": ("NOUN", "VERB")})
    >>> len(sentence), sentence.column("UPOS")
    (2, ('NOUN', 'VERB'))
    >>> sentence["FORM"]
    ('dogs', 'bark')
    >>> sentence
    Sentence('dogs bark', columns FORM, UPOS)
    >>> sentence.replaced("UPOS", ["X", "X"]).column("UPOS")
    ('X', 'X')
    """

    columns: Mapping[str, tuple[str, ...]]
    before: tuple[str, ...] = ()
    extras: tuple[tuple[int, str], ...] = ()
    after: tuple[str, ...] = ()
    separator: str = "\t"
    end: str = ""
    source: str = MEMORY
    first_line: int = 1

    def __post_init__(self) -> None:
        columns = {name: tuple(values) for name, values in self.columns.items()}
        if len({len(values) for values in columns.values()}) != 1:
            found = ", ".join(f"{name}: {len(values)}" for name, values in columns.items())
            raise ValueError(
                f"a sentence came with columns of these lengths: {found or 'none at all'}; "
                "expected at least one column, and one value per word in each."
            )
        object.__setattr__(self, "columns", columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        text = " ".join(self.columns.get("FORM", next(iter(self.columns.values()))))
        text = text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}..."
        return f"Sentence({text!r}, columns {', '.join(self.names)})"

    def _repr_html_(self) -> str:
        from partita.data.drawings import html

        return html(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the file.

        >>> Sentence({"FORM": ("dogs",), "UPOS": ("NOUN",)}).names
        ('FORM', 'UPOS')
        """
        return tuple(self.columns)

    def column(self, name: str) -> tuple[str, ...]:
        """The values of a column, one per word.

        >>> Sentence({"0": ("dogs",)}).column("UPOS")
        Traceback (most recent call last):
        partita.data.errors.DataError: <memory>, line 1: there is no column 'UPOS'; ...
        """
        try:
            return self.columns[name]
        except KeyError:
            there = ", ".join(repr(other) for other in self.columns)
            raise DataError(
                self.source,
                self.line(),
                f"there is no column {name!r}; expected one of {there}. Name one of these.",
            ) from None

    def __getitem__(self, name: str) -> tuple[str, ...]:
        """The values of a column, as `column` gives them."""
        if isinstance(name, str):
            return self.column(name)
        # A KeyError, so that NumPy and pandas go on taking a sentence for one object.
        raise KeyError(
            f"a Sentence has no item {name!r}; its items are columns, by name: "
            f"{', '.join(map(repr, self.columns))}."
        )

    def replaced(self, name: str, values: Sequence[str]) -> "Sentence":
        """This sentence with a column replaced, or added as the last one."""
        if len(values) != len(self):
            raise ValueError(
                f"{self.where()}: {len(values)} values came for column {name!r}; "
                f"expected {len(self)}, one for each word."
            )
        # All but one column was checked before: no need to go through the constructor again.
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__, columns={**self.columns, name: tuple(values)})
        return found

    def where(self, word: int = 0) -> str:
        """The file and line of a word (from 0), to begin an error message with.

        >>> Sentence({"0": ("a", "b")}, source="dev.txt", first_line=7).where(1)
        'dev.txt, line 8'
        """
        return f"{self.source}, line {self.line(word)}"

    def line(self, word: int = 0) -> int:
        """The line number of a word in its file; the words and extras of a file have one each.

        >>> Sentence({"0": ("a", "b")}, first_line=7).line(1)
        8
        """
        return self.first_line + word + sum(position <= word for position, _ in self.extras)
