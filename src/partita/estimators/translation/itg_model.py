"""The ITG translator: a latent-variable CRF over inversion transduction derivations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.estimators.translation.decoding import Scored
from partita.estimators.translation.features import (
    FIRST_VALUES,
    SentenceFeatures,
    first_weights,
)
from partita.estimators.translation.forests import EncodedPair, ForestCache
from partita.estimators.translation.itg_training import PAIRS_PER_BATCH, pair_corpus
from partita.estimators.translation.lexicon import TranslationLexicon
from partita.estimators.translation.options import PairCounts, Say, TranslatorOptions, usable
from partita.estimators.translation.sentences import SourceSentence, encode_source
from partita.grammars.forest import EmptyForestError
from partita.grammars.source_parts import target_of
from partita.text.sentences import Tokens
from partita.text.word_vocabulary import N_RESERVED
from partita.training import TrainingResult, train

COVERED = 0.98
"""The share of training pairs whose target is not longer than the longest that is allowed."""


@dataclass(eq=False)
class ItgModel:
    """A lexicon, weights of hashed features, and how long targets may be.

    A sentence of n words has at most slope * n + margin target words.
    """

    lexicon: TranslationLexicon
    n_bits: int
    slope: float
    margin: float
    weights: FloatArray
    cache: ForestCache

    def longest(self, n_source: int) -> int:
        """Most target words of a sentence of `n_source` words."""
        return max(1, ceil(self.slope * n_source + self.margin))

    def encode(self, words: Tokens) -> SourceSentence:
        """A sentence with its rules."""
        return encode_source(self.lexicon, words, self.longest(len(words)))

    def encode_pair(self, source: Tokens, target: Tokens) -> EncodedPair:
        """A pair as numbers."""
        sentence = self.encode(source)
        return EncodedPair(sentence, sentence.target_numbers(self.lexicon, target))

    def scores(self, sentence: SourceSentence) -> FloatArray:
        """The scores of the parts of a sentence."""
        return SentenceFeatures([sentence], self.n_bits).scores(self.weights)

    def scored(self, words: Tokens) -> Scored:
        """D_n(x) with the scores that the weights give it."""
        sentence = self.encode(words)
        forest, scores = self.cache.bounded(sentence), self.scores(sentence)

        def read(derivation: IntArray) -> tuple[str, ...]:
            numbers = target_of(sentence.parts, forest, derivation)
            return sentence.target_text(self.lexicon, numbers)

        lengths = slice(sentence.parts.first_length, sentence.parts.first_split)
        return Scored(forest, scores, read, lengths)

    def log_probability(self, source: Tokens, target: Tokens) -> float:
        """log Z(x, y) - log Z_n(x); -inf where the grammar cannot reach the target."""
        pair = self.encode_pair(source, target)
        try:
            forest = pair.source.parts.pair(pair.target)
        except EmptyForestError:
            return -np.inf
        scores = self.scores(pair.source)
        both = [forest, self.cache.bounded(pair.source)]
        observed, every = (
            float(each.forest.infer(each.edge_scores(scores)).log_partition[0]) for each in both
        )
        return observed - every

    def gloss(self, words: Tokens) -> tuple[str, ...]:
        """Each word by its likeliest translation of Model 1, in the same order."""
        sentence = self.encode(words)
        starts = sentence.parts.links.offsets
        values = sentence.link_values[:, 0]
        best = [
            int(start + values[start:end].argmax())
            for start, end in zip(starts[:-1], starts[1:], strict=True)
        ]
        return sentence.target_text(self.lexicon, sentence.parts.links.words[best].tolist())

    def described(self, n_words: int) -> Iterator[str]:
        """Lines that say what was learnt; the translations of the most frequent words."""
        lexicon, names = self.lexicon, self.lexicon.target.names
        used = np.count_nonzero(self.weights)
        yield f"{len(lexicon.source):,} source and {len(names):,} target words, {used:,} weights"
        yield f"at most {self.slope:.2f} n + {self.margin:.1f} target words for n source words"
        for name, weight in zip(FIRST_VALUES, self.weights[-len(FIRST_VALUES) :], strict=True):
            yield f"{weight:8.3f}  {name}"
        yield "inserted anywhere: " + " ".join(names[word] for word in lexicon.insertions)
        for word in range(N_RESERVED, min(N_RESERVED + n_words, len(lexicon.source))):
            translations = " ".join(names[other] for other in lexicon.choices(word))
            yield f"{lexicon.source.names[word]}: {translations}"

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        numbers = {"n_bits": self.n_bits, "slope": self.slope, "margin": self.margin}
        return {**numbers, "lexicon": self.lexicon.header()}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file; of the weights those that are not 0."""
        used = np.flatnonzero(self.weights)
        lexicon = {f"lexicon.{name}": array for name, array in self.lexicon.arrays().items()}
        return {**lexicon, "weights.places": used, "weights.values": self.weights[used]}

    @classmethod
    def restored(
        cls, header: Mapping[str, Any], arrays: Mapping[str, Array], cache_bytes: int
    ) -> Self:
        """The model that `header` and `arrays` describe."""
        prefix = "lexicon."
        held = {
            name.removeprefix(prefix): array
            for name, array in arrays.items()
            if name.startswith(prefix)
        }
        lexicon = TranslationLexicon.restored(header["lexicon"], held)
        weights = np.zeros_like(first_weights(header["n_bits"]))
        weights[arrays["weights.places"]] = arrays["weights.values"]
        cache = _cache(lexicon, cache_bytes)
        return cls(lexicon, header["n_bits"], header["slope"], header["margin"], weights, cache)


