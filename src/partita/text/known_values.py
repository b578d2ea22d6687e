"""What fields saw often enough in training to be told apart; all else is rare, and alike."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partita.kept import kept_texts
from partita.text.fields import Field, parse_field
from partita.text.hashing import States, hashes
from partita.text.views import find_parts
from partita.text.words import CountedWords, Words

RARE, NONE, ROOT, EDGE = "\0rare", "\0none", "\0root", "\0edge"
"""Values that no text has: what was seen too seldom, what a view sees nothing of, the root of a
tree, and what lies beyond the sentence."""
SHOWN = {RARE: "<rare>", NONE: "<none>", ROOT: "<root>", EDGE: "<edge>"}
"""How they look in the names of features."""

Sight = tuple[str, str]
"""A column and a view."""
ROOM = 2**15
"""Values of a column of which is kept what a view sees of them: there is no end to text."""


@dataclass(frozen=True)
class KnownValues:
    """For each column and view that templates name, the values that training saw often enough.

    It cannot grow.

    >>> from partita.text.words import read_words
    >>> words = read_words([["The", "the", "dog"]])
    >>> known = KnownValues.learn(words, [Field("FORM", 0, "lower")], min_count=2)
    >>> known.seen(("FORM", "lower"), ["THE", "cat"]) == ["the", RARE]
    True
    """

    values: Mapping[Sight, frozenset[str]]

    @classmethod
    def learn(
        cls, words: Words | CountedWords, fields: Iterable[Field], min_count: int
    ) -> "KnownValues":
        """From the words of training; a view is computed once for every distinct value."""
        known = {}
        for column, view in dict.fromkeys((str(field.column), field.view) for field in fields):
            values = words.columns[column]
            counts: Counter[str] = Counter()
            for parts, count in zip(
                map(find_parts(view), values.values), values.counts.tolist(), strict=True
            ):
                for part in parts:
                    counts[part] += count
            known[column, view] = frozenset(p for p, n in counts.items() if n >= min_count)
        return cls(known)

    def members(self, sight: Sight, values: Sequence[str]) -> list[list[str]]:
        """All that a view sees in each value of its column; what is rare as `RARE`."""
        known, function = self.values[sight], find_parts(sight[1])
        return [
            [part if part in known else RARE for part in parts] for parts in map(function, values)
        ]

    def seen(self, sight: Sight, values: Sequence[str]) -> list[str]:
        """What a view sees in each value of its column, at most one thing; or `RARE`, or `NONE`."""
        return [parts[0] if parts else NONE for parts in self.members(sight, values)]

    def hashed(self, sight: Sight, values: Sequence[str]) -> States:
        """64 bits for what a view sees in each value; those of the last some ten thousand are kept.

        Threads may work out the same values at once, which changes nothing: none is ever forgotten
        by a thread that has found it.
        """
        if len(values) > ROOM:
            return hashes(self.seen(sight, values))
        kept = self._kept.setdefault(sight, {})
        new = [value for value in values if value not in kept]
        if len(kept) + len(new) > ROOM:
            kept = self._kept[sight] = {}
            new = list(values)
        if new:
            kept.update(zip(new, hashes(self.seen(sight, new)).tolist(), strict=True))
        return np.fromiter(map(kept.__getitem__, values), np.uint64, len(values))

    @cached_property
    def _kept(self) -> dict[Sight, dict[str, int]]:
        return {}

    def header(self) -> dict[str, Any]:
        """What a model file keeps."""
        return {
            Field(column, 0, view).text: sorted(known)
            for (column, view), known in self.values.items()
        }

    @classmethod
    def restored(cls, header: Mapping[str, Any], fields: Iterable[Field]) -> "KnownValues":
        """From what a model file kept; there must be values of all fields."""
        known = {}
        for text, values in header.items():
            field = parse_field(text)
            if field is None:
                raise ValueError(f"{text!r} is no field.")
            known[str(field.column), field.view] = frozenset(kept_texts(values, text))
        for needed in fields:
            if (str(needed.column), needed.view) not in known:
                raise ValueError(f"there are no known values of {needed.text}.")
        return cls(known)
