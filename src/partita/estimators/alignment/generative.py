"""Generative models of both directions with their words: from lists of words to probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray
from partita.data.alignments import Link, Symmetrisation
from partita.estimators import files
from partita.estimators.alignment.directed import DirectedModel, DirectedModel1
from partita.estimators.alignment.em import Judge, Models
from partita.estimators.alignment.hmm import DirectedHiddenMarkov
from partita.estimators.alignment.link_model import Direction, LinkDistribution, LinkModel, Texts
from partita.estimators.alignment.material import PairMaterial
from partita.estimators.alignment.model1 import WordTable
from partita.estimators.alignment.symmetrise import above, combined, symmetrise
from partita.estimators.explain import Cell, Table
from partita.text.word_vocabulary import N_RESERVED, UNKNOWN, WordVocabulary

MIN_PROBABILITY = 1e-9
"""Word pairs below are forgotten after training: most of those that only ever met by chance."""
N_SHOWN, LEAST_SHOWN = 5, 0.005
"""Translations of a word that `inspect` shows, and how likely they are at least."""

KINDS: dict[str, type[DirectedModel1] | type[DirectedHiddenMarkov]] = {
    "model1": DirectedModel1,
    "hmm": DirectedHiddenMarkov,
}


@dataclass(frozen=True, eq=False)
class Generative(LinkModel):
    """Models of p(target | source) and p(source | target), and the words of both sides."""

    source_words: WordVocabulary
    target_words: WordVocabulary
    forward: DirectedModel
    backward: DirectedModel

    @classmethod
    def of(cls, source: WordVocabulary, target: WordVocabulary, models: Models) -> Self:
        """What was learnt, made ready for text that training never saw."""
        forward, backward = (
            model.with_table(for_new_text(model.table, one, two))
            for model, one, two in zip(models, (source, target), (target, source), strict=True)
        )
        return cls(source, target, forward, backward)

    def probabilities(
        self, source: Texts, target: Texts, symmetrisation: Symmetrisation
    ) -> list[FloatArray]:
        """Those of both directions, combined."""
        return [combined(p, q, symmetrisation) for p, q in self.directed(source, target)]

    def above(
        self, source: Texts, target: Texts, threshold: float, symmetrisation: Symmetrisation
    ) -> list[list[Link]]:
        """Of the combined probabilities; what grows, grows from the links of each direction."""
        if not symmetrisation.startswith("grow"):
            found = self.probabilities(source, target, symmetrisation)
            return [above(p, threshold) for p in found]
        return [
            symmetrise(above(p, threshold), above(q, threshold), symmetrisation)
            for p, q in self.directed(source, target)
        ]

    def best(
        self, source: Texts, target: Texts, symmetrisation: Symmetrisation
    ) -> list[list[Link]]:
        """The likeliest alignment of either direction, symmetrised."""
        one, two = self.source_words.encode(source), self.target_words.encode(target)
        return [
            symmetrise(
                [(i, j) for j, i in enumerate(forward.tolist()) if i >= 0],
                [(i, j) for i, j in enumerate(backward.tolist()) if j >= 0],
                symmetrisation,
            )
            for forward, backward in zip(
                self.forward.best(one, two), self.backward.best(two, one), strict=True
            )
        ]

    def directed(self, source: Texts, target: Texts) -> list[tuple[FloatArray, FloatArray]]:
        """The probability of each link by either direction, two arrays (n, m) for each pair."""
        one, two = self.source_words.encode(source), self.target_words.encode(target)
        forward, backward = self.forward.posteriors(one, two), self.backward.posteriors(two, one)
        return [(p, q.T) for p, q in zip(forward, backward, strict=True)]

    def log_likelihood(self, source: Texts, target: Texts) -> FloatArray:
        """log p(target | source) + log p(source | target) of each pair."""
        one, two = self.source_words.encode(source), self.target_words.encode(target)
        total: FloatArray = self.forward.log_likelihood(one, two)
        total += self.backward.log_likelihood(two, one)
        return total

    def distribution(
        self, source: Sequence[str], target: Sequence[str], direction: Direction
    ) -> LinkDistribution:
        """A chain over the source places of target words, or the other way round."""
        is_forward = direction == "forward"
        x, y = self.source_words.encode([source])[0], self.target_words.encode([target])[0]
        if not is_forward:
            x, y = y, x
        model, n, m = (self.forward if is_forward else self.backward), len(x), len(y)

        def links(tags: Sequence[int]) -> list[Link]:
            found = [(int(tag), j) for j, tag in enumerate(tags) if tag < n]
            return sorted(found if is_forward else [(j, i) for i, j in found])

        def structure(given: Sequence[Link]) -> list[int]:
            places = [-1] * m
            for i, j in given if is_forward else [(j, i) for i, j in given]:
                if places[j] >= 0:
                    side = "target" if is_forward else "source"
                    raise ValueError(
                        f"{side} word {j} has two links, to {places[j]} and {i}; expected at most "
                        f"one, since it comes from one word or none in the {direction} direction."
                    )
                places[j] = i
            return model.tags(places, n)

        return LinkDistribution(model.distribution(x, y), links, structure)

    def translations(self, k: int) -> list[tuple[str, str, float]]:
        """By t(target | source)."""
        pairs, probabilities = self.forward.table.best(k)
        return [
            (self.source_words.names[i], self.target_words.names[j], p)
            for (i, j), p in zip(pairs.tolist(), probabilities.tolist(), strict=True)
            if min(i, j) >= N_RESERVED
        ]

    def facts(self) -> dict[str, Cell]:
        """The kind, and how many words it knows."""
        kinds = {"model1": "IBM Model 1", "hmm": "hidden Markov models"}
        return {
            "model": f"{kinds[self._kind]} of both directions",
            "source words": len(self.source_words) - N_RESERVED,
            "target words": len(self.target_words) - N_RESERVED,
        }

    def tables(self, n_words: int) -> list[Table]:
        """Translations of the most frequent words in both directions, and how far they jump."""
        sides = [
            ("source", self.source_words, self.target_words, self.forward),
            ("target", self.target_words, self.source_words, self.backward),
        ]
        found = [
            Table(
                f"Translations of the most frequent {side} words:",
                ("word", "translations"),
                _rows(own, other, model.table, n_words),
            )
            for side, own, other, model in sides
        ]
        for side, _, _, model in sides:
            if isinstance(model, DirectedHiddenMarkov):
                shares = model.jumps.weights / model.jumps.weights.sum()
                rows = [
                    (f"{distance:+}", f"{share:.3f}")
                    for distance, share in enumerate(shares.tolist(), start=-model.jumps.reach)
                ]
                found.append(Table(f"Jumps between {side} words:", ("distance", "share"), rows))
        return found

    @property
    def _kind(self) -> str:
        return next(name for name, cls in KINDS.items() if isinstance(self.forward, cls))

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {"kind": self._kind, **{name: p.header() for name, p in self._parts().items()}}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        found: dict[str, Array] = {}
        for name, part in self._parts().items():
            found |= files.prefixed(name, part.arrays())
        return found

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The models that `header` and `arrays` describe."""
        kind = KINDS[header["kind"]]
        kinds = {
            "source_words": WordVocabulary,
            "target_words": WordVocabulary,
            "forward": kind,
            "backward": kind,
        }
        parts: dict[str, Any] = {
            name: part.restored(header[name], files.under(name, arrays))
            for name, part in kinds.items()
        }
        return cls(**parts)

    def _parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def judging(words: tuple[WordVocabulary, WordVocabulary], pairs: PairMaterial) -> Judge:
    """Models -> minus the log-likelihood of held-out pairs, in both directions."""

    def judge(models: Models) -> float:
        model = Generative.of(*words, models)
        return -float(model.log_likelihood(pairs.source, pairs.target).sum())

    return judge


