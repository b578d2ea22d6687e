"""`Translator`: sentences into another language, by a CRF over synchronous derivations."""

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self
from zlib import crc32

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.parameters import Parameters
from partita.estimators.translation.decoding import Scored, Translation
from partita.estimators.translation.hiero_model import HieroModel, fit_hiero
from partita.estimators.translation.itg_model import ItgModel, fit_itg
from partita.estimators.translation.long_sentences import cut_sentence
from partita.estimators.translation.options import TranslatorOptions
from partita.evaluation.translations import corpus_bleu
from partita.structures.batch import whole_number
from partita.text.sentences import Tokens
from partita.training.model_file import read_model, write_model
from partita.training.trainer import Path

ESTIMATOR = "translator"
NOT_KEPT = ("checkpoint", "checkpoint_seconds", "resume", "log", "progress", "n_threads")
"""Arguments that only training needs."""
MOST_DERIVATIONS = 20
"""Derivations that are looked at for each of the best translations that are wanted."""
DECODERS = ("best", "risk")
LENGTHS = ("likeliest", "any")
LONG = ("cut", "skip")


class Translator(Parameters):
    """p(y | x) = sum over derivations d of y of exp(w · features(x, d)) / the same over all y.

    The derivation is not observed: log p(y | x) = log Z(x, y) - log Z_n(x), and its gradient is the
    difference of two expectations. Two grammars:

    `itg`: an inversion transduction grammar in its normal form, one derivation for each alignment.
    Words are linked, deleted and inserted; neighbouring blocks keep their order or change it. Model
    1, trained here in both directions, proposes translations. Features are hashed; they see the
    words of the whole source sentence around each rule.

    `hiero`: rules with up to two gaps out of pairs that the package's HMM aligner aligned (Chiang
    2007); a dozen features, such as how often a rule was seen.

    Parameters
    ----------
    grammar
        "itg" or "hiero".
    n_translations, n_insertions, n_companions
        Most translations of a word; words that may be inserted anywhere; words that may be
        inserted behind a certain word. (itg)
    model1_iterations
        Of expectation-maximisation.
    max_words
        Pairs with more words on a side are not learnt from; for longer sentences see `predict`.
    n_pairs
        Learn weights (itg) or rules (hiero) from the first so many usable pairs; all if left out.
        The lexicon of the ITG is learnt from all pairs in any case.
    n_bits
        The ITG has 2**n_bits hashed weights. A sentence of 15 words has some 25,000 features, so
        that a few hundred pairs fill 2**20: 22 was better on held-out pairs, if slower.
    n_targets, min_count, longest_phrase, n_tuning
        Translations of a source side; how often a rule with gaps must be seen; most words under a
        rule; how many pairs, none of which gave rules, the weights are learnt from. (hiero)
    optimiser, rate, schedule, batch_size, average, max_iterations
        Mini-batches of the ITG: "adam", "adagrad" or "sgd", with a learning rate that is "linear"
        (up, then down to 0), "constant" or "inverse-square-root"; whether weights are averaged from
        the second pass on; most passes. (hiero uses L-BFGS.)
    l2
        Penalty on the squares of weights.
    patience
        Passes without a better likelihood of held-out pairs after which the run stops.
    cache_megabytes
        For the forests of pairs; what does not fit is built anew in every pass.
    checkpoint, checkpoint_seconds, resume, log, seed, n_threads, progress
        As for every long run, see `partita.training.train`.

    After `fit` it has `counts_` (how many pairs were used, and why others were not), `training_`
    (the run), and `seconds_`.

    >>> source = [["la", "maison", "bleue"], ["la", "fleur"], ["une", "fleur"], ["une", "maison"]]
    >>> target = [["the", "blue", "house"], ["the", "flower"], ["a", "flower"], ["a", "house"]]
    >>> translator = Translator(n_bits=12, n_insertions=1, max_iterations=20, progress=False)
    >>> translator.fit(3 * source, 3 * target).predict([["une", "maison", "bleue"]])
    [('a', 'blue', 'house')]
    """

    def __init__(
        self,
        grammar: str = "itg",
        *,
        n_translations: int = 12,
        n_insertions: int = 40,
        n_companions: int = 4,
        model1_iterations: int = 5,
        max_words: int = 20,
        n_pairs: int | None = None,
        n_bits: int = 22,
        n_targets: int = 10,
        min_count: int = 2,
        longest_phrase: int = 10,
        n_tuning: int = 200,
        optimiser: str = "adam",
        rate: float = 0.03,
        schedule: str = "linear",
        batch_size: int = 16,
        l2: float = 1.0,
        average: bool = True,
        max_iterations: int = 3,
        patience: int = 2,
        cache_megabytes: int = 1024,
        checkpoint: Path | None = None,
        checkpoint_seconds: float = 60.0,
        resume: bool = False,
        log: Path | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.grammar = grammar
        self.n_translations = n_translations
        self.n_insertions = n_insertions
        self.n_companions = n_companions
        self.model1_iterations = model1_iterations
        self.max_words = max_words
        self.n_pairs = n_pairs
        self.n_bits = n_bits
        self.n_targets = n_targets
        self.min_count = min_count
        self.longest_phrase = longest_phrase
        self.n_tuning = n_tuning
        self.optimiser = optimiser
        self.rate = rate
        self.schedule = schedule
        self.batch_size = batch_size
        self.l2 = l2
        self.average = average
        self.max_iterations = max_iterations
        self.patience = patience
        self.cache_megabytes = cache_megabytes
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
        source: Sequence[Tokens],
        target: Sequence[Tokens],
        *,
        held_out: tuple[Sequence[Tokens], Sequence[Tokens]] | None = None,
    ) -> Self:
        """Learn from sentences and their translations, lists of words.

        `held_out`, source and target sentences, says which pass was best (itg), or gives the pairs
        for the weights (hiero). Pairs with an empty side, too long ones, and those that the
        grammar cannot reach are skipped and counted in `counts_`.
        """
        options = TranslatorOptions(**self.get_params())
        sides = checked_sentences("source", source), checked_sentences("target", target)
        unseen = None
        if held_out is not None:
            unseen = (
                checked_sentences("held-out source", held_out[0]),
                checked_sentences("held-out target", held_out[1]),
            )
        for one, other in (sides, *([unseen] if unseen else [])):
            check_alike(one, other)
        began = time.perf_counter()
        fit = fit_itg if self.grammar == "itg" else fit_hiero
        self._model, self.training_, self.counts_ = fit(*sides, unseen, options, self._say)
        self.seconds_ = time.perf_counter() - began
        self._say(self._pace())
        return self

    def _say(self, line: str) -> None:
        if self.progress or (self.progress is None and sys.stderr.isatty()):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    def _pace(self) -> str:
        """Pairs and edges a second, of all passes together."""
        history = self.training_.history
        if self.grammar != "itg" or not history or not history[-1].seconds:
            return f"Learnt in {self.seconds_:.1f} seconds"
        passes = len(history) / history[-1].seconds
        return (
            f"Learnt in {self.seconds_:.1f} seconds: {passes * self.counts_.n_used:,.0f} pairs and "
            f"{passes * self.counts_.n_edges:,.0f} edges a second"
        )

    # ------------------------------------------------------------------ translations

    def predict(
        self,
        sentences: Sequence[Tokens],
        *,
        decoder: str = "best",
        length: str = "likeliest",
        n_samples: int = 100,
        sharpness: float = 1.5,
        long: str = "cut",
        seed: int = 0,
    ) -> list[tuple[str, ...]]:
        """A translation of each sentence, as a tuple of words; of an empty sentence an empty one.

        With `decoder="best"` the target of the best derivation, with "risk" the target with the
        highest expected BLEU, estimated from `n_samples` samples of p(d) to the power of
        `sharpness`. Both among the derivations with the likeliest number of target words (itg), or
        with `length="any"` among all, which gives too few words.

        A sentence of more than `max_words` words is cut into such pieces, behind punctuation where
        there is any, and they are translated one by one; with `long="skip"` it gets no words.
        """
        for name, value, allowed in (
            ("decoder", decoder, DECODERS),
            ("length", length, LENGTHS),
            ("long", long, LONG),
        ):
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}; expected one of {', '.join(allowed)}.")
        whole_number("n_samples", n_samples, 1)
        if not 0 < sharpness < np.inf:
            raise ValueError(f"sharpness is {sharpness}; expected a number above 0.")
        found = []
        for words in checked_sentences("sentences", sentences):
            # A sentence has its own random numbers: its translation depends neither on the others
            # nor on its place among them.
            rng = np.random.default_rng([seed, crc32(" ".join(words).encode())])
            pieces = self._pieces(words, long)
            words = ()
            for piece in pieces:
                scored = self.distribution(piece)
                if length == "likeliest":
                    scored = scored.at_likeliest_length()
                if decoder == "risk":
                    words += scored.least_risk(n_samples, rng, sharpness)
                else:
                    words += scored.best()
            found.append(words)
        return found

    def _pieces(self, words: tuple[str, ...], long: str) -> list[tuple[str, ...]]:
        if not words or (long == "skip" and len(words) > self.max_words):
            return []
        return cut_sentence(words, self.max_words)

    def distribution(self, words: Tokens) -> Scored:
        """The forest of all derivations of a sentence, with scores: ask it anything.

        At most `max_words` words, here and in all that is asked of a sentence as a whole.
        """
        self._check_fitted()
        self._check_length(words)
        if not words:
            raise ValueError("the sentence has no words; expected at least one.")
        return self._model.scored(tuple(words))

    def _check_length(self, words: Tokens) -> None:
        if len(words) > self.max_words:
            raise ValueError(
                f"a sentence has {len(words)} words; expected at most max_words, "
                f"{self.max_words}, since its forest grows with the fifth power. predict cuts such "
                "sentences into pieces; set_params(max_words=...) allows longer ones."
            )

    def k_best(self, sentences: Sequence[Tokens], k: int) -> list[list[Translation]]:
        """The k likeliest different translations of each sentence, with log-probabilities.

        Derivations of the same words are merged; a probability is summed over those of its
        derivations that are among the best 20 k, and so a lower bound. See `log_prob`.
        """
        whole_number("k", k, 1)
        return [
            self.distribution(words).k_best(k, MOST_DERIVATIONS * k) if words else []
            for words in checked_sentences("sentences", sentences)
        ]

    def sample(
        self, sentences: Sequence[Tokens], size: int, rng: np.random.Generator
    ) -> list[list[tuple[str, ...]]]:
        """Translations drawn with their probabilities, `size` of each sentence."""
        whole_number("size", size, 1)
        return [
            self.distribution(words).sample(size, rng) if words else [()] * size
            for words in checked_sentences("sentences", sentences)
        ]

    def log_prob(self, source: Sequence[Tokens], target: Sequence[Tokens]) -> FloatArray:
        """log p(y | x) of each pair, all derivations summed; -inf for what cannot be reached."""
        self._check_fitted()
        sides = checked_sentences("source", source), checked_sentences("target", target)
        check_alike(*sides)
        for words in sides[0]:
            self._check_length(words)
        pairs = zip(*sides, strict=True)
        return np.array([self._model.log_probability(*pair) for pair in pairs])

    def gloss(self, sentences: Sequence[Tokens]) -> list[tuple[str, ...]]:
        """Word for word by Model 1, in the same order: what any translator must beat (itg)."""
        self._check_fitted()
        if not isinstance(self._model, ItgModel):
            raise ValueError("only a translator with grammar='itg' has a Model 1 to gloss with.")
        return [
            self._model.gloss(words) if words else ()
            for words in checked_sentences("sentences", sentences)
        ]

    def score(self, source: Sequence[Tokens], target: Sequence[Tokens]) -> float:
        """BLEU-4 of the translations, 0 to 100."""
        return corpus_bleu(self.predict(source), list(target)).score

    def inspect(self, n_words: int = 10) -> str:
        """What was learnt: weights of features with a value, translations of frequent words."""
        self._check_fitted()
        return "\n".join(self._model.described(n_words))

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str], more: Mapping[str, Any] | None = None) -> None:
        """Write the model in one step, with `more` entries of its header."""
        self._check_fitted()
        params = {name: v for name, v in self.get_params().items() if name not in NOT_KEPT}
        header = {
            **(more or {}),
            "kind": "model",
            "estimator": ESTIMATOR,
            "options": params,
            "model": self._model.header(),
        }
        write_model(path, header, self._model.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The translator in a file that `save` wrote."""
        contents = read_model(path, estimator=ESTIMATOR)
        translator = cls(**contents.header["options"])
        described, arrays = contents.header["model"], contents.arrays
        if translator.grammar == "itg":
            n_bytes = translator.cache_megabytes * 2**20
            translator._model = ItgModel.restored(described, arrays, n_bytes)
        else:
            translator._model = HieroModel.restored(described, arrays)
        return translator

    _model: ItgModel | HieroModel

    def _check_fitted(self) -> None:
        if not hasattr(self, "_model"):
            raise ValueError("the translator has learnt nothing yet; call fit, or load a model.")


def check_alike(source: Sequence[Tokens], target: Sequence[Tokens]) -> None:
    """As many sentences on both sides."""
    if len(source) != len(target):
        raise ValueError(
            f"there are {len(source)} source and {len(target)} target sentences; expected one "
            "translation for each."
        )


def checked_sentences(name: str, sentences: Iterable[Tokens]) -> list[tuple[str, ...]]:
    """A caller's sentences as tuples of words, or an error that says which one is none."""
    checked = []
    for index, words in enumerate(sentences):
        if isinstance(words, str):
            raise ValueError(
                f"{name}[{index}] is the text {words!r}; expected a list of words. Split it."
            )
        checked.append(tuple(words))
    return checked
