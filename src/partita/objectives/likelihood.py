"""Learning from structures that are known, or known in part."""

from dataclasses import dataclass

from scipy import sparse

from partita.arrays import BoolArray, FloatArray
from partita.distribution.base import Distribution
from partita.objectives.base import Gradient, SentenceObjective
from partita.objectives.targets import Counts, checked_counts
from partita.structures.base import Structures


class Likelihood(SentenceObjective):
    """Minus the log-probability of the target: A - score(target); gradient marginals - target.

    The target is `Counts.of(structures, [a structure per sentence])`.

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    >>> statistic, pullback = Likelihood()(p, Counts.of(p.structures, [[0, 1]]))
    >>> bool(np.isclose(statistic[0], 2 * np.log(2)))
    True
    >>> pullback(np.ones(1)).round(9)
    array([-0.5 ,  0.5 ,  0.5 , -0.5 ,  0.25, -0.75,  0.25,  0.25])
    """

    def losses(self, p: Distribution, target: Counts) -> tuple[FloatArray, Gradient]:
        """A - score(target)."""
        target = checked_counts(target, p.structures, self)
        inference = p.inference
        return (
            inference.log_partition - target.score(p.scores),
            lambda: target.subtracted_from(inference.marginals),
        )


@dataclass(frozen=True)
class OtherStructures:
    """A second set of structures, whose parts are scored by the parts of the first.

    The score of its part i is <map[i], scores>, for a sparse `map` of shape (n_parts of the other
    structures, n_parts): for a forest of the derivations that yield the observed translation, a
    one at the hyperedge of the larger forest with the same features.

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> p = LinearChain(np.array([[0.0, 1.0]]), np.zeros((2, 2)))
    >>> swapped = sparse.csr_array(np.eye(6)[[1, 0, 2, 3, 4, 5]])  # the two tags change places
    >>> other = OtherStructures(LinearChain, p.structures, swapped)
    >>> other.check(p.structures)
    >>> other.distribution(p.scores).argmax
    [array([0])]
    """

    kind: type[Distribution]
    structures: Structures
    map: sparse.csr_array

    def check(self, structures: Structures) -> None:
        """An error if the map does not lead from the parts of the first set to its own."""
        expected = (self.structures.n_parts, structures.n_parts)
        if self.map.shape != expected:
            raise ValueError(
                f"the map of the other structures has shape {self.map.shape}; expected {expected}, "
                "a row for each of their parts and a column for each part of the batch."
            )

    def distribution(self, scores: FloatArray) -> Distribution:
        """The distribution over the other structures."""
        return self.kind.from_flat(self.structures, self.map @ scores)


class MarginalLikelihood(SentenceObjective):
    """Minus the log-probability of a set of structures: A - A(allowed).

    For latent variables and partial labels. The gradient is marginals - marginals(allowed). The
    target is a mask over parts, (n_parts,), True where a part agrees with what is known (see
    `known_tags` and `known_heads`); or `OtherStructures`. Where the two sets have features but no
    parts in common, put both into one batch and use `ContrastiveEstimation`. Costs two inferences.

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    >>> first_tag_is_1 = np.array([False, True, True, True] + [True] * 4)
    >>> statistic, pullback = MarginalLikelihood()(p, first_tag_is_1)
    >>> bool(np.isclose(statistic[0], np.log(2)))
    True
    """

    def losses(
        self, p: Distribution, target: BoolArray | OtherStructures
    ) -> tuple[FloatArray, Gradient]:
        """A - A(allowed)."""
        if isinstance(target, OtherStructures):
            target.check(p.structures)
            other = target.distribution(p.scores)
            return _difference(
                p, other
            ), lambda: p.inference.marginals - target.map.T @ other.inference.marginals
        allowed = p.flat_restricted(target)
        return _difference(p, allowed), lambda: p.inference.marginals - allowed.inference.marginals


def _difference(p: Distribution, other: Distribution) -> FloatArray:
    if p.structures.n_sentences != other.structures.n_sentences:
        raise ValueError(
            f"the other structures are of {other.structures.n_sentences} sentences; expected "
            f"{p.structures.n_sentences}, a set for each sentence of the batch."
        )
    return p.inference.log_partition - other.inference.log_partition
