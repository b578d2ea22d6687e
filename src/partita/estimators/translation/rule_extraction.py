"""Hierarchical rules out of aligned sentence pairs (Chiang 2007)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.kernels.bitext import rule_extraction as kernels
from partita.kernels.bitext.hiero_trie import MISSING
from partita.structures.batch import offsets as offsets_of
from partita.text.word_vocabulary import Numbered
from partita.training.threads import as_free

Links = Sequence[tuple[int, int]]
Side = tuple[int, ...]
"""Words as numbers; -1 and -2 are the nonterminals, in the order of the source."""
FIRST, SECOND = -1, -2
PAIRS_AT_ONCE = 32
"""Pairs whose rules a thread extracts at a time."""
PAIRS_A_ROUND = 8 * PAIRS_AT_ONCE
"""Pairs whose rules are extracted before those of others are counted."""
ROOM = 2**15
"""Rules that there is room for at first; usually twice as many as such pairs have."""


class RulePair(NamedTuple):
    """The two sides of a rule X -> source / target."""

    source: Side
    target: Side


class Phrase(NamedTuple):
    """Source words i .. j-1 and target words k .. l-1 that are linked to nothing outside."""

    i: int
    j: int
    k: int
    l: int  # noqa: E741 (the boundaries have these names everywhere)


@dataclass(frozen=True)
class RuleLimits:
    """Which rules are taken; the defaults are Chiang's."""

    longest_phrase: int = 10
    """Words of a phrase, on either side."""
    most_symbols: int = 5
    """Words and nonterminals of the source side of a rule."""
    most_slots: int = 2
    """Nonterminals of a rule."""


class LinkRows(NamedTuple):
    """The links of many pairs: rows (source place, target place), ascending in each pair."""

    rows: IntArray
    ends: IntArray
    """The links of pair k are rows[ends[k] : ends[k + 1]]."""

    @classmethod
    def of(cls, links: Sequence[Links]) -> Self:
        """From the links of each pair."""
        rows = np.array([link for own in links for link in own], dtype=np.int64)
        return cls(rows.reshape(-1, 2), offsets_of(np.fromiter(map(len, links), np.int64)))


class RuleCounts(NamedTuple):
    """Different rules of a bitext; a side is a row, with `MISSING` behind its end."""

    sources: Array
    """Different source sides, (n_sources, most_symbols)."""
    targets: Array
    """Different target sides, (n_targets, longest_phrase)."""
    sides: Array
    """The numbers of the two sides of each rule, (n_rules, 2)."""
    counts: FloatArray
    """In how many pairs each rule is, times their weights."""

    def rules(self) -> dict[RulePair, float]:
        """The count of each rule; for looking at few of them."""
        both = zip(self.sides.tolist(), self.counts.tolist(), strict=True)
        return {RulePair(_side(self.sources[s]), _side(self.targets[t])): n for (s, t), n in both}


def phrases(links: Links, longest: int) -> list[Phrase]:
    """The tight phrase pairs of a word alignment: consistent, and linked at all four ends.

    A pair is consistent if a word of it has links, and all of them lead into it. With unaligned
    words at its ends it would say no more than the smaller pair inside. O(n longest²).

    >>> phrases([(0, 1), (1, 0)], 10)
    [Phrase(i=0, j=1, k=1, l=2), Phrase(i=0, j=2, k=0, l=2), Phrase(i=1, j=2, k=0, l=1)]
    """
    rows = LinkRows.of([links]).rows
    widest = int(rows.max(initial=0)) + 1
    lows, highs = np.empty((2, 2 * widest), dtype=np.int64)
    found = np.empty((widest * longest, 4), dtype=np.int64)
    n_found = kernels.phrases(rows, longest, lows, highs, found)
    return [Phrase(*row) for row in found[:n_found].tolist()]


def extract(
    source: Sequence[int], target: Sequence[int], links: Links, limits: RuleLimits
) -> set[RulePair]:
    """The rules of an aligned pair.

    A phrase is a rule, if it is short enough; replacing phrases within a rule by nonterminals
    gives further ones, as long as they are not adjacent on the source side and a linked word is
    left.

    >>> rules = extract([5, 6], [8, 7], [(0, 1), (1, 0)], RuleLimits())
    >>> sorted((rule.source, rule.target) for rule in rules)[:3]
    [((-1, 6), (8, -1)), ((5,), (7,)), ((5, -1), (-1, 7))]
    """
    left, right = (
        Numbered(np.array(side, dtype=np.int32), np.array([0, len(side)]))
        for side in (source, target)
    )
    return set(count_rules(left, right, LinkRows.of([links]), limits).rules())


def count_rules(
    source: Numbered,
    target: Numbered,
    links: LinkRows,
    limits: RuleLimits,
    weights: FloatArray | None = None,
    *,
    n_threads: int = 1,
) -> RuleCounts:
    """In how many pairs of an aligned bitext each rule is; a pair counts its weight, else 1.

    Three rounds of pairs are under way: the rules of one are counted, the sides of those of the
    next get numbers, and those of the one after are extracted, each by whichever thread is free.
    """
    weights = np.ones(len(source)) if weights is None else np.asarray(weights, dtype=np.float64)
    extraction = _Extraction(source, target, links, limits)
    sources, targets = _Different(limits.most_symbols), _Different(limits.longest_phrase)
    rules = _CountedRules(weights)
    found: list[_Extracted] = []
    numbered: list[tuple[IntArray, ...]] = []
    for first in range(0, len(source) + 2 * PAIRS_A_ROUND, PAIRS_A_ROUND):
        tasks: list[Callable[[], Any]] = [
            partial(sources.numbers_of, [part.sources for part in found]),
            partial(targets.numbers_of, [part.targets for part in found]),
            partial(rules.add, numbered),
        ]
        starts = range(first, min(first + PAIRS_A_ROUND, len(source)), PAIRS_AT_ONCE)
        tasks += [partial(extraction.after, start) for start in starts]
        left, right, _, *following = as_free(tasks, n_threads=n_threads)
        numbered = list(zip(left, right, (part.pairs for part in found), strict=True))
        found = following
    return RuleCounts(sources.rows, targets.rows, *rules.counted())


