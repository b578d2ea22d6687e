"""The commands and their arguments; each command's module adds its own."""

import argparse

from partita import __version__
from partita.cli import demo, evaluate, explain, inspect, predict, select, simulate, train

EPILOG = """\
A model file knows what it is, and data files show it: CoNLL-U, CoNLL columns or plain text, also
compressed (.gz); - is standard input. "partita COMMAND --help" explains a command.

  partita train tagger train.conllu -o pos.model
  partita evaluate pos.model dev.conllu
  partita predict pos.model raw.txt > tagged.txt
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="partita",
        description="Exact structured prediction: train models, use them, and ask them why.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"partita {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for module in (train, predict, evaluate, inspect, explain, select, simulate, demo):
        module.add(commands)
    return parser