def _rows(
    own: WordVocabulary, other: WordVocabulary, table: WordTable, n_words: int
) -> list[tuple[Cell, ...]]:
    """Words are numbered by frequency, behind the empty word and the unknown one."""
    pairs, probabilities = table.best(N_SHOWN)
    found: dict[int, list[str]] = {}
    for (word, translation), p in zip(pairs.tolist(), probabilities.tolist(), strict=True):
        is_frequent = word != UNKNOWN and word < n_words + N_RESERVED
        if is_frequent and translation != UNKNOWN and p >= LEAST_SHOWN:
            found.setdefault(word, []).append(f"{other.names[translation]} {p:.2f}")
    return [(own.names[word], ", ".join(each)) for word, each in found.items()]


def for_new_text(table: WordTable, source: WordVocabulary, target: WordVocabulary) -> WordTable:
    """A learnt table made ready for text that training never saw, and smaller.

    A word that was seen c times is expected to be translated by an unknown word as if it had been
    seen once more, with any of the V target words alike: 1 / ((c + 1) V). So an unknown word goes
    to an unknown word first, and then rather to a rare word than to a frequent one. Entries below
    `MIN_PROBABILITY` are left out.
    """
    table = table.pruned(MIN_PROBABILITY)
    if target.counts[UNKNOWN]:
        return table
    probabilities = 1.0 / ((source.counts + 1.0) * (len(target) - 1))
    # The empty word, which no sentence has, is in every one.
    probabilities[0] = 1.0 / ((target.counts.sum() + 1.0) * (len(target) - 1))
    rows = np.arange(table.n_source)
    return WordTable(
        table.offsets + np.arange(table.n_source + 1),
        np.insert(table.targets, table.offsets[rows], np.int32(UNKNOWN)),
        np.insert(table.probabilities, table.offsets[rows], probabilities),
        table.unseen,
    )
