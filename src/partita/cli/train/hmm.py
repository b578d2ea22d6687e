"""`partita train hmm`: a hidden Markov model, from tags, from words alone, or from both."""

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
    read_workers,
    say,
)
from partita.data.dictionaries import read_dictionary

ARGUMENTS = (
    Argument("n_tags", int, None, "number of tags, where not all are named by labels"),
    Argument("alpha", float, 0.01, "added to every count"),
    Argument("min_count", int, 2, "words seen less often are known by their shape and suffix"),
    Argument(
        "dictionary", str, None, 'the tags a word may have, "word tag ..." a line', metavar="FILE"
    ),
    Argument("unlabelled_weight", float, None, "of a sentence without all labels"),
    Argument("n_restarts", int, 1, "random starts of expectation-maximisation; the best is kept"),
    Argument("max_iterations", int, 100, "most iterations of expectation-maximisation"),
    Argument("loss_tolerance", float, 1e-6, "stop when the loss falls by less than this share"),
    Argument("warm_start", str, None, "a model to start from", metavar="MODEL"),
    *RUN,
    Argument("seed", int, 0, "all randomness follows from it"),
    Argument("workers", read_workers, None, "threads (default: all cores), or ray:N"),
    Argument("progress", bool, None, "show progress (default: on a terminal)"),
)


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "hmm", run, "learn a hidden Markov model")
    add_lessons(parser)
    add_arguments(parser, ARGUMENTS)


def run(options: Options) -> int:
    """Train and write the model; 1 if the training was interrupted."""
    check_output(options.output)
    files = read_lessons(options)
    labelled = files.labelled
    tagger = make(options)
    tagger.fit(
        labelled.sentences, labelled.tags, unlabelled=files.unlabelled, held_out=files.held_out
    )
    for reason in tagger.reasons_:
        say(reason)
    save_model(options.output, tagger, {"column": labelled.column, "scheme": options.convert})
    say(f"Wrote {options.output}: {len(tagger.tags_)} tags")
    return int(tagger.training_.interrupted)


def make(options: Options) -> Any:
    """The estimator that the options describe."""
    arguments = given(options, ARGUMENTS)
    if "dictionary" in arguments:
        arguments["dictionary"] = read_dictionary(arguments["dictionary"])
    if "warm_start" in arguments:
        arguments["warm_start"] = load_model(arguments["warm_start"]).estimator
    return estimator_class("hmm")(**arguments)
