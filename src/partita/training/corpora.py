"""Who adds up a corpus, by what `workers` says: threads of this process, or a Ray cluster."""

import os
from collections.abc import Iterable, Sequence

from partita.objectives.base import Objective, Sum
from partita.training.batches import Batch
from partita.training.corpus import Corpus
from partita.training.memory_corpus import MemoryCorpus
from partita.training.shards import StoredBatches
from partita.training.workers import Workers


def build_corpus(
    objective: Objective | Sum,
    batches: Iterable[Batch],
    *,
    workers: int | str | None = None,
    n_shards: int | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Corpus:
    """A corpus of batches, summed over by threads or by a Ray cluster.

    `workers` is a number of threads (all cores if left out), or "ray:4" for four Ray workers
    ("ray" for as many as the cluster has cores). `n_shards` is best left out; results depend on it
    in the last bits, and on `workers` not at all. `cache` is a folder to which batches are written
    as they come (they may be a generator, then) and from which they are read in every pass, so that
    there may be more of them than memory; every machine of a cluster must see it.

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> from partita.features import Attributes, tag_features
    >>> from partita.objectives import Counts, Likelihood
    >>> from partita.structures.chains import Chains
    >>> from partita.training import Batch
    >>> chains = Chains([2, 1], n_tags=2, shared=True)  # two words, and one
    >>> features = tag_features(chains, Attributes.from_lists([[0], [1], [0]]), n_attributes=2)
    >>> tags = Counts.of(chains, [[0, 1], [0]])
    >>> batch = Batch(LinearChain, chains, features, {"Likelihood": tags})
    >>> corpus = build_corpus(Likelihood(), [batch], workers=2)
    >>> loss, gradient = corpus.value_and_gradient(np.zeros(8))
    >>> round(loss, 3), gradient[:4]
    (2.079, array([-1. ,  1. ,  0.5, -0.5]))
    """
    chosen = Workers.of(workers)
    if cache is not None and not isinstance(batches, StoredBatches):
        batches = StoredBatches.write(batches, cache)
    elif not isinstance(batches, Sequence):
        batches = list(batches)
    if chosen.on_ray:
        # Ray is an optional extra, so its module is imported only when it is asked for.
        from partita.training.ray_corpus import RayCorpus

        return RayCorpus(objective, batches, n_workers=chosen.n_workers, n_shards=n_shards)
    return MemoryCorpus(objective, batches, n_threads=chosen.n_workers, n_shards=n_shards)
