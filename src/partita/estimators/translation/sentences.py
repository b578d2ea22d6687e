"""A source sentence as a translator sees it: its words, and the rules that apply to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.estimators.alignment.latent import Bound
from partita.estimators.translation.lexicon import TranslationLexicon
from partita.features.source_rules import SourceRules
from partita.grammars.choices import TargetChoices, ranges
from partita.grammars.source_parts import SourceParts
from partita.kernels.features.translation import PAD
from partita.structures.batch import offsets as offsets_of
from partita.text.word_vocabulary import UNKNOWN, Numbered

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

    def target_text(self, lexicon: TranslationLexicon, numbers: Sequence[int]) -> tuple[str, ...]:
        """The words of a translation."""
        names, n_target = lexicon.target.names, self.n_target
        return tuple(
            names[number] if number < n_target else self.text[number - n_target]
            for number in numbers
        )


class _PlacedWords(NamedTuple):
    """Words that may stand at the words, or at the boundaries, of sentences laid end to end."""

    choices: TargetChoices
    kinds: IntArray
    values: FloatArray

    def between(self, first: int, end: int) -> "_PlacedWords":
        """Those of one sentence: the groups from `first` to `end`."""
        offsets = self.choices.offsets[first : end + 1]
        some = slice(offsets[0], offsets[-1])
        choices = TargetChoices(self.choices.words[some], offsets - offsets[0])
        return _PlacedWords(choices, self.kinds[some], self.values[some])


def target_numbers(
    lexicon: TranslationLexicon,
    sentences: Sequence[SourceSentence],
    targets: Sequence[Sequence[str]],
) -> list[IntArray]:
    """Translations as numbers; an unknown word is the copy of its equal, else -1."""
    found = []
    each = zip(sentences, targets, lexicon.target.encode(targets), strict=True)
    for sentence, target, known in each:
        numbers = known.astype(np.int64)
        for place in np.flatnonzero(numbers == UNKNOWN).tolist():
            text, word = sentence.text, target[place]
            numbers[place] = sentence.n_target + text.index(word) if word in text else -1
        found.append(numbers)
    return found


def encode_sources(
    lexicon: TranslationLexicon, sentences: Sequence[Sequence[str]], bound: Bound
) -> list[SourceSentence]:
    """Sentences with their translations, copies and insertions; O(words of all lists)."""
    texts = [tuple(words) for words in sentences]
    numbered = lexicon.source.encode(texts)
    links, insertions = _links(lexicon, texts, numbered), _insertions(lexicon, numbered)
    words, classes = _padded(lexicon, numbered)
    starts, found = numbered.offsets.tolist(), []
    for index, (start, end) in enumerate(pairwise(starts)):
        own = links.between(start, end)
        # A sentence has one boundary more than words.
        inserted = insertions.between(start + index, end + index + 1)
        seen = slice(start + 2 * PAD * index, end + 2 * PAD * (index + 1))
        rules = SourceRules(
            SourceParts(own.choices, inserted.choices, bound.of(end - start)),
            words[seen],
            classes[seen],
            # To features copies are all alike.
            np.minimum(own.choices.words, len(lexicon.target)),
            own.kinds,
            own.values,
            inserted.kinds,
            inserted.values,
        )
        found.append(SourceSentence(texts[index], rules, len(lexicon.target)))
    return found


def _padded(lexicon: TranslationLexicon, numbered: Numbered) -> tuple[IntArray, IntArray]:
    """Words and classes as features know them, with zeros on both sides of each sentence."""
    before = 2 * PAD * np.arange(len(numbered)) + PAD
    places = ranges(numbered.offsets[:-1] + before, numbered.offsets[1:] + before)
    words, classes = np.zeros((2, len(places) + 2 * PAD * len(numbered)), dtype=np.int64)
    words[places] = lexicon.feature_words[numbered.numbers]
    classes[places] = lexicon.classes[numbered.numbers]
    return words, classes


def _links(
    lexicon: TranslationLexicon, texts: Sequence[tuple[str, ...]], numbered: Numbered
) -> _PlacedWords:
    """The translations of each word; its copy where it has none."""
    choices, entries = lexicon.translations.choices(numbered.numbers.astype(np.int64))
    words, starts = choices.words, choices.offsets
    values = lexicon.translations.values[entries]
    rank = np.arange(len(entries)) - np.repeat(starts[:-1], np.diff(starts))
    kinds = np.minimum(rank, 3) * 5 + np.ceil(values[:, 2] * 4).astype(np.int64)
    without = np.flatnonzero(np.diff(starts) == 0)
    if without.size == 0:
        return _PlacedWords(choices, kinds, values)
    sentence = np.searchsorted(numbered.offsets, without, side="right") - 1
    copies = [
        _copy(lexicon, texts[index], place)
        for index, place in zip(
            sentence.tolist(), (without - numbered.offsets[sentence]).tolist(), strict=True
        )
    ]
    places = starts[without]
    values = np.insert(values, places, np.array(COPY_VALUES), axis=0)
    more = np.concatenate([[0], np.cumsum(np.diff(starts) == 0)])
    choices = TargetChoices(np.insert(words, places, copies), starts + more)
    return _PlacedWords(choices, np.insert(kinds, places, COPIED), values)


def _copy(lexicon: TranslationLexicon, text: tuple[str, ...], place: int) -> int:
    number = lexicon.target.number(text[place])
    # Equal words have equal numbers, or a target would be told apart from itself.
    return len(lexicon.target) + text.index(text[place]) if number == UNKNOWN else number


def _insertions(lexicon: TranslationLexicon, numbered: Numbered) -> _PlacedWords:
    """At each boundary what may be inserted anywhere, and the companions of the word before."""
    anywhere, n_words = lexicon.insertions, numbered.n_words
    companions, entries = lexicon.companions.choices(numbered.numbers.astype(np.int64))
    n_boundaries = int((n_words + 1).sum())
    n_companions = np.zeros(n_boundaries, dtype=np.int64)
    behind = np.arange(n_words.sum()) + np.repeat(np.arange(len(n_words)), n_words) + 1
    n_companions[behind] = np.diff(companions.offsets)
    offsets = offsets_of(len(anywhere) + n_companions)
    is_companion = np.zeros(offsets[-1], dtype=np.bool_)
    is_companion[ranges(offsets[1:] - n_companions, offsets[1:])] = True
    words, values = np.empty(offsets[-1], dtype=np.int64), np.zeros((offsets[-1], 1))
    words[~is_companion] = np.tile(anywhere, n_boundaries)
    words[is_companion] = companions.words
    values[is_companion] = lexicon.companions.values[entries]
    kinds = np.where(is_companion, COMPANION, ANYWHERE)
    return _PlacedWords(TargetChoices(words, offsets), kinds, values)
