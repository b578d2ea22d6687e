"""Samples without replacement: structures as leaves of a tree of choices, walked top-down.

To draw structures one after the other, each from p without those drawn before, is to perturb every
log-probability with Gumbel noise of its own and to take the largest (Plackett and Luce). A
structure is a row of choices, so the noise of all structures that begin alike has a largest value,
which is Gumbel noise around the log-probability of the beginning; given that value, those of its
continuations can be drawn (Kool, van Hoof and Welling 2019). So only the `size` beginnings with the
largest values are ever continued. Nothing is subtracted from a probability: what is left over when
nearly everything is drawn is as exact as the rest.

Each beginning of a chain or tree is an inference, so that long sentences take long. Where the
likeliest structures together leave enough, drawing with replacement and leaving out what was drawn
before is the same distribution, and takes a few draws for each structure.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.structures.base import Inference, Structure, Structures
from partita.structures.batch import pieces

SMALL = 1e-200
"""A marginal below is not looked at: it may have lost digits, or all of them, to underflow."""
MOST_PARTS = 2**22
"""Of beginnings that are asked for their continuations at once."""
MOST_DRAWS = 64
"""Draws for one new structure, on average, that are still less work than inferences."""


@runtime_checkable
class DistinctSampling(Protocol):
    """Structures that can be drawn without replacement; they offer it by a method of this name."""

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """`size` different structures of each sentence in the order drawn; fewer if there are."""


def distinct_structures(
    structures: Structures, scores: FloatArray, size: int, rng: np.random.Generator
) -> list[list[Structure]]:
    """`structures.sample_distinct(...)`, or an error for structures that have no such method.

    >>> from partita.structures.chains import Chains
    >>> chains = Chains([1], n_tags=2, shared=True)
    >>> (tags,) = distinct_structures(chains, np.zeros(6), 9, np.random.default_rng(0))
    >>> sorted(each.tolist() for each in tags)
    [[0], [1]]
    """
    if not isinstance(structures, DistinctSampling):
        raise ValueError(
            f"{type(structures).__name__} cannot be drawn without replacement; expected chains, "
            "segments, trees or forests. Leave out replace=False, or ask for k_best."
        )
    return structures.sample_distinct(scores, size, rng)


def in_full(
    structures: Structures, samples: Sequence[list[Structure]], size: int
) -> list[Structure]:
    """Samples in the form that `structures.sample` gives them; fewer than `size` are an error."""
    for sentence, drawn in enumerate(samples):
        if len(drawn) < size:
            found = f"{len(drawn)} structure{'' if len(drawn) == 1 else 's'}"
            raise ValueError(
                f"size is {size}, but sentence {sentence} (counting from 0) has {found} in all; "
                "expected no more, or replace=True. `count` tells how many there are."
            )
    return [_stacked(structures, drawn, sentence) for sentence, drawn in enumerate(samples)]


def _stacked(structures: Structures, drawn: list[Structure], sentence: int) -> Structure:
    """A leading axis where structures are numbers of words."""
    if not structures.one_per_word:
        return drawn
    if not drawn:
        return np.zeros((0, int(structures.n_words[sentence])), dtype=np.int64)
    if isinstance(drawn[0], tuple):
        return tuple(np.stack(each) for each in zip(*drawn, strict=True))
    return np.stack(drawn)


# ---------------------------------------------------------------------- the walk


class Branches(NamedTuple):
    """How some beginnings go on, end to end."""

    owners: IntArray
    """Which beginning, in ascending order; each one is there."""
    log_probabilities: FloatArray
    """Of the continuation, given the beginning."""
    ways: list[Any]
    """What each continuation is as a beginning."""


class Ways(ABC):
    """Structures of a sentence as rows of choices; a way is the beginning of such a row."""

    @abstractmethod
    def root(self) -> Any:
        """The way on which nothing is chosen."""

    @abstractmethod
    def has_ended(self, way: Any) -> bool:
        """Whether all is chosen."""

    @abstractmethod
    def branches(self, ways: Sequence[Any]) -> Branches:
        """How ways go on that have not ended."""

    def distinct(self, size: int, rng: np.random.Generator) -> list[Any]:
        """`size` different ways to an end, drawn without replacement, or all if there are fewer."""
        ways, logs, values = [self.root()] if size else [], np.zeros(1), np.zeros(1)
        while open_ones := [i for i, way in enumerate(ways) if not self.has_ended(way)]:
            found = self.branches([ways[i] for i in open_ones])
            owners = np.array(open_ones)[found.owners]
            new_logs = logs[owners] + found.log_probabilities
            new_values = _values_below(values[owners], new_logs, found.owners, rng)
            closed = np.setdiff1d(np.arange(len(ways)), open_ones)
            candidates = [*(ways[i] for i in closed), *found.ways]
            logs = np.concatenate([logs[closed], new_logs])
            values = np.concatenate([values[closed], new_values])
            kept = np.argsort(-values, kind="stable")[:size]
            ways, logs, values = [candidates[i] for i in kept], logs[kept], values[kept]
        return ways


def _values_below(
    largest: FloatArray, logs: FloatArray, owners: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Gumbel noise around `logs`, of which the largest of each owner is known.

    With plain noise g and its maximum z, -log(exp(-largest) - exp(-z) + exp(-g)), written such that
    nothing overflows and no digits cancel (Kool et al., appendix B.3).
    """
    noise = logs + rng.gumbel(size=len(logs))
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    tops = np.repeat(np.maximum.reduceat(noise, starts), np.diff(starts, append=len(owners)))
    with np.errstate(divide="ignore"):
        v = largest - noise + np.log(-np.expm1(noise - tops))
    values: FloatArray = largest - np.maximum(v, 0.0) - np.log1p(np.exp(-np.abs(v)))
    return values


