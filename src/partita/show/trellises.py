"""The trellis: how probable each tag is at each word."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray
from partita.show.checks import checked_probabilities, checked_words
from partita.show.metrics import percent, shortened, text_width
from partita.show.svg import Svg, element, line, picture, write

PAGE, ROW, RADIUS, TRANSITION = 880.0, 25.0, 9.5, 6.0
"""Widest line, height of a tag, radius of a certain tag, width of a certain transition."""
WORD_WIDTH, MARGIN = 104.0, 12.0
MANY_TAGS, RARE = 16, 0.01
"""With more tags than this, those that are everywhere less likely than this are left out."""
VISIBLE = 0.002


class TrellisContent(NamedTuple):
    """What there is to draw, of the whole sentence or of one line of it."""

    words: list[str]
    tags: list[str]
    marginals: FloatArray
    transitions: FloatArray
    """Of neighbouring tags; (n-1, 0, 0) where there are none to draw."""


def trellis(
    words: Sequence[Any],
    tags: Sequence[Any],
    marginals: ArrayLike,
    *,
    transitions: ArrayLike | None = None,
    title: str | None = None,
) -> Svg:
    """Words across, tags down, and discs whose area is the probability of the tag at the word.

    `marginals` is (n, s), and `transitions` (n-1, s, s), if given, draws the probability of each
    pair of neighbouring tags as the width of the line between them. The likeliest tag of a word
    has the strong ink, and its probability stands below the word. Long sentences are broken into
    several lines; O(n s) elements, O(n s²) with transitions.

    >>> drawing = trellis(["fish", "swim"], ["NOUN", "VERB"], [[0.9, 0.1], [0.25, 0.75]])
    >>> drawing.text.count("<circle")
    4
    """
    names, tag_names = checked_words("words", words), checked_words("tags", tags)
    n, s = len(names), len(tag_names)
    p = checked_probabilities("marginals", marginals, (n, s))
    kept = _kept(p)
    pairs = np.zeros((n - 1, 0, 0))
    if transitions is not None:
        pairs = checked_probabilities("transitions", transitions, (n - 1, s, s))
        pairs = pairs[:, kept][:, :, kept]
    content = TrellisContent(names, [tag_names[tag] for tag in kept], p[:, kept], pairs)
    width, height, marks = _systems(content)
    if len(kept) < s:
        note = f"{s - len(kept)} tags are nowhere above {RARE:.0%} and left out"
        marks.append(write(MARGIN, height + 10, note, ink="quiet", size=11))
        width, height = max(width, 2 * MARGIN + text_width(note, 11)), height + 16
    best = ", ".join(
        f"{word} {tag_names[row.argmax()]} {percent(row.max())}"
        for word, row in zip(names, p, strict=True)
    )
    heading = title or f"Probability of each tag at each of {n} words"
    return picture(width, height, heading, marks, f"Likeliest tags: {best}")


def _systems(content: TrellisContent) -> tuple[float, float, list[str]]:
    """Width, height and marks of the lines into which the sentence is broken, one below another."""
    words, tags, p, pairs = content
    left = MARGIN + max(text_width(shortened(tag, WORD_WIDTH)) for tag in tags) + 10
    widths = np.array(
        [max(2 * RADIUS + 12, text_width(shortened(w, WORD_WIDTH, 13), 13) + 10) for w in words]
    )
    lines = _lines(widths.tolist(), PAGE - left - MARGIN)
    height = ROW * len(tags) + 58
    marks: list[str] = []
    for index, (first, last) in enumerate(lines):
        wide = widths[first:last]
        x: FloatArray = left + np.cumsum(wide) - wide / 2
        y: FloatArray = MARGIN + index * height + ROW * (np.arange(len(tags), dtype=float) + 0.5)
        part = TrellisContent(words[first:last], tags, p[first:last], pairs[first : last - 1])
        marks += [*_frame(part, x, y, left), *_transitions(part, x, y), *_discs(part, x, y)]
    widest = max(float(widths[first:last].sum()) for first, last in lines)
    return left + widest + MARGIN, len(lines) * height, marks


def _kept(p: FloatArray) -> IntArray:
    """The tags to draw: all, unless there are many and most of them play no part."""
    everything = np.arange(p.shape[1])
    if len(everything) <= MANY_TAGS:
        return everything
    likely: IntArray = np.flatnonzero(p.max(axis=0) >= RARE)
    return likely


def _lines(widths: Sequence[float], room: float) -> list[tuple[int, int]]:
    """The first word of each line and the one behind its last, so that each fits into `room`."""
    lines, first, used = [], 0, 0.0
    for index, width in enumerate(widths):
        if used + width > room and index > first:
            lines.append((first, index))
            first, used = index, 0.0
        used += width
    return [*lines, (first, len(widths))]


def _frame(content: TrellisContent, x: FloatArray, y: FloatArray, left: float) -> Iterator[str]:
    """A thin line and a name for every tag; the words below, each with its best probability."""
    for tag, height in zip(content.tags, y, strict=True):
        yield line(left, height, x[-1] + RADIUS + 4, height, "grid")
        name = shortened(tag, WORD_WIDTH)
        yield write(left - 8, height + 4, name, ink="quiet", anchor="end", tip=tag * (name != tag))
    bottom = y[-1] + ROW / 2
    for word, place, row in zip(content.words, x, content.marginals, strict=True):
        name = shortened(word, WORD_WIDTH, 13)
        tip = word * (name != word)
        yield write(place, bottom + 16, name, anchor="middle", size=13, tip=tip)
        yield write(place, bottom + 31, percent(row.max()), ink="quiet", anchor="middle", size=11)


def _transitions(content: TrellisContent, x: FloatArray, y: FloatArray) -> Iterator[str]:
    pairs = content.transitions
    for i, before, after in zip(*np.nonzero(pairs >= RARE), strict=True):
        width = TRANSITION * pairs[i, before, after]
        yield line(x[i], y[before], x[i + 1], y[after], "faint", width)


def _discs(content: TrellisContent, x: FloatArray, y: FloatArray) -> Iterator[str]:
    p = content.marginals
    best = p.argmax(axis=1)
    for i, tag in zip(*np.nonzero(p >= VISIBLE), strict=True):
        yield element(
            "circle",
            cx=x[i],
            cy=y[tag],
            r=RADIUS * np.sqrt(p[i, tag]),
            class_="accent" if tag == best[i] else "quiet",
            tip=f"{content.words[i]}: {content.tags[tag]} {p[i, tag]:.3f}",
        )
