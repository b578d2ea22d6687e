"""Answers of a parser to many sentences: trees under constraints, and their labels."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.dependencies import sentence_name
from partita.data.sentences import Sentence
from partita.estimators.answers import Asked
from partita.estimators.parsing.labels import Labels, one_subject
from partita.estimators.parsing.lifting import MARK
from partita.estimators.parsing.model import KeyedWords, TreeDistribution
from partita.objectives.partial import known_heads
from partita.structures.base import Structure
from partita.text.sentences import where
from partita.text.words import Words
from partita.training.batches import cut

Arcs = Sequence[tuple[int, int]]
"""(head, modifier), where words count from 1 and 0 is the root."""
Candidates = Sequence[tuple[IntArray, float]]
"""Trees of a sentence and their scores."""
SUBJECTS = ("nsubj", "csubj")
N_CANDIDATES = 8
"""Trees among which the most probable labelled one is looked for."""
MOST_WORDS = 2**17
"""Words that are labelled at a time."""


@dataclass(frozen=True)
class ArcLimits:
    """For each sentence, arcs that its tree must have and arcs that it may not have."""

    required: Sequence[Arcs] | None = None
    forbidden: Sequence[Arcs] | None = None

    def check(self, n_sentences: int) -> None:
        """An error unless there are lists for as many sentences."""
        for name, arcs in (("required", self.required), ("forbidden", self.forbidden)):
            if arcs is not None and len(arcs) != n_sentences:
                raise ValueError(
                    f"{name} has arcs for {len(arcs)} sentences, and {n_sentences} came; expected "
                    "a list for each, an empty one where there are none."
                )

    def restricted(self, asked: Asked) -> TreeDistribution:
        """The trees of sentences that are left."""
        p: TreeDistribution = asked.p
        if self.required is None and self.forbidden is None:
            return p
        allowed = np.ones(p.structures.n_parts, dtype=np.bool_)
        for index, arcs in enumerate(p.structures.split_arrays(allowed)[0]):
            for head, modifier in self._of(self.forbidden, asked, index):
                arcs[head, modifier] = False
            for head, modifier in self._of(self.required, asked, index):
                arcs[np.arange(len(arcs)) != head, modifier] = False
        left = p.flat_restricted(allowed)
        impossible = np.flatnonzero(p.structures.argmax(left.scores).scores == -np.inf)
        if impossible.size:
            _refuse(asked, int(impossible[0]))
        return left

    @staticmethod
    def _of(arcs: Sequence[Arcs] | None, asked: Asked, index: int) -> Arcs:
        place, n_words = asked.places[index], len(asked.sentences[index])
        found = () if arcs is None else arcs[place]
        for head, modifier in found:
            if not (0 <= head <= n_words and 1 <= modifier <= n_words and head != modifier):
                raise ValueError(
                    f"{where(asked.sentences[index], place)} has {n_words} words, and the arc "
                    f"({head}, {modifier}) came; expected (head, modifier), two different words "
                    "counted from 1, or 0, the root, as head."
                )
        return found


def _refuse(asked: Asked, index: int) -> NoReturn:
    sentence, trees = asked.sentences[index], asked.p.structures
    conditions = ["whose arcs do not cross"] * trees.is_projective
    conditions += ["and with one root" if conditions else "with one root"] * trees.single_root
    name = sentence_name(sentence) if isinstance(sentence, Sentence) else "this sentence"
    raise ValueError(
        f"{where(sentence, asked.places[index])} has no tree"
        f"{''.join(f' {each}' for each in conditions)} that has all arcs required of {name} and "
        "none that is forbidden. Require or forbid fewer arcs."
    )


def least_risk(p: TreeDistribution) -> list[Structure]:
    """The tree with the fewest wrong arcs to be expected, of each sentence."""
    # Siblings are neither right nor wrong; parts that no tree has stay out of it.
    marginals = np.where(p.structures.is_choice(), p.inference.marginals, 0.0)
    marginals[p.scores == -np.inf] = -np.inf
    return p.with_scores(marginals).best.structures


def agreeing(p: TreeDistribution, heads: Sequence[IntArray]) -> FloatArray:
    """Log-partition of the trees that have the known heads (-1 where not known)."""
    scores = np.where(known_heads(p.structures, heads), p.scores, -np.inf)
    # A tree that is not allowed has probability 0; that is an answer, not an error.
    return p.structures.infer(scores).log_partition


# ---------------------------------------------------------------------- labels


@dataclass(frozen=True)
class Labeller:
    """Gives arcs of whole trees their labels."""

    model: Labels
    weights: FloatArray

    def tables(
        self, encoded: KeyedWords, sentences: Sequence[int], trees: Sequence[IntArray]
    ) -> list[FloatArray]:
        """log p(label | tree) for trees of some sentences, which may repeat: (n, n_labels) each."""
        if not len(trees):
            return []
        flat, ends = self._table(encoded, sentences, trees)
        return np.split(flat, ends[:-1])

    def best(
        self,
        encoded: KeyedWords,
        trees: Sequence[Sequence[IntArray]],
        *,
        single_subject: bool = False,
    ) -> list[list[list[str]]]:
        """The best labels of some trees of each sentence."""
        is_subject = np.array(
            [name.partition(MARK)[0].split(":")[0] in SUBJECTS for name in self.model.names]
        )

        def labels(table: FloatArray, owners: IntArray) -> IntArray:
            if single_subject:
                return one_subject(table, owners, is_subject)
            best: IntArray = table.argmax(axis=1)
            return best

        # The best scores are those of the best probabilities, at less cost.
        return self._named(encoded, trees, labels, self.model.scores)

    def drawn(
        self, encoded: KeyedWords, trees: Sequence[Sequence[IntArray]], rng: np.random.Generator
    ) -> list[list[list[str]]]:
        """Labels of some trees of each sentence, drawn at random."""

        def labels(table: FloatArray, owners: IntArray) -> IntArray:
            below = np.exp(table).cumsum(axis=1)
            drawn = rng.random((len(table), 1)) * below[:, -1:]
            chosen: IntArray = (drawn >= below).sum(axis=1)
            return chosen

        return self._named(encoded, trees, labels, self.model.log_probabilities)

    def _named(
        self,
        encoded: KeyedWords,
        trees: Sequence[Sequence[IntArray]],
        labels: Callable[[FloatArray, IntArray], IntArray],
        table_of: Callable[[FloatArray, Words, IntArray], FloatArray],
    ) -> list[list[list[str]]]:
        """What `labels` says of the words of many trees at once: a table, and each word's head."""
        names = np.array(self.model.names, dtype=object)
        result: list[list[list[str]]] = [[] for _ in trees]
        pairs = [(index, heads) for index, each in enumerate(trees) for heads in each]
        for part in cut([len(heads) for _, heads in pairs], MOST_WORDS):
            indices, here = zip(*pairs[part.start : part.stop], strict=True)
            words, heads = encoded.words.chosen(np.asarray(indices)), np.concatenate(here)
            table, n_words = table_of(self.weights, words, heads), words.n_words
            ends = np.cumsum(n_words)
            # Heads of different trees are different owners.
            owners = heads + np.repeat(words.first_nodes[:-1], n_words)
            found = names[labels(table, owners)].tolist()
            bounds = zip(indices, (ends - n_words).tolist(), ends.tolist(), strict=True)
            for index, begin, end in bounds:
                result[index].append(found[begin:end])
        return result

    def _table(
        self, encoded: KeyedWords, sentences: Sequence[int], trees: Sequence[IntArray]
    ) -> tuple[FloatArray, IntArray]:
        """log p(label | tree) of the words of all trees, end to end, and where each tree ends."""
        words = encoded.words.chosen(np.asarray(sentences))
        flat = self.model.log_probabilities(self.weights, words, np.concatenate(trees))
        return flat, np.cumsum(words.n_words)

    def most_probable(self, encoded: KeyedWords, found: Sequence[Candidates]) -> list[IntArray]:
        """Of each sentence's candidates the one whose score + log p(best labels) is largest.

        The labels look at siblings, children and the head's head, so that they know of a tree what
        scores of single arcs cannot.
        """
        firsts = [int(np.argmax([score for _, score in each])) for each in found]
        best = list(zip(self._totals(encoded, found, enumerate(firsts)), firsts, strict=True))
        # Labels take away only: what is no better without them than the first is with its own
        # cannot be chosen.
        others = [
            (index, place)
            for index, (total, first) in enumerate(best)
            for place, (_, score) in enumerate(found[index])
            if score > total and place != first
        ]
        for total, (index, place) in zip(self._totals(encoded, found, others), others, strict=True):
            if total > best[index][0]:
                best[index] = total, place
        return [each[place][0] for each, (_, place) in zip(found, best, strict=True)]

    def _totals(
        self, encoded: KeyedWords, found: Sequence[Candidates], which: Iterable[tuple[int, int]]
    ) -> list[float]:
        """The score + log p(best labels) of some candidates, by sentence and place."""
        pairs = [(index, *found[index][place]) for index, place in which]
        if not pairs:
            return []
        indices, trees, scores = zip(*pairs, strict=True)
        table, ends = self._table(encoded, indices, trees)
        starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])
        gains = np.add.reduceat(table.max(axis=1), starts)
        totals: list[float] = (np.array(scores) + gains).tolist()
        return totals
