"""The lattice of all tag sequences: what leads to one edge, or to words with fixed tags."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from partita.show.checks import checked_words
from partita.show.metrics import shortened, text_width
from partita.show.svg import Svg, element, line, number, picture, write

COLUMN, ROW, RADIUS, MARGIN = 92.0, 42.0, 8.0, 14.0
WORD_WIDTH, ARROW = 84.0, 7.0

Node = tuple[int, int]
"""(word, tag), both from 0."""


class Lattice(NamedTuple):
    """Words across and tags down."""

    words: list[str]
    tags: list[str]
    left: float

    def at(self, node: Node) -> tuple[float, float]:
        """The middle of a node."""
        word, tag = node
        return self.left + (word + 0.5) * COLUMN, MARGIN + (tag + 0.5) * ROW

    @property
    def width(self) -> float:
        """Up to the last word."""
        return self.left + len(self.words) * COLUMN + MARGIN

    @property
    def bottom(self) -> float:
        """Below the last tag."""
        return MARGIN + len(self.tags) * ROW


def trellis_edge(
    words: Sequence[Any],
    tags: Sequence[Any],
    word: int,
    left: int,
    right: int,
    *,
    title: str | None = None,
) -> Svg:
    """One edge of the trellis, from tag `left` of the word before `word` to tag `right` of it.

    Strong lines are in a sequence that uses the edge: those before it are summed by the forward
    message alpha, those behind it by the backward message beta, so that its probability is
    alpha(left) psi(left, right) beta(right) / Z. Words and tags count from 0; O(n s²) lines.

    >>> drawing = trellis_edge(["the", "dog", "barks"], ["DET", "NOUN", "VERB"], 1, 0, 1)
    >>> drawing.text.count('class="contrast-line"')
    1
    """
    lattice = _lattice(words, tags)
    names, tag_names = lattice.words, lattice.tags
    if not 1 <= word < len(names):
        raise ValueError(
            f"word is {word}; expected 1 to {len(names) - 1}: an edge leads from the word before."
        )
    _check_tags([left, right], len(tag_names))
    fixed = {word - 1: left, word: right}
    marks = [*_edges(lattice, fixed), *_nodes(lattice, fixed), *_names(lattice)]
    captions = [
        (word / 2, f"alpha({tag_names[left]})"),
        (word, "psi"),
        ((word + len(names)) / 2, f"beta({tag_names[right]})"),
    ]
    told = f"{tag_names[left]} at {names[word - 1]}, then {tag_names[right]} at {names[word]}"
    heading = title or f"The edge from {names[word - 1]} to {names[word]} in the trellis"
    return _finished(lattice, marks, captions, heading, told)


def constrained_trellis(
    words: Sequence[Any],
    tags: Sequence[Any],
    first: int,
    fixed: Sequence[int],
    *,
    title: str | None = None,
) -> Svg:
    """The partial lattice in which the words from `first` on have fixed tags.

    Arrows show which way the entropies of the rest are summed: from the first word up to the fixed
    ones, and from the last word back to them (Mann and McCallum 2007, figure 1).

    >>> drawing = constrained_trellis(list("abcdef"), ["X", "Y"], 2, [0, 1])
    >>> drawing.text.count('class="contrast"')
    2
    """
    lattice = _lattice(words, tags)
    last = first + len(fixed) - 1
    if not fixed or not 0 <= first <= last < len(lattice.words):
        raise ValueError(
            f"{len(fixed)} tags are fixed from word {first} on, of {len(lattice.words)} words; "
            "expected one tag or more, of words that are there, counting from 0."
        )
    _check_tags(fixed, len(lattice.tags))
    held = dict(enumerate(fixed, start=first))
    marks = [
        *_edges(lattice, held, arrows=True),
        *_nodes(lattice, held),
        *_names(lattice),
    ]
    middle = (first + last + 1) / 2
    captions = [(middle, "fixed")]
    captions += [(first / 2, "H alpha")] * (first > 0)
    captions += [((last + 1 + len(lattice.words)) / 2, "H beta")] * (last + 1 < len(lattice.words))
    told = ", ".join(f"{lattice.tags[tag]} at {lattice.words[word]}" for word, tag in held.items())
    heading = title or f"The lattice with {len(fixed)} of {len(lattice.words)} words fixed"
    return _finished(lattice, marks, captions, heading, f"Fixed: {told}")


def _lattice(words: Sequence[Any], tags: Sequence[Any]) -> Lattice:
    names, tag_names = checked_words("words", words), checked_words("tags", tags)
    widest = max(text_width(shortened(tag, WORD_WIDTH)) for tag in tag_names)
    return Lattice(names, tag_names, MARGIN + widest + 6)


def _check_tags(tags: Sequence[int], n_tags: int) -> None:
    for tag in tags:
        if not 0 <= tag < n_tags:
            raise ValueError(f"tag {tag} came; expected 0 to {n_tags - 1}.")


def _edges(lattice: Lattice, fixed: dict[int, int], *, arrows: bool = False) -> Iterator[str]:
    """All edges: faint if no sequence with the fixed tags has them, else strong."""
    strong: list[str] = []
    for word in range(1, len(lattice.words)):
        for before in range(len(lattice.tags)):
            for after in range(len(lattice.tags)):
                ends = (word - 1, before), (word, after)
                if any(fixed.get(place, tag) != tag for place, tag in ends):
                    yield line(*lattice.at(ends[0]), *lattice.at(ends[1]), "grid")
                    continue
                is_fixed = word - 1 in fixed and word in fixed
                ink, width = ("contrast", 3.0) if is_fixed else ("accent", 1.2)
                strong.append(line(*lattice.at(ends[0]), *lattice.at(ends[1]), ink, width))
                if arrows and not is_fixed:
                    backwards = word > max(fixed)
                    strong.append(_arrow(lattice, *(ends[::-1] if backwards else ends)))
    yield from strong


def _arrow(lattice: Lattice, start: Node, end: Node) -> str:
    """A small triangle where a line from start meets the node at its end."""
    (x1, y1), (x2, y2) = lattice.at(start), lattice.at(end)
    length = math.hypot(x2 - x1, y2 - y1)
    along, across = (
        ((x2 - x1) / length, (y2 - y1) / length),
        ((y1 - y2) / length, (x2 - x1) / length),
    )
    tip = x2 - RADIUS * along[0], y2 - RADIUS * along[1]
    back = tip[0] - ARROW * along[0], tip[1] - ARROW * along[1]
    points = [tip] + [
        (back[0] + side * ARROW / 2 * across[0], back[1] + side * ARROW / 2 * across[1])
        for side in (1, -1)
    ]
    text = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return element("polygon", points=text, class_="accent")


def _nodes(lattice: Lattice, fixed: dict[int, int]) -> Iterator[str]:
    for word, name in enumerate(lattice.words):
        for tag, tag_name in enumerate(lattice.tags):
            x, y = lattice.at((word, tag))
            is_out = fixed.get(word, tag) != tag
            ink = "contrast" if fixed.get(word) == tag else "paper"
            edge = "grid" if is_out else "contrast" if word in fixed else "accent"
            yield element(
                "circle", cx=x, cy=y, r=RADIUS, class_=f"{ink} {edge}-line"
                if ink == "paper" else ink, stroke_width=1.5, tip=f"{name}: {tag_name}",
            )  # fmt: skip


def _names(lattice: Lattice) -> Iterator[str]:
    for tag, name in enumerate(lattice.tags):
        _, y = lattice.at((0, tag))
        short = shortened(name, WORD_WIDTH)
        yield write(lattice.left - 6, y + 4, short, ink="quiet", anchor="end")
    for word, name in enumerate(lattice.words):
        x, _ = lattice.at((word, 0))
        short = shortened(name, WORD_WIDTH, 13)
        yield write(x, lattice.bottom + 16, short, anchor="middle", size=13)


def _finished(
    lattice: Lattice,
    marks: list[str],
    captions: Sequence[tuple[float, str]],
    heading: str,
    told: str,
) -> Svg:
    """The picture with captions below, each at a place counted in words."""
    for place, caption in captions:
        x = lattice.left + place * COLUMN
        marks.append(write(x, lattice.bottom + 38, caption, ink="quiet", anchor="middle"))
    return picture(lattice.width, lattice.bottom + 50, heading, marks, told)
