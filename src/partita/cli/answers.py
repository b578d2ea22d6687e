"""What every kind of model can be asked, and how answers are written."""

from collections.abc import Iterator, Sequence

from partita.cli.options import Argument, Options

DECODER = Argument(
    "decoder",
    str,
    "best",
    "the likeliest structure, or the one with the fewest wrong parts to be expected",
    ("best", "risk"),
)
PROBABILITY = Argument("probability", bool, False, "write that of each word's answer")
ENTROPY = Argument("entropy", bool, False, "write that of each sentence, in nats")
LOG_PROBABILITY = Argument("log_probability", bool, False, "write that of each whole answer")
K_BEST = Argument("k_best", int, None, "write the N likeliest answers")
TAG_COLUMN = Argument(
    "tag_column",
    str,
    None,
    "of the tags (default: as in training; then UPOS in CoNLL-U, else the last column)",
    metavar="COLUMN",
)
FIXED = Argument(
    "fixed", str, None, "tags to keep, with ? or _ where the model may choose", metavar="COLUMN"
)


def check_counts(options: Options, names: Sequence[str]) -> None:
    """Arguments that count something are 1 or more, where they are given."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ValueError(f"--{name.replace('_', '-')} is {value}; expected 1 or more.")


def number(value: float) -> str:
    """A number for a file; six digits are enough to compare by."""
    return f"{value:.6g}" if value else "0"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as aligned lines, the first column to the left and the others to the right.

    >>> list(table([("tag", "n"), ("NOUN", "12")]))
    ['tag    n', 'NOUN  12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *cells])
