"""Sentences as users have them, brought into one form: named columns, or features of each word."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from partita.arrays import IntArray
from partita.data.sentences import Sentence

FORM = "FORM"
"""The column of words in CoNLL-U, and the name of the only column of plain tokens."""


@dataclass(frozen=True)
class Words:
    """The words of all sentences end to end: columns of values, or a collection of features each.

    Exactly one of `columns` and `features` is filled.
    """

    n_words: IntArray
    """Words of each sentence."""
    columns: Mapping[str, Sequence[str]]
    """By name, a value for each word."""
    features: Sequence[Any] = ()
    """For each word a dictionary or a collection of names."""

    @property
    def are_features(self) -> bool:
        """Whether the user brings features, so that no templates are needed."""
        return not self.columns


def read_words(sentences: Sequence[Any], columns: Sequence[str] | None = None) -> Words:
    """Lists of tokens, of tuples of columns, of feature dictionaries, or `Sentence` objects.

    `columns` names the columns to use; all of them if left out. A model that uses one column
    takes plain tokens whatever that column was called.

    >>> read_words([["dogs", "bark"], ["yes"]]).columns
    {'FORM': ['dogs', 'bark', 'yes']}
    >>> read_words([[("dogs", "NNS")]]).columns
    {'0': ['dogs'], '1': ['NNS']}
    """
    check_sentences(sentences)
    n_words = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    if any(isinstance(sentence, Sentence) for sentence in sentences):
        return Words(n_words, _from_sentences(sentences, columns))
    tokens: list[Any] = list(chain.from_iterable(sentences))
    kinds = set(map(type, tokens))
    if all(issubclass(kind, str) for kind in kinds):
        return Words(n_words, {_only(columns): tokens})
    if all(issubclass(kind, tuple) for kind in kinds):
        return Words(n_words, _from_tuples(tokens, columns))
    if all(issubclass(kind, Mapping | list | set | frozenset) for kind in kinds):
        return Words(n_words, {}, tokens)
    names = sorted(kind.__name__ for kind in kinds)
    raise ValueError(
        f"the tokens are of the types {', '.join(names)}; expected one kind for all: text, tuples "
        "of columns, dictionaries of features, or lists of feature names."
    )


def check_sentences(sentences: Sequence[Any]) -> None:
    """A list of sentences came, not text that looks like one."""
    if isinstance(sentences, str | Sentence):
        raise ValueError(
            f"a single {type(sentences).__name__} came; expected a list of sentences. Put it into "
            "a list of one."
        )
    for index, sentence in enumerate(sentences):
        if isinstance(sentence, str | bytes):
            raise ValueError(
                f"sentence {index} is the text {sentence[:40]!r}; expected a list of tokens. Split "
                "it into words first."
            )


def _from_sentences(
    sentences: Sequence[Any], names: Sequence[str] | None
) -> dict[str, Sequence[str]]:
    for index, sentence in enumerate(sentences):
        if not isinstance(sentence, Sentence):
            raise ValueError(
                f"sentence {index} is a {type(sentence).__name__} and others are Sentence objects; "
                "expected one kind for all."
            )
    chosen = default_columns(sentences[0].names) if names is None else tuple(names)
    return {
        name: list(chain.from_iterable(sentence.column(name) for sentence in sentences))
        for name in chosen
    }


def default_columns(names: Sequence[str], target: str | None = None) -> tuple[str, ...]:
    """The columns to learn from: in CoNLL-U the words, elsewhere all but the one of the tags.

    The other columns of CoNLL-U are annotations, which new text does not have.

    >>> default_columns(["ID", "FORM", "UPOS"], target="UPOS"), default_columns("012", target="2")
    (('FORM',), ('0', '1'))
    """
    if FORM in names:
        return (FORM,)
    return tuple(name for name in names if name != target)


def _from_tuples(
    tokens: list[tuple[str, ...]], names: Sequence[str] | None
) -> dict[str, Sequence[str]]:
    widths = set(map(len, tokens))
    if len(widths) > 1:
        raise ValueError(
            f"the tokens have {sorted(widths)} columns; expected the same number in all of them."
        )
    width = widths.pop() if widths else 0
    found = list(names) if names is not None else [str(number) for number in range(width)]
    if len(found) != width:
        raise ValueError(
            f"the tokens have {width} columns; expected {len(found)}: {', '.join(found)}."
        )
    return {name: [token[i] for token in tokens] for i, name in enumerate(found)}


def _only(names: Sequence[str] | None) -> str:
    if names is None or not names:
        return FORM
    if len(names) > 1:
        raise ValueError(
            f"plain tokens came, which are one column; expected {len(names)}: {', '.join(names)}. "
            "Give each token as a tuple of these, or sentences with such columns."
        )
    return names[0]


def sentences_of(flat: Sequence[Any], n_words: Iterable[int]) -> list[list[Any]]:
    """Values for all words end to end, as a list for each sentence.

    >>> sentences_of("abc", [1, 0, 2])
    [['a'], [], ['b', 'c']]
    """
    result, start = [], 0
    for n in n_words:
        result.append(list(flat[start : start + n]))
        start += n
    return result
