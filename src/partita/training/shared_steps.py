"""Compiled calls of many steps, which several threads make together.

Whoever helps stays in compiled code until the pass ends, since waking a thread takes as long as a
step. See `kernels.meeting`.
"""

import itertools
from abc import ABC, abstractmethod

from partita.kernels import meeting
from partita.kernels.weights import chain_steps as kernels
from partita.training.threads import Helpers


class SharedSteps(ABC):
    """The steps of one pass; `end` it."""

    def __init__(self, n_steps: int, stretch: int, n_threads: int, most_helpers: int) -> None:
        self.counters = meeting.new_counters()
        self._n_steps, self._stretch = n_steps, stretch
        self._n_threads, self._most_helpers = n_threads, most_helpers
        # `next` on a count is one operation of the interpreter, so two threads never share one.
        self._numbers = itertools.count(1)
        self._helpers: Helpers | None = None

    @abstractmethod
    def _share(self, first: int, end: int, thread: int) -> int:
        """Steps from `first` to before `end`; the first that was not made, -1 if stopped."""

    @abstractmethod
    def _found(self, first: int, end: int) -> list[tuple[float, float]]:
        """Loss and squared norm of the gradient of the steps that the last call made."""

    def steps(self, number: int) -> list[tuple[float, float]]:
        """Loss and squared norm of the gradient of the steps from a number on; some are made.

        None of them where the first is to be made otherwise.
        """
        after = self._share(number, min(number + self._stretch, self._n_steps), 0)
        if after < 0 and self._helpers is not None:
            self._helpers.check()
        self._call_helpers()
        return self._found(number, max(number, after))

    def end(self) -> None:
        """Send the helpers home."""
        kernels.stop(self.counters)
        if self._helpers is not None:
            self._helpers.wait()

    def _call_helpers(self) -> None:
        """Unless they are there."""
        if self._helpers is None:
            n_helpers = Helpers.possible(self._n_threads, self._most_helpers)
            self._helpers = Helpers(self._help, n_helpers, self._n_threads)

    def _help(self) -> None:
        try:
            self._share(0, self._n_steps, next(self._numbers))
        except BaseException:
            # The first would wait for ever for what was taken and not done.
            kernels.stop(self.counters)
            raise
