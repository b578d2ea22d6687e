"""Command lines: verbs, flags and values in any order, on files right, wrong or missing."""

import argparse
from collections.abc import Iterator
from random import Random
from typing import Any

from partita.cli.parser import build_parser
from tools.fuzz.model_files import trained
from tools.fuzz.target import Target, inside, run_command

VALUES = [
    "",
    "0",
    "1",
    "2",
    "3",
    "-1",
    "0.5",
    "1e-3",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "x",
    "None",
    "\0",
]
VALUES += [
    "10",
    "tagger.model",
    "9" * 400,
    "all",
    "FORM",
    "UPOS",
    "XPOS",
    "1:2",
    "a=b",
    "=",
    ",",
    "1,2",
    "ä",
    "\udcff",
    "-",
    "--",
]
FILES = [
    "few.conllu",
    "chunks.txt",
    "pairs.txt",
    "source.txt",
    "tagger.model",
    "hmm.model",
    "folder",
]
FILES += ["parser.model", "segmenter.model", "aligner.model", "translator.model", "missing.txt"]
FILES += ["out.model", "empty", "/dev/null", "missing/out.model", "damaged.model"]
LEFT_OUT = {"demo", "compile", "label"}
"""Commands that take minutes or wait for a person, whatever they are given."""


class Commands(Target):
    """An input is a list of arguments."""

    name = "commands"

    def prepare(self) -> None:
        """Files of all kinds, and the flags of every command."""
        trained(self.folder)
        (self.folder / "folder").mkdir()
        (self.folder / "empty").write_bytes(b"")
        whole = (self.folder / "tagger.model").read_bytes()
        (self.folder / "damaged.model").write_bytes(whole[: len(whole) // 2])
        self.kept = {
            path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()
        }
        self.commands = dict(_leaves(build_parser(), ()))

    def draw(self, rng: Random) -> Any:
        """A command with some of its flags, mostly with values they may have."""
        verbs = rng.choice(sorted(self.commands))
        words = []
        for action in self.commands[verbs]:
            if action.option_strings and rng.random() > 3 / len(self.commands[verbs]):
                continue
            if action.option_strings:
                words.append(rng.choice(action.option_strings))
            if action.nargs != 0 and rng.random() < 0.95:
                words.append(self.value(rng, action))
        if rng.random() < 0.1:
            words.insert(rng.randrange(len(words) + 1), rng.choice([*VALUES, *FILES]))
        if rng.random() < 0.1:
            rng.shuffle(words)
        return [*verbs, *words]

    def value(self, rng: Random, action: argparse.Action) -> str:
        """A value for an argument: one of its choices, a file, or anything."""
        kind = rng.random()
        if action.choices and kind < 0.9:
            return str(rng.choice([str(choice) for choice in action.choices]))
        if not action.option_strings or kind < 0.3:
            return rng.choice(FILES)
        return rng.choice(VALUES)

    def check(self, case: Any) -> None:
        """Status 0, 1 or 2, and a sentence where it is 2; files that are read stay as they are."""
        for name, content in self.kept.items():
            path = self.folder / name
            if not path.is_file() or path.read_bytes() != content:
                path.write_bytes(content)
        with inside(self.folder):
            run_command(case)


def _leaves(
    parser: argparse.ArgumentParser, verbs: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], list[argparse.Action]]]:
    """Every command, with its arguments; `help` needs no trying."""
    commands = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in commands:
        for name, inner in action.choices.items():
            if name not in LEFT_OUT:
                yield from _leaves(inner, (*verbs, name))
    if not commands:
        # Some arguments are known only when help is asked for.
        parser.format_help()
        yield verbs, [action for action in parser._actions if action.dest != "help"]
