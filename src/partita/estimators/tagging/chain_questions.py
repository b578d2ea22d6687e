"""What taggers can be asked beside all that tags words: spans, and the chain itself."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from partita.arrays import BoolArray, FloatArray
from partita.distribution.chain_entropy import UncertainSpan, span_entropies
from partita.distribution.linear_chain import LinearChain
from partita.estimators.answers import Asked
from partita.estimators.options import declared
from partita.estimators.tagging.material import restricting
from partita.estimators.tagging.questions import TagEstimator
from partita.text.sentences import listed, shown_words


@declared
class ChainEstimator(TagEstimator):
    """A distribution over tag sequences for every sentence: a structure is a tag for each word."""

    def span_entropy(self, sentences: Iterable[Any], first: int, last: int) -> FloatArray:
        """The entropy of the tags of words `first` to `last`, counted from 0, both included."""
        found = self._ask(sentences, lambda asked: asked.p.span_entropy(first, last), float)
        return np.array(list(found), dtype=np.float64)

    def most_uncertain_span(
        self, sentences: Iterable[Any], n_words: int
    ) -> list[UncertainSpan | None]:
        """The span of so many words whose tags are least certain; None in shorter sentences."""

        def question(asked: Asked) -> Iterator[UncertainSpan | None]:
            for unary, pairwise in zip(*asked.p.by_position.marginals, strict=True):
                yield most_uncertain(unary, pairwise, n_words)

        return list(self._ask(sentences, question, lambda: None))

    def distribution(self, sentence: Any) -> LinearChain:
        """The distribution over the tags of one sentence, for every other question."""
        (sentence,) = listed([sentence])
        if not len(sentence):
            raise ValueError("the sentence has no words; expected at least one.")
        (p,) = self.distributions([sentence])
        unary, pairwise = p.structures.split(p.scores)
        return LinearChain(unary[0], pairwise[0]).named(shown_words(sentence), self.tags_)

    # ------------------------------------------------------------------ for the layers below

    def _named(self, structure: Any) -> list[str]:
        return self._model().tags.named(structure)

    def _all_named(self, structures: Sequence[Any]) -> list[list[str]]:
        return self._model().tags.all_named(structures)

    def _marginals(self, p: LinearChain) -> Iterator[FloatArray]:
        # Copies, so that an answer does not hold the memory of its whole batch.
        return (unary.copy() for unary in p.marginals.unary)

    def _allowing(self, tags: Sequence[Any], place: str) -> BoolArray:
        return restricting(self._model().tags, tags, place)

    def _restricted(self, asked: Asked, allowed: Sequence[BoolArray]) -> LinearChain:
        return restricted(asked, allowed)


def restricted(asked: Asked, allowed: Sequence[BoolArray]) -> LinearChain:
    """The distribution over sequences with allowed tags only; `allowed` by number of sentence."""
    p: LinearChain = asked.p
    scores = p.scores.copy()
    unaries, _ = p.structures.split(scores)
    for unary, place in zip(unaries, asked.places, strict=True):
        unary[~allowed[place]] = -np.inf
    return p.with_scores(scores)


def most_uncertain(unary: FloatArray, pairwise: FloatArray, n_words: int) -> UncertainSpan | None:
    """The span of so many words with the largest entropy; None in a shorter sentence."""
    if len(unary) < n_words:
        return None
    entropies = span_entropies(unary, pairwise, n_words)
    first = int(np.argmax(entropies))
    return UncertainSpan(first, first + n_words - 1, float(entropies[first]))
