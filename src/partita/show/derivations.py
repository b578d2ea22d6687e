"""A derivation of an inversion transduction grammar: a pair of trees, and boxes on a grid."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from partita.show.checks import checked_words
from partita.show.grids import Grid, draw_grid, grid_of
from partita.show.metrics import shortened, text_width
from partita.show.svg import Svg, element, line, picture, write

MARGIN, STEP, GAP, BETWEEN, WORD_WIDTH, SIZE = 16.0, 26.0, 22.0, 74.0, 130.0, 14.0
STRAIGHT, INVERTED = "straight", "inverted"


class Constituent(NamedTuple):
    """A node of a derivation: the words that it spans on both sides, and what it is made of."""

    source: tuple[int, int]
    """First word and the one behind the last."""
    target: tuple[int, int]
    rule: str
    """"straight", "inverted", or "" for a leaf."""
    children: tuple["Constituent", ...]

    @property
    def height(self) -> int:
        """Levels below it."""
        return 1 + max(child.height for child in self.children) if self.children else 0


def derivation(
    source: Sequence[Any], target: Sequence[Any], tree: Any, *, title: str | None = None
) -> Svg:
    """The two trees of a derivation: source words above, target words below, links between.

    `tree` is nested: ("straight", left, right), ("inverted", left, right), a link (i, j), (i, None)
    for a source word without a partner, (None, j) for a target word without one; `Forest.tree_of`
    gives it. Both trees have the same nodes; those of inverted rules have the contrasting ink, and
    exchange their children below.

    >>> tree = ("inverted", (0, 1), (1, 0))
    >>> derivation(["a", "b"], ["B", "A"], tree).text.count('class="contrast"')
    2
    """
    words, others = checked_words("source", source), checked_words("target", target)
    top = _constituents(tree, len(words), len(others))
    above, below = _columns(words), _columns(others)
    # The narrower sentence stands in the middle of the wider one.
    shift = (above[-1] - below[-1]) / 2
    above = [x - min(shift, 0.0) for x in above]
    below = [x + max(shift, 0.0) for x in below]
    upper = MARGIN + STEP * top.height + 10
    lower = upper + 34 + BETWEEN
    marks = list(_links(top, above, below, upper + 26, lower - 14))
    marks += _tree(top, "source", above, upper, -1.0)
    marks += _tree(top, "target", below, lower + 8, 1.0)
    for names, places, y in ((words, above, upper + 18), (others, below, lower)):
        for name, x in zip(names, places, strict=False):
            short = shortened(name, WORD_WIDTH, SIZE)
            marks.append(write(x, y, short, anchor="middle", size=SIZE, tip=name * (short != name)))
    width = max(above[-1], below[-1]) + MARGIN
    height = lower + 8 + STEP * top.height + MARGIN
    heading = title or f"A derivation of {len(words)} words with {len(others)}"
    return picture(width, height, heading, marks, _told(top, words, others))


def derivation_grid(
    source: Sequence[Any], target: Sequence[Any], tree: Any, *, title: str | None = None
) -> Svg:
    """The same derivation on the grid of an alignment: a disc for each link, a box for each rule.

    Boxes of straight rules have the strong ink, those of inverted ones the contrasting one. See
    `derivation` for the arguments.

    >>> tree = ("inverted", (0, 1), (1, 0))
    >>> derivation_grid(["a", "b"], ["B", "A"], tree).text.count("<circle")
    2
    """
    words, others = checked_words("source", source), checked_words("target", target)
    top = _constituents(tree, len(words), len(others))
    grid = grid_of(words, others)
    links = [(leaf.source[0], leaf.target[0]) for leaf in _leaves(top) if _is_link(leaf)]
    marks = [*_boxes(grid, top), *draw_grid(grid, links)]
    heading = title or f"A derivation of {len(words)} words with {len(others)} as boxes"
    return picture(grid.width, grid.height, heading, marks, _told(top, words, others))


# ------------------------------------------------------------------ the tree


def _constituents(tree: Any, n_source: int, n_target: int) -> Constituent:
    """The nested tuples as constituents; every word must be in it, once."""
    top = _constituent(tree)
    leaves = list(_leaves(top))
    for side, n in (("source", n_source), ("target", n_target)):
        spans = [getattr(leaf, side) for leaf in leaves]
        found = sorted(first for first, end in spans if end > first)
        if found != list(range(n)):
            raise ValueError(
                f"the leaves have the {side} words {found}; expected each of 0 to {n - 1} once."
            )
    return top


def _constituent(tree: Any) -> Constituent:
    if len(tree) == 2:
        i, j = tree
        source = (i, i + 1) if i is not None else (-1, -1)
        target = (j, j + 1) if j is not None else (-1, -1)
        return Constituent(source, target, "", ())
    rule, left, right = tree
    if rule not in (STRAIGHT, INVERTED):
        raise ValueError(f"a rule is {rule!r}; expected 'straight' or 'inverted'.")
    children = _constituent(left), _constituent(right)
    spans = []
    for side, order in (
        ("source", children),
        ("target", children[:: -1 if rule == INVERTED else 1]),
    ):
        full = [getattr(child, side) for child in order if getattr(child, side)[1] >= 0]
        if any(one[1] != other[0] for one, other in zip(full, full[1:], strict=False)):
            raise ValueError(
                f"a rule joins the {side} spans {full}, which are no neighbours in this order; "
                "expected the second to begin where the first ends."
            )
        spans.append((full[0][0], full[-1][1]) if full else (-1, -1))
    return Constituent(spans[0], spans[1], rule, children)


def _leaves(node: Constituent) -> Iterator[Constituent]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _leaves(child)


def _is_link(leaf: Constituent) -> bool:
    return leaf.source[1] >= 0 and leaf.target[1] >= 0


def _told(top: Constituent, words: list[str], others: list[str]) -> str:
    links = [leaf for leaf in _leaves(top) if _is_link(leaf)]
    told = ", ".join(f"{words[leaf.source[0]]} with {others[leaf.target[0]]}" for leaf in links)
    return f"Linked: {told or 'nothing'}"


# ------------------------------------------------------------------ the pair of trees


def _columns(words: list[str]) -> list[float]:
    """The middle of each word, and the end of the line."""
    places, x = [], MARGIN
    for word in words:
        wide = max(text_width(shortened(word, WORD_WIDTH, SIZE), SIZE), 18.0)
        places.append(x + wide / 2)
        x += wide + GAP
    return [*places, x - GAP]


def _tree(
    top: Constituent, side: str, places: list[float], base: float, up: float
) -> Iterator[str]:
    """One tree: away from the words in the direction `up`; what has no words there is left out."""
    for node in _nodes(top):
        first, end = getattr(node, side)
        if not node.children or end < 0:
            continue
        x, y = _middle(node, side, places), base + up * STEP * node.height
        ink = "contrast" if node.rule == INVERTED else "accent"
        for child in node.children:
            if getattr(child, side)[1] >= 0:
                below = base + up * STEP * child.height
                yield line(x, y, _middle(child, side, places), below, ink, 1.6)
        yield element("circle", cx=x, cy=y, r=4.0, class_=ink, tip=f"{node.rule} rule")


def _nodes(node: Constituent) -> Iterator[Constituent]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _middle(node: Constituent, side: str, places: list[float]) -> float:
    first, end = node.source if side == "source" else node.target
    return (places[first] + places[end - 1]) / 2


def _links(
    top: Constituent, above: list[float], below: list[float], upper: float, lower: float
) -> Iterator[str]:
    for leaf in _leaves(top):
        if _is_link(leaf):
            yield line(above[leaf.source[0]], upper, below[leaf.target[0]], lower, "faint", 1.4)


# ------------------------------------------------------------------ boxes


def _boxes(grid: Grid, top: Constituent) -> Iterator[str]:
    """A box for each rule that has words on both sides; inner ones are a little smaller."""

    def visit(node: Constituent, depth: int) -> Iterator[str]:
        if node.children and node.source[1] >= 0 and node.target[1] >= 0:
            inset = 1.5 + 2.0 * depth
            (first, end), (start, stop) = node.source, node.target
            yield element(
                "rect",
                x=grid.left + start * grid.cell + inset,
                y=grid.top + first * grid.cell + inset,
                width=(stop - start) * grid.cell - 2 * inset,
                height=(end - first) * grid.cell - 2 * inset,
                fill="none",
                class_="contrast-line" if node.rule == INVERTED else "accent-line",
                stroke_width=1.5,
                tip=f"{node.rule} rule",
            )
        for child in node.children:
            yield from visit(child, depth + 1)

    return visit(top, 0)
