"""A grammar of hierarchical rules with their features, as arrays."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.estimators.alignment.model1 import WordTable
from partita.estimators.translation.rule_extraction import FIRST, SECOND, RuleCounts
from partita.features.word_pairs import LEAST_LOG
from partita.grammars.rule_arrays import RuleArrays, Sides
from partita.grammars.rules import Slot, SynchronousRule
from partita.kept import kept_array, kept_offsets
from partita.kernels.bitext import rule_extraction as kernels
from partita.kernels.bitext.hiero_trie import MISSING
from partita.structures.batch import offsets as offsets_of
from partita.text.word_vocabulary import UNKNOWN, WordVocabulary
from partita.training.threads import in_threads

FEATURES = (
    "log p(target | source)",
    "log p(source | target)",
    "log lexical weight of the target",
    "log lexical weight of the source",
    "phrase",
    "rule with one slot",
    "rule with two slots, straight",
    "rule with two slots, inverted",
    "target words",
    "seen once",
    "glue",
    "copied word",
)
GLUE, COPY = FEATURES.index("glue"), FEATURES.index("copied word")
FIRST_WEIGHTS = (0.5, 0.5, 0.5, 0.5, -1.0, -1.0, -1.0, -1.5, 0.5, 0.0, -0.5, -1.0)
"""Where training starts; near what it finds on German and English."""
SYMBOLS = ("X", "S")
N_COMMON = 3
"""Rules that every sentence has behind the others: a copied word, S -> X, S -> S X."""


@dataclass(frozen=True, eq=False)
class HieroRules:
    """The rules that extraction found, by their source sides, with features."""

    source: WordVocabulary
    target: WordVocabulary
    sources: Sides
    """The different source sides."""
    first_rule: IntArray
    """The rules of source side s: first_rule[s] to first_rule[s + 1]."""
    targets: Sides
    """The target side of each rule."""
    features: FloatArray
    """(n_rules, n_features), see `FEATURES`."""

    @classmethod
    def of(
        cls,
        found: RuleCounts,
        words: tuple[WordVocabulary, WordVocabulary],
        tables: tuple[WordTable, WordTable],
        *,
        n_targets: int,
        min_count: int,
        n_threads: int = 1,
    ) -> Self:
        """The `n_targets` commonest target sides of each source side.

        Rules with nonterminals must have been seen `min_count` times; phrases once.
        """
        source, target = found.sides.T
        totals = [
            np.bincount(side, found.counts, minlength=len(rows))[side]
            for side, rows in ((source, found.sources), (target, found.targets))
        ]
        is_phrase = ~(found.sources == FIRST).any(axis=1)
        enough = np.flatnonzero((found.counts >= min_count) | is_phrase[source])
        # Source sides in order, the commonest targets first, the last of equals before the others.
        used = target[enough], source[enough]
        ranks = in_threads(_ranks, (found.targets, found.sources), used, n_threads=n_threads)
        keys = -ranks[0][used[0]], -found.counts[enough], ranks[1][used[1]]
        order = enough[np.lexsort(keys)]
        kept = order[_places(source[order]) < n_targets]
        left, right = found.sources[source[kept]], found.targets[target[kept]]
        features = np.zeros((len(kept), len(FEATURES)))
        for column, total in enumerate(totals):
            features[:, column] = np.log(found.counts[kept] / total[kept])
        lexical = in_threads(_lexical, tables, (left, right), (right, left), n_threads=n_threads)
        features[:, 2:4] = np.column_stack(lexical)
        features[:, 4:9] = _shapes(right)
        features[:, 9] = found.counts[kept] == 1
        starts = np.flatnonzero(_places(source[kept]) == 0)
        first = np.append(starts, len(kept)).astype(np.int64)
        return cls(*words, _sides(left[starts]), first, _sides(right), features)

    @cached_property
    def arrays_of_rules(self) -> RuleArrays:
        """All rules as a parser reads them; those that every sentence has come last."""
        side_of = np.repeat(np.arange(self.sources.n_sides), np.diff(self.first_rule))
        found = self.sources.select(side_of)
        # A parser tells nonterminals apart by what they are, not by their number.
        symbols = np.where(found.symbols < 0, -1, found.symbols).astype(np.int32)
        common = Sides.of([[self.copied], [-1], [-2, -1]])
        sources = Sides(
            np.concatenate([symbols, common.symbols]),
            np.concatenate([found.offsets, found.offsets[-1] + common.offsets[1:]]),
        )
        heads = np.zeros(len(side_of) + N_COMMON, dtype=np.int64)
        heads[-2:] = 1
        return RuleArrays.of(sources, heads, 1, SYMBOLS)

    @property
    def copied(self) -> int:
        """The number of a word that is copied, to the rule that does so."""
        return len(self.source)

    @cached_property
    def all_features(self) -> FloatArray:
        """The features of all rules, with those that every sentence has."""
        common = np.zeros((N_COMMON, len(FEATURES)))
        common[0, COPY] = common[2, GLUE] = 1.0
        return np.concatenate([self.features, common])

    @cached_property
    def all_targets(self) -> Sides:
        """The target side of all rules; a copied word is `UNKNOWN`."""
        common = Sides.of([[UNKNOWN], [-1], [-1, -2]])
        return Sides(
            np.concatenate([self.targets.symbols, common.symbols]),
            np.concatenate([self.targets.offsets, self.targets.offsets[-1] + common.offsets[1:]]),
        )

    @cached_property
    def is_translated(self) -> BoolArray:
        """Whether a rule translates each source word alone; others are copied."""
        known = np.zeros(len(self.source), dtype=np.bool_)
        single = self.sources.offsets[:-1][np.diff(self.sources.offsets) == 1]
        words = self.sources.symbols[single]
        known[words[words >= 0]] = True
        return known

    def commonest(self, n_rules: int) -> Iterator[str]:
        """The rules with gaps whose source sides have most translations."""
        n_targets = np.diff(self.first_rule)
        n_left = n_rules
        for side in np.argsort(-n_targets, kind="stable").tolist():
            source = self.sources.side(side)
            if n_left and FIRST in source:
                n_left -= 1
                target = self.targets.side(int(self.first_rule[side]))
                both = _named(source, self.source.names), _named(target, self.target.names)
                yield str(SynchronousRule("X", *both))

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {"source": self.source.header(), "target": self.target.header()}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        return {
            "source.counts": self.source.counts,
            "target.counts": self.target.counts,
            "sources.symbols": self.sources.symbols,
            "sources.offsets": self.sources.offsets,
            "first_rule": self.first_rule,
            "targets.symbols": self.targets.symbols,
            "targets.offsets": self.targets.offsets,
            "features": self.features,
        }

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The rules that `header` and `arrays` describe."""
        source = WordVocabulary.restored(header["source"], {"counts": arrays["source.counts"]})
        target = WordVocabulary.restored(header["target"], {"counts": arrays["target.counts"]})
        sources = _restored(arrays, "sources", len(source))
        targets = _restored(arrays, "targets", len(target))
        first_rule = kept_offsets(arrays, "first_rule", sources.n_sides, targets.n_sides)
        features = kept_array(
            arrays, "features", np.float64, targets.n_sides, len(FEATURES), is_log=True
        )
        _check_slots(sources, targets, np.diff(first_rule))
        return cls(source, target, sources, first_rule, targets, features)


