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
from partita.objectives.contrastive import ContrastiveEstimation, EvidenceContrast, Neighbourhoods
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
from partita.objectives.neighbourhood_lattices import (
    NEIGHBOURHOODS,
    deletion_lattice,
    deletion_or_transposition_lattice,
    dynasearch_lattice,
    length_lattice,
    sentence_lattice,
    subsequence_deletion_lattice,
    transposition_lattice,
)
from partita.objectives.neighbourhoods import (
    deletions,
    deletions_and_transpositions,
    subsequence_deletions,
    transpositions,
)
from partita.objectives.normalised import LocallyNormalised
from partita.objectives.partial import known_heads, known_tags
from partita.objectives.pieces import chain_pieces, forest_pieces, tag_choices, tree_pieces
from partita.objectives.sampled import ContrastiveDivergence, SampledLikelihood
from partita.objectives.targets import CostedCounts, Counts, Observed, wrong_parts

__all__ = [
    "NEIGHBOURHOODS",
    "AdditiveObjective",
    "Choices",
    "Constraints",
    "ContrastiveDivergence",
    "ContrastiveEstimation",
    "CostedCounts",
    "Counts",
    "Entropy",
    "EvidenceContrast",
    "ExpectedCost",
    "ExponentialCost",
    "GeneralizedExpectation",
    "Likelihood",
    "LocalLikelihood",
    "LocallyNormalised",
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
    "deletion_lattice",
    "deletion_or_transposition_lattice",
    "deletions",
    "deletions_and_transpositions",
    "dynasearch_lattice",
    "forest_pieces",
    "gradient_from_covariance",
    "kl_distance",
    "known_heads",
    "known_tags",
    "length_lattice",
    "piecewise_choices",
    "pseudo_choices",
    "ramp",
    "sentence_lattice",
    "squared_distance",
    "subsequence_deletion_lattice",
    "subsequence_deletions",
    "tag_choices",
    "transposition_lattice",
    "transpositions",
    "tree_pieces",
    "wrong_parts",
]
