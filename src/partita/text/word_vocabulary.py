"""Words as numbers, for models of translation: one vocabulary for each side of a bitext."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from partita.arrays import Array, IntArray
from partita.kept import kept_array, kept_texts
from partita.structures.batch import offsets as offsets_of
from partita.text.sentences import read_texts
from partita.text.views import find_view

NULL = 0
"""The empty word, which stands in no sentence: what a word without a counterpart links to."""
UNKNOWN = 1
"""Any word that training never saw."""
N_RESERVED = 2
NAMES = ("<null>", "<unknown>")

WordNumbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Numbered:
    """Sentences end to end, as numbers.

    >>> sentences = Numbered(np.array([2, 3, 2], dtype=np.int32), np.array([0, 2, 3]))
    >>> len(sentences), sentences[0], sentences.n_words
    (2, array([2, 3], dtype=int32), array([2, 1]))
    """

    numbers: WordNumbers
    offsets: IntArray
    """Sentence k is numbers[offsets[k] : offsets[k + 1]]."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> WordNumbers:
        return self.numbers[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[WordNumbers]:
        return map(self.__getitem__, range(len(self)))

    @property
    def n_words(self) -> IntArray:
        """Of each sentence."""
        return np.diff(self.offsets)

    def between(self, start: int, end: int) -> "Numbered":
        """The sentences from `start` to `end`, which share the memory of all."""
        ends = self.offsets[start : end + 1]
        return Numbered(self.numbers[ends[0] : ends[-1]], ends - ends[0])

    def select(self, places: Sequence[int] | IntArray) -> "Numbered":
        """Some of the sentences, in the order of `places`."""
        chosen = [self[int(place)] for place in places]
        lengths = np.array([len(words) for words in chosen], dtype=np.int64)
        return Numbered(np.concatenate([*chosen, np.zeros(0, dtype=np.int32)]), offsets_of(lengths))


@dataclass(frozen=True, eq=False)
class WordVocabulary:
    """A number for every word of training; 0 is the empty word, 1 any unknown word.

    What is told apart may be less than what is written: what a view sees of it, such as `lower` or
    `cut5` (a stemmer for languages with many endings; see `partita.text.views`).

    >>> words = WordVocabulary.learn([["the", "house"], ["The", "flower"]], view="lower")
    >>> words.names
    ('<null>', '<unknown>', 'the', 'house', 'flower')
    >>> words.encode([["the", "Flower", "grows"]]).numbers
    array([2, 4, 1], dtype=int32)
    """

    names: tuple[str, ...]
    counts: IntArray
    """How often each occurs in training, (n,)."""
    view: str = ""

    @classmethod
    def learn(cls, sentences: Iterable[Any], *, min_count: int = 1, view: str = "") -> Self:
        """The words of sentences; those seen less than `min_count` times count as unknown.

        Frequent words come first, words of equal count as they appear: the words that nearly
        every sentence has then lie side by side in tables.
        """
        written = Counter(chain.from_iterable(read_texts(sentences)))
        return cls.counted(written, min_count=min_count, view=view)

    @classmethod
    def counted(cls, written: Mapping[str, int], *, min_count: int = 1, view: str = "") -> Self:
        """The same, from how often words came."""
        if min_count < 1:
            raise ValueError(f"min_count is {min_count}; expected 1 or more.")
        see = _seen(view)
        counts = Counter[str]()
        for word, count in written.items():
            counts[see(word)] += count
        kept = [(word, count) for word, count in counts.most_common() if count >= min_count]
        unknown = counts.total() - sum(count for _, count in kept)
        return cls(
            (*NAMES, *(word for word, _ in kept)),
            np.array([0, unknown, *(count for _, count in kept)], dtype=np.int64),
            view,
        )

    def __len__(self) -> int:
        return len(self.names)

    def number(self, word: str) -> int:
        """The number of a word; `UNKNOWN` if training never saw it."""
        return self._numbers.get(_seen(self.view)(word), UNKNOWN)

    def encode(self, sentences: Iterable[Any]) -> Numbered:
        """The numbers of the words of sentences; O(words)."""
        given = read_texts(sentences)
        written = list(chain.from_iterable(given))
        see = _seen(self.view)
        number_of = {word: self._numbers.get(see(word), UNKNOWN) for word in set(written)}
        numbers = np.fromiter(map(number_of.__getitem__, written), np.int32, len(written))
        lengths = np.fromiter(map(len, given), np.int64, len(given))
        return Numbered(numbers, offsets_of(lengths))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        # A word of the text may look like a reserved name, so those are left out.
        return {name: N_RESERVED + index for index, name in enumerate(self.names[N_RESERVED:])}

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {"names": list(self.names), "view": self.view}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        return {"counts": self.counts}

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The words that `header` and `arrays` describe."""
        names = kept_texts(header["names"], "names")
        counts = kept_array(arrays, "counts", np.int64, len(names))
        if len(names) < N_RESERVED:
            raise ValueError(f"there are {len(names)} words; expected {N_RESERVED} or more.")
        [view] = kept_texts([header["view"]], "view")
        _seen(view)  # which refuses what is none
        return cls(tuple(names), counts, view)


@lru_cache
def _seen(view: str) -> Callable[[str], str]:
    """What is told apart of a word: what a view sees of it, or the word if that is nothing."""
    see = find_view(view)
    return lambda word: word if (seen := see(word)) is None else seen
