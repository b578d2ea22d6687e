"""`partita train translator`: a latent-variable CRF over synchronous derivations."""

from typing import Any

from partita.cli.bitexts import add_bitext, read_held_out, read_pairs
from partita.cli.models import estimator_class, save_model
from partita.cli.options import (
    Commands,
    Options,
    add_command,
    add_kinds,
    add_options,
    make_estimator,
    read_kind,
    say,
)
from partita.cli.parser import Parser
from partita.data.formats import count


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "translator", run, "learn to translate from a bitext")
    add_bitext(parser)
    parser.fill = _add_options


def _add_options(parser: Parser) -> None:
    from partita.estimators.translation.grammars import GRAMMARS

    add_options(parser, estimator_class("translator"))
    add_kinds(parser, "grammar", GRAMMARS)


def run(options: Options) -> int:
    """Train and write the model; 1 if the training was interrupted."""
    from partita.data.bitext_files import BitextFiles
    from partita.estimators.translation.grammars import GRAMMARS
    from partita.training.interruption import heed_interruptions

    grammar = read_kind(options, "grammar", GRAMMARS, "itg")
    translator = make_estimator(options, "translator", grammar=grammar)
    lessons: tuple[Any, ...]
    if translator.cache is not None:
        lessons = (BitextFiles(options.source, options.target),)
        say(f"Reading {lessons[0]!r} in {count(len(lessons[0].blocks), 'block')}")
    else:
        bitext = read_pairs(options.source, options.target)
        lessons = bitext.source, bitext.target
    held_out = read_held_out(options.held_out)
    # From here on a signal ends the training, and never loses the model.
    with heed_interruptions():
        translator.fit(
            *lessons,
            held_out=None if held_out is None else (held_out.source, held_out.target),
        )
        say(f"{translator.counts_}")
        say(translator.training_.reason)
        save_model(options.output, translator, {})
    say(f"Wrote {options.output}")
    return int(translator.training_.interrupted)
