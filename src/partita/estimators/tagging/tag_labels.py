"""Tags as numbers: known ones, unknown ones, and which may follow which."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from partita.arrays import IntArray
from partita.data.schemes import UNKNOWN, Transitions, allowed_transitions, recognise_scheme
from partita.data.sentences import Sentence
from partita.text.words import check_sentences

NOT_KNOWN = -1


def checked_tags(sentences: Sequence[Any], tags: Sequence[Sequence[str]]) -> list[list[str]]:
    """A tag for every word of every sentence, as lists; what is missing is an error."""
    check_sentences(sentences)
    if len(sentences) != len(tags):
        raise ValueError(
            f"{len(sentences)} sentences came with tags for {len(tags)}; expected as many."
        )
    checked = []
    for index, (sentence, given) in enumerate(zip(sentences, tags, strict=True)):
        if isinstance(given, str):
            raise ValueError(
                f"the tags of {where(sentence, index)} are the text {given[:40]!r}; expected a "
                "list of tags."
            )
        if len(sentence) != len(given):
            raise ValueError(
                f"{where(sentence, index)} has {len(sentence)} words and {len(given)} tags; "
                f"expected a tag for each word, {UNKNOWN!r} where it is not known."
            )
        checked.append([UNKNOWN if tag is None else tag for tag in given])
    return checked


def where(sentence: Any, index: int) -> str:
    """How to name a sentence in a message: its file and line, if it has one."""
    if isinstance(sentence, Sentence):
        return f"{sentence.where()}: the sentence"
    return f"sentence {index} (counting from 0)"


class TagSet:
    """The tags of a model, in order, and the scheme they must obey, if any.

    >>> tags = TagSet(["DET", "NOUN"])
    >>> tags.numbers(["NOUN", "?"], "sentence 0")
    array([ 1, -1])
    >>> tags.numbers(["VERB"], "sentence 0")
    Traceback (most recent call last):
    ValueError: sentence 0 has the tag 'VERB', which training never saw; it saw DET, NOUN. ...
    """

    def __init__(self, names: Sequence[str], scheme: Any = None) -> None:
        self.names = tuple(names)
        self.scheme = scheme
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._numbers[UNKNOWN] = NOT_KNOWN
        self.allowed: Transitions | None = (
            None if scheme is None else allowed_transitions(self.names, scheme)
        )

    @classmethod
    def learn(
        cls, tags: Iterable[Sequence[str]], more: Iterable[str] = (), scheme: str | None = None
    ) -> "TagSet":
        """The tags that occur, and `more`; with the scheme "auto", the one they seem to follow."""
        sequences = list(tags)
        names = {tag for sequence in sequences for tag in sequence}.union(more) - {UNKNOWN}
        if not names:
            raise ValueError(
                "no word has a known tag; expected tags (y), or expectation constraints that name "
                "some."
            )
        if scheme == "auto":
            scheme = recognise_scheme(sequences)
            if scheme is None:
                raise ValueError(
                    "the tags spell out no chunks, so there is no scheme to keep to; expected tags "
                    "such as B-NP, I-NP and O. Leave the argument scheme out for other tags."
                )
        return cls(sorted(names), scheme)

    def __len__(self) -> int:
        return len(self.names)

    def numbers(self, tags: Sequence[str], place: str) -> IntArray:
        """The number of each tag, -1 for one that is not known; `place` is for messages."""
        try:
            return np.array([self._numbers[tag] for tag in tags], dtype=np.int64)
        except KeyError as error:
            raise ValueError(
                f"{place} has the tag {error.args[0]!r}, which training never saw; it saw "
                f"{', '.join(self.names)}. Correct the tag, or train on data that have it."
            ) from None

    def named(self, numbers: IntArray) -> list[str]:
        """The tags of numbers."""
        return [self.names[number] for number in numbers.tolist()]
