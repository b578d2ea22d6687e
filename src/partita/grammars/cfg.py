"""Weighted context-free grammars: from a sentence to the forest of its trees.

A rule replaces its head by its tails, which are symbols again, or by a word. The trees of a
sentence are the derivations of a hypergraph, so log-partition (the probability of the sentence
under a probabilistic grammar), samples and expected counts of rules are those of
`HypergraphDistribution(forest.hypergraph, grammar.edge_scores(forest))`. Rules of more than two
tails are cut in two on the way: the forest has a node for every beginning of such a rule, O(n³)
edges for each rule.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray
from partita.structures.forests import Forests
from partita.structures.hypergraph import Hypergraph
from partita.structures.phrase_trees import PhraseTree

NO_RULE = -1
"""Of edges that only begin one."""


class CfgRule(NamedTuple):
    """head -> tails."""

    head: str
    tails: tuple[str, ...]
    """Symbols, or one word."""
    is_word: bool = False

    def __str__(self) -> str:
        return f"{self.head} -> {repr(self.tails[0]) if self.is_word else ' '.join(self.tails)}"


Node = tuple[str, int, int] | tuple[int, int, int, int]
"""A symbol and its words first:end, or the first tails of a rule: rule, how many, first, end."""


class ParseForest(NamedTuple):
    """All trees of a sentence."""

    hypergraph: Hypergraph
    rules: IntArray
    """The rule of each edge, or `NO_RULE`."""


@dataclass(frozen=True, eq=False)
class ContextFreeGrammar:
    """Rules with scores, logarithms of their weights, and the symbol that sentences are made of.

    >>> rules = [("S", ("NP", "VP")), ("NP", "dogs"), ("NP", ("NP", "VP")), ("VP", "bark")]
    >>> grammar = ContextFreeGrammar.from_probabilities(rules, [1.0, 0.7, 0.3, 1.0])
    >>> print(grammar.parse(["dogs", "bark"]))
    (S (NP dogs) (VP bark))
    >>> forest = grammar.forest(["dogs", "bark", "bark"])
    >>> from partita import HypergraphDistribution
    >>> p = HypergraphDistribution(forest.hypergraph, grammar.edge_scores(forest))
    >>> float(np.exp(p.log_partition).round(9))
    0.21
    """

    rules: tuple[CfgRule, ...]
    scores: FloatArray
    """(n_rules,)."""
    start: str

    def __post_init__(self) -> None:
        if not self.rules or len(self.rules) != len(self.scores):
            raise ValueError(
                f"{len(self.rules)} rules and {len(self.scores)} scores came; expected at least "
                "one rule, and a score for each."
            )
        for rule in self.rules:
            if not rule.tails:
                raise ValueError(f"the rule {rule} has no tails; expected at least one.")
        if self.start not in self.heads:
            raise ValueError(
                f"no rule has the head {self.start!r}, with which trees begin; heads are "
                f"{', '.join(sorted(self.heads)[:10])}."
            )
        _ = self._units

    @classmethod
    def from_probabilities(
        cls,
        rules: Iterable[tuple[str, Sequence[str] | str]],
        probabilities: ArrayLike,
        start: str | None = None,
    ) -> Self:
        """A grammar from rules and their weights; `start` is the first rule's head if left out.

        The tails of a rule are a sequence of symbols, or text for a word.
        """
        found = tuple(
            CfgRule(head, (tails,), True) if isinstance(tails, str) else CfgRule(head, (*tails,))
            for head, tails in rules
        )
        with np.errstate(divide="ignore"):
            scores = np.log(np.asarray(probabilities, dtype=np.float64))
        return cls(found, scores, found[0].head if start is None and found else str(start))

    @classmethod
    def of_trees(cls, trees: Iterable[PhraseTree], start: str | None = None) -> Self:
        """The rules of some trees, with the shares that each has among those of its head.

        >>> from partita.data import parse_brackets
        >>> trees = parse_brackets("(S (N dogs) (V bark)) (S (N cats) (V sleep))")
        >>> grammar = ContextFreeGrammar.of_trees(trees)
        >>> [f"{rule}: {share:.2f}" for rule, share in zip(grammar.rules, np.exp(grammar.scores))][
        ...     :3
        ... ]
        ["N -> 'cats': 0.50", "N -> 'dogs': 0.50", 'S -> N V: 1.00']
        """
        counts: Counter[CfgRule] = Counter()
        tops: Counter[str] = Counter()
        for tree in trees:
            tops[tree.label] += 1
            counts.update(_rules_of(tree))
        if not counts:
            raise ValueError("no trees came; expected at least one to read rules from.")
        if start is None and len(tops) > 1:
            raise ValueError(
                f"the trees have the labels {', '.join(sorted(tops))} on top; expected one label, "
                "or start= to say which."
            )
        rules = tuple(sorted(counts))
        numbers = np.array([counts[rule] for rule in rules], dtype=np.float64)
        return cls(rules, shares(rules, numbers), next(iter(tops)) if start is None else start)

    @cached_property
    def heads(self) -> frozenset[str]:
        """The symbols that rules replace."""
        return frozenset(rule.head for rule in self.rules)

    def with_scores(self, scores: ArrayLike) -> "ContextFreeGrammar":
        """The same rules with other scores."""
        return ContextFreeGrammar(self.rules, np.asarray(scores, dtype=np.float64), self.start)

    # ------------------------------------------------------------------ forests

    @cached_property
    def _by_first(self) -> Mapping[str, list[int]]:
        """Rules of two tails and more by the first of them."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, rule in enumerate(self.rules):
            if len(rule.tails) > 1:
                found[rule.tails[0]].append(number)
        return found

    @cached_property
    def _by_word(self) -> Mapping[str, list[int]]:
        """Rules that make a word."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, rule in enumerate(self.rules):
            if rule.is_word:
                found[rule.tails[0]].append(number)
        return found

    @cached_property
    def _units(self) -> list[int]:
        """Rules of one symbol, so that each comes behind those that make that symbol.

        Rules that lead from a symbol to itself would give a sentence infinitely many trees.
        """
        rules = enumerate(self.rules)
        waiting = [n for n, rule in rules if len(rule.tails) == 1 and not rule.is_word]
        made_by: dict[str, list[int]] = defaultdict(list)
        for number in waiting:
            made_by[self.rules[number].head].append(number)
        order: list[int] = []
        state: dict[int, bool] = {}
        for number in waiting:
            stack = [number]
            while stack:
                last = stack[-1]
                if last not in state:
                    state[last] = False
                    for below in made_by[self.rules[last].tails[0]]:
                        if state.get(below) is False:
                            raise ValueError(
                                f"the rules {self.rules[last]} and {self.rules[below]} are part of "
                                "a circle of rules with one tail, which gives sentences infinitely "
                                "many trees; expected none. Leave one of them out."
                            )
                        if below not in state:
                            stack.append(below)
                else:
                    stack.pop()
                    if not state[last]:
                        state[last] = True
                        order.append(last)
        return order

    def forest(self, words: Sequence[str]) -> ParseForest:
        """All trees of a sentence; what has none is an error that says why as far as it can."""
        chart = _ParseChart(self, tuple(words))
        if not words or (self.start, 0, len(words)) not in chart.numbers:
            unknown = sorted(set(words).difference(self._by_word))
            why = f"no rule has the words {', '.join(unknown[:10])}" if unknown else "no rules fit"
            raise ValueError(
                f"the grammar has no tree for {' '.join(words)!r}: {why}. Add rules, or leave the "
                "sentence out."
            )
        root = chart.numbers[self.start, 0, len(words)]
        rules = np.array(chart.rules, dtype=np.int64)
        return ParseForest(Hypergraph(chart.edge_heads, chart.edge_tails, root), rules)

    def edge_scores(self, forest: ParseForest) -> FloatArray:
        """The score of each edge of a forest: that of its rule, or 0."""
        scores: FloatArray = np.append(self.scores, 0.0)[forest.rules]
        return scores

    def parse(self, words: Sequence[str]) -> PhraseTree:
        """The best tree of a sentence.

        >>> grammar = ContextFreeGrammar.from_probabilities(
        ...     [("S", ("S", "S")), ("S", "a")], [0.4, 0.6]
        ... )
        >>> print(grammar.parse(["a", "a"]))
        (S (S a) (S a))
        """
        forest = self.forest(words)
        best = Forests([forest.hypergraph]).argmax(self.edge_scores(forest))
        return self.tree(forest, best.structures[0])

    def tree(self, forest: ParseForest, derivation: IntArray) -> PhraseTree:
        """The tree of a derivation, which is an array of edges from the top down."""
        (tree,) = self._read(forest, iter(derivation.tolist()))
        return tree

    def _read(self, forest: ParseForest, edges: Iterator[int]) -> tuple[PhraseTree, ...]:
        edge = next(edges)
        tails, number = forest.hypergraph.tails(edge), int(forest.rules[edge])
        below = tuple(child for _ in tails for child in self._read(forest, edges))
        if number == NO_RULE:
            return below
        rule = self.rules[number]
        return (PhraseTree(rule.head, below, rule.tails[0] if rule.is_word else None),)


class _ParseChart:
    """What can be built over each stretch of words, and all edges by which it is built."""

    def __init__(self, grammar: ContextFreeGrammar, words: tuple[str, ...]) -> None:
        self.grammar, self.words = grammar, words
        self.numbers: dict[Node, int] = {}
        self.edge_heads: list[int] = []
        self.edge_tails: list[list[int]] = []
        self.rules: list[int] = []
        self.symbols: dict[tuple[int, int], list[str]] = defaultdict(list)
        self.begun: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for n_words in range(1, len(words) + 1):
            for first in range(len(words) - n_words + 1):
                self._fill(first, first + n_words)

    def _fill(self, first: int, end: int) -> None:
        for number in self.grammar._by_word.get(self.words[first], ()) if end == first + 1 else ():
            self._add((self.grammar.rules[number].head, first, end), [], number)
        for cut in range(first + 1, end):
            self._join(first, cut, end)
        for number in self.grammar._units:
            head, (tail,), _ = self.grammar.rules[number]
            if (tail, first, end) in self.numbers:
                self._add((head, first, end), [(tail, first, end)], number)

    def _join(self, first: int, cut: int, end: int) -> None:
        """Edges whose last tail is cut:end."""
        rules = self.grammar.rules
        for symbol in self.symbols[first, cut]:
            for number in self.grammar._by_first.get(symbol, ()):
                self._extend(number, 1, (symbol, first, cut), first, cut, end)
        for number, n_tails in self.begun[first, cut]:
            if n_tails < len(rules[number].tails):
                self._extend(number, n_tails, (number, n_tails, first, cut), first, cut, end)

    def _extend(
        self, number: int, n_tails: int, before: Node, first: int, cut: int, end: int
    ) -> None:
        """One more tail of a rule, if it is there."""
        head, tails, _ = self.grammar.rules[number]
        last: Node = (tails[n_tails], cut, end)
        if last not in self.numbers:
            return
        if n_tails + 1 == len(tails):
            self._add((head, first, end), [before, last], number)
        else:
            self._add((number, n_tails + 1, first, end), [before, last], NO_RULE)

    def _add(self, head: Node, tails: Sequence[Node], rule: int) -> None:
        if head not in self.numbers:
            self.numbers[head] = len(self.numbers)
            if isinstance(head[0], str):
                self.symbols[head[-2], head[-1]].append(head[0])
            else:
                self.begun[head[-2], head[-1]].append((head[0], head[1]))
        self.edge_heads.append(self.numbers[head])
        self.edge_tails.append([self.numbers[tail] for tail in tails])
        self.rules.append(rule)


def _rules_of(tree: PhraseTree) -> Iterator[CfgRule]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node.word is not None:
            yield CfgRule(node.label, (node.word,), True)
        else:
            yield CfgRule(node.label, tuple(child.label for child in node.children))
        waiting.extend(node.children)


def shares(rules: Sequence[CfgRule], counts: FloatArray) -> FloatArray:
    """log(count / sum of the counts of the same head); -inf where there are none at all."""
    numbers = {head: n for n, head in enumerate(dict.fromkeys(rule.head for rule in rules))}
    which = np.array([numbers[rule.head] for rule in rules])
    totals = np.bincount(which, weights=counts)[which]
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.where(counts > 0, np.log(counts) - np.log(totals), -np.inf)
    return found
