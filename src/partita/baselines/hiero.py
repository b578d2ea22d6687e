"""Parsing with synchronous rules in plain Python: what `partita.grammars.hiero` does in kernels.

Dotted rules over a trie of the source sides give D(x) (Chiang 2007); a target splits its nodes by
the words that they derive, D(x, y).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from partita.grammars.rules import Slot, SynchronousRule
from partita.structures.hypergraph import Hypergraph

Node = tuple[Any, ...]
"""(nonterminal, first and last source boundary), and where there is a target its boundaries."""
Item = tuple[int, tuple[int, ...]]
"""A dotted rule: its state in the trie, and the nodes of the nonterminals before the dot."""

Places = dict[int, list[tuple[int, int]]]
"""For each target boundary where a node can start: where it can end, and the node of both."""


def parse(
    rules: Sequence[SynchronousRule], source: Sequence[str], start: str = "S"
) -> "PlainChart":
    """D(x), with edges that lead nowhere.

    >>> from partita.grammars.rules import glue_rules, parse_rule
    >>> chart = parse([parse_rule("[X] ||| a ||| b"), *glue_rules()], ["a", "a"])
    >>> len(chart.nodes), len(chart.heads)
    (5, 5)
    """
    return parse_source(Trie(rules), rules, source, start, None)


def parse_pair(
    rules: Sequence[SynchronousRule],
    source: Sequence[str],
    target: Sequence[str],
    start: str = "S",
    trie: "Trie | None" = None,
) -> "PlainChart":
    """D(x, y), with edges that lead nowhere; `trie` is that of the rules, if it is there."""
    chart = parse_source(trie or Trie(rules), rules, source, start, None)
    order = Hypergraph(chart.heads, chart.tails, chart.nodes[start, 0, len(source)]).order
    return restrict(chart, rules, order.tolist(), target)[0]


class Trie:
    """Rules by their source side, word by word; nonterminals are told apart by their symbol only.

    State 0 is the beginning of every rule.
    """

    def __init__(self, rules: Sequence[SynchronousRule]) -> None:
        self.by_word: list[dict[str, int]] = [{}]
        """For each state, the state after a word."""
        self.by_symbol: list[dict[str, int]] = [{}]
        """For each state, the state after a nonterminal."""
        self.complete: list[list[int]] = [[]]
        """For each state, the rules that end there."""
        self.words: set[str] = set()
        for number, rule in enumerate(rules):
            self._add(number, rule)
        self.unary_order = _unary_order(rules)
        """Nonterminals, each after those that it derives by a rule without words."""

    def _add(self, number: int, rule: SynchronousRule) -> None:
        state = 0
        for item in rule.source:
            if isinstance(item, Slot):
                state = self._next(self.by_symbol[state], item.symbol)
            else:
                self.words.add(item)
                state = self._next(self.by_word[state], item)
        self.complete[state].append(number)

    def _next(self, transitions: dict[str, int], key: str) -> int:
        if key not in transitions:
            transitions[key] = len(self.complete)
            self.by_word.append({})
            self.by_symbol.append({})
            self.complete.append([])
        return transitions[key]


def _unary_order(rules: Sequence[SynchronousRule]) -> list[str]:
    """Nonterminals such that B comes after A where there is a rule B -> A."""
    below: dict[str, set[str]] = {}
    for rule in rules:
        below.setdefault(rule.head, set())
        for slot in rule.slots:
            below.setdefault(slot.symbol, set())
        if len(rule.source) == 1 and rule.slots:
            below[rule.head].add(rule.slots[0].symbol)
    order: list[str] = []
    while below:
        free = sorted(symbol for symbol, others in below.items() if not others)
        if not free:
            raise ValueError(
                f"the nonterminals {sorted(below)} derive each other by rules with a single "
                "nonterminal and no words; expected no circle, since a derivation would never end. "
                "Remove one of these rules."
            )
        order += free
        below = {
            symbol: others.difference(free)
            for symbol, others in below.items()
            if symbol not in free
        }
    return order


@dataclass
class PlainChart:
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
) -> "PlainChart":
    """Every rule over every span of the sentence, children before parents.

    Spans by their first word, backwards, then by their last: what a dotted rule with its dot at m
    needs next begins at m, so all of it is there, but for the span itself. That one only serves a
    dotted rule at its very beginning, and is looked at last, in the trie's `unary_order`.
    """
    chart = PlainChart()
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
    chart: PlainChart,
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


def restrict(
    chart: PlainChart, rules: Sequence[SynchronousRule], order: Sequence[int], target: Sequence[str]
) -> tuple[PlainChart, dict[Node, int]]:
    """The chart with every node split by the target words k .. l-1 that it derives.

    `order` lists the nodes, tails before heads. Returns the new chart and its nodes,
    (nonterminal, i, j, k, l).
    """
    keys = list(chart.nodes)
    stars: list[list[int]] = [[] for _ in keys]
    for edge, head in enumerate(chart.heads):
        stars[head].append(edge)
    places: list[Places] = [{} for _ in keys]
    result = PlainChart()
    for node in order:
        for edge in stars[node]:
            rule = rules[chart.rule[edge]]
            tails = {
                slot.number: places[tail]
                for slot, tail in zip(rule.slots, chart.tails[edge], strict=True)
            }
            if not all(tails.values()):
                continue
            for start, end, chosen in _matches(rule, tails, target):
                new = (*keys[node], start, end)
                if new not in result.nodes:
                    places[node].setdefault(start, []).append((end, len(result.nodes)))
                tails_in_order = tuple(chosen[slot.number] for slot in rule.slots)
                result.add(new, chart.rule[edge], tails_in_order)
    return result, result.nodes


def _matches(
    rule: SynchronousRule, tails: dict[int, Places], target: Sequence[str]
) -> list[tuple[int, int, dict[int, int]]]:
    """Where the target side of a rule fits: start, end, and the node of each nonterminal."""
    starts: Iterable[int] = range(len(target) + 1)
    if rule.target and isinstance(rule.target[0], Slot):
        starts = tails[rule.target[0].number]
    partial: list[tuple[int, int, dict[int, int]]] = [(k, k, {}) for k in starts]
    for item in rule.target:
        if isinstance(item, Slot):
            partial = [
                (start, further, {**chosen, item.number: node})
                for start, end, chosen in partial
                for further, node in tails[item.number].get(end, ())
            ]
        else:
            partial = [
                (start, end + 1, chosen)
                for start, end, chosen in partial
                if end < len(target) and target[end] == item
            ]
    return partial
