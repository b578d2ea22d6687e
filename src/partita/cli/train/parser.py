"""`partita train parser`: a conditional random field over dependency trees."""

from typing import Any

from partita.cli.models import estimator_class, save_model
from partita.cli.options import (
    Commands,
    Options,
    add_command,
    add_model_output,
    add_options,
    add_reading,
    make_estimator,
    say,
)
from partita.cli.parser import Parser
from partita.cli.treebanks import read_trees, read_words
from partita.data.formats import count
from partita.data.sentences import Sentence


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "parser", run, "learn a conditional random field over trees")
    parser.add_argument("train", nargs="*", metavar="TRAIN", help="files with trees, CoNLL-U")
    add_model_output(parser)
    parser.add_argument(
        "--unlabelled", action="append", default=[], metavar="FILE", help="sentences without trees"
    )
    parser.add_argument(
        "--held-out",
        action="append",
        default=[],
        metavar="FILE",
        help="sentences with trees that say when to stop (see --patience)",
    )
    parser.add_argument(
        "--rule-share",
        type=float,
        metavar="N",
        help="share of arcs that obey a table of rules without targets (default: 0.8)",
    )
    add_reading(parser)
    parser.fill = _add_options


def _add_options(parser: Parser) -> None:
    add_options(parser, estimator_class("parser"))


def _rules(options: Options) -> dict[str, Any]:
    """Rules by the share of arcs that are to obey them, which only the command asks for."""
    share = options.rule_share
    if not hasattr(options, "rules") and share is not None:
        raise ValueError(
            f"--rule-share is {share}, which changes nothing without --rules; expected both or "
            "neither."
        )
    if share is None:
        return {}
    from partita.data.arc_rules import parse_arc_rules
    from partita.data.text import read_text, source_name

    text, source = read_text(options.rules), source_name(options.rules)
    rules = parse_arc_rules(text, source, share=share)
    if rules == parse_arc_rules(text, source, share=share / 2 if share else 1.0):
        raise ValueError(
            f"--rule-share is {share}, but the rules in {options.rules} have targets of their own; "
            "expected a table of heads and dependents. Leave the option out."
        )
    return {"rules": rules}


def run(options: Options) -> int:
    """Train and write the model; 1 if the training was interrupted."""
    from partita.training.interruption import heed_interruptions

    parser = make_estimator(options, "parser", **_rules(options))
    held_out = read_trees(options.held_out, options) or None
    if parser.cache is not None and options.train and not (options.unlabelled or parser.rules):
        return _run_on_files(parser, options, held_out)
    trees = read_trees(options.train, options)
    unlabelled: list[Sentence] = []
    for path in options.unlabelled:
        unlabelled += read_words(path, options)
    if not trees and not unlabelled:
        raise ValueError("no data came; name files with trees, or some without by --unlabelled.")
    # From here on a signal ends the training, and never loses the model.
    with heed_interruptions():
        parser.fit(trees, unlabelled=unlabelled, held_out=held_out)
        say(parser.training_.reason)
        save_model(options.output, parser, {})
    say(f"Wrote {options.output}: {len(parser.weights_):,} weights")
    return int(parser.training_.interrupted)


def _run_on_files(parser: Any, options: Options, held_out: Any) -> int:
    """Train without reading all sentences into memory."""
    from partita.data.files import SentenceFiles
    from partita.training.interruption import heed_interruptions

    files = SentenceFiles(*options.train, format=options.format, names=options.names)
    n_files, n_blocks = count(len(files.paths), "file"), count(len(files.blocks), "block")
    say(f"Reading {n_files} in {n_blocks}")
    with heed_interruptions():
        parser.fit(files, held_out=held_out)
        say(parser.training_.reason)
        save_model(options.output, parser, {})
    say(f"Wrote {options.output}: {len(parser.weights_):,} weights")
    return int(parser.training_.interrupted)
