"""Which heads to ask for: the span of words with the most nats for a second of work, exactly.

What is not known of a span are its words' heads and their relations, and relations depend on
nothing but their arcs:

    H(heads and relations) = H(heads) + sum over words and heads of p(head) H(relation | head)

The sum of the single words' entropies is cheap and never below it. So spans are ranked by that
bound, and the first is looked at exactly, until the first is exact: no other can be better.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from partita.arrays import BoolArray, FloatArray
from partita.data.conllu import EMPTY
from partita.distribution.chain_entropy import entropy_of
from partita.distribution.tree_entropy import head_entropy
from partita.distribution.trees import Tree
from partita.label.effort import Effort
from partita.label.ledger import KnownLabels, Place
from partita.label.task import Span, Survey, best_span

N_EXACT = 6
"""Questions that are ranked exactly; more are seldom asked before the model has learnt again."""
EXACT_ARCS = 3_000_000
"""Arcs of all exact looks together, a fraction of a second; spans that would take more keep their
bound, as those of very long sentences do."""
LIKELY_HEADS = 3
"""Of each word, whose relations the bound looks at."""

RelationEntropies = Callable[..., list[FloatArray]]


@dataclass
class Uncertain:
    """A sentence, and the entropies of its spans, some of them still bounds."""

    place: int
    arcs: FloatArray
    marginals: FloatArray
    is_open: BoolArray
    named: BoolArray
    of_words: FloatArray
    """Of heads and relations of each word alone."""
    entropies: list[FloatArray]
    exact: set[tuple[int, int]] = field(default_factory=set)
    """First words and lengths of the spans whose entropy is no bound."""

    def has_exact(self, span: Span) -> bool:
        """Whether a span's entropy is exact."""
        return (span.first, span.last - span.first + 1) in self.exact


@dataclass(frozen=True)
class TreeSurvey:
    """Looks at all trees of a corpus, given what is known."""

    known: KnownLabels
    closed: set[Place]
    effort: Effort
    most_words: int
    relations: RelationEntropies

    def of(self, batches: Iterable[tuple[Tree, range]], is_informed: bool) -> Survey:
        """The most uncertain span of each sentence, and how much is uncertain in all."""
        kinds: dict[int, tuple[type[Tree], bool]] = {}
        places: list[int] = []
        arcs: list[FloatArray] = []
        marginals: list[FloatArray] = []
        for p, numbers in batches:
            places += numbers
            kinds |= dict.fromkeys(numbers, (type(p), p.structures.single_root))
            arcs += p.structures.split(p.scores)
            marginals += p.marginals
        of_relations = self.relations(marginals, places, LIKELY_HEADS)
        found = [
            self._bounded(*each) for each in zip(places, arcs, marginals, of_relations, strict=True)
        ]
        return Survey(
            self._ranked(found, kinds),
            float(sum(each.of_words.sum() for each in found)),
            float(sum(each[:, 1:].max(axis=0).sum() for each in marginals)),
            sum(map(len, self.known)),
            is_informed,
        )

    def _bounded(
        self, place: int, arcs: FloatArray, marginals: FloatArray, of_relations: FloatArray
    ) -> Uncertain:
        labels = self.known[place]
        named = np.array([label is not None and label[1] != EMPTY for label in labels])
        is_open = np.array(
            [
                label is None and (place, word) not in self.closed
                for word, label in enumerate(labels)
            ]
        )
        of_words = entropy_of(marginals[:, 1:], (0,)) + np.where(named, 0.0, of_relations)
        sums = np.concatenate([[0.0], np.cumsum(of_words)])
        lengths = range(1, min(self.most_words, len(of_words)) + 1)
        bounds = [sums[length:] - sums[:-length] for length in lengths]
        return Uncertain(place, arcs, marginals, is_open, named, of_words, bounds)

    def _ranked(
        self, sentences: Sequence[Uncertain], kinds: dict[int, tuple[type[Tree], bool]]
    ) -> list[Span]:
        """The best span of each sentence, most nats for a second first."""
        heap: list[tuple[float, int, Span, Uncertain]] = []

        def push(sentence: Uncertain) -> None:
            best = best_span(sentence.place, sentence.entropies, sentence.is_open, self.effort)
            if best is not None:
                heapq.heappush(heap, (-best[0], sentence.place, best[1], sentence))

        for sentence in sentences:
            push(sentence)
        ranked: list[Span] = []
        left = EXACT_ARCS
        while heap:
            _, place, span, sentence = heapq.heappop(heap)
            n_words = span.last - span.first + 1
            cost = sentence.arcs.size * len(sentence.arcs) ** (n_words - 1)
            if len(ranked) >= N_EXACT or cost > left or sentence.has_exact(span):
                ranked.append(span)
                continue
            left -= cost
            self._look_closely(sentence, span.first, n_words, *kinds[place])
            push(sentence)
        return ranked

    def _look_closely(
        self, sentence: Uncertain, first: int, length: int, kind: Any, single_root: bool
    ) -> None:
        """Replace the bound of a span by its entropy."""
        words = range(first, first + length)
        of_heads = head_entropy(kind(sentence.arcs, single_root), [word + 1 for word in words])
        (of_relations,) = self.relations([sentence.marginals], [sentence.place])
        open_ = np.where(sentence.named, 0.0, of_relations)[first : first + length]
        sentence.entropies[length - 1][first] = of_heads + open_.sum()
        sentence.exact.add((first, length))
