"""The one hash of features: the same on every machine and in every run.

Text becomes 64 bits by FNV-1a. Several values, of text or whole numbers, become one state, each
mixed into it in turn; a state becomes a key of 32 bits, and a key a place in a table of weights:

    state' = fold((state xor value * FIRST) * SECOND)        fold(x) = x xor (x >> 32)
    key    = high half of the state after one more value, 1
    place  = high bits of key * ODD

Keys of several things may also be xored, at less cost than a state, before they become a place.
"""

import numpy as np

from partita.kernels.jit import inlined, kernel

BASIS = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
FIRST = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio: small numbers reach the high bits."""
SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
"""An odd number without a pattern in its bits (the second prime of xxHash)."""
ODD = np.uint32(0x9E3779B1)
"""2**32 over the golden ratio: the high bits of the product depend on all bits of the key."""
ONE = np.uint64(1)
HALF = np.uint64(32)


@inlined
def mixed(state, value):
    """The state after one more value."""
    product = (state ^ (np.uint64(value) * FIRST)) * SECOND
    return product ^ (product >> HALF)


@inlined
def key_of(state):
    """32 bits of a state."""
    return np.uint32(mixed(state, ONE) >> HALF)


@inlined
def place_of(key, shift):
    """Where a key's weight lies in a table of 2**(32 - shift)."""
    return np.uint32(np.uint32(key * ODD) >> shift)


@inlined
def bucket_of(key, n_buckets):
    """The same for a table of any size: the product as a share of 2**32, times the size."""
    return np.int64((np.uint64(np.uint32(key * ODD)) * np.uint64(n_buckets)) >> HALF)


@kernel
def fnv1a(data, ends, out):
    """out[i] = hash of data[ends[i-1] : ends[i]]: for each byte, h = (h xor byte) * prime."""
    begin = 0
    for i in range(len(ends)):
        value = BASIS
        for k in range(begin, ends[i]):
            value = (value ^ np.uint64(data[k])) * PRIME
        out[i] = value
        begin = ends[i]


@kernel
def mix(states, values, out):
    """out[i] = states[i] after values[i]."""
    for i in range(len(states)):
        out[i] = mixed(states[i], values[i])


@kernel
def finish(states, out):
    """out[i] = the key of states[i]."""
    for i in range(len(states)):
        out[i] = key_of(states[i])


@kernel
def buckets(keys, n_buckets, out):
    """out[i] = the bucket of keys[i]."""
    for i in range(len(keys)):
        out[i] = bucket_of(keys[i], n_buckets)