def _restored(arrays: Mapping[str, Array], name: str, n_words: int) -> Sides:
    """The sides that a model file kept under a name."""
    symbols = kept_array(arrays, f"{name}.symbols", np.int32, None)
    if symbols.size and not SECOND <= symbols.min() <= symbols.max() < n_words:
        raise ValueError(
            f"{name!r} has symbols from {symbols.min()} to {symbols.max()}; expected {SECOND} to "
            f"{n_words - 1}."
        )
    return Sides(symbols, kept_offsets(arrays, f"{name}.offsets", None, len(symbols)))


def _check_slots(sources: Sides, targets: Sides, n_targets: IntArray) -> None:
    """Both sides of a rule have the same nonterminals, and the source side something at all."""
    rows, others = sources.padded(), targets.padded()
    counts = [
        np.column_stack([(side == slot).sum(axis=1) for slot in (FIRST, SECOND)])
        for side in (rows, others)
    ]
    if (
        (np.diff(sources.offsets) < 1).any()
        or (counts[0] > 1).any()
        or (counts[0][:, 1] > counts[0][:, 0]).any()
        or (np.repeat(counts[0], n_targets, axis=0) != counts[1]).any()
    ):
        raise ValueError(
            "the two sides of a rule have other nonterminals, or one of them twice; expected the "
            "same on both sides."
        )


def _ranks(rows: Array, used: IntArray) -> IntArray:
    """The place of each row that is used among all of these in order; rows differ."""
    is_used = np.zeros(len(rows), dtype=np.bool_)
    is_used[used] = True
    places, ranks = np.flatnonzero(is_used), np.zeros(len(rows), dtype=np.int64)
    ranks[places[np.lexsort(rows[places].T[::-1])]] = np.arange(len(places))
    return ranks


def _places(groups: IntArray) -> IntArray:
    """The place of each member in its group, where those of a group are side by side."""
    begins = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.arange(len(groups)) - np.repeat(begins, np.diff(np.append(begins, len(groups))))


def _sides(rows: Array) -> Sides:
    """Rows as sides end to end."""
    is_there: BoolArray = np.not_equal(rows, MISSING)
    return Sides(rows[is_there].astype(np.int32), offsets_of(is_there.sum(axis=1)))


def _named(side: Sequence[int], names: Sequence[str]) -> tuple[str | Slot, ...]:
    return tuple(Slot("X", -symbol) if symbol < 0 else names[symbol] for symbol in side)


def _shapes(targets: Array) -> FloatArray:
    """Phrase, one slot, two straight, two inverted; number of target words. (n_rules, 5)."""
    first, second = (targets == FIRST), (targets == SECOND)
    kind = first.any(axis=1).astype(np.int64) + second.any(axis=1)
    kind[(kind == 2) & (second.argmax(axis=1) < first.argmax(axis=1))] = 3
    shapes = np.zeros((len(targets), 5))
    shapes[np.arange(len(targets)), kind] = 1.0
    shapes[:, 4] = (targets >= 0).sum(axis=1)
    return shapes


def _lexical(table: WordTable, given: Array, words: Array) -> FloatArray:
    """log prod over words y of one side of the mean over words x of the other of t(y | x)."""
    out = np.empty(len(words))
    entries = table.offsets, table.targets, table.probabilities, table.unseen
    kernels.lexical(*entries, given, words, LEAST_LOG, out)
    return out
