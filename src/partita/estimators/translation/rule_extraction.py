"""Hierarchical rules out of aligned sentence pairs (Chiang 2007)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Links = Sequence[tuple[int, int]]
Side = tuple[int, ...]
"""Words as numbers; -1 and -2 are the nonterminals, in the order of the source."""
FIRST, SECOND = -1, -2


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


def phrases(links: Links, longest: int) -> list[Phrase]:
    """The tight phrase pairs of a word alignment: consistent, and linked at all four ends.

    A pair is consistent if a word of it has links, and all of them lead into it. With unaligned
    words at its ends it would say no more than the smaller pair inside. O(n longest links).

    >>> phrases([(0, 1), (1, 0)], 10)
    [Phrase(i=0, j=1, k=1, l=2), Phrase(i=0, j=2, k=0, l=2), Phrase(i=1, j=2, k=0, l=1)]
    """
    of_source: dict[int, list[int]] = {}
    for i, k in links:
        of_source.setdefault(i, []).append(k)
    found = []
    for i in sorted(of_source):
        low, high = min(of_source[i]), max(of_source[i])
        for j in range(i + 1, i + longest + 1):
            if j - 1 not in of_source:
                continue
            low, high = min(low, *of_source[j - 1]), max(high, *of_source[j - 1])
            if high - low >= longest:
                break
            if all(i <= source < j for source, target in links if low <= target <= high):
                found.append(Phrase(i, j, low, high + 1))
    return found


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
    found = phrases(links, limits.longest_phrase)
    linked = sorted({i for i, _ in links})
    rules: set[RulePair] = set()
    for outer in found:
        inner = [p for p in found if p != outer and outer.i <= p.i and p.j <= outer.j]
        rules.update(_rules(source, target, outer, inner, linked, limits))
    return rules


def _rules(
    source: Sequence[int],
    target: Sequence[int],
    outer: Phrase,
    inner: Sequence[Phrase],
    linked: Sequence[int],
    limits: RuleLimits,
) -> Iterator[RulePair]:
    """All rules of one phrase."""
    n_words, most = outer.j - outer.i, limits.most_symbols
    inside = [i for i in linked if outer.i <= i < outer.j]
    if n_words <= most:
        yield RulePair(tuple(source[outer.i : outer.j]), tuple(target[outer.k : outer.l]))
    if limits.most_slots < 1:
        return
    for number, first in enumerate(inner):
        left = n_words - (first.j - first.i)
        if left + 1 <= most and any(not first.i <= i < first.j for i in inside):
            yield _replaced(source, target, outer, (first,))
        if limits.most_slots < 2:
            continue
        for second in inner[number + 1 :]:
            rest = left - (second.j - second.i)
            # Phrases come by their first word, so the second begins no earlier than the first.
            if second.i <= first.j or rest + 2 > most:
                continue
            if second.k < first.l and first.k < second.l:
                continue
            if any(not (first.i <= i < first.j or second.i <= i < second.j) for i in inside):
                yield _replaced(source, target, outer, (first, second))


def _replaced(
    source: Sequence[int], target: Sequence[int], outer: Phrase, slots: Sequence[Phrase]
) -> RulePair:
    """The rule of a phrase with some of the phrases in it replaced by nonterminals."""
    numbered = list(zip(slots, (FIRST, SECOND), strict=False))
    left: list[int] = []
    place = outer.i
    for phrase, number in numbered:
        left += [*source[place : phrase.i], number]
        place = phrase.j
    left += source[place : outer.j]
    right: list[int] = []
    place = outer.k
    for phrase, number in sorted(numbered, key=lambda item: item[0].k):
        right += [*target[place : phrase.k], number]
        place = phrase.l
    right += target[place : outer.l]
    return RulePair(tuple(left), tuple(right))
