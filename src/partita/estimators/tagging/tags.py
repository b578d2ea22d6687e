"""Tags as numbers: known ones, unknown ones, sets of them, and which may follow which."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, pairwise
from typing import Any

import numpy as np

from partita.arrays import BoolArray, IntArray
from partita.data.schemes import (
    UNKNOWN,
    Scheme,
    Transitions,
    allowed_transitions,
    recognise_scheme,
)
from partita.text.sentences import column_values, has_columns, listed, one_each, where

NOT_KNOWN = -1
Tag = str | AbstractSet[str] | None
"""A tag, `?` or None for one that is not known, or a set of tags one of which is right."""
Tags = Sequence[Sequence[Tag] | None]
"""The tags of each sentence; None for a sentence of which nothing is known."""
HeldOutTags = tuple[Iterable[Any], Tags | None] | Sequence[Any]
"""Sentences to judge by and their tags (None for those of a column), or the sentences alone."""


def checked_tags(sentences: Iterable[Any], tags: Iterable[Any]) -> list[list[Any]]:
    """A tag (or set of tags) for every word of every sentence; what is missing is an error.

    Tags come as sentences do: lists, arrays, series, generators.
    """
    sentences, tags = listed(sentences), one_each("tags", tags, "the tags of each sentence")
    if len(sentences) != len(tags):
        raise ValueError(
            f"{len(sentences)} sentences came with tags for {len(tags)}; expected as many."
        )
    checked: list[list[Any]] = []
    for index, (sentence, given) in enumerate(zip(sentences, tags, strict=True)):
        if given is None:
            given = [None] * len(sentence)
        if isinstance(given, str):
            raise ValueError(
                f"the tags of {where(sentence, index)} are the text {given[:40]!r}; expected a "
                "list of tags."
            )
        given = one_each(f"the entry of tags for {where(sentence, index)}", given, "of its tags")
        if len(sentence) != len(given):
            raise ValueError(
                f"{where(sentence, index)} has {len(sentence)} words and {len(given)} tags; "
                f"expected a tag for each word, {UNKNOWN!r} where it is not known."
            )
        if not are_texts(given):
            given = [_checked_tag(tag, sentence, index) for tag in given]
        checked.append(list(given))
    return checked


def are_texts(tags: Iterable[Any]) -> bool:
    """Whether all tags are plain text, and none a set; without a look at each by itself.

    >>> are_texts(["NOUN", "?"]), are_texts(["NOUN", frozenset({"NOUN", "VERB"})])
    (True, False)
    """
    return {str}.issuperset(map(type, tags))


def _checked_tag(tag: Any, sentence: Any, index: int) -> Any:
    if isinstance(tag, str):
        return str(tag)
    if tag is None:
        return UNKNOWN
    if isinstance(tag, AbstractSet) and len(tag) and all(isinstance(each, str) for each in tag):
        return next(iter(tag)) if len(tag) == 1 else frozenset(tag)
    raise ValueError(
        f"{where(sentence, index)} has the tag {tag!r}; expected text, {UNKNOWN!r} (or None) where "
        "it is not known, or a set of tags one of which is right."
    )


def tags_of(
    sentences: Sequence[Any], tags: Iterable[Any] | None, tag_column: str | None
) -> list[Any] | None:
    """The tags that came, or those of a column of the sentences, or None."""
    if tags is not None:
        return one_each("tags", tags, "the tags of each sentence")
    if tag_column is None:
        return None
    for index, sentence in enumerate(sentences):
        if not has_columns(sentence):
            raise ValueError(
                f"{where(sentence, index)} is a {type(sentence).__name__}, which has no column "
                f"{tag_column!r} of tags; expected Sentence objects or data frames, or tags beside "
                "the sentences."
            )
    return [column_values(each, tag_column, index) for index, each in enumerate(sentences)]


class TagSet:
    """The tags of a model, in order, and the scheme they must obey, if any.

    >>> tags = TagSet(["DET", "NOUN"])
    >>> tags.numbers(["NOUN", "?"], "sentence 0")
    array([ 1, -1])
    >>> tags.numbers(["VERB"], "sentence 0")
    Traceback (most recent call last):
    ValueError: sentence 0 has the tag 'VERB', which the model does not know; it knows DET, ...
    """

    def __init__(self, names: Sequence[str], scheme: Scheme | None = None) -> None:
        self.names = tuple(names)
        self.scheme = scheme
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self.allowed: Transitions | None = (
            None if scheme is None else allowed_transitions(self.names, scheme)
        )

    @classmethod
    def learn(
        cls,
        tags: Iterable[Sequence[Any]],
        more: Iterable[str] = (),
        scheme: Any = None,
    ) -> "TagSet":
        """The tags that occur, and `more`; with the scheme "auto", the one they follow, if any."""
        sequences = list(tags)
        names = set[str]().union(*map(_names, sequences))
        names = names.union(more) - {UNKNOWN}
        if not names:
            raise ValueError(
                "no word has a known tag; expected tags, beside the sentences or in a column of "
                "them (tag_column='UPOS'), or expectation constraints that name some."
            )
        if scheme == "auto":
            plain = [[t if isinstance(t, str) else UNKNOWN for t in each] for each in sequences]
            scheme = recognise_scheme(plain)
        return cls(sorted(names), scheme)

    def __len__(self) -> int:
        return len(self.names)

    def numbers(self, tags: Sequence[Any], place: str) -> IntArray:
        """The number of each tag, -1 where more than one may be; `place` is for messages."""
        known = self._numbers
        if are_texts(tags) and known.keys() >= set(tags):
            return np.fromiter(map(known.__getitem__, tags), dtype=np.int64, count=len(tags))
        numbers = np.full(len(tags), NOT_KNOWN, dtype=np.int64)
        for word, tag in enumerate(tags):
            if isinstance(tag, str):
                if tag in known:
                    numbers[word] = known[tag]
                elif tag != UNKNOWN:
                    self._refuse(tag, place)
        return numbers

    def choices(self, tags: Sequence[Any], place: str) -> BoolArray | None:
        """Which tags each word may have, (n, s), as far as sets say so; None if none does."""
        if are_texts(tags) or not any(isinstance(tag, AbstractSet) for tag in tags):
            return None
        allowed = np.ones((len(tags), len(self)), dtype=np.bool_)
        for word, tag in enumerate(tags):
            if isinstance(tag, AbstractSet):
                for name in tag:
                    if name not in self._numbers:
                        self._refuse(name, place)
                allowed[word] = [name in tag for name in self.names]
        return allowed

    def named(self, numbers: IntArray) -> list[str]:
        """The tags of numbers."""
        return list(map(self.names.__getitem__, numbers.tolist()))

    def all_named(self, numbers: Sequence[IntArray]) -> list[list[str]]:
        """The tags of the numbers of many sentences, looked up together."""
        if not numbers:
            return []
        return self.cut(np.concatenate(numbers), np.cumsum([0, *map(len, numbers)]))

    def cut(self, numbers: IntArray, offsets: IntArray) -> list[list[str]]:
        """The tags of numbers end to end, cut where sentences begin, and at the end."""
        names = np.array(self.names, dtype=object)[numbers].tolist()
        return [names[start:end] for start, end in pairwise(offsets.tolist())]

    def _refuse(self, tag: str, place: str) -> None:
        raise ValueError(
            f"{place} has the tag {tag!r}, which the model does not know; it knows "
            f"{', '.join(self.names)}. Correct the tag, put {UNKNOWN!r} for it, or train on data "
            "that have it."
        )


def _names(tags: Sequence[Any]) -> Iterable[str]:
    if are_texts(tags):
        return tags
    return chain.from_iterable((tag,) if isinstance(tag, str) else tag for tag in tags)
