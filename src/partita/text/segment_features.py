"""Attributes of whole segments: their text, shapes, length, ends and neighbours, and dictionaries.

A template is a few places of a segment, each seen in one way: all its words in a row, its first or
last word, the words before and behind it. All segments of a corpus are looked at together, length
by length: what a template sees there becomes one hashed key a segment (`partita.text.hashing`), and
keys that labelled segments had often enough have numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from partita.arrays import Array, BoolArray, IntArray
from partita.kept import kept_array, kept_number, kept_texts
from partita.text.attributes import Attributes
from partita.text.hashing import States, hashes, mixed
from partita.text.templates import part_views
from partita.text.views import find_parts
from partita.text.words import Words

MOST_CLASSES = 200
"""A column with more different values holds words, not classes of them."""
FEW = 3
"""A column with so few holds flags."""
EDGES = "_B-1", "_B+1"
"""What stands before the first word and behind the last."""


class Sight(NamedTuple):
    """A column, and the view of its values."""

    column: str
    view: str = ""

    @property
    def text(self) -> str:
        """As templates of words have it."""
        return f"{self.column}.{self.view}" if self.view else self.column

    def of(self, values: Sequence[str]) -> list[str]:
        """What is seen of each value; nothing is the empty text."""
        see = find_parts(self.view)
        return ["|".join(see(value)) for value in values]


Where = Literal["words", "first", "last", "before", "behind", "length"]


class Place(NamedTuple):
    """A place of a segment, and how it is seen there; a length is not seen in any way."""

    where: Where
    sight: Sight | None = None

    @property
    def text(self) -> str:
        """For names of attributes."""
        return self.where if self.sight is None else f"{self.where}:{self.sight.text}"


Places = tuple[Place, ...]


def default_places(words: Words) -> tuple[Places, ...]:
    """Templates of segments that serve most: of words, their shapes, and columns of classes."""
    if words.form != "columns":
        return ()
    first, *others = words.columns
    lower, shape = Sight(first, "lower"), Sight(first, "shape")
    templates: list[Places] = [
        (Place("words", lower),),
        (Place("words", shape),),
        (Place("first", lower), Place("last", lower)),
        (Place("before", lower), Place("behind", lower)),
    ]
    for sight in _classes(words, others):
        row = Place("words", sight)
        templates += [
            (row,),
            (Place("first", sight), Place("last", sight), Place("length")),
            (Place("before", sight), Place("behind", sight)),
            (Place("before", sight), row),
            (row, Place("behind", sight)),
            (Place("before", lower), row),
            (row, Place("behind", lower)),
            (row, Place("first", lower)),
            (row, Place("last", lower)),
        ]
    return tuple(templates)


def _classes(words: Words, columns: Sequence[str]) -> Iterator[Sight]:
    """The columns, or parts of their values, that hold classes of words, such as tags."""
    for name in columns:
        values = words.columns[name].values
        for view in part_views(values) or ("",):
            sight = Sight(name, view)
            if view != "each" and FEW < len(set(sight.of(values))) <= MOST_CLASSES:
                yield sight


class Segments(NamedTuple):
    """Some segments of a corpus: the number of the first word, and of words."""

    firsts: IntArray
    n_words: IntArray


@dataclass(frozen=True, eq=False)
class SegmentFeatures:
    """The attributes of segments; built on training data, then frozen.

    In this order: lengths; for each template of a row of words that there is no number for it; for
    each dictionary that the segment is in it; and the known keys.
    """

    templates: tuple[Places, ...]
    longest: int
    dictionaries: Mapping[str, Sequence[str]]
    keys: States
    """In ascending order."""
    numbers: IntArray
    """The attribute of each."""
    names: Sequence[str]
    """Of the attributes, from the first known key on."""

    @classmethod
    def build(
        cls,
        words: Words,
        labelled: Segments,
        longest: int,
        min_count: int,
        dictionaries: Mapping[str, Sequence[str]],
    ) -> Self:
        """The attributes that labelled segments have at least `min_count` times."""
        empty = cls.without_keys(default_places(words), longest, dictionaries)
        kept = empty.kept_keys(*empty.count_keys(words, labelled), min_count)
        names = empty.key_names(words, labelled, kept)
        return empty.with_keys(kept, [names[key] for key in kept.tolist()])

    @classmethod
    def without_keys(
        cls, templates: tuple[Places, ...], longest: int, dictionaries: Mapping[str, Sequence[str]]
    ) -> Self:
        """What segments are looked at by, before any of them were counted."""
        none = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        return cls(templates, longest, dictionaries, *none, [])

    def count_keys(self, words: Words, labelled: Segments) -> tuple[States, IntArray]:
        """The different keys of labelled segments, ascending, and how often each occurs."""
        return np.unique(self._labelled(words, labelled)[0], return_counts=True)

    @staticmethod
    def kept_keys(keys: States, counts: IntArray, min_count: int) -> States:
        """Those that came often enough, the most frequent first."""
        kept = np.flatnonzero(counts >= min_count)
        # Frequent attributes have low numbers, so that their weights lie together.
        found: States = keys[kept[np.lexsort((keys[kept], -counts[kept]))]]
        return found

    def with_keys(self, keys: States, names: Sequence[str]) -> Self:
        """With numbers for some keys, in their order."""
        order = np.argsort(keys)
        numbers = self._n_fixed + order
        return replace(self, keys=keys[order], numbers=numbers, names=names)

    def key_names(self, words: Words, labelled: Segments, keys: States) -> dict[int, str]:
        """The names of those of some keys that labelled segments have."""
        found, sources = self._labelled(words, labelled)
        known, index = np.unique(found, return_index=True)
        here = np.isin(known, keys)
        return {
            key: _name(words, self.templates[sources[place, 0]], *sources[place, 1:].tolist())
            for key, place in zip(known[here].tolist(), index[here].tolist(), strict=True)
        }

    @classmethod
    def of_lengths(cls, longest: int, dictionaries: Mapping[str, Sequence[str]]) -> Self:
        """Lengths and dictionaries only."""
        return cls.without_keys((), longest, dictionaries)

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return self._n_fixed + len(self.keys)

    def name(self, attribute: int) -> str:
        """An attribute as text."""
        if attribute < self.longest:
            return f"length={attribute + 1}"
        attribute -= self.longest
        if attribute < len(self._rows):
            return f"{self.templates[self._rows[attribute]][0].text} not known"
        attribute -= len(self._rows)
        if attribute < len(self.dictionaries):
            return f"dictionary={list(self.dictionaries)[attribute]}"
        return self.names[attribute - len(self.dictionaries)]

    def encode(self, words: Words) -> Attributes:
        """The known attributes of all segments, a row for each word and length."""
        seen = _Seen(words, self.templates)
        listed = self._phrases()
        n_all, n_columns = len(seen.left), 1 + len(self.templates) + len(listed)
        table = np.full((n_all, self.longest, n_columns), -1, dtype=np.int32)
        for n in range(1, self.longest + 1):
            (there,) = np.nonzero(seen.left >= n)
            rows = table[:, n - 1]
            rows[there, 0] = n - 1
            seen.grow(n)
            for index in range(len(self.templates)):
                rows[there, 1 + index] = self._numbered(index, seen.keys(index, there, n))
            for index, phrases in enumerate(listed):
                inside = np.isin(seen.words[there], phrases)
                at = 1 + len(self.templates) + index
                rows[there[inside], at] = self.longest + len(self._rows) + index
        flat = table.reshape(n_all * self.longest, n_columns)
        present: BoolArray = flat >= 0
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(present.sum(axis=1))])
        return Attributes(flat[present], offsets)

    # ------------------------------------------------------------------ model files

    def header(self) -> dict[str, Any]:
        """What a model file keeps, beside the arrays and the dictionaries."""
        templates = [[[p.where, p.sight and list(p.sight)] for p in t] for t in self.templates]
        return {"templates": templates, "longest": self.longest, "names": list(self.names)}

    def arrays(self) -> dict[str, Array]:
        """The arrays that a model file keeps."""
        return {"keys": self.keys.astype(np.int64), "numbers": self.numbers}

    @classmethod
    def restored(
        cls,
        header: Mapping[str, Any],
        arrays: Mapping[str, Array],
        dictionaries: Mapping[str, Sequence[str]],
    ) -> Self:
        """From what a model file kept."""
        templates = tuple(
            tuple(Place(where, sight and Sight(*sight)) for where, sight in template)
            for template in header["templates"]
        )
        keys = kept_array(arrays, "keys", np.int64, None).astype(np.uint64)
        numbers = kept_array(arrays, "numbers", np.int64, len(keys))
        names = kept_texts(header["names"], "names")
        longest = kept_number(header["longest"], "longest", int)
        features = cls(templates, longest, dictionaries, keys, numbers, names)
        kept_array(arrays, "numbers", np.int64, len(names), below=features.n_attributes)
        return features

    # ------------------------------------------------------------------ helpers

    @property
    def _rows(self) -> list[int]:
        """Templates that are a row of words and nothing else."""
        alone = [index for index, each in enumerate(self.templates) if len(each) == 1]
        return [index for index in alone if self.templates[index][0].where == "words"]

    @property
    def _n_fixed(self) -> int:
        return self.longest + len(self._rows) + len(self.dictionaries)

    def _numbered(self, template: int, keys: States) -> IntArray:
        """The attribute of each key; -1, or that of what is not known, where it has none."""
        rows = self._rows
        other = self.longest + rows.index(template) if template in rows else -1
        if not len(self.keys):
            return np.full(len(keys), other)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        found: IntArray = np.where(self.keys[places] == keys, self.numbers[places], other)
        return found

    def _labelled(self, words: Words, labelled: Segments) -> tuple[States, IntArray]:
        """The keys of labelled segments, and for each its template, first word and length."""
        seen = _Seen(words, self.templates)
        keys, sources = [np.zeros(0, dtype=np.uint64)], [np.zeros((0, 3), dtype=np.int64)]
        for n in range(1, self.longest + 1):
            seen.grow(n)
            here = labelled.firsts[labelled.n_words == n]
            for index in range(len(self.templates)):
                keys.append(seen.keys(index, here, n))
                sources.append(
                    np.column_stack([np.full(len(here), index), here, np.full(len(here), n)])
                )
        return np.concatenate(keys), np.concatenate(sources)

    def _phrases(self) -> list[States]:
        """The keys of the phrases of each dictionary, as `_Seen.words` has them."""
        found = []
        for phrases in self.dictionaries.values():
            split = [tuple(phrase.lower().split()) for phrase in phrases]
            values = sorted({word for phrase in split for word in phrase})
            codes = dict(zip(values, hashes(values).tolist(), strict=True))
            states = np.zeros(len(split), dtype=np.uint64)
            for place in range(max(map(len, split), default=0)):
                longer = np.array([len(phrase) > place for phrase in split])
                more = np.array(
                    [codes[phrase[place]] for phrase in split if len(phrase) > place], np.uint64
                )
                states[longer] = mixed(states[longer], more)
            found.append(np.unique(states))
        return found


class _Seen:
    """What templates see of all segments of some length, which grows."""

    def __init__(self, words: Words, templates: Sequence[Places]) -> None:
        n_words, n_all = words.n_words, int(words.n_words.sum())
        ends = np.repeat(np.cumsum(n_words), n_words)
        self.left = ends - np.arange(n_all)
        """Words from each one to the end of its sentence."""
        self._n_all, self._templates = n_all, templates
        starts = ends - np.repeat(n_words, n_words)
        # Behind all words: what is before and what is behind a sentence.
        self._before = np.where(starts == np.arange(n_all), n_all, np.arange(n_all) - 1)
        self._ends = ends
        first = next(iter(words.columns), None)
        sights = {place.sight for template in templates for place in template if place.sight}
        if first is not None:
            sights.add(Sight(first, "lower"))
        self._values: dict[Sight, States] = {}
        for sight in sights:
            column = words.columns[sight.column]
            values = hashes([*sight.of(column.values), *EDGES])
            edges = len(column.values) + np.arange(2)
            self._values[sight] = values[np.concatenate([column.numbers, edges])]
        self._states = {sight: np.zeros(n_all, dtype=np.uint64) for sight in sights}
        self._lower = None if first is None else Sight(first, "lower")

    @property
    def words(self) -> States:
        """The key of the words of each segment in lower case."""
        assert self._lower is not None
        return self._states[self._lower]

    def grow(self, n_words: int) -> None:
        """Segments have one word more, `n_words` now; those beyond an end mean nothing."""
        last = np.minimum(np.arange(self._n_all) + n_words - 1, self._n_all - 1)
        for sight, states in self._states.items():
            self._states[sight] = mixed(states, self._values[sight][last])

    def keys(self, template: int, firsts: IntArray, n_words: int) -> States:
        """The keys of a template for segments that begin with some words."""
        states = np.full(len(firsts), template + 1, dtype=np.uint64)
        for where, sight in self._templates[template]:
            states = mixed(states, self._value(where, sight, firsts, n_words))
        return states

    def _value(
        self, where: Where, sight: Sight | None, firsts: IntArray, n_words: int
    ) -> States | int:
        if sight is None:
            return n_words
        if where == "words":
            return self._states[sight][firsts]
        last = firsts + n_words - 1
        places = {"first": firsts, "last": last, "before": self._before[firsts]}
        if where == "behind":
            places[where] = np.where(last + 1 < self._ends[firsts], last + 1, self._n_all + 1)
        values: States = self._values[sight][places[where]]
        return values


def _name(words: Words, template: Places, first: int, n_words: int) -> str:
    """What a template sees of a segment, as text."""
    ends = np.cumsum(words.n_words)
    sentence = int(np.searchsorted(ends, first, side="right"))
    begin, end = int(ends[sentence] - words.n_words[sentence]), int(ends[sentence])

    def seen(sight: Sight, word: int) -> str:
        if not begin <= word < end:
            return EDGES[word >= end]
        return sight.of([words.columns[sight.column][word]])[0]

    texts = []
    for where, sight in template:
        if sight is None:
            texts.append(str(n_words))
            continue
        last = first + n_words - 1
        at = {"first": first, "last": last, "before": first - 1, "behind": last + 1}
        places = range(first, first + n_words) if where == "words" else [at[where]]
        texts.append(" ".join(seen(sight, int(word)) for word in places))
    return f"{' '.join(place.text for place in template)}={'|'.join(texts)}"
