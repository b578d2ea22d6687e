"""Sentences as users have them: lists, arrays, data frames, matrices, `Sentence` objects.

Whatever it is, a sentence has a length, its number of words, once it went through `listed`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from partita.data.errors import DataError
from partita.data.sentences import Sentence

Tokens = Sequence[str]
"""The words of a sentence."""
FORM = "FORM"
"""The column of words in CoNLL-U, and the name of the only column of plain tokens."""
SHOWN = 40
"""Characters of a user's text in a message."""


@dataclass(frozen=True, eq=False)
class SparseSentence:
    """A sentence that came as a sparse matrix, (n_words, n_features); these have no length."""

    matrix: sparse.csr_array

    def __len__(self) -> int:
        return int(self.matrix.shape[0])


def check_sentences(sentences: Iterable[Any]) -> None:
    """Refuse what is no list or generator of anything, and what is one sentence.

    >>> check_sentences(None)
    Traceback (most recent call last):
    ValueError: something of the type NoneType came; expected a list of sentences.
    """
    kind = type(sentences).__name__
    if isinstance(sentences, str | bytes | PathLike):
        raise ValueError(
            f"a single {kind} came; expected a list of sentences. Read a file with "
            "partita.data.read_sentences; split a text into words, and put them into a list of one."
        )
    if isinstance(sentences, Mapping | Sentence) or has_columns(sentences):
        raise ValueError(
            f"a single {kind} came; expected a list of sentences. Put it into a list of one, or "
            "cut it into sentences."
        )
    if kind.endswith("GroupBy"):
        raise ValueError(
            f"a {kind} came, whose items are pairs of a name and a data frame; expected a list of "
            "sentences. Take the frames alone: [frame for name, frame in groups]."
        )
    if not isinstance(sentences, Iterable):
        raise ValueError(f"something of the type {kind} came; expected a list of sentences.")


def listed(sentences: Iterable[Any], first: int = 0) -> list[Any]:
    """Sentences of any kind as a list, also those of a generator; other things are refused.

    `first` is the number of the first one, for messages.

    >>> listed(line.split() for line in ["the dog", "yes"])
    [['the', 'dog'], ['yes']]
    >>> listed(["the"])  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    ValueError: sentence 0 is the text 'the'; expected a list of tokens. Split it into words, or,
        if this is one sentence, put it into a list of one.
    """
    check_sentences(sentences)
    found = list(sentences)
    if are_token_lists(found) or are_sentences(found):
        return found
    return [_with_length(each, index) for index, each in enumerate(found, first)]


def are_token_lists(sentences: Sequence[Any]) -> bool:
    """Whether all are plain lists or tuples, as nearly always: nothing else has to be known."""
    return set(map(type, sentences)) <= {list, tuple}


def are_sentences(sentences: Sequence[Any]) -> bool:
    """Whether all are of the class `Sentence`, as those of files are, whose columns are checked."""
    return set(map(type, sentences)) == {Sentence}


def one_each(name: str, given: Iterable[Any], what: str = "one for each sentence") -> list[Any]:
    """What came beside sentences, such as their tags, as a list; other things are refused.

    `name` and `what` are for the message: what it is, and what is expected in the list.

    >>> one_each("tags", (line.split() for line in ["DET NOUN", "X"]))
    [['DET', 'NOUN'], ['X']]
    >>> one_each("tags", 5)
    Traceback (most recent call last):
    ValueError: tags is 5, of the type int; expected a list, one for each sentence.
    """
    kind = type(given).__name__
    if isinstance(given, str | bytes | Mapping):
        raise ValueError(f"{name} is a single {kind}; expected a list, {what}.")
    try:
        return list(given)
    except TypeError:
        # A generator whose own code has a mistake comes here, too.
        if isinstance(given, Iterator):
            raise
        shown = repr(given)[:SHOWN]
        raise ValueError(
            f"{name} is {shown}, of the type {kind}; expected a list, {what}."
        ) from None


