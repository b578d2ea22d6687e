"""Translators from files: workers read and encode their own blocks, in the order of memory.

Pairs are dealt to batches by their length, wherever they stand; so their texts are written down
where all workers see them, and a batch is made by whoever is free.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from partita.arrays import BoolArray, IntArray
from partita.data.bitext import Bitext
from partita.data.bitext_files import BitextBlock, BitextFiles
from partita.estimators.alignment.em import EmCourse
from partita.estimators.alignment.from_files import (
    LearntDirections,
    PairBlock,
    PairReader,
    learn_from_blocks,
)
from partita.estimators.alignment.latent import (
    PAIRS_PER_BATCH,
    Latent,
    PairFamily,
    ReachedPairs,
    dealt,
    learn_reached,
    reachable,
    short_first,
)
from partita.estimators.alignment.material import PairCounts, PairMaterial, evenly, read_pairs
from partita.estimators.blocks import BlockPasses, cache_folder
from partita.estimators.groups import Runs
from partita.estimators.runs import RunPlan, preparing
from partita.estimators.translation.pairs import NumberedPairs, Vocabularies, counted_words
from partita.training import Batch
from partita.training.digests import digest_of_parts

Result = TypeVar("Result")
Words = tuple[str, ...]

BATCHES_PER_FILE = 64
"""Batches that a worker makes at a time."""


@dataclass(frozen=True)
class ChosenBlock:
    """Some pairs of a block."""

    block: BitextBlock
    places: IntArray
    """Among its lines, ascending."""

    @property
    def number(self) -> int:
        """That of the block."""
        return self.block.number

    @property
    def digest(self) -> bytes:
        """Tells the chosen pairs from others."""
        return digest_of_parts([self.block.digest, self.places.tobytes()]).encode()

    def bitexts(self) -> Iterator[Bitext]:
        """The pairs, some thousands at a time where they stream."""
        first = 0
        for bitext in self.block.bitexts():
            ends = np.searchsorted(self.places, [first, first + len(bitext)])
            chosen = (self.places[ends[0] : ends[1]] - first).tolist()
            yield Bitext(tuple(bitext.pairs[place] for place in chosen), bitext.name)
            first += len(bitext)


class _ShortLines(NamedTuple):
    """What has to be known of a block, to choose among its pairs."""

    counts: PairCounts
    places: IntArray
    """The lines of short pairs."""
    lengths: IntArray
    """(2, n): words of their source and target sentences."""


@dataclass(frozen=True)
class _ShortFinder:
    """The first pass."""

    max_words: int

    def __call__(self, block: BitextBlock) -> _ShortLines:
        """The short pairs of a block."""
        lengths = [np.zeros((2, 0), dtype=np.int64)]
        for bitext in block.bitexts():
            lengths.append(np.array(read_pairs(bitext.source, bitext.target).lengths))
        every = np.concatenate(lengths, axis=1)
        is_full: BoolArray = every.min(axis=0) > 0
        is_short = is_full & (every.max(axis=0) <= self.max_words)
        counts = PairCounts(len(is_full), n_empty=int((~is_full).sum()))
        counts = counts.plus("n_long", int(is_full.sum() - is_short.sum()))
        return _ShortLines(counts, np.flatnonzero(is_short), every[:, is_short])


def full_pairs(pairs: PairMaterial) -> PairMaterial:
    """Those that have words on both sides; a function that can be sent to workers."""
    return pairs.full()


def _same(pairs: PairMaterial) -> PairMaterial:
    return pairs


@dataclass(frozen=True)
class PairsOfFiles:
    """Pairs that stay in their files."""

    passes: BlockPasses[Any]
    """Over blocks with these pairs, and such with empty sides."""
    counts: PairCounts
    known_lengths: IntArray
    """(2, n)."""
    scratch: Path
    """Where what is read in another order is written down."""

    @classmethod
    @contextmanager
    def of(
        cls, files: BitextFiles, max_words: int, most: int | None, runs: Runs
    ) -> "Iterator[tuple[PairsOfFiles, PairsOfFiles]]":
        """All pairs with words on both sides, and at most so many of the short ones."""
        before = preparing(runs)
        with cache_folder(before) as folder, cache_folder(runs) as scratch:
            passes = BlockPasses(files.blocks, folder, before)
            found = list(passes.each(_ShortFinder(max_words)))
            counts = PairCounts(0)
            for each in found:
                counts = counts.together(each.counts)
            lengths = np.concatenate([each.lengths for each in found], axis=1)
            every = PairCounts(counts.n_pairs, n_empty=counts.n_empty)
            # Only the short ones' lengths are asked for.
            full = cls(passes, every, np.zeros((2, every.n_used), dtype=np.int64), scratch)
            blocks = [
                ChosenBlock(block, each.places)
                for block, each in zip(files.blocks, found, strict=True)
            ]
            short = cls(BlockPasses(blocks, folder, before), counts, lengths, scratch)
            yield full, short.thinned(most)

    def __len__(self) -> int:
        return self.counts.n_used

    @property
    def lengths(self) -> tuple[IntArray, IntArray]:
        """Words of each source and target sentence."""
        source, target = self.known_lengths
        return source, target

    def thinned(self, most: int | None) -> "PairsOfFiles":
        """At most so many, evenly spread over all."""
        is_kept = evenly(len(self), most)
        return self._kept(is_kept, self.counts.plus("n_spare", int((~is_kept).sum())))

    def part(self, places: range) -> "PairsOfFiles":
        """Neighbouring pairs, as if these were all that came."""
        is_kept = np.zeros(len(self), dtype=np.bool_)
        is_kept[places.start : places.stop] = True
        return self._kept(is_kept, PairCounts(len(places)))

    def _kept(self, is_kept: BoolArray, counts: PairCounts) -> "PairsOfFiles":
        first, blocks = 0, []
        for block in self.passes.blocks:
            last = first + len(block.places)
            blocks.append(ChosenBlock(block.block, block.places[is_kept[first:last]]))
            first = last
        passes = BlockPasses(blocks, self.passes.folder, self.passes.options)
        return PairsOfFiles(passes, counts, self.known_lengths[:, is_kept], self.scratch)

    def held(self) -> PairMaterial:
        """All of them, in memory."""
        found = list(self._each(_same))
        source, target = (
            tuple(chain.from_iterable(getattr(each, side) for each in found))
            for side in ("source", "target")
        )
        return PairMaterial(source, target, self.counts)

    def each(
        self,
        function: Callable[[NumberedPairs], Result],
        words: Vocabularies,
    ) -> Iterator[Result]:
        """What a function says of some pairs at a time, by all workers."""
        return self._each(_OfNumbered(function, words))

    def _each(self, function: Callable[[PairMaterial], Result]) -> Iterator[Result]:
        return chain.from_iterable(self.passes.each(_OfChunks(function)))

    def directions(self, course: EmCourse, runs: Runs) -> LearntDirections:
        """Vocabularies, and generative models of both directions."""
        return learn_from_blocks(self.passes, PairReader(full_pairs), counted_words, course)

    def latent(
        self,
        family: PairFamily[Any],
        held_out: PairMaterial | None,
        way: Callable[[int], RunPlan],
        runs: Runs,
    ) -> Latent:
        """A conditional random field, whose batches are made by all workers."""
        reached = self._reached(family, runs)
        return learn_reached(family, reached, held_out, way, runs)

    def _reached(self, family: PairFamily[Any], runs: Runs) -> ReachedPairs:
        found = list(self.passes.each(_Reaching(family, str(self.scratch))))
        is_reached = np.concatenate([each.is_reached for each in found])
        counts = self.counts.plus("n_unreachable", int((~is_reached).sum()))
        places = np.flatnonzero(is_reached)
        order = places[short_first((self.known_lengths[0, places], self.known_lengths[1, places]))]
        batches = [order[each] for each in dealt(len(order))]
        texts = digest_of_parts(each.digest for each in found)
        groups = [
            _BatchGroup(number, tuple(batches[first : first + BATCHES_PER_FILE]), texts)
            for number, first in enumerate(range(0, len(batches), BATCHES_PER_FILE))
        ]
        written = PairTexts(str(self.scratch), np.cumsum([0, *(len(e.is_reached) for e in found)]))
        passes = BlockPasses(groups, self.scratch, runs)
        stored = passes.batches(_GroupEncoder(family, written), family)
        return ReachedPairs(len(order), stored, counts)


@dataclass(frozen=True)
class _OfChunks:
    """A function of some pairs, for each chunk of a block."""

    function: Callable[[PairMaterial], Any]

    def __call__(self, block: PairBlock) -> list[Any]:
        return [self.function(pairs) for pairs in PairReader(full_pairs).chunks(block)]


@dataclass(frozen=True)
class _OfNumbered:
    """A function of some pairs, whose words get numbers before."""

    function: Callable[[NumberedPairs], Any]
    words: Vocabularies

    def __call__(self, pairs: PairMaterial) -> Any:
        return self.function(NumberedPairs(pairs, self.words))


class _Reached(NamedTuple):
    """Which pairs of a block have a derivation; and what tells their texts from others."""

    is_reached: BoolArray
    digest: bytes


@dataclass(frozen=True)
class _Reaching:
    """A pass that tries pairs, and writes down their texts."""

    family: PairFamily[Any]
    folder: str

    def __call__(self, block: ChosenBlock) -> _Reached:
        """Of the pairs of a block."""
        texts: list[bytes] = []
        is_reached = [np.zeros(0, dtype=np.bool_)]
        for pairs in PairReader(full_pairs).chunks(block):
            starts = range(0, len(pairs), PAIRS_PER_BATCH)
            is_reached += [reachable(self.family, pairs, start)[1] for start in starts]
            both = zip(pairs.source, pairs.target, strict=True)
            # Neither a blank nor the end of a line is within a word.
            texts += ["\n".join(map(" ".join, pair)).encode() for pair in both]
        PairTexts.write(self.folder, block.number, texts)
        digest = hashlib.blake2b(b"\n\n".join(texts), digest_size=16).digest()
        return _Reached(np.concatenate(is_reached), digest)


@dataclass(frozen=True)
class PairTexts:
    """The words of all pairs, in files that are mapped into memory."""

    folder: str
    ends: IntArray
    """The pairs of block k are those from ends[k] to ends[k + 1]."""

    @staticmethod
    def write(folder: str, number: int, texts: Sequence[bytes]) -> None:
        """Those of a block."""
        places = np.cumsum([0, *map(len, texts)])
        for name, array in (("texts", np.frombuffer(b"".join(texts), np.uint8)), ("ends", places)):
            np.save(Path(folder) / f"{name}-{number}.npy", array)

    def pairs(self, places: IntArray) -> list[tuple[Words, Words]]:
        """Source and target words of some pairs."""
        blocks = np.searchsorted(self.ends, places, side="right") - 1
        opened = {block: self._opened(block) for block in np.unique(blocks).tolist()}
        found = []
        for block, place in zip(
            blocks.tolist(), (places - self.ends[blocks]).tolist(), strict=True
        ):
            texts, ends = opened[block]
            text = bytes(texts[ends[place] : ends[place + 1]]).decode()
            source, target = text.split("\n")
            found.append((tuple(source.split(" ")), tuple(target.split(" "))))
        return found

    def _opened(self, block: int) -> tuple[Any, Any]:
        names = (f"texts-{block}.npy", f"ends-{block}.npy")
        texts, ends = (np.load(Path(self.folder) / name, mmap_mode="r") for name in names)
        return texts, ends


@dataclass(frozen=True)
class _BatchGroup:
    """Some batches, by their pairs among all."""

    number: int
    batches: tuple[IntArray, ...]
    texts: str

    @property
    def digest(self) -> bytes:
        """Tells these batches from others."""
        parts = [self.texts.encode(), *(each.tobytes() for each in self.batches)]
        return digest_of_parts(parts).encode()


@dataclass(frozen=True)
class _GroupEncoder:
    """The last pass."""

    family: PairFamily[Any]
    written: PairTexts

    def __call__(self, group: _BatchGroup) -> Iterator[Batch]:
        """The batches, one at a time."""
        pairs = iter(self.written.pairs(np.concatenate(group.batches)))
        for places in group.batches:
            source, target = zip(*islice(pairs, len(places)), strict=True)
            yield self.family.batch(self.family.encode(source, target))
