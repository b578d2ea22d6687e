"""`partita inspect MODEL`: what a model is, and what it has learnt."""

from collections.abc import Iterator
from typing import Any

from partita.cli.answers import check_counts
from partita.cli.models import Model, load_model
from partita.cli.options import Commands, Options, add_command
from partita.cli.results import add_json, report_measures, write_results


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "inspect", run, "show what a model has learnt")
    parser.add_argument("model", metavar="MODEL", help="file that train wrote")
    parser.add_argument(
        "-n",
        "--n-features",
        type=int,
        default=10,
        metavar="N",
        help="features (or words) to show for each tag (default: 10)",
    )
    add_json(parser)


def run(options: Options) -> None:
    """Print the model."""
    check_counts(options, ("n_features",))
    model = load_model(options.model)
    report = model.estimator.inspect(options.n_features)
    measures = {
        "file": model.path,
        "kind": model.kind,
        "column": model.column,
        "options": model.header.get("options", {}),
        **report_measures(report),
    }
    write_results(options, measures, lambda _: (*_about(model), "", str(report)))


def _about(model: Model) -> Iterator[str]:
    yield f"{model.path}: a model of kind {model.kind!r}"
    if model.column is not None:
        yield f"tags of column {model.column!r}" + (f", in {model.scheme}" if model.scheme else "")
    options = model.header.get("options", {})
    given = {name: value for name, value in options.items() if value not in (None, {}, [])}
    yield "arguments: " + ", ".join(f"{name}={_short(value)}" for name, value in given.items())


def _short(value: Any) -> str:
    # An option with options of its own, such as the model of an aligner.
    if isinstance(value, dict) and "class" in value:
        return f"{value['class']}(...)"
    text = str(value)
    return text if len(text) <= 40 else text[:40] + "..."