# ---------------------------------------------------------------------- two kinds of ways


class _Linked(NamedTuple):
    """A row that others share the rest of: its last item, and what is before it."""

    item: int
    rest: "_Linked | None"


class _Derivation(NamedTuple):
    """The places chosen so far, and the nodes that are still to be derived, the next one last."""

    places: _Linked | None
    nodes: _Linked | None


@dataclass(frozen=True)
class ForestWays(Ways):
    """Derivations of a forest, top-down: at each node its edges are the choices."""

    log_weights: list[float]
    """log p(edge | node) of each place."""
    stars: list[int]
    tails: list[int]
    tail_offsets: list[int]
    top: int

    @classmethod
    def of(
        cls, scores: FloatArray, inside: FloatArray, arrays: Sequence[IntArray], top: int
    ) -> "ForestWays":
        """From the scores of the places, the inside sums of the nodes, and what is of a layout."""
        stars, tails, tail_offsets = arrays
        n_tails = np.diff(tail_offsets)
        below = np.zeros(len(scores))
        np.add.at(below, np.repeat(np.arange(len(scores)), n_tails), inside[tails])
        heads = np.repeat(np.arange(len(stars) - 1), np.diff(stars))
        total = scores + below
        # What cannot be derived is -inf as a head, too.
        logs = np.full(len(scores), -np.inf)
        np.subtract(total, inside[heads], out=logs, where=total > -np.inf)
        return cls(logs.tolist(), stars.tolist(), tails.tolist(), tail_offsets.tolist(), top)

    def root(self) -> _Derivation:
        """The root is to be derived."""
        return self._onwards(_Derivation(None, _Linked(self.top, None)))

    def has_ended(self, way: _Derivation) -> bool:
        """Whether no node is left."""
        return way.nodes is None

    def branches(self, ways: Sequence[_Derivation]) -> Branches:
        """The edges of the next node of each."""
        owners, logs, found = [], [], []
        for owner, way in enumerate(ways):
            assert way.nodes is not None
            for place in self._choices(way.nodes.item):
                owners.append(owner)
                logs.append(self.log_weights[place])
                found.append(self._onwards(self._with(way, place)))
        return Branches(np.array(owners), np.array(logs), found)

    def places(self, way: _Derivation) -> IntArray:
        """The places of a whole derivation, in preorder."""
        found, link = [], way.places
        while link is not None:
            found.append(link.item)
            link = link.rest
        return np.array(found[::-1], dtype=np.int64)

    def _choices(self, node: int) -> list[int]:
        places = range(self.stars[node], self.stars[node + 1])
        return [place for place in places if self.log_weights[place] > -np.inf]

    def _with(self, way: _Derivation, place: int) -> _Derivation:
        assert way.nodes is not None
        nodes = way.nodes.rest
        for at in range(self.tail_offsets[place + 1] - 1, self.tail_offsets[place] - 1, -1):
            nodes = _Linked(self.tails[at], nodes)
        return _Derivation(_Linked(place, way.places), nodes)

    def _onwards(self, way: _Derivation) -> _Derivation:
        """As far as there is only one choice."""
        while way.nodes is not None and len(choices := self._choices(way.nodes.item)) == 1:
            way = self._with(way, choices[0])
        return way


