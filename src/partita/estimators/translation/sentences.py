"""A source sentence as a translator sees it: its words, and the rules that apply to them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.estimators.translation.lexicon import TranslationLexicon
from partita.grammars.choices import TargetChoices
from partita.grammars.source_parts import SourceParts
from partita.kernels.features.translation import PAD
from partita.text.word_vocabulary import UNKNOWN

COPIED = 100
"""The kind of a link that copies an unknown word."""
COPY_VALUES = (-2.0, -2.0, 1.0)
"""Of such a link, which Model 1 knows nothing of: a copy is better than nothing."""
COMPANION, ANYWHERE = 1, 0
"""Kinds of an insertion."""


@dataclass(frozen=True, eq=False)
class SourceSentence:
    """Words, parts, and what features need of them.

    Target words have the numbers of the lexicon; the copy of an unknown word has the number
    n_target + s, where s is the first place of that word in the sentence.
    """

    text: tuple[str, ...]
    words: IntArray
    """As features know them, with `PAD` zeros on both sides."""
    classes: IntArray
    parts: SourceParts
    link_kinds: IntArray
    link_values: FloatArray
    """(n_links, 3): log t(y | x), log t(x | y), how alike both are spelt."""
    insertion_kinds: IntArray
    insertion_values: FloatArray
    """(n_insertions, 1): log t(y | x) of the word before, for its companions."""
    n_target: int
    """Words of the lexicon's target side; higher numbers are copies."""

    @property
    def link_words(self) -> IntArray:
        """The target word of each link, as features know it: copies are all alike."""
        return np.minimum(self.parts.links.words, self.n_target)

    def target_numbers(self, lexicon: TranslationLexicon, target: Sequence[str]) -> IntArray:
        """A translation as numbers; an unknown word is the copy of its equal, else -1."""
        numbers = [lexicon.target.number(word) for word in target]
        for place, number in enumerate(numbers):
            if number == UNKNOWN:
                word = target[place]
                numbers[place] = self.n_target + self.text.index(word) if word in self.text else -1
        return np.array(numbers, dtype=np.int64)

    def target_text(self, lexicon: TranslationLexicon, numbers: Sequence[int]) -> tuple[str, ...]:
        """The words of a translation."""
        names, n_target = lexicon.target.names, self.n_target
        return tuple(
            names[number] if number < n_target else self.text[number - n_target]
            for number in numbers
        )


def encode_source(
    lexicon: TranslationLexicon, words: Sequence[str], longest: int
) -> SourceSentence:
    """A sentence with its translations, copies and insertions; O(words of all lists)."""
    text = tuple(words)
    numbers = np.array([lexicon.source.number(word) for word in text], dtype=np.int64)
    links, kinds, values = _links(lexicon, text, numbers)
    insertions, insertion_kinds, insertion_values = _insertions(lexicon, numbers)
    return SourceSentence(
        text,
        np.pad(lexicon.feature_words[numbers], PAD),
        np.pad(lexicon.classes[numbers], PAD),
        SourceParts(links, insertions, longest),
        kinds,
        values,
        insertion_kinds,
        insertion_values,
        len(lexicon.target),
    )


def _links(
    lexicon: TranslationLexicon, text: tuple[str, ...], numbers: IntArray
) -> tuple[TargetChoices, IntArray, FloatArray]:
    """The translations of each word; its copy where it has none."""
    lists = lexicon.translations
    entries, starts = lists.rows(numbers)
    words, values = lists.targets[entries].astype(np.int64), lists.values[entries]
    rank = np.arange(len(entries)) - np.repeat(starts[:-1], np.diff(starts))
    kinds = np.minimum(rank, 3) * 5 + np.ceil(values[:, 2] * 4).astype(np.int64)
    without = np.flatnonzero(np.diff(starts) == 0)
    if without.size == 0:
        return TargetChoices(words, starts), kinds, values
    copies = np.array([_copy(lexicon, text, place) for place in without.tolist()])
    places = starts[without]
    values = np.insert(values, places, np.array(COPY_VALUES), axis=0)
    more = np.concatenate([[0], np.cumsum(np.diff(starts) == 0)])
    return (
        TargetChoices(np.insert(words, places, copies), starts + more),
        np.insert(kinds, places, COPIED),
        values,
    )


def _copy(lexicon: TranslationLexicon, text: tuple[str, ...], place: int) -> int:
    number = lexicon.target.number(text[place])
    # Equal words have equal numbers, or a target would be told apart from itself.
    return len(lexicon.target) + text.index(text[place]) if number == UNKNOWN else number


def _insertions(
    lexicon: TranslationLexicon, numbers: IntArray
) -> tuple[TargetChoices, IntArray, FloatArray]:
    """At each boundary what may be inserted anywhere, and the companions of the word before."""
    lists, anywhere = lexicon.companions, lexicon.insertions
    entries, starts = lists.rows(numbers)
    n_companions = np.concatenate([[0], np.diff(starts)])
    offsets = np.concatenate([[0], np.cumsum(len(anywhere) + n_companions)])
    is_companion = np.zeros(offsets[-1], dtype=np.bool_)
    for boundary in range(1, len(numbers) + 1):
        is_companion[offsets[boundary + 1] - n_companions[boundary] : offsets[boundary + 1]] = True
    words, values = np.empty(offsets[-1], dtype=np.int64), np.zeros((offsets[-1], 1))
    words[~is_companion] = np.tile(anywhere, len(numbers) + 1)
    words[is_companion] = lists.targets[entries]
    values[is_companion] = lists.values[entries]
    return TargetChoices(words, offsets), np.where(is_companion, COMPANION, ANYWHERE), values
