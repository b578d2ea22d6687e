"""Keeping freed memory, so that the buffers of the next batch need not be fetched page by page."""

import numpy as np


def keep_freed_memory() -> None:
    """Let the C library keep up to 64 MB of freed memory for the next allocation.

    glibc gives large freed blocks back to the system and gets new, empty pages for the next ones:
    a page fault for every 4 kB, more time than the inference that the memory is for. It adapts to
    the largest block that it has seen freed, up to 32 MB. So one such block is allocated and freed
    once; it is never touched, so that this takes microseconds. Other C libraries are unaffected.
    """
    np.empty(2**25 - 2**16, dtype=np.uint8)
