"""Which weights a batch touches, so that a mini-batch step need not visit all of them."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partita.arrays import Array, FloatArray, IntArray, SingleArray
from partita.features.base import FeatureMap
from partita.features.columns import ColumnBlock
from partita.kernels.features.changes import Marks
from partita.kernels.weights import updates
from partita.training.interruption import break_if_interrupted
from partita.training.threads import in_threads

_BYTES = updates.byte_places()


@dataclass(frozen=True)
class Support:
    """For each batch the blocks of weights that it touches, and for each weight how often."""

    bits: tuple[Array, ...]
    """For each batch, a bit for each block of `updates.WIDTH` weights."""
    visits: NDArray[np.uint32]
    """For each weight, the number of batches that touch it; (n_weights,)."""

    def blocks(self, indices: Sequence[int]) -> IntArray:
        """The blocks that some of the batches touch, in order."""
        union = np.bitwise_or.reduce([self.bits[index] for index in indices])
        blocks = np.empty(8 * len(union) + 8, dtype=np.int64)
        return blocks[: updates.unpack(union, *_BYTES, blocks)]

    @cached_property
    def shares(self) -> SingleArray:
        """One over the fraction of batches that touch each weight, 0 where none does; `padded`."""
        visits = self.visits
        shares = np.zeros(padded_size(len(visits)), dtype=np.float32)
        np.divide(
            float(len(self.bits)), visits, out=shares[: len(visits)], where=visits > 0,
            casting="same_kind",
        )  # fmt: skip
        return shares


@dataclass(frozen=True)
class BatchColumns:
    """The features of each batch by attribute, where all batches have rows of the same weights."""

    blocks: tuple[tuple[ColumnBlock, ...], ...]

    @classmethod
    def of(cls, maps: Iterable[FeatureMap]) -> "BatchColumns | None":
        """None where features are no rows of attributes, or batches have not the same ones."""
        found: list[tuple[ColumnBlock, ...]] = []
        for features in maps:
            break_if_interrupted()
            blocks = features.columns()
            if blocks is None or (found and _layouts(blocks) != _layouts(found[0])):
                return None
            found.append(blocks)
        return cls(tuple(found))

    @cached_property
    def shares(self) -> list[SingleArray]:
        """As `Support.shares`, a number for each attribute of each block of weights."""
        shares = []
        for of_batches in zip(*self.blocks, strict=True):
            visits = np.zeros(of_batches[0].n_attributes, dtype=np.int64)
            for block in of_batches:
                visits[block.repeated.attributes] += 1
                visits[block.single.attributes] += 1
            share = np.zeros(len(visits), dtype=np.float32)
            np.divide(
                float(len(self.blocks)), visits, out=share, where=visits > 0, casting="same_kind"
            )
            shares.append(share)
        return shares

    @property
    def no_shares(self) -> list[SingleArray]:
        """Where there is no penalty."""
        return [np.zeros(0, dtype=np.float32)] * len(self.blocks[0])


def _layouts(blocks: Iterable[ColumnBlock]) -> list[tuple[int, int, int]]:
    return [block.layout for block in blocks]


def padded(vector: Array) -> FloatArray:
    """A copy of a vector with zeros behind it, up to whole blocks: what `updates` works on.

    >>> padded(np.ones(9)).shape
    (16,)
    """
    copy = np.empty(padded_size(len(vector)))
    copy[: len(vector)], copy[len(vector) :] = vector, 0.0
    return copy


def padded_whole(vector: FloatArray) -> FloatArray:
    """The `padded` array that a vector is the beginning of; such a copy where it is of none.

    >>> whole = np.zeros(16)
    >>> padded_whole(whole[:9]) is whole, padded_whole(np.zeros(9)).shape
    (True, (16,))
    """
    whole = vector if vector.base is None else vector.base
    is_it = (
        isinstance(whole, np.ndarray)
        and whole.shape == (padded_size(len(vector)),)
        and whole.dtype == vector.dtype
        and whole.ctypes.data == vector.ctypes.data
        and whole.flags.c_contiguous
        and whole.flags.writeable
    )
    return whole if is_it else padded(vector)


def padded_size(size: int) -> int:
    """The number of weights in whole blocks that hold so many.

    >>> padded_size(9)
    16
    """
    return -(-size // updates.WIDTH) * updates.WIDTH


def find_support(maps: Iterable[FeatureMap], n_weights: int, n_threads: int = 1) -> Support:
    """Which weights the feature map of each batch has, or where a random gradient goes by it.

    The latter takes n_weights steps each.
    Positive random numbers almost surely cancel only where the features themselves cancel. Each
    thread has a gradient of its own.
    """
    each = iter(maps)
    lock, found = threading.Lock(), dict[int, Array]()

    def share(_: int) -> NDArray[np.uint32]:
        # Unlike np.zeros_like, np.zeros takes no memory before it is written to.
        gradient = np.zeros(padded_size(n_weights))
        seen, visits = (np.zeros(n_weights, dtype=np.uint32) for _ in range(2))
        while True:
            with lock:
                number, features = len(found), next(each, None)
                if features is None:
                    return visits
                found[number] = np.zeros(0)
            break_if_interrupted()
            touched = np.zeros(-(-n_weights // updates.WIDTH), dtype=np.bool_)
            if not features.mark(number + 1, Marks(seen, visits, touched)):
                rng = np.random.default_rng(number)
                features.add_gradient(rng.random(features.n_parts) + 1.0, gradient[:n_weights])
                updates.mark(gradient, visits, touched)
            found[number] = np.packbits(touched)

    visits, *others = in_threads(share, range(n_threads), n_threads=n_threads)
    for other in others:
        visits += other
    return Support(tuple(found[number] for number in range(len(found))), visits)
