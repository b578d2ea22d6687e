"""`partita train KIND TRAIN ... -o MODEL`."""

from partita.cli import train_aligner, train_hmm, train_parser, train_tagger, train_translator
from partita.cli.options import Commands


def add(commands: Commands) -> None:
    """The command, with a command of its own for each kind of model."""
    text = "learn a model from data files"
    parser = commands.add_parser("train", help=text, description=text.capitalize() + ".")
    kinds = parser.add_subparsers(metavar="KIND", required=True, title="kinds of model")
    for module in (train_tagger, train_hmm, train_parser, train_aligner, train_translator):
        module.add(kinds)
