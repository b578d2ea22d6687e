"""Lattices of words: sets of sentences as acyclic automata, each sentence by one path."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import BoolArray, IntArray

State = Hashable
"""What a state of an automaton under construction is called."""


@dataclass(frozen=True, eq=False)
class WordLattice:
    """States from 0, the start, and arcs that lead upwards and offer words; paths are sentences.

    No two arcs out of a state offer the same word, so that every sentence has one path. A sentence
    ends at a final state, has at least one word, and may be the beginning of a longer one.

    >>> lattice = WordLattice([(0, 1, [0]), (1, 2, [1]), (0, 2, [2])], final=[2])
    >>> sorted(lattice.sentences())
    [(0, 1), (2,)]
    """

    arcs: IntArray
    """Rows (source, target, bundle of words), sources ascending, (n_arcs, 3)."""
    bundles: tuple[tuple[int, ...], ...]
    """The words that arcs offer; equal bundles are listed once."""
    is_final: BoolArray
    """Whether a sentence may end at each state, (n_states,)."""

    def __init__(
        self, arcs: Sequence[tuple[int, int, Sequence[int]]], final: Sequence[int]
    ) -> None:
        ordered = sorted(arcs, key=lambda arc: (arc[0], arc[1]))
        _check(ordered, final)
        numbers: dict[tuple[int, ...], int] = {}
        rows = [
            (source, target, numbers.setdefault(tuple(words), len(numbers)))
            for source, target, words in ordered
        ]
        is_final = np.zeros(max(max(row[:2]) for row in rows) + 1, dtype=np.bool_)
        is_final[list(final)] = True
        object.__setattr__(self, "arcs", np.array(rows, dtype=np.int64))
        object.__setattr__(self, "bundles", tuple(numbers))
        object.__setattr__(self, "is_final", is_final)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.is_final)

    @property
    def n_choices(self) -> int:
        """One more than the largest word."""
        return 1 + max(max(words) for words in self.bundles)

    def sentences(self) -> Iterator[tuple[int, ...]]:
        """Every sentence, as words; there may be very many."""
        out: list[list[tuple[int, int]]] = [[] for _ in range(self.n_states)]
        for source, target, bundle in self.arcs.tolist():
            out[source] += [(word, target) for word in self.bundles[bundle]]

        def below(state: int) -> Iterator[tuple[int, ...]]:
            if self.is_final[state]:
                yield ()
            for word, target in out[state]:
                for rest in below(target):
                    yield (word, *rest)

        return (sentence for sentence in below(0) if sentence)


def deterministic(
    arcs: Mapping[State, Sequence[tuple[int | None, State]]], start: State, final: State
) -> WordLattice:
    """The lattice of an automaton that may reach the same sentence by several paths, or skip.

    `arcs[state]` lists (word, next state), with None for a step that offers no word. Costs the
    subset construction, whose states are as many as distinct sets of what may follow; the smallest
    lattice of its sentences comes out. An empty sentence is left out.

    >>> skip_one = {0: [(5, 1), (None, 2)], 1: [(6, 3)], 2: [(6, 3)]}  # 5 6, or 6
    >>> sorted(deterministic(skip_one, 0, 3).sentences())
    [(5, 6), (6,)]
    """
    reached: dict[frozenset[State], dict[int, frozenset[State]]] = {}
    first = _without_words(arcs, {start})
    waiting = [first]
    while waiting:
        states = waiting.pop()
        if states in reached:
            continue
        following: dict[int, set[State]] = {}
        for state in states:
            for word, target in arcs.get(state, ()):
                if word is not None:
                    following.setdefault(word, set()).add(target)
        reached[states] = {w: _without_words(arcs, found) for w, found in following.items()}
        waiting += reached[states].values()
    return _smallest(reached, first, final)


def _without_words(
    arcs: Mapping[State, Sequence[tuple[int | None, State]]], states: set[State]
) -> frozenset[State]:
    """The states, and all that steps without words lead to."""
    found, waiting = set(states), list(states)
    while waiting:
        for word, target in arcs.get(waiting.pop(), ()):
            if word is None and target not in found:
                found.add(target)
                waiting.append(target)
    return frozenset(found)


def _smallest(
    reached: Mapping[frozenset[State], Mapping[int, frozenset[State]]],
    first: frozenset[State],
    final: State,
) -> WordLattice:
    """States with the same future are one; they are numbered so that arcs lead upwards."""
    classes: dict[frozenset[State], int] = {}
    futures: dict[Hashable, int] = {}
    for states in _last_first(reached, first):
        arcs = [(word, classes[target]) for word, target in reached[states].items()]
        # The start is a class of its own: nothing leads back to it, and it ends no sentence.
        future = (states == first, final in states and states != first, frozenset(arcs))
        classes[states] = futures.setdefault(future, len(futures))
    # The classes of the last states have the smallest numbers.
    last = len(futures) - 1
    listed: dict[tuple[int, int], list[int]] = {}
    for states, following in reached.items():
        for word, target in following.items():
            bundle = listed.setdefault((last - classes[states], last - classes[target]), [])
            if word not in bundle:
                bundle.append(word)
    ends = {last - classes[states] for states in reached if final in states and states != first}
    rows = [(source, target, sorted(words)) for (source, target), words in listed.items()]
    return WordLattice(rows, sorted(ends))


def _last_first(
    reached: Mapping[frozenset[State], Mapping[int, frozenset[State]]], first: frozenset[State]
) -> list[frozenset[State]]:
    """All sets of states, each behind those that its arcs lead to."""
    order: dict[frozenset[State], None] = {}
    stack = [(first, False)]
    while stack:
        states, is_done = stack.pop()
        if is_done:
            order.setdefault(states)
        elif states not in order:
            stack.append((states, True))
            stack += [(target, False) for target in reached[states].values()]
    return list(order)


def _check(arcs: Sequence[tuple[int, int, Sequence[int]]], final: Sequence[int]) -> None:
    if not arcs or not final:
        raise ValueError(
            f"{len(arcs)} arcs and {len(final)} final states came; expected one or more of each. A "
            "lattice without sentences has no structure: leave it out."
        )
    offered: set[tuple[int, int]] = set()
    for source, target, words in arcs:
        if not 0 <= source < target or not words or min(words) < 0:
            raise ValueError(
                f"an arc leads from state {source} to {target} and offers {list(words)}; expected "
                "a larger state than it comes from, and one word or more, from 0 on. State 0 is "
                "the start."
            )
        for word in words:
            if (source, word) in offered:
                raise ValueError(
                    f"two arcs out of state {source} offer word {word}; expected one, so that a "
                    "sentence has one path. Build the lattice with `deterministic`."
                )
            offered.add((source, word))
    if min(final) < 1 or max(final) > max(target for _, target, _ in arcs):
        raise ValueError(
            f"the final states are {list(final)}; expected states that an arc leads to, not 0: a "
            "sentence has at least one word."
        )
