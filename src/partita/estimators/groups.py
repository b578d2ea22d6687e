"""Groups of options that several estimators share: penalty, optimiser, run, entropy."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

from partita.data.bitext_files import BitextFiles
from partita.data.files import SentenceFiles
from partita.estimators.options import (
    Check,
    Declared,
    above,
    at_least,
    declared,
    option,
    without,
    without_data,
)
from partita.estimators.supervision import Course, EntropyTerm, ObjectiveName, course_of
from partita.files import check_folder, check_outputs
from partita.objectives import ContrastiveDivergence, Entropy, Objective, RenyiEntropy
from partita.training import LBFGS, OWLQN, SGD, AdaGrad, Adam, Penalty
from partita.training.interruption import end_if_terminated, heed_interruptions
from partita.training.optimisers import Optimiser
from partita.training.trainer import Path
from partita.training.workers import Workers

OptimiserName = Literal["lbfgs", "owlqn", "adam", "adagrad", "sgd"]
FLAT: dict[str, Any] = {"n_iterations": 200, "loss_tolerance": 1e-4}
"""Where a run ends whose loss is not convex, by default."""
STOCHASTIC: dict[str, type[Adam | AdaGrad | SGD]] = {"adam": Adam, "adagrad": AdaGrad, "sgd": SGD}


def read_workers(text: str) -> int | str:
    """A number of threads, or "ray", or "ray:4".

    >>> read_workers("2"), read_workers("ray:4")
    (2, 'ray:4')
    """
    return int(text) if text.isdigit() else text


def _are_workers(value: Any) -> bool:
    try:
        Workers.of(value)
    except ValueError:
        return False
    return True


@declared
class Runs(Declared):
    """How a long run goes: files, randomness, workers, progress."""

    patience: int = option(
        10,
        "iterations without progress on held-out data after which training stops",
        at_least(1),
        needs=without_data("held_out", "held-out data (held_out=..., or --held-out)"),
    )
    checkpoint: Path | None = option(
        None,
        "a file to which the run is written from time to time; further stages of a training have "
        ".2, .3 and so on behind the name",
        metavar="FILE",
        is_kept=False,
    )
    checkpoint_seconds: float = option(60.0, "how often", at_least(0), is_kept=False)
    resume: bool = option(
        False,
        "go on from the checkpoint, if it is there, which ends in the same model bit for bit",
        is_kept=False,
    )
    log: Path | None = option(
        None,
        "a file for a line of JSON an iteration; its further stages are named as those of the "
        "checkpoint",
        metavar="FILE",
        is_kept=False,
    )
    cache: Path | None = option(
        None,
        "a folder for the encoded sentences, which are then read from it in every pass instead of "
        "being in memory: for a corpus beyond memory, or a cluster, all of whose machines must see "
        "it; the model is the same",
        metavar="FOLDER",
        is_kept=False,
    )
    seed: int = option(0, "all randomness follows from it", at_least(0))
    workers: int | str | None = option(
        None,
        'threads, all cores if left out; or "ray" or "ray:4" for a cluster; results are the same '
        "for any number",
        Check(_are_workers, "a number of threads, 1 or more, or 'ray' or 'ray:4'", says_all=True),
        read=read_workers,
        metavar="N",
        is_kept=False,
    )
    progress: bool | None = option(
        None, "show progress; where standard error is a terminal if left out", is_kept=False
    )

    @contextmanager
    def _fitting(self, data: object, *, held_out: bool = True) -> Iterator[None]:
        """What every `fit` is done within: a signal is noted from its first line to its last.

        Before that, wrong options are an error, and a SIGTERM that ended another `fit` ends this.
        `data` are what is learnt from, and `held_out` is whether there are others to judge by.
        """
        end_if_terminated()
        self.check()
        self.check_data(held_out=held_out)
        if isinstance(data, SentenceFiles | BitextFiles):
            outputs = {"the checkpoint": self.checkpoint, "the log": self.log}
            inputs = {f"a file to learn from ({path})": path for path in data.paths}
            check_outputs(outputs, inputs, staged=set(outputs))
        with heed_interruptions():
            yield

    def _check_together(self) -> None:
        if self.resume and self.checkpoint is None:
            raise ValueError("resume came without a checkpoint; say which file to resume from.")
        if self.cache is not None:
            check_folder("cache", self.cache)
        super()._check_together()


@declared
class Penalties(Declared):
    """Penalties on large weights."""

    l2: float = option(
        0.1, "l2 / 2 times the squares of the weights is added to the loss", at_least(0)
    )
    l1: float = option(0.0, "l1 times the sizes of the weights is added to the loss", at_least(0))

    @property
    def penalty(self) -> Penalty:
        """Both together."""
        return Penalty(l2=self.l2, l1=self.l1)


@declared
class Descent(Runs):
    """What is minimised, which way, and how far."""

    objective: ObjectiveName | Objective = option(
        "likelihood",
        'what is minimised: "risk" is the expected number of wrong choices (tags, arcs or '
        'segments), starting from the likelihood, "softmax-margin" the likelihood, harder for '
        'answers with many wrong choices, "contrastive-divergence" what some steps of a Markov '
        "chain make of the labels against the labels (see `n_steps`); or an objective of "
        "`partita.objectives`",
    )
    optimiser: OptimiserName | Optimiser[Any] | None = option(
        None,
        'on all sentences at once "lbfgs" ("owlqn" with an L1 penalty), by mini-batches "adam", '
        '"adagrad" or "sgd"; or an optimiser of `partita.training`',
    )
    max_iterations: int | None = option(
        None,
        "the most iterations, or passes with mini-batches; if left out 1000, or 200 for a loss "
        "without one best place (constraints, entropy, risk, rules), or few passes",
        at_least(0),
    )
    loss_tolerance: float | None = option(
        None,
        "stop when the loss of the last iterations fell by less than this fraction of it; if left "
        "out 1e-6, or 1e-4 for a loss without one best place",
        at_least(0),
    )

    n_steps: int = option(
        1,
        'of the objective "contrastive-divergence": how many steps of a Markov chain lead away '
        "from the labels; a step draws every tag, or head, anew, given all others",
        at_least(1),
        needs=without(
            "objective='contrastive-divergence'",
            lambda descent: isinstance(descent.course().full, ContrastiveDivergence),
        ),
    )

    def course(self) -> Course:
        """How labels teach, by the estimator's options `objective`, `n_steps` and `seed`."""
        return course_of(self.objective, self.n_steps, self.seed)

    def chosen_optimiser(
        self,
        usual: OptimiserName = "lbfgs",
        *,
        l1: float = 0.0,
        is_convex: bool = True,
        mini_batches: Callable[[str], dict[str, Any]] = lambda name: {},
    ) -> Optimiser[Any]:
        """The optimiser that the options describe; `mini_batches` has defaults by its name.

        A loss that is not convex has no one minimum to go all the way to: after many iterations
        the last digits of the loss still move, and answers do not.
        """
        if self.course().is_random and usual not in STOCHASTIC:
            usual = "adam"
        name = usual if self.optimiser is None else self.optimiser
        if isinstance(name, Optimiser):
            return name
        given: dict[str, Any] = {}
        if self.max_iterations is not None:
            given["n_iterations"] = self.max_iterations
        if self.loss_tolerance is not None:
            given["loss_tolerance"] = self.loss_tolerance
        if name in STOCHASTIC:
            return STOCHASTIC[name](**{**mini_batches(name), **given})
        ends = {} if is_convex else FLAT
        return OWLQN(**ends | given) if l1 or name == "owlqn" else LBFGS(**ends | given)

    def _check_together(self) -> None:
        if isinstance(self.optimiser, Optimiser):
            for name in ("max_iterations", "loss_tolerance"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"{name} came beside an optimiser that is an object; give it to that: "
                        f"{type(self.optimiser).__name__}(...)."
                    )
        super()._check_together()


ENTROPY = without("an entropy_weight above 0", lambda options: options.entropy_weight > 0)


@declared
class Uncertainty(Declared):
    """Entropy of sentences without labels, as a term of the loss."""

    unlabelled_terms: ClassVar[tuple[str, ...]] = ("entropy_weight",)
    """The options by which sentences without labels teach anything."""

    entropy_weight: float = option(
        0.0,
        "weight of the entropy of sentences without labels; training then begins without it. Too "
        "large a weight ends in a model that is sure of nonsense: begin small, and judge on "
        "held-out data",
        at_least(0),
    )
    entropy_ramp: int = option(
        20, "iterations until the weight of the entropy is reached", at_least(0), needs=ENTROPY
    )
    renyi_alpha: float | None = option(
        None, "order of the entropy, if it is to be Rényi's", above(0), needs=ENTROPY
    )

    def entropy_term(self, share: float = 1.0) -> EntropyTerm | None:
        """The term that these options describe, if any; `share` times as much of it."""
        if not self.entropy_weight:
            return None
        entropy = Entropy() if self.renyi_alpha is None else RenyiEntropy(self.renyi_alpha)
        return EntropyTerm(entropy, self.entropy_weight * share, self.entropy_ramp)
