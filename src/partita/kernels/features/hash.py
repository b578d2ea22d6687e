"""FNV-1a: a hash of bytes that is the same on every machine and in every run."""

import numpy as np

from partita.kernels.jit import kernel

_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_HALF = np.uint64(32)


@kernel
def fnv1a(data, ends, out):
    """out[i] = hash of data[ends[i-1] : ends[i]]: for each byte, h = (h xor byte) * prime."""
    begin = 0
    for i in range(len(ends)):
        value = _BASIS
        for k in range(begin, ends[i]):
            value = (value ^ np.uint64(data[k])) * _PRIME
        out[i] = value
        begin = ends[i]


@kernel
def buckets(hashes, n_buckets, out):
    """out[i] = (high xor low half of hash i) modulo n_buckets; the low bits alone mix less."""
    for i in range(len(hashes)):
        out[i] = np.int64((hashes[i] ^ (hashes[i] >> _HALF)) % np.uint64(n_buckets))
