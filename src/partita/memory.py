"""Keeping freed memory, so that the buffers of the next batch need not be fetched page by page."""

import ctypes
import sys

import numpy as np

KEPT = 2**27
"""Bytes of freed memory that are kept: scores, marginals and results of 50 MB of tables."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Numbers of these parameters for glibc's `mallopt`."""


def keep_freed_memory() -> None:
    """Let the C library keep up to 128 MB of freed memory for the next allocation.

    glibc gives large freed blocks back to the system and gets new, empty pages for the next ones:
    a page fault for every 4 kB, more time than the inference that the memory is for. By itself it
    adapts to the largest block that it has seen freed, up to 32 MB, and keeps twice as much; a
    batch of large tables passes through three blocks. Other C libraries are unaffected.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt is None or not (mallopt(MMAP_THRESHOLD, 2**25) and mallopt(TRIM_THRESHOLD, KEPT)):
        # One block that is allocated and freed once, and never touched, which takes microseconds.
        np.empty(2**25 - 2**16, dtype=np.uint8)


def give_back_freed_memory() -> None:
    """Let the C library give back all that it keeps: what follows has buffers of another size.

    Before a training run: reading and encoding leave up to 128 MB of small pieces behind, and the
    vectors of an optimiser, being large, come from the system itself. Takes some hundredths of a
    second.
    """
    trim = _of_glibc("malloc_trim")
    if trim is not None:
        trim(0)


def _of_glibc(name: str) -> "ctypes._NamedFuncPointer | None":
    """A function of glibc; nothing where there is another C library."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), name, None)
