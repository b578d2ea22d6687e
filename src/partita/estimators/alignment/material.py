"""Sentences and their translations: read, checked, weighed; which are used, and why not others."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.data.alignments import Alignment
from partita.estimators.sample_weights import read_sample_weight
from partita.text.sentences import Tokens, one_each

Sentences = Iterable[Tokens]

REASONS = {
    "n_empty": "with an empty side",
    "n_long": "too long",
    "n_beyond": "with a target beyond the bound of its length",
    "n_repeated": "that came before",
    "n_unreachable": "not reachable by the grammar",
    "n_spare": "not needed",
}


@dataclass(frozen=True)
class PairCounts:
    """What became of the pairs of a bitext; those that are used are all but the others.

    >>> print(PairCounts(n_pairs=10, n_empty=1, n_long=2, n_unreachable=3))
    10 pairs: 4 used; skipped: 1 with an empty side, 2 too long, 3 not reachable by the grammar
    """

    n_pairs: int
    n_empty: int = 0
    n_long: int = 0
    """More words on a side than asked for."""
    n_beyond: int = 0
    """The target is longer than what the length of the source allows."""
    n_repeated: int = 0
    """Came before: stock phrases would teach that sentences are short and never inverted."""
    n_unreachable: int = 0
    """No derivation has the target."""
    n_spare: int = 0
    """There are enough without them."""

    @property
    def n_used(self) -> int:
        """Those that were learnt from."""
        return int(self.n_pairs - sum(getattr(self, name) for name in REASONS))

    def __str__(self) -> str:
        skipped = ", ".join(
            f"{getattr(self, name):,} {reason}"
            for name, reason in REASONS.items()
            if getattr(self, name)
        )
        text = f"{self.n_pairs:,} pairs: {self.n_used:,} used"
        return f"{text}; skipped: {skipped}" if skipped else text

    def together(self, other: "PairCounts") -> "PairCounts":
        """Of the pairs of both."""
        return PairCounts(**{name: own + getattr(other, name) for name, own in vars(self).items()})

    def plus(self, reason: str, count: int) -> "PairCounts":
        """With so many more pairs that are not used."""
        return replace(self, **{reason: getattr(self, reason) + count})


@dataclass(frozen=True, eq=False)
class PairMaterial:
    """Pairs to learn from, and how many of those that came are no longer among them.

    >>> pairs = read_pairs([["la"], [], ["la", "fleur"]], [["the"], ["a"], ["the", "flower"]])
    >>> short = pairs.full().short(1)
    >>> short.source, str(short.counts)
    ((('la',),), '3 pairs: 1 used; skipped: 1 with an empty side, 1 too long')
    """

    source: tuple[tuple[str, ...], ...]
    target: tuple[tuple[str, ...], ...]
    counts: PairCounts
    weights: FloatArray | None = None
    """What each pair counts; 1 if left out."""
    alignments: tuple[Alignment | None, ...] | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> tuple[IntArray, IntArray]:
        """Words of each source and target sentence."""
        source, target = (
            np.fromiter(map(len, side), np.int64, len(self)) for side in (self.source, self.target)
        )
        return source, target

    def select(self, places: Sequence[int] | IntArray, counts: PairCounts) -> "PairMaterial":
        """Some of the pairs, in the order of `places`."""

        def chosen(values: Any) -> Any:
            return None if values is None else tuple(values[int(place)] for place in places)

        return PairMaterial(
            chosen(self.source),
            chosen(self.target),
            counts,
            None if self.weights is None else self.weights[np.asarray(places, dtype=np.int64)],
            chosen(self.alignments),
        )

    def kept(self, is_kept: BoolArray, reason: str) -> "PairMaterial":
        """Without some pairs, which are counted under a reason."""
        n_left_out = int(len(self) - is_kept.sum())
        if not n_left_out:
            return self
        return self.select(np.flatnonzero(is_kept), self.counts.plus(reason, n_left_out))

    def full(self) -> "PairMaterial":
        """Those that have words on both sides."""
        n, m = self.lengths
        return self.kept((n > 0) & (m > 0), "n_empty")

    def short(self, most: int | None) -> "PairMaterial":
        """Those with at most so many words on either side; None for all."""
        n, m = self.lengths
        return self if most is None else self.kept(np.maximum(n, m) <= most, "n_long")

    def different(self) -> "PairMaterial":
        """Each pair once."""
        first: dict[Any, int] = {}
        for place, pair in enumerate(zip(self.source, self.target, strict=True)):
            first.setdefault(pair, place)
        is_kept = np.zeros(len(self), dtype=np.bool_)
        is_kept[list(first.values())] = True
        return self.kept(is_kept, "n_repeated")

    def thinned(self, most: int | None) -> "PairMaterial":
        """At most so many, evenly spread over all."""
        return self.kept(evenly(len(self), most), "n_spare")

    def chosen(self, bound: Callable[[IntArray], IntArray], most: int | None) -> "PairMaterial":
        """Those whose target is not longer than a bound, each once, and not too many."""
        n, m = self.lengths
        return self.kept(m <= bound(n), "n_beyond").different().thinned(most)

    def swapped(self) -> "PairMaterial":
        """The other way round, without alignments."""
        return PairMaterial(self.target, self.source, self.counts, self.weights)

    def whole(self) -> "PairMaterial":
        """The same pairs, as if these were all that came."""
        return replace(self, counts=PairCounts(len(self)))


def evenly(size: int, most: int | None) -> BoolArray:
    """Which to keep of so many, at most so many, evenly spread over all.

    >>> evenly(5, 2)
    array([ True, False, False, False,  True])
    """
    is_kept = np.ones(size, dtype=np.bool_)
    if most is not None and size > most:
        is_kept[:] = False
        is_kept[np.linspace(0, size - 1, most).astype(np.int64)] = True
    return is_kept


def read_pairs(
    source: Sentences,
    target: Sentences,
    *,
    alignments: Iterable[Alignment | None] | None = None,
    sample_weight: Sequence[float] | FloatArray | None = None,
) -> PairMaterial:
    """A caller's pairs, or an error that says what does not fit together."""
    one, two = checked_sentences("source", source), checked_sentences("target", target)
    check_alike(one, two)
    links = None
    if alignments is not None:
        links = tuple(one_each("alignments", alignments, "an Alignment or None for each pair"))
    if links is not None:
        check_links(one, two, links)
    weights = read_sample_weight(sample_weight, len(one))
    return PairMaterial(one, two, PairCounts(len(one)), weights, links)


