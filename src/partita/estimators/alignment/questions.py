"""What every aligner can be asked, whatever its model is: links, probabilities, samples."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import zip_longest
from typing import Literal, TypeVar

import numpy as np

from partita.arrays import FloatArray
from partita.data.alignments import SYMMETRISATIONS, Alignment, Link, Symmetrisation
from partita.distribution.base import Distribution
from partita.distribution.linear_chain import LinearChain
from partita.estimators.alignment.link_model import Direction, LinkDistribution, LinkModel, Texts
from partita.estimators.alignment.material import (
    PairMaterial,
    Sentences,
    check_links,
    checked_sentence,
    read_pairs,
)
from partita.estimators.alignment.symmetrise import least_risk
from partita.estimators.answers import in_chunks
from partita.estimators.bitext import BitextEstimator
from partita.estimators.options import at_least, declared, option
from partita.evaluation.alignments import link_counts
from partita.structures.batch import whole_number

Answer = TypeVar("Answer")
Pair = tuple[tuple[str, ...], tuple[str, ...]]
Decoder = Literal["threshold", "risk", "viterbi"]
DECODERS: tuple[Decoder, ...] = ("threshold", "risk", "viterbi")
CHUNK = 500
"""Pairs that are answered together; so their probabilities need not all be held."""


@declared
class LinkEstimator(BitextEstimator):
    """A distribution over the links of every pair: all questions, for every aligner."""

    model_: LinkModel = field(init=False)

    max_words: int = option(
        200, "pairs with more words on a side are neither learnt from nor aligned", at_least(1)
    )
    longer: Literal["skip", "keep"] = option(
        "skip", 'what becomes of pairs with more than max_words words; "keep" makes them as others'
    )

    # ------------------------------------------------------------------ links

    def predict(
        self,
        source: Sentences,
        target: Sentences,
        *,
        decoder: Decoder = "threshold",
        threshold: float = 0.5,
        symmetrisation: Symmetrisation | None = None,
    ) -> list[list[Link]]:
        """The links (i, j) of each pair, positions from 0, ascending.

        Parameters
        ----------
        decoder
            "threshold": the links whose probability is at least `threshold`. "risk": those with
            the best expected F1. "viterbi": the likeliest alignment (of each direction,
            symmetrised).
        threshold
            A higher one has more precision and less recall.
        symmetrisation
            How the two directions, in which a word has at most one link each, become one
            alignment: see `symmetrise` and `combined`. "mean", of probabilities, if left out, and
            "intersection" for "viterbi". The CRF has one direction, and ignores it.

        One list for each pair; empty for pairs that are skipped, see `max_words`.
        """
        return list(
            self.predict_stream(
                source,
                target,
                decoder=decoder,
                threshold=threshold,
                symmetrisation=symmetrisation,
            )
        )

    def predict_stream(
        self,
        source: Sentences,
        target: Sentences,
        *,
        decoder: Decoder = "threshold",
        threshold: float = 0.5,
        symmetrisation: Symmetrisation | None = None,
        chunk: int = CHUNK,
    ) -> Iterator[list[Link]]:
        """As `predict`, one answer after the other; reads `chunk` pairs at a time."""
        check_decoding(decoder, threshold, symmetrisation)
        if decoder == "viterbi":
            method = symmetrisation or "intersection"

            def links(source: Texts, target: Texts) -> list[list[Link]]:
                return self.model_.best(source, target, method)

        elif decoder == "risk":
            method = symmetrisation or "mean"

            def links(source: Texts, target: Texts) -> list[list[Link]]:
                return [least_risk(p) for p in self.model_.probabilities(source, target, method)]

        else:
            method = symmetrisation or "mean"

            def links(source: Texts, target: Texts) -> list[list[Link]]:
                return self.model_.above(source, target, threshold, method)

        return self._ask(source, target, links, lambda n, m: [], chunk=chunk)

    def predict_marginals(
        self, source: Sentences, target: Sentences, *, symmetrisation: Symmetrisation = "mean"
    ) -> list[FloatArray]:
        """The probability of every link, (n, m) for each pair; zeros for pairs that are skipped."""
        check_decoding("threshold", 0.5, symmetrisation)

        def marginals(source: Texts, target: Texts) -> list[FloatArray]:
            return self.model_.probabilities(source, target, symmetrisation)

        return list(self._ask(source, target, marginals, lambda n, m: np.zeros((n, m))))

    def directed_marginals(
        self, source: Sentences, target: Sentences
    ) -> list[tuple[FloatArray, FloatArray]]:
        """The probability of every link by either direction of the generative model."""
        self._check_fitted()
        return list(
            self._ask(
                source,
                target,
                self.model_.directed,
                lambda n, m: (np.zeros((n, m)), np.zeros((n, m))),
            )
        )

    def score(
        self,
        source: Sentences,
        target: Sentences,
        alignments: Sequence[Alignment],
        sample_weight: Sequence[float] | FloatArray | None = None,
    ) -> float:
        """1 - AER of the predicted links, so that more is better.

        With `sample_weight`, a number for each pair, its links count so much.
        """
        found = self.predict(source, target)
        return 1 - link_counts(alignments, found, sample_weight).error_rate

    # ------------------------------------------------------------------ probabilities

    def k_best(
        self, source: Sentences, target: Sentences, k: int, *, direction: Direction = "forward"
    ) -> list[list[tuple[list[Link], float]]]:
        """The k most probable alignments of each pair, with their log-probabilities.

        Of a generative model in one direction: "forward", where every target word comes from one
        source word or none, or "backward". Of the CRF those of the translation CRF in that
        direction, or of the one that learnt from gold links. A pair without words on a side has
        one alignment.
        """
        whole_number("k", k, 1)

        def best(pair: LinkDistribution) -> list[tuple[list[Link], float]]:
            total = float(pair.p.inference.log_partition[0])
            found = pair.p.structures.k_best(pair.p.scores, k)[0]
            return [(pair.links(each), float(score) - total) for each, score in found]

        return self._ask_each(source, target, direction, best, lambda: [([], 0.0)])

    def sample(
        self,
        source: Sentences,
        target: Sentences,
        size: int,
        rng: np.random.Generator,
        *,
        direction: Direction = "forward",
        replace: bool = True,
    ) -> list[list[list[Link]]]:
        """`size` independent alignments of each pair, drawn exactly; see `k_best`.

        With `replace=False` no two are the same: each is drawn from those that are left, and there
        are fewer where there are fewer in all.
        """
        whole_number("size", size, 1)

        def drawn(pair: LinkDistribution) -> list[list[Link]]:
            p = pair.p
            if replace:
                (samples,) = p.structures.sample(p.scores, p.inference, size, rng)
            else:
                (samples,) = p.flat_distinct(size, rng)
            return [pair.links(each) for each in samples]

        def nothing() -> list[list[Link]]:
            return [[] for _ in range(size if replace else 1)]

        return self._ask_each(source, target, direction, drawn, nothing)

    def entropy(
        self, source: Sentences, target: Sentences, *, direction: Direction = "forward"
    ) -> FloatArray:
        """The exact entropy of each pair's alignment, in nats; see `k_best`."""

        def value(pair: LinkDistribution) -> float:
            return float(np.ravel(pair.p.entropy)[0])

        return np.array(self._ask_each(source, target, direction, value, float))

    def log_prob(
        self,
        source: Sentences,
        target: Sentences,
        links: Iterable[Sequence[Link]],
        *,
        direction: Direction = "forward",
    ) -> FloatArray:
        """The log-probability of the links of each pair, given both sentences; see `k_best`."""
        pairs = read_pairs(source, target)
        given = [Alignment(tuple((int(i), int(j)) for i, j in each)) for each in links]
        check_links(pairs.source, pairs.target, given)
        waiting = iter(given)

        def value(pair: LinkDistribution | None) -> float:
            each = next(waiting)
            if pair is None:
                return 0.0
            counts = pair.p.structures.counts([pair.structure(each.links)])
            return float(pair.p.flat_score(counts)[0] - pair.p.inference.log_partition[0])

        return np.array(
            self._ask_each(pairs.source, pairs.target, direction, value, lambda: value(None))
        )

    def distribution(
        self, source: Sequence[str], target: Sequence[str], *, direction: Direction = "forward"
    ) -> Distribution:
        """The distribution over the alignments of one pair, for every other question.

        A linear chain over target words for a generative model, whose tag i is source place i (and
        others are none); alignments of an ITG for the CRF.
        """
        if not (len(source) and len(target)):
            raise ValueError("a sentence has no words; expected some on both sides.")
        p = self._distribution(source, target, direction).p
        if not isinstance(p, LinearChain):
            return p
        chosen, words = (source, target) if direction == "forward" else (target, source)
        nothing = ["(none)"] * (p.structures.n_tags - len(chosen))
        return p.named(words, [*chosen, *nothing])

    def best_translations(self, k: int = 5) -> list[tuple[str, str, float]]:
        """The k likeliest target words of each word that training saw, with t(target | source).

        >>> from partita import Aligner
        >>> aligner = Aligner(progress=False).fit(
        ...     [["la", "fleur"], ["la"]], [["the", "flower"], ["the"]]
        ... )
        >>> [(source, target) for source, target, _ in aligner.best_translations(1)]
        [('la', 'the'), ('fleur', 'flower')]
        """
        self._check_fitted()
        return self.model_.translations(k)

    # ------------------------------------------------------------------ helpers

    def _usable(self, pairs: PairMaterial) -> PairMaterial:
        return pairs.full().short(self.max_words if self.longer == "skip" else None)

    def _ask(
        self,
        source: Sentences,
        target: Sentences,
        ask: Callable[[Texts, Texts], list[Answer]],
        nothing: Callable[[int, int], Answer],
        *,
        chunk: int = CHUNK,
    ) -> Iterator[Answer]:
        """What `ask` finds in each usable pair, and `nothing(n, m)` for the others."""
        self._check_fitted()
        self.check_values()

        def answer(first: int, read: list[Pair]) -> list[Answer]:
            pairs = read_pairs([x for x, _ in read], [y for _, y in read])
            answers = [nothing(len(x), len(y)) for x, y in read]
            places = self._usable_places(pairs)
            found = ask([pairs.source[k] for k in places], [pairs.target[k] for k in places])
            for place, each in zip(places, found, strict=True):
                answers[place] = each
            return answers

        return in_chunks(_zipped(source, target), answer, workers=self.workers, chunk=chunk)

    def _usable_places(self, pairs: PairMaterial) -> list[int]:
        most = self.max_words if self.longer == "skip" else np.inf
        n, m = pairs.lengths
        places = np.flatnonzero((n > 0) & (m > 0) & (np.maximum(n, m) <= most))
        return list(map(int, places))

    def _ask_each(
        self,
        source: Sentences,
        target: Sentences,
        direction: Direction,
        ask: Callable[[LinkDistribution], Answer],
        nothing: Callable[[], Answer],
    ) -> list[Answer]:
        """What `ask` finds in the distribution of each pair, one after the other."""
        self._check_fitted()
        return [
            ask(self._distribution(x, y, direction)) if x and y else nothing()
            for x, y in _zipped(source, target)
        ]

    def _distribution(
        self, source: Sequence[str], target: Sequence[str], direction: Direction
    ) -> LinkDistribution:
        self._check_fitted()
        if direction not in ("forward", "backward"):
            raise ValueError(f"direction is {direction!r}; expected 'forward' or 'backward'.")
        return self.model_.distribution(source, target, direction)


