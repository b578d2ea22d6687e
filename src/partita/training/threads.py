"""Threads of one process: the results of a function in order, whoever worked them out."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

Result = TypeVar("Result")

_NAME = "partita-thread"
_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # not on Windows
    # A forked process has the pools of its parent, but none of their threads.
    os.register_at_fork(after_in_child=_pools.clear)


def kept_pool(n_threads: int) -> ThreadPoolExecutor:
    """Threads that are kept for the next time: beginning some takes as long as a mini-batch."""
    if n_threads not in _pools:
        _pools.setdefault(n_threads, ThreadPoolExecutor(n_threads, thread_name_prefix=_NAME))
    return _pools[n_threads]


def is_kept_thread() -> bool:
    """Whether this runs in a kept thread, which must not wait for others of its pool."""
    return threading.current_thread().name.startswith(_NAME)


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
    if n_threads == 1 or len(groups) < 2 or is_kept_thread():
        return [function(*group) for group in groups]
    n_used = min(n_threads, len(groups))
    # A share each rather than a task for every group: waking a thread takes as long as a chunk.
    shares = [
        kept_pool(n_threads).submit(_all_of, function, groups[k::n_used]) for k in range(1, n_used)
    ]
    try:
        found = [_all_of(function, groups[::n_used])]
    finally:
        wait(shares)
    found += [share.result() for share in shares]
    return [found[k % n_used][k // n_used] for k in range(len(groups))]


def as_free(tasks: Sequence[Callable[[], Any]], *, n_threads: int) -> list[Any]:
    """What different tasks give, in their order; a thread that is free takes the next one.

    >>> as_free([lambda: 1, lambda: "two"], n_threads=2)
    [1, 'two']
    """
    found: list[Any] = [None] * len(tasks)
    places = iter(range(len(tasks)))

    def work() -> None:
        for place in places:
            found[place] = tasks[place]()

    helpers = Helpers(work, Helpers.possible(n_threads, len(tasks) - 1), n_threads)
    try:
        work()
    finally:
        helpers.wait()
    helpers.check()
    return found


class Helpers:
    """Kept threads that each run a function while the caller does its own share.

    >>> found = []
    >>> helpers = Helpers(lambda: found.append("done"), 2, n_threads=2)
    >>> helpers.wait()
    >>> found
    ['done', 'done']
    """

    def __init__(self, function: Callable[[], None], count: int, n_threads: int) -> None:
        self._futures = [kept_pool(n_threads).submit(function) for _ in range(count)]

    @staticmethod
    def possible(n_threads: int, most: int) -> int:
        """How many may help a caller who is one of `n_threads`."""
        return 0 if is_kept_thread() else min(n_threads - 1, most)

    def wait(self) -> None:
        """Until all have ended."""
        wait(self._futures)

    def check(self) -> None:
        """Until all have ended; the error of the first that ended by one."""
        for future in self._futures:
            future.result()


def _all_of(function: Callable[..., Result], groups: Iterable[tuple[Any, ...]]) -> list[Result]:
    return [function(*group) for group in groups]
