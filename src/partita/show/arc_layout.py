"""Where the arcs of a tree run: how high each one is, and where it meets its words."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from partita.show.svg import number

CORNER = 12.0
ROOT = 0

Point = tuple[float, float]
Place = Callable[[float, float], Point]
"""(along the words, away from them) -> a point of the picture."""


class Arc(NamedTuple):
    """An arc to draw; words count from 1, the head 0 is the root."""

    head: int
    modifier: int
    probability: float
    label: str = ""

    @property
    def span(self) -> tuple[int, int]:
        """The leftmost and the rightmost word."""
        return min(self.head, self.modifier), max(self.head, self.modifier)


def levels(arcs: Sequence[Arc]) -> list[int]:
    """How high each arc runs, from 1: above every shorter one over some of the same words.

    Arcs from the root come down from above all others.

    >>> levels([Arc(2, 1, 1.0), Arc(0, 2, 1.0), Arc(2, 4, 1.0), Arc(4, 3, 1.0)])
    [1, 3, 2, 1]
    """
    found = [0] * len(arcs)
    placed: list[tuple[int, int, int]] = []
    inner = [index for index, arc in enumerate(arcs) if arc.head != ROOT]
    for index in sorted(inner, key=lambda index: arcs[index].span[1] - arcs[index].span[0]):
        low, high = arcs[index].span
        below = [level for a, b, level in placed if max(a, low) < min(b, high)]
        found[index] = 1 + max(below, default=0)
        placed.append((low, high, found[index]))
    top = 1 + max(found, default=0)
    return [level or top for level in found]


def ends(arcs: Sequence[Arc], spacing: float) -> list[tuple[float, float]]:
    """How far beside the middle of its head and of its modifier each arc ends.

    At a word, the arcs to the left come first, the shortest outermost, then the one from the root,
    then those to the right, the longest first: so no two of them touch without need.
    """
    meetings: dict[int, list[tuple[int, float, int, int]]] = defaultdict(list)
    for index, (head, modifier, *_) in enumerate(arcs):
        for role, (word, other) in enumerate(((head, modifier), (modifier, head))):
            side = 0 if head == ROOT else 1 if other > word else -1
            meetings[word].append((side, 1.0 / (other - word), index, role))
    offsets = [[0.0, 0.0] for _ in arcs]
    meetings.pop(ROOT, None)
    for found in meetings.values():
        for place, (_, _, index, role) in enumerate(sorted(found)):
            offsets[index][role] = spacing * (place - (len(found) - 1) / 2)
    return [(head, modifier) for head, modifier in offsets]


def bracket(place: Place, first: float, last: float, height: float, foot: float) -> str:
    """The path of an arc: away from the words, along them with round corners, and back.

    `foot` is how far from the words it ends, to leave room for an arrowhead.
    """
    corner = min(CORNER, abs(last - first) / 2, height)
    step = corner if last > first else -corner
    points = [
        ("M", [(first, 0.0)]),
        ("L", [(first, height - corner)]),
        ("Q", [(first, height), (first + step, height)]),
        ("L", [(last - step, height)]),
        ("Q", [(last, height), (last, height - corner)]),
        ("L", [(last, foot)]),
    ]
    return "".join(
        command + " ".join(",".join(map(number, place(*point))) for point in where)
        for command, where in points
    )


def arrowhead(place: Place, along: float, size: float) -> str:
    """The points of a triangle that ends at the word."""
    corners = (along, 0.0), (along - 0.5 * size, size), (along + 0.5 * size, size)
    return " ".join(",".join(map(number, place(*corner))) for corner in corners)
