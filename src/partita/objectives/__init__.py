"""Ways of learning: each a loss over distributions, written once for all structures."""

from partita.objectives.base import (
    AdditiveObjective,
    Objective,
    Pullback,
    Schedule,
    SentenceObjective,
    Sum,
    Term,
    as_sum,
    ramp,
)
from partita.objectives.contrastive import ContrastiveEstimation, Neighbourhoods
from partita.objectives.costs import ExpectedCost, SoftmaxMargin, StructuredPerceptron
from partita.objectives.entropies import Entropy, RenyiEntropy
from partita.objectives.evidence_costs import ExponentialCost
from partita.objectives.expectations import (
    Constraints,
    GeneralizedExpectation,
    binary_kl_distance,
    gradient_from_covariance,
    kl_distance,
    squared_distance,
)
from partita.objectives.likelihood import Likelihood, MarginalLikelihood, OtherStructures
from partita.objectives.local import (
    Choices,
    LocalLikelihood,
    piecewise_choices,
    pseudo_choices,
)
from partita.objectives.neighbourhoods import (
    deletions,
    deletions_and_transpositions,
    subsequence_deletions,
    transpositions,
)
from partita.objectives.partial import known_heads, known_tags
from partita.objectives.pieces import chain_pieces, forest_pieces, tag_choices, tree_pieces
from partita.objectives.sampled import ContrastiveDivergence, SampledLikelihood
from partita.objectives.targets import CostedCounts, Counts, Observed, wrong_parts

__all__ = [
    "AdditiveObjective",
    "Choices",
    "Constraints",
    "ContrastiveDivergence",
    "ContrastiveEstimation",
    "CostedCounts",
    "Counts",
    "Entropy",
    "ExpectedCost",
    "ExponentialCost",
    "GeneralizedExpectation",
    "Likelihood",
    "LocalLikelihood",
    "MarginalLikelihood",
    "Neighbourhoods",
    "Objective",
    "Observed",
    "OtherStructures",
    "Pullback",
    "RenyiEntropy",
    "SampledLikelihood",
    "Schedule",
    "SentenceObjective",
    "SoftmaxMargin",
    "StructuredPerceptron",
    "Sum",
    "Term",
    "as_sum",
    "binary_kl_distance",
    "chain_pieces",
    "deletions",
    "deletions_and_transpositions",
    "forest_pieces",
    "gradient_from_covariance",
    "kl_distance",
    "known_heads",
    "known_tags",
    "piecewise_choices",
    "pseudo_choices",
    "ramp",
    "squared_distance",
    "subsequence_deletions",
    "tag_choices",
    "transpositions",
    "tree_pieces",
    "wrong_parts",
]
