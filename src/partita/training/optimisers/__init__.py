"""Ways to walk to the minimum of a loss, each a small state machine whose state can be stored."""

from partita.training.optimisers.base import (
    CorpusProblem,
    FunctionProblem,
    Optimiser,
    Problem,
    State,
)
from partita.training.optimisers.em import ExpectationMaximisation
from partita.training.optimisers.lbfgs import LBFGS
from partita.training.optimisers.owlqn import OWLQN
from partita.training.optimisers.schedules import (
    Constant,
    Cosine,
    InverseSquareRoot,
    InverseTime,
    Linear,
    Rate,
)
from partita.training.optimisers.stochastic import SGD, AdaGrad, Adam

__all__ = [
    "LBFGS",
    "OWLQN",
    "SGD",
    "AdaGrad",
    "Adam",
    "Constant",
    "CorpusProblem",
    "Cosine",
    "ExpectationMaximisation",
    "FunctionProblem",
    "InverseSquareRoot",
    "InverseTime",
    "Linear",
    "Optimiser",
    "Problem",
    "Rate",
    "State",
]
