"""`partita train tagger`: a linear-chain conditional random field."""

from typing import Any

from partita.cli.labels import add_lessons, read_lessons
from partita.cli.models import check_output, estimator_class, load_model, save_model
from partita.cli.options import (
    RUN,
    Argument,
    Commands,
    Options,
    add_arguments,
    add_command,
    given,
    name_list,
    read_workers,
    say,
)
from partita.data.constraints import read_constraints
from partita.data.errors import DataError
from partita.data.schemes import SCHEMES
from partita.data.text import read_text


def class_weights(text: str) -> dict[str, float] | str:
    """`balanced`, or `TAG=WEIGHT,...`."""
    if text == "balanced":
        return text
    pairs = [item.rpartition("=") for item in text.split(",")]
    return {tag: float(weight) for tag, _, weight in pairs}


ARGUMENTS = (
    Argument("features", str, None, "templates, ours or CRF++'s", metavar="FILE"),
    Argument("min_count", int, None, "leave out attributes that occur less often"),
    Argument("pairs", str, "all", "of attribute and tag that have weights", ("all", "observed")),
    Argument("columns", name_list, None, "to learn from", metavar="NAME,..."),
    Argument("scheme", str, "auto", "tags must spell out chunks", ("auto", *SCHEMES)),
    Argument(
        "objective",
        str,
        "likelihood",
        "what is minimised",
        ("likelihood", "risk", "softmax-margin"),
    ),
    Argument("l2", float, 1.0, "penalty on the squares of weights"),
    Argument("l1", float, 0.0, "penalty on the sizes of weights"),
    Argument("optimiser", str, None, "how", ("lbfgs", "owlqn", "adam", "adagrad", "sgd")),
    Argument("max_iterations", int, None, "most iterations"),
    Argument("loss_tolerance", float, None, "stop when the loss falls by less than this share"),
    Argument(
        "class_weights", class_weights, None, "balanced, or weights", metavar="TAG=WEIGHT,..."
    ),
    Argument("entropy_weight", float, 0.0, "of the entropy of unlabelled sentences"),
    Argument("entropy_ramp", int, 20, "iterations until that weight is reached"),
    Argument("renyi_alpha", float, None, "order of the entropy, if it is to be Rényi's"),
    Argument(
        "share_weight", float, None, "that tags there are as frequent (default: 1 with entropy)"
    ),
    Argument("constraints", str, None, "expectations in MALLET's format", metavar="FILE"),
    Argument("constraint_weight", float, 10.0, "of the constraints"),
    Argument("constraint_distance", str, "kl", "of the constraints", ("squared", "kl")),
    Argument("warm_start", str, None, "a tagger to start from", metavar="MODEL"),
    *RUN,
    Argument("seed", int, 0, "all randomness follows from it"),
    Argument("workers", read_workers, None, "threads (default: all cores), or ray:N"),
    Argument("progress", bool, None, "show progress (default: on a terminal)"),
)
"""Those of `Tagger`; `tag_column` is an option of every command."""


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "tagger", run, "learn a conditional random field over tags")
    add_lessons(parser)
    parser.add_argument(
        "--sample-weights", metavar="FILE", help="a number a line, for each sentence with tags"
    )
    add_arguments(parser, ARGUMENTS)


def run(options: Options) -> int:
    """Train and write the model; 1 if the training was interrupted."""
    check_output(options.output)
    files = read_lessons(options)
    labelled = files.labelled
    tagger = make(options, labelled.column)
    weights = None
    if options.sample_weights is not None:
        weights = read_numbers(options.sample_weights, len(labelled.sentences))
    tagger.fit(
        labelled.sentences,
        labelled.tags,
        unlabelled=files.unlabelled,
        sample_weight=weights,
        held_out=files.held_out,
    )
    say(tagger.training_.reason)
    save_model(options.output, tagger, {"column": labelled.column, "scheme": options.convert})
    say(f"Wrote {options.output}: {len(tagger.tags_)} tags, {len(tagger.weights_):,} weights")
    return int(tagger.training_.interrupted)


def make(options: Options, tag_column: str | None) -> Any:
    """The estimator that the options describe; `tag_column` is not to be learnt from."""
    arguments = given(options, ARGUMENTS)
    if "features" in arguments:
        from partita.text.templates import parse_templates

        path = arguments["features"]
        arguments["features"] = parse_templates(read_text(path), path)
    if "constraints" in arguments:
        arguments["constraints"] = read_constraints(arguments["constraints"])
    if "warm_start" in arguments:
        model = load_model(arguments["warm_start"])
        if model.kind != "tagger":
            raise ValueError(
                f"{model.path} holds a model of kind {model.kind!r}, which cannot start a tagger; "
                "expected one that train tagger wrote."
            )
        arguments["warm_start"] = model.estimator
    return estimator_class("tagger")(tag_column=tag_column, **arguments)


def read_numbers(path: str, n_numbers: int) -> list[float]:
    """A number a line, as many as are needed."""
    numbers = []
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            numbers.append(float(text))
        except ValueError:
            raise DataError(path, line, f"found {text!r}; expected a number.") from None
    if len(numbers) != n_numbers:
        raise DataError(
            path, None, f"found {len(numbers)} numbers; expected {n_numbers}, one a sentence."
        )
    return numbers
