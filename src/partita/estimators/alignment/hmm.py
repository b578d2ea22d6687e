"""The hidden Markov model of alignment: words translate words, and places follow places."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.distribution.linear_chain import LinearChain
from partita.estimators.alignment.directed import DirectedModel
from partita.estimators.alignment.jumps import Jumps
from partita.estimators.alignment.model1 import WordTable
from partita.kept import kept_number
from partita.kernels.bitext import hmm_best as hmm_alignment_best
from partita.kernels.bitext import hmm_steps as hmm_alignment_steps
from partita.structures.batch import offsets as offsets_of
from partita.text.word_vocabulary import Numbered, WordNumbers


@dataclass(frozen=True, eq=False)
class DirectedHiddenMarkov(DirectedModel):
    """p(target, alignment | source): a chain over the places that target words come from.

    From place k, a target word comes from place i with probability (1 - p0) p(i | k), see `Jumps`,
    or from the empty word, with p0, and the place stays k. A posterior costs O(n) for each target
    word, since distances are clipped.

    >>> from partita.estimators.alignment.em import EmCourse, learn_directions
    >>> from partita.text.word_vocabulary import WordVocabulary
    >>> french = [["la", "maison", "bleue"], ["la", "fleur", "bleue"], ["la", "maison"]]
    >>> english = [["the", "blue", "house"], ["the", "blue", "flower"], ["the", "house"]]
    >>> source, target = WordVocabulary.learn(french), WordVocabulary.learn(english)
    >>> numbers = source.encode(french), target.encode(english)
    >>> course = EmCourse(n_iterations=5)
    >>> (forward, backward), _ = learn_directions((*numbers, len(source), len(target)), course)
    >>> forward.best(*numbers)[0]  # the places that the, blue and house come from
    array([0, 2, 1])
    """

    table: WordTable
    jumps: Jumps
    null_probability: float

    def _posteriors(self, source: Numbered, target: Numbered) -> tuple[FloatArray, FloatArray]:
        cells = self.table.cells(source, target)
        out, log_likelihood = np.empty_like(cells), np.empty(len(source))
        *shape, jumps, starts, p0 = self._shape(source, target)
        longest = int(shape[1].max(initial=1))
        counts = np.zeros(len(jumps)), np.zeros((longest, longest)), np.zeros(len(starts))
        plain = np.ones(len(source))
        hmm_alignment_steps.infer_pairs(
            cells, tuple(shape), (jumps, starts, p0), plain, counts, out, log_likelihood
        )
        return out, log_likelihood

    def _best(self, source: Numbered, target: Numbered) -> IntArray:
        out = np.empty(len(target.numbers), dtype=np.int64)
        hmm_alignment_best.best_pairs(
            self.table.cells(source, target), *self._shape(source, target), out
        )
        return out

    def _shape(self, source: Numbered, target: Numbered) -> tuple[Any, ...]:
        n_source, n_target = source.n_words + 1, target.n_words
        places = offsets_of(n_source * n_target), n_source, n_target
        return *places, self.jumps.weights, self.jumps.starts, self.null_probability

    def distribution(self, source: WordNumbers, target: WordNumbers) -> LinearChain:
        """The alignments of one pair as a linear chain with 2 n + 1 tags.

        Tag i is place i; tag n + k the empty word at place k, and 2 n before the first jump. Its
        log-partition is log p(target | source). For questions that the fast recursion does not
        answer; O(m n²).
        """
        n = len(source)
        with np.errstate(divide="ignore"):
            words = np.log(self.table.matrix(source, target))
            start, table = map(np.log, self.jumps.probabilities(n))
            jump, stay = np.log([1 - self.null_probability, self.null_probability])
        can_be = words if self.null_probability > 0 else words[1:]
        words[:, (can_be == -np.inf).all(axis=0)] = 0.0
        unary = np.concatenate([words[1:], np.repeat(words[:1], n + 1, axis=0)]).T
        unary[0] += np.concatenate([start + jump, np.full(n, -np.inf), [stay]])
        pairwise = np.full((2 * n + 1, 2 * n + 1), -np.inf)
        pairwise[:n, :n] = pairwise[n : 2 * n, :n] = table + jump
        pairwise[2 * n, :n] = start + jump
        places = np.arange(n)
        pairwise[places, n + places] = stay
        places = np.arange(n, 2 * n + 1)
        pairwise[places, places] = stay
        return LinearChain(unary, pairwise)

    def with_table(self, table: WordTable) -> Self:
        """The same jumps with other word probabilities."""
        return replace(self, table=table)

    def tags(self, places: Sequence[int], n_source: int) -> list[int]:
        """Places; for none n + the last place, 2 n before the first jump."""
        tags, last = [], n_source
        for place in places:
            last = place if place >= 0 else last
            tags.append(place if place >= 0 else n_source + last)
        return tags

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {"null_probability": self.null_probability}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        return {**self.table.arrays(), **self.jumps.arrays()}

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The model that `header` and `arrays` describe."""
        table, jumps = WordTable.restored(arrays), Jumps.restored(arrays)
        return cls(table, jumps, kept_number(header["null_probability"], "null_probability"))
