"""Which words a latent-variable CRF may link, and the features of these pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.estimators.alignment.model1 import WordTable
from partita.grammars.choices import TargetChoices
from partita.grammars.lexicon import Lexicon
from partita.text.likeness import likeness
from partita.text.views import punctuation
from partita.text.word_vocabulary import N_RESERVED, NULL, WordVocabulary

LEAST_LOG = -12.0
"""Log-probabilities below this say no more than that a model does not believe in a pair."""
UNIGRAM_SHARE = 0.1
"""How much of the distribution of inserted words is that of all target words."""

PAIR_VALUES = ("link", "log t(y|x)", "log t(x|y)", "spelt alike", "equal", "only one is a word")
DELETION_VALUES = ("deletion", "log t(x|empty)")


def is_word(text: str) -> bool:
    """Whether there is a letter or a digit in it."""
    return punctuation(text) is None


@dataclass(frozen=True, eq=False)
class LinkLexicon:
    """The pairs of words that training may link, and what is known of pairs and words.

    `pairs` are at most k translations of each source word, the best by t(y | x) t(x | y) among the
    k best of each direction; each pair has a weight of its own. Any source word may be deleted and
    any target word inserted.
    """

    pairs: Lexicon
    pair_values: FloatArray
    """The values of `PAIR_VALUES` for each pair, (n_pairs, n_values)."""
    deletion_values: FloatArray
    """The values of `DELETION_VALUES` for each source word."""
    log_inserted: FloatArray
    """log p(y) of an inserted word, for each target word; sums to one."""

    @classmethod
    def learn(
        cls,
        source: WordVocabulary,
        target: WordVocabulary,
        forward: WordTable,
        backward: WordTable,
        k: int,
    ) -> Self:
        """From tables t(y | x) and t(x | y)."""
        pairs = _candidates(forward, backward, k)
        lexicon = Lexicon.from_pairs(pairs, len(source), len(target))
        x, y = np.divmod(lexicon.pairs, len(target))
        words = np.arange(len(source))
        empty = logarithms(backward.probability(np.zeros_like(words), words))
        return cls(
            lexicon,
            pair_values(
                forward.probability(x, y),
                backward.probability(y, x),
                [source.names[word] for word in x.tolist()],
                [target.names[word] for word in y.tolist()],
            ),
            np.column_stack([np.ones(len(source)), empty]),
            _insertions(target, forward),
        )

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.pairs.pairs)

    def choices(self, source: IntArray) -> tuple[TargetChoices, IntArray]:
        """The translations of each word of a sentence, and the pair that each of them makes."""
        choices = self.pairs.translations(source)
        starts = self.pairs.offsets[source]
        sizes = np.diff(choices.offsets)
        within = np.arange(len(choices.words)) - np.repeat(choices.offsets[:-1], sizes)
        return choices, within + np.repeat(starts, sizes)

    def links(self, source: IntArray, target: IntArray) -> tuple[BoolArray, IntArray]:
        """Which words of a pair of sentences may be linked, and the pair that they make, (n, m)."""
        keys = source[:, np.newaxis] * self.pairs.n_target + target
        places = np.searchsorted(self.pairs.pairs, keys)
        places = np.minimum(places, max(self.n_pairs - 1, 0))
        allowed: BoolArray = (
            self.pairs.pairs[places] == keys
            if self.n_pairs
            else np.zeros(keys.shape, dtype=np.bool_)
        )
        return allowed, places

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        return {
            "pairs": self.pairs.pairs,
            "pair_values": self.pair_values,
            "deletion_values": self.deletion_values,
            "log_inserted": self.log_inserted,
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Self:
        """The lexicon that `arrays` describes."""
        n_source, n_target = len(arrays["deletion_values"]), len(arrays["log_inserted"])
        pairs = np.column_stack(np.divmod(arrays["pairs"], n_target))
        lexicon = Lexicon.from_pairs(pairs, n_source, n_target)
        values = (arrays[name] for name in ("pair_values", "deletion_values", "log_inserted"))
        return cls(lexicon, *values)


def logarithms(probabilities: FloatArray) -> FloatArray:
    """Natural logarithms, at least `LEAST_LOG`."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probabilities), LEAST_LOG)


def pair_values(
    forward: FloatArray, backward: FloatArray, source: Sequence[str], target: Sequence[str]
) -> FloatArray:
    """The values of `PAIR_VALUES` from t(y | x), t(x | y) and the words of each pair."""
    alike = [likeness(x, y) for x, y in zip(source, target, strict=True)]
    differ = [is_word(x) != is_word(y) for x, y in zip(source, target, strict=True)]
    spelling = np.array(alike, dtype=np.float64).reshape(-1)
    return np.column_stack(
        [
            np.ones(len(source)),
            logarithms(forward),
            logarithms(backward),
            spelling,
            spelling == 1.0,
            np.array(differ, dtype=np.float64).reshape(-1),
        ]
    )


def _candidates(forward: WordTable, backward: WordTable, k: int) -> IntArray:
    """Pairs (source, target) of real words, at most k for each source word."""
    pairs = np.concatenate([forward.best(k)[0], backward.best(k)[0][:, ::-1]])
    pairs = np.unique(pairs[(pairs >= N_RESERVED).all(axis=1)], axis=0)
    score = logarithms(forward.probability(pairs[:, 0], pairs[:, 1]))
    score += logarithms(backward.probability(pairs[:, 1], pairs[:, 0]))
    pairs = pairs[np.lexsort((-score, pairs[:, 0]))]
    rank = np.arange(len(pairs)) - np.searchsorted(pairs[:, 0], pairs[:, 0])
    kept: IntArray = pairs[rank < k]
    return kept


def _insertions(target: WordVocabulary, forward: WordTable) -> FloatArray:
    """log p(y) of an inserted word: t(y | empty word), mixed with all words by frequency."""
    words = np.arange(len(target))
    counts = target.counts + 1.0
    counts[NULL] = 0.0
    seen = forward.probability(np.zeros_like(words), words)
    seen[NULL] = 0.0
    total = seen.sum()
    mixed = UNIGRAM_SHARE * counts / counts.sum()
    mixed += (1.0 - UNIGRAM_SHARE) * (seen / total if total else counts / counts.sum())
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(mixed / mixed.sum())
    return logs
