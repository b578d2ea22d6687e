"""Which words a translator may write: translations, insertions and copies, from Model 1."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from partita.arrays import Array, IntArray
from partita.estimators import files
from partita.estimators.alignment.em import EmCourse
from partita.estimators.alignment.material import PairMaterial
from partita.estimators.alignment.model1 import WordTable
from partita.estimators.alignment.proposals import Proposals
from partita.estimators.groups import Runs
from partita.estimators.translation.pairs import NumberedPairs, PairsInMemory, TranslationPairs
from partita.features.word_pairs import PROPOSAL_VALUES, logarithms
from partita.kept import kept_array
from partita.kernels.bitext import model1
from partita.text.views import end
from partita.text.word_vocabulary import (
    N_RESERVED,
    NULL,
    UNKNOWN,
    Numbered,
    WordVocabulary,
)
from partita.training import TrainingResult
from partita.training.threads import in_threads
from partita.training.workers import Workers

N_CLASSES = 120
"""Frequent source words that are a class of their own; others are known by their ending."""

LEAST_PROBABILITY = 1e-3
"""Of a translation, in one of the directions. Decoding tries every translation of every word, and
less likely ones bring nothing; aligners, which know both sides, lose by leaving them out."""


PAIRS_AT_ONCE = 1024
"""Whose lost words a thread looks for; their cells stay in a cache."""


@dataclass(frozen=True)
class LexiconOptions:
    """How large a lexicon may be."""

    n_translations: int = 12
    """Most translations of a word."""
    n_insertions: int = 40
    """Words that may be inserted anywhere."""
    n_companions: int = 4
    """Words that may be inserted behind a certain word only."""
    n_iterations: int = 5
    """Of Model 1, in each direction."""


@dataclass(frozen=True, eq=False)
class TranslationLexicon:
    """The words of both sides, and what a source word may become.

    `translations` has the values of `PROPOSAL_VALUES`, with the best words first; `companions` has
    log t(y | x) of words to be inserted behind x.
    """

    source: WordVocabulary
    target: WordVocabulary
    translations: Proposals
    companions: Proposals
    insertions: IntArray
    """Words that may be inserted anywhere."""

    @classmethod
    def learn(
        cls, pairs: PairMaterial, options: LexiconOptions | None = None, runs: Runs | None = None
    ) -> Self:
        """Model 1 in both directions on a bitext, and the best pairs of words in either.

        Translations are those of `Proposals.learn`. A target word counts as inserted where the best
        link of Model 1 is to the empty word, or to a source word that has a likelier partner;
        frequently inserted words may be inserted anywhere, others behind the word whose partner
        they lost.

        >>> from partita.estimators.alignment.material import read_pairs
        >>> pairs = read_pairs([["la", "maison"], ["la"]], [["the", "house"], ["the"]])
        >>> lexicon = TranslationLexicon.learn(pairs)
        >>> lexicon.target.names[lexicon.choices(lexicon.source.number("la"))[0]]
        'the'
        """
        runs = runs or Runs(progress=False, workers=1)
        return cls.learn_run(PairsInMemory(pairs), options or LexiconOptions(), runs)[0]

    @classmethod
    def learn_run(
        cls, pairs: TranslationPairs, options: LexiconOptions, runs: Runs
    ) -> tuple[Self, TrainingResult]:
        """The same, and how the run of Model 1 went."""
        sides, models, training, _ = pairs.directions(EmCourse(options.n_iterations), runs)
        sizes = len(sides[0]), len(sides[1])
        tables = models[0].table, models[1].table
        n_threads = Workers.of(runs.workers).n_threads
        translations = Proposals.learn(
            sides, tables, options.n_translations, LEAST_PROBABILITY, n_threads=n_threads
        )
        anywhere, behind = Counter[int](), Counter[tuple[int, int]]()
        for found in pairs.each(_InsertionFinder(tables[0], n_threads), sides):
            anywhere.update(found[0])
            behind.update(found[1])
        insertions = np.array(
            sorted(word for word, _ in anywhere.most_common(options.n_insertions)), dtype=np.int64
        )
        companions = _companions(behind, set(insertions.tolist()), options.n_companions)
        logs = logarithms(tables[0].probability(companions[:, 0], companions[:, 1]))
        held = Proposals.of(companions, logs[:, np.newaxis], sizes[0])
        return cls(sides[0], sides[1], translations, held, insertions), training

    def choices(self, word: int) -> list[int]:
        """The translations of a source word, the likeliest in both directions first."""
        start, end = self.translations.offsets[word : word + 2]
        return list(map(int, self.translations.targets[start:end]))

    @property
    def most_links(self) -> int:
        """Most translations of a word; a copy counts."""
        return max(self.translations.most, 1)

    @property
    def most_insertions(self) -> int:
        """Most words that may be inserted at a place."""
        return len(self.insertions) + self.companions.most

    @cached_property
    def feature_words(self) -> IntArray:
        """The number by which features know each source word: rare words are like unknown ones."""
        numbers = np.arange(len(self.source))
        numbers[self.source.counts < 2] = UNKNOWN
        return numbers

    @cached_property
    def classes(self) -> IntArray:
        """A class for each source word: itself if it is frequent, else its last three letters."""
        endings: dict[str, int] = {}
        classes = np.arange(len(self.source))
        for number, name in enumerate(self.source.names):
            if number >= N_RESERVED + N_CLASSES:
                ending = end(name, 3)
                classes[number] = N_CLASSES + N_RESERVED + endings.setdefault(ending, len(endings))
        return classes

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {"source": self.source.header(), "target": self.target.header()}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        arrays: dict[str, Array] = {"insertions": self.insertions}
        for name in ("source", "target", "translations", "companions"):
            arrays |= files.prefixed(name, getattr(self, name).arrays())
        return arrays

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The lexicon that `header` and `arrays` describe."""
        source, target = (
            WordVocabulary.restored(header[side], files.under(side, arrays))
            for side in ("source", "target")
        )
        sizes = len(source), len(target)
        return cls(
            source,
            target,
            Proposals.restored(files.under("translations", arrays), *sizes, len(PROPOSAL_VALUES)),
            Proposals.restored(files.under("companions", arrays), *sizes, 1),
            kept_array(arrays, "insertions", np.int64, None, below=len(target)),
        )


