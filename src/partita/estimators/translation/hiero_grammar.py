"""A grammar of hierarchical rules with their features, as arrays, and its part for a sentence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from partita.arrays import Array, FloatArray, IntArray
from partita.estimators.alignment.model1 import WordTable
from partita.estimators.translation.rule_extraction import FIRST, SECOND, RulePair, Side
from partita.features.word_pairs import logarithms
from partita.grammars.hiero import HieroGrammar
from partita.grammars.rules import Slot, SynchronousRule, glue_rules
from partita.kept import kept_array, kept_offsets
from partita.structures.batch import offsets as offsets_of
from partita.text.word_vocabulary import NULL, UNKNOWN, WordVocabulary

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
UNMATCHED = -3
"""A number that no rule has, in the place of an unknown word."""
GLUE, COPY = FEATURES.index("glue"), FEATURES.index("copied word")
FIRST_WEIGHTS = (0.5, 0.5, 0.5, 0.5, -1.0, -1.0, -1.0, -1.5, 0.5, 0.0, -0.5, -1.0)
"""Where training starts; near what it finds on German and English."""


@dataclass(frozen=True, eq=False)
class Sides:
    """One side of many rules, end to end; numbers below 0 are nonterminals."""

    symbols: NDArray[np.int32]
    offsets: IntArray

    @classmethod
    def of(cls, sides: Sequence[Side]) -> Self:
        """From a tuple for each rule."""
        lengths = np.array([len(side) for side in sides], dtype=np.int64)
        flat = np.fromiter((n for side in sides for n in side), np.int32, int(lengths.sum()))
        return cls(flat, offsets_of(lengths))

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], name: str, n_words: int) -> Self:
        """From what a model file kept under a name."""
        symbols = kept_array(arrays, f"{name}.symbols", np.int32, None)
        if symbols.size and symbols.max() >= n_words:
            raise ValueError(f"{name!r} has a word {symbols.max()}; there are {n_words}.")
        return cls(symbols, kept_offsets(arrays, f"{name}.offsets", None, len(symbols)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Side:
        return tuple(self.symbols[self.offsets[index] : self.offsets[index + 1]].tolist())


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
        counts: Counter[RulePair],
        words: tuple[WordVocabulary, WordVocabulary],
        tables: tuple[WordTable, WordTable],
        *,
        n_targets: int,
        min_count: int,
    ) -> Self:
        """The `n_targets` commonest target sides of each source side.

        Rules with nonterminals must have been seen `min_count` times; phrases once.
        """
        source_counts, target_counts = Counter[Side](), Counter[Side]()
        by_source: dict[Side, list[tuple[int, Side]]] = {}
        for rule, count in counts.items():
            source_counts[rule.source] += count
            target_counts[rule.target] += count
            if count >= min_count or FIRST not in rule.source:
                by_source.setdefault(rule.source, []).append((count, rule.target))
        sources = sorted(by_source)
        kept = [sorted(by_source[side], reverse=True)[:n_targets] for side in sources]
        targets = [target for rules in kept for _, target in rules]
        pairs = [
            RulePair(side, target)
            for side, rules in zip(sources, kept, strict=True)
            for _, target in rules
        ]
        number = np.array([count for rules in kept for count, _ in rules], dtype=np.float64)
        features = np.zeros((len(pairs), len(FEATURES)))
        features[:, 0] = np.log(number / [source_counts[pair.source] for pair in pairs])
        features[:, 1] = np.log(number / [target_counts[pair.target] for pair in pairs])
        features[:, 2] = _lexical(tables[0], [(p.source, p.target) for p in pairs])
        features[:, 3] = _lexical(tables[1], [(p.target, p.source) for p in pairs])
        features[:, 9] = number == 1
        features[:, 4:9] = np.reshape([_shape(pair) for pair in pairs], (-1, 5))
        first = offsets_of(np.array([len(rules) for rules in kept], dtype=np.int64))
        return cls(*words, Sides.of(sources), first, Sides.of(targets), features)

    @cached_property
    def _trie(self) -> dict[int, Any]:
        """Source sides symbol by symbol; 0 leads to the number of the side that ends there."""
        trie: dict[int, Any] = {}
        for number in range(len(self.sources)):
            state = trie
            for symbol in self.sources[number]:
                state = state.setdefault(symbol, {})
            state[0] = number
        return trie

    def matching(self, words: Sequence[int]) -> list[int]:
        """The numbers of the source sides that fit some words of a sentence, ascending."""
        found: set[int] = set()
        seen: set[tuple[int, int]] = set()
        stack = [(self._trie, start) for start in range(len(words))]
        while stack:
            state, place = stack.pop()
            if (id(state), place) in seen:
                continue
            seen.add((id(state), place))
            if 0 in state:
                found.add(state[0])
            if place < len(words) and words[place] in state:
                stack.append((state[words[place]], place + 1))
            for slot in (FIRST, SECOND):
                if slot in state:
                    stack += [(state[slot], end) for end in range(place + 1, len(words) + 1)]
        return sorted(found)

    def grammar(self, text: Sequence[str]) -> tuple[HieroGrammar, FloatArray]:
        """The rules for a sentence, with glue and copies, and the features of each."""
        numbers = [self.source.number(word) for word in text]
        sides = self.matching([n if n != UNKNOWN else UNMATCHED for n in numbers])
        rules, rows = [], []
        known: set[int] = set()
        for side in sides:
            source = self.sources[side]
            if len(source) == 1:
                known.add(source[0])
            for rule in range(self.first_rule[side], self.first_rule[side + 1]):
                rules.append(self._rule(source, self.targets[rule]))
                rows.append(rule)
        features = [self.features[rows]]
        for word in dict.fromkeys(w for w, n in zip(text, numbers, strict=True) if n not in known):
            rules.append(SynchronousRule("X", (word,), (word,)))
            features.append(_indicator(COPY))
        rules += glue_rules()
        features += [np.zeros((1, len(FEATURES))), _indicator(GLUE)]
        return HieroGrammar(rules), np.concatenate(features)

    def _rule(self, source: Side, target: Side) -> SynchronousRule:
        return SynchronousRule(
            "X", _symbols(source, self.source.names), _symbols(target, self.target.names)
        )

    def commonest(self, n_rules: int) -> Iterator[str]:
        """The rules with gaps whose source sides have most translations."""
        n_targets = np.diff(self.first_rule)
        n_left = n_rules
        for side in np.argsort(-n_targets, kind="stable").tolist():
            source = self.sources[side]
            if n_left and FIRST in source:
                n_left -= 1
                yield str(self._rule(source, self.targets[int(self.first_rule[side])]))

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
        sources = Sides.restored(arrays, "sources", len(source))
        targets = Sides.restored(arrays, "targets", len(target))
        first_rule = kept_offsets(arrays, "first_rule", len(sources), len(targets))
        features = kept_array(
            arrays, "features", np.float64, len(targets), len(FEATURES), is_log=True
        )
        return cls(source, target, sources, first_rule, targets, features)


def _symbols(side: Side, names: Sequence[str]) -> tuple[str | Slot, ...]:
    return tuple(Slot("X", -symbol) if symbol < 0 else names[symbol] for symbol in side)


def _indicator(feature: int) -> FloatArray:
    row = np.zeros((1, len(FEATURES)))
    row[0, feature] = 1.0
    return row


def _shape(pair: RulePair) -> list[float]:
    """Phrase, one slot, two straight, two inverted; number of target words."""
    slots = [symbol for symbol in pair.target if symbol < 0]
    kind = [0.0] * 4
    kind[len(slots) if slots != [SECOND, FIRST] else 3] = 1.0
    return [*kind, float(len(pair.target) - len(slots))]


def _lexical(table: WordTable, pairs: Iterable[tuple[Side, Side]]) -> FloatArray:
    """log prod over words y of one side of the mean over words x of the other of t(y | x).

    The empty word is always among the x. In one look-up for all rules.
    """
    sources: list[int] = []
    targets: list[int] = []
    sizes: list[tuple[int, int]] = []
    for source, target in pairs:
        given = [NULL, *(symbol for symbol in source if symbol >= 0)]
        words = [symbol for symbol in target if symbol >= 0]
        sizes.append((len(given), len(words)))
        for word in words:
            sources += given
            targets += [word] * len(given)
    probabilities = table.probability(np.array(sources), np.array(targets))
    shape = np.array(sizes, dtype=np.int64).reshape(-1, 2)
    of_word = np.repeat(shape[:, 0], shape[:, 1])
    starts = np.cumsum(of_word) - of_word
    means = np.add.reduceat(probabilities, starts) / of_word if len(starts) else np.zeros(0)
    rule = np.repeat(np.arange(len(shape)), shape[:, 1])
    return np.bincount(rule, weights=logarithms(means), minlength=len(shape)).astype(np.float64)
