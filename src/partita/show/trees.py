"""A dependency tree, its arcs as thick as they are probable."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray
from partita.show.arc_layout import ROOT, Arc, Place, arrowhead, bracket, ends, levels
from partita.show.checks import (
    checked_heads,
    checked_names,
    checked_probabilities,
    checked_words,
)
from partita.show.metrics import percent, shortened, text_width
from partita.show.svg import Svg, element, number, picture, write

THICK, PLAIN = 4.0, 1.4
"""Width of an arc that is certain, and of one whose probability nobody gave."""
LIKELY = 0.05
"""Arcs that are not in the tree are drawn from this probability on."""
PAGE, MARGIN, WORD_WIDTH, GAP = 1040.0, 14.0, 190.0, 20.0
WORD_SIZE, SMALL = 15.0, 11.0
SLOT, STEP, ROW = 8.0, 25.0, 24.0
"""Distance between the ends of arcs, between levels, and between words that stand in rows."""


class TreeContent(NamedTuple):
    """What there is to draw."""

    words: list[str]
    tags: list[str] | None
    chosen: list[Arc]
    others: list[Arc]
    """Likely arcs outside the tree."""
    weighted: bool
    """Whether probabilities are known."""
    marked: frozenset[tuple[int, int]] = frozenset()
    """Arcs, as (head, modifier), with the contrasting ink."""


def tree(
    words: Sequence[str],
    heads: ArrayLike,
    *,
    labels: Sequence[str] | None = None,
    probabilities: ArrayLike | None = None,
    tags: Sequence[str] | None = None,
    marked: Iterable[tuple[int, int]] = (),
    title: str | None = None,
) -> Svg:
    """The tree above the words, each arc as thick as it is probable, and other likely arcs below.

    `heads` is (n,), the head of each word with 0 for the root; `probabilities` (n+1, n+1), indexed
    [head, modifier] as the marginals of `SpanningTree` are. Arcs outside the tree with a
    probability of 5 % or more are drawn faintly on the other side of the words. A sentence too
    wide for a page is written downwards instead, a word a line, with its arcs to the left. Arcs
    (head, modifier) that are `marked`, such as those that cross, have the contrasting ink.

    >>> drawing = tree(["John", "saw", "Mary"], [2, 0, 2], labels=["nsubj", "root", "obj"])
    >>> drawing.text.count("<path"), "nsubj" in drawing.text
    (3, True)
    """
    content = _content(words, heads, labels, probabilities, tags)
    content = content._replace(marked=frozenset(marked))
    centres, width = _columns(content)
    if width <= PAGE:
        width, height, marks = _across(content, centres, width)
    else:
        width, height, marks = _down(content)
    names = ["root", *content.words]
    told = ", ".join(
        f"{names[arc.head]} to {names[arc.modifier]}"
        + (f" {percent(arc.probability)}" if content.weighted else "")
        for arc in content.chosen
    )
    heading = title or f"Dependency tree of {len(content.words)} words"
    return picture(width, height, heading, marks, f"Arcs from head to modifier: {told}")


def trees(
    words: Sequence[str],
    all_heads: Iterable[ArrayLike],
    *,
    columns: int = 4,
    title: str | None = None,
) -> Svg:
    """Several trees of one sentence, side by side and in rows: all its parses, say.

    >>> drawing = trees(["John", "ran"], [[0, 1], [2, 0], [0, 0]])
    >>> drawing.text.count("<path")
    6
    """
    each = [_content(words, heads, None, None, None) for heads in all_heads]
    if not each or columns < 1:
        raise ValueError(f"{len(each)} trees came, in {columns} columns; expected one or more.")
    panels = [_across(content, *_columns(content)) for content in each]
    width = max(panel[0] for panel in panels) + GAP
    height = max(panel[1] for panel in panels) + GAP / 2
    marks = []
    for index, (_, own, inner) in enumerate(panels):
        # Words stand on one line in each row, however high the trees are.
        x, y = index % columns * width, index // columns * height + height - own
        place = f"translate({number(x)} {number(y)})"
        marks.append(element("g", "\n".join(inner), transform=place))
    n_columns, n_rows = min(columns, len(panels)), -(-len(panels) // columns)
    heads = "; ".join(" ".join(str(arc.head) for arc in content.chosen) for content in each)
    heading = title or f"{len(panels)} dependency trees of {len(each[0].words)} words"
    return picture(n_columns * width, n_rows * height, heading, marks, f"Heads: {heads}")


def _content(
    words: Sequence[str],
    heads: ArrayLike,
    labels: Sequence[str] | None,
    probabilities: ArrayLike | None,
    tags: Sequence[str] | None,
) -> TreeContent:
    names = checked_words("words", words)
    n = len(names)
    head_of = checked_heads(heads, n).tolist()
    label_of = checked_names("labels", labels, n) or [""] * n
    p = np.ones((n + 1, n + 1))
    others = []
    if probabilities is not None:
        p = checked_probabilities("probabilities", probabilities, (n + 1, n + 1))
        others = [
            Arc(int(head), int(modifier), float(p[head, modifier]))
            for head, modifier in zip(*np.nonzero(p >= LIKELY), strict=True)
            if modifier and head != modifier and head_of[modifier - 1] != head
        ]
        # As many as there are words: where everything is possible, more would be a tangle.
        others = sorted(others, key=lambda arc: -arc.probability)[:n]
    chosen = [
        Arc(head, index, float(p[head, index]), label)
        for index, (head, label) in enumerate(zip(head_of, label_of, strict=True), start=1)
    ]
    tag_names = checked_names("tags", tags, n)
    return TreeContent(names, tag_names, chosen, others, probabilities is not None)


def _caption(arc: Arc, weighted: bool) -> str:
    """What stands at an arc: its label, and its probability where that is not 1."""
    p = percent(arc.probability) if weighted else "1"
    return " ".join(filter(None, [arc.label, p * (p != "1")]))


def _columns(content: TreeContent) -> tuple[FloatArray, float]:
    """The middle of each word on one line, and how wide the line is."""
    n = len(content.words)
    half = np.zeros(n)
    for index, word in enumerate(content.words):
        tag = content.tags[index] if content.tags else ""
        wide = max(text_width(shortened(word, WORD_WIDTH), WORD_SIZE), text_width(tag, SMALL))
        half[index] = max(wide, _crowd(content, index + 1) * SLOT) / 2
    distances = half[:-1] + half[1:] + GAP
    for arc in content.chosen:
        low, high = arc.span
        if low and high == low + 1:
            caption = text_width(_caption(arc, content.weighted), SMALL) + 30
            distances[low - 1] = max(distances[low - 1], caption)
    first = MARGIN + max(half[0], text_width(_caption(content.chosen[0], content.weighted), SMALL))
    centres = first + np.concatenate([[0.0], np.cumsum(distances)])
    last = text_width(_caption(content.chosen[-1], content.weighted), SMALL)
    return centres, float(centres[-1] + max(half[-1], last) + MARGIN)


def _crowd(content: TreeContent, word: int) -> int:
    """How many arcs end at a word, on the fuller side of it."""
    return max(
        sum(word in (arc.head, arc.modifier) for arc in arcs)
        for arcs in (content.chosen, content.others)
    )


def _across(
    content: TreeContent, centres: FloatArray, width: float
) -> tuple[float, float, list[str]]:
    """Words on one line, the tree above, other arcs below."""
    above = MARGIN + 14 + STEP * max(levels(content.chosen))
    below = above + (46 if content.tags else 28)
    depth = STEP * 0.7 * max(levels(content.others)) + 8 if content.others else 0.0
    marks = _arcs(content, content.others, centres, STEP * 0.7, lambda x, up: (x, below + up))
    marks += _arcs(content, content.chosen, centres, STEP, lambda x, up: (x, above - up))
    for index, (word, x) in enumerate(zip(content.words, centres, strict=True)):
        name = shortened(word, WORD_WIDTH, WORD_SIZE)
        tip = word * (name != word)
        marks.append(write(x, above + 18, name, anchor="middle", size=WORD_SIZE, tip=tip))
        if content.tags:
            tag = content.tags[index]
            marks.append(write(x, above + 34, tag, ink="quiet", anchor="middle", size=SMALL))
    marks += _captions(content, centres, above)
    return width, below + depth + MARGIN, marks


def _captions(content: TreeContent, centres: FloatArray, above: float) -> Iterator[str]:
    """Labels and probabilities on the middle of their arcs, those of root arcs beside them."""
    offsets = ends(content.chosen, SLOT)
    for arc, level, (at_head, at_modifier) in zip(
        content.chosen, levels(content.chosen), offsets, strict=True
    ):
        caption = _caption(arc, content.weighted)
        if not caption:
            continue
        x, height = centres[arc.modifier - 1] + at_modifier, above - STEP * level
        if arc.head == ROOT:
            yield write(x + 7, height + 6, caption, ink="quiet", size=SMALL)
            continue
        middle = (x + centres[arc.head - 1] + at_head) / 2
        yield write(
            middle, height - 5, caption, ink="quiet", anchor="middle", size=SMALL, halo=True
        )


def _down(content: TreeContent) -> tuple[float, float, list[str]]:
    """A word a line with its tag, label and probability; the tree to the left."""
    rows: FloatArray = MARGIN + ROW * (np.arange(len(content.words), dtype=np.float64) + 0.5)
    step, slot = 13.0, ROW / max(5, *(_crowd(content, word + 1) for word in range(len(rows))))
    left = MARGIN + 10 + step * max(levels(content.chosen))
    columns = _cells(content)
    widths = [max(text_width(cell, size) for cell in cells) for cells, size in columns]
    starts = left + 8 + np.concatenate([[0.0], np.cumsum([width + 14 for width in widths])])
    right = float(starts[-1])
    depth = step * max(levels(content.others)) + 8 if content.others else 0.0
    marks = _arcs(content, content.others, rows, step, lambda y, out: (right + out, y), slot)
    marks += _arcs(content, content.chosen, rows, step, lambda y, out: (left - out, y), slot)
    for (cells, size), start in zip(columns, starts, strict=False):
        ink = "ink" if size == WORD_SIZE else "quiet"
        marks += [
            write(start, y + 4, cell, ink=ink, size=size)
            for cell, y in zip(cells, rows, strict=True)
            if cell
        ]
    return right + depth + MARGIN, float(rows[-1] + ROW / 2 + MARGIN), marks


def _cells(content: TreeContent) -> list[tuple[list[str], float]]:
    """The columns beside the tree, each with the size of its letters."""
    words = [shortened(word, 2 * WORD_WIDTH, WORD_SIZE) for word in content.words]
    captions = [_caption(arc, content.weighted) for arc in content.chosen]
    columns = [(words, WORD_SIZE), (content.tags or [], SMALL), (captions, SMALL)]
    return [(cells, size) for cells, size in columns if any(cells)]


def _arcs(
    content: TreeContent,
    arcs: Sequence[Arc],
    centres: FloatArray,
    step: float,
    place: Place,
    slot: float = SLOT,
) -> list[str]:
    """The lines and arrowheads of some arcs, unlikely ones first so that likely ones lie on top."""
    chosen = arcs is content.chosen
    names = ["root", *content.words]
    marks = []
    each = zip(arcs, levels(arcs), ends(arcs, slot), strict=True)
    for arc, level, (at_head, at_modifier) in sorted(each, key=lambda item: item[0].probability):
        width = THICK * arc.probability if content.weighted else PLAIN
        last = centres[arc.modifier - 1] + at_modifier
        first = last if arc.head == ROOT else centres[arc.head - 1] + at_head
        tip = f"{names[arc.head]} → {names[arc.modifier]} {arc.label}".rstrip()
        strong = "contrast" if (arc.head, arc.modifier) in content.marked else "accent"
        ink = strong if chosen else "faint"
        marks.append(
            element(
                "path",
                d=bracket(place, first, last, step * level, 6.0),
                class_=f"{ink}-line",
                fill="none",
                stroke_width=width,
                tip=f"{tip}, probability {arc.probability:.3f}" if content.weighted else tip,
            )
        )
        size = (6.0 if chosen else 4.0) + 0.8 * width
        marks.append(
            element(
                "polygon",
                points=arrowhead(place, last, size),
                class_=ink,
            )
        )
    return marks
