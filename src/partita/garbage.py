"""No search for garbage while objects are made by the million, and stay.

Python looks for cycles in all objects there are, each time that there are a quarter more, while all
threads wait: 75 ms for 400,000 words that a user has in lists.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class Pause:
    """Python looks for no garbage from a beginning to its end; they may be nested, by any threads.

    >>> pause = Pause()
    >>> pause.begin(), gc.isenabled(), pause.end(), gc.isenabled()
    (None, False, None, True)
    """

    def __init__(self) -> None:
        self._lock, self._depth, self._was_on = Lock(), 0, False

    def begin(self) -> None:
        """From now on."""
        with self._lock:
            if self._depth == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._depth += 1

    def end(self) -> None:
        """As it was before, if nobody else is at it."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._was_on:
                gc.enable()


PAUSE = Pause()
"""The only one: a second would take for the user's choice what the first has done."""
_turn = Lock()


@contextmanager
def unsought() -> Iterator[None]:
    """For a while, and by one at a time: who comes meanwhile changes nothing.

    If those who overlap prolonged it, it would have no end where threads are always at something.
    """
    if not _turn.acquire(blocking=False):
        yield
        return
    PAUSE.begin()
    try:
        yield
    finally:
        PAUSE.end()
        _turn.release()
