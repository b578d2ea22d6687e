"""Chu-Liu-Edmonds as pictures: the graph at every step, its best arcs and its cycles."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from partita.show.metrics import shortened, text_width
from partita.show.svg import Svg, element, number, picture, write

PANEL, MARGIN, RADIUS, TITLE = 310.0, 12.0, 17.0, 34.0
BEND, ARROW, NAME_WIDTH = 0.22, 8.0, 90.0

Point = tuple[float, float]


class GraphStep(NamedTuple):
    """A directed graph, and what is to be seen in it.

    >>> GraphStep("best arcs", ["root", "John"], [(0, 1, 10.0)], [(0, 1)], []).names
    ['root', 'John']
    """

    title: str
    names: list[str]
    """Of the nodes that there are, the root first."""
    arcs: list[tuple[int, int, float]]
    """(head, modifier, score), as places in `names`."""
    best: list[tuple[int, int]]
    """The arcs that were chosen."""
    cycle: list[int]
    """The nodes of a cycle among them, if there is one."""


def contraction(steps: Sequence[GraphStep], *, columns: int = 3, title: str | None = None) -> Svg:
    """The steps of Chu-Liu-Edmonds side by side: scores at the arcs, the best ones strong.

    `steps` is `contraction_trace(...).graphs` of `partita.baselines.contraction`. Nodes of a cycle
    have the contrasting ink; the next step shows them as one node. For a handful of words.

    >>> step = GraphStep(
    ...     "best arcs", ["root", "John", "saw"], [(0, 2, 10.0), (2, 1, 30.0)], [(2, 1)], []
    ... )
    >>> contraction([step]).text.count("<path")
    2
    """
    if not steps or columns < 1:
        raise ValueError(
            f"{len(steps)} steps came, in {columns} columns; expected one or more of each."
        )
    marks: list[str] = []
    for index, step in enumerate(steps):
        x, y = index % columns * PANEL, index // columns * PANEL
        inner = "\n".join(_panel(step))
        marks.append(element("g", inner, transform=f"translate({number(x)} {number(y)})"))
    n_columns, n_rows = min(columns, len(steps)), -(-len(steps) // columns)
    told = "; ".join(f"{index}: {step.title}" for index, step in enumerate(steps, start=1))
    heading = title or f"Chu-Liu-Edmonds in {len(steps)} steps"
    return picture(n_columns * PANEL, n_rows * PANEL, heading, marks, told)


def _panel(step: GraphStep) -> Iterator[str]:
    places = _places(len(step.names))
    title = shortened(step.title, PANEL - 2 * MARGIN, 13)
    yield write(MARGIN, 22, title, size=13, tip=step.title * (title != step.title))
    faint = [arc for arc in step.arcs if arc[:2] not in step.best]
    for head, modifier, score in faint:
        yield from _arc(places[head], places[modifier], score, "faint", 1.1)
    for head, modifier, score in step.arcs:
        if (head, modifier) in step.best:
            in_cycle = head in step.cycle and modifier in step.cycle
            ink = "contrast" if in_cycle else "accent"
            yield from _arc(places[head], places[modifier], score, ink, 2.4)
    for node, (name, (x, y)) in enumerate(zip(step.names, places, strict=True)):
        edge = "contrast" if node in step.cycle else "ink"
        short = shortened(name, NAME_WIDTH)
        wide = max(RADIUS, text_width(short, 12) / 2 + 6)
        yield element(
            "ellipse", cx=x, cy=y, rx=wide, ry=RADIUS, class_=f"paper {edge}-line", stroke_width=1.5
        )
        yield write(x, y + 4, short, anchor="middle", tip=name * (short != name))


def _places(n_nodes: int) -> list[Point]:
    """The root at the top, the others from left to right on the lower half of an ellipse."""
    middle, half = PANEL / 2, PANEL / 2 - MARGIN - 20
    found = [(middle, TITLE + 30.0)]
    for index in range(n_nodes - 1):
        angle = math.pi * (1.0 - (index + 0.5) / max(n_nodes - 1, 1))
        found.append((middle + half * math.cos(angle), 140 + 125 * math.sin(angle)))
    return found


def _arc(start: Point, end: Point, score: float, ink: str, width: float) -> Iterator[str]:
    """A bent line with an arrowhead, and its score in the middle of it."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    # Bent to the right of the way, so that an arc and its opposite do not lie on each other.
    bend = start[0] + dx / 2 - BEND * dy, start[1] + dy / 2 + BEND * dx
    way = end[0] - bend[0], end[1] - bend[1]
    reach = math.hypot(*way)
    stop = RADIUS + 6 + 10 * abs(way[0]) / reach
    along = way[0] / reach, way[1] / reach
    tip = end[0] - stop * along[0], end[1] - stop * along[1]
    back = tip[0] - ARROW * along[0], tip[1] - ARROW * along[1]
    path = f"M{_point(start)}Q{_point(bend)} {_point(back)}"
    yield element("path", d=path, class_=f"{ink}-line", fill="none", stroke_width=width)
    wings = [
        (back[0] - side * ARROW / 2 * along[1], back[1] + side * ARROW / 2 * along[0])
        for side in (1, -1)
    ]
    yield element("polygon", points=" ".join(map(_point, [tip, *wings])), class_=ink)
    label = (start[0] + 2 * bend[0] + end[0]) / 4, (start[1] + 2 * bend[1] + end[1]) / 4
    text_ink = "quiet" if ink == "faint" else ink
    if length > 0:
        yield write(
            label[0], label[1] + 4, f"{score:g}", ink=text_ink, anchor="middle", size=11, halo=True
        )


def _point(point: Point) -> str:
    return f"{number(point[0])},{number(point[1])}"