def fit_itg(
    source: Sequence[Tokens],
    target: Sequence[Tokens],
    held_out: tuple[Sequence[Tokens], Sequence[Tokens]] | None,
    options: TranslatorOptions,
    say: Say,
) -> tuple[ItgModel, TrainingResult, PairCounts]:
    """The lexicon from all pairs, the weights from those that it can reach."""
    full = [index for index, pair in enumerate(zip(source, target, strict=True)) if all(pair)]
    lexicon = TranslationLexicon.learn(
        [source[index] for index in full], [target[index] for index in full], options.lexicon, say
    )
    kept, counts = usable(source, target, options.max_words)
    kept = kept[: options.n_pairs]
    counts = replace(counts, n_pairs=counts.n_empty + counts.n_long + len(kept))
    slope, margin = _lengths(
        [len(source[index]) for index in kept], [len(target[index]) for index in kept]
    )
    cache = _cache(lexicon, options.cache_megabytes * 2**20)
    model = ItgModel(lexicon, options.n_bits, slope, margin, first_weights(options.n_bits), cache)
    pairs = _reached(model, [(source[index], target[index]) for index in kept], say)
    n_edges = sum(len(cache.pair(p).parts) + len(cache.bounded(p.source).parts) for p in pairs)
    counts = replace(
        counts, n_unreachable=len(kept) - len(pairs), n_used=len(pairs), n_edges=n_edges
    )
    say(str(counts))
    if not pairs:
        raise ValueError(
            f"no pair can be learnt from ({counts}); expected some whose target the grammar can "
            "reach. Give more pairs, a higher max_words, or more translations and insertions."
        )
    result = _train(model, pairs, held_out, options, say)
    model.weights = result.weights
    model.cache.forget_pairs()
    return model, result, counts


def _train(
    model: ItgModel,
    pairs: Sequence[EncodedPair],
    held_out: tuple[Sequence[Tokens], Sequence[Tokens]] | None,
    options: TranslatorOptions,
    say: Say,
) -> TrainingResult:
    threads = options.n_threads
    corpus = pair_corpus(pairs, model.cache, options.n_bits, n_threads=threads)
    judge = None
    if held_out is not None:
        kept, _ = usable(*held_out, options.max_words)
        unseen = [(held_out[0][index], held_out[1][index]) for index in kept]
        others = _reached(model, unseen, say)
        say(f"Held out: {len(others):,} of {len(held_out[0]):,} pairs can be judged")
        if others:
            judge = pair_corpus(others, model.cache, options.n_bits, n_threads=threads)
    return train(
        corpus,
        options.stochastic(PAIRS_PER_BATCH),
        penalty=options.penalty,
        weights=first_weights(options.n_bits),
        held_out=judge,
        patience=options.patience,
        seed=options.seed,
        checkpoint=options.checkpoint,
        checkpoint_seconds=options.checkpoint_seconds,
        resume=options.resume,
        log=options.log,
        progress=options.progress,
    )


def _reached(
    model: ItgModel, pairs: Sequence[tuple[Tokens, Tokens]], say: Say
) -> list[EncodedPair]:
    """The pairs that have a derivation, as numbers."""
    found = []
    for number, (source, target) in enumerate(pairs, start=1):
        pair = model.encode_pair(source, target)
        if model.cache.is_reachable(pair):
            found.append(pair)
        if number % 2000 == 0:
            say(f"Forests of {number:,} of {len(pairs):,} pairs: {len(found):,} can be reached")
    return found


def _lengths(n_source: Sequence[int], n_target: Sequence[int]) -> tuple[float, float]:
    """Slope and margin of the longest target by the length of the source."""
    if not n_source:
        return 1.0, 1.0
    slope = sum(n_target) / sum(n_source)
    rest = np.array(n_target) - slope * np.array(n_source)
    return slope, float(np.quantile(rest, COVERED))


def _cache(lexicon: TranslationLexicon, n_bytes: int) -> ForestCache:
    return ForestCache(lexicon.most_links, lexicon.most_insertions, n_bytes)
