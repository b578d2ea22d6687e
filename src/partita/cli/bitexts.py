"""Bitext, out of two files or one."""

import argparse

from partita.cli.options import add_model_output, say
from partita.data.bitext import Bitext, read_bitext
from partita.data.errors import DataError


def add_bitext(parser: argparse.ArgumentParser) -> None:
    """What a translator or an aligner learns from."""
    parser.add_argument("source", metavar="SOURCE", help="sentences; or lines source ||| target")
    parser.add_argument("target", nargs="?", metavar="TARGET", help="their translations")
    add_model_output(parser)
    parser.add_argument(
        "--held-out",
        nargs="+",
        default=None,
        metavar="FILE",
        help="pairs that say when to stop: one file, or two (see --patience)",
    )


def read_pairs(path: str, target: str | None) -> Bitext:
    """The pairs of one file or two; says what was taken."""
    bitext = read_bitext(path, target)
    say(f"Read {bitext.description}")
    if len(bitext.empty) == len(bitext):
        raise DataError(path, None, "no line has words on both sides; expected some.")
    return bitext


def read_held_out(files: list[str] | None) -> Bitext | None:
    """The pairs that were named by --held-out."""
    if files is None:
        return None
    if len(files) > 2:
        raise ValueError(f"--held-out has {len(files)} files; expected one, or source and target.")
    return read_pairs(files[0], files[1] if len(files) == 2 else None)
