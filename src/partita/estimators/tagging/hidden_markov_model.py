"""From sentences to the numbers of a hidden Markov model: words, tags that are known, masks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray
from partita.data.schemes import UNKNOWN
from partita.estimators.pieces import Piece
from partita.estimators.tagging.hidden_markov_layout import HiddenMarkovLayout, SymbolRows
from partita.estimators.tagging.tags import TagSet
from partita.text.sentences import read_tokens
from partita.text.word_features import Encoded
from partita.text.word_symbols import WordSymbols
from partita.training.batches import CACHED_PARTS

Dictionary = Mapping[str, Sequence[str]]
"""Word -> the tags it may have."""


class HiddenMarkovModel:
    """All of a hidden Markov model but its probabilities: tags, symbols, and what is allowed.

    Masks are sets of tags: one for each single tag, then one for each set in the dictionary and
    among the labels.

    >>> model = HiddenMarkovModel(TagSet(["N", "V"]), WordSymbols(["dog"], []), {"dog": ["N"]})
    >>> model.layout.allowed
    array([[ True, False]])
    >>> model.rows([["dog", "x"]], [["?", "V"]])
    SymbolRows(n_words=array([2]), symbols=array([ 0, -1]), masks=array([[ 2, -1], [-1, 1]]))
    """

    def __init__(
        self,
        tags: TagSet,
        symbols: WordSymbols,
        dictionary: Dictionary,
        label_sets: Iterable[frozenset[str]] = (),
    ) -> None:
        self.tags = tags
        self.symbols = symbols
        by_word = {word: frozenset(names) for word, names in dictionary.items()}
        sets = dict.fromkeys([*by_word.values(), *label_sets])
        rows = {names: row for row, names in enumerate(sets, start=len(tags))}
        self._masks: dict[str | None, int] = {word: rows[names] for word, names in by_word.items()}
        self._labels: dict[Any, int] = {tag: number for number, tag in enumerate(tags.names)}
        self._labels[UNKNOWN] = -1
        self._labels.update(rows)
        masks = np.eye(len(tags) + len(sets), len(tags), dtype=np.bool_)
        for names, row in rows.items():
            masks[row] = [name in names for name in tags.names]
        allowed = np.ones((len(symbols), len(tags)), dtype=np.bool_)
        for word, row in self._masks.items():
            if word in symbols:
                allowed[symbols.numbers([word])[0]] = masks[row]
        self.layout = HiddenMarkovLayout(len(symbols), masks, allowed)

    def encode(self, sentences: Sequence[Any]) -> SymbolRows:
        """Sentences as numbers, nothing known of their tags but what the dictionary says."""
        words = read_tokens(sentences, may_miss=True)
        return self.rows(words, [[UNKNOWN] * len(each) for each in words])

    def pieces(
        self,
        encoded: SymbolRows,
        first: int = 0,
        last: int | None = None,
        *,
        most: int = CACHED_PARTS,
    ) -> Iterator[Piece]:
        """The sentences from `first` on and before `last`, in pieces of `most` parts."""
        return self.layout.pieces(encoded, first, last, most=most)

    def rows(
        self, words: Sequence[Sequence[str | None]], labels: Sequence[Sequence[Any]]
    ) -> SymbolRows:
        """Sentences as numbers; a known tag must be one that the dictionary allows."""
        flat, tags = end_to_end(words), end_to_end(labels)
        by_dictionary, by_label = _looked_up(self._masks, flat), _looked_up(self._labels, tags)
        masks = self.layout.masks
        both = np.flatnonzero((by_dictionary >= 0) & (by_label >= 0))
        agree = (masks[by_dictionary[both]] & masks[by_label[both]]).any(axis=1)
        for place in both[~agree][:1].tolist():
            raise ValueError(
                f"{flat[place]!r} is labelled {tags[place]!r}, which the dictionary does not "
                "allow. Add the tag to the dictionary's entry, or correct the label."
            )
        n_words = np.array([len(sentence) for sentence in words], dtype=np.int64)
        pairs = np.column_stack([by_dictionary, by_label])
        return SymbolRows(n_words, self.symbols.numbers(flat), pairs)

    # ------------------------------------------------------------------ for explanations

    def described(self, sentence: Any) -> Encoded:
        """The attributes of a sentence's words."""
        rows = self.encode([sentence])
        return Encoded(rows.n_words, self.layout.attributes(rows))

    def split(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights of tags, (n_attributes, s), and of transitions, (1, s, s)."""
        table = weights.reshape(self.layout.shape)
        n_attributes = self.layout.n_attributes
        return table[:n_attributes], table[n_attributes:][None]

    def attribute_name(self, attribute: int, *, transition: bool = False) -> str:
        """An attribute as text."""
        if transition:
            return "transition"
        n_symbols = self.layout.n_symbols
        if attribute < n_symbols:
            return f"emission of {self.symbols.name(attribute)}"
        return "start" if attribute == n_symbols else "what the dictionary allows"


def log_tables(
    start: ArrayLike, transition: ArrayLike, emission: ArrayLike, *, n_tags: int, n_words: int
) -> list[FloatArray]:
    """The logarithms of a caller's tables: (s,), (s, s) and (s, n_words), whose rows sum to 1.

    >>> [table.shape for table in log_tables([1.0], [[1.0]], [[0.5, 0.5]], n_tags=1, n_words=2)]
    [(1,), (1, 1), (1, 2)]
    """
    shapes = {"start": (n_tags,), "transition": (n_tags, n_tags), "emission": (n_tags, n_words)}
    found = []
    for (name, shape), given in zip(shapes.items(), (start, transition, emission), strict=True):
        table = np.asarray(given, dtype=np.float64)
        if table.shape != shape:
            raise ValueError(
                f"{name} has shape {table.shape}; expected {shape} for {n_tags} tags and {n_words} "
                "words."
            )
        if not ((table >= 0).all() and np.allclose(table.sum(axis=-1), 1.0, atol=1e-9)):
            raise ValueError(
                f"{name} is no table of probabilities; expected numbers, 0 or more, whose rows "
                "sum to 1."
            )
        with np.errstate(divide="ignore"):
            found.append(np.log(table))
    return found


def tag_names(
    labels: Iterable[Iterable[Any]],
    dictionary: Dictionary,
    n_tags: int | None,
    others: Sequence[str] = (),
) -> tuple[str, ...]:
    """The tags of labels and dictionary in the order of the alphabet, then `others`, then T0, ...

    `others` are the tags of the model to start from, whose probabilities go by their names.

    >>> tag_names([["N", "?"]], {"bark": ["V", "N"]}, n_tags=4)
    ('N', 'V', 'T0', 'T1')
    >>> tag_names([], {}, n_tags=3, others=["sun", "rain"])
    ('sun', 'rain', 'T0')
    """
    named = {name for tags in labels for tag in tags for name in _names(tag)} - {UNKNOWN}
    named.update(tag for tags in dictionary.values() for tag in tags)
    total = len(named) if n_tags is None else n_tags
    if total < max(len(named), 1):
        raise ValueError(
            f"n_tags is {n_tags}, and labels and dictionary name {len(named)} tags; expected at "
            "least one tag, and no fewer than are named. To learn from words alone say how many "
            "tags there are: n_tags=..."
        )
    more = dict.fromkeys([*others, *(f"T{i}" for i in range(2 * total))])
    induced = [name for name in more if name not in named]
    return (*sorted(named), *induced[: total - len(named)])


def end_to_end(sequences: Iterable[Sequence[Any]]) -> list[Any]:
    """The items of all sequences in one list."""
    return [item for sequence in sequences for item in sequence]


def _names(tag: Any) -> Iterable[str]:
    return (tag,) if isinstance(tag, str) else tag


def _looked_up(numbers: Mapping[Any, int], items: list[Any]) -> IntArray:
    return np.array([numbers.get(item, -1) for item in items], dtype=np.int64)
