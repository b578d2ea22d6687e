"""Grammars of synchronous rules: D(x) parsed over the source, D(x, y) restricted to a target."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray
from partita.grammars.forest import EmptyForestError
from partita.grammars.hiero_chart import Chart, parse_source, restrict
from partita.grammars.rule_arrays import RuleArrays, Sides
from partita.grammars.rules import Slot, SynchronousRule
from partita.grammars.spans import SpannedEdges
from partita.structures.forests import checked_derivation
from partita.structures.hypergraph import Hypergraph


@dataclass(frozen=True, eq=False)
class RuleForest(SpannedEdges):
    """All derivations of a sentence, or of a pair, under a `HieroGrammar`.

    The tails of an edge are the nonterminals of its rule, in the order of the source.
    """

    hypergraph: Hypergraph
    rules: tuple[SynchronousRule, ...]
    """The rules of the grammar."""
    rule: IntArray
    """Which rule each edge uses, (n_edges,)."""
    symbols: tuple[str, ...]
    """The nonterminals of the grammar."""
    node_symbol: IntArray
    """Which of them each node has, (n_nodes,)."""
    node_spans: IntArray
    """First and last source boundary of each node, (n_nodes, 2); where the target is given also
    first and last target boundary, (n_nodes, 4)."""

    @property
    def node_symbols(self) -> tuple[str, ...]:
        """Nonterminal of each node."""
        return tuple(self.symbols[symbol] for symbol in self.node_symbol.tolist())

    def edge_scores(self, rule_scores: ArrayLike) -> FloatArray:
        """The score of each edge, (n_edges,), from one score per rule of the grammar."""
        return np.asarray(rule_scores, dtype=np.float64)[self.rule]

    def rule_counts(self, edge_counts: FloatArray) -> FloatArray:
        """Counts of the rules, (n_rules,), from counts of the edges (their marginals, say)."""
        counts: FloatArray = np.bincount(
            self.rule, weights=edge_counts, minlength=len(self.rules)
        ).astype(np.float64)
        return counts

    def yield_of(self, derivation: ArrayLike) -> list[str]:
        """The target words of a derivation, in order."""
        stack: list[list[str]] = []
        for edge in checked_derivation(self.hypergraph, derivation, 0)[::-1].tolist():
            rule = self.rules[self.rule[edge]]
            filled = {slot.number: stack.pop() for slot in rule.slots}
            words: list[str] = []
            for item in rule.target:
                words += filled[item.number] if isinstance(item, Slot) else [item]
            stack.append(words)
        return stack.pop()


class HieroGrammar:
    """Synchronous rules (Chiang, 2007), and the nonterminal that a sentence must have.

    A rule consumes source words, so a sentence has finitely many derivations, unless rules with a
    single nonterminal and no words go round in a circle, which is an error.

    >>> from partita.grammars.rules import glue_rules, parse_rule
    >>> lines = ["[X] ||| apague [X,1] ||| switch [X,1] off", "[X] ||| a luz ||| the light"]
    >>> grammar = HieroGrammar([*map(parse_rule, lines), *glue_rules()])
    >>> forest = grammar.parse("apague a luz".split())
    >>> from partita.distribution.hypergraph import HypergraphDistribution
    >>> p = HypergraphDistribution(forest.hypergraph, np.zeros(forest.hypergraph.n_edges))
    >>> " ".join(forest.yield_of(p.argmax))
    'switch the light off'
    """

    def __init__(self, rules: Iterable[SynchronousRule], start: str = "S") -> None:
        self.rules = tuple(rules)
        self.start = start
        heads = {rule.head for rule in self.rules}
        if start not in heads:
            raise ValueError(
                f"no rule has the head [{start}]; expected one, since a sentence must be derived "
                f"from it. Add glue_rules(), or give start=, one of {sorted(heads)}."
            )
        below = {slot.symbol for rule in self.rules for slot in rule.slots}
        self.symbols = tuple(sorted(heads | below))
        self._source_words: dict[str, int] = {}
        self._target_words: dict[str, int] = {}
        number = {symbol: index for index, symbol in enumerate(self.symbols)}
        sources, targets = [], []
        for rule in self.rules:
            place = {slot.number: -1 - index for index, slot in enumerate(rule.slots)}
            sources.append(
                [
                    -1 - number[item.symbol]
                    if isinstance(item, Slot)
                    else self._source_words.setdefault(item, len(self._source_words))
                    for item in rule.source
                ]
            )
            targets.append(
                [
                    place[item.number]
                    if isinstance(item, Slot)
                    else self._target_words.setdefault(item, len(self._target_words))
                    for item in rule.target
                ]
            )
        rule_heads = np.array([number[rule.head] for rule in self.rules], dtype=np.int64)
        self._targets = Sides.of(targets)
        self._arrays = RuleArrays.of(Sides.of(sources), rule_heads, number[start], self.symbols)

    def parse(self, source: Sequence[str], *, longest_span: int | None = None) -> RuleForest:
        """D(x): all derivations of a sentence, whatever their target.

        Words are added to dotted rules from left to right, over a trie of the source sides: O(n³)
        for rules with one nonterminal between words, O(n⁴) with two. Nonterminals other than the
        start span at most `longest_span` words.
        """
        return self._forest(self._chart(source, longest_span))

    def parse_pair(
        self, source: Sequence[str], target: Sequence[str], *, longest_span: int | None = None
    ) -> RuleForest:
        """D(x, y): the derivations of a sentence whose target is the given one.

        Every node of D(x) is split by the places of the target where it fits.
        """
        whole = self._chart(source, longest_span)
        chart = restrict(whole, self._targets, _numbers(target, self._target_words))
        if chart is None:
            raise EmptyForestError(
                f"the pair {' '.join(source)!r} / {' '.join(target)!r} has no derivation, though "
                "its source has. Add rules for the missing translations, or leave the pair out."
            )
        return self._forest(chart)

    def _chart(self, source: Sequence[str], longest_span: int | None) -> Chart:
        words = tuple(source)
        if isinstance(source, str):
            raise ValueError(
                f"source is the string {source!r}; expected a sequence of words. Split it first."
            )
        chart = parse_source(self._arrays, _numbers(words, self._source_words), longest_span)
        if chart is None:
            unknown = [word for word in words if word not in self._source_words]
            reason = (
                f"no rule has the word {unknown[0]!r}" if unknown else "its phrases do not join"
            )
            raise EmptyForestError(
                f"the sentence {' '.join(words)!r} has no derivation: {reason}. Add rules (such as "
                "one that copies an unknown word), or leave the sentence out."
            )
        return chart

    def _forest(self, chart: Chart) -> RuleForest:
        named = self.symbols, chart.symbols
        return RuleForest(chart.hypergraph(), self.rules, chart.rule, *named, chart.spans)


def _numbers(words: Sequence[str], known: dict[str, int]) -> IntArray:
    """A number for each word that a rule has; one that none has for the others."""
    numbers = map(known.get, words, repeat(len(known)))
    return np.fromiter(numbers, np.int64, len(words))
