"""Bottom-up parsing of a source sentence with synchronous rules."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from partita.grammars.hiero_trie import Trie
from partita.grammars.rules import SynchronousRule

Node = tuple[Any, ...]
"""(nonterminal, first and last source boundary), and where there is a target its boundaries."""
Item = tuple[int, tuple[int, ...]]
"""A dotted rule: its state in the trie, and the nodes of the nonterminals before the dot."""


@dataclass
class Chart:
    """Nodes and edges as they are found."""

    nodes: dict[Node, int] = field(default_factory=dict)
    heads: list[int] = field(default_factory=list)
    tails: list[tuple[int, ...]] = field(default_factory=list)
    rule: list[int] = field(default_factory=list)

    def add(self, node: Node, rule: int, tails: tuple[int, ...]) -> int:
        """An edge into a node, which is made if it is new; returns the node."""
        self.heads.append(self.nodes.setdefault(node, len(self.nodes)))
        self.tails.append(tails)
        self.rule.append(rule)
        return self.heads[-1]


def parse_source(
    trie: Trie,
    rules: Sequence[SynchronousRule],
    source: Sequence[str],
    start: str,
    longest_span: int | None,
) -> Chart:
    """Every rule over every span of the sentence, children before parents.

    Spans by their first word, backwards, then by their last: what a dotted rule with its dot at m
    needs next begins at m, so all of it is there, but for the span itself. That one only serves a
    dotted rule at its very beginning, and is looked at last, in the trie's `unary_order`.
    """
    chart = Chart()
    n_words = len(source)
    longest = n_words if longest_span is None else longest_span
    found: list[list[dict[str, int]]] = [
        [{} for _ in range(n_words + 1)] for _ in range(n_words + 1)
    ]
    for first in range(n_words - 1, -1, -1):
        items: list[list[Item]] = [[] for _ in range(n_words + 1)]
        for last in range(first + 1, n_words + 1):
            here = found[first][last]
            span = (first, last)
            allowed = None if last - first <= longest else start
            items[last] = _advance(trie, source, items, found, first, last)
            for item in items[last]:
                _complete(chart, trie, rules, item, span, allowed, here)
            for symbol in trie.unary_order:
                if symbol in here and symbol in trie.by_symbol[0]:
                    item = (trie.by_symbol[0][symbol], (here[symbol],))
                    items[last].append(item)
                    _complete(chart, trie, rules, item, span, allowed, here)
    return chart


def _complete(
    chart: Chart,
    trie: Trie,
    rules: Sequence[SynchronousRule],
    item: Item,
    span: tuple[int, int],
    allowed: str | None,
    here: dict[str, int],
) -> None:
    """Edges for the rules that end with a dotted rule, if their head is the allowed one, or any."""
    state, tails = item
    for number in trie.complete[state]:
        head = rules[number].head
        if allowed in (None, head):
            here[head] = chart.add((head, *span), number, tails)


def _advance(
    trie: Trie,
    source: Sequence[str],
    items: list[list[Item]],
    found: list[list[dict[str, int]]],
    first: int,
    last: int,
) -> list[Item]:
    """The dotted rules over a span that end in a word, or in a nonterminal after something else."""
    moved: list[Item] = []
    word = source[last - 1]
    before: list[Item] = [(0, ())] if last == first + 1 else items[last - 1]
    for state, tails in before:
        after = trie.by_word[state].get(word)
        if after is not None:
            moved.append((after, tails))
    for middle in range(first + 1, last):
        symbols = found[middle][last]
        if symbols:
            for state, tails in items[middle]:
                for symbol, after in trie.by_symbol[state].items():
                    if symbol in symbols:
                        moved.append((after, (*tails, symbols[symbol])))
    return moved
