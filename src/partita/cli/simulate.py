"""`partita simulate KIND POOL TEST`: what active learning would save, replayed on labelled data."""

from typing import Any

from partita.cli.labels import read_labelled
from partita.cli.models import check_output
from partita.cli.options import (
    RUN,
    Argument,
    Commands,
    Options,
    add_arguments,
    add_command,
    add_reading,
    add_tag_column,
    given,
    name_list,
    say,
    write,
)
from partita.cli.select import RANKING, STRATEGIES
from partita.cli.train import hmm as train_hmm
from partita.cli.train import tagger as train_tagger
from partita.data.schemes import SCHEMES
from partita.data.text import write_text

REPLAY = (
    Argument("strategies", name_list, "entropy,random", ", ".join(STRATEGIES), metavar="NAME,..."),
    Argument("seed_words", int, 500, "words labelled at first"),
    Argument("batch_words", int, 500, "words labelled in each round"),
    Argument("max_words", int, None, "words labelled at most (default: all)"),
)
# A replay has many short runs, which need no checkpoints.
ESTIMATORS = {
    kind: tuple(argument for argument in arguments if argument not in RUN)
    for kind, arguments in {"tagger": train_tagger.ARGUMENTS, "hmm": train_hmm.ARGUMENTS}.items()
}


def add(commands: Commands) -> None:
    """The command, with a command of its own for each kind of model."""
    text = "show what active learning would save, on labelled data"
    parser = commands.add_parser("simulate", help=text, description=text.capitalize() + ".")
    kinds = parser.add_subparsers(metavar="KIND", required=True, title="kinds of model")
    for kind, arguments in ESTIMATORS.items():
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
        each.add_argument("--convert", choices=SCHEMES, help="learn chunks in this scheme")
        add_tag_column(each)
        add_reading(each)
        add_arguments(each, (*REPLAY, *RANKING), "arguments of the simulation")
        add_arguments(each, arguments)


def run(options: Options) -> None:
    """Replay, and print the curves and the words that are needed."""
    from partita.estimators.tagging.simulation import Corpus, Point, simulate

    if options.diagram is not None:
        check_output(options.diagram)
    pool = read_labelled([options.pool], options)
    test = read_labelled([options.test], options)
    estimator = _estimator(options, pool.column)
    # One seed for the models and for chance.
    seed = given(options, (Argument("seed", int, 0, ""),))

    def report(strategy: str, point: Point) -> None:
        say(f"{strategy}: {point.n_words:,} words, accuracy {point.accuracy:.4f}")

    result = simulate(
        estimator,
        Corpus(pool.sentences, pool.tags),
        Corpus(test.sentences, test.tags),
        report=report,
        **given(options, (*REPLAY, *RANKING)),
        **seed,
    )
    write("strategy\twords\taccuracy")
    for strategy, curve in {**result.curves, "all": [result.full]}.items():
        for point in curve:
            write(f"{strategy}\t{point.n_words}\t{point.accuracy:.6f}")
    for strategy, n_words in result.words_needed(options.share).items():
        found = "never reached" if n_words is None else f"{n_words:,.0f} words"
        say(f"{options.share:.0%} of the accuracy with all labels by {strategy}: {found}")
    if options.diagram is not None:
        write_text(options.diagram, result.diagram().text)
        say(f"Wrote {options.diagram}")


def _estimator(options: Options, column: str | None) -> Any:
    if options.kind == "tagger":
        return train_tagger.make(options, column)
    return train_hmm.make(options)
