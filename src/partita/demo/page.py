"""The report as one HTML page that needs nothing else: sections of text, tables and drawings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import NamedTuple

from partita.show.svg import Svg


class Html(NamedTuple):
    """Markup as it is."""

    text: str


@dataclass(frozen=True)
class Section:
    """A part of the report: what was done, what to see, what came out, and how to do the same."""

    name: str
    """For the address of the section, one word."""
    title: str
    what: str
    see: str
    """One sentence on what to see."""
    same: str
    """The command or the lines of Python that do the same."""
    blocks: Sequence[Html]
    headline: tuple[str, str]
    """The most telling number of the section, and what it is."""
    seconds: float = 0.0


@dataclass(frozen=True)
class DemoReport:
    """All sections, and the facts about the run."""

    title: str
    introduction: str
    sections: Sequence[Section]
    facts: dict[str, str] = field(default_factory=dict)

    def html(self) -> str:
        """The whole page."""
        style = files("partita.demo").joinpath("report.css").read_text(encoding="utf-8")
        body = "\n".join(map(_section, self.sections))
        facts = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
            for name, value in self.facts.items()
        )
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(self.title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{escape(self.title)}</h1>
<p class="lead">{escape(self.introduction)}</p>
</header>
{_contents(self.sections)}
<main>
{body}
</main>
<footer>
<h2>This run</h2>
<dl>{facts}</dl>
</footer>
</body>
</html>
"""


def paragraph(text: str) -> Html:
    """A paragraph of plain text."""
    return Html(f"<p>{escape(text)}</p>")


def figure(drawing: Svg, caption: str) -> Html:
    """A drawing with its caption; it can be moved sideways where the page is narrower."""
    # The browser can bring the focus here, so that the arrow keys move it, too.
    return Html(
        f'<figure><div class="drawing" tabindex="0" role="group" aria-label="{escape(caption)}">'
        f"{drawing.text}</div><figcaption>{escape(caption)}</figcaption></figure>"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str | Html]], caption: str = "") -> Html:
    """A table; columns of numbers stand to the right."""
    kinds = [_kind([row[column] for row in rows]) for column in range(len(header))]
    heads = "".join(
        f'<th scope="col"{kind}>{escape(cell)}</th>'
        for kind, cell in zip(kinds, header, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row">{_cell(first)}</th>'
        + "".join(
            f"<td{kind}>{_cell(cell)}</td>" for kind, cell in zip(kinds[1:], others, strict=True)
        )
        + "</tr>"
        for first, *others in rows
    )
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    return Html(
        f'<div class="table" tabindex="0"><table>{told}<thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def marked(words: Sequence[str], first: int, last: int) -> Html:
    """A sentence in which the words from `first` to `last` are marked."""
    parts = [
        " ".join(map(escape, words[:first])),
        f"<mark>{' '.join(map(escape, words[first : last + 1]))}</mark>",
        " ".join(map(escape, words[last + 1 :])),
    ]
    return Html(" ".join(filter(None, parts)))


def _cell(cell: str | Html) -> str:
    return cell.text if isinstance(cell, Html) else escape(cell)


def _kind(cells: Sequence[str | Html]) -> str:
    """Whether a column is numbers; a dash is where one is missing."""
    numbers = all(isinstance(cell, str) and cell[:1] in "-+0123456789.–" for cell in cells)
    return ' class="number"' if numbers and cells else ""


WORDS = re.compile(
    r"(?P<comment>#.*)|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<keyword>\b(?:import|from|as|for|in|if|else|lambda|True|False|None)\b|(?<!\w)--[\w-]+)"
)


def _code(text: str) -> str:
    """Blocks of Python and of commands, apart and coloured."""
    blocks: list[list[str]] = []
    for paragraph in text.split("\n\n"):
        is_shell = paragraph.startswith("partita ")
        if not blocks or is_shell:
            blocks.append(["Shell" if is_shell else "Python"])
        blocks[-1].append(paragraph)
    return "\n".join(
        f'<pre tabindex="0" aria-label="{name}"><code>{_coloured(chr(10).join(parts))}</code></pre>'
        for name, *parts in blocks
    )


def _coloured(code: str) -> str:
    parts, end = [], 0
    for found in WORDS.finditer(code):
        parts += [escape(code[end : found.start()]), f'<span class="{found.lastgroup}">']
        parts += [escape(found[0]), "</span>"]
        end = found.end()
    return "".join([*parts, escape(code[end:])])


def _contents(sections: Sequence[Section]) -> str:
    """The table of contents, which is the table of results."""
    rows = "".join(
        f'<li><a href="#{section.name}">{escape(section.title)}</a>'
        f'<span class="value">{escape(section.headline[0])}</span>'
        f'<span class="unit">{escape(section.headline[1])}</span></li>'
        for section in sections
    )
    return f'<nav aria-label="Contents"><ol>{rows}</ol></nav>'


def _section(section: Section) -> str:
    blocks = "\n".join(block.text for block in section.blocks)
    return f"""<section id="{section.name}">
<h2>{escape(section.title)}</h2>
<p>{escape(section.what)}</p>
<p class="see"><strong>What to see.</strong> {escape(section.see)}</p>
{blocks}
<h3>The same by hand</h3>
{_code(section.same)}
<p class="seconds">This section took {section.seconds:.1f} s.</p>
</section>"""
