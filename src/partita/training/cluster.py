"""Ray: a cluster that is running, or one that is started here; and a function on its workers.

Rules that were measured to matter: restarts of a worker and repeats of a call, which are 0 by
default, are asked for; functions are pure, so that a call can be repeated; results are taken in
order; what a worker must know travels as bytes, since arrays that Ray sends are read-only, and
kernels are not made for those.
"""

import logging
import os
import pickle
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from partita.training.interruption import break_if_interrupted, handlers_kept

Result = TypeVar("Result")

N_RESTARTS = 100
"""For each worker. A machine that fails this often needs its owner."""
SECONDS_TO_HEED = 0.2
"""How long Ctrl-C may have to wait while workers compute."""
AHEAD = 2
"""Results for each worker that are held before the first of them is taken."""


def ray_module() -> Any:
    """The optional package, imported only where it is used."""
    try:
        import ray
    except ImportError:
        raise ImportError(
            "workers on a cluster need Ray, which is not installed. Install it with "
            "`pip install 'partita[ray]'`, or use threads: workers=4."
        ) from None
    return ray


def start(n_workers: int | None) -> tuple[int, bool]:
    """Make sure that Ray runs: how many workers are meant, and whether it was started here.

    A Ray that this process uses already is taken as it is; then one at RAY_ADDRESS, then one that
    `ray start` started on this machine; else one is started, with as many cores as are asked for.
    """
    ray = ray_module()
    is_new = not ray.is_initialized()
    if is_new:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.WARNING}
        if not _has_cluster():
            options |= {"address": "local", "num_cpus": n_workers, "include_dashboard": False}
        with handlers_kept():
            ray.init(**options)
    n_available = int(ray.cluster_resources().get("CPU", 0))
    if n_workers is not None and n_available < n_workers:
        if is_new:
            ray.shutdown()
        # Ray would wait for a core without a word.
        raise ValueError(
            f"{n_workers} Ray workers were asked for, and the running Ray has {n_available} cores. "
            "Ask for fewer workers, or give Ray more cores or machines."
        )
    return n_workers or max(n_available, 1), is_new


def _has_cluster() -> bool:
    address = os.environ.get("RAY_ADDRESS")
    if address:
        return address != "local"
    folder = Path(os.environ.get("RAY_TMPDIR", tempfile.gettempdir()))
    return (folder / "ray" / "ray_current_cluster").exists()


@contextmanager
def running(n_workers: int | None) -> Iterator[int]:
    """Ray for a while, and the number of its workers; stopped behind it if it was started here."""
    count, is_new = start(n_workers)
    try:
        yield count
    finally:
        if is_new:
            ray_module().shutdown()


def wait(answers: Sequence[Any], watcher: Callable[[float], None] | None = None) -> None:
    """Until all have come, or the run is to end; then they come in vain."""
    unheard = list(answers)
    while unheard:
        break_if_interrupted()
        _, unheard = ray_module().wait(unheard, num_returns=len(unheard), timeout=SECONDS_TO_HEED)
        if watcher is not None:
            watcher(1.0 - len(unheard) / len(answers))


class Host:
    """A worker with objects in it, made when they are first asked something.

    Ray starts it again when its process or machine dies; then they are made anew. Starting one
    takes seconds, so that one corpus after the other lives in the same hosts.
    """

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def ask(self, maker: list[Any], method: str, *arguments: Any) -> Any:
        """What a method of an object says; a call of `maker` makes it."""
        # In a list, a reference stays one: what it stands for is fetched only if it must be.
        if maker[0] not in self._made:
            self._made[maker[0]] = pickle.loads(ray_module().get(maker[0]))()
        return getattr(self._made[maker[0]], method)(*arguments)

    def forget(self, maker: list[Any]) -> None:
        """Give back the memory of an object."""
        self._made.pop(maker[0], None)

    def process(self) -> int:
        """The process that the worker runs in."""
        return os.getpid()


_hosts: dict[Any, list[Any]] = {}
"""Those of the Ray that is running, by its name."""


def hosts(count: int) -> list[Any]:
    """So many hosts, those that are there already among them."""
    ray = ray_module()
    context = ray.get_runtime_context()
    session = context.gcs_address, context.get_job_id()
    if session not in _hosts:
        _hosts.clear()
        _hosts[session] = []
    found = _hosts[session]
    # Without `num_cpus`, which would reserve a core for as long as a worker lives: a corpus to
    # train on and one to judge by take turns, and the second would wait for ever.
    cls = ray.remote(
        max_restarts=N_RESTARTS, max_task_retries=N_RESTARTS, scheduling_strategy="SPREAD"
    )(Host)
    found += [cls.remote() for _ in range(count - len(found))]
    return found[:count]


class Team:
    """The same object in several hosts, asked by the number of the member."""

    def __init__(self, maker: Callable[[], Any], count: int) -> None:
        ray = ray_module()
        self.hosts = hosts(count)
        self._maker = [ray.put(ray.cloudpickle.dumps(maker))]

    def __len__(self) -> int:
        return len(self.hosts)

    def ask(self, member: int, method: str, *arguments: Any) -> Any:
        """What will be the answer."""
        return self.hosts[member].ask.remote(self._maker, method, *arguments)

    def close(self) -> None:
        """Let the objects go; the hosts stay."""
        for host in self.hosts:
            host.forget.remote(self._maker)
        self.hosts = []


def in_order(
    function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], n_workers: int | None
) -> Iterator[Result]:
    """`function` of each group of arguments, in order; see `workers.in_order`."""
    with running(n_workers) as count:
        ray = ray_module()
        # In a list, a reference stays one: a worker fetches what it stands for if it must.
        known = [ray.put(ray.cloudpickle.dumps(function))]
        call = ray.remote(max_retries=N_RESTARTS, scheduling_strategy="SPREAD")(_called)
        waiting: deque[Any] = deque()
        unheard: list[Any] = []
        for group in arguments:
            while len(unheard) >= count:
                break_if_interrupted()
                _, unheard = ray.wait(unheard, num_returns=1, timeout=SECONDS_TO_HEED)
            answer = call.remote(known, ray.cloudpickle.dumps(group))
            unheard.append(answer)
            waiting.append(answer)
            if len(waiting) >= AHEAD * count:
                yield _heard(waiting.popleft())
        while waiting:
            yield _heard(waiting.popleft())


_known: dict[Any, Callable[..., Any]] = {}
"""In a worker: the function that it was asked last, which may be a large model."""


def _called(reference: list[Any], group: bytes) -> bytes:
    """In a worker: the result of the function, or the error that it raised instead."""
    if reference[0] not in _known:
        _known.clear()
        _known[reference[0]] = pickle.loads(ray_module().get(reference[0]))
    try:
        answer: Any = True, _known[reference[0]](*pickle.loads(group))
    except Exception as error:
        answer = False, error
    found: bytes = ray_module().cloudpickle.dumps(answer)
    return found


def _heard(answer: Any) -> Any:
    wait([answer])
    is_fine, result = pickle.loads(ray_module().get(answer))
    if not is_fine:
        raise result
    return result
