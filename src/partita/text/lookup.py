"""Trained templates as arrays, with which one call of a kernel finds the attributes of words."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partita.arrays import IntArray
from partita.kernels.features import lookup as kernels
from partita.kernels.features.keys import ABSENT
from partita.structures.batch import offsets
from partita.text.attributes import Attributes
from partita.text.column_views import ColumnViews
from partita.text.fields import Template
from partita.text.keys import Combination, JoinedTables, KeyTable
from partita.text.words import Words

IdArray = NDArray[np.int32]


class ViewPlace(NamedTuple):
    """Where the codes of a view stand among those of a value, and how many they are."""

    column: int
    first: int
    n_codes: int


class ViewedWords:
    """The words of some sentences by the codes of all views of their columns.

    >>> seen = {"FORM": ColumnViews(["the", "The", "dog"], ["lower", "capital"])}
    >>> from partita.text.words import read_words
    >>> viewed = ViewedWords(read_words([["dog", "The"]]), seen, reach=1)
    >>> viewed.places["FORM", "capital"], viewed.words.numbers
    (ViewPlace(column=0, first=1, n_codes=1), array([[0, 1]]))
    >>> viewed.words.codes.reshape(-1, 2)  # of both values, and of what lies before and behind
    array([[ 1, -1],
           [ 0,  0],
           [ 2,  1],
           [ 3,  2]], dtype=int32)
    """

    def __init__(self, words: Words, seen: Mapping[str, ColumnViews], reach: int) -> None:
        self.places: dict[tuple[str, str], ViewPlace] = {}
        codes: list[NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)]
        n_codes, n_values, widths = [0], [], []
        for number, (name, views) in enumerate(seen.items()):
            values = words.columns[name].values
            rows = views.rows(values)
            # What lies beyond has a place even where a view sees nothing.
            rows = rows.with_room(dict.fromkeys(rows.columns, 1))
            for view, (start, end) in rows.columns.items():
                self.places[name, view] = ViewPlace(number, start, end - start)
            n_inside, width = rows.codes.shape
            beyond = np.full((2 * reach, width), ABSENT, dtype=np.int32)
            # What lies beyond is one thing, even for a view that sees several.
            sizes = np.array([len(views.values[view]) for view in rows.columns], dtype=np.int64)
            firsts = [start for start, _ in rows.columns.values()]
            beyond[:, firsts] = sizes + np.arange(2 * reach)[:, None]
            codes += [rows.codes.ravel(), beyond.ravel()]
            n_codes.append(rows.codes.size + beyond.size)
            n_values.append(n_inside)
            widths.append(width)
        self.words = kernels.CodedWords(
            offsets(words.n_words),
            np.array([words.columns[name].numbers for name in seen], dtype=np.int64),
            np.array(n_values, dtype=np.int64),
            np.concatenate(codes),
            np.cumsum(n_codes)[:-1],
            np.array(widths, dtype=np.int64),
            reach,
        )


class TemplateLookup:
    """The attributes of words by some templates: all of those of words, or of transitions."""

    def __init__(
        self,
        templates: Sequence[Template],
        combinations: Sequence[Combination],
        tables: Sequence[KeyTable],
    ) -> None:
        self._templates = tuple(templates)
        self._tables = JoinedTables(combinations, tables).tables
        self._steps: list[list[tuple[int, int, int]]] = []
        """For each field of each template its size, and which keys are replaced before it."""
        first = 0
        for combination in combinations:
            steps = []
            for size, ranked in combination.steps():
                replaced = (-1, -1) if ranked is None else (first, first + len(ranked))
                first = max(replaced[1], first)
                steps.append((size, *replaced))
            self._steps.append(steps)
        self._plans: dict[tuple[ViewPlace, ...], _Plan] = {}

    def attributes(self, viewed: ViewedWords, *, skipped: int = 0) -> Attributes:
        """Those of each word, but for the first `skipped` of each sentence, which have no rows."""
        n_rows = int(np.maximum(np.diff(viewed.words.offsets) - skipped, 0).sum())
        arguments, room = self.arguments(viewed, n_rows)
        starts = np.empty(n_rows + 1, dtype=np.int64)
        kernels.attributes(viewed.words, skipped, *arguments, starts, room)
        # A copy, so that nothing holds the room of what is absent.
        return Attributes(room[: starts[-1]].copy(), starts)

    def arguments(
        self, viewed: ViewedWords, n_rows: int
    ) -> tuple[tuple[kernels.Places, kernels.Units, kernels.Slots, kernels.Tables], IdArray]:
        """What the kernel needs beside the words, and room for the numbers of so many."""
        plan = self._plan(viewed.places)
        room = np.empty(n_rows * len(plan.slots.template) + 1, dtype=np.int32)
        return (*plan, self._tables), room

    def _plan(self, places: Mapping[tuple[str, str], ViewPlace]) -> "_Plan":
        """What is looked at; words can have more to see at once than those of training had."""
        key = tuple(places.values())
        plan = self._plans.get(key)
        if plan is None:
            plan = self._made(places)
            self._plans = {key: plan}
        return plan

    def _made(self, views: Mapping[tuple[str, str], ViewPlace]) -> "_Plan":
        places: dict[tuple[int, int], int] = {}
        slots: list[tuple[int, int, int]] = []
        units: list[tuple[int, int, int]] = []
        fields: list[tuple[int, ...]] = []
        bounds = [0]
        for number, template in enumerate(self._templates):
            seen = [views[str(field.column), field.view] for field in template.fields]
            looks = [
                places.setdefault((view.column, field.offset), len(places))
                for view, field in zip(seen, template.fields, strict=True)
            ]
            for row in range(max((view.n_codes for view in seen), default=1)):
                # A field that sees one thing sees it beside each of several.
                codes = [view.first + (row if view.n_codes > 1 else 0) for view in seen]
                if len(seen) == 1:
                    slots.append((number, len(units), looks[0]))
                    units.append((number, seen[0].column, codes[0]))
                else:
                    slots.append((number, -1, -1))
                    fields += [
                        (look, code, *step)
                        for look, code, step in zip(looks, codes, self._steps[number], strict=True)
                    ]
                bounds.append(len(fields))
        template, unit, place = _columns(slots, 3)
        return _Plan(
            kernels.Places(*_columns(list(places), 2)),
            kernels.Units(*_columns(units, 3)),
            kernels.Slots(
                template, unit, place, np.array(bounds, dtype=np.int64), *_columns(fields, 5)
            ),
        )


class _Plan(NamedTuple):
    places: kernels.Places
    units: kernels.Units
    slots: kernels.Slots


def _columns(rows: Sequence[tuple[int, ...]], n_columns: int) -> IntArray:
    """An array for each column."""
    found: IntArray = np.array(rows, dtype=np.int64).reshape(-1, n_columns).T.copy()
    return found
