"""What a notebook shows of a distribution: a line of numbers, and pictures of the sentences."""

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from partita import show
from partita.distribution.base import Distribution
from partita.distribution.hypergraph import HypergraphDistribution
from partita.distribution.linear_chain import LinearChain
from partita.distribution.trees import Tree
from partita.show.display import MOST_WORDS, notebook_html
from partita.show.svg import Svg

MOST_EDGES = 12
"""Edges of a forest that are shown."""


def html(p: Distribution) -> str | None:
    """Log-partition, entropy and drawings of the first sentences; None where there is none."""
    try:
        numbers = np.stack([np.atleast_1d(p.log_partition), np.atleast_1d(p.entropy)])
    except ValueError:
        # There is a sentence without any structure; whoever asks for a number is told why.
        return None
    facts = [f"log-partition {a:.4g}, entropy {h:.4g} nats" for a, h in numbers.T]
    return notebook_html(type(p).__name__, facts, lambda sentence: drawings(p, sentence))


@singledispatch
def drawings(p: Distribution, sentence: int) -> list[Svg]:
    """Pictures of one sentence: none, unless there is a function for the class of p below."""
    return []


@drawings.register
def _(p: LinearChain, sentence: int) -> list[Svg]:
    """The trellis with its marginals."""
    unary, pairs = (parts[sentence] for parts in p.marginals_by_position)
    unary, pairs = unary[:MOST_WORDS], pairs[: MOST_WORDS - 1]
    words: Sequence[object] = range(len(unary))
    tags: Sequence[object] = range(unary.shape[1])
    if p.names is not None:
        words, tags = p.names.words[sentence][: len(unary)], p.names.choices or tags
    return [show.trellis(words, tags, unary, transitions=pairs)]


@drawings.register
def _(p: Tree, sentence: int) -> list[Svg]:
    """The best tree, and the marginals of all arcs."""
    n_words = int(p.structures.n_words[sentence])
    if n_words > MOST_WORDS:
        return []
    p = p.certain
    _, inference = p.structures.arc_inference(p.scores, p.inference)
    marginals = p.structures.split_arcs(inference.marginals)[sentence]
    found = p.best.structures[sentence]
    heads, labels = found if isinstance(found, tuple) else (found, None)
    words: Sequence[str] = [str(word) for word in range(1, n_words + 1)]
    if p.names is not None:
        words = p.names.words[sentence]
        labels = None if labels is None else [p.names.choice(int(label)) for label in labels]
    drawn = show.tree(words, heads, labels=labels, probabilities=marginals)
    return [drawn, show.arcs(words, marginals, heads=heads)]


@drawings.register
def _(p: HypergraphDistribution, sentence: int) -> list[Svg]:
    """The likeliest edges."""
    graph = p.structures.hypergraphs[sentence]
    (marginals,) = p.structures.split_arrays(p.certain.inference.marginals)
    counts = marginals[sentence]
    rows = {
        f"{edge}: {graph.heads[edge]} ← {' '.join(map(str, graph.tails(edge)))}": counts[edge]
        for edge in np.argsort(-counts, kind="stable")[:MOST_EDGES].tolist()
    }
    return [show.bars(rows, title="Expected counts of the likeliest edges")] if rows else []
