"""What a notebook shows of a distribution."""

from collections.abc import Callable, Sequence
from html import escape

from partita.show.svg import Svg

FEW = 3
"""Sentences of a batch that are drawn."""
MOST_WORDS = 80
"""Longer sentences are not drawn, or only so far: nobody would read them."""


def notebook_html(name: str, facts: Sequence[str], draw: Callable[[int], Sequence[Svg]]) -> str:
    """A line of facts above the drawings of each of the first sentences, as HTML.

    `facts` has one text per sentence, and `draw` gives the drawings of one.

    >>> print(notebook_html("LinearChain", ["1 word"], lambda sentence: []))
    <div><p><b>LinearChain</b>: 1 word</p>
    </div>
    """
    blocks = []
    for sentence, fact in enumerate(facts[:FEW]):
        title = name if len(facts) == 1 else f"{name}, sentence {sentence} of {len(facts)}"
        drawings = "\n".join(drawing.text for drawing in draw(sentence))
        blocks.append(f"<p><b>{escape(title)}</b>: {escape(fact)}</p>\n{drawings}")
    if len(facts) > FEW:
        blocks.append(f"<p>and {len(facts) - FEW} more sentences</p>\n")
    return f"<div>{''.join(blocks)}</div>"
