"""What views see at the ends of texts, for many of them by one call of a kernel.

Of words that training did not have most views see beginnings and ends: to cut each of them off and
to look for it in a dictionary took half of all that there was to do for a new word.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partita.kernels.features import affixes as kernels
from partita.kernels.features.hash import fnv1a
from partita.structures.batch import offsets
from partita.text.keys import JoinedTables, KeyTable
from partita.text.views import ViewedTexts

WHOLE = 2**62
"""The size of what no text is longer than."""
AFFIX = re.compile(r"(?:(?P<before>.*)\.)?(?P<name>prefix|suffix|cut|end)(?P<size>[1-9]\d*)")


class Affix(NamedTuple):
    """What a view sees of another."""

    before: str
    """The view of which it sees a part."""
    size: int
    is_last: bool = False
    is_inside: bool = False

    @classmethod
    def of(cls, view: str) -> "Affix | None":
        """From the name of a view; None for one that sees something else.

        >>> Affix.of("lower.suffix3"), Affix.of("shape")
        (Affix(before='lower', size=3, is_last=True, is_inside=True), None)
        """
        found = AFFIX.fullmatch(view)
        if found is None:
            return None
        name, size = found["name"], min(int(found["size"]), WHOLE)
        return cls(
            found["before"] or "", size, name in ("suffix", "end"), name in ("prefix", "suffix")
        )


class AffixNumbers:
    """The numbers of values that views see at the ends of texts.

    >>> numbers = AffixNumbers({"cut2": {"do": 0, "ca": 1}, "shape": {"x": 0}})
    >>> numbers.of(ViewedTexts(["cat", "a", "do"]))
    {'cut2': array([[ 1, -1,  0]], dtype=int32)}
    """

    def __init__(self, values: Mapping[str, Mapping[str | None, int]]) -> None:
        """`values` are those of each view in the order of their numbers, which count from 0."""
        affixes = {view: affix for view in values if (affix := Affix.of(view)) is not None}
        befores = {affix.before for affix in affixes.values()}
        # That of which others see a part is the part that is all of it.
        affixes |= {view: Affix(view, WHOLE) for view in befores & values.keys() - {""}}
        self._groups = {
            before: _Group(
                {view: affix for view, affix in affixes.items() if affix.before == before}, values
            )
            for before in sorted(befores)
        }

    def of(self, texts: ViewedTexts) -> dict[str, NDArray[np.int32]]:
        """For views that see no more than ends of texts, a number for each text, (1, n)."""
        found: dict[str, NDArray[np.int32]] = {}
        for before, group in self._groups.items():
            seen = texts.seen_by(before)
            if None not in seen:
                found |= group.numbers(seen)  # type: ignore[arg-type]
        return found


class _Group:
    """Views that see parts of the same."""

    def __init__(
        self, affixes: Mapping[str, Affix], values: Mapping[str, Mapping[str | None, int]]
    ) -> None:
        views, tables, texts = [], [], []
        for view in affixes:
            known = [value for value in values[view] if value is not None]
            keys = _keys(known)
            order = np.argsort(keys)
            # Hardly ever do two values have the same hash: that view is looked at otherwise.
            if (np.diff(keys[order]) > 0).all():
                views.append(view)
                tables.append(KeyTable(keys[order], order.astype(np.int32), 2**63))
                texts.append(known)
        self._views = tuple(views)
        self._tables = JoinedTables([], tables).tables
        self._values = _texts([value for each in texts for value in each])
        self._affixes = kernels.Affixes(
            np.array([affixes[view].size for view in views], dtype=np.int64),
            np.array([affixes[view].is_last for view in views], dtype=np.bool_),
            np.array([affixes[view].is_inside for view in views], dtype=np.bool_),
            offsets(np.array([len(each) for each in texts], dtype=np.int64)),
        )

    def numbers(self, seen: Sequence[str]) -> dict[str, NDArray[np.int32]]:
        """For each view the numbers of its values."""
        out = np.empty((len(self._views), len(seen)), dtype=np.int32)
        # The hash is meant to wrap around.
        with np.errstate(over="ignore"):
            kernels.find(_texts(seen), self._affixes, self._tables, self._values, out)
        return {view: out[[place]] for place, view in enumerate(self._views)}


def _texts(texts: Sequence[str]) -> kernels.Texts:
    # Text that was read with surrogates in place of broken bytes has code points, too.
    points = "".join(texts).encode("utf-32-le", "surrogatepass")
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    return kernels.Texts(np.frombuffer(points, dtype="<u4"), offsets(lengths))


def _keys(texts: Sequence[str]) -> NDArray[np.int64]:
    points, ends = _texts(texts)
    out = np.empty(len(texts), dtype=np.uint64)
    with np.errstate(over="ignore"):
        fnv1a(points, ends[1:], out)
    return (out >> np.uint64(1)).astype(np.int64)
