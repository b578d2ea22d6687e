"""Numbers for string features: a vocabulary, built and then frozen, or hashing without one."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, repeat

import numpy as np

from partita.arrays import IntArray
from partita.text.attributes import Attributes
from partita.text.hashing import buckets, hashes, keys_of

Features = Collection[str] | Mapping[str, float]
"""What holds of one word, arc or hyperedge: names, or names with values."""


class Vocabulary:
    """A number for every known feature; it cannot grow. Features it does not know are left out.

    `list(vocabulary)` gives the names in order, and `Vocabulary(names)` makes it again.

    >>> vocabulary = Vocabulary(["word=the", "suffix=ing"])
    >>> vocabulary["suffix=ing"], "word=zebra" in vocabulary, len(vocabulary)
    (1, False, 2)
    >>> vocabulary.attributes([["word=the"], ["suffix=ing", "word=zebra"]]).ids
    array([0, 1], dtype=int32)
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._ids = {name: number for number, name in enumerate(names)}
        self._names = tuple(self._ids)
        if len(self._names) != (number_of_names := max(self._ids.values(), default=-1) + 1):
            raise ValueError(
                f"{number_of_names} names came, but only {len(self._names)} differ; expected each "
                "feature once."
            )

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def __getitem__(self, name: str) -> int:
        return self._ids[name]

    def get(self, name: str, default: int) -> int:
        """The number of a feature, or `default` if it is not known."""
        return self._ids.get(name, default)

    def name(self, number: int) -> str:
        """The feature with a number."""
        return self._names[number]

    def attributes(self, rows: Iterable[Features]) -> Attributes:
        """The known features of each row, as numbers."""
        return _encoded(rows, lambda names: list(map(self._ids.get, names, repeat(-1))))


class VocabularyBuilder:
    """Counts features as they come; `freeze` keeps the frequent ones.

    Rows can be encoded while it grows, so that features are made only once:

    >>> builder = VocabularyBuilder()
    >>> rows = builder.attributes([["a", "b"], ["b", "c"], ["b", "c"]])
    >>> vocabulary = builder.freeze(min_count=2)
    >>> list(vocabulary)  # the most frequent first
    ['b', 'c']
    >>> rows.renumbered(builder.new_ids(vocabulary)).ids
    array([0, 0, 1, 0, 1], dtype=int32)
    """

    def __init__(self) -> None:
        # A name that is not there yet gets the next number.
        self._ids: defaultdict[str, int] = defaultdict()
        self._ids.default_factory = self._ids.__len__
        self._counts = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._ids)

    def attributes(self, rows: Iterable[Features]) -> Attributes:
        """All features of each row, as numbers of this builder; see `new_ids`."""
        encoded = _encoded(rows, lambda names: list(map(self._ids.__getitem__, names)))
        counts = np.bincount(encoded.ids, minlength=len(self._ids))
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        return encoded

    def freeze(self, min_count: int = 1) -> Vocabulary:
        """The features that came at least `min_count` times, the most frequent first.

        Frequent features lie together, so that their weights stay in the processor's caches; ties
        are in the order of the alphabet, so that the order of the data does not matter.
        """
        counts = self._counts.tolist()
        kept = [name for name, number in self._ids.items() if counts[number] >= min_count]
        return Vocabulary(sorted(kept, key=lambda name: (-counts[self._ids[name]], name)))

    def new_ids(self, vocabulary: Vocabulary) -> IntArray:
        """For each number of this builder the one in `vocabulary`, or -1: for `renumbered`."""
        return np.array([vocabulary.get(name, -1) for name in self._ids], dtype=np.int64)


class HashedVocabulary:
    """Features straight to one of `n_buckets` numbers; nothing is stored, and some collide.

    The number follows from the name alone, see `partita.text.hashing`: it is the same on every
    machine and in every run.

    >>> vocabulary = HashedVocabulary(2**20)
    >>> vocabulary["word=the"] == HashedVocabulary(2**20)["word=the"]
    True
    """

    def __init__(self, n_buckets: int) -> None:
        if not 1 <= n_buckets <= 2**31 - 1:
            raise ValueError(f"n_buckets is {n_buckets}; expected 1 to 2**31 - 1.")
        self._n_buckets = n_buckets

    def __len__(self) -> int:
        return self._n_buckets

    def __getitem__(self, name: str) -> int:
        return int(self.ids([name])[0])

    def ids(self, names: Sequence[str]) -> IntArray:
        """A number for each name."""
        return buckets(keys_of(hashes(names)), self._n_buckets)

    def attributes(self, rows: Iterable[Features]) -> Attributes:
        """All features of each row, as numbers."""
        return _encoded(rows, self.ids)


def _encoded(
    rows: Iterable[Features], number: Callable[[list[str]], Sequence[int] | IntArray]
) -> Attributes:
    """Rows of names as rows of numbers; names whose number is negative are left out.

    A few thousand rows at a time, so that the names of a whole corpus are never in memory.
    """
    iterator = iter(rows)
    chunks = iter(lambda: list(islice(iterator, 4096)), [])
    return Attributes.joined([_encoded_chunk(chunk, number) for chunk in chunks])


def _encoded_chunk(
    rows: list[Features], number: Callable[[list[str]], Sequence[int] | IntArray]
) -> Attributes:
    names = list(chain.from_iterable(rows))
    ids = np.asarray(number(names), dtype=np.int64)
    known = ids >= 0
    before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(known, dtype=np.int64)])
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum([len(row) for row in rows])])
    encoded = Attributes(ids[known].astype(np.int32), before[ends])
    if not any(isinstance(row, Mapping) for row in rows):
        return encoded
    values = [row[name] if isinstance(row, Mapping) else 1.0 for row in rows for name in row]
    return replace(encoded, values=np.array(values, dtype=np.float64)[known])
