"""Feature maps: linear maps from weights to the scores of parts, and their transposes."""

from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.chains import tag_constraints, tag_features, tag_parts
from partita.features.lattices import lattice_features
from partita.features.log_linear import LogLinear, markov_contexts
from partita.features.matrix import FixedScores, MatrixFeatures
from partita.features.pairs import PairFeatures, Pairs
from partita.features.rows import RowFeatures
from partita.text.attributes import Attributes
from partita.text.vocabulary import HashedVocabulary, Vocabulary, VocabularyBuilder

__all__ = [
    "Attributes",
    "FeatureMap",
    "FixedScores",
    "HashedVocabulary",
    "JoinedFeatures",
    "LogLinear",
    "MatrixFeatures",
    "PairFeatures",
    "Pairs",
    "RowFeatures",
    "Vocabulary",
    "VocabularyBuilder",
    "lattice_features",
    "markov_contexts",
    "tag_constraints",
    "tag_features",
    "tag_parts",
]
