"""Sentences in one form: named columns, features of each word by name, or a matrix of features."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
from scipy import sparse

from partita.arrays import IntArray
from partita.structures.batch import offsets
from partita.text.columns import Column
from partita.text.sentences import (
    FORM,
    SHOWN,
    SparseSentence,
    WrongTokenError,
    are_sentences,
    are_token_lists,
    column_names,
    has_columns,
    is_matrix,
    listed,
    tokens_of,
    values_of,
    where,
)

Form = Literal["columns", "names", "matrix"]


@dataclass(frozen=True, eq=False)
class Words:
    """The words of all sentences end to end, in one of three forms.

    Exactly one of `columns`, `features` and `matrix` is filled.
    """

    n_words: IntArray
    """Words of each sentence."""
    columns: Mapping[str, Column]
    """By name, a value for each word."""
    features: Sequence[Any] = ()
    """For each word a dictionary or a collection of names."""
    matrix: sparse.csr_array | None = None
    """A row of numbers for each word, (n_all, n_features)."""

    @property
    def form(self) -> Form:
        """Which of the three it is; features by name and matrices need no templates."""
        if self.columns:
            return "columns"
        return "names" if self.matrix is None else "matrix"

    @property
    def first_nodes(self) -> IntArray:
        """(n_sentences + 1,): the node of each sentence's root, where its words follow."""
        return offsets(self.n_words + 1)

    def chosen(self, sentences: IntArray) -> "Words":
        """Some sentences by number, in any order, repeats allowed; of words that have columns."""
        n_words = self.n_words[sentences]
        starts = offsets(self.n_words)[sentences]
        places = np.repeat(starts - offsets(n_words)[:-1], n_words) + np.arange(n_words.sum())
        columns = {
            name: replace(column, numbers=column.numbers[places])
            for name, column in self.columns.items()
        }
        return Words(n_words, columns)


@dataclass(frozen=True)
class CountedValues:
    """The different values of a column, and how often each came."""

    values: tuple[str, ...]
    counts: IntArray


@dataclass(frozen=True)
class CountedWords:
    """What is told apart of words that nobody holds: counts of values, in place of `Words`."""

    columns: Mapping[str, CountedValues]

    @classmethod
    def of(cls, counts: Mapping[str, Mapping[str, int]]) -> "CountedWords":
        """From the counts of each column.

        >>> CountedWords.of({"FORM": {"the": 2, "dog": 1}}).columns["FORM"].values
        ('the', 'dog')
        """
        return cls(
            {
                name: CountedValues(tuple(each), np.fromiter(each.values(), np.int64, len(each)))
                for name, each in counts.items()
            }
        )


def read_words(
    sentences: Iterable[Any],
    columns: Sequence[str] | None = None,
    *,
    names: Sequence[str] | None = None,
) -> Words:
    """Sentences of any form; all of them of the same.

    A sentence is a list of tokens: text, tuples of columns, dictionaries of features, or lists of
    feature names; an array of text, (n_words,) or (n_words, n_columns); a `Sentence` or a data
    frame, whose columns have names; or a matrix of numbers, (n_words, n_features), also sparse.

    `columns` are those to use; all of them if left out, of CoNLL-U the words. `names` are what the
    columns of tuples are called, as many as there are: `columns` if left out, or else "0", "1" ...
    A model that uses one column takes plain tokens whatever that column was called.

    >>> {
    ...     name: list(values)
    ...     for name, values in read_words([["dogs", "bark"], ["yes"]]).columns.items()
    ... }
    {'FORM': ['dogs', 'bark', 'yes']}
    >>> list(read_words([[("dogs", "NNS")]]).columns)
    ['0', '1']
    >>> read_words([np.array([[0.5, 0.0], [0.0, 2.0]])]).matrix.shape
    (2, 2)
    """
    given = listed(sentences)
    n_words = np.fromiter(map(len, given), dtype=np.int64, count=len(given))
    tokens: list[Any]
    if are_token_lists(given):
        tokens = list(chain.from_iterable(given))
    else:
        if not are_sentences(given):
            _check_forms(given)
        if has_columns(given[0]):
            return Words(n_words, _from_columns(given, columns))
        if is_matrix(given[0]):
            return Words(n_words, {}, matrix=_stacked(given))
        tokens = list(chain.from_iterable(map(tokens_of, given)))
    return _from_tokens(given, n_words, tokens, columns, names)


