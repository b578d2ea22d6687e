"""A training run: an objective on a corpus, an optimiser, and all that long runs need."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.training.corpus import Corpus
from partita.training.loop import HeldOut, Loop, Outputs, TrainingResult
from partita.training.optimisers.base import CorpusProblem, Function, FunctionProblem, Optimiser
from partita.training.optimisers.lbfgs import LBFGS
from partita.training.optimisers.owlqn import OWLQN
from partita.training.penalties import Penalty
from partita.training.progress import Display, choose_display

__all__ = ["HeldOut", "Path", "TrainingResult", "minimise", "train"]

Path = str | os.PathLike[str]


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
    progress: bool | Display | None = None,
    about: Mapping[str, Any] | None = None,
    is_needed: bool = False,
    is_extra: bool = False,
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
        in that file goes on, if there is one, and ends exactly where an unbroken run does. A run
        of other data, other options or another version is refused; only the options that say when
        to stop may be others (the number of iterations, tolerances, `patience`).
    log
        A file that gets a JSON object a line for every iteration.
    progress
        Whether to show progress on standard error, where that is a terminal if left out; or a
        `Display` that is told what happens.
    about
        More that a run in a checkpoint must agree with: plain values by name, such as the options
        of an estimator, or the `digest` of something larger under a name that ends in `DIGEST`.
    is_needed
        Whether a model of several runs is worthless without this one: then its first iteration is
        made whatever signal came, before it or in it.
    is_extra
        Whether a model of several runs does without this one if it is interrupted: then nothing is
        kept of the weights before an iteration, and those that it was broken off at are returned.

    Where the checkpoint or the log can no longer be written, the run goes on without, and its
    reason says so. Ctrl-C and SIGTERM end the run, which returns the best weights so far (see
    `interruption`); a second one ends it at once.

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
    "Converged after ... iterations at a loss of ...: the gradient's norm is ..."
    """
    problem = CorpusProblem(corpus, penalty, seed)
    default = OWLQN() if problem.penalty.l1 else LBFGS()
    start = np.zeros(corpus.n_weights) if weights is None else np.array(weights, dtype=np.float64)
    outputs = Outputs(checkpoint, checkpoint_seconds, resume, log, about or {})
    display = choose_display(progress)
    rest = held_out, patience, outputs, display, is_needed, is_extra
    loop = Loop(problem, optimiser or default, *rest)
    return loop.run(start)


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
    "Converged after 2 iterations at a loss of 0: the gradient's norm is ... (gradient_tolerance)."
    """
    problem = FunctionProblem(function, len(weights), penalty)
    default = OWLQN() if problem.penalty.l1 else LBFGS()
    return Loop(problem, optimiser or default).run(np.array(weights, dtype=np.float64))