def check_decoding(decoder: str, threshold: float, symmetrisation: str | None) -> None:
    """Arguments of `predict` that make no sense, before anything is computed."""
    if decoder not in DECODERS:
        raise ValueError(f"decoder is {decoder!r}; expected one of {', '.join(DECODERS)}.")
    if symmetrisation is not None and symmetrisation not in SYMMETRISATIONS:
        raise ValueError(
            f"symmetrisation is {symmetrisation!r}; expected one of {', '.join(SYMMETRISATIONS)}."
        )
    if decoder == "viterbi" and symmetrisation == "mean":
        raise ValueError(
            "symmetrisation is 'mean', of probabilities, but the decoder is 'viterbi', which has "
            "links only; expected another decoder, or a symmetrisation such as 'intersection' or "
            "'grow-diag'."
        )
    if not 0 < threshold <= 1:
        raise ValueError(
            f"threshold is {threshold}; expected above 0, at most 1. (At 0 all words would be "
            "linked.)"
        )


def _zipped(source: Sentences, target: Sentences) -> Iterator[Pair]:
    """Pairs as they come, or an error where one side ends before the other."""
    missing = object()
    for index, (x, y) in enumerate(zip_longest(source, target, fillvalue=missing)):
        if x is missing or y is missing:
            n_source, n_target = (f"{index}" if each is missing else "more" for each in (x, y))
            raise ValueError(
                f"there are {n_source} source and {n_target} target sentences; expected as many of "
                "each."
            )
        yield checked_sentence("source", index, x), checked_sentence("target", index, y)  # type: ignore[arg-type]
