"""`HiddenMarkovTagger`: tags from counts, from words alone, or from some of both."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from partita.arrays import BoolArray, FloatArray
from partita.distribution.linear_chain import LinearChain
from partita.estimators.parameters import Parameters
from partita.estimators.tagging.hidden_markov import (
    NOISE,
    Encoded,
    check_possible,
    log_evidence,
    tag_marginals,
)
from partita.estimators.tagging.hidden_markov_runs import Runs, expected_errors
from partita.estimators.tagging.word_symbols import WordSymbols
from partita.estimators.tagging.word_tags import (
    Tags,
    Words,
    WordTags,
    checked_sentences,
    end_to_end,
    tag_names,
)
from partita.evaluation.tags import accuracy
from partita.training.model_file import read_model, write_model
from partita.training.trainer import HeldOut, Path, train

KIND = "hmm"
"""What a model file says it holds."""
UNLABELLED_SHARE = 0.3
"""What all sentences without labels count beside those with; measured on English."""
NOT_KEPT = ("checkpoint", "resume", "log")
"""Arguments that only training needs."""


class HiddenMarkovTagger(Parameters):
    """p(words, tags) = p(y_1) p(w_1 | y_1) prod_t p(y_t | y_(t-1)) p(w_t | y_t).

    Learns from labelled sentences (counts), from words alone (expectation-maximisation), or from
    both: see `fit`. Everything it answers is exact.

    Parameters
    ----------
    n_tags
        Number of tags. Needed where no tag is named by a label or the dictionary; if it is more
        than are named, the others are called T0, T1, ...
    alpha
        Added to every count of what is allowed (a Dirichlet prior, and part of the likelihood
        that expectation-maximisation raises). With 0, what was never seen is impossible.
    min_count
        A word seen less often is emitted as its class: its shape, such as capitals or digits, and
        its suffix. That is where unknown words get their probability from. With 1 every word
        stands for itself, and a word that training never saw counts as missing.
    dictionary
        Word -> the tags it may have, for any words; others may have any.
    unlabelled_weight
        What a sentence without (all) labels counts beside a labelled one; if left out, so much
        that all of them together count 0.3 times what the labelled ones do, and at most 1. The
        likeliest tags are not those that a linguist means: on English parts of speech this gained
        3 points with 50 labelled sentences (1 lost 6), but lost 2 with 500. Give `fit` some
        held-out sentences to stop by.
    n_restarts
        How often to start expectation-maximisation at random; the likeliest model is kept.
    max_iterations, loss_tolerance
        When it stops, see `ExpectationMaximisation`.
    patience
        Iterations without progress on held-out sentences (see `fit`) after which to stop.
    checkpoint, checkpoint_seconds, resume, log
        A file to which expectation-maximisation is written this often; whether to go on from
        there, if it exists, which ends in the same model bit for bit; and a file for a line of
        JSON an iteration. Random starts after the first have `.1`, `.2` ... behind these names.
    seed
        All randomness follows from it.
    n_threads
        All cores if left out; the model is the same for any number.
    progress
        Whether to show progress on standard error; where that is a terminal if left out.

    After `fit` it has `tags_` (names), `symbols_` (words and classes), `log_start_` (s,),
    `log_transitions_` (s, s) [left, right], `log_emissions_` (n_symbols, s); and of
    expectation-maximisation `histories_`, for each start the log-likelihood (with the prior)
    after each iteration, and `reasons_`, why each ended.

    >>> tagger = HiddenMarkovTagger(min_count=1).fit(
    ...     [["the", "dog", "barks"], ["dogs", "bark"]], [["D", "N", "V"], ["N", "V"]]
    ... )
    >>> tagger.predict([["the", "bark"], ["dogs", None]])
    [['D', 'N'], ['N', 'V']]
    """

    def __init__(
        self,
        n_tags: int | None = None,
        *,
        alpha: float = 0.01,
        min_count: int = 2,
        dictionary: Mapping[str, Sequence[str]] | None = None,
        unlabelled_weight: float | None = None,
        n_restarts: int = 1,
        max_iterations: int = 100,
        loss_tolerance: float = 1e-6,
        patience: int = 10,
        checkpoint: Path | None = None,
        checkpoint_seconds: float = 60.0,
        resume: bool = False,
        log: Path | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.n_tags = n_tags
        self.alpha = alpha
        self.min_count = min_count
        self.dictionary = dictionary
        self.unlabelled_weight = unlabelled_weight
        self.n_restarts = n_restarts
        self.max_iterations = max_iterations
        self.loss_tolerance = loss_tolerance
        self.patience = patience
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.resume = resume
        self.log = log
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress

    # ------------------------------------------------------------------ learning

    def fit(
        self,
        sentences: Sequence[Words],
        tags: Sequence[Tags] | None = None,
        *,
        unlabelled: Sequence[Words] = (),
        held_out: tuple[Sequence[Words], Sequence[Tags]] | None = None,
    ) -> Self:
        """Learn from sentences, and from the tags of some, all or none of their words.

        A sentence's tags are None if none is known, else a list with `?` (or None) for words
        whose tag is not known; those of `unlabelled` are not. Where all tags are known, the model
        is the counts. Otherwise expectation-maximisation raises the likelihood of everything that
        is known; it starts from the model of the sentences that are fully labelled, if any are.
        With `held_out`, a pair of sentences and tags, it ends after `patience` iterations that
        did not lower the share of wrong tags to be expected there, and the best model on the way
        is kept, be it the first; nothing else says whether unlabelled sentences help.

        >>> words = [["a", "b"], ["a", "b", "a"], ["b", "a", "b"]] * 5
        >>> tagger = HiddenMarkovTagger(n_tags=2).fit(words)
        >>> first, second = tagger.predict([["a", "b"]])[0]
        >>> first != second
        True
        """
        self._check()
        words, known = checked_sentences(sentences, tags)
        more_words, nothing_known = checked_sentences(unlabelled, None)
        words, known = words + more_words, known + nothing_known
        words, known = [row for row in words if len(row)], [row for row in known if len(row)]
        if not words:
            raise ValueError("there are no words to learn from; expected at least one sentence.")
        names = tag_names(known, self._dictionary(), self.n_tags)
        symbols = WordSymbols.learn(end_to_end(words), self.min_count)
        self.encoder_ = WordTags(names, symbols, self._dictionary())
        encoded = self.encoder_.encoded(words, known)
        whole = encoded.fully_labelled
        labelled = encoded.select(whole)
        layout = self.encoder_.layout
        counts = layout.counts(labelled, labelled.masks[:, 1])
        self.histories_: list[FloatArray] = []
        self.reasons_: list[str] = []
        if whole.all():
            weights = layout.maximise(counts + layout.pseudo_counts(self.alpha))
        else:
            informed = self._informed(words, known, whole) if whole.any() else None
            judge = None if held_out is None else self._judge(*held_out)
            weights = self._maximised(encoded.select(~whole), counts, informed, judge)
        self.log_start_, self.log_transitions_, self.log_emissions_ = layout.split(weights)
        return self

    def _informed(
        self, words: list[Sequence[str | None]], known: list[Sequence[str | None]], whole: BoolArray
    ) -> FloatArray:
        """What a model of the fully labelled sentences alone thinks of the others, (n, s).

        It knows a word that only the others have by its class, as it would any unknown word.
        """
        learnt = [words[index] for index in np.flatnonzero(whole)]
        symbols = WordSymbols.learn(end_to_end(learnt), self.min_count)
        encoder = WordTags(self.encoder_.tags, symbols, self._dictionary())
        encoded = encoder.encoded(words, known)
        labelled = encoded.select(whole)
        counts = encoder.layout.counts(labelled, labelled.masks[:, 1])
        smoothed = counts + encoder.layout.pseudo_counts(self.alpha or NOISE)
        weights = encoder.layout.maximise(smoothed)
        return tag_marginals(encoder.layout, encoded.select(~whole), weights)

    def _maximised(
        self,
        unlabelled: Encoded,
        labelled: FloatArray,
        informed: FloatArray | None,
        judge: HeldOut | None,
    ) -> FloatArray:
        """The best weights of all starts of expectation-maximisation."""
        runs = Runs(
            self.encoder_.layout,
            unlabelled,
            labelled + self.encoder_.layout.pseudo_counts(self.alpha),
            informed,
            self._weight(unlabelled, labelled),
            self.max_iterations,
            self.loss_tolerance,
            self.seed,
        )
        options: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("patience", "checkpoint_seconds", "resume", "progress")
        }
        best: tuple[float, FloatArray] | None = None
        with runs.corpus(self.n_threads) as corpus:
            for restart in range(self.n_restarts):
                result = train(
                    corpus,
                    runs.optimiser(),
                    weights=runs.start(restart),
                    held_out=judge,
                    checkpoint=_numbered(self.checkpoint, restart),
                    log=_numbered(self.log, restart),
                    **options,
                )
                self.histories_.append(np.array([-record.loss for record in result.history]))
                self.reasons_.append(result.reason)
                loss = result.loss if judge is None else judge(result.weights)
                if best is None or loss < best[0]:
                    best = loss, result.weights
                if result.interrupted:
                    break
        assert best is not None
        return best[1]

    def _weight(self, unlabelled: Encoded, labelled: FloatArray) -> float:
        """What a sentence without labels counts."""
        if self.unlabelled_weight is not None:
            return self.unlabelled_weight
        _, _, emissions = self.encoder_.layout.split(labelled)
        n_labelled, n_others = float(emissions.sum()), len(unlabelled.symbols)
        return min(1.0, UNLABELLED_SHARE * n_labelled / n_others) if n_labelled else 1.0

    def _judge(self, sentences: Sequence[Words], tags: Sequence[Tags]) -> HeldOut:
        """The share of wrong tags to be expected on held-out sentences."""
        words, known = checked_sentences(sentences, tags)
        return expected_errors(
            self.encoder_, [row for row in words if len(row)], [row for row in known if len(row)]
        )

    # ------------------------------------------------------------------ asking

    @property
    def tags_(self) -> tuple[str, ...]:
        """The names of the tags, in the order of all arrays."""
        self._check_fitted()
        return self.encoder_.tags

    @property
    def symbols_(self) -> WordSymbols:
        """The words and classes of words, in the order of `log_emissions_`."""
        self._check_fitted()
        return self.encoder_.symbols

    def distributions(
        self, sentences: Sequence[Words], fixed: Sequence[Tags] | None = None
    ) -> Iterator[LinearChain]:
        """Distributions over tags, for batches of sentences in order; none may be empty.

        `fixed` has tags that must be kept, and `?` elsewhere. The log-partition is the
        log-probability of the words (with the fixed tags).
        """
        self._check_fitted()
        words, tags = checked_sentences(sentences, fixed)
        for index, sentence in enumerate(words):
            if not len(sentence):
                raise ValueError(
                    f"sentence {index} (counting from 0) is empty; expected at least one word. "
                    "Leave it out."
                )
        layout = self.encoder_.layout
        weights = layout.weights(self.log_start_, self.log_transitions_, self.log_emissions_)
        for batch in layout.batches(self.encoder_.encoded(words, tags), {}) if words else ():
            p = batch.at(weights)
            assert isinstance(p, LinearChain)
            yield p

    def predict(
        self, sentences: Sequence[Words], *, fixed: Sequence[Tags] | None = None
    ) -> list[list[str]]:
        """The most likely tags of each sentence; those in `fixed` are kept."""
        found = self._for_each(sentences, fixed, lambda p: p.argmax, np.zeros(0, dtype=np.int64))
        return [self.encoder_.named(tags) for tags in found]

    def predict_marginals(self, sentences: Sequence[Words], *, arrays: bool = False) -> list[Any]:
        """The probability of every tag at every word: dictionaries, or arrays (n, s)."""
        tags = self.tags_
        empty = np.zeros((0, len(tags)))
        found = self._for_each(sentences, None, lambda p: p.marginals.unary, empty)
        if arrays:
            # Copies, so that an answer does not hold the memory of its whole batch.
            return [unary.copy() for unary in found]
        return [[dict(zip(tags, row, strict=True)) for row in unary.tolist()] for unary in found]

    def log_likelihood(self, sentences: Sequence[Words]) -> FloatArray:
        """log p(words) of each sentence; a missing word counts as any word."""
        return np.array(self._for_each(sentences, None, log_evidence, 0.0, possible=False))

    def log_prob(self, sentences: Sequence[Words], tags: Sequence[Tags]) -> FloatArray:
        """log p(tags | words) of each sentence; of all that agree with them where some are `?`."""
        words = self._for_each(sentences, None, log_evidence, 0.0)
        both = self._for_each(sentences, tags, log_evidence, 0.0, possible=False)
        difference: FloatArray = np.array(both) - np.array(words)
        return difference

    def entropy(self, sentences: Sequence[Words]) -> FloatArray:
        """Entropy of the tags of each sentence given its words, in nats."""
        return np.array(self._for_each(sentences, None, lambda p: p.entropy, 0.0))

    def k_best(self, sentences: Sequence[Words], k: int) -> list[list[tuple[list[str], float]]]:
        """The k most likely taggings of each sentence, each with log p(tags | words).

        >>> tagger = HiddenMarkovTagger(min_count=1).fit([["a"], ["a"]], [["X"], ["Y"]])
        >>> [[(tags, round(float(np.exp(p)), 9)) for tags, p in tagger.k_best([["a"]], 2)[0]]]
        [[(['X'], 0.5), (['Y'], 0.5)]]
        """

        def listed(p: LinearChain) -> list[Any]:
            return [
                [(self.encoder_.named(tags), score - total) for tags, score in found]
                for found, total in zip(p.k_best(k), p.log_partition.tolist(), strict=True)
            ]

        return self._for_each(sentences, None, listed, [([], 0.0)])

    def score(self, sentences: Sequence[Words], tags: Sequence[Sequence[str]]) -> float:
        """The share of words whose predicted tag is right, of those whose tag is known."""
        return accuracy(tags, self.predict(sentences))

    def _for_each(
        self,
        sentences: Sequence[Words],
        fixed: Sequence[Tags] | None,
        ask: Callable[[LinearChain], Iterable[Any]],
        empty: Any,
        *,
        possible: bool = True,
    ) -> list[Any]:
        """What `ask` finds in each sentence; `empty` for one without words.

        Sentences of probability 0, which there are only without smoothing, are an error if what
        is asked is of the `possible` ones.
        """
        full = [index for index, sentence in enumerate(sentences) if len(sentence)]
        answers = [empty] * len(sentences)
        given = None if fixed is None else [fixed[index] for index in full]
        done = 0
        for p in self.distributions([sentences[i] for i in full], given):
            places = full[done : done + p.structures.n_sentences]
            done += len(places)
            if possible and self.alpha == 0:
                check_possible(p, places)
            for place, answer in zip(places, ask(p), strict=True):
                answers[place] = answer
        return answers

    # ------------------------------------------------------------------ files

    def save(
        self, path: str | os.PathLike[str], more: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """Write the model to a file that `load` reads; `more` entries of its header are yours."""
        self._check_fitted()
        options = {name: value for name, value in self.get_params().items() if name not in NOT_KEPT}
        header = {
            **more,
            "kind": "model",
            "estimator": KIND,
            "options": {**options, "dictionary": self._dictionary() or None},
            "tags": self.encoder_.tags,
            "words": self.encoder_.symbols.words,
            "classes": self.encoder_.symbols.classes,
        }
        arrays = {
            "start": self.log_start_,
            "transitions": self.log_transitions_,
            "emissions": self.log_emissions_,
        }
        write_model(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "HiddenMarkovTagger":
        """The model that `save` wrote, to the last bit."""
        contents = read_model(path, estimator=KIND)
        header, arrays = contents.header, contents.arrays
        tagger = cls(**header["options"])
        symbols = WordSymbols(header["words"], header["classes"])
        tagger.encoder_ = WordTags(tuple(header["tags"]), symbols, tagger._dictionary())
        tagger.log_start_ = arrays["start"]
        tagger.log_transitions_ = arrays["transitions"]
        tagger.log_emissions_ = arrays["emissions"]
        return tagger

    # ------------------------------------------------------------------ helpers

    def _dictionary(self) -> dict[str, list[str]]:
        return {word: list(tags) for word, tags in (self.dictionary or {}).items()}

    def _check(self) -> None:
        """Arguments that make no sense, before anything is computed."""
        if not 0 <= self.alpha < float("inf"):
            raise ValueError(f"alpha is {self.alpha}; expected a number, 0 or more.")
        if self.unlabelled_weight is not None and not 0 < self.unlabelled_weight < float("inf"):
            raise ValueError(
                f"unlabelled_weight is {self.unlabelled_weight}; expected a number above 0. Leave "
                "the unlabelled sentences out to ignore them."
            )
        for name in ("min_count", "n_restarts", "max_iterations"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 1 or more.")
        for word, tags in (self.dictionary or {}).items():
            if isinstance(tags, str) or not len(tags):
                raise ValueError(
                    f"the dictionary's entry for {word!r} is {tags!r}; expected a list of at least "
                    "one tag. Leave out words that may have any tag."
                )

    def _check_fitted(self) -> None:
        if not hasattr(self, "encoder_"):
            raise RuntimeError("the tagger was not trained; call fit, or load a model.")


def _numbered(path: Path | None, restart: int) -> Path | None:
    """The file of a random start: the name itself for the first."""
    return path if path is None or restart == 0 else f"{os.fspath(path)}.{restart}"
