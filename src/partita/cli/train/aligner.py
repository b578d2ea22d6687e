"""`partita train aligner`: links between words, from sentences and their translations."""

from typing import Any

from partita.cli.bitexts import read_held_out, read_pairs
from partita.cli.links import read_links, say_skipped
from partita.cli.models import estimator_class, save_model
from partita.cli.options import (
    Commands,
    Options,
    add_command,
    add_kinds,
    add_model_output,
    add_options,
    make_estimator,
    read_kind,
    say,
)
from partita.cli.parser import Parser
from partita.data.alignments import Alignment
from partita.data.bitext import SentencePair
from partita.data.formats import count


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "aligner", run, "learn to link words with their translations")
    parser.add_argument(
        "source", nargs="?", metavar="SOURCE", help="a sentence a line, or source ||| target lines"
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="its translation, line by line")
    add_model_output(parser)
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
    parser.add_argument(
        "--held-out",
        nargs="+",
        default=None,
        metavar="FILE",
        help="pairs that choose the best iteration: one file, or two (see --patience)",
    )
    parser.fill = _add_options


def _add_options(parser: Parser) -> None:
    from partita.estimators.alignment.models import MODELS

    add_options(parser, estimator_class("aligner"))
    add_kinds(parser, "model", MODELS)


def run(options: Options) -> int:
    """Train and write the model; 1 if the training was interrupted."""
    from partita.data.bitext_files import BitextFiles
    from partita.estimators.alignment.models import MODELS
    from partita.training.interruption import heed_interruptions

    model = read_kind(options, "model", MODELS, "hmm")
    aligner = make_estimator(options, "aligner", model=model)
    held_out = read_held_out(options.held_out)
    judges = None if held_out is None else (held_out.source, held_out.target)
    is_enough = options.source is not None and not (options.also or options.gold)
    lessons: tuple[Any, ...]
    if aligner.cache is not None and is_enough and aligner.learns_from_files:
        lessons = (BitextFiles(options.source, options.target),)
        say(f"Reading {lessons[0]!r} in {count(len(lessons[0].blocks), 'block')}")
    else:
        pairs, alignments = read_lessons(options)
        source, target = [pair.source for pair in pairs], [pair.target for pair in pairs]
        lessons = source, target, alignments
    # From here on a signal ends the training, and never loses the model.
    with heed_interruptions():
        aligner.fit(*lessons, held_out=judges)
        say_skipped(aligner.counts_.n_empty, aligner.counts_.n_long, aligner.max_words)
        for name, counts in aligner.stage_counts_.items():
            say(f"{name}: {counts}")
        say(aligner.training_.reason)
        save_model(options.output, aligner, {})
    say(f"Wrote {options.output}: learnt from {aligner.counts_.n_used:,} pairs")
    return int(aligner.training_.interrupted)


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
