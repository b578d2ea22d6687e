"""`partita inspect MODEL`: what a model is, and on request what it has learnt."""

import os
from collections.abc import Iterator
from typing import Any

from partita.cli.answers import check_counts
from partita.cli.models import Model, load_model
from partita.cli.options import Commands, Options, add_command, say
from partita.cli.results import add_json, report_measures, write_results

N_FEATURES = 10
LONGEST = 70
"""Characters of a fact, unless everything is asked for."""


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "inspect", run, "show what a model is, and what it has learnt")
    parser.add_argument("model", metavar="MODEL", help="file that train wrote")
    parser.add_argument(
        "--all", action="store_true", help="also its options, and what it has learnt in detail"
    )
    parser.add_argument(
        "-n",
        "--n-features",
        type=int,
        metavar="N",
        help=f"features, words or rules to show of each kind, with --all (default: {N_FEATURES})",
    )
    add_json(parser)


def run(options: Options) -> None:
    """Print the model."""
    check_counts(options, ("n_features",))
    model = load_model(options.model)
    report = model.estimator.inspect(options.n_features or N_FEATURES)
    measures = {
        "file": model.path,
        "kind": model.kind,
        "column": model.column,
        "options": model.header.get("options", {}),
        **report_measures(report),
    }
    wants_all = options.all or options.n_features is not None
    write_results(options, measures, lambda _: _lines(model, report, wants_all))
    if not wants_all and not options.json:
        say("--all shows its options, and what it has learnt in detail")


def _lines(model: Model, report: Any, wants_all: bool) -> Iterator[str]:
    facts = {"file": f"{model.path}, {_size(os.path.getsize(model.path))}", "kind": model.kind}
    if model.column is not None:
        scheme = f", in {model.scheme}" if model.scheme else ""
        facts["tags from"] = f"column {model.column!r}{scheme}"
    shown = {name: _fact(value, wants_all) for name, value in report.facts().items()}
    width = max(map(len, (*facts, *shown)))
    yield from (f"{name.ljust(width)}  {value}" for name, value in {**facts, **shown}.items())
    if not wants_all:
        return
    yield ""
    yield "options: " + _options(model.header.get("options", {}))
    for table in report.tables():
        yield ""
        yield str(table)


def _fact(value: Any, wants_all: bool) -> str:
    text = value if isinstance(value, str) else f"{value:,}"
    # What counts comes first: "28: acl, advcl, ...".
    is_list = text.count(", ") > 8
    return text if wants_all or len(text) <= LONGEST or not is_list else text[:LONGEST] + " ..."


def _size(n_bytes: int) -> str:
    """Bytes as people read them.

    >>> _size(1_900_000), _size(300)
    ('1.9 MB', '300 bytes')
    """
    for unit, name in ((1_000_000, "MB"), (1_000, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes} bytes"


def _options(options: dict[str, Any]) -> str:
    given = {name: value for name, value in options.items() if value not in (None, {}, [])}
    return ", ".join(f"{name}={_short(value)}" for name, value in given.items())


def _short(value: Any) -> str:
    # An option with options of its own, such as the model of an aligner.
    if isinstance(value, dict) and "class" in value:
        return f"{value['class']}({_options(value['options'])})"
    text = str(value)
    return text if len(text) <= 40 else text[:40] + "..."