@dataclass(frozen=True)
class _InsertionFinder:
    """How often each target word is inserted, and behind which source words (0 for none)."""

    forward: WordTable
    n_threads: int

    def __call__(self, pairs: NumberedPairs) -> tuple[Counter[int], Counter[tuple[int, int]]]:
        """Of some pairs; words are counted as they come, which decides between equals."""
        anywhere, behind = Counter[int](), Counter[tuple[int, int]]()
        starts = range(0, len(pairs.source), PAIRS_AT_ONCE)
        some = [
            [side.between(first, min(first + PAIRS_AT_ONCE, len(side))) for first in starts]
            for side in (pairs.source, pairs.target)
        ]
        for partners, words in in_threads(self._lost, *some, n_threads=self.n_threads):
            lost = words.tolist()
            anywhere.update(lost)
            behind.update(zip(partners.tolist(), lost, strict=True))
        return anywhere, behind

    def _lost(self, x: Numbered, y: Numbered) -> tuple[IntArray, IntArray]:
        """The words that are inserted, and those that each of them is behind."""
        partners, words = np.empty((2, len(y.numbers)), dtype=np.int64)
        cells = self.forward.cells(x, y)
        count = model1.without_partner(
            cells, x.numbers, x.offsets, y.numbers, y.offsets, partners, words
        )
        return partners[:count], words[:count]


def _companions(behind: Counter[tuple[int, int]], known: set[int], most: int) -> IntArray:
    """Pairs (source, target): what is inserted behind a source word, but not anywhere."""
    found: dict[int, list[int]] = {}
    for (word, other), _ in behind.most_common():
        held = found.setdefault(word, [])
        if word != NULL and other not in known and len(held) < most:
            held.append(other)
    pairs = [(word, other) for word, others in found.items() for other in others]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
