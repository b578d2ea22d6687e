"""The commands and their arguments; each command's module adds its own."""

import argparse
import difflib
import sys
from typing import NoReturn

from partita import __version__
from partita.cli import demo, inspect, select, simulate
from partita.cli.evaluate import command as evaluate
from partita.cli.explain import command as explain
from partita.cli.predict import command as predict
from partita.cli.train import command as train

EPILOG = """\
A model file knows what it is, and data files show it: CoNLL-U, CoNLL columns or plain text, also
compressed (.gz); - is standard input. "partita COMMAND --help" explains a command.

  partita train tagger train.conllu -o pos.model
  partita evaluate pos.model dev.conllu
  partita predict pos.model raw.txt > tagged.txt
"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are a sentence, not a page, and name what was probably meant."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and what to do."""
        words = message.partition("unrecognized arguments: ")[2].split()
        meant = [
            found
            for word in words
            for found in difflib.get_close_matches(word, sorted(_options(self)), 1, 0.75)
        ]
        advice = f" Did you mean {meant[0]}?" if meant else ""
        sys.stderr.write(f"partita: {message}.{advice} See {self.prog} --help.\n")
        sys.exit(2)


def _options(parser: argparse.ArgumentParser) -> set[str]:
    """The options of a parser and of all its commands."""
    found: set[str] = set()
    for action in parser._actions:
        found.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            found.update(*map(_options, action.choices.values()))
    return found


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = Parser(
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
