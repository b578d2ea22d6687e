"""No search for garbage while kernels are compiled.

Compiling makes objects by the million, most of which stay, and Python looks through them for
garbage each time that there are a quarter more: a fifth of what a first use takes. Without it the
compilation of the largest kernel takes 60 MB more.
"""

import gc
from typing import Any

from numba.core import event


class Pause(event.Listener):  # type: ignore[misc]
    """Python looks for no garbage while a function of Partita's is compiled.

    One thread compiles at a time, so that nesting is all there is to count.
    """

    def __init__(self) -> None:
        self._depth, self._was_on = 0, False

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled."""
        if not _is_ours(event):
            return
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """It is compiled, or cannot be."""
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("partita.")


def pause_while_compiling() -> None:
    """From now on."""
    event.register("numba:compile", Pause())
