"""How good predictions are: plain functions of gold and predicted tags and probabilities."""

from partita.evaluation.bootstrap import Interval, bootstrap
from partita.evaluation.calibration import Bin, calibration_error, reliability
from partita.evaluation.chunks import ChunkScores, Counted, chunk_scores
from partita.evaluation.tags import accuracy, accuracy_by_tag, many_to_one

__all__ = [
    "Bin",
    "ChunkScores",
    "Counted",
    "Interval",
    "accuracy",
    "accuracy_by_tag",
    "bootstrap",
    "calibration_error",
    "chunk_scores",
    "many_to_one",
    "reliability",
]