@dataclass(frozen=True)
class WordWays(Ways):
    """Structures in which one part out of some is chosen for each word, as its tag or its arc.

    Every structure has exactly one part of each row of `choices`, and no two structures have the
    same of all. Those that have a part are the ones that are left when the others of its row are
    forbidden, so each beginning is an inference.
    """

    make: Callable[[IntArray], Structures]
    """The sets of sentences of some numbers of words."""
    n_words: int
    scores: FloatArray
    choices: Sequence[IntArray]

    def root(self) -> tuple[int, ...]:
        """No part."""
        return ()

    def has_ended(self, way: tuple[int, ...]) -> bool:
        """Whether there is a part of every row."""
        return len(way) == len(self.choices)

    def branches(self, ways: Sequence[tuple[int, ...]]) -> Branches:
        """The parts of the next row, of ways that are all of one length."""
        chosen = np.array(ways, dtype=np.int64)
        here = self.choices[chosen.shape[1]]
        logs = np.concatenate([self._logs(rows, here) for rows in self._blocks(chosen)])
        owners, options = np.nonzero(logs > -np.inf)
        parts = here[options].tolist()
        longer = [(*ways[owner], part) for owner, part in zip(owners.tolist(), parts, strict=True)]
        return Branches(owners, logs[owners, options], longer)

    def read(self, ways: Sequence[tuple[int, ...]]) -> list[Structure]:
        """The one structure that is left on each way."""
        chosen = np.array(ways, dtype=np.int64).reshape(len(ways), len(self.choices))
        found: list[Structure] = []
        for rows in self._blocks(chosen):
            found += self._alike(len(rows)).argmax(self._given(rows).ravel()).structures
        return found

    def _alike(self, n_sentences: int) -> Structures:
        return self.make(np.full(n_sentences, self.n_words))

    def _blocks(self, chosen: IntArray) -> list[IntArray]:
        n_rows = max(1, MOST_PARTS // len(self.scores))
        return [chosen[first : first + n_rows] for first in range(0, len(chosen), n_rows)]

    def _given(self, chosen: IntArray) -> FloatArray:
        """The scores on each way, (n_ways, n_parts): -inf for what was not chosen."""
        rows = np.tile(self.scores, (len(chosen), 1))
        each = np.arange(len(chosen))
        for parts, part in zip(self.choices, chosen.T, strict=False):
            scores = rows[each, part]
            rows[:, parts] = -np.inf
            rows[each, part] = scores
        return rows

    def _logs(self, chosen: IntArray, here: IntArray) -> FloatArray:
        """log p(part | way), (n_ways, n_choices)."""
        rows = self._given(chosen)
        copies = self._alike(len(rows))
        inference = copies.infer(rows.ravel())
        marginals = inference.marginals.reshape(rows.shape)[:, here]
        is_small: BoolArray = (marginals < SMALL) & (rows[:, here] > -np.inf)
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(marginals)
        if is_small.any():
            best = copies.max_marginals(rows.ravel()).reshape(rows.shape)[:, here]
            logs[is_small] = -np.inf
            for way, option in np.argwhere(is_small & (best > -np.inf)).tolist():
                row = rows[way].copy()
                row[here] = -np.inf
                row[here[option]] = rows[way, here[option]]
                inner = self._alike(1).infer(row).log_partition[0]
                logs[way, option] = inner - inference.log_partition[way]
        return logs


def distinct_by_words(
    structures: Structures,
    scores: FloatArray,
    make: Callable[[IntArray], Structures],
    choices: Callable[[int], Sequence[IntArray]],
    size: int,
    rng: np.random.Generator,
) -> list[list[Structure]]:
    """`sample_distinct` for structures that are told apart by the parts of their words.

    `make` gives the sets of sentences of some numbers of words, and `choices` for one of them the
    rows of parts of `WordWays`.
    """
    samples = []
    sentences = zip(
        structures.n_words.tolist(), pieces(scores, structures.part_offsets), strict=True
    )
    for n_words, mine in sentences:
        one = make(np.array([n_words]))
        inference = one.infer(mine)
        if _are_many(one, mine, inference, size):
            samples.append(_first_different(one, mine, inference, size, rng))
        else:
            ways = WordWays(make, n_words, mine, choices(n_words))
            samples.append(ways.read(ways.distinct(size, rng)))
    return samples


def _are_many(one: Structures, scores: FloatArray, inference: Inference, size: int) -> bool:
    """Whether any `size` - 1 structures of a sentence leave enough to draw another one soon.

    Asked of the distribution, not of draws: to give up after some would favour what they were.
    """
    # A probability may be larger than the difference says, by what sums of large scores lose.
    largest = np.abs(scores[scores > -np.inf]).max(initial=0.0)
    with np.errstate(over="ignore"):
        lost = 2.0 * np.finfo(np.float64).eps * float(one.n_words[0]) ** 2 * largest
    total = inference.log_partition[0] - lost
    most = 1.0 - 1.0 / MOST_DRAWS
    if (size - 1) * np.exp(min(one.argmax(scores).scores[0] - total, 0.0)) <= most:
        return True
    best = np.array([score for _, score in one.k_best(scores, size - 1)[0]])
    return bool(np.exp(np.minimum(best - total, 0.0)).sum() <= most)


def _first_different(
    one: Structures, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
) -> list[Structure]:
    """Of independent samples of a sentence the first `size` that differ, in the order drawn."""
    found: dict[tuple[bytes, ...], Structure] = {}
    while len(found) < size:
        (drawn,) = one.sample(scores, inference, size - len(found), rng)
        rows = zip(*drawn, strict=True) if isinstance(drawn, tuple) else drawn
        for row in rows:
            fields = row if isinstance(row, tuple) else (row,)
            found.setdefault(tuple(field.tobytes() for field in fields), row)
    return list(found.values())
