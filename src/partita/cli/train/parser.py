"""`partita train parser`: a conditional random field over dependency trees."""

from typing import Any

from partita.cli.models import check_output, estimator_class, load_model
from partita.cli.options import (
    RUN,
    Argument,
    Commands,
    Options,
    add_arguments,
    add_command,
    add_reading,
    given,
    say,
)
from partita.cli.treebanks import read_trees, read_words
from partita.data.sentences import Sentence
from partita.data.text import read_text

ARGUMENTS = (
    Argument("projective", bool, None, "no arcs that cross (default: where hardly any do)"),
    Argument("single_root", bool, True, "exactly one word hangs on the root"),
    Argument("features", str, None, "templates of features", metavar="FILE"),
    Argument("min_count", int, 2, "words that occur less often are all the same rare word"),
    Argument("n_bits", int, 23, "arcs have 2 to the power of N weights"),
    Argument("labels", bool, True, "learn relations, too"),
    Argument("label_bits", int, 17, "relations have 2 to the power of N rows of weights"),
    Argument(
        "objective",
        str,
        "likelihood",
        "what is minimised",
        ("likelihood", "risk", "softmax-margin"),
    ),
    Argument(
        "l2", float, None, "penalty on the squares of weights (default: 1 with lbfgs, else 0)"
    ),
    Argument(
        "optimiser",
        str,
        None,
        "how (default: lbfgs with rules, else adagrad)",
        ("adam", "adagrad", "sgd", "lbfgs"),
    ),
    Argument("rate", float, None, "first learning rate (default: by optimiser)"),
    Argument("max_iterations", int, None, "most passes"),
    Argument("batch_sentences", int, 150, "sentences of a mini-batch, on average"),
    Argument("n_models", int, 2, "models to train, whose weights are averaged"),
    Argument("entropy_weight", float, 0.0, "of the entropy of sentences without trees"),
    Argument("entropy_ramp", int, 5, "passes until that weight is reached"),
    Argument("renyi_alpha", float, None, "order of the entropy, if it is to be Rényi's"),
    Argument("rules", str, None, "rules about arcs, for sentences without trees", metavar="FILE"),
    Argument("rule_weight", float, 1000.0, "of the rules"),
    Argument("warm_start", str, None, "a parser to start from", metavar="MODEL"),
    Argument("patience", int, 3, "passes without progress on held-out data before the end"),
    *(each for each in RUN if each.name != "patience"),
    Argument("seed", int, 0, "all randomness follows from it"),
    Argument("workers", int, None, "threads (default: all cores)"),
    Argument("progress", bool, None, "show progress (default: on a terminal)"),
)
"""Those of `DependencyParser`."""


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "parser", run, "learn a conditional random field over trees")
    parser.add_argument("train", nargs="*", metavar="TRAIN", help="files with trees, CoNLL-U")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="file to write")
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
        default=0.8,
        metavar="N",
        help="share of arcs that obey a table of rules without targets (default: 0.8)",
    )
    add_reading(parser)
    add_arguments(parser, ARGUMENTS)


def run(options: Options) -> int:
    """Train and write the model; 1 if the training was interrupted."""
    check_output(options.output)
    parser = make(options)
    trees = read_trees(options.train, options)
    unlabelled: list[Sentence] = []
    for path in options.unlabelled:
        unlabelled += read_words(path, options)
    if not trees and not unlabelled:
        raise ValueError("no data came; name files with trees, or some without by --unlabelled.")
    held_out = read_trees(options.held_out, options) or None
    parser.fit(trees, unlabelled=unlabelled, held_out=held_out)
    say(parser.training_.reason)
    parser.save(options.output)
    say(f"Wrote {options.output}: {len(parser.weights_):,} weights")
    return int(parser.training_.interrupted)


def make(options: Options) -> Any:
    """The estimator that the options describe."""
    arguments = given(options, ARGUMENTS)
    if "features" in arguments:
        from partita.estimators.parsing.templates import parse_templates

        path = arguments["features"]
        arguments["features"] = parse_templates(read_text(path), path)
    if "rules" in arguments:
        from partita.data.arc_rules import read_arc_rules

        arguments["rules"] = read_arc_rules(arguments["rules"], share=options.rule_share)
    if "warm_start" in arguments:
        model = load_model(arguments["warm_start"])
        if model.kind != "parser":
            raise ValueError(
                f"{model.path} holds a model of kind {model.kind!r}, which cannot start a parser; "
                "expected one that train parser wrote."
            )
        arguments["warm_start"] = model.estimator
    return estimator_class("parser")(**arguments)