def _with_length(sentence: Any, index: int) -> Any:
    if type(sentence) is list or type(sentence) is tuple or isinstance(sentence, Sentence):
        return sentence
    if isinstance(sentence, str | bytes):
        raise ValueError(
            f"sentence {index} is the text {sentence[:SHOWN]!r}; expected a list of tokens. Split "
            "it into words, or, if this is one sentence, put it into a list of one."
        )
    if isinstance(sentence, Mapping | Set):
        raise ValueError(
            f"sentence {index} is a {type(sentence).__name__}; expected a list of tokens. Put what "
            "belongs to a word into a dictionary of its own, and these into a list."
        )
    if sparse.issparse(sentence):
        return SparseSentence(sparse.csr_array(sentence))
    if hasattr(sentence, "__len__"):
        return sentence
    if not isinstance(sentence, Iterable):
        raise ValueError(
            f"sentence {index} is a {type(sentence).__name__}; expected a list of tokens, an "
            "array, a data frame, a matrix of features, or a Sentence."
        )
    return list(sentence)


def has_columns(sentence: Any) -> bool:
    """Whether a sentence has columns with names: a `Sentence`, or a data frame of any package."""
    if isinstance(sentence, Sentence):
        return True
    # Data frames of pandas and polars; the packages need not be there to tell.
    return hasattr(sentence, "columns") and hasattr(sentence, "__getitem__")


def is_matrix(sentence: Any) -> bool:
    """Whether a sentence is a matrix of numbers, a row for each word."""
    if isinstance(sentence, SparseSentence):
        return True
    return isinstance(sentence, np.ndarray) and sentence.dtype.kind in "biuf"


def where(sentence: Any, index: int) -> str:
    """How to name a sentence in a message: its file and line, if it has one.

    >>> where(["the"], 3)
    'sentence 3 (counting from 0)'
    """
    if isinstance(sentence, Sentence):
        return f"{sentence.where()}: the sentence"
    return f"sentence {index} (counting from 0)"


class WrongTokenError(ValueError):
    """A token that is none, and which it is."""

    def __init__(self, sentence: Any, index: int, problem: str) -> None:
        super().__init__(f"{where(sentence, index)}, {problem}")
        self.sentence, self.index, self.problem = sentence, index, problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sentence, self.index, self.problem)  # from a cluster's workers


@contextmanager
def numbering(numbers: Sequence[int]) -> Iterator[None]:
    """Errors name sentences by the caller's numbers, where only some came, or in another order."""
    try:
        yield
    except WrongTokenError as error:
        raise WrongTokenError(error.sentence, numbers[error.index], error.problem) from None


def check_not_empty(sentences: Sequence[Any]) -> None:
    """Every sentence has words; for learning, and where a structure needs some."""
    for index, sentence in enumerate(sentences):
        if not len(sentence):
            raise ValueError(f"{where(sentence, index)} has no words; leave it out.")


def column_names(sentences: Sequence[Any]) -> tuple[str, ...] | None:
    """The names of the columns of the first sentence; None if they have no names.

    >>> column_names([Sentence({"FORM": ("dogs",), "UPOS": ("NOUN",)})])
    ('FORM', 'UPOS')
    """
    if not len(sentences) or not has_columns(sentences[0]):
        return None
    return tuple(map(str, sentences[0].columns))


def column_values(sentence: Any, name: str, index: int = 0) -> Sequence[str]:
    """A column of a sentence that has columns with names; a value for each word."""
    if isinstance(sentence, Sentence):
        return sentence.column(name)
    if not has_columns(sentence):
        raise ValueError(
            f"{where(sentence, index)} is a {type(sentence).__name__}, which has no column "
            f"{name!r}; expected Sentence objects or data frames."
        )
    if name not in sentence.columns:
        there = ", ".join(map(repr, sentence.columns))
        raise DataError(
            f"sentence {index}",
            None,
            f"there is no column {name!r}; expected one of {there}. Name one of these.",
        )
    values = sentence[name]
    return values.tolist() if hasattr(values, "tolist") else list(values)


