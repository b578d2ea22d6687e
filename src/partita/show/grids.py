"""Grids of two sentences: alignments, and the probabilities of arcs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray
from partita.show.checks import checked_probabilities, checked_words
from partita.show.metrics import percent, shortened, text_width
from partita.show.svg import Svg, element, line, picture, write

MARGIN, WORD_WIDTH, SIZE = 12.0, 140.0, 13.0
TILT = -55.0
"""Angle of the words above the columns."""
VISIBLE = 0.005

Link = tuple[int, int]


class Grid(NamedTuple):
    """Words beside the rows and above the columns, and where the cells are."""

    rows: list[str]
    columns: list[str]
    left: float
    top: float
    cell: float

    @property
    def width(self) -> float:
        """Room for the last tilted word included."""
        last = _label_width(self.columns[-1]) * np.cos(np.radians(TILT))
        return self.left + self.cell * len(self.columns) + max(MARGIN, float(last))

    @property
    def height(self) -> float:
        """Up to the last row."""
        return self.top + self.cell * len(self.rows) + MARGIN


def alignment(
    source: Sequence[str],
    target: Sequence[str],
    links: Iterable[Link],
    *,
    sure: Iterable[Link] | None = None,
    possible: Iterable[Link] | None = None,
    probabilities: ArrayLike | None = None,
    title: str | None = None,
) -> Svg:
    """A row for each source word, a column for each target word, and a disc for each link (i, j).

    The gold alignment, if given, is drawn around the discs: a square for a sure link, a dashed one
    for a possible link. `probabilities`, (n_source, n_target), shades the cells.

    >>> drawing = alignment(["das", "Haus"], ["the", "house"], [(0, 0), (1, 1)], sure=[(0, 0)])
    >>> drawing.text.count("<circle"), drawing.text.count('class="contrast-line"')
    (2, 1)
    """
    grid = _grid(checked_words("source", source), checked_words("target", target))
    shape = len(grid.rows), len(grid.columns)
    found = _checked_links("links", links, shape)
    certain = _checked_links("sure", sure or (), shape)
    maybe = [
        each for each in _checked_links("possible", possible or (), shape) if each not in certain
    ]
    p = None
    marks: list[str] = []
    if probabilities is not None:
        p = checked_probabilities("probabilities", probabilities, shape)
        marks += _shades(grid, p)
    marks += _lines(grid)
    marks += _squares(grid, certain, None)
    marks += _squares(grid, maybe, "3 2")
    marks += _discs(grid, found, p)
    told = ", ".join(f"{grid.rows[i]} with {grid.columns[j]}" for i, j in found)
    heading = title or f"Alignment of {shape[0]} words with {shape[1]}"
    return picture(grid.width, grid.height, heading, marks, f"Linked: {told or 'nothing'}")


def arcs(
    words: Sequence[str],
    marginals: ArrayLike,
    *,
    heads: ArrayLike | None = None,
    title: str | None = None,
) -> Svg:
    """How probable each arc is: heads down (the root first), modifiers across.

    `marginals` is (n+1, n+1), as `SpanningTree` gives them; each column sums to 1. The tree in
    `heads`, if given, is marked by squares.

    >>> p = np.array([[0.0, 0.25, 1.0], [0.0, 0.0, 0.0], [0.0, 0.75, 0.0]])
    >>> arcs(["John", "ran"], p).text.count('class="accent"')
    3
    """
    names = checked_words("words", words)
    n = len(names)
    p = checked_probabilities("marginals", marginals, (n + 1, n + 1))
    grid = _grid(["root", *names], names)
    # The root modifies nothing.
    marks = [*_shades(grid, p[:, 1:]), *_lines(grid)]
    if grid.cell >= 20:
        marks += _numbers(grid, p[:, 1:])
    if heads is not None:
        marks += _squares(grid, [(int(h), m) for m, h in enumerate(np.asarray(heads))], None)
    best = ", ".join(f"{grid.rows[h]} to {names[m]}" for m, h in enumerate(p[:, 1:].argmax(axis=0)))
    heading = title or f"Probability of each arc between {n} words"
    return picture(grid.width, grid.height, heading, marks, f"Likeliest heads: {best}")


def draw_grid(grid: Grid, links: Iterable[Link]) -> Iterator[str]:
    """Lines, words and the discs of links, for pictures that put more on the grid."""
    yield from _lines(grid)
    yield from _discs(grid, links, None)


def grid_of(rows: list[str], columns: list[str]) -> Grid:
    """Where the cells of two sentences are."""
    return _grid(rows, columns)


def _grid(rows: list[str], columns: list[str]) -> Grid:
    cell = float(np.clip(900.0 / max(len(rows), len(columns)), 15.0, 30.0))
    left = MARGIN + max(map(_label_width, rows)) + 8
    top = MARGIN + max(map(_label_width, columns)) * np.sin(np.radians(-TILT)) + 14
    return Grid(rows, columns, left, float(top), cell)


def _label_width(word: str) -> float:
    return text_width(shortened(word, WORD_WIDTH, SIZE), SIZE)


def _lines(grid: Grid) -> Iterator[str]:
    """Thin lines between the cells, and the words."""
    right = grid.left + grid.cell * len(grid.columns)
    bottom = grid.top + grid.cell * len(grid.rows)
    for i in range(len(grid.rows) + 1):
        y = grid.top + i * grid.cell
        yield line(grid.left, y, right, y, "grid")
    for j in range(len(grid.columns) + 1):
        x = grid.left + j * grid.cell
        yield line(x, grid.top, x, bottom, "grid")
    for i, word in enumerate(grid.rows):
        name = shortened(word, WORD_WIDTH, SIZE)
        y = grid.top + (i + 0.5) * grid.cell + 4.5
        yield write(grid.left - 8, y, name, anchor="end", size=SIZE, tip=word * (name != word))
    for j, word in enumerate(grid.columns):
        name = shortened(word, WORD_WIDTH, SIZE)
        x = grid.left + (j + 0.5) * grid.cell + 3
        yield write(x, grid.top - 7, name, size=SIZE, turned=TILT, tip=word * (name != word))


def _shades(grid: Grid, p: FloatArray) -> Iterator[str]:
    for i, j in zip(*np.nonzero(p >= VISIBLE), strict=True):
        yield element(
            "rect",
            x=grid.left + j * grid.cell,
            y=grid.top + i * grid.cell,
            width=grid.cell,
            height=grid.cell,
            class_="accent",
            fill_opacity=float(p[i, j]) * 0.85,
            tip=f"{grid.rows[i]} – {grid.columns[j]}: {p[i, j]:.3f}",
        )


def _numbers(grid: Grid, p: FloatArray) -> Iterator[str]:
    for i, j in zip(*np.nonzero(p >= 0.05), strict=True):
        x, y = grid.left + (j + 0.5) * grid.cell, grid.top + (i + 0.5) * grid.cell + 3.5
        ink = "paper" if p[i, j] > 0.75 else "ink"
        yield write(x, y, percent(p[i, j]), ink=ink, anchor="middle", size=10)


def _squares(grid: Grid, links: Iterable[Link], dashes: str | None) -> Iterator[str]:
    for i, j in links:
        yield element(
            "rect",
            x=grid.left + j * grid.cell + 2,
            y=grid.top + i * grid.cell + 2,
            width=grid.cell - 4,
            height=grid.cell - 4,
            fill="none",
            class_="contrast-line",
            stroke_width=1.5,
            stroke_dasharray=dashes,
        )


def _discs(grid: Grid, links: Iterable[Link], p: FloatArray | None) -> Iterator[str]:
    for i, j in links:
        told = "" if p is None else f": {p[i, j]:.3f}"
        yield element(
            "circle",
            cx=grid.left + (j + 0.5) * grid.cell,
            cy=grid.top + (i + 0.5) * grid.cell,
            r=grid.cell * 0.22,
            class_="ink",
            tip=f"{grid.rows[i]} – {grid.columns[j]}{told}",
        )


def _checked_links(name: str, links: Iterable[Link], shape: tuple[int, int]) -> list[Link]:
    found = sorted({(int(i), int(j)) for i, j in links})
    for i, j in found:
        if not (0 <= i < shape[0] and 0 <= j < shape[1]):
            raise ValueError(
                f"{name} has the link {i}-{j} between {shape[0]} and {shape[1]} words; expected "
                "numbers of words that are there, counting from 0."
            )
    return found
