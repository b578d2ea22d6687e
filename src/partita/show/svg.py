"""Pictures as SVG text: the elements that all drawings are made of, and the ink they share.

Colours are classes, so that a picture turns with a viewer that prefers dark pages; it always paints
its own paper, so that it is readable wherever it stands.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from partita.files import atomic_writer

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"
# Name of a class -> its colour on light and on dark paper. One strong ink, one to contrast with it,
# greys for the rest; the others only tell curves apart, which also differ in their dashes.
COLOURS = {
    "paper": ("#ffffff", "#15171b"),
    "ink": ("#1d1d1f", "#e9e7e2"),
    "quiet": ("#66666b", "#a2a2a8"),
    "faint": ("#b4b4b0", "#5d6068"),
    "grid": ("#e4e4e0", "#2d3037"),
    "accent": ("#1f4f7d", "#84b5e6"),
    "contrast": ("#b4472a", "#ec9673"),
    "third": ("#4d7558", "#8fc29c"),
    "fourth": ("#8a6d1b", "#d3b565"),
    "fifth": ("#6b4f86", "#bda3d8"),
}
# What XML cannot hold, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Value = str | float | None


def _rules(column: int) -> str:
    return "".join(
        f".partita .{name}{{fill:{colours[column]}}}"
        f".partita .{name}-line{{stroke:{colours[column]}}}"
        for name, colours in COLOURS.items()
    )


STYLE = (
    f"{_rules(0)}.partita .halo{{stroke:#ffffff;stroke-width:4;paint-order:stroke;"
    "stroke-linejoin:round}"
    f"@media(prefers-color-scheme:dark){{{_rules(1)}.partita .halo{{stroke:#15171b}}}}"
)


@dataclass(frozen=True)
class Svg:
    """A picture: its SVG source, which a notebook shows and any browser opens.

    >>> picture(30, 20, "A line", [line(0, 10, 30, 10)]).text[:28]
    '<svg xmlns="http://www.w3.or'
    """

    text: str

    def _repr_svg_(self) -> str:
        return self.text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, which is replaced at once or not at all.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "empty.svg"
        >>> picture(10, 10, "nothing", []).save(path)
        >>> path.read_text().startswith("<svg")
        True
        """
        with atomic_writer(path) as file:
            file.write(self.text.encode("utf-8"))


def picture(
    width: float, height: float, title: str, marks: Iterable[str], description: str = ""
) -> Svg:
    """Marks on paper of this size; readers that cannot see it get title and description."""
    body = "\n".join(marks)
    told = element("title", clean(title)) + (
        element("desc", clean(description)) * bool(description)
    )
    paper = element("rect", width=width, height=height, class_="paper")
    size = f"{number(width)} {number(height)}"
    return Svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="partita" role="img" viewBox="0 0 {size}" '
        f'width="{number(width)}" height="{number(height)}" font-family="{FONT}" font-size="12">\n'
        f"{told}\n<style>{STYLE}</style>\n{paper}\n{body}\n</svg>\n"
    )


def element(name: str, content: str = "", *, tip: str = "", **attributes: Value) -> str:
    """One element; `content` is markup already, attributes that are None are left out.

    An underscore in a name stands for a hyphen, and `tip` is what a pointer over the element shows.

    >>> element("circle", r=2.50, stroke_width="<1>", tip="here")
    '<circle r="2.5" stroke-width="&lt;1&gt;"><title>here</title></circle>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = (element("title", clean(tip)) if tip else "") + content
    return f"<{name}{given}>{inside}</{name}>" if inside else f"<{name}{given}/>"


def line(x1: float, y1: float, x2: float, y2: float, ink: str = "ink", width: float = 1.0) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=f"{ink}-line", stroke_width=width)


def write(
    x: float,
    y: float,
    words: str,
    *,
    ink: str = "ink",
    anchor: str = "start",
    size: float = 12.0,
    turned: float = 0.0,
    halo: bool = False,
    weight: str | None = None,
    tip: str = "",
) -> str:
    """Text whose anchor (start, middle or end of its base line) is at (x, y), turned about it.

    A halo of paper keeps it readable on top of lines.
    """
    return element(
        "text",
        clean(words),
        x=x,
        y=y,
        class_=f"{ink} halo" if halo else ink,
        text_anchor=None if anchor == "start" else anchor,
        font_size=None if size == 12.0 else size,
        font_weight=weight,
        transform=f"rotate({number(turned)} {number(x)} {number(y)})" if turned else None,
        tip=tip,
    )


def number(value: float) -> str:
    """A coordinate with two decimals at most.

    >>> number(2.0), number(1 / 3), number(-0.001)
    ('2', '0.33', '0')
    """
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def clean(words: str) -> str:
    """Text escaped for XML; characters that XML cannot hold become U+FFFD.

    >>> clean("a < b &" + chr(0))
    'a &lt; b &amp;�'
    """
    return escape(_FORBIDDEN.sub("\ufffd", words))


def _attribute(value: str | float) -> str:
    return clean(value) if isinstance(value, str) else number(value)