class _Extracted(NamedTuple):
    """Rules of some pairs, as often as they are found."""

    sources: Array
    targets: Array
    pairs: IntArray
    """Which pair each rule is of."""


class _Extraction:
    """The rules of an aligned bitext, some pairs at a time."""

    def __init__(
        self, source: Numbered, target: Numbered, links: LinkRows, limits: RuleLimits
    ) -> None:
        self._source, self._target, self._links, self._limits = source, target, links, limits

    def after(self, first: int) -> _Extracted:
        """The rules of `PAIRS_AT_ONCE` pairs, or of those that are left."""
        limits, room, end = self._limits, ROOM, first + PAIRS_AT_ONCE
        ends = self._source.offsets[: end + 1], self._target.offsets[: end + 1]
        bitext = self._source.numbers, ends[0], self._target.numbers, ends[1], *self._links
        shape = limits.longest_phrase, limits.most_symbols, limits.most_slots
        while True:
            left = np.empty((room, limits.most_symbols), dtype=np.int32)
            right = np.empty((room, limits.longest_phrase), dtype=np.int32)
            pairs = np.empty(room, dtype=np.int64)
            until, n = kernels.extract_all(first, *bitext, *shape, left, right, pairs)
            if until == len(ends[0]) - 1:
                return _Extracted(left[:n], right[:n], pairs[:n])
            room *= 2


def merged_rules(parts: Iterable[RuleCounts]) -> RuleCounts:
    """The rules of a bitext from those of its parts, in order; a pair is in one part.

    >>> one = RuleCounts(*map(np.array, ([[1]], [[2]], [[0, 0]])), counts=np.ones(1))
    >>> sides = [[3], [1]], [[2], [4]], [[1, 0], [0, 1]]
    >>> two = RuleCounts(*map(np.array, sides), counts=np.ones(2))
    >>> merged_rules([one, two]).rules()
    {RulePair(source=(1,), target=(2,)): 2.0, RulePair(source=(3,), target=(4,)): 1.0}
    """
    waiting = iter(parts)
    first, second = next(waiting), next(waiting, None)
    if second is None:
        return first
    sources, targets, rules = (_Different(rows.shape[1]) for rows in first[:3])
    counts = np.zeros(0)
    for part in chain([first, second], waiting):
        both = sources.numbers(part.sources), targets.numbers(part.targets)
        sides = [own[number] for own, number in zip(both, part.sides.T, strict=True)]
        found = rules.numbers(np.column_stack(sides).astype(np.int32))
        counts = np.concatenate([counts, np.zeros(rules.n_rows - len(counts))])
        counts[found] += part.counts
    return RuleCounts(sources.rows, targets.rows, rules.rows, counts)


class _Different:
    """Different rows of numbers, in the order of their first appearance."""

    def __init__(self, width: int) -> None:
        self.n_rows = 0
        self._rows = np.empty((0, width), dtype=np.int32)
        self._table = np.full(2, -1)

    @property
    def rows(self) -> Array:
        """All that came so far."""
        return self._rows[: self.n_rows]

    def numbers_of(self, parts: Iterable[Array]) -> list[IntArray]:
        """The number of each row of some parts, one after the other."""
        return list(map(self.numbers, parts))

    def numbers(self, rows: Array) -> IntArray:
        """The number of each row; new ones get the next."""
        needed = self.n_rows + len(rows)
        if needed > len(self._rows):
            kept = np.empty((2 * needed, rows.shape[1]), dtype=np.int32)
            kept[: self.n_rows] = self.rows
            self._rows = kept
        if 2 * needed > len(self._table):
            self._table = np.full(2 ** int(2 * needed).bit_length(), -1)
            kernels.intern(
                self.rows.copy(), self._table, self._rows, 0, np.empty(self.n_rows, np.int64)
            )
        found = np.empty(len(rows), dtype=np.int64)
        self.n_rows = kernels.intern(rows, self._table, self._rows, self.n_rows, found)
        return found


class _CountedRules:
    """Different rules, and in how many pairs each is, times their weights."""

    def __init__(self, weights: FloatArray) -> None:
        self._weights, self._rules = weights, _Different(2)
        self._counts, self._last_pairs = np.zeros(0), np.zeros(0, dtype=np.int64)

    def add(self, parts: Iterable[tuple[IntArray, ...]]) -> None:
        """Those of the next pairs: the numbers of both sides, and the pair of each rule."""
        for left, right, pairs in parts:
            numbers = self._rules.numbers(np.column_stack([left, right]).astype(np.int32))
            n_rules = self._rules.n_rows
            if n_rules > len(self._counts):
                self._counts = _longer(self._counts, 2 * n_rules, 0)
                self._last_pairs = _longer(self._last_pairs, 2 * n_rules, -1)
            kernels.count(numbers, pairs, self._weights, self._last_pairs, self._counts)

    def counted(self) -> tuple[Array, FloatArray]:
        """The numbers of the two sides of each rule, and its count."""
        return self._rules.rows, self._counts[: self._rules.n_rows].copy()


def _longer(values: Array, length: int, last: float) -> Array:
    """With the same number up to a length."""
    found: Array = np.full(length, last, dtype=values.dtype)
    found[: len(values)] = values
    return found


def _side(row: Array) -> Side:
    return tuple(row[row != MISSING].tolist())
