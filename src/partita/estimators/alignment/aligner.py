"""`Aligner`: which words of two sentences translate each other."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np

from partita.arrays import FloatArray
from partita.data.alignments import Alignment, Link
from partita.estimators.alignment.aligner_checks import check_alike, check_arguments, check_links
from partita.estimators.alignment.generative import Generative, Model1Alignment, for_new_text
from partita.estimators.alignment.hmm_training import train_both, train_hmm
from partita.estimators.alignment.symmetrise import (
    Symmetrisation,
    above,
    combined,
    least_risk,
    symmetrise,
)
from partita.estimators.alignment.words import Numbered, Words
from partita.estimators.parameters import Parameters
from partita.evaluation.alignments import link_counts
from partita.training.checkpoint import Record
from partita.training.model_file import read_model, write_model
from partita.training.progress import choose_display

KIND = "aligner"
"""What a model file says it holds."""

BLOCK = 2000
"""Pairs that are answered together."""

Sentences = Sequence[Sequence[str]]


class Aligner(Parameters):
    """Links between the words of sentences and their translations, learnt from a bitext alone.

    Parameters
    ----------
    model
        "model1": IBM Model 1, where each word chooses its translation alone. "hmm": a hidden
        Markov model, where places follow places. "crf": a conditional random field over the
        derivations of an inversion transduction grammar, with the posteriors of the hidden Markov
        models among its features; the only one that learns from gold alignments, too.
    symmetrisation
        How the two directions, in which a word has at most one link each, become one alignment:
        see `symmetrise` and `combined`. "mean" and "intersection" (the product) are for
        probabilities, the others for links. The CRF has one direction, and ignores it.
    decoder
        "threshold": the links whose probability is at least `threshold`. "risk": those with the
        best expected F1. "viterbi": the likeliest alignment (of each direction, symmetrised).
    threshold
        See `decoder`. A higher one has more precision and less recall.
    lowercase, n_letters, min_count
        What is told apart of words, see `Words`: capitals, letters after the first `n_letters`
        (a rough stemmer, for a small bitext of a language with many endings), and words that are
        rarer than `min_count`.
    model1_iterations, n_iterations
        Of expectation-maximisation, for Model 1 (where "hmm" begins, too) and for the rest.
    alpha
        Of a Dirichlet prior on translations, by variational Bayes; 0 for none. On a large bitext
        without agreement, 0.01 helps the "viterbi" decoder, since it keeps rare words from
        explaining everything around them; elsewhere it was found to do harm.
    null_probability
        That a word is from no word of the other sentence, for the hidden Markov models.
    reach
        The distance from which on jumps are alike.
    agreement
        Whether both directions of the hidden Markov model learn only what both believe.
    max_words, longer
        Pairs with a longer side are neither learnt from nor aligned (their alignment is empty) if
        `longer` is "skip"; with "keep" they are pairs like others.
    crf_options
        For the CRF, see `ItgAligner`.
    seed
        All randomness follows from it; only the CRF has any.
    n_threads
        All cores if left out; the model is the same for any number.
    progress
        Whether to show progress on standard error; where that is a terminal if left out.

    After `fit` it has `generative_` (both directions), `crf_` or None, `n_pairs_` it learnt from,
    `n_empty_` and `n_longer_` that it left out, and `history_`, a list of (stage, iteration,
    log-likelihood).

    >>> french = [["la", "maison", "bleue"], ["la", "fleur", "bleue"], ["la", "maison"]]
    >>> english = [["the", "blue", "house"], ["the", "blue", "flower"], ["the", "house"]]
    >>> aligner = Aligner(progress=False).fit(french, english)
    >>> aligner.predict([["la", "fleur"]], [["the", "flower"]])
    [[(0, 0), (1, 1)]]
    """

    def __init__(
        self,
        model: Literal["model1", "hmm", "crf"] = "hmm",
        *,
        symmetrisation: Symmetrisation = "mean",
        decoder: Literal["threshold", "risk", "viterbi"] = "threshold",
        threshold: float = 0.5,
        lowercase: bool = True,
        n_letters: int | None = None,
        min_count: int = 1,
        model1_iterations: int = 5,
        n_iterations: int = 5,
        alpha: float = 0.0,
        null_probability: float = 0.2,
        reach: int = 10,
        agreement: bool = True,
        max_words: int = 200,
        longer: Literal["skip", "keep"] = "skip",
        crf_options: dict[str, Any] | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.model = model
        self.symmetrisation = symmetrisation
        self.decoder = decoder
        self.threshold = threshold
        self.lowercase = lowercase
        self.n_letters = n_letters
        self.min_count = min_count
        self.model1_iterations = model1_iterations
        self.n_iterations = n_iterations
        self.alpha = alpha
        self.null_probability = null_probability
        self.reach = reach
        self.agreement = agreement
        self.max_words = max_words
        self.longer = longer
        self.crf_options = crf_options
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress

    # ------------------------------------------------------------------ learning

    def fit(
        self,
        source: Sentences,
        target: Sentences,
        alignments: Sequence[Alignment | None] | None = None,
    ) -> Self:
        """Learn from sentences and their translations, lists of words.

        `alignments` are gold links of some or all pairs (None for a pair without), for the CRF;
        what is `possible` may be linked or not. Pairs with an empty side teach nothing.
        """
        self._check()
        if alignments is not None and self.model != "crf":
            raise ValueError(
                f"gold alignments came, but the model {self.model!r} learns from words alone; use "
                "model='crf', or leave them out."
            )
        check_alike(source, target, alignments)
        if alignments is not None:
            check_links(source, target, alignments)
        usable = self._usable(source, target)
        self.n_pairs_ = len(usable)
        self.n_empty_ = sum(1 for a, b in zip(source, target, strict=True) if not (a and b))
        self.n_longer_ = len(source) - self.n_pairs_ - self.n_empty_
        if not usable:
            raise ValueError(
                f"there is nothing to learn from: of {len(source)} pairs, {self.n_empty_} have an "
                f"empty side and {self.n_longer_} more than {self.max_words} words on a side. Give "
                "others, raise max_words, or set longer='keep'."
            )
        sources, targets = [source[k] for k in usable], [target[k] for k in usable]
        self.generative_ = self._train_generative(sources, targets)
        self.crf_: Any = None
        if self.model == "crf":
            from partita.estimators.alignment.itg_aligner import ItgAligner

            gold = None if alignments is None else [alignments[k] for k in usable]
            options = {
                **(self.crf_options or {}),
                "seed": self.seed,
                "n_threads": self.n_threads,
                "progress": self.progress,
            }
            self.crf_ = ItgAligner.train(self.generative_, sources, targets, gold, options)
        return self

    def _train_generative(self, source: Sentences, target: Sentences) -> Generative:
        words = [
            Words.learn(
                side,
                min_count=self.min_count,
                lowercase=self.lowercase,
                n_letters=self.n_letters,
            )
            for side in (source, target)
        ]
        numbers = words[0].encode(source), words[1].encode(target)
        n_iterations = self.model1_iterations
        if self.model != "model1":
            n_iterations += self.n_iterations
        display = choose_display(self.progress)
        display.begin(n_iterations)
        self.history_: list[tuple[str, int, float]] = []
        begin = time.perf_counter()

        def report(stage: str, iteration: int, log_likelihood: float) -> None:
            self.history_.append((stage, iteration, log_likelihood))
            done = iteration + (self.model1_iterations if stage == "HMM" else 0)
            seconds = time.perf_counter() - begin
            display.show(Record(done, -log_likelihood, float("nan"), float("nan"), seconds))

        try:
            models = self._train_directions(numbers, len(words[0]), len(words[1]), report)
        finally:
            display.end()
        forward, backward = (
            replace(model, table=for_new_text(model.table, one, two))
            for model, one, two in zip(models, words, words[::-1], strict=True)
        )
        return Generative(words[0], words[1], forward, backward)

    def _train_directions(
        self, numbers: tuple[Numbered, Numbered], n_source: int, n_target: int, report: Any
    ) -> Sequence[Any]:
        n_threads = self.n_threads or os.cpu_count() or 1
        shared = {"alpha": self.alpha, "n_threads": n_threads, "on_iteration": report}
        if self.model == "model1":
            tables = train_both(
                *numbers, n_source, n_target, n_iterations=self.model1_iterations, **shared
            )
            return [Model1Alignment(table) for table in tables]
        return train_hmm(
            *numbers,
            n_source,
            n_target,
            model1_iterations=self.model1_iterations,
            n_iterations=self.n_iterations,
            null_probability=self.null_probability,
            reach=self.reach,
            agreement=self.agreement,
            **shared,
        )

    # ------------------------------------------------------------------ asking

    def predict(self, source: Sentences, target: Sentences) -> list[list[Link]]:
        """The links (i, j) of each pair, positions from 0, ascending; see `decoder`.

        One list for each pair; empty for pairs that are skipped, see `max_words`.
        """
        self._check_fitted()
        check_alike(source, target, None)
        found: list[list[Link]] = []
        # A few at a time, so that their probabilities need not all be held.
        for start in range(0, len(source), BLOCK):
            block = slice(start, start + BLOCK)
            found += self._predict(source[block], target[block])
        return found

    def _predict(self, source: Sentences, target: Sentences) -> list[list[Link]]:
        if self.decoder == "viterbi":
            return self._viterbi(source, target)
        grows = self.crf_ is None and self.symmetrisation.startswith("grow")
        if self.decoder == "threshold" and grows:
            return [
                symmetrise(above(p, self.threshold), above(q, self.threshold), self.symmetrisation)
                for p, q in self.directed_marginals(source, target)
            ]
        marginals = self.predict_marginals(source, target)
        if self.decoder == "risk":
            return [least_risk(p) for p in marginals]
        return [above(p, self.threshold) for p in marginals]

    def predict_marginals(self, source: Sentences, target: Sentences) -> list[FloatArray]:
        """The probability of every link, (n, m) for each pair; zeros for pairs that are skipped."""
        self._check_fitted()
        if self.crf_ is not None:
            return self._for_usable(
                source, target, self.crf_.posteriors, lambda n, m: np.zeros((n, m))
            )
        pairs = self.directed_marginals(source, target)
        return [combined(p, q, self.symmetrisation) for p, q in pairs]

    def directed_marginals(
        self, source: Sentences, target: Sentences
    ) -> list[tuple[FloatArray, FloatArray]]:
        """The probability of every link by either direction of the generative model."""
        self._check_fitted()
        return self._for_usable(
            source,
            target,
            self.generative_.posteriors,
            lambda n, m: (np.zeros((n, m)), np.zeros((n, m))),
        )

    def _viterbi(self, source: Sentences, target: Sentences) -> list[list[Link]]:
        if self.crf_ is not None:
            return self._for_usable(source, target, self.crf_.best, lambda n, m: [])
        found = self._for_usable(source, target, self.generative_.best, lambda n, m: ([], []))
        return [symmetrise(p, q, self.symmetrisation) for p, q in found]

    def score(self, source: Sentences, target: Sentences, alignments: Sequence[Alignment]) -> float:
        """1 - AER of the predicted links, so that more is better."""
        return 1 - link_counts(alignments, self.predict(source, target)).error_rate

    def best_translations(self, k: int = 5) -> list[tuple[str, str, float]]:
        """The k likeliest target words of each word that training saw, with t(target | source).

        >>> aligner = Aligner(progress=False).fit(
        ...     [["la", "fleur"], ["la"]], [["the", "flower"], ["the"]]
        ... )
        >>> [(source, target) for source, target, _ in aligner.best_translations(1)]
        [('la', 'the'), ('fleur', 'flower')]
        """
        self._check_fitted()
        words = self.generative_.source_words.names, self.generative_.target_words.names
        pairs, probabilities = self.generative_.forward.table.best(k)
        return [
            (words[0][i], words[1][j], p)
            for (i, j), p in zip(pairs.tolist(), probabilities.tolist(), strict=True)
            if i > 1 < j
        ]

    def _usable(self, source: Sentences, target: Sentences) -> list[int]:
        """The places of pairs that have words on both sides, and not too many."""
        most = self.max_words if self.longer == "skip" else float("inf")
        return [
            place
            for place, (a, b) in enumerate(zip(source, target, strict=True))
            if 0 < len(a) <= most and 0 < len(b) <= most
        ]

    def _for_usable(
        self, source: Sentences, target: Sentences, ask: Any, nothing: Any
    ) -> list[Any]:
        """What `ask` finds in each usable pair, and `nothing(n, m)` for the others."""
        check_alike(source, target, None)
        usable = self._usable(source, target)
        answers = [nothing(len(a), len(b)) for a, b in zip(source, target, strict=True)]
        found = ask([source[k] for k in usable], [target[k] for k in usable])
        for place, answer in zip(usable, found, strict=True):
            answers[place] = answer
        return answers

    # ------------------------------------------------------------------ files

    def save(
        self, path: str | os.PathLike[str], more: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """Write the model to a file that `load` reads; `more` entries of its header are yours."""
        self._check_fitted()
        header = {
            **more,
            "kind": "model",
            "estimator": KIND,
            "options": self.get_params(),
            "n_pairs": self.n_pairs_,
            "generative": self.generative_.header(),
            "crf": None if self.crf_ is None else self.crf_.header(),
        }
        arrays = {f"generative.{name}": a for name, a in self.generative_.arrays().items()}
        if self.crf_ is not None:
            arrays |= {f"crf.{name}": array for name, array in self.crf_.arrays().items()}
        write_model(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Aligner":
        """The model that `save` wrote, to the last bit."""
        contents = read_model(path, estimator=KIND)
        header = contents.header
        aligner = cls(**header["options"])
        aligner.n_pairs_ = header["n_pairs"]
        parts: dict[str, dict[str, Any]] = {"generative": {}, "crf": {}}
        for name, array in contents.arrays.items():
            part, _, key = name.partition(".")
            parts[part][key] = array
        aligner.generative_ = Generative.restored(header["generative"], parts["generative"])
        aligner.crf_ = None
        if header["crf"] is not None:
            from partita.estimators.alignment.itg_aligner import ItgAligner

            aligner.crf_ = ItgAligner.restored(header["crf"], parts["crf"], aligner.generative_)
        return aligner

    # ------------------------------------------------------------------ helpers

    def _check(self) -> None:
        """Arguments that make no sense, before anything is computed."""
        check_arguments(self)

    def _check_fitted(self) -> None:
        if not hasattr(self, "generative_"):
            raise RuntimeError("the aligner was not trained; call fit, or load a model.")
        self._check()
