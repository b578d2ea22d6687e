"""Results for people, as text, or for programs, as one JSON object (`--json`)."""

import argparse
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from partita.cli.options import Options, write

Measures = Mapping[str, Any]
"""Numbers, text, lists and dictionaries of them, by name."""


def add_json(parser: argparse.ArgumentParser) -> None:
    """For commands whose results are read by programs, too."""
    parser.add_argument(
        "--json", action="store_true", help="write one JSON object, for programs, instead of text"
    )


def write_results(
    options: Options, measures: Measures, lines: Callable[[Any], Iterable[str]]
) -> None:
    """What was found: as JSON if that is asked for, else in lines that people read."""
    if options.json:
        write(json.dumps(plain(measures), ensure_ascii=False, indent=2, allow_nan=False))
        return
    for line in lines(measures):
        write(line)


def plain(value: Any) -> Any:
    """A value as JSON has it: named tuples and dataclasses as objects, NumPy's numbers and arrays
    as numbers and lists, no infinity.

    >>> plain({"a": float("nan"), "b": (1, 2)})
    {'a': None, 'b': [1, 2]}
    """
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(map(plain, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def report_measures(report: Any) -> Measures:
    """A report of an estimator: its facts by name, and its tables."""
    tables = [
        {"title": table.title, "columns": table.header, "rows": table.rows}
        for table in report.tables()
    ]
    return {"facts": report.facts(), "tables": tables}


def percent(share: float) -> str:
    """A share in percent, with two digits; - for none.

    >>> percent(0.5), percent(float("nan"))
    ('50.00', '-')
    """
    return f"{100 * share:.2f}" if share == share else "-"


def counted(n_gold: int, n_found: int, n_right: int) -> Measures:
    """Counts of something that was to be found, with precision, recall and F1; NaN for 0 of 0.

    >>> counted(4, 2, 1)["recall"]
    0.25
    """
    shares = (n_right, n_found), (n_right, n_gold), (2 * n_right, n_gold + n_found)
    precision, recall, f1 = (a / b if b else float("nan") for a, b in shares)
    return {
        "gold": n_gold,
        "found": n_found,
        "right": n_right,
        "precision": precision,
        "recall": recall,
        "f1": f1,
    }