def read_held_out(held_out: Sequence[Any] | None) -> PairMaterial | None:
    """A caller's held-out pairs: source and target sentences, which have words."""
    if held_out is None:
        return None
    held_out = one_each("held_out", held_out, "source and target sentences")
    if len(held_out) != 2:
        raise ValueError(
            f"held_out has {len(held_out)} parts; expected two, source and target sentences."
        )
    pairs = read_pairs(*held_out).full()
    if not len(pairs):
        raise ValueError("held_out has no pair with words on both sides; expected at least one.")
    return pairs


def checked_sentences(name: str, sentences: Sentences) -> tuple[tuple[str, ...], ...]:
    """A caller's sentences as tuples of words, or an error that says which one is none."""
    each = one_each(name, sentences, "the words of each sentence")
    return tuple(checked_sentence(name, index, words) for index, words in enumerate(each))


def checked_sentence(name: str, index: int, words: Tokens) -> tuple[str, ...]:
    """One of them."""
    if isinstance(words, str):
        raise ValueError(
            f"{name}[{index}] is the text {words!r}; expected a list of words. Split it."
        )
    return tuple(one_each(f"{name}[{index}]", words, "of words"))


def check_alike(source: Sequence[Any], target: Sequence[Any]) -> None:
    """As many sentences on both sides."""
    if len(source) != len(target):
        raise ValueError(
            f"there are {len(source)} source and {len(target)} target sentences; expected as many "
            "of each."
        )


def check_links(
    source: Sequence[Tokens], target: Sequence[Tokens], alignments: Sequence[Alignment | None]
) -> None:
    """An alignment or None for each pair, and no link outside its pair.

    A place below 0 would else be read from the end.
    """
    if len(alignments) != len(source):
        raise ValueError(
            f"there are {len(alignments)} alignments for {len(source)} pairs; expected one for "
            "each, None where it is not known."
        )
    for place, (a, b, gold) in enumerate(zip(source, target, alignments, strict=True)):
        for i, j in () if gold is None else gold.links:
            if not (0 <= i < len(a) and 0 <= j < len(b)):
                raise ValueError(
                    f"alignment {place} (counting from 0) has the link ({i}, {j}); its pair has "
                    f"{len(a)} source and {len(b)} target words. Expected positions from 0 on, the "
                    "source's first. Are the two sides swapped, or positions counted from 1?"
                )
