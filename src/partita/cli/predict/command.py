"""`partita predict MODEL INPUT`: the input with answers, and whatever else is asked about them."""

from partita.cli.families import add_families, run_family
from partita.cli.models import load_model
from partita.cli.options import Commands, Options, add_command, say
from partita.cli.predict import links as predict_links
from partita.cli.predict import tags as predict_tags
from partita.cli.predict import translations as predict_translations
from partita.cli.predict import trees as predict_trees
from partita.cli.workers import add_workers
from partita.data.text import STANDARD

FAMILIES = (
    predict_tags.FAMILY,
    predict_tags.SEGMENTS,
    predict_trees.FAMILY,
    predict_links.FAMILY,
    predict_translations.FAMILY,
)


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "predict", run, "use a model on sentences")
    parser.epilog = (
        "What is written beside the answers is a field of MISC in CoNLL-U, else a column."
    )
    parser.add_argument("model", metavar="MODEL", help="file that train wrote")
    parser.add_argument("input", metavar="INPUT", help="sentences; - is standard input")
    parser.add_argument(
        "-o", "--output", default=STANDARD, metavar="FILE", help="(default: standard output)"
    )
    add_workers(parser)
    add_families(parser, FAMILIES)


def run(options: Options) -> None:
    """Predict and write."""
    run_family(FAMILIES, load_model(options.model), options)
    if options.output != STANDARD:
        say(f"Wrote {options.output}")
