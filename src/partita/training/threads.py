"""Threads of one process: the results of a function in order, whoever worked them out."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def n_cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def in_threads(
    function: Callable[..., Result], *arguments: Iterable[Any], n_threads: int
) -> list[Result]:
    """`function` of every group of arguments, as `map` does it; no more threads than groups.

    >>> in_threads(pow, [2, 3], [3, 2], n_threads=2)
    [8, 9]
    """
    groups = list(zip(*arguments, strict=True))
    if n_threads == 1 or len(groups) < 2:
        return [function(*group) for group in groups]
    with ThreadPoolExecutor(min(n_threads, len(groups))) as pool:
        return list(pool.map(lambda group: function(*group), groups))
