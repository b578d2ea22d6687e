"""No search for garbage while objects are made by the million, and stay.

Python looks for cycles in all objects there are, each time that there are a quarter more, while all
threads wait: 75 ms for 400,000 words that a user has in lists.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, get_ident


class Pause:
    """Python looks for no garbage from a beginning to its end; they may be nested, by any threads.

    >>> pause = Pause()
    >>> pause.begin(), gc.isenabled(), pause.end(), gc.isenabled()
    (None, False, None, True)
    """

    def __init__(self) -> None:
        # Of a kind that a signal's handler may take again, which may copy the process.
        self._lock, self._was_on = RLock(), False
        self._depths: dict[int, int] = {}
        """How many have begun and not ended, by thread."""
        self._turn: int | None = None

    def begin(self) -> None:
        """From now on."""
        with self._lock:
            if not self._depths:
                self._was_on = gc.isenabled()
                gc.disable()
            thread = get_ident()
            self._depths[thread] = self._depths.get(thread, 0) + 1

    def end(self) -> None:
        """As it was before, if nobody else is at it."""
        with self._lock:
            thread = get_ident()
            if thread not in self._depths:  # what another thread began
                thread = next(iter(self._depths))
            self._depths[thread] -= 1
            if not self._depths[thread]:
                del self._depths[thread]
            if not self._depths and self._was_on:
                gc.enable()

    def take_turn(self) -> bool:
        """Whether nobody has the turn, which this thread has then."""
        with self._lock:
            if self._turn is not None:
                return False
            self._turn = get_ident()
            return True

    def give_turn(self) -> None:
        """Somebody else may have it."""
        with self._lock:
            self._turn = None

    def heed_copies(self) -> None:
        """Let a copy of the process search, if it was made by a thread that had not begun.

        The other threads are not there in it, and so would never end what they have begun. Copies
        are made while nobody is in the middle of a step of this.
        """
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._go_on_alone,
            )

    def _go_on_alone(self) -> None:
        thread, was_paused = get_ident(), bool(self._depths)
        self._depths = {each: n for each, n in self._depths.items() if each == thread}
        if was_paused and not self._depths and self._was_on:
            gc.enable()
        if self._turn != thread:
            self._turn = None
        self._lock.release()


PAUSE = Pause()
"""The only one: a second would take for the user's choice what the first has done."""
PAUSE.heed_copies()


@contextmanager
def unsought() -> Iterator[None]:
    """For a while, and by one at a time: who comes meanwhile changes nothing.

    If those who overlap prolonged it, it would have no end where threads are always at something.
    """
    if not PAUSE.take_turn():
        yield
        return
    PAUSE.begin()
    try:
        yield
    finally:
        PAUSE.end()
        PAUSE.give_turn()
