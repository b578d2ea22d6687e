"""`partita train aligner`: links between words, from sentences and their translations."""

import json
from typing import Any

from partita.cli.bitexts import read_pairs
from partita.cli.links import read_links, say_skipped
from partita.cli.models import estimator_class, save_model
from partita.cli.options import (
    Argument,
    Commands,
    Options,
    add_arguments,
    add_command,
    given,
    say,
)
from partita.data.alignments import Alignment
from partita.data.bitext import SentencePair

DECODERS = ("threshold", "risk", "viterbi")
SYMMETRISATIONS = (
    "mean",
    "intersection",
    "union",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
    "forward",
    "backward",
)


def crf_options(text: str) -> dict[str, Any]:
    """NAME=VALUE,... as a dictionary; values are JSON, or text.

    >>> crf_options("l2=0.1,name=best")
    {'l2': 0.1, 'name': 'best'}
    """
    options: dict[str, Any] = {}
    for entry in filter(None, text.split(",")):
        name, separator, value = entry.partition("=")
        if not separator:
            raise ValueError(f"found {entry!r}; expected NAME=VALUE,...")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


SYMMETRISATION = Argument(
    "symmetrisation", str, "mean", "how two directions become one alignment", SYMMETRISATIONS
)
THRESHOLD = Argument("threshold", float, 0.5, "least probability of a link")
MAX_WORDS = Argument("max_words", int, 200, "longer pairs are skipped")
LONGER = Argument("longer", str, "skip", "what to do with longer pairs", ("skip", "keep"))

ARGUMENTS = (
    Argument("model", str, "hmm", "kind of model", ("model1", "hmm", "crf")),
    SYMMETRISATION,
    Argument("decoder", str, "threshold", "how links are chosen", DECODERS),
    THRESHOLD,
    Argument("lowercase", bool, True, "ignore capitals"),
    Argument("n_letters", int, None, "tell words apart by their first N letters only"),
    Argument("min_count", int, 1, "words seen less often count as unknown"),
    Argument("model1_iterations", int, 5, "of Model 1"),
    Argument("n_iterations", int, 5, "of the hidden Markov models"),
    Argument("alpha", float, 0.0, "Dirichlet prior on translations, 0 for none"),
    Argument("null_probability", float, 0.2, "that a word is from no word"),
    Argument("reach", int, 10, "distance from which on jumps are alike"),
    Argument("agreement", bool, True, "both directions learn only what both believe"),
    MAX_WORDS,
    LONGER,
    Argument("crf_options", crf_options, None, "of the CRF", metavar="NAME=VALUE,..."),
    Argument("seed", int, 0, "all randomness follows from it"),
    Argument("n_threads", int, None, "threads (default: all cores)"),
    Argument("progress", bool, None, "show progress (default: on a terminal)"),
)
"""Those of `Aligner`."""


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "aligner", run, "learn to link words with their translations")
    parser.add_argument(
        "source", nargs="?", metavar="SOURCE", help="a sentence a line, or source ||| target lines"
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="its translation, line by line")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="file to write")
    parser.add_argument(
        "--also",
        nargs=2,
        action="append",
        default=[],
        metavar=("SOURCE", "TARGET"),
        help="more sentences to learn from, such as those that are to be aligned",
    )
    parser.add_argument(
        "--gold",
        nargs=3,
        action="append",
        default=[],
        metavar=("SOURCE", "TARGET", "LINKS"),
        help="sentences with right links, Pharaoh format, i?j for possible ones (for the CRF)",
    )
    add_arguments(parser, ARGUMENTS)


def run(options: Options) -> None:
    """Train and write the model."""
    pairs, alignments = read_lessons(options)
    aligner = estimator_class("aligner")(**given(options, ARGUMENTS))
    source, target = [pair.source for pair in pairs], [pair.target for pair in pairs]
    aligner.fit(source, target, alignments)
    say_skipped(aligner.n_empty_, aligner.n_longer_, aligner.max_words)
    if aligner.crf_ is not None:
        for skipped in aligner.crf_.skipped:
            say(f"Latent-variable CRF: {skipped}")
        if alignments is not None:
            say(
                f"Supervised CRF: {aligner.crf_.n_large_gold:,} pairs with gold links are too large"
            )
    save_model(options.output, aligner, {})
    say(f"Wrote {options.output}: learnt from {aligner.n_pairs_:,} pairs")


def read_lessons(options: Options) -> tuple[list[SentencePair], list[Alignment | None] | None]:
    """All pairs, and the right links of those that have them; None if none has."""
    pairs: list[SentencePair] = []
    if options.source is not None:
        pairs += read_pairs(options.source, options.target)
    for source, target in options.also:
        pairs += read_pairs(source, target)
    alignments: list[Alignment | None] = [None] * len(pairs)
    for source, target, links in options.gold:
        gold = read_pairs(source, target)
        pairs += gold
        alignments += read_links(links, gold)
    if not pairs:
        raise ValueError("no data came; name a source and a target file, or some by --gold.")
    return pairs, alignments if options.gold else None
