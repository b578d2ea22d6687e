"""Several batches as one: sets of structures of different kinds, compared with each other."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, starmap
from typing import Any, Self

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray
from partita.structures.base import Best, Inference, Structure, Structures
from partita.structures.distinct import distinct_structures
from partita.structures.resampling import resampled


class JoinedStructures(Structures):
    """The sentences of several `Structures`, one after the other, each with parts of its own.

    For objectives that compare sets of different kinds, as `ContrastiveEstimation` does with the
    derivations of a pair and those of all translations. The members are asked one after another,
    or as `run` does it, which is called like `map`.

    >>> from partita.structures.chains import Chains
    >>> chains = Chains([1], n_tags=2, shared=True), Chains([1], n_tags=3, shared=True)
    >>> joined = JoinedStructures(chains)
    >>> np.exp(joined.infer(np.zeros(joined.n_parts)).log_partition).round(9)
    array([2., 3.])
    """

    def __init__(
        self, members: Sequence[Structures], run: Callable[..., Iterable[Any]] = map
    ) -> None:
        self.members = tuple(members)
        self._run = run
        sizes = [np.diff(member.part_offsets) for member in members]
        self.part_offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
        self.n_words = np.concatenate([member.n_words for member in members])
        self._parts = _blocks([member.n_parts for member in members])
        self._sentences = _blocks([member.n_sentences for member in members])

    def is_same_set(self, other: Self) -> bool:
        """The same members in the same order."""
        return len(self.members) == len(other.members) and all(
            type(mine) is type(its) and mine.is_same_set(its)
            for mine, its in zip(self.members, other.members, strict=True)
        )

    def infer(self, scores: FloatArray) -> Inference:
        """Each member's own inference."""
        return _joined(self._asked(lambda member, mine: member.infer(mine), self._split(scores)))

    def infer_once(self, scores: FloatArray) -> Inference:
        """Each member's own."""
        asked = self._asked(lambda member, mine: member.infer_once(mine), self._split(scores))
        return _joined(asked)

    def centred(self, scores: FloatArray, inference: Inference) -> FloatArray:
        """Each member's own."""
        found = self._asked(
            lambda member, mine, inner: member.centred(mine, inner),
            self._split(scores),
            inference.state,
        )
        return np.concatenate(found)

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """Each member's own product."""
        return np.concatenate(
            self._asked(
                lambda member, *known: member.covariance_product(*known),
                self._split(scores),
                inference.state,
                self._split(direction),
            )
        )

    def covariance(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """Those of the members."""
        members = zip(self._with(scores), inference.state, strict=True)
        return _chained([member.covariance(mine, known) for (member, mine), known in members])

    def argmax(self, scores: FloatArray) -> Best:
        """Those of the members."""
        found = self._asked(lambda member, mine: member.argmax(mine), self._split(scores))
        structures = _chained([best.structures for best in found])
        return Best(structures, np.concatenate([best.scores for best in found]))

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """Those of the members."""
        return np.concatenate(
            self._asked(lambda member, mine: member.max_marginals(mine), self._split(scores))
        )

    def count(self, allowed: BoolArray) -> list[int]:
        """Those of the members."""
        return _chained(self._asked(lambda member, mine: member.count(mine), self._split(allowed)))

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """Those of the members."""
        return _chained(
            self._asked(lambda member, mine: member.k_best(mine, k), self._split(scores))
        )

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Those of the members."""
        members = zip(self._with(scores), inference.state, strict=True)
        return _chained(
            [member.sample(mine, known, size, rng) for (member, mine), known in members]
        )

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """Those of the members."""
        return _chained(
            [distinct_structures(member, mine, size, rng) for member, mine in self._with(scores)]
        )

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """Those of the members."""
        members = zip(self._with(scores), self._sentences, strict=True)
        return _chained(
            [
                resampled(member, mine, structures[block], n_steps, rng)
                for (member, mine), block in members
            ]
        )

    def is_choice(self) -> BoolArray:
        """Those of the members."""
        return np.concatenate([member.is_choice() for member in self.members])

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """What the member that has the sentence says."""
        for (member, mine), block in zip(self._with(scores), self._sentences, strict=True):
            if sentence < block.stop:
                return member.why_empty(mine, sentence - block.start)
        raise IndexError(sentence)

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """Those of the members."""
        return np.concatenate(
            [
                member.counts(structures[block])
                for member, block in zip(self.members, self._sentences, strict=True)
            ]
        )

    def _asked(self, question: Callable[..., Any], *known: Sequence[Any]) -> list[Any]:
        """The answer of each member to a question about what is known of it."""
        return list(self._run(question, self.members, *known))

    def _split(self, vector: Array) -> list[Array]:
        return [vector[block] for block in self._parts]

    def _with(self, scores: FloatArray) -> list[tuple[Structures, FloatArray]]:
        return list(zip(self.members, self._split(scores), strict=True))


def _blocks(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes]).tolist()
    return list(starmap(slice, pairwise(ends)))


def _chained(lists: Sequence[list[Any]]) -> list[Any]:
    return [item for items in lists for item in items]


def _joined(found: list[Inference]) -> Inference:
    """The inferences of all members as one."""
    return Inference(
        np.concatenate([inference.log_partition for inference in found]),
        np.concatenate([inference.marginals for inference in found]),
        tuple(found),
    )
