"""CRF aligners from files: workers say how long pairs are, and send those that are chosen."""

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from partita.arrays import IntArray
from partita.data.bitext_files import BitextBlock, BitextFiles
from partita.estimators.alignment.from_files import PairReader, fit_from_files
from partita.estimators.alignment.itg_links import ItgLinks
from partita.estimators.alignment.latent import Bound
from partita.estimators.alignment.material import PairCounts, PairMaterial, evenly
from partita.estimators.alignment.models import ItgAlignment, LearntLinks
from partita.estimators.blocks import BlockPasses, cache_folder
from partita.estimators.runs import preparing

if TYPE_CHECKING:
    from partita.estimators.alignment.aligner import Aligner


def fit_crf_from_files(
    options: "Aligner", files: BitextFiles, model: ItgAlignment, held_out: PairMaterial | None
) -> tuple[LearntLinks[ItgLinks], PairCounts]:
    """What the model learnt, and what became of the pairs."""
    before = preparing(options)
    generative, training, counts = fit_from_files(options, files, model.course(), None, before)
    with cache_folder(before) as folder:
        passes = BlockPasses(files.blocks, folder, before)
        reader = ShortReader(PairReader(options.usable_pairs()), model.training_words)
        short = ShortPairsOfFiles(passes, reader, tuple(passes.each(reader)))
        return model.learn_from(generative, training, short, held_out, options), counts


class ShortPairTable(NamedTuple):
    """The short pairs of a block: four numbers for each of them, not their texts."""

    lengths: IntArray
    """(2, n): words of each source and target sentence."""
    keys: IntArray
    """(n, 2): 128 bits of each pair, which no two different ones share."""
    n_usable: int


@dataclass(frozen=True)
class ShortReader:
    """Short pairs of blocks, in their order."""

    reader: PairReader
    most_words: int

    def pairs(self, block: BitextBlock) -> "tuple[list[tuple[tuple[str, ...], ...]], int]":
        """The pairs, and of how many they are the short ones."""
        found: list[tuple[tuple[str, ...], ...]] = []
        n_usable = 0
        for pairs in self.reader.chunks(block):
            n_usable += len(pairs)
            short = pairs.short(self.most_words)
            found += zip(short.source, short.target, strict=True)
        return found, n_usable

    def __call__(self, block: BitextBlock) -> ShortPairTable:
        """What has to be known of them all, to choose among them."""
        pairs, n_usable = self.pairs(block)
        lengths = np.array([[len(side) for side in pair] for pair in pairs], dtype=np.int64)
        texts = ("\n".join(map(" ".join, pair)).encode() for pair in pairs)
        digests = b"".join(blake2b(text, digest_size=16).digest() for text in texts)
        keys = np.frombuffer(digests, dtype=np.int64).reshape(-1, 2)
        return ShortPairTable(lengths.reshape(-1, 2).T, keys, n_usable)


def first_of_each(keys: IntArray) -> IntArray:
    """The places, in order, of rows that did not come before.

    >>> first_of_each(np.array([[2, 1], [0, 1], [2, 1], [0, 0]]))
    array([0, 1, 3])
    """
    order = np.lexsort(keys.T)  # equal ones stay in their order
    is_new = np.ones(len(keys), dtype=np.bool_)
    is_new[1:] = (keys[order][1:] != keys[order][:-1]).any(axis=1)
    return np.sort(order[is_new])


@dataclass(frozen=True)
class _Sender:
    """The chosen pairs of blocks."""

    reader: ShortReader
    places: dict[int, list[int]]
    """By number of the block, places among its short pairs."""

    def __call__(self, block: BitextBlock) -> list[tuple[tuple[str, ...], ...]]:
        """Their words."""
        wanted = self.places[block.number]
        pairs = self.reader.pairs(block)[0] if wanted else []
        return [pairs[place] for place in wanted]


@dataclass(frozen=True)
class ShortPairsOfFiles:
    """Short pairs that stay in their files until they are chosen."""

    passes: BlockPasses[BitextBlock]
    reader: ShortReader
    tables: tuple[ShortPairTable, ...]
    is_swapped: bool = False

    @property
    def lengths(self) -> tuple[IntArray, IntArray]:
        """Words of each source and target sentence."""
        source, target = np.concatenate([each.lengths for each in self.tables], axis=1)
        return (target, source) if self.is_swapped else (source, target)

    def swapped(self) -> "ShortPairsOfFiles":
        """The other way round."""
        return replace(self, is_swapped=not self.is_swapped)

    def chosen(self, bound: Bound, most: int | None) -> PairMaterial:
        """The same pairs as of all in memory, in the same order."""
        n, m = self.lengths
        counts = PairCounts(sum(each.n_usable for each in self.tables))
        counts = counts.plus("n_long", counts.n_pairs - len(n))
        within = np.flatnonzero(m <= bound(n))
        keys = np.concatenate([each.keys for each in self.tables])[within]
        first = first_of_each(keys)
        places = within[first][evenly(len(first), most)]
        for reason, size in (
            ("n_beyond", len(n) - len(within)),
            ("n_repeated", len(within) - len(first)),
            ("n_spare", len(first) - len(places)),
        ):
            counts = counts.plus(reason, size)
        pairs = self._sent(places)
        source, target = (tuple(pair[side] for pair in pairs) for side in (0, 1))
        found = PairMaterial(source, target, counts)
        return found.swapped() if self.is_swapped else found

    def _sent(self, places: IntArray) -> list[tuple[tuple[str, ...], ...]]:
        """The pairs at some places among all, which ascend."""
        ends = np.cumsum([0, *(len(each.keys) for each in self.tables)])
        by_block = {
            block.number: (places[(places >= first) & (places < last)] - first).tolist()
            for block, first, last in zip(self.passes.blocks, ends[:-1], ends[1:], strict=True)
        }
        sender = _Sender(self.reader, by_block)
        return [pair for pairs in self.passes.each(sender) for pair in pairs]
