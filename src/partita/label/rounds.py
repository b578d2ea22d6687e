"""Rounds of learning: a model and what it knows of the corpus; and a thread that makes them."""

import threading
import time
from dataclasses import dataclass
from typing import Any, Protocol

from partita.label.effort import Effort
from partita.label.ledger import KnownLabels, Place
from partita.label.task import Guess, Survey, Task

EXTRA_ROUNDS = 2
"""Rounds of learning after the one that saw the last answer, while nobody answers."""


@dataclass(frozen=True)
class Round:
    """What was learnt from the answers up to some version."""

    number: int
    version: int
    model: Any
    survey: Survey
    doubts: dict[Place, Guess]
    held_out: float | None
    seconds: float


def learnt(
    task: Task,
    last: Round | None,
    version: int,
    known: KnownLabels,
    closed: set[Place],
    effort: Effort,
) -> Round:
    """The next round: the model learns on, and looks at the whole corpus."""
    start = time.perf_counter()
    model = task.learn(known, None if last is None else last.model)
    survey = task.survey(model, known, closed, effort)
    return Round(
        0 if last is None else last.number + 1,
        version,
        model,
        survey,
        task.doubts(model, known),
        task.held_out(model),
        time.perf_counter() - start,
    )


class Learns(Protocol):
    """What the thread needs of a sitting."""

    version: int
    round: Round
    trouble: str | None
    changed: threading.Condition

    def learn(self) -> None:
        """A round of learning, now."""


class Background(threading.Thread):
    """Learns whenever there are new answers, and a little more while there are none."""

    def __init__(self, sitting: Learns) -> None:
        super().__init__(name="partita-label", daemon=True)
        self._sitting, self._is_ending = sitting, False

    def run(self) -> None:
        """Until `end`."""
        sitting, n_extra = self._sitting, 0
        while True:
            with sitting.changed:
                while self._is_idle(n_extra):
                    sitting.changed.wait()
                if self._is_ending:
                    return
                n_extra = 0 if sitting.round.version < sitting.version else n_extra + 1
                version = sitting.version
            try:
                sitting.learn()
                sitting.trouble = None
            except Exception as error:
                # The page goes on with what was learnt before; the panel says why.
                sitting.trouble = f"{type(error).__name__}: {error}"
                with sitting.changed:
                    while sitting.version == version and not self._is_ending:
                        sitting.changed.wait()

    def _is_idle(self, n_extra: int) -> bool:
        is_new = self._sitting.round.version < self._sitting.version
        return not self._is_ending and not is_new and n_extra >= EXTRA_ROUNDS

    def end(self) -> None:
        """After the round that is under way."""
        with self._sitting.changed:
            self._is_ending = True
            self._sitting.changed.notify_all()
        self.join()
