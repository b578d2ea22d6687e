"""A process that trains on a corpus four times as large as the memory it may still take."""

import resource
import sys
from pathlib import Path

import numpy as np

from partita.distribution.linear_chain import LinearChain
from partita.features.chains import tag_features
from partita.objectives import Counts, Likelihood
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.training.batches import Batch
from partita.training.corpora import build_corpus
from partita.training.memory_corpus import MemoryCorpus
from partita.training.optimisers import LBFGS
from partita.training.penalties import Penalty
from partita.training.trainer import train

ALLOWED = 24 * 2**20
"""Bytes of address space, beyond those of the program."""
N_TAGS, N_ATTRIBUTES, N_ROWS, PER_ROW = 2, 60, 1000, 300


def large_batches(n_bytes=4 * ALLOWED):
    """Words with very many attributes each, made as they are taken."""
    rng = np.random.default_rng(0)
    for _ in range(-(-n_bytes // (4 * N_ROWS * PER_ROW))):
        chains = Chains([N_ROWS], N_TAGS, shared=True)
        ids = rng.integers(N_ATTRIBUTES, size=N_ROWS * PER_ROW, dtype=np.int32)
        words = Attributes(ids, PER_ROW * np.arange(N_ROWS + 1))
        features = tag_features(chains, words, N_ATTRIBUTES)
        tags = (ids[::PER_ROW] % N_TAGS).astype(np.int64)
        yield Batch(LinearChain, chains, features, {"Likelihood": Counts.of(chains, [tags])})


def allow(n_bytes):
    """No more address space than is used now, and so much."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + n_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(folder):
    # Kernels are loaded, and all that is needed once, before memory is counted.
    small = build_corpus(Likelihood(), large_batches(1), workers=1, cache=f"{folder}/small")
    train(small, LBFGS(n_iterations=1))
    allow(ALLOWED)
    corpus = build_corpus(Likelihood(), large_batches(), workers=1, cache=f"{folder}/large")
    result = train(corpus, LBFGS(n_iterations=2), penalty=Penalty(l2=0.5))
    sys.stdout.write(result.weights.tobytes().hex())
    try:
        MemoryCorpus(Likelihood(), list(large_batches()), n_threads=1)
    except MemoryError:
        sys.stdout.write(" MemoryError")


if __name__ == "__main__":
    main(sys.argv[1])
