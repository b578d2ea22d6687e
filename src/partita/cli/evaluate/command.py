"""`partita evaluate MODEL GOLD`: how good the answers are, and whether probabilities mean it."""

from partita.cli.evaluate import links as evaluate_links
from partita.cli.evaluate import tags as evaluate_tags
from partita.cli.evaluate import translations as evaluate_translations
from partita.cli.evaluate import trees as evaluate_trees
from partita.cli.families import add_families, run_family
from partita.cli.models import load_model
from partita.cli.options import Commands, Options, add_command
from partita.cli.results import add_json
from partita.cli.workers import add_workers, by_workers

FAMILIES = (
    evaluate_tags.FAMILY,
    evaluate_trees.FAMILY,
    evaluate_links.FAMILY,
    evaluate_translations.FAMILY,
)


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "evaluate", run, "compare a model's answers with the right ones")
    parser.add_argument("model", metavar="MODEL", help="file that train wrote")
    parser.add_argument("gold", metavar="GOLD", help="sentences with the right answers")
    add_json(parser)
    add_workers(parser)
    add_families(parser, FAMILIES)


def run(options: Options) -> None:
    """Predict, compare, and print."""
    model = load_model(options.model)
    with by_workers(model, options):
        run_family(FAMILIES, model, options)
