"""A source sentence as a translator sees it: its words, and the rules that apply to them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.estimators.translation.lexicon import TranslationLexicon
from partita.features.source_rules import SourceRules
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
    """Words, and the rules that apply to them.

    Target words have the numbers of the lexicon; the copy of an unknown word has the number
    n_target + s, where s is the first place of that word in the sentence.
    """

    text: tuple[str, ...]
    rules: SourceRules
    n_target: int
    """Words of the lexicon's target side; higher numbers are copies."""

    @property
    def parts(self) -> SourceParts:
        """The rules as parts of derivations."""
        return self.rules.parts

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
    rules = SourceRules(
        SourceParts(links, insertions, longest),
        np.pad(lexicon.feature_words[numbers], PAD),
        np.pad(lexicon.classes[numbers], PAD),
        # To features copies are all alike.
        np.minimum(links.words, len(lexicon.target)),
        kinds,
        values,
        insertion_kinds,
        insertion_values,
    )
    return SourceSentence(text, rules, len(lexicon.target))


def _links(
    lexicon: TranslationLexicon, text: tuple[str, ...], numbers: IntArray
) -> tuple[TargetChoices, IntArray, FloatArray]:
    """The translations of each word; its copy where it has none."""
    choices, entries = lexicon.translations.choices(numbers)
    words, starts = choices.words, choices.offsets
    values = lexicon.translations.values[entries]
    rank = np.arange(len(entries)) - np.repeat(starts[:-1], np.diff(starts))
    kinds = np.minimum(rank, 3) * 5 + np.ceil(values[:, 2] * 4).astype(np.int64)
    without = np.flatnonzero(np.diff(starts) == 0)
    if without.size == 0:
        return choices, kinds, values
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
    anywhere = lexicon.insertions
    companions, entries = lexicon.companions.choices(numbers)
    n_companions = np.concatenate([[0], np.diff(companions.offsets)])
    offsets = np.concatenate([[0], np.cumsum(len(anywhere) + n_companions)])
    is_companion = np.zeros(offsets[-1], dtype=np.bool_)
    for boundary in range(1, len(numbers) + 1):
        is_companion[offsets[boundary + 1] - n_companions[boundary] : offsets[boundary + 1]] = True
    words, values = np.empty(offsets[-1], dtype=np.int64), np.zeros((offsets[-1], 1))
    words[~is_companion] = np.tile(anywhere, len(numbers) + 1)
    words[is_companion] = companions.words
    values[is_companion] = lexicon.companions.values[entries]
    return TargetChoices(words, offsets), np.where(is_companion, COMPANION, ANYWHERE), values
