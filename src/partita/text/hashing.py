"""Hashed features: text and numbers to states, states to keys, keys to places in a table.

Every hashed feature of the library, of arcs, labels, links and translation rules, is numbered by
this one family of functions, see `partita.kernels.features.hash`: the same on every machine and in
every run, so that weights on disk keep their meaning.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partita.arrays import IntArray
from partita.kernels.features import hash as features_hash

States = NDArray[np.uint64]
Keys32 = NDArray[np.uint32]


def hashes(names: Sequence[str]) -> States:
    """64 bits of FNV-1a for each name, in UTF-8.

    >>> hex(hashes(["foobar"])[0])
    '0x85944171f73967e8'
    """
    # Text that was read with surrogates in place of broken bytes has numbers, too.
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)))
    out = np.empty(len(encoded), dtype=np.uint64)
    # The hash is meant to wrap around.
    with np.errstate(over="ignore"):
        features_hash.fnv1a(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends, out)
    return out


def mixed(states: States, values: ArrayLike) -> States:
    """The states after one more value each; `values` are hashes, or whole numbers."""
    given = np.broadcast_to(np.asarray(values).astype(np.uint64), states.shape)
    out = np.empty_like(states)
    with np.errstate(over="ignore"):
        features_hash.mix(states.ravel(), given.ravel(), out.ravel())
    return out


def keys_of(states: States) -> Keys32:
    """32 bits of each state."""
    out = np.empty(states.shape, dtype=np.uint32)
    with np.errstate(over="ignore"):
        features_hash.finish(states.ravel(), out.ravel())
    return out


def buckets(keys: Keys32, n_buckets: int) -> IntArray:
    """One of n_buckets places for each key; of a power of two, the high bits of key * ODD.

    >>> buckets(keys_of(hashes(["word=the", "word=a"])), 2**20)
    array([...])
    """
    out = np.empty(keys.shape, dtype=np.int64)
    with np.errstate(over="ignore"):
        features_hash.buckets(keys.ravel(), n_buckets, out.ravel())
    return out
