"""Synchronous rules as arrays: a trie of the source sides, and the target sides end to end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from partita.arrays import IntArray
from partita.kernels.bitext import hiero_targets, hiero_trie
from partita.kernels.forests import order as forest_order
from partita.structures.batch import offsets as offsets_of
from partita.structures.batch import pieces


class Sides(NamedTuple):
    """One side of many rules, end to end; numbers below 0 are nonterminals."""

    symbols: NDArray[np.int32]
    offsets: IntArray

    @classmethod
    def of(cls, sides: Sequence[Sequence[int]]) -> Self:
        """From the symbols of each rule.

        >>> Sides.of([[3, -1], [], [4]]).offsets
        array([0, 2, 2, 3])
        """
        lengths = np.fromiter(map(len, sides), np.int64, len(sides))
        flat = np.fromiter((n for side in sides for n in side), np.int32, int(lengths.sum()))
        return cls(flat, offsets_of(lengths))

    @property
    def n_sides(self) -> int:
        """How many."""
        return len(self.offsets) - 1

    def side(self, index: int) -> tuple[int, ...]:
        """The symbols of one."""
        return tuple(self.symbols[self.offsets[index] : self.offsets[index + 1]].tolist())

    def padded(self) -> IntArray:
        """A row for each side, with `MISSING` behind its end, which is below all symbols."""
        lengths = np.diff(self.offsets)
        rows = np.full((len(lengths), int(lengths.max(initial=1))), hiero_trie.MISSING)
        row = np.repeat(np.arange(len(lengths)), lengths)
        rows[row, np.arange(len(row)) - np.repeat(self.offsets[:-1], lengths)] = self.symbols
        return rows

    def select(self, sides: IntArray) -> "Sides":
        """Some of them, in the given order."""
        starts = self.offsets[sides]
        lengths = self.offsets[sides + 1] - starts
        offsets = offsets_of(lengths)
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Sides(self.symbols[places], offsets)


def target_words(
    derivations: IntArray, starts: IntArray, rules: IntArray, n_tails: IntArray, targets: Sides
) -> list[IntArray]:
    """The target words of derivations that lie end to end, each edges top-down, left to right.

    Edge e has the rule rules[e] and n_tails[e] tails; in the target side of a rule, -1 - p stands
    for tail p of its edges. Costs O(edges + words).
    """
    ends = np.empty(len(starts), dtype=np.int64)
    longest = int(np.diff(targets.offsets).max(initial=0))
    out = np.empty(longest * len(derivations), dtype=np.int64)
    hiero_targets.target_words(derivations, starts, rules, n_tails, targets, out, ends)
    return pieces(out, ends)


@dataclass(frozen=True, eq=False)
class RuleArrays:
    """Rules by their source sides, as kernels read them; see `kernels.bitext.hiero_source`."""

    states: NDArray[np.uint32]
    """Of each state of the trie where its steps by nonterminals begin, and the runs of rules that
    end in it; (n_states + 1, 2)."""
    words: NDArray[np.int32]
    """The steps by words, in a hash table; see `kernels.bitext.hiero_trie`."""
    steps: NDArray[np.uint32]
    """The others: the nonterminal of each step, and the state behind it, (n_steps, 2)."""
    runs: NDArray[np.uint32]
    """Where each run, the rules of a state with the same head, begins in `ends`, and that head;
    (n_runs + 1, 2)."""
    ends: NDArray[np.uint32]
    """The rules by the state that they end in."""
    unary_order: NDArray[np.uint32]
    """Nonterminals, each after those that it derives by a rule without words."""
    start: int
    """The nonterminal that a sentence must have."""

    @classmethod
    def of(cls, sources: Sides, heads: IntArray, start: int, names: Sequence[str]) -> Self:
        """From the source side and the head of each rule, and the names of nonterminals.

        Nonterminal k of a side is -1 - k; those of a side are told apart by their place only.
        O(n log n) for n symbols.
        """
        rows = sources.padded()
        order = np.lexsort(rows.T[::-1])
        parents, symbols = np.zeros((2, len(sources.symbols) + 1), dtype=np.int64)
        ends = np.zeros(len(rows), dtype=np.int64)
        n_states = hiero_trie.states(rows[order], parents, symbols, ends)
        parents, symbols = parents[:n_states], symbols[:n_states]
        # Half empty, so that few steps are looked for in more than one row.
        words = np.empty((1 << int(2 * n_states).bit_length(), 3), dtype=np.int32)
        hiero_trie.hash_words(parents, symbols, words)
        slots = np.flatnonzero(symbols < 0)
        step_offsets, places = forest_order.group(parents[slots], n_states)
        state_of = np.empty_like(ends)
        state_of[order] = ends
        _, ended = forest_order.group(state_of, n_states)
        keys = np.column_stack([state_of, heads])[ended]
        begins = np.flatnonzero(np.diff(keys, axis=0, prepend=-1).any(axis=1))
        run_offsets, _ = forest_order.group(keys[begins, 0], n_states)
        unary = np.flatnonzero((np.diff(sources.offsets) == 1) & (rows[:, 0] < 0))
        last = [len(keys), 0]
        return cls(
            _places(np.column_stack([step_offsets, run_offsets])),
            words,
            _places(np.column_stack([-1 - symbols[slots[places]], slots[places]])),
            _places(np.vstack([np.column_stack([begins, keys[begins, 1]]), last])),
            _places(ended),
            _places(_unary_order(zip(heads[unary], -1 - rows[unary, 0], strict=True), names)),
            start,
        )


def _places(numbers: IntArray) -> NDArray[np.uint32]:
    """As kernels want what is never below 0."""
    return numbers.astype(np.uint32)


def _unary_order(rules: Iterable[tuple[int, int]], names: Sequence[str]) -> IntArray:
    """Nonterminals such that B comes after A where there is a rule B -> A."""
    below: dict[int, set[int]] = {symbol: set() for symbol in range(len(names))}
    for head, symbol in rules:
        below[int(head)].add(int(symbol))
    order: list[int] = []
    while below:
        free = sorted(symbol for symbol, others in below.items() if not others)
        if not free:
            raise ValueError(
                f"the nonterminals {sorted(names[symbol] for symbol in below)} derive each other "
                "by rules with a single nonterminal and no words; expected no circle, since a "
                "derivation would never end. Remove one of these rules."
            )
        order += free
        below = {
            symbol: others.difference(free)
            for symbol, others in below.items()
            if symbol not in free
        }
    return np.array(order, dtype=np.int64)
