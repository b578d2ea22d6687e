"""What a rule about dependency arcs is: which arcs, and what share of them there should be."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from partita.data.errors import shown

Side: TypeAlias = Literal["left", "right", "any"]
Bound: TypeAlias = Literal["equal", "at least", "at most"]

ROOT = "ROOT"
"""The tag of the root, as a head."""
ANY = "*"
"""Any tag of a word."""


@dataclass(frozen=True)
class ArcPattern:
    """Which arcs: the tags of head and modifier, and on which side of the modifier the head is.

    Also how far: neighbours are at a distance of 1, `beyond` is one that is too near, and `within`
    the largest that fits (None: any).

    >>> str(ArcPattern("VERB", "NOUN", "left"))
    'NOUN <- VERB left'
    >>> print(ArcPattern("NOUN", "NOUN", "left", beyond=1))
    NOUN <- NOUN left beyond 1
    """

    head: str
    modifier: str
    side: Side = "any"
    beyond: int = 0
    within: int | None = None

    def __post_init__(self) -> None:
        if self.side not in get_args(Side):
            raise ValueError(f"the side {self.side!r} came; expected left, right or any.")
        if self.head == ROOT and self.side != "any":
            raise ValueError(f"the root came with the side {self.side!r}; expected none (any).")
        if self.head == ROOT and self.has_distance:
            raise ValueError("the root came with a distance; expected none, for it has no place.")
        if self.beyond < 0 or (self.within is not None and self.within <= self.beyond):
            raise ValueError(
                f"the distances beyond {self.beyond} and within {self.within} came; expected whole "
                "numbers, the second larger than the first: neighbours are within 1."
            )
        for tag in (self.head, self.modifier):
            if not tag or re.search(r"\s", tag):
                raise ValueError(f"the tag {shown(tag)} came; expected one that is not blank.")

    @property
    def has_distance(self) -> bool:
        """Whether it says how far the head is."""
        return self.beyond > 0 or self.within is not None

    def __str__(self) -> str:
        return f"{self.modifier} <- {self.head}" + "".join(
            (
                "" if self.side == "any" else f" {self.side}",
                f" beyond {self.beyond}" if self.beyond else "",
                "" if self.within is None else f" within {self.within}",
            )
        )


@dataclass(frozen=True)
class ArcRule:
    """A target for the share of arcs that fit one of the patterns, among the arcs to some words.

    `among` is the tag of these words, `*` for all of them.

    >>> str(ArcRule.of("VERB", "NOUN", "left", 0.3))
    'NOUN <- VERB left 0.3'
    """

    patterns: tuple[ArcPattern, ...]
    target: float
    bound: Bound = "equal"
    among: str = ANY
    source: str = field(default="<memory>", compare=False)
    line: int = field(default=1, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", tuple(self.patterns))
        if not self.patterns:
            raise ValueError("a rule came without patterns; expected one or more.")
        if not 0 <= self.target <= 1:
            raise ValueError(f"the target {self.target} came; expected a share from 0 to 1.")
        if self.bound not in get_args(Bound):
            raise ValueError(f"the bound {self.bound!r} came; expected equal, at least or at most.")
        for pattern in self.patterns:
            if self.among not in (ANY, pattern.modifier):
                raise ValueError(
                    f"the rule '{pattern}' came in a group of {self.among}; expected that tag to "
                    "the left of the arrow."
                )

    @classmethod
    def of(
        cls, head: str, modifier: str, side: Side, target: float, bound: Bound = "equal"
    ) -> "ArcRule":
        """A rule with one pattern: the probability of head and side given the modifier's tag."""
        return cls((ArcPattern(head, modifier, side),), target, bound, modifier)

    @property
    def name(self) -> str:
        """What the share is of, in a line."""
        if len(self.patterns) == 1:
            return str(self.patterns[0])
        return f"one of {len(self.patterns)} rules, of {_among_text(self.among)}"

    def __str__(self) -> str:
        bound = "" if self.bound == "equal" else f"{self.bound} "
        [first, *others] = self.patterns
        if not others and first.modifier == self.among:
            return f"{first} {bound}{self.target!r}"
        lines = [f"{bound}{self.target!r} of {_among_text(self.among)}:"]
        return "\n".join([*lines, *(f"    {pattern}" for pattern in self.patterns)])


def _among_text(among: str) -> str:
    return "arcs" if among == ANY else among


def measured_arc_rules(
    tags: Sequence[Sequence[str]],
    heads: Sequence[Sequence[int]],
    *,
    n_rules: int | None = None,
    min_count: int = 1,
) -> list[ArcRule]:
    """P(head's tag, side | modifier's tag) in trees: the most frequent arcs first.

    `heads` count from 1, 0 is the root, and -1 a head that is not known, which is left out. Arcs
    that occur equally often come in the order of the alphabet.

    >>> print(*measured_arc_rules([["DET", "NOUN"], ["NOUN"]], [[2, 0], [0]]), sep="; ")
    NOUN <- ROOT 1.0; DET <- NOUN right 1.0
    """
    if len(tags) != len(heads):
        raise ValueError(f"{len(heads)} trees came for {len(tags)} sentences; expected as many.")
    arcs: Counter[tuple[str, str, Side]] = Counter()
    totals: Counter[str] = Counter()
    for row, tree in zip(tags, heads, strict=True):
        for word, (tag, head) in enumerate(zip(row, tree, strict=True), start=1):
            if head < 0:
                continue
            side: Side = "any" if head == 0 else "left" if head < word else "right"
            arcs[tag, row[head - 1] if head else ROOT, side] += 1
            totals[tag] += 1
    ordered = sorted(arcs.items(), key=lambda item: (-item[1], item[0]))
    return [
        ArcRule.of(head, modifier, side, count / totals[modifier])
        for (modifier, head, side), count in ordered[:n_rules]
        if count >= min_count
    ]
