"""MALLET's expectation constraints: the tags that a feature should have, with probabilities.

One constraint a line, separated by blanks or tabs:

    w=the DET=0.99 PRON=0.01

A feature may contain "=", and so may a tag: a probability is what follows the last one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from partita.data.errors import DataError, shown
from partita.data.text import read_text, source_name, write_text
from partita.files import StrPath

MOST_ROUNDING = 0.005
"""What each probability of a constraint may be off by; files give two to four digits."""


@dataclass(frozen=True)
class ExpectationConstraint:
    """Among the words that have `feature`, the share of each tag.

    `targets` are the numbers of the file; `distribution` is them divided by their sum, which
    rounding may have moved from 1.

    >>> constraint = ExpectationConstraint("w=the", {"DET": 0.99, "PRON": 0.01})
    >>> constraint.distribution["DET"]
    0.99
    """

    feature: str
    targets: Mapping[str, float]
    source: str = field(default="<memory>", compare=False)
    line: int = field(default=1, compare=False)

    @property
    def distribution(self) -> dict[str, float]:
        """The targets, divided by their sum.

        >>> ExpectationConstraint("w=the", {"DET": 0.74, "PRON": 0.24}).distribution[
        ...     "DET"
        ... ].__round__(3)
        0.755
        """
        total = sum(self.targets.values())
        return {tag: target / total for tag, target in self.targets.items()}


def read_constraints(path: StrPath) -> list[ExpectationConstraint]:
    """The constraints of a file; `-` is standard input, and `.gz` is decompressed.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "constraints.txt"
    >>> _ = path.write_text("w=the DET=0.99 PRON=0.01")
    >>> read_constraints(path)[0].targets["DET"]
    0.99
    """
    return parse_constraints(read_text(path), source_name(path))


def parse_constraints(text: str, source: str = "<text>") -> list[ExpectationConstraint]:
    r"""The constraints of a text; blank lines are skipped.

    >>> parse_constraints("w=the DET=1\n")[0].targets
    {'DET': 1.0}
    """
    constraints: list[ExpectationConstraint] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        constraint = _constraint(line, source, number)
        if constraint.feature in lines:
            raise DataError(
                source,
                number,
                f"a second constraint on {shown(constraint.feature)}, after the one in line "
                f"{lines[constraint.feature]}; expected one for each feature. Remove one of them.",
            )
        lines[constraint.feature] = number
        constraints.append(constraint)
    return constraints


def _constraint(line: str, source: str, number: int) -> ExpectationConstraint:
    feature, *items = line.replace("\t", " ").strip(" ").split(" ")
    targets: dict[str, float] = {}
    for item in filter(None, items):
        tag, target = _target(item, source, number)
        if tag in targets:
            raise DataError(
                source,
                number,
                f"the tag {shown(tag)} came twice; expected once. Remove one of them.",
            )
        targets[tag] = target
    if not targets:
        raise DataError(
            source,
            number,
            f"found the feature {shown(feature)} without tags; expected 'feature tag=probability "
            "...'. Add the probabilities of its tags, or remove the line.",
        )
    total = sum(targets.values())
    if abs(total - 1) > MOST_ROUNDING * len(targets):
        raise DataError(
            source,
            number,
            f"the probabilities of {shown(feature)} sum to {total:.4g}; expected 1. "
            "Correct them, and add the tags that are missing.",
        )
    return ExpectationConstraint(feature, targets, source, number)


def _target(item: str, source: str, number: int) -> tuple[str, float]:
    tag, sign, text = item.rpartition("=")
    try:
        target = float(text)
    except ValueError:
        target = -1.0
    if not (sign and tag and 0 <= target <= 1):
        raise DataError(
            source,
            number,
            f"found {shown(item)}; expected tag=probability, with a number from 0 to 1. "
            "Correct it.",
        )
    return tag, target


def write_constraints(path: StrPath, constraints: Iterable[ExpectationConstraint]) -> None:
    """Write a file in one step; `-` is standard output, and `.gz` is compressed.

    >>> write_constraints("-", [ExpectationConstraint("w=the", {"DET": 0.75, "PRON": 0.25})])
    w=the DET=0.75 PRON=0.25
    """
    write_text(path, constraints_text(constraints))


def constraints_text(constraints: Iterable[ExpectationConstraint]) -> str:
    r"""Constraints in MALLET's format; the numbers come back to the last bit.

    >>> constraints_text([ExpectationConstraint("w=the", {"DET": 0.75, "PRON": 0.25})])
    'w=the DET=0.75 PRON=0.25\n'
    """
    return "".join(map(_constraint_text, constraints))


def _constraint_text(constraint: ExpectationConstraint) -> str:
    names = [constraint.feature, *constraint.targets]
    if any(not name or set(name) & set(" \t\n\r") for name in names):
        raise ValueError(
            f"the constraint on {constraint.feature!r} has a name that is empty or contains a "
            "blank, which the format cannot hold; expected names without. Rename it."
        )
    targets = [f"{tag}={target!r}" for tag, target in constraint.targets.items()]
    return " ".join([constraint.feature, *targets]) + "\n"
