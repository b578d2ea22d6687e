"""Tagged sentences of word lattices: which sentence it is, and which tags its words have."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.chains import lattices as lattice_kernels
from partita.structures.base import (
    ALL_FORBIDDEN,
    Best,
    Inference,
    Structure,
    Structures,
    covariance_from_products,
)
from partita.structures.batch import offsets, pieces, whole_number
from partita.structures.lattice_layout import item_forest, lay_out
from partita.structures.lattices import WordLattice
from partita.structures.tied_forests import TiedForests


class LatticeParts(NamedTuple):
    """Something for every part of an item."""

    unary: Array
    """For each word that the lattices may offer and each tag, (n_choices, s)."""
    pairwise: Array
    """For each transition, [left tag, right tag], (s, s)."""
    start: Array
    """For each first tag, (s,); without `ends`, (0,)."""
    stop: Array
    """For each last tag, (s,); without `ends`, (0,)."""


class LatticeChains(Structures):
    """All sentences of some lattices with all their tags, out of `n_tags`.

    An item of the batch has a lattice, or several that are independent and share its parts: a tag
    at each of the words 0 to `n_choices` - 1, (n_choices, s), whichever place the word has in the
    sentence; transitions (s, s); with `ends`, scores of first and of last tags, (s,) each. Without
    `ends` these are the parts of `Chains` with shared transitions, a sentence of n_choices words;
    the lattice of one sentence has its log-partition, and that of a neighbourhood the log sum over
    all neighbours.

    A structure is an array of rows (lattice of the item, word, tag), in the order of the sentences.
    Log-partition and marginals cost O(states s² + arcs s + words s); the rest is asked of a
    hypergraph.

    >>> either = WordLattice([(0, 1, [0]), (0, 1, [1]), (1, 2, [2])], final=[2])  # 0 2, or 1 2
    >>> chains = LatticeChains([either], n_tags=3)
    >>> np.exp(chains.infer(np.zeros(chains.n_parts)).log_partition).round(9)  # 2 x 3 x 3
    array([18.])
    """

    def __init__(
        self,
        lattices: Sequence[WordLattice | Sequence[WordLattice]],
        n_tags: int,
        *,
        n_choices: Sequence[int] | None = None,
        ends: bool = False,
    ) -> None:
        self.items = [
            (given,) if isinstance(given, WordLattice) else tuple(given) for given in lattices
        ]
        self.n_tags, self.ends = whole_number("n_tags", n_tags, 1), ends
        self.n_choices = _checked_choices(self.items, n_choices)
        # A structure has the words of its path, of any number.
        self.n_words = np.zeros(len(self.items), dtype=np.int64)
        sizes = self.n_choices * n_tags + n_tags**2 + (2 * n_tags if ends else 0)
        self.part_offsets = offsets(sizes)
        self._shape = lay_out(self.items)

    def is_same_set(self, other: Self) -> bool:
        """The same lattices over the same parts."""
        mine = (self.n_tags, self.ends, self.n_choices.tolist())
        return mine == (other.n_tags, other.ends, other.n_choices.tolist()) and all(
            np.array_equal(a, b) for a, b in zip(self._shape, other._shape, strict=True)
        )

    def split(self, parts: Array) -> list[LatticeParts]:
        """Views of each item's part of a flat vector."""
        s, found = self.n_tags, []
        for mine, n in zip(pieces(parts, self.part_offsets), self.n_choices.tolist(), strict=True):
            unary, pairwise, start, stop = np.split(
                mine, [n * s, n * s + s * s, n * s + s * s + (s if self.ends else 0)]
            )
            found.append(LatticeParts(unary.reshape(n, s), pairwise.reshape(s, s), start, stop))
        return found

    def infer(self, scores: FloatArray) -> Inference:
        """Forward-backward over the states of each lattice, see `kernels.chains.lattices`."""
        log_partition, marginals = np.empty(self.n_sentences), np.empty(self.n_parts)
        lattice_kernels.infer(
            scores, self.part_offsets, self.n_tags, self.n_choices, self.ends, *self._shape,
            log_partition, marginals,
        )  # fmt: skip
        return Inference(log_partition, marginals)

    # ------------------------------------------------------------------ on hypergraphs

    @cached_property
    def _built(self) -> tuple[TiedForests, list[IntArray]]:
        """The same sets as hypergraphs, and the row of a structure that each edge writes."""
        built = [
            item_forest(item, int(n), self.n_tags, self.ends)
            for item, n in zip(self.items, self.n_choices, strict=True)
        ]
        forests = [tied for tied, _ in built]
        sizes = [tied.n_parts for tied in forests]
        return TiedForests(forests, sizes), [rows for _, rows in built]

    @property
    def forests(self) -> TiedForests:
        """The same sets, with the same parts; their derivations are edges, not rows."""
        return self._built[0]

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """On the hypergraphs."""
        return self.forests.covariance_product(scores, self.forests.infer(scores), direction)

    def covariance(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of each item, from products."""
        return covariance_from_products(self, scores, inference)

    def argmax(self, scores: FloatArray) -> Best:
        """On the hypergraphs."""
        best = self.forests.argmax(scores)
        return Best(
            [self._rows(item, found) for item, found in enumerate(best.structures)], best.scores
        )

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """On the hypergraphs."""
        return self.forests.max_marginals(scores)

    def count(self, allowed: BoolArray) -> list[int]:
        """That of the hypergraphs."""
        return self.forests.count(allowed)

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """On the hypergraphs."""
        return [
            [(self._rows(item, derivation), score) for derivation, score in found]
            for item, found in enumerate(self.forests.k_best(scores, k))
        ]

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """On the hypergraphs; a list per item, since sentences differ in length."""
        # Our own inference keeps nothing that the hypergraphs could go on from.
        found = self.forests.sample(scores, self.forests.infer(scores), size, rng)
        return [
            [self._rows(item, derivation) for derivation in drawn]
            for item, drawn in enumerate(found)
        ]

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """On the hypergraphs."""
        return [
            [self._rows(item, derivation) for derivation in drawn]
            for item, drawn in enumerate(self.forests.sample_distinct(scores, size, rng))
        ]

    def _rows(self, item: int, derivation: IntArray) -> IntArray:
        """A derivation, which goes from the end of each sentence to its beginning, as rows."""
        rows = self._built[1][item][derivation]
        rows = rows[rows[:, 0] >= 0][::-1]
        return rows[np.argsort(rows[:, 0], kind="stable")]

    def is_choice(self) -> BoolArray:
        """The tags, not the transitions, nor the ends."""
        is_choice = np.zeros(self.n_parts, dtype=np.bool_)
        for item in self.split(is_choice):
            item.unary[...] = True
        return is_choice

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """A part of every structure is forbidden; which ones is not known."""
        return ALL_FORBIDDEN

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """How often each tagged word, transition, and end occurs."""
        counts = np.zeros(self.n_parts)
        pairs = zip(self.split(counts), structures, strict=True)
        for item, (parts, given) in enumerate(pairs):
            rows = self._checked(item, given)
            lattice, word, tag = rows.T
            np.add.at(parts.unary, (word, tag), 1.0)
            follows = lattice[1:] == lattice[:-1]
            np.add.at(parts.pairwise, (tag[:-1][follows], tag[1:][follows]), 1.0)
            if self.ends:
                np.add.at(parts.start, tag[np.append(True, ~follows)], 1.0)
                np.add.at(parts.stop, tag[np.append(~follows, True)], 1.0)
        return counts

    def _checked(self, item: int, given: ArrayLike) -> IntArray:
        """A caller's rows, or an error that says which sentence no lattice has."""
        rows = np.asarray(given)
        if rows.ndim != 2 or rows.shape[1:] != (3,) or rows.dtype.kind not in "iu":
            raise ValueError(
                f"the structure of item {item} is an array of {rows.dtype} of shape {rows.shape}; "
                "expected (n, 3) whole numbers, rows (lattice of the item, word, tag)."
            )
        if not ((0 <= rows[:, 2]) & (rows[:, 2] < self.n_tags)).all():
            raise ValueError(
                f"the tags of item {item} range from {rows[:, 2].min()} to {rows[:, 2].max()}; "
                f"expected 0 to {self.n_tags - 1}."
            )
        if rows.size and (np.diff(rows[:, 0]) < 0).any():
            raise ValueError(
                f"the rows of item {item} are not in the order of its lattices; expected those of "
                "lattice 0 first."
            )
        for index, lattice in enumerate(self.items[item]):
            words = rows[rows[:, 0] == index, 1].tolist()
            if not _accepts(lattice, words):
                raise ValueError(
                    f"the words {words} are no sentence of lattice {index} of item {item}; "
                    "expected a path from state 0 to a final one."
                )
        return rows.astype(np.int64)


def _accepts(lattice: WordLattice, words: Sequence[int]) -> bool:
    steps = {
        (source, word): target
        for source, target, bundle in lattice.arcs.tolist()
        for word in lattice.bundles[bundle]
    }
    state = 0
    for word in words:
        if (state, word) not in steps:
            return False
        state = steps[state, word]
    return bool(lattice.is_final[state])


def _checked_choices(
    items: Sequence[Sequence[WordLattice]], n_choices: Sequence[int] | None
) -> IntArray:
    for index, item in enumerate(items):
        if not item:
            raise ValueError(f"item {index} has no lattice; expected one or more. Leave it out.")
    needed = [max(lattice.n_choices for lattice in item) for item in items]
    if n_choices is None:
        return np.array(needed, dtype=np.int64)
    if len(n_choices) != len(items):
        raise ValueError(
            f"{len(n_choices)} numbers of words came for {len(items)} items; expected one for each."
        )
    for index, (given, least) in enumerate(zip(n_choices, needed, strict=True)):
        if given < least:
            raise ValueError(
                f"n_choices[{index}] is {given}, but a lattice of the item offers word "
                f"{least - 1}; expected {least} or more."
            )
    return np.array(n_choices, dtype=np.int64)