def values_of(sentences: Sequence[Any], name: str) -> list[Sequence[str]]:
    """A column of all sentences, which have columns with names."""
    if are_sentences(sentences) and all(name in each.columns for each in sentences):
        return [each.columns[name] for each in sentences]
    return [column_values(each, name, index) for index, each in enumerate(sentences)]


def tokens_of(sentence: Any) -> Iterable[Any]:
    """The tokens of a sentence without columns; of a table of text, a tuple of columns for each."""
    if not isinstance(sentence, np.ndarray):
        return sentence  # type: ignore[no-any-return]
    if sentence.ndim == 2:
        return list(map(tuple, sentence.tolist()))
    return sentence.tolist()  # type: ignore[no-any-return]


def shown_words(sentence: Any) -> tuple[str, ...]:
    """The words of a sentence for people to read; numbers from 1 where it has only features.

    >>> shown_words([("dogs", "NNS"), ("bark", "VBP")]), shown_words([{"suffix": "s"}])
    (('dogs', 'bark'), ('1',))
    """
    if isinstance(sentence, Sentence):
        return sentence.column(FORM if FORM in sentence.names else sentence.names[0])
    if has_columns(sentence):
        names = [str(name) for name in sentence.columns]
        return tuple(map(str, sentence[FORM if FORM in names else sentence.columns[0]]))
    if is_matrix(sentence) or isinstance(sentence, SparseSentence):
        return tuple(str(number) for number in range(1, len(sentence) + 1))
    return tuple(_shown_word(token, number) for number, token in enumerate(sentence, 1))


def _shown_word(token: Any, number: int) -> str:
    if isinstance(token, str):
        return token
    if isinstance(token, tuple | list) and token and isinstance(token[0], str):
        return token[0]
    if isinstance(token, Mapping):
        return next(
            (str(token[name]) for name in (FORM, "word", "w") if name in token), str(number)
        )
    return str(number)


def read_tokens(
    sentences: Iterable[Any],
    column: str | None = None,
    *,
    may_miss: bool = False,
    first: int = 0,
) -> list[list[Any]]:
    """One column of words as lists of text; `may_miss` allows None for a word that is missing.

    Of sentences with columns it is `column`, or FORM, or else the first.

    >>> (
    ...     read_tokens([Sentence({"FORM": ("dogs",), "UPOS": ("NOUN",)})]),
    ...     read_tokens(["a b".split()]),
    ... )
    ([['dogs']], [['a', 'b']])
    """
    found = []
    for index, sentence in enumerate(listed(sentences, first), first):
        if has_columns(sentence):
            names = list(map(str, sentence.columns))
            chosen = column or (FORM if FORM in names else names[0])
            words: list[Any] = list(column_values(sentence, chosen, index))
        else:
            words = list(tokens_of(sentence)) if not is_matrix(sentence) else [0.0]
        # Nearly always, and looked at for all words at once.
        if set(map(type, words)) - {str}:
            _check_text(words, sentence, index, may_miss=may_miss)
        found.append(words)
    return found


def read_texts(sentences: Iterable[Any]) -> Sequence[Sequence[str]]:
    """The same to look at: plain lists of text as they are, without a copy of each.

    >>> read_texts([("dogs", "bark")])
    [('dogs', 'bark')]
    """
    found = listed(sentences)
    if are_token_lists(found) and set(map(type, chain.from_iterable(found))) <= {str}:
        return found
    return read_tokens(found)


def _check_text(words: Sequence[Any], sentence: Any, index: int, *, may_miss: bool) -> None:
    for place, word in enumerate(words):
        if not isinstance(word, str) and not (may_miss and word is None):
            missing = ", None for one that is missing" if may_miss else ""
            raise WrongTokenError(
                sentence,
                index,
                f"word {place} is {word!r:.{SHOWN}}; expected a list of words, which are "
                f"text{missing}.",
            )
