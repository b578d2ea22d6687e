"""`partita simulate KIND POOL TEST`: what active learning would save, replayed on labelled data."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from partita.cli.answers import check_counts
from partita.cli.labels import read_labelled
from partita.cli.models import estimator_class
from partita.cli.options import (
    Argument,
    Commands,
    Options,
    add_arguments,
    add_command,
    add_options,
    add_reading,
    add_tag_column,
    given,
    make_estimator,
    name_list,
    say,
)
from partita.cli.parser import Parser
from partita.cli.results import add_json, write_results
from partita.cli.select import RANKING, STRATEGIES
from partita.cli.train.taggers import HELP
from partita.data.schemes import SCHEMES
from partita.data.text import write_text

REPLAY = (
    Argument("strategies", name_list, "entropy,random", ", ".join(STRATEGIES), metavar="NAME,..."),
    Argument("seed_words", int, 500, "words labelled at first"),
    Argument("batch_words", int, 500, "words labelled in each round"),
    Argument("max_words", int, None, "words labelled at most (default: all)"),
)
FILES = ("checkpoint", "checkpoint_seconds", "resume", "log", "patience")
"""A replay has many short runs, which need none of these."""


def add(commands: Commands) -> None:
    """The command, with a command of its own for each kind of model."""
    text = "show what active learning would save, on labelled data"
    parser = commands.add_parser("simulate", help=text, description=text.capitalize() + ".")
    kinds = parser.add_subparsers(metavar="KIND", required=True, title="kinds of model")
    for kind in HELP:
        each = add_command(kinds, kind, run, f"{text}, with a model of this kind")
        each.set_defaults(kind=kind)
        each.add_argument("pool", metavar="POOL", help="sentences to label, with their tags")
        each.add_argument("test", metavar="TEST", help="sentences to measure accuracy on")
        each.add_argument(
            "--share",
            type=float,
            default=0.99,
            help="of the full accuracy that should be reached (default: 0.99)",
        )
        each.add_argument("--diagram", metavar="FILE", help="write the curves, in SVG")
        add_json(each)
        each.add_argument("--convert", choices=SCHEMES, help="learn chunks in this scheme")
        add_tag_column(each)
        add_reading(each)
        add_arguments(each, (*REPLAY, *RANKING), "arguments of the simulation")
        each.fill = partial(_add_options, kind)


def run(options: Options) -> None:
    """Replay, and print the curves and the words that are needed."""
    from partita.estimators.tagging.simulation import CurvePoint, TaggedCorpus, simulate

    _check(options)
    estimator = make_estimator(options, options.kind)
    pool = read_labelled([options.pool], options)
    test = read_labelled([options.test], options)
    estimator.set_params(tag_column=pool.column)

    def report(strategy: str, point: CurvePoint) -> None:
        say(f"{strategy}: {point.n_words:,} words, accuracy {point.accuracy:.4f}")

    result = simulate(
        estimator,
        TaggedCorpus(pool.sentences, pool.tags),
        TaggedCorpus(test.sentences, test.tags),
        report=report,
        **given(options, (*REPLAY, *RANKING)),
        # One seed for the models and for chance.
        seed=estimator.seed,
    )
    needed = result.words_needed(options.share)
    measures = {
        "curves": {**result.curves, "all": [result.full]},
        "share": options.share,
        "words_needed": needed,
    }
    write_results(options, measures, _lines)
    for strategy, n_words in needed.items():
        found = "never reached" if n_words is None else f"{n_words:,.0f} words"
        say(f"{options.share:.0%} of the accuracy with all labels by {strategy}: {found}")
    if options.diagram is not None:
        write_text(options.diagram, result.diagram().text)
        say(f"Wrote {options.diagram}")


def _check(options: Options) -> None:
    """The arguments, before any data are read."""
    check_counts(options, ("seed_words", "batch_words", "max_words", "n_words", "k"))
    for name in getattr(options, "strategies", ()):
        if name not in STRATEGIES:
            raise ValueError(
                f"--strategies has {name!r}; expected some of {', '.join(STRATEGIES)}."
            )
    if not 0 < options.share <= 1:
        raise ValueError(f"--share is {options.share}; expected a number above 0, and at most 1.")


def _lines(measures: Any) -> Iterator[str]:
    yield "strategy\twords\taccuracy"
    for strategy, curve in measures["curves"].items():
        for point in curve:
            yield f"{strategy}\t{point.n_words}\t{point.accuracy:.6f}"


def _add_options(kind: str, parser: Parser) -> None:
    add_options(parser, estimator_class(kind), without=FILES)