TOKENS = (str, tuple, Mapping, list, set, frozenset)
"""What a token may be."""
_FORMS = {
    (True, False): "a sentence with named columns",
    (False, True): "a matrix of numbers",
    (False, False): "a list of tokens",
}


def _check_forms(sentences: Sequence[Any]) -> None:
    """All sentences are of the form of the first."""
    forms = [_FORMS[has_columns(each), is_matrix(each)] for each in sentences]
    for index, form in enumerate(forms):
        if form != forms[0]:
            raise ValueError(
                f"{where(sentences[index], index)} is {form}, and the first is {forms[0]}; "
                "expected one form for all."
            )


def _from_columns(sentences: Sequence[Any], names: Sequence[str] | None) -> dict[str, Column]:
    chosen = names
    if chosen is None:
        chosen = default_columns(column_names(sentences) or ())
    return {name: _column(name, sentences, values_of(sentences, name)) for name in chosen}


def _from_tokens(
    sentences: Sequence[Any],
    n_words: IntArray,
    tokens: list[Any],
    columns: Sequence[str] | None,
    names: Sequence[str] | None,
) -> Words:
    if not tokens:
        return Words(n_words, {name: Column.of(()) for name in columns or names or (FORM,)})
    texts = _texts(tokens) if isinstance(tokens[0], str) else None
    if texts is not None:
        found = {names[0] if names else _only(columns): texts}
        return Words(n_words, _chosen(found, columns))
    kinds = set(map(type, tokens))
    # Where columns have names of their own, a word may be a list as well as a tuple.
    rows: Any = tuple if names is None else tuple | list
    if all(issubclass(kind, rows) for kind in kinds):
        found = _from_tuples(sentences, tokens, names or columns, exact=names is None)
        return Words(n_words, _chosen(found, columns))
    if all(issubclass(kind, Mapping | list | set | frozenset) for kind in kinds):
        return Words(n_words, {}, tokens)
    raise _wrong_token(sentences, n_words, tokens)


def _texts(tokens: Sequence[Any]) -> Column | None:
    """Tokens as a column, if all are text, as nearly always: each different one is looked at."""
    try:
        column = Column.of(tokens)
    except TypeError:  # what has no hash
        return None
    kinds = set(map(type, column.values))
    return column if all(issubclass(kind, str) for kind in kinds) else None


def _wrong_token(sentences: Sequence[Any], n_words: IntArray, tokens: Sequence[Any]) -> ValueError:
    """The error of the first token that is of no kind, or of another than the first."""
    are_wrong = [not isinstance(each, TOKENS) for each in tokens]
    if not any(are_wrong):
        are_wrong = [type(each) is not type(tokens[0]) for each in tokens]
    number = are_wrong.index(True)
    ends = np.cumsum(n_words)
    index = int(np.searchsorted(ends, number, side="right"))
    place = number - int(ends[index] - n_words[index])
    listed_kinds = ", ".join(sorted({type(each).__name__ for each in tokens}))
    return WrongTokenError(
        sentences[index],
        index,
        f"word {place} is {tokens[number]!r:.{SHOWN}}, and the tokens are of the types "
        f"{listed_kinds}; expected one kind for all: text, tuples of columns, dictionaries of "
        "features, or lists of feature names.",
    )


def _from_tuples(
    sentences: Sequence[Any],
    tokens: list[tuple[str, ...]],
    names: Sequence[str] | None,
    *,
    exact: bool,
) -> dict[str, Column]:
    width = len(tokens[0])
    found = list(names) if names is not None else [str(number) for number in range(width)]
    listed_names = "" if names is None else f": {', '.join(found)}"
    widths = set(map(len, tokens))
    if len(widths) > 1:
        index, other = next(
            (index, len(token))
            for index, each in enumerate(sentences)
            for token in tokens_of(each)
            if len(token) != width
        )
        raise ValueError(
            f"{where(sentences[index], index)} has a token of {other} columns, and the first token "
            f"has {width}; expected the same number in all of them{listed_names}."
        )
    if len(found) < width or (exact and len(found) != width):
        raise ValueError(f"the tokens have {width} columns; expected {len(found)}{listed_names}.")
    return {
        name: _column(name, sentences, ([token[i] for token in tokens],))
        for i, name in enumerate(found[:width])
    }


