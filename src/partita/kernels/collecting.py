"""No search for garbage while kernels are compiled.

Compiling makes objects by the million, most of which stay: looking through them is a fifth of what
a first use takes. Without it the compilation of the largest kernel takes 60 MB more.
"""

from typing import Any

from numba.core import event

from partita.garbage import PAUSE


class PauseListener(event.Listener):  # type: ignore[misc]
    """Python looks for no garbage while a function of Partita's is compiled."""

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled."""
        if _is_ours(event):
            PAUSE.begin()

    def on_end(self, event: Any) -> None:
        """It is compiled, or cannot be."""
        if _is_ours(event):
            PAUSE.end()


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("partita.")


def pause_while_compiling() -> None:
    """From now on."""
    event.register("numba:compile", PauseListener())
