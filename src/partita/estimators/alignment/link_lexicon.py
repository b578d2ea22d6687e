"""What the latent-variable CRF of the aligner knows of words: links, deletions, insertions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from partita.arrays import Array, FloatArray
from partita.estimators import files
from partita.estimators.alignment.model1 import WordTable
from partita.estimators.alignment.proposals import Proposals
from partita.features.word_pairs import DELETION_VALUES, PAIR_VALUES, logarithms, pair_values
from partita.kept import kept_array
from partita.text.word_vocabulary import NULL, WordVocabulary

UNIGRAM_SHARE = 0.1
"""How much of the distribution of inserted words is that of all target words."""


@dataclass(frozen=True, eq=False)
class LinkLexicon:
    """The pairs of words that training may link, and what is known of pairs and words.

    Each pair has a weight of its own. Any source word may be deleted and any target word inserted.
    """

    proposals: Proposals
    """The pairs, with the values of `PAIR_VALUES`."""
    deletion_values: FloatArray
    """The values of `DELETION_VALUES` for each source word."""
    log_inserted: FloatArray
    """log p(y) of an inserted word, for each target word; sums to one."""

    @classmethod
    def learn(
        cls,
        words: tuple[WordVocabulary, WordVocabulary],
        tables: tuple[WordTable, WordTable],
        most: int,
    ) -> Self:
        """From tables t(y | x) and t(x | y), with at most so many translations of a word."""
        (source, target), (forward, backward) = words, tables
        found = Proposals.learn(words, tables, most)
        x, y = found.sources.tolist(), found.targets.tolist()
        names = [source.names[word] for word in x], [target.names[word] for word in y]
        proposals = Proposals(found.offsets, found.targets, pair_values(found.values, *names))
        numbers = np.arange(len(source))
        empty = logarithms(backward.probability(np.zeros_like(numbers), numbers))
        deletions = np.column_stack([np.ones(len(source)), empty])
        return cls(proposals, deletions, _insertions(target, forward))

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        own = {"deletion_values": self.deletion_values, "log_inserted": self.log_inserted}
        return own | files.prefixed("proposals", self.proposals.arrays())

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], n_source: int, n_target: int) -> Self:
        """The lexicon that `arrays` describes, for so many words."""
        return cls(
            Proposals.restored(
                files.under("proposals", arrays), n_source, n_target, len(PAIR_VALUES)
            ),
            kept_array(
                arrays, "deletion_values", np.float64, n_source, len(DELETION_VALUES), is_log=True
            ),
            kept_array(arrays, "log_inserted", np.float64, n_target, is_log=True),
        )


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
