"""What several commands take: files, columns, and the arguments of estimators."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from partita.data.formats import FORMATS, Document, read_sentences

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Options: TypeAlias = argparse.Namespace


@dataclass(frozen=True)
class Argument:
    """An argument of an estimator that is an option of the same name.

    `default` is the estimator's own, for the help; what a user does not give is not passed on.
    """

    name: str
    read: Callable[[str], Any]
    default: Any
    help: str
    choices: Sequence[str] | None = None
    metavar: str | None = None


def add_command(
    commands: Commands, name: str, run: Callable[[Options], int | None], help: str
) -> argparse.ArgumentParser:
    """A new command with the function that runs it."""
    parser = commands.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + ".", allow_abbrev=False
    )
    parser.set_defaults(run=run)
    return parser


def add_arguments(
    parser: argparse.ArgumentParser,
    arguments: Sequence[Argument],
    title: str = "arguments of the model",
) -> None:
    """The arguments of an estimator (or a function), as options."""
    group = parser.add_argument_group(title)
    for argument in arguments:
        flag = "--" + argument.name.replace("_", "-")
        is_switch = argument.read is bool
        has_default = argument.default is not None and not is_switch
        default = f" (default: {argument.default})" if has_default else ""
        text = (argument.help + default).replace("%", "%%")
        if is_switch:
            action = argparse.BooleanOptionalAction
            group.add_argument(flag, action=action, default=argparse.SUPPRESS, help=text)
            continue
        group.add_argument(
            flag,
            type=argument.read,
            default=argparse.SUPPRESS,
            help=text,
            choices=argument.choices,
            metavar=argument.metavar or (None if argument.choices else "N"),
        )


RUN = (
    Argument("patience", int, 10, "iterations without progress on held-out data before the end"),
    Argument(
        "checkpoint", str, None, "write the run to this file from time to time", metavar="FILE"
    ),
    Argument("checkpoint_seconds", float, 60.0, "how often"),
    Argument("resume", bool, False, "go on from the checkpoint, if it is there"),
    Argument("log", str, None, "a line of JSON an iteration", metavar="FILE"),
)
"""Arguments that long runs of training have."""


def given(options: Options, arguments: Sequence[Argument]) -> dict[str, Any]:
    """The arguments that the user gave, by name."""
    values = vars(options)
    return {each.name: values[each.name] for each in arguments if each.name in values}


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How to read data files."""
    group = parser.add_argument_group("data files")
    group.add_argument(
        "--format", choices=FORMATS, help="of the data files (default: as they look)"
    )
    group.add_argument(
        "--names",
        type=name_list,
        metavar="NAME,...",
        help="names for the columns of CoNLL columns (default: 0,1,...)",
    )


def add_tag_column(parser: argparse.ArgumentParser) -> None:
    """Which column has the tags."""
    parser.add_argument(
        "--tag-column",
        metavar="COLUMN",
        help="of the tags (default: as in training; then UPOS in CoNLL-U, else the last column)",
    )


def read_document(path: str, options: Options) -> Document:
    """The sentences of a file; says what was taken."""
    document = read_sentences(path, format=options.format, names=options.names)
    say(f"Read {document.description}")
    return document


def read_workers(text: str) -> int | str:
    """A number of threads, or "ray", or "ray:4"."""
    return int(text) if text.isdigit() else text


def name_list(text: str) -> list[str]:
    """Names with commas between them."""
    return [name for name in text.split(",") if name]


def say(line: str) -> None:
    """A line of progress, on standard error."""
    print(line, file=sys.stderr, flush=True)


def write(line: str = "") -> None:
    """A line of results, on standard output."""
    print(line)
