"""What a notebook shows of sentences: their columns, and the tree where there is one."""

from collections.abc import Iterable, Sequence
from html import escape

from partita import show
from partita.data.sentences import Sentence

FEW = 3
"""Sentences of a document that are shown."""
MOST_WORDS = 80
"""Longer sentences are not drawn."""


def html(sentence: Sentence) -> str:
    """A table, a row for each word; above it the tree, if every word has a head.

    >>> html(Sentence({"FORM": ("dogs",)}))
    '<table><tr><th>FORM</th></tr><tr><td>dogs</td></tr></table>'
    """
    rows = zip(*sentence.columns.values(), strict=True)
    table = f"<table>{_row(sentence.names, 'th')}{''.join(_row(row, 'td') for row in rows)}</table>"
    return tree(sentence) + table


def document_html(description: str, sentences: Sequence[Sentence]) -> str:
    """What was read, and the first sentences."""
    shown = "".join(html(each) for each in sentences[:FEW])
    more = f"<p>and {len(sentences) - FEW:,} more</p>" if len(sentences) > FEW else ""
    return f"<p>{escape(description)}</p>{shown}{more}"


def tree(sentence: Sentence) -> str:
    """The tree of a sentence as SVG; nothing where it has none."""
    heads = sentence.columns.get("HEAD", ())
    n_words = len(sentence)
    if not heads or n_words > MOST_WORDS or "FORM" not in sentence.names:
        return ""
    if not all(head.isascii() and head.isdigit() and int(head) <= n_words for head in heads):
        return ""
    labels = sentence.columns.get("DEPREL")
    drawing = show.tree(
        sentence.column("FORM"),
        [int(head) for head in heads],
        labels=labels,
        tags=sentence.columns.get("UPOS"),
    )
    return drawing.text


def _row(cells: Iterable[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
