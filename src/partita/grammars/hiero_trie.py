"""The source sides of synchronous rules as a trie."""

from collections.abc import Sequence

from partita.grammars.rules import Slot, SynchronousRule


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
