"""Generative aligners from files: words and their meetings are counted block by block."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from partita.arrays import IntArray
from partita.data.bitext import Bitext
from partita.data.bitext_files import BitextFiles
from partita.estimators.alignment.em import (
    EmCourse,
    EmLayout,
    Entries,
    Models,
    learn_batches,
    pair_batches,
)
from partita.estimators.alignment.generative import Generative, judging
from partita.estimators.alignment.material import PairCounts, PairMaterial, read_pairs
from partita.estimators.alignment.pairs import Meetings
from partita.estimators.blocks import BlockPasses, NumberedBlock, cache_folder
from partita.estimators.groups import Runs
from partita.text.merging import MergedCounts
from partita.text.word_vocabulary import WordVocabulary
from partita.training import Batch, TrainingResult

if TYPE_CHECKING:
    from partita.estimators.alignment.aligner import Aligner

Usable = Callable[[PairMaterial], PairMaterial]


class PairBlock(NumberedBlock, Protocol):
    """Some pairs of files."""

    def bitexts(self) -> Iterator[Bitext]:
        """The pairs, some thousands at a time where they stream."""


BlockT = TypeVar("BlockT", bound=PairBlock)


def fit_from_files(
    options: "Aligner",
    files: BitextFiles,
    course: EmCourse,
    held_out: PairMaterial | None,
    runs: Runs,
) -> tuple[Generative, TrainingResult, PairCounts]:
    """Models of both directions, and what became of the pairs."""
    with cache_folder(runs) as folder:
        passes = BlockPasses(files.blocks, folder, runs)
        reader = PairReader(options.usable_pairs())
        learnt = learn_from_blocks(passes, reader, options.vocabulary, course, held_out)
    return Generative.of(*learnt.words, learnt.models), learnt.training, learnt.counts


class LearntDirections(NamedTuple):
    """Vocabularies and models of both directions, how they were learnt, and from what."""

    words: tuple[WordVocabulary, WordVocabulary]
    models: Models
    training: TrainingResult
    counts: PairCounts


def learn_from_blocks(
    passes: BlockPasses[BlockT],
    reader: "PairReader",
    vocabulary: Callable[[Mapping[str, int]], WordVocabulary],
    course: EmCourse,
    held_out: PairMaterial | None = None,
) -> LearntDirections:
    """What `learn_directions` learns of pairs in memory, of pairs that stay in their files."""
    sides: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    counts, longest = PairCounts(0), (0, 0)
    for found in passes.each(reader.survey):
        for side, words in zip(sides, found.words, strict=True):
            side.update(words)
        counts = counts.together(found.counts)
        longest = max(longest[0], found.longest[0]), max(longest[1], found.longest[1])
    if not counts.n_used:
        raise ValueError(f"there is nothing to learn from ({counts}); see max_words.")
    source, target = (vocabulary(side) for side in sides)
    finder = _MeetingFinder(reader, source, target)
    merged = MergedCounts()
    for some in passes.each(finder):
        merged.add([(each, np.ones_like(each)) for each in some])
    keys = [each for each, _ in merged.total()]
    sizes = len(source), len(target)
    layout = EmLayout(
        course,
        (_entries(keys[0], *sizes), _entries(keys[1], *sizes[::-1])),
        (longest[0] + 1, longest[1] + 1),
    )
    encoder = _PairEncoder(finder, layout, (keys[0], keys[1]))
    stored = passes.batches(encoder, (layout, source, target))
    judge = None if held_out is None else judging((source, target), held_out)
    models, training = learn_batches(layout, stored, judge, passes.options)
    return LearntDirections((source, target), models, training, counts)


def _entries(keys: IntArray, n_source: int, n_target: int) -> Entries:
    rows, targets = np.divmod(keys, n_target)
    offsets = np.searchsorted(rows, np.arange(n_source + 1))
    return Entries(offsets, targets.astype(np.int32), n_target)


@dataclass(frozen=True)
class PairSurvey:
    """What all must know of the pairs of a block."""

    words: tuple[Counter[str], Counter[str]]
    counts: PairCounts
    longest: tuple[int, int]


@dataclass(frozen=True)
class PairReader:
    """The pairs of blocks, some thousands at a time."""

    usable: Usable

    def chunks(self, block: PairBlock) -> Iterator[PairMaterial]:
        """The pairs of a block that are learnt from."""
        for bitext in block.bitexts():
            yield self.usable(read_pairs(bitext.source, bitext.target))

    def survey(self, block: PairBlock) -> PairSurvey:
        """The first pass."""
        words: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        counts, longest = PairCounts(0), [0, 0]
        for pairs in self.chunks(block):
            counts = counts.together(pairs.counts)
            for side, texts in enumerate((pairs.source, pairs.target)):
                longest[side] = max([longest[side], *map(len, texts)])
                for text in texts:
                    words[side].update(text)
        return PairSurvey(words, counts, (longest[0], longest[1]))


@dataclass(frozen=True)
class _MeetingFinder:
    """The second pass: which words meet."""

    reader: PairReader
    source: WordVocabulary
    target: WordVocabulary

    def meetings(self, block: PairBlock) -> Iterator[list[Meetings]]:
        """Of some pairs, in both directions."""
        sizes = len(self.source), len(self.target)
        for pairs in self.reader.chunks(block):
            one, two = self.source.encode(pairs.source), self.target.encode(pairs.target)
            yield [Meetings.of(one, two, *sizes), Meetings.of(two, one, *sizes[::-1])]

    def __call__(self, block: PairBlock) -> list[IntArray]:
        """A key for each pair of words that meet in a block, ascending, in both directions."""
        found: list[IntArray] = [np.zeros(0, dtype=np.int64)] * 2
        for both in self.meetings(block):
            keys = self.keys(both)
            found = [np.union1d(old, new) for old, new in zip(found, keys, strict=True)]
        return found

    def keys(self, both: list[Meetings]) -> list[IntArray]:
        """Those of the entries of some pairs."""
        found = []
        for each, n_target in zip(both, (len(self.target), len(self.source)), strict=True):
            rows = np.repeat(np.arange(len(each.offsets) - 1), np.diff(each.offsets))
            found.append(rows * n_target + each.targets)
        return found


@dataclass(frozen=True)
class _PairEncoder:
    """The last pass."""

    finder: _MeetingFinder
    layout: EmLayout
    keys: tuple[IntArray, IntArray]

    def __call__(self, block: PairBlock) -> Iterator[Batch]:
        """The cells of a block."""
        for both in self.finder.meetings(block):
            own = self.finder.keys(both)
            numbered = [
                each.with_entries(self._places(known, keys))
                for each, known, keys in zip(both, self.keys, own, strict=True)
            ]
            yield from pair_batches(self.layout, numbered, None)

    def _places(self, known: IntArray, keys: IntArray) -> NDArray[np.int32]:
        return np.searchsorted(known, keys).astype(np.int32)
