"""The best spanning tree, against contracting cycle by cycle."""

import numpy as np

from partita.arrays import FloatArray
from partita.baselines.contraction import contraction_trace
from partita.demo.page import Section
from partita.demo.settings import Settings
from partita.demo.timing import Method, compare, exponent, in_print, plots
from partita.distribution.spanning_tree import SpanningTree

FAST, CONTRACTION = "Partita, O(n²)", "contraction, O(n³)"


def section(settings: Settings) -> Section:
    """The same tree in two ways, at growing lengths."""
    sizes = (8, 16, 32) if settings.quick else (10, 20, 40, 80, 160, 320, 640)
    longest = min(40, sizes[-1])
    times, worst = compare(methods(), {FAST: sizes[-1], CONTRACTION: longest}, sizes)
    factor = times[CONTRACTION][longest] / times[FAST][longest]
    settings.say(
        f"The best tree of {longest} words with cycles in cycles takes "
        f"{in_print(times[FAST][longest])}, by contraction {in_print(times[CONTRACTION][longest])}."
    )
    return Section(
        name="best-tree",
        title="The best tree in quadratic time",
        what=(
            "The best spanning tree of scores that are as bad as can be: the best arcs of the "
            "first two words make a cycle, which makes one with the third word, and so on, so that "
            "as many cycles as words are contracted. Chu-Liu-Edmonds as it is taught copies the "
            "graph for each of them; the library keeps, of each contracted node, the best arc to "
            "every other, and never looks at an arc more than a few times."
        ),
        see=(
            f"At {longest} words the library is {factor:,.0f} times as fast. Contraction grows as "
            f"words to the power of {exponent(times[CONTRACTION]):.1f}, the library to the power "
            f"of {exponent(times[FAST]):.1f}. Their scores differ by {worst:.0e}."
        ),
        same=(
            "import numpy as np\nimport partita as pt\n"
            "from partita.baselines.contraction import contraction_trace\n\n"
            "arcs = -np.maximum.outer(np.arange(7.0), np.arange(7.0))\n"
            "arcs[0] = -12.0\n"
            "pt.SpanningTree(arcs).argmax\n"
            "print(contraction_trace(arcs))  # step by step"
        ),
        blocks=plots(times, "Time of the best tree"),
        headline=(f"{factor:,.0f} ×", f"as fast as contraction at {longest} words"),
    )


def nested_cycles(n_words: int) -> FloatArray:
    """Arc scores whose best arcs have a cycle in each other: n - 1 contractions of two nodes each.

    s(h, m) = -max(h, m): the first two words are each other's best head, what they become and the
    third word are, and so on; the root is worse than all of it.
    """
    places = np.arange(n_words + 1.0)
    arcs: FloatArray = -np.maximum.outer(places, places)
    arcs[0] = -2.0 * n_words
    return arcs


def methods() -> dict[str, Method]:
    """The ways, as functions of the number of words; they give the score of the best tree."""

    def fast(n_words: int) -> FloatArray:
        arcs = nested_cycles(n_words)
        heads = SpanningTree(arcs).argmax
        return np.array([arcs[heads, np.arange(1, n_words + 1)].sum()])

    return {
        FAST: fast,
        CONTRACTION: lambda n: np.array([contraction_trace(nested_cycles(n)).score]),
    }
