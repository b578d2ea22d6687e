"""How good predictions are: plain functions of gold and predicted tags and probabilities."""

from partita.evaluation.bootstrap import Interval, bootstrap
from partita.evaluation.brackets import BracketScores, compare_brackets
from partita.evaluation.calibration import Bin, calibration_error, reliability
from partita.evaluation.chunks import ChunkScores, Counted, chunk_scores
from partita.evaluation.tags import accuracy, accuracy_by_tag, many_to_one
from partita.evaluation.trees import (
    ComparedTrees,
    RelationScores,
    compare_systems,
    compare_trees,
    trees_of,
)

__all__ = [
    "Bin",
    "BracketScores",
    "ChunkScores",
    "ComparedTrees",
    "Counted",
    "Interval",
    "RelationScores",
    "accuracy",
    "accuracy_by_tag",
    "bootstrap",
    "calibration_error",
    "chunk_scores",
    "compare_brackets",
    "compare_systems",
    "compare_trees",
    "many_to_one",
    "reliability",
    "trees_of",
]
