"""The pairs that a grammar learns from: in memory, or some of those of files."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import is_
from typing import Any, Protocol, Self, TypeVar

from partita.arrays import IntArray
from partita.estimators.alignment.em import EmCourse, learn_directions
from partita.estimators.alignment.from_files import LearntDirections
from partita.estimators.alignment.latent import Latent, PairFamily, learn_latent
from partita.estimators.alignment.material import PairCounts, PairMaterial
from partita.estimators.groups import Runs
from partita.estimators.runs import RunPlan, preparing
from partita.garbage import unsought
from partita.text.word_vocabulary import Numbered, WordVocabulary

Result = TypeVar("Result")
Vocabularies = tuple[WordVocabulary, WordVocabulary]
"""Of both sides."""


@dataclass(frozen=True, eq=False)
class NumberedPairs:
    """Pairs whose words have numbers; a side gets them when somebody asks."""

    material: PairMaterial
    words: Vocabularies

    @cached_property
    def source(self) -> Numbered:
        """The source sentences."""
        return self.words[0].encode(self.material.source)

    @cached_property
    def target(self) -> Numbered:
        """The target sentences."""
        return self.words[1].encode(self.material.target)


class TranslationPairs(Protocol):
    """Pairs that have words on both sides, wherever they are."""

    @property
    def counts(self) -> PairCounts:
        """How many of all they are, and why not the others."""

    def __len__(self) -> int:
        """How many there are."""

    @property
    def lengths(self) -> tuple[IntArray, IntArray]:
        """Words of each source and target sentence."""

    def part(self, places: range) -> Self:
        """Neighbouring pairs, as if these were all that came."""

    def held(self) -> PairMaterial:
        """All of them, in memory."""

    def each(
        self, function: Callable[[NumberedPairs], Result], words: Vocabularies
    ) -> Iterator[Result]:
        """What a function says of some pairs at a time, which together are all, in order."""

    def directions(self, course: EmCourse, runs: Runs) -> LearntDirections:
        """Vocabularies, and generative models of both directions."""

    def latent(
        self,
        family: PairFamily[Any],
        held_out: PairMaterial | None,
        way: Callable[[int], RunPlan],
        runs: Runs,
    ) -> Latent:
        """A conditional random field, as `learn_latent` does."""


@dataclass(frozen=True)
class PairsInMemory:
    """The pairs themselves, all at a time."""

    material: PairMaterial
    _numbered: list[NumberedPairs] = field(default_factory=list, init=False, repr=False)
    """The last ones, since numbering takes as long as what is asked of them."""

    @property
    def counts(self) -> PairCounts:
        """How many of all they are, and why not the others."""
        return self.material.counts

    def __len__(self) -> int:
        return len(self.material)

    @property
    def lengths(self) -> tuple[IntArray, IntArray]:
        """Words of each source and target sentence."""
        return self.material.lengths

    def part(self, places: range) -> "PairsInMemory":
        """Neighbouring pairs, as if these were all that came."""
        return PairsInMemory(self.material.select(places, PairCounts(len(places))))

    def held(self) -> PairMaterial:
        """They are."""
        return self.material

    def each(
        self, function: Callable[[NumberedPairs], Result], words: Vocabularies
    ) -> Iterator[Result]:
        """What a function says of all."""
        with unsought():
            found = function(self.numbered(words))
        yield found

    def numbered(self, words: Vocabularies) -> NumberedPairs:
        """All, with the numbers of these words."""
        if not (self._numbered and all(map(is_, self._numbered[0].words, words))):
            self._numbered[:] = [NumberedPairs(self.material, words)]
        return self._numbered[0]

    def directions(self, course: EmCourse, runs: Runs) -> LearntDirections:
        """Vocabularies, and generative models of both directions."""
        pairs = self.material
        with unsought():
            words = WordVocabulary.learn(pairs.source), WordVocabulary.learn(pairs.target)
            numbered = self.numbered(words)
            numbers = numbered.source, numbered.target
        models, training = learn_directions(
            (*numbers, len(words[0]), len(words[1])),
            course,
            weights=pairs.weights,
            runs=preparing(runs),
        )
        return LearntDirections(words, models, training, pairs.counts)

    def latent(
        self,
        family: PairFamily[Any],
        held_out: PairMaterial | None,
        way: Callable[[int], RunPlan],
        runs: Runs,
    ) -> Latent:
        """A conditional random field."""
        return learn_latent(family, self.material, held_out, way, runs)


def counted_words(counts: Mapping[str, int]) -> WordVocabulary:
    """The vocabulary of a side, from how often its words came; a function that can be sent."""
    return WordVocabulary.counted(counts)
