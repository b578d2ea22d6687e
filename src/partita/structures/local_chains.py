"""Chains normalised at every step (maximum-entropy Markov models), as scores of ordinary ones."""

import numpy as np

from partita.arrays import FloatArray
from partita.kernels.chains import local as local_kernels
from partita.structures.base import Structures
from partita.structures.chains import Chains


def locally_normalised(structures: Structures, scores: FloatArray) -> FloatArray:
    """Scores of the chains in which p(tag of a word | the tag before it) is normalised.

    p(tags) = product over t of p(y_t | y_(t-1)), proportional to exp(unary[t, y_t] +
    pairwise[y_(t-1), y_t]) at each step by itself (McCallum, Freitag and Pereira 2000). The result
    has the same parts, and a log-partition of 0, so that everything else can be asked of it as of
    any chain. Where a tag is possible but none behind it, what leads there is lost, and the
    log-partition is below 0. O(n s²).

    >>> chains = Chains([2], n_tags=2, shared=True)
    >>> scores = np.array([1.0, 2.0, 0.5, 0.0, 3.0, 0.0, -1.0, 0.0])
    >>> bool(np.isclose(chains.infer(locally_normalised(chains, scores)).log_partition, 0.0)[0])
    True
    """
    chains = _checked(structures)
    out = np.empty_like(scores)
    local_kernels.normalise(scores, *chains.shape, _stride(chains), out)
    return out


def pulled_through_normalisation(
    structures: Structures, scores: FloatArray, gradient: FloatArray
) -> FloatArray:
    """A gradient with respect to `locally_normalised(scores)` as one with respect to `scores`."""
    chains = _checked(structures)
    out = np.empty_like(scores)
    local_kernels.pull_back(scores, gradient, *chains.shape, _stride(chains), out)
    return out


def _stride(chains: Chains) -> int:
    return 0 if chains.shared else chains.n_tags**2


def _checked(structures: Structures) -> Chains:
    if not isinstance(structures, Chains):
        raise ValueError(
            f"{type(structures).__name__} came; expected Chains: only a chain has a step from each "
            "tag to the next that can be normalised by itself."
        )
    return structures
