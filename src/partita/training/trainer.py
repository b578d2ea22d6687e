"""A training run: an objective on a corpus, an optimiser, and all that long runs need."""

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.structures.batch import whole_number
from partita.training.checkpoint import Record, Run, read_checkpoint, write_checkpoint
from partita.training.corpus import Corpus
from partita.training.interruption import Interrupted, break_if_interrupted, interruptible_run
from partita.training.optimisers.base import (
    CorpusProblem,
    Function,
    FunctionProblem,
    Optimiser,
    Problem,
)
from partita.training.optimisers.lbfgs import LBFGS
from partita.training.optimisers.owlqn import OWLQN
from partita.training.penalties import Penalty
from partita.training.progress import Display, Log, choose_display

HeldOut = Callable[[FloatArray], float]
"""Weights -> loss on data that are not trained on; less is better."""

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class TrainingResult:
    """What a run gives."""

    weights: FloatArray
    """The best weights: on held-out data where there are such, else the last (or averaged)."""
    loss: float
    """The loss that was minimised, penalties included, at the last iteration."""
    n_iterations: int
    reason: str
    """A sentence that says why the run stopped."""
    history: tuple[Record, ...]
    """A record of every iteration."""
    interrupted: bool = False
    """Whether Ctrl-C or SIGTERM ended it."""


def train(
    corpus: Corpus,
    optimiser: Optimiser[Any] | None = None,
    *,
    penalty: Penalty | None = None,
    weights: FloatArray | None = None,
    held_out: Corpus | HeldOut | None = None,
    patience: int = 10,
    seed: int = 0,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 60.0,
    resume: bool = False,
    log: Path | None = None,
    progress: bool | None = None,
) -> TrainingResult:
    """Weights that minimise the objective of a corpus plus a penalty.

    Parameters
    ----------
    corpus
        The batches and the objective, see `build_corpus`.
    optimiser
        `LBFGS()` if left out, or `OWLQN()` with an L1 penalty.
    penalty
        Added to the loss; none if left out.
    weights
        Where to start, such as those of an earlier model; all 0 if left out.
    held_out
        Data to stop early by: a corpus, or a function of the weights (less is better). The
        weights that are best there are returned, be they the first ones.
    patience
        Iterations without a new best on held-out data after which the run stops.
    seed
        All randomness follows from it.
    checkpoint, checkpoint_seconds, resume
        A file to which the run is written this often (and when it ends); with `resume`, the run
        in that file goes on, if there is one, and ends exactly where an unbroken run does.
    log
        A file that gets a JSON object a line for every iteration.
    progress
        Whether to show progress on standard error; where that is a terminal if left out.

    Ctrl-C and SIGTERM end the run, which returns the best weights so far; see `interruption`. A
    second one ends it at once.

    >>> from partita import LinearChain
    >>> from partita.features import Attributes, tag_features
    >>> from partita.objectives import Counts, Likelihood
    >>> from partita.structures.chains import Chains
    >>> from partita.training import Batch, build_corpus
    >>> chains = Chains([2, 1], n_tags=2, shared=True)  # two words, and one
    >>> features = tag_features(chains, Attributes.from_lists([[0], [1], [0]]), n_attributes=2)
    >>> tags = Counts.of(chains, [[0, 1], [0]])
    >>> batch = Batch(LinearChain, chains, features, {"Likelihood": tags})
    >>> result = train(build_corpus(Likelihood(), [batch]), penalty=Penalty(l2=1.0))
    >>> result.weights.reshape(4, 2).round(2)  # two attributes, then from tag 0 and from tag 1
    array([[ 0.49, -0.49],
           [-0.27,  0.27],
           [-0.19,  0.4 ],
           [-0.08, -0.13]])
    >>> result.reason
    "Converged after ... iterations: the gradient's norm is ..."
    """
    problem = CorpusProblem(corpus, penalty, seed)
    default = OWLQN() if problem.penalty.l1 else LBFGS()
    start = np.zeros(corpus.n_weights) if weights is None else np.array(weights, dtype=np.float64)
    trainer = _Trainer(
        problem,
        optimiser or default,
        held_out.value if isinstance(held_out, Corpus) else held_out,
        patience,
        checkpoint,
        checkpoint_seconds,
    )
    return trainer.run(start, resume=resume, log=log, progress=progress)


