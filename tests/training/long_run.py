"""A run for the tests to interrupt: python long_run.py CHECKPOINT RESULT OPTIMISER [SECONDS].

Each evaluation takes a little longer than it needs, so that there is time to interrupt it.
"""

import sys
import time
from pathlib import Path

import numpy as np

from partita.objectives import Likelihood
from partita.training.memory_corpus import MemoryCorpus
from partita.training.optimisers import LBFGS, Adam, ExpectationMaximisation
from partita.training.penalties import Penalty
from partita.training.trainer import train
from small_corpora import Evidence, chain_batches, evidence_batches, first_weights, most_likely

OPTIMISERS = {
    "LBFGS": LBFGS(n_iterations=40, gradient_tolerance=0.0, loss_tolerance=0.0),
    "Adam": Adam(n_iterations=12, average_from=6),
    "EM": ExpectationMaximisation(most_likely, n_iterations=40, loss_tolerance=-1.0),
}


class SlowCorpus(MemoryCorpus):
    seconds = 0.0

    def sums(self, weights, names, slopes):
        time.sleep(self.seconds)
        return super().sums(weights, names, slopes)

    def add_gradient(self, weights, indices, names, slopes, out):
        time.sleep(self.seconds / 10)
        return super().add_gradient(weights, indices, names, slopes, out)


def main(checkpoint, result, optimiser, seconds="0"):
    if optimiser == "EM":
        corpus = SlowCorpus(Evidence(), evidence_batches(), n_threads=2)
        options = {"weights": first_weights()}
    else:
        corpus = SlowCorpus(Likelihood(), chain_batches(), n_threads=2)
        options = {"penalty": Penalty(l2=0.1)}
    corpus.seconds = float(seconds)
    found = train(
        corpus,
        OPTIMISERS[optimiser],
        **options,
        seed=4,
        checkpoint=checkpoint,
        checkpoint_seconds=0.0,
        resume=True,
        log=f"{checkpoint}.log",
    )
    np.save(result, found.weights)
    Path(f"{result}.reason").write_text(found.reason)


if __name__ == "__main__":
    main(*sys.argv[1:])
