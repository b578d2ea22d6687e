"""What all parts of the demonstration are told."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from partita.demo.page import Section


@dataclass(frozen=True)
class Settings:
    """How to run: the seed, whether to be quick, and where sentences about progress go."""

    seed: int
    quick: bool
    say: Callable[[str], None]

    def choose(self, full: int, quick: int) -> int:
        """A number of the full demonstration, or of the quick one."""
        return quick if self.quick else full


Part = Callable[[Settings], Section]


def timed(part: Part, settings: Settings) -> Section:
    """A section with the time that it took."""
    start = time.perf_counter()
    section = part(settings)
    return replace(section, seconds=time.perf_counter() - start)


@contextmanager
def clock() -> Iterator[Callable[[], float]]:
    """Seconds since the block began; they stand still when it has ended.

    >>> with clock() as seconds:
    ...     pass
    >>> seconds() == seconds()
    True
    """
    start = time.perf_counter()
    end: list[float] = []
    yield lambda: (end[0] if end else time.perf_counter()) - start
    end.append(time.perf_counter())


def percent(share: float) -> str:
    """A share in print, which no line end divides.

    >>> percent(0.8764).split()
    ['87.6', '%']
    """
    return f"{100 * share:.1f}\u00a0%"
