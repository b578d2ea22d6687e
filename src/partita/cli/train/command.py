"""`partita train KIND TRAIN ... -o MODEL`."""

from partita.cli.options import Commands
from partita.cli.train import aligner as train_aligner
from partita.cli.train import classes as train_classes
from partita.cli.train import parser as train_parser
from partita.cli.train import taggers as train_taggers
from partita.cli.train import translator as train_translator


def add(commands: Commands) -> None:
    """The command, with a command of its own for each kind of model."""
    text = "learn a model from data files"
    parser = commands.add_parser("train", help=text, description=text.capitalize() + ".")
    kinds = parser.add_subparsers(metavar="KIND", required=True, title="kinds of model")
    for module in (train_taggers, train_classes, train_parser, train_aligner, train_translator):
        module.add(kinds)