def minimise(
    function: Function,
    weights: FloatArray,
    optimiser: Optimiser[Any] | None = None,
    *,
    penalty: Penalty | None = None,
) -> TrainingResult:
    """The minimum of a plain function that returns its value and its gradient.

    >>> result = minimise(lambda w: (float((w - 3) @ (w - 3)), 2 * (w - 3)), np.zeros(2))
    >>> result.weights
    array([3., 3.])
    >>> result.reason
    "Converged after 2 iterations: the gradient's norm is ... as asked (gradient_tolerance)."
    """
    problem = FunctionProblem(function, len(weights), penalty)
    default = OWLQN() if problem.penalty.l1 else LBFGS()
    trainer = _Trainer(problem, optimiser or default)
    return trainer.run(np.array(weights, dtype=np.float64), progress=False)


@dataclass(frozen=True)
class _Trainer:
    """The loop, and what does not change while it runs."""

    problem: Problem
    optimiser: Optimiser[Any]
    held_out: HeldOut | None = None
    patience: int = 10
    checkpoint: Path | None = None
    checkpoint_seconds: float = 60.0

    def run(
        self,
        weights: FloatArray,
        *,
        resume: bool = False,
        log: Path | None = None,
        progress: bool | None = None,
    ) -> TrainingResult:
        """From the weights, or from the checkpoint, to the end."""
        self._check(weights, resume)
        with contextlib.ExitStack() as stack:
            stack.enter_context(interruptible_run())
            try:
                run = self._begun(weights, resume)
            except Interrupted as cause:
                reason = (
                    f"Interrupted ({cause}) before the first iteration; the weights are the first "
                    "ones."
                )
                return TrainingResult(weights, float("nan"), 0, reason, (), interrupted=True)
            journal = Log(log, self._about(), run.history)
            stack.callback(journal.close)
            display = choose_display(progress, self.optimiser.n_iterations)
            stack.callback(display.close)
            run, reason, interrupted = self._loop(run, journal, display)
            self._write(run)
            journal.end(reason)
        return TrainingResult(
            self._best(run),
            run.state.loss,
            run.state.iteration,
            reason,
            run.history,
            interrupted,
        )

    def _loop(self, run: Run, journal: Log, display: Display) -> tuple[Run, str, bool]:
        """Iterate until there is a reason to stop; the last run, the reason, whether a signal."""
        written = time.monotonic()
        try:
            while (reason := self._reason(run)) is None:
                break_if_interrupted()
                # One assignment: an iteration that is broken off leaves the run before it.
                run = self._advanced(run)
                journal.iteration(run.history[-1])
                display.show(run.history[-1])
                if time.monotonic() - written >= self.checkpoint_seconds:
                    self._write(run)
                    written = time.monotonic()
        except Interrupted as cause:
            reason = (
                f"Interrupted ({cause}) after {run.state.iteration} iterations; the weights are "
                "the best so far."
            )
            return run, reason, True
        return run, reason, False

    def _begun(self, weights: FloatArray, resume: bool) -> Run:
        if resume and self.checkpoint is not None and os.path.exists(self.checkpoint):
            return read_checkpoint(self.checkpoint, self.optimiser.state_type, self._about())
        run = Run(self.optimiser.start(self.problem, weights))
        if self.held_out is None:
            return run
        # The first weights may be those of a good model, which training need not improve.
        return replace(run, best_weights=weights, best_held_out=float(self.held_out(weights)))

    def _advanced(self, run: Run) -> Run:
        """One iteration further, judged on held-out data."""
        began = time.perf_counter()
        state = self.optimiser.step(self.problem, run.state)
        model = self.optimiser.model(state)
        held_out = float("nan") if self.held_out is None else float(self.held_out(model))
        seconds = run.seconds + time.perf_counter() - began
        record = Record(state.iteration, state.loss, state.gradient_norm, held_out, seconds)
        run = replace(run, state=state, history=(*run.history, record))
        if held_out < run.best_held_out:
            return replace(
                run, best_weights=model, best_held_out=held_out, best_iteration=state.iteration
            )
        return run

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

    def _best(self, run: Run) -> FloatArray:
        if run.best_weights is not None:
            return run.best_weights
        return self.optimiser.model(run.state)

    def _write(self, run: Run) -> None:
        if self.checkpoint is not None:
            write_checkpoint(self.checkpoint, run, self._about())

    def _about(self) -> dict[str, Any]:
        """What a checkpoint must agree with to be resumed."""
        penalty = self.problem.penalty
        return {
            "optimiser": type(self.optimiser).__name__,
            "n_weights": self.problem.n_weights,
            "l2": penalty.l2,
            "l1": penalty.l1,
            "seed": self.problem.seed,
            **self.problem.about(),
        }

    def _check(self, weights: FloatArray, resume: bool) -> None:
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
        if resume and self.checkpoint is None:
            raise ValueError("resume came without a checkpoint; say which file to resume from.")
