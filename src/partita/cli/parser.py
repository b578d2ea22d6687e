"""The commands and their arguments; each command's module adds its own."""

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from partita import __version__

EPILOG = """\
A model file knows what it is, and data files show it: CoNLL-U, CoNLL columns or plain text, also
compressed (.gz); - is standard input. "partita COMMAND --help" explains a command, and
"partita predict MODEL --help" what there is for this model; so for evaluate, explain and select.

  partita train tagger train.conllu -o pos.model
  partita evaluate pos.model dev.conllu
  partita predict pos.model raw.txt > tagged.txt
"""

LIKE = 0.6
"""How like a word must be to be what was probably meant."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are a sentence, not a page, and name what was probably meant.

    Arguments that take long to find, since a model's class must be imported, are added by `fill`
    when the command is used; so that `partita --help` answers at once. What comes behind the
    command is in `given` then.
    """

    fill: "Callable[[Parser], None] | None" = None
    given: Sequence[str] = ()
    used: "list[Parser]" = []

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """Fill first, and remember that this command was used."""
        self.given = sys.argv[1:] if args is None else list(args)
        self._filled()
        self.used.append(self)
        return super().parse_known_args(args, namespace)

    def _print_message(self, message: str, file: Any = None) -> None:
        """As argparse has it, except that what cannot be written is an error."""
        stream = file or sys.stderr
        if message and stream is not None:
            stream.write(message)

    def format_help(self) -> str:
        """All arguments, also those that are filled in late."""
        self._filled()
        return super().format_help()

    @property
    def is_asked_for_help(self) -> bool:
        """Whether nothing else is asked."""
        return not {"-h", "--help"}.isdisjoint(self.given)

    def _filled(self) -> None:
        if self.fill is not None:
            fill, self.fill = self.fill, None
            fill(self)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and what to do."""
        parser = self.used[-1] if self.used else self
        found = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if found:
            choices = [choice.strip("' ") for choice in found[2].split(",")]
            meant = difflib.get_close_matches(found[1], choices, 1, LIKE)
            name = message.partition(":")[0].removeprefix("argument ")
            message = f"{name} is {found[1]!r}; expected one of {', '.join(choices)}"
        else:
            words = message.partition("unrecognized arguments: ")[2].split()
            options = sorted((parser.options() | self.options()) - {"-h", "--help"})
            near = (difflib.get_close_matches(word, options, 1, LIKE) for word in words)
            meant = [each for matches in near for each in matches]
            if "--target" in options and words and not words[0].startswith("-"):
                message += ". Is it the other side of a bitext? Give it by --target"
            missing = message.partition("are required: ")[2].split(", ")
            for action in parser._actions:
                if action.choices and action.metavar in missing:
                    message += f"; {action.metavar} is one of {', '.join(map(str, action.choices))}"
        advice = f" Did you mean {meant[0]}?" if meant else ""
        sys.stderr.write(f"partita: {message}.{advice} See {parser.prog} --help.\n")
        sys.exit(2)

    def options(self) -> set[str]:
        """The options that it takes."""
        return {text for action in self._actions for text in action.option_strings}

    def actions(self) -> list[argparse.Action]:
        """The arguments that it takes."""
        return self._actions


def build_parser() -> Parser:
    """The parser of the whole command line."""
    from partita.cli import compile, completion, demo, inspect, label, select, simulate
    from partita.cli.evaluate import command as evaluate
    from partita.cli.explain import command as explain
    from partita.cli.predict import command as predict
    from partita.cli.train import command as train

    Parser.used.clear()
    parser = Parser(
        prog="partita",
        description="Exact structured prediction: train models, use them, and ask them why.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"partita {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    modules = (train, predict, evaluate, inspect, explain, select, label, simulate)
    for module in (*modules, compile, completion, demo):
        module.add(commands)
    return parser
