"""`partita explain MODEL INPUT`: which features made a decision, against the runner-up."""

from partita.cli.answers import check_counts
from partita.cli.explain import tags as explain_tags
from partita.cli.explain import trees as explain_trees
from partita.cli.families import add_families, run_family
from partita.cli.models import load_model
from partita.cli.options import Commands, Options, add_command
from partita.cli.results import add_json

FAMILIES = (explain_tags.FAMILY, explain_trees.FAMILY)


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "explain", run, "show which features made a decision")
    parser.add_argument("model", metavar="MODEL", help="file that train wrote")
    parser.add_argument("input", metavar="INPUT", help="sentences; - is standard input")
    parser.add_argument(
        "--sentence", type=int, default=1, metavar="N", help="its number, from 1 (default: 1)"
    )
    parser.add_argument(
        "--word", type=int, metavar="N", help="its number, from 1 (default: the least certain)"
    )
    parser.add_argument(
        "-n", "--n-features", type=int, default=20, metavar="N", help="to show (default: 20)"
    )
    add_json(parser)
    add_families(parser, FAMILIES)


def run(options: Options) -> None:
    """Print the explanation."""
    check_counts(options, ("sentence", "word", "n_features"))
    run_family(FAMILIES, load_model(options.model), options)
