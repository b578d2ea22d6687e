"""The loop of a training run: step, judge, show, write down, until there is a reason to stop."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from partita import __version__, show
from partita.arrays import FloatArray
from partita.files import StrPath, check_outputs
from partita.structures.batch import whole_number
from partita.training.checkpoint import CheckpointWriter, Record, Run, read_checkpoint
from partita.training.corpus import Corpus, unwatched
from partita.training.digests import DIGEST, digest
from partita.training.interruption import (
    Interrupted,
    break_if_interrupted,
    interruptible_run,
    unbroken,
)
from partita.training.log import RunLog
from partita.training.optimisers.base import Optimiser, Problem, options_of
from partita.training.progress import Display, NoDisplay
from partita.training.spare_vectors import SPARE

HeldOut = Callable[[FloatArray], float]
"""Weights -> loss on data that are not trained on; less is better."""


@dataclass(frozen=True, repr=False)
class TrainingResult:
    """What a run gives."""

    weights: FloatArray
    """The best weights: on held-out data where there are such, else the last (or averaged)."""
    loss: float
    """The loss that was minimised, penalties included, at the last iteration."""
    n_iterations: int
    reason: str
    """Why the run stopped, in a sentence; and what could not be written, in others."""
    history: tuple[Record, ...]
    """A record of every iteration."""
    interrupted: bool = False
    """Whether Ctrl-C or SIGTERM ended it."""
    learnt_nothing: bool = False
    """Whether they did so before the first iteration was made; the weights are the first ones."""

    def after(self, earlier: "TrainingResult") -> "TrainingResult":
        """This run as the end of a training in stages: what became of the stage before counts, too.

        A training was interrupted if any of its stages was, and has learnt nothing if none has.
        """
        if not self.interrupted and not earlier.interrupted:
            return self
        reason = self.reason
        if self.learnt_nothing:
            reason = f"{self.reason} The stage before: {earlier.reason}"
        elif earlier.interrupted:
            reason = f"{earlier.reason} The stage after: {self.reason}"
        return replace(
            earlier if self.learnt_nothing else self,
            weights=self.weights,
            reason=reason,
            interrupted=True,
            learnt_nothing=earlier.learnt_nothing and not self.n_iterations,
        )

    def __repr__(self) -> str:
        return f"TrainingResult({len(self.weights):,} weights: {self.reason})"

    def _repr_html_(self) -> str:
        losses = [(each.iteration, each.loss) for each in self.history if np.isfinite(each.loss)]
        judged = [(each.iteration, each.held_out) for each in self.history]
        judged = [(x, y) for x, y in judged if np.isfinite(y)]
        pictures = [
            show.curves({name: points}, x_label="iteration", y_label=name)
            for name, points in (("loss", losses), ("loss on held-out data", judged))
            if len(points) > 1
        ]
        return f"<p>{escape(self.reason)}</p>" + "".join(each.text for each in pictures)


@dataclass(frozen=True)
class Outputs:
    """Where a run is written while it lasts; see `train`."""

    checkpoint: StrPath | None = None
    checkpoint_seconds: float = 60.0
    resume: bool = False
    log: StrPath | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """The files can be written, and there is one to resume from if there has to be."""
        if self.resume and self.checkpoint is None:
            raise ValueError("resume came without a checkpoint; say which file to resume from.")
        files = {"the checkpoint": self.checkpoint, "the log": self.log}
        check_outputs(files, staged=set(files))


@dataclass(frozen=True)
class Loop:
    """What does not change while a run lasts."""

    problem: Problem
    optimiser: Optimiser[Any]
    held_out: Corpus | HeldOut | None = None
    patience: int = 10
    outputs: Outputs = field(default_factory=Outputs)
    display: Display = field(default_factory=NoDisplay)
    is_needed: bool = False
    """Whether the first iteration is made whatever signal came; see `train`."""
    is_extra: bool = False
    """Whether the model is of no use if the run is interrupted; see `train`."""

    def run(self, weights: FloatArray) -> TrainingResult:
        """From the weights, or from the checkpoint, to the end."""
        self._check(weights)
        self.outputs.check()
        about = self._about() if self.outputs.checkpoint or self.outputs.log else {}
        with contextlib.ExitStack() as stack:
            stack.enter_context(SPARE.kept())
            interruption = stack.enter_context(interruptible_run())
            if self.is_needed and interruption.is_requested:
                self.display.say(
                    f"{interruption.cause} came; what the model still needs is learnt in one pass. "
                    "Another one ends at once, without a model."
                )
            stack.enter_context(self._displayed())
            try:
                with unbroken(self.is_needed):
                    run = self._begun(weights, about)
            except Interrupted as cause:
                return TrainingResult(
                    weights,
                    float("nan"),
                    0,
                    _why_interrupted(cause, 0),
                    (),
                    interrupted=True,
                    learnt_nothing=True,
                )
            log = RunLog(self.outputs.log, about, run.history)
            stack.callback(log.close)
            writer = CheckpointWriter(self.outputs.checkpoint, about)
            run, reason, interrupted = self._iterate(run, writer, log)
            writer.write(run)
            log.end(reason)
        return TrainingResult(
            self._best(run, weights),
            run.state.loss,
            run.state.iteration,
            " ".join(filter(None, [reason, writer.problem, log.problem])),
            run.history,
            interrupted,
            learnt_nothing=interrupted and not run.state.iteration,
        )

    @contextlib.contextmanager
    def _displayed(self) -> Iterator[None]:
        """Show the run, and what becomes of every pass over the data."""
        watched = [
            corpus for corpus in (self.problem.corpus, self.held_out) if isinstance(corpus, Corpus)
        ]
        self.display.begin(self.optimiser.n_iterations)
        try:
            for corpus in watched:
                corpus.watcher = self.display.advance
            yield
        finally:
            for corpus in watched:
                corpus.watcher = unwatched
            self.display.end()

    def _iterate(self, run: Run, writer: CheckpointWriter, log: RunLog) -> tuple[Run, str, bool]:
        """Iterate until there is a reason to stop; the last run, the reason, whether a signal."""
        written, told = time.monotonic(), {""}
        try:
            while (reason := self._reason(run)) is None:
                with unbroken(self.is_needed and not run.history):
                    break_if_interrupted()
                    # One assignment: an iteration that is broken off leaves the run before it.
                    run = self._kept(run)
                    run = self._advanced(run)
                log.iteration(run.history[-1])
                self.display.show(run.history[-1])
                if time.monotonic() - written >= self.outputs.checkpoint_seconds:
                    writer.write(run)
                    written = time.monotonic()
                for problem in {writer.problem, log.problem} - told:
                    self.display.say(problem)
                told = told | {writer.problem, log.problem}
        except Interrupted as cause:
            return run, _why_interrupted(cause, run.state.iteration), True
        return run, reason, False

    @cached_property
    def _resumes(self) -> bool:
        """Whether there is a checkpoint to go on from, when the run begins."""
        path = self.outputs.checkpoint
        return self.outputs.resume and path is not None and os.path.exists(path)

    def _begun(self, weights: FloatArray, about: dict[str, Any]) -> Run:
        if self._resumes and self.outputs.checkpoint is not None:
            return read_checkpoint(self.outputs.checkpoint, self.optimiser, about)
        run = Run(self.optimiser.start(self.problem, weights))
        if self.held_out is None:
            return run
        # The first weights may be those of a good model, which training need not improve.
        return replace(run, best_weights=weights, best_held_out=self._judged(weights))

    def _kept(self, run: Run) -> Run:
        """With all that is needed of it should the next iteration be broken off.

        Only a checkpoint needs the whole state, which takes more memory than anything else.
        """
        is_safe = self.outputs.checkpoint is not None or run.best_weights is not None
        if is_safe or self.is_extra:
            return run
        return replace(run, model=self.optimiser.model(run.state))

    def _advanced(self, run: Run) -> Run:
        """One iteration further, judged on held-out data."""
        began = time.perf_counter()
        given = run.state
        if self.outputs.checkpoint is not None:
            given = self.optimiser.apart(self.problem, given)
        state = self.optimiser.step(self.problem, given)
        # Only a judge wants to see the model of every pass.
        model = state.weights if self.held_out is None else self.optimiser.model(state)
        held_out = self._judged(model)
        seconds = run.seconds + time.perf_counter() - began
        record = Record(state.iteration, state.loss, state.gradient_norm, held_out, seconds)
        run = replace(run, state=state, history=(*run.history, record), model=None)
        if held_out < run.best_held_out:
            return replace(
                run, best_weights=model, best_held_out=held_out, best_iteration=state.iteration
            )
        return run

    def _judged(self, weights: FloatArray) -> float:
        """The loss on held-out data; not a number where there are none."""
        if self.held_out is None:
            return float("nan")
        judge = self.held_out.value if isinstance(self.held_out, Corpus) else self.held_out
        return float(judge(weights))

    def _reason(self, run: Run) -> str | None:
        """Why to stop: held-out data say so, or the optimiser."""
        waited = run.state.iteration - run.best_iteration
        if self.held_out is not None and waited >= self.patience:
            return (
                f"Stopped early after {run.state.iteration} iterations: the loss on held-out data "
                f"was best after {run.best_iteration} ({run.best_held_out:.6g}), and {waited} more "
                "did not improve it (patience)."
            )
        return self.optimiser.reason_to_stop(self.problem, run.state)

    def _best(self, run: Run, first: FloatArray) -> FloatArray:
        if not run.state.iteration and not self._resumes:
            # Not the optimiser's: in units and back they may have lost their last digit.
            return first.copy()
        for found in (run.best_weights, run.model):
            if found is not None:
                return found
        return self.optimiser.model(run.state)

    def _about(self) -> dict[str, Any]:
        """What a checkpoint must agree with to be resumed."""
        penalty, held_out = self.problem.penalty, self.held_out
        return {
            "version": __version__,
            "optimiser": type(self.optimiser).__name__,
            **options_of(self.optimiser),
            "n_weights": self.problem.n_weights,
            "l2": penalty.l2,
            "l1": penalty.l1,
            f"the scale of the penalty{DIGEST}": digest(penalty.scale),
            "seed": self.problem.seed,
            **self.problem.about(),
            "held_out": held_out is not None,
            f"the held-out data{DIGEST}": held_out.digest if isinstance(held_out, Corpus) else "",
            **self.outputs.about,
        }

    def _check(self, weights: FloatArray) -> None:
        if weights.shape != (self.problem.n_weights,):
            raise ValueError(
                f"the first weights have shape {weights.shape}; expected "
                f"({self.problem.n_weights},), one for each feature."
            )
        # -inf is the logarithm of a probability of 0, which EM keeps.
        if not (weights < np.inf).all():
            raise ValueError(
                "the first weights have a value that is NaN or +inf; expected finite numbers. "
                "Check the model that they come from."
            )
        whole_number("patience", self.patience, 1)
        whole_number("n_iterations", self.optimiser.n_iterations, 0)


def _why_interrupted(cause: Interrupted, n_iterations: int) -> str:
    if not n_iterations:
        return f"Interrupted ({cause}) before the first iteration; the weights are the first ones."
    return (
        f"Interrupted ({cause}) after {n_iterations} iterations; the weights are the best so far."
    )
