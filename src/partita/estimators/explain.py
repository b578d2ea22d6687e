"""What a model has learnt and why it decided: reports of facts and tables, as text and as HTML."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from partita.training import TrainingResult

Cell = str | int | float


class Table(NamedTuple):
    """Rows under a title; numbers are set to the right."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]

    def __str__(self) -> str:
        return "\n".join(_as_text(self))


class Report(ABC):
    """Something to be read, by `str()` in a terminal and as HTML in a notebook."""

    @abstractmethod
    def facts(self) -> dict[str, Cell]:
        """The few lines that a person wants first."""

    @abstractmethod
    def tables(self) -> Sequence[Table]:
        """The rest."""

    def __str__(self) -> str:
        width = max(map(len, self.facts()), default=0)
        lines = [f"{name.ljust(width)}  {shown(value)}" for name, value in self.facts().items()]
        for table in self.tables():
            lines += ["", str(table)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        first = next(iter(self.facts().values()), "")
        return f"{type(self).__name__}({shown(first)}; print it for the rest)"

    def _repr_html_(self) -> str:
        return facts_html(self.facts()) + "".join(map(_as_html, self.tables()))


def facts_html(facts: Mapping[str, Cell]) -> str:
    """Facts as a table of two columns.

    >>> facts_html({"tags": 3}).replace(" style='text-align:left'", "")
    '<table><tr><th>tags</th><td>3</td></tr></table>'
    """
    rows = (
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(shown(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table>{''.join(rows)}</table>"


def shown(value: Cell) -> str:
    """A value as people read it.

    >>> shown(1234567), shown(0.25), shown("NOUN")
    ('1,234,567', '+0.250', 'NOUN')
    """
    if isinstance(value, str):
        return value
    return f"{value:+.3f}" if isinstance(value, float) else f"{value:,}"


def _as_text(table: Table) -> list[str]:
    rows = [[shown(cell) for cell in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.header, *rows, strict=True)]
    numeric = [
        any(not isinstance(row[index], str) for row in table.rows)
        for index in range(len(table.header))
    ]

    def line(cells: Iterable[str]) -> str:
        fields = zip(cells, widths, numeric, strict=True)
        return "  ".join(c.rjust(w) if number else c.ljust(w) for c, w, number in fields).rstrip()

    return [table.title, line(table.header), *map(line, rows)]


def _as_html(table: Table) -> str:
    def row(cells: Iterable[Cell], tag: str) -> str:
        found = (
            f"<{tag} style='text-align:{'left' if isinstance(cell, str) else 'right'}'>"
            f"{escape(shown(cell))}</{tag}>"
            for cell in cells
        )
        return f"<tr>{''.join(found)}</tr>"

    body = "".join(row(cells, "td") for cells in table.rows)
    head = row(table.header, "th")
    return f"<p>{escape(table.title)}</p><table>{head}{body}</table>"


def run_facts(training: TrainingResult, what: str) -> dict[str, Cell]:
    """How a training ended, and how good the model was on held-out data; `what` is counted there.

    >>> from partita.training import minimise
    >>> import numpy as np
    >>> run_facts(minimise(lambda w: (float(w @ w), 2 * w), np.ones(1)), "wrong tags")["held out"]
    'nothing, so that nobody knows how good it is; see `partita evaluate`'
    """
    judged = [each.held_out for each in training.history if not math.isnan(each.held_out)]
    good = f"{min(judged):.4g} {what}, at best" if judged else NOT_JUDGED
    return {"training": training.reason, "held out": good}


NOT_JUDGED = "nothing, so that nobody knows how good it is; see `partita evaluate`"


class Contribution(NamedTuple):
    """What one feature adds to the lead of the answer over the runner-up."""

    place: str
    """The word or arc that has the feature."""
    feature: str
    value: float


class Decision(NamedTuple):
    """An answer, its best rival, and their probabilities."""

    question: str
    answer: str
    rival: str
    probability: float
    rival_probability: float


def netted(found: Iterable[Contribution]) -> tuple[Contribution, ...]:
    """Equal features of a place summed, those that tell nothing left out, the largest first.

    >>> netted(
    ...     [Contribution("a", "x", 1.0), Contribution("a", "y", 2.0), Contribution("a", "x", -1.0)]
    ... )
    (Contribution(place='a', feature='y', value=2.0),)
    """
    sums: dict[tuple[str, str], list[float]] = {}
    for place, feature, value in found:
        sums.setdefault((place, feature), []).append(value)
    totals = [Contribution(*key, math.fsum(values)) for key, values in sums.items()]
    return tuple(sorted((t for t in totals if t.value), key=lambda each: -abs(each.value)))


class Explanation(Report):
    """Why a decision was taken: the best structure against the best one that decides otherwise."""

    decision: Decision
    contributions: tuple[Contribution, ...]
    """Of every feature that tells the two apart, the largest first."""

    @property
    def difference(self) -> float:
        """Score of the best structure minus that of the other: the contributions' exact sum."""
        return math.fsum(value for _, _, value in self.contributions)

    def facts(self) -> dict[str, Cell]:
        """The decision and its rival."""
        question, answer, rival, probability, rival_probability = self.decision
        return {
            "question": question,
            "answer": f"{answer} (p = {probability:.4f})",
            "runner-up": f"{rival} (p = {rival_probability:.4f})",
            "lead of the answer": self.difference,
        }

    def __repr__(self) -> str:
        question, answer, rival, probability, rival_probability = self.decision
        odds = f"{answer} (p = {probability:.4f}) against {rival} (p = {rival_probability:.4f})"
        return f"{type(self).__name__}({question}: {odds})"

    def tables(self) -> Sequence[Table]:
        """What made the difference."""
        rows = [(value, place, feature) for place, feature, value in self.contributions]
        return [Table("What made the difference:", ("lead", "at", "feature"), rows)]
