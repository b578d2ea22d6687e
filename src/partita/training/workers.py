"""Who works: threads of this process, or the workers of a Ray cluster. Only here is it decided."""

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Self, TypeVar, cast

from partita.training.threads import n_cores

Result = TypeVar("Result")

SIGNAL_AT_DEATH_OF_PARENT = 1
"""What Linux calls PR_SET_PDEATHSIG."""
AHEAD = 2
"""Results that are worked out, beside those in work, before the first of them is taken."""


class Workers(NamedTuple):
    """What the option `workers` means.

    >>> Workers.of(2), Workers.of("ray:4").on_ray
    (Workers(n_workers=2, on_ray=False), True)
    """

    n_workers: int | None
    """Threads, or workers of the cluster; None for as many as that has cores."""
    on_ray: bool

    @classmethod
    def of(cls, workers: int | str | None) -> Self:
        """From a number of threads (all cores if left out), "ray", or "ray:4"."""
        if workers is None:
            return cls(n_cores(), False)
        name, colon, text = str(workers).partition(":")
        on_ray = name == "ray"
        if on_ray and not colon:
            return cls(None, True)
        digits = text if on_ray else name if not colon else ""
        if not (digits.isascii() and digits.isdigit() and int(digits) >= 1):
            raise ValueError(
                f'workers is {workers!r}; expected a number of threads, such as 2, or "ray:4" for '
                "four Ray workers."
            )
        return cls(int(digits), on_ray)

    @property
    def n_threads(self) -> int:
        """Threads of this process: all cores where others do the work."""
        return n_cores() if self.on_ray or self.n_workers is None else self.n_workers


def held(workers: int | str | None) -> AbstractContextManager[Any]:
    """Keeps a cluster for a while, so that it is not started anew by each who needs it.

    >>> with held(2):  # threads need nothing
    ...     pass
    """
    chosen = Workers.of(workers)
    if not chosen.on_ray:
        return nullcontext()
    from partita.training import cluster

    return cluster.running(chosen.n_workers)


def in_order(
    function: Callable[..., Result],
    arguments: Iterable[tuple[Any, ...]],
    *,
    workers: int | str | None = None,
) -> Iterator[Result]:
    """`function` of each group of arguments, in order, a few ahead of what is taken.

    On threads or on a cluster, which changes nothing but the time: errors are those that the
    function raised, and a worker of a cluster that dies is started again, and asked again. The
    function travels to each worker once, arguments and results as they come; both must be what
    Python can send to another process. No more arguments are held than are in work.

    >>> list(in_order(pow, [(2, 3), (3, 2)], workers=2))
    [8, 9]
    """
    chosen = Workers.of(workers)
    if chosen.on_ray:
        # Ray is an optional extra, so its module is imported only when it is asked for.
        from partita.training import cluster

        yield from cluster.in_order(function, arguments, chosen.n_workers)
    elif chosen.n_workers == 1:
        for group in arguments:
            yield function(*group)
    else:
        with ThreadPoolExecutor(chosen.n_workers) as pool:
            yield from _in_pool(pool, function, arguments, chosen.n_threads)


def in_processes(
    function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], n_processes: int
) -> Iterator[Result]:
    """As `in_order`, by copies of this process: for what threads do one at a time.

    The copies have all that there is in memory now, which costs no more memory until it is
    changed; arguments and results are what Python can send to another process. Only where
    `can_copy`. Whoever wants no more results closes the generator, or lets go of it, which ends
    the copies in the middle of their work; Python would wait for them before it ends.
    """
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(
        n_processes, multiprocessing.get_context("fork"), _begin_copy, (function, os.getpid())
    )
    try:
        yield from _in_pool(pool, _by_copy, arguments, n_processes)
    except BrokenProcessPool:
        raise MemoryError("a process that worked for this one was killed") from None
    except BaseException:
        # An error, Ctrl-C, or nobody wants more: neither does anybody want what they are at. They
        # are asked to end, not killed: half a result in a pipe would be waited for.
        for copy in set(multiprocessing.active_children()).difference(others):
            os.kill(cast(int, copy.pid), signal.SIGINT)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def can_copy() -> bool:
    """Whether a process can be copied as it stands, which is safe on Linux alone."""
    return sys.platform == "linux"


class _Copy:
    """What a copy of this process does, and whether it is to go on."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.is_working = self.is_ended = False

    def __call__(self, *arguments: Any) -> Any:
        self.is_working = True
        try:
            # What was on its way when the signal came is not begun.
            if self.is_ended:
                raise KeyboardInterrupt
            return self.function(*arguments)
        finally:
            self.is_working = False

    def end(self, *_: Any) -> None:
        """On SIGINT: break off the work, which is then its result; never what sends results."""
        self.is_ended = True
        if self.is_working:
            raise KeyboardInterrupt


_copy: _Copy | None = None
"""In a copy of this process, what it does."""


def _begin_copy(function: Callable[..., Any], parent: int) -> None:
    global _copy
    _copy = _Copy(function)
    # What is there stays: looking for garbage in it would only copy its memory.
    gc.freeze()
    signal.signal(signal.SIGINT, _copy.end)
    # No copy outlives the process; nor if that ended before this line.
    ctypes.CDLL(None).prctl(SIGNAL_AT_DEATH_OF_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _by_copy(*arguments: Any) -> Any:
    return cast(_Copy, _copy)(*arguments)


def _in_pool(
    pool: Executor,
    function: Callable[..., Result],
    arguments: Iterable[tuple[Any, ...]],
    n_workers: int,
) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    for group in arguments:
        waiting.append(pool.submit(function, *group))
        if len(waiting) >= n_workers + AHEAD:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
