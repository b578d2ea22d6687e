"""`Aligner`: which words of two sentences translate each other."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import zip_longest
from typing import Any, ClassVar, Literal, Self

import numpy as np

from partita.arrays import FloatArray
from partita.data.alignments import Alignment, Link
from partita.distribution.base import Distribution
from partita.estimators import files
from partita.estimators.alignment.generative import Generative
from partita.estimators.alignment.inspection import AlignerInspection
from partita.estimators.alignment.itg_links import ItgLinks
from partita.estimators.alignment.link_model import Direction, LinkDistribution, LinkModel
from partita.estimators.alignment.material import (
    PairCounts,
    PairMaterial,
    Sentences,
    check_links,
    checked_sentence,
    read_held_out,
    read_pairs,
)
from partita.estimators.alignment.models import MODELS, AlignmentModel, ModelName
from partita.estimators.alignment.symmetrise import (
    SYMMETRISATIONS,
    Symmetrisation,
    least_risk,
)
from partita.estimators.answers import in_chunks
from partita.estimators.base import Estimator, Stored
from partita.estimators.groups import Runs
from partita.estimators.options import at_least, declared, option
from partita.evaluation.alignments import link_counts
from partita.structures.batch import whole_number
from partita.text.word_vocabulary import WordVocabulary
from partita.training import TrainingResult, heed_interruptions

Decoder = Literal["threshold", "risk", "viterbi"]
DECODERS: tuple[Decoder, ...] = ("threshold", "risk", "viterbi")
CHUNK = 500
"""Pairs that are answered together; so their probabilities need not all be held."""
KINDS: dict[str, type[Generative] | type[ItgLinks]] = {"generative": Generative, "itg": ItgLinks}
"""Of trained models, by the name in a file."""


@declared
class Aligner(Estimator, Runs):
    """Links between the words of sentences and their translations, learnt from a bitext alone.

    A `model` is one of `Model1(...)`, `HiddenMarkovAlignment(...)` and `ItgAlignment(...)`, with
    options of its own, or a name for one with good defaults. After `fit` it has `model_`, what was
    learnt, `counts_` (how many pairs were used, and why others were not), `training_` (the last
    run), `stages_` (all runs by name) and `stage_counts_`.

    >>> french = [["la", "maison", "bleue"], ["la", "fleur", "bleue"], ["la", "maison"]]
    >>> english = [["the", "blue", "house"], ["the", "blue", "flower"], ["the", "house"]]
    >>> aligner = Aligner(progress=False).fit(french, english)
    >>> aligner.predict([["la", "fleur"]], [["the", "flower"]])
    [[(0, 0), (1, 1)]]
    """

    kind: ClassVar[str] = "aligner"
    model_: LinkModel = field(init=False)
    counts_: PairCounts = field(init=False)
    stages_: dict[str, TrainingResult] = field(init=False)
    """The runs of `fit` in their order; none after `load`."""
    stage_counts_: dict[str, PairCounts] = field(init=False)
    """What became of the pairs in stages that cannot take all that are usable."""

    model: ModelName | AlignmentModel = option(
        "hmm",
        '"model1": IBM Model 1, where each word chooses its translation alone; "hmm": a hidden '
        'Markov model, where places follow places; "crf": a conditional random field over the '
        "derivations of an inversion transduction grammar, which also learns from gold "
        "alignments; or an object with options of its own: `Model1`, `HiddenMarkovAlignment`, "
        "`ItgAlignment`",
    )
    lowercase: bool = option(True, "ignore capitals")
    n_letters: int | None = option(
        None,
        "tell words apart by so many first letters: a rough stemmer, for a small bitext of a "
        "language with many endings",
        at_least(1),
    )
    min_count: int = option(1, "words seen less often count as unknown", at_least(1))
    max_words: int = option(
        200, "pairs with more words on a side are neither learnt from nor aligned", at_least(1)
    )
    longer: Literal["skip", "keep"] = option(
        "skip", 'what becomes of pairs with more than max_words words; "keep" makes them as others'
    )

    # ------------------------------------------------------------------ learning

    def fit(
        self,
        source: Sentences,
        target: Sentences,
        alignments: Iterable[Alignment | None] | None = None,
        *,
        held_out: tuple[Sentences, Sentences] | None = None,
        sample_weight: Sequence[float] | FloatArray | None = None,
    ) -> Self:
        """Learn from sentences and their translations, lists of words.

        `alignments` are gold links of some or all pairs (None for a pair without), for the CRF;
        what is `possible` may be linked or not. The likelihood of `held_out`, source and target
        sentences, says which iteration was best. `sample_weight` has a number for each pair. Pairs
        with an empty side teach nothing.
        """
        self.check()
        model = self.chosen_model()
        if alignments is not None and not model.learns_from_gold:
            raise ValueError(
                f"gold alignments came, but the model {self.model!r} learns from words alone; use "
                "model='crf', or leave them out."
            )
        material = read_pairs(source, target, alignments=alignments, sample_weight=sample_weight)
        judges = read_held_out(held_out)
        pairs = self._usable(material)
        if not len(pairs):
            raise ValueError(
                f"there is nothing to learn from ({pairs.counts}); expected pairs with words on "
                f"both sides, at most {self.max_words}. Give others, raise max_words, or set "
                "longer='keep'."
            )
        words = self._words(pairs.source), self._words(pairs.target)
        with heed_interruptions():
            learnt = model.learn(words, pairs, judges, self)
        self.model_, self.counts_ = learnt.model, pairs.counts
        self.stages_, self.stage_counts_ = learnt.stages, learnt.counts
        self.training_ = list(learnt.stages.values())[-1]
        return self

    def chosen_model(self) -> AlignmentModel:
        """The model that `model` stands for."""
        return MODELS[self.model]() if isinstance(self.model, str) else self.model

    def _words(self, sentences: Sequence[Sequence[str]]) -> WordVocabulary:
        letters = [] if self.n_letters is None else [f"cut{self.n_letters}"]
        view = ".".join([*["lower"] * self.lowercase, *letters])
        return WordVocabulary.learn(sentences, min_count=self.min_count, view=view)

    def _usable(self, pairs: PairMaterial) -> PairMaterial:
        return pairs.full().short(self.max_words if self.longer == "skip" else None)

    def _check_together(self) -> None:
        super()._check_together()
        for name in ("checkpoint", "log"):
            if getattr(self, name) is not None and not self.chosen_model().learns_from_gold:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}, but the model {self.model!r} is learnt in "
                    "a few iterations, of which no file is written; expected model='crf' with it."
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

            def links(source: Any, target: Any) -> list[list[Link]]:
                return self.model_.best(source, target, method)

        elif decoder == "risk":
            method = symmetrisation or "mean"

            def links(source: Any, target: Any) -> list[list[Link]]:
                return [least_risk(p) for p in self.model_.probabilities(source, target, method)]

        else:
            method = symmetrisation or "mean"

            def links(source: Any, target: Any) -> list[list[Link]]:
                return self.model_.above(source, target, threshold, method)

        return self._ask(source, target, links, lambda n, m: [], chunk=chunk)

    def predict_marginals(
        self, source: Sentences, target: Sentences, *, symmetrisation: Symmetrisation = "mean"
    ) -> list[FloatArray]:
        """The probability of every link, (n, m) for each pair; zeros for pairs that are skipped."""
        check_decoding("threshold", 0.5, symmetrisation)

        def marginals(source: Any, target: Any) -> list[FloatArray]:
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
    ) -> list[list[list[Link]]]:
        """`size` independent alignments of each pair, drawn exactly; see `k_best`."""
        whole_number("size", size, 1)

        def drawn(pair: LinkDistribution) -> list[list[Link]]:
            p = pair.p
            samples = p.structures.sample(p.scores, p.inference, size, rng)[0]
            return [pair.links(each) for each in samples]

        return self._ask_each(source, target, direction, drawn, lambda: [[] for _ in range(size)])

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
        return self._distribution(source, target, direction).p

    def best_translations(self, k: int = 5) -> list[tuple[str, str, float]]:
        """The k likeliest target words of each word that training saw, with t(target | source).

        >>> aligner = Aligner(progress=False).fit(
        ...     [["la", "fleur"], ["la"]], [["the", "flower"], ["the"]]
        ... )
        >>> [(source, target) for source, target, _ in aligner.best_translations(1)]
        [('la', 'the'), ('fleur', 'flower')]
        """
        self._check_fitted()
        return self.model_.translations(k)

    def inspect(self, n_words: int = 10) -> AlignerInspection:
        """What the aligner is, and the likeliest translations of the most frequent words."""
        self._check_fitted()
        facts = self.model_.facts() | {"learnt from": str(self.counts_)}
        return AlignerInspection(facts, self.model_.tables(n_words))

    # ------------------------------------------------------------------ helpers

    def _ask(
        self, source: Sentences, target: Sentences, ask: Any, nothing: Any, *, chunk: int = CHUNK
    ) -> Iterator[Any]:
        """What `ask` finds in each usable pair, and `nothing(n, m)` for the others."""
        self._check_fitted()
        self.check()

        def answer(first: int, read: list[Any]) -> list[Any]:
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
        self, source: Sentences, target: Sentences, direction: Direction, ask: Any, nothing: Any
    ) -> list[Any]:
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

    def _stored(self) -> Stored:
        kind = next(name for name, each in KINDS.items() if isinstance(self.model_, each))
        header = {
            "kind_of_model": kind,
            "model": self.model_.header(),
            "counts": vars(self.counts_),
        }
        return Stored(header, files.prefixed("model", self.model_.arrays()))

    def _restore(self, stored: Stored) -> None:
        header, arrays = stored.header["model"], files.under("model", stored.arrays)
        self.model_ = KINDS[stored.header["kind_of_model"]].restored(header, arrays)
        self.counts_ = PairCounts(**stored.header["counts"])
        self.stages_, self.stage_counts_ = {}, {}


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


def _zipped(
    source: Sentences, target: Sentences
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
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
