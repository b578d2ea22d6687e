"""From batches and an objective to weights: corpus, optimisers, checkpoints, model files."""

from partita.training.batches import Batch, cut
from partita.training.checkpoint import Record
from partita.training.corpora import build_corpus
from partita.training.corpus import Corpus
from partita.training.digests import digest
from partita.training.interruption import break_if_interrupted, heed_interruptions
from partita.training.model_file import ModelFileError, read_model, write_model
from partita.training.optimisers import (
    LBFGS,
    OWLQN,
    SGD,
    AdaGrad,
    Adam,
    ExpectationMaximisation,
)
from partita.training.penalties import Penalty
from partita.training.progress import Display
from partita.training.trainer import TrainingResult, minimise, train

__all__ = [
    "LBFGS",
    "OWLQN",
    "SGD",
    "AdaGrad",
    "Adam",
    "Batch",
    "Corpus",
    "Display",
    "ExpectationMaximisation",
    "ModelFileError",
    "Penalty",
    "Record",
    "TrainingResult",
    "break_if_interrupted",
    "build_corpus",
    "cut",
    "digest",
    "heed_interruptions",
    "minimise",
    "read_model",
    "train",
    "write_model",
]
