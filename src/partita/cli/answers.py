"""What every kind of model can be asked, and how answers are written."""

from collections.abc import Iterator, Sequence
from typing import Any

from partita.cli.options import Argument, Options, flag_of
from partita.data.sentences import Sentence

DECODER = Argument(
    "decoder",
    str,
    "best",
    "the likeliest answer, or the one with the fewest wrong parts to be expected",
    ("best", "risk"),
)
TREE_DECODER = Argument(
    "decoder",
    str,
    None,
    "the likeliest tree, the one with the fewest wrong heads to be expected, or the likeliest one "
    "together with its relations (default: joint for parsers of order 2 with relations, else best)",
    ("best", "risk", "joint"),
)
PROBABILITY = Argument("probability", bool, False, "write that of each word's answer")
ENTROPY = Argument("entropy", bool, False, "write that of each sentence, in nats")
LOG_PROBABILITY = Argument("log_probability", bool, False, "write that of each whole answer")
K_BEST = Argument("k_best", int, None, "write the N likeliest answers")
SAMPLE = Argument("sample", int, None, "write N answers drawn at random")
SAMPLE_SEED = Argument("sample_seed", int, 0, "of the random answers")
NO_REPLACE = Argument(
    "no_replace", bool, False, "draw without replacement: no two of a sentence are the same"
)
SAMPLING = (SAMPLE, SAMPLE_SEED, NO_REPLACE)
TAG_COLUMN = Argument(
    "tag_column",
    str,
    None,
    "of the tags (default: as in training; then UPOS in CoNLL-U, else the last column, "
    "or the one whose values look like tags)",
    metavar="COLUMN",
)
TARGET = Argument(
    "target",
    str,
    None,
    "the other side of a bitext (default: lines are source ||| target)",
    metavar="FILE",
)
FIXED = Argument(
    "fixed", str, None, "tags to keep, with ? or _ where the model may choose", metavar="COLUMN"
)


def check_counts(options: Options, names: Sequence[str]) -> None:
    """Arguments that count something are 1 or more, where they are given."""
    for name in names:
        value = getattr(options, name, None)
        if value is not None and value < 1:
            raise ValueError(f"{flag_of(name)} is {value}; expected 1 or more.")


def check_replace(options: Options, name: str) -> None:
    """Whether samples may be alike is asked only where some are drawn."""
    if options.no_replace and getattr(options, name) is None:
        raise ValueError(
            f"{flag_of('no_replace')} came without {flag_of(name)}, so that nothing is drawn; "
            f"expected {flag_of(name)} N beside it."
        )


def sample_fields(
    estimator: Any, sentences: Sequence[Sentence], options: Options
) -> Iterator[tuple[str, list[Any]]]:
    """Fields `Sample1`, `Sample2` and so on, with an answer for each sentence.

    None for a sentence that has fewer different ones.
    """
    import numpy as np

    if options.sample is None:
        return
    rng = np.random.default_rng(options.sample_seed)
    drawn = estimator.sample(sentences, options.sample, rng, replace=not options.no_replace)
    for index in range(options.sample):
        yield (
            f"Sample{index + 1}",
            [each[index] if index < len(each) else None for each in drawn],
        )


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


def chosen_sentence(sentences: Sequence[Sentence], options: Options) -> Sentence:
    """The sentence with the number that the options name."""
    if not 1 <= options.sentence <= len(sentences):
        raise ValueError(
            f"--sentence is {options.sentence}; expected 1 to {len(sentences)}, which "
            f"{sentences[0].source} has."
        )
    return sentences[int(options.sentence) - 1]


def chosen_word(sentence: Sentence, options: Options) -> int | None:
    """The word that the options name, from 0; None if they name none."""
    if options.word is None:
        return None
    if not 1 <= options.word <= len(sentence):
        raise ValueError(
            f"--word is {options.word}; expected 1 to {len(sentence)}, which sentence "
            f"{options.sentence} has ({sentence.where()})."
        )
    return int(options.word) - 1


def contribution_lines(
    contributions: Sequence[tuple[str, str, float]], n_features: int
) -> Iterator[str]:
    """What each feature adds to the lead of an answer, the first `n_features` of them by name."""
    yield f"  {'lead':>9}  word: feature"
    for place, feature, value in contributions[:n_features]:
        yield f"  {value:+9.3f}  {place}: {feature}"
    rest = contributions[n_features:]
    if rest:
        yield f"  {sum(value for _, _, value in rest):+9.3f}  {len(rest)} features more"