def _column(name: str, sentences: Sequence[Any], values: Iterable[Iterable[Any]]) -> Column:
    """A column, all of whose values are text."""
    try:
        column = Column.of(chain.from_iterable(values))
    except TypeError:
        # What has no hash is no text either.
        raise ValueError(
            f"the column {name!r} holds lists or the like; expected text for every word."
        ) from None
    for number, value in enumerate(column.values):
        if not isinstance(value, str):
            word = int(np.argmax(column.numbers == number))
            ends = np.cumsum([len(sentence) for sentence in sentences])
            index = int(np.searchsorted(ends, word, side="right"))
            raise ValueError(
                f"{where(sentences[index], index)} has a word whose {name} is {value!r}; expected "
                "text, and '_' where there is none. Give numbers as a matrix, or as text."
            )
    return column


def _chosen(found: Mapping[str, Column], columns: Sequence[str] | None) -> Mapping[str, Column]:
    if columns is None:
        return found
    for name in columns:
        if name not in found:
            raise ValueError(
                f"the tokens have no column {name}, only {', '.join(found)}; expected "
                f"{', '.join(columns)}. Give each token as a tuple of these, or sentences with "
                "such columns."
            )
    return {name: found[name] for name in columns}


def _only(names: Sequence[str] | None) -> str:
    if names is None or not names:
        return FORM
    if len(names) > 1:
        raise ValueError(
            f"plain tokens came, which are one column; expected {len(names)}: {', '.join(names)}. "
            "Give each token as a tuple of these, or sentences with such columns."
        )
    return names[0]


def _stacked(sentences: Sequence[Any]) -> sparse.csr_array:
    """The rows of all sentences; all have the same number of features, which are finite."""
    first = _matrix(sentences[0], 0)
    found = []
    for index, sentence in enumerate(sentences):
        matrix = _matrix(sentence, index)
        if matrix.shape[1] != first.shape[1]:
            raise ValueError(
                f"{where(sentence, index)} has {matrix.shape[1]} features, and the first has "
                f"{first.shape[1]}; expected the same in all of them."
            )
        if not np.isfinite(matrix.data).all():
            raise ValueError(
                f"{where(sentence, index)} has a feature that is infinite or not a number; "
                "expected finite numbers."
            )
        found.append(matrix)
    return sparse.csr_array(sparse.vstack(found, format="csr"))


def _matrix(sentence: Any, index: int) -> sparse.csr_array:
    if isinstance(sentence, SparseSentence):
        return sentence.matrix.astype(np.float64)
    if sentence.ndim != 2:
        raise ValueError(
            f"{where(sentence, index)} is an array of numbers of shape {sentence.shape}; expected "
            "(n_words, n_features)."
        )
    return sparse.csr_array(sentence.astype(np.float64))


def default_columns(names: Sequence[str], target: str | None = None) -> tuple[str, ...]:
    """The columns to learn from: in CoNLL-U the words, elsewhere all but the one of the tags.

    The other columns of CoNLL-U are annotations, which new text does not have.

    >>> default_columns(["ID", "FORM", "UPOS"], target="UPOS"), default_columns("012", target="2")
    (('FORM',), ('0', '1'))
    """
    if FORM in names:
        return (FORM,)
    return tuple(name for name in names if name != target)


def common_columns(
    sentences: Sequence[Any], names: Sequence[str], among: Sequence[str]
) -> tuple[str, ...]:
    """Those of some columns that all sentences have; `names` are those of the columns of tuples.

    >>> common_columns(
    ...     [[("dogs", "NOUN")]], ("FORM", "UPOS", "XPOS"), among=("FORM", "XPOS", "UPOS")
    ... )
    ('FORM', 'UPOS')
    """
    if any(map(has_columns, sentences)):
        there = [set(map(str, each.columns)) for each in sentences if has_columns(each)]
        return tuple(name for name in among if all(name in each for each in there))
    first = next(chain.from_iterable(map(tokens_of, sentences)), "")
    width = len(first) if isinstance(first, tuple | list) else 1
    return tuple(name for name in among if name in names[:width])
