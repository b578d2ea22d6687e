"""`Translator`: sentences into another language, by a CRF over synchronous derivations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import ClassVar, Literal, Self, TypeVar
from zlib import crc32

import numpy as np

from partita.arrays import FloatArray
from partita.data.bitext_files import BitextFiles
from partita.estimators.alignment.material import (
    Sentences,
    checked_sentence,
    read_held_out,
    read_pairs,
)
from partita.estimators.answers import in_chunks
from partita.estimators.bitext import BitextEstimator, BitextModel
from partita.estimators.blocks import refuse_beside_files
from partita.estimators.explain import run_facts
from partita.estimators.groups import Runs
from partita.estimators.options import again, at_least, beside, declared, option
from partita.estimators.translation.decoding import ScoredTranslation, Translation
from partita.estimators.translation.from_files import PairsOfFiles
from partita.estimators.translation.grammars import GRAMMARS, GrammarName, TranslationGrammar
from partita.estimators.translation.hiero_model import HieroModel
from partita.estimators.translation.itg_model import ItgModel
from partita.estimators.translation.long_sentences import cut_sentence
from partita.estimators.translation.pairs import PairsInMemory, TranslationPairs
from partita.estimators.translation.translation_model import TranslationModel
from partita.evaluation.translations import corpus_bleu
from partita.garbage import unsought
from partita.structures.batch import whole_number
from partita.text.sentences import check_sentences, read_tokens
from partita.training.workers import held

Answer = TypeVar("Answer")
Words = Sequence[str]
Decoder = Literal["best", "risk", "fluent"]
Length = Literal["likeliest", "any"]
Long = Literal["cut", "skip"]
CHUNK = 16
"""Sentences that are translated together."""
MOST_DERIVATIONS = 20
"""Derivations that are looked at for each of the best translations that are wanted."""
CHOICES = {
    "decoder": ("best", "risk", "fluent"),
    "length": ("likeliest", "any"),
    "long": ("cut", "skip"),
}


@declared
class Translator(BitextEstimator):
    """p(y | x) = sum over derivations d of y of exp(w · features(x, d)) / the same over all y.

    The derivation is not observed: log p(y | x) = log Z(x, y) - log Z_n(x), and its gradient is the
    difference of two expectations. A `grammar` is `Itg(...)` or `Hiero(...)`, with options of its
    own, or a name for one with good defaults. After `fit` it has `model_`, what was learnt,
    `counts_` (how many pairs were used, and why others were not) and `training_` (the run).

    >>> from partita import Itg
    >>> source = [["la", "maison", "bleue"], ["la", "fleur"], ["une", "fleur"], ["une", "maison"]]
    >>> target = [["the", "blue", "house"], ["the", "flower"], ["a", "flower"], ["a", "house"]]
    >>> small = Itg(n_bits=12, n_insertions=1, max_iterations=20)
    >>> translator = Translator(grammar=small, progress=False).fit(3 * source, 3 * target)
    >>> translator.predict([["une", "maison", "bleue"]])
    [('a', 'blue', 'house')]
    """

    kind: ClassVar[str] = "translator"
    kinds: ClassVar[Mapping[str, type[BitextModel]]] = {"itg": ItgModel, "hiero": HieroModel}
    model_: TranslationModel = field(init=False)

    grammar: GrammarName | TranslationGrammar = option(
        "itg",
        '"itg": an inversion transduction grammar, which links, deletes and inserts words and '
        'changes the order of blocks; "hiero": hierarchical rules with gaps; or an object with '
        "options of its own: `Itg`, `Hiero`",
    )
    max_words: int = option(
        20,
        "pairs with more words on a side are not learnt from; for longer sentences see `predict`",
        at_least(1),
    )
    n_pairs: int | None = option(
        None,
        "learn weights (itg) or rules (hiero) from so many usable pairs, spread evenly; all if "
        "left out. The lexicon of the ITG is learnt from all pairs in any case",
        at_least(1),
    )
    max_iterations: int | None = option(
        None,
        "the most passes of the weights (itg, 3 if left out), or iterations of L-BFGS (hiero, 200)",
        at_least(1),
        needs=beside(
            "a grammar that is an object, which has its own",
            lambda translator: not isinstance(translator.grammar, str),
        ),
        # The command has the flags of the grammars.
        is_flag=False,
    )
    patience: int = again(Runs, "patience", 2)

    # ------------------------------------------------------------------ learning

    def fit(
        self,
        source: Sentences | BitextFiles,
        target: Sentences | None = None,
        *,
        held_out: tuple[Sentences, Sentences] | None = None,
        sample_weight: Sequence[float] | FloatArray | None = None,
    ) -> Self:
        """Learn from sentences and their translations, lists of words.

        `held_out`, source and target sentences, says which pass was best (itg), or gives the pairs
        for the weights (hiero). `sample_weight` has a number for each pair. Pairs with an empty
        side, too long ones, and those that the grammar cannot reach are skipped and counted in
        `counts_`. Of `BitextFiles` (`partita.data.bitext_files`), in place of both sides, each
        worker reads and encodes its own part.
        """
        with self._fitting(source, held_out=held_out is not None):
            if isinstance(source, BitextFiles):
                refuse_beside_files(target, sample_weight, ())
                with PairsOfFiles.of(source, self.max_words, self.n_pairs, self) as found:
                    return self._fit_pairs(*found, held_out)
            if target is None:
                check_sentences(source)
                raise ValueError("source came without target; expected both, or BitextFiles.")
            with unsought():
                full = read_pairs(source, target, sample_weight=sample_weight).full()
                pairs = full.short(self.max_words).thinned(self.n_pairs)
            return self._fit_pairs(PairsInMemory(full), PairsInMemory(pairs), held_out)

    def _fit_pairs(
        self,
        full: TranslationPairs,
        pairs: TranslationPairs,
        held_out: tuple[Sentences, Sentences] | None,
    ) -> Self:
        judges = read_held_out(held_out)
        if judges is not None:
            judges = judges.short(self.max_words)
        if not len(pairs):
            raise ValueError(
                f"no pair can be learnt from ({pairs.counts}); expected pairs with words on "
                f"both sides, at most max_words, {self.max_words}, each."
            )
        with held(self.workers):
            learnt = self.chosen_grammar().learn(full, pairs, judges, self)
        self.model_, self.training_, self.counts_ = learnt
        self.about_ = run_facts(self.training_, "is the loss")
        return self

    def chosen_grammar(self) -> TranslationGrammar:
        """The grammar that `grammar` stands for."""
        if not isinstance(self.grammar, str):
            return self.grammar
        grammar = GRAMMARS[self.grammar]()
        if self.max_iterations is not None:
            grammar.set_params(max_iterations=self.max_iterations)
        return grammar

    # ------------------------------------------------------------------ translations

    def predict(
        self,
        source: Sentences,
        *,
        decoder: Decoder = "best",
        length: Length = "likeliest",
        n_samples: int = 100,
        sharpness: float = 1.5,
        fluency: float = 0.4,
        long: Long = "cut",
        seed: int = 0,
    ) -> list[tuple[str, ...]]:
        """A translation of each sentence, as a tuple of words; of an empty sentence an empty one.

        With `decoder="best"` the target of the best derivation, with "risk" the target with the
        highest expected BLEU, estimated from `n_samples` samples of p(d) to the power of
        `sharpness`, with "fluent" that of the 100 likeliest targets with the highest log p(y | x) +
        `fluency` times what `Seams` says of neighbouring words, learnt from all targets. All among
        the derivations with the likeliest number of target words (itg), or with `length="any"`
        among all, which gives too few words.

        A sentence of more than `max_words` words is cut into such pieces, behind punctuation where
        there is any, and they are translated one by one; with `long="skip"` it gets no words.
        """
        return list(
            self.predict_stream(
                source,
                decoder=decoder,
                length=length,
                n_samples=n_samples,
                sharpness=sharpness,
                fluency=fluency,
                long=long,
                seed=seed,
            )
        )

    def predict_stream(
        self,
        source: Sentences,
        *,
        decoder: Decoder = "best",
        length: Length = "likeliest",
        n_samples: int = 100,
        sharpness: float = 1.5,
        fluency: float = 0.4,
        long: Long = "cut",
        seed: int = 0,
        chunk: int = CHUNK,
    ) -> Iterator[tuple[str, ...]]:
        """As `predict`, one answer after the other; reads `chunk` sentences at a time."""
        for name, value in (("decoder", decoder), ("length", length), ("long", long)):
            if value not in CHOICES[name]:
                raise ValueError(
                    f"{name} is {value!r}; expected one of {', '.join(CHOICES[name])}."
                )
        whole_number("n_samples", n_samples, 1)
        if not 0 < sharpness < np.inf:
            raise ValueError(f"sharpness is {sharpness}; expected a number above 0.")
        if not 0 <= fluency < np.inf:
            raise ValueError(f"fluency is {fluency}; expected 0 or more.")

        def translated(words: tuple[str, ...]) -> tuple[str, ...]:
            # A sentence has its own random numbers: its translation depends neither on the others
            # nor on its place among them.
            rng = np.random.default_rng([seed, crc32(" ".join(words).encode())])
            found: tuple[str, ...] = ()
            for piece in self._pieces(words, long):
                scored = self.distribution(piece)
                if length == "likeliest":
                    scored = scored.at_likeliest_length()
                if decoder == "risk":
                    found += scored.least_risk(n_samples, rng, sharpness)
                elif decoder == "fluent":
                    found += scored.fluent(self.model_.seams, fluency)
                else:
                    found += scored.best()
            return found

        return self._ask(source, translated, chunk=chunk)

    def k_best(self, source: Sentences, k: int) -> list[list[Translation]]:
        """The k likeliest different translations of each sentence, with log-probabilities.

        Derivations of the same words are merged; a probability is summed over those of its
        derivations that are among the best 20 k, and so a lower bound. See `log_prob`.
        """
        whole_number("k", k, 1)

        def best(words: tuple[str, ...]) -> list[Translation]:
            if not words:
                return [Translation((), 0.0)]
            return self.distribution(words).k_best(k, MOST_DERIVATIONS * k)

        return list(self._ask(source, best))

    def sample(
        self, source: Sentences, size: int, rng: np.random.Generator, *, replace: bool = True
    ) -> list[list[tuple[str, ...]]]:
        """Translations drawn with their probabilities, `size` of each sentence.

        With `replace=False` no two are the same: each is drawn from those that are left, and there
        are fewer where there are fewer in all (or where 20,000 derivations have no more).
        """
        whole_number("size", size, 1)

        def drawn(words: tuple[str, ...]) -> list[tuple[str, ...]]:
            if not words:
                return [()] * (size if replace else 1)
            scored = self.distribution(words)
            return scored.sample(size, rng) if replace else scored.sample_distinct(size, rng)

        # One thread, so that the same generator gives the same translations.
        return list(self._ask(source, drawn, workers=1))

    def entropy(self, source: Sentences) -> FloatArray:
        """The exact entropy of each sentence's derivation, in nats."""

        def value(words: tuple[str, ...]) -> float:
            return self.distribution(words).entropy if words else 0.0

        return np.array(list(self._ask(source, value)), dtype=np.float64)

    def log_prob(self, source: Sentences, target: Sentences) -> FloatArray:
        """log p(y | x) of each pair, all derivations summed; -inf for what cannot be reached."""
        self._check_fitted()
        pairs = read_pairs(source, target)

        def value(pair: tuple[tuple[str, ...], tuple[str, ...]]) -> float:
            self._check_length(pair[0])
            if not pair[0]:
                return -np.inf if pair[1] else 0.0
            return self.model_.log_prob(*pair)

        both = zip(pairs.source, pairs.target, strict=True)
        return np.array([value(pair) for pair in both], dtype=np.float64)

    def distribution(self, words: Words) -> ScoredTranslation:
        """The forest of all derivations of a sentence, with scores: ask it anything.

        At most `max_words` words, here and in all that is asked of a sentence as a whole.
        """
        self._check_fitted()
        self._check_length(words)
        if not words:
            raise ValueError("the sentence has no words; expected at least one.")
        return self.model_.scored(tuple(words))

    def gloss(self, source: Sentences) -> list[tuple[str, ...]]:
        """Word for word by Model 1, in the same order: what any translator must beat (itg)."""
        self._check_fitted()
        model = self.model_
        if not isinstance(model, ItgModel):
            raise ValueError("only a translator with grammar='itg' has a Model 1 to gloss with.")
        return list(self._ask(source, lambda words: model.gloss(words) if words else ()))

    def score(
        self,
        source: Sentences,
        target: Sequence[Words],
        sample_weight: Sequence[float] | FloatArray | None = None,
    ) -> float:
        """BLEU-4 of the translations, 0 to 100.

        With `sample_weight`, a number for each pair, its words count so much.
        """
        return corpus_bleu(self.predict(source), list(target), sample_weight).score

    # ------------------------------------------------------------------ helpers

    def _ask(
        self,
        source: Sentences,
        ask: Callable[[tuple[str, ...]], Answer],
        *,
        workers: int | None = None,
        chunk: int = CHUNK,
    ) -> Iterator[Answer]:
        self._check_fitted()

        def answer(first: int, read: list[Words]) -> list[Answer]:
            numbered = enumerate(read, start=first)
            sentences = [checked_sentence("source", index, words) for index, words in numbered]
            return [ask(tuple(words)) for words in read_tokens(sentences, first=first)]

        workers_used = self.workers if workers is None else workers
        return in_chunks(source, answer, workers=workers_used, chunk=chunk)

    def _pieces(self, words: tuple[str, ...], long: str) -> list[tuple[str, ...]]:
        if not words or (long == "skip" and len(words) > self.max_words):
            return []
        return cut_sentence(words, self.max_words)

    def _check_length(self, words: Words) -> None:
        if len(words) > self.max_words:
            raise ValueError(
                f"a sentence has {len(words)} words; expected at most max_words, "
                f"{self.max_words}, since its forest grows with the fifth power. predict cuts such "
                "sentences into pieces; set_params(max_words=...) allows longer ones."
            )
