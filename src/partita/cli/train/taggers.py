"""`partita train tagger`, `hmm` and `segmenter`: from tags, from words alone, or from both."""

from collections.abc import Callable
from functools import partial
from typing import Any

from partita.cli.labels import add_lessons, read_labelled, read_lessons
from partita.cli.models import estimator_class, save_model, tag_column
from partita.cli.options import (
    Commands,
    Options,
    add_command,
    add_options,
    make_estimator,
    say,
)
from partita.cli.parser import Parser
from partita.data.dictionaries import read_phrases
from partita.data.errors import DataError
from partita.data.formats import count
from partita.data.text import read_text

HELP = {
    "tagger": "learn a conditional random field over tags",
    "hmm": "learn a hidden Markov model",
    "segmenter": "learn a semi-Markov conditional random field over segments",
}


def add(commands: Commands) -> None:
    """The commands and their arguments."""
    for kind, text in HELP.items():
        parser = add_command(commands, kind, partial(run, kind), text)
        add_lessons(parser)
        parser.add_argument(
            "--sample-weight", metavar="FILE", help="a number a line, for each sentence with tags"
        )
        if kind == "segmenter":
            parser.add_argument(
                "--dictionary",
                action="append",
                default=[],
                metavar="FILE",
                help="a list of phrases, one a line; whether a segment is in it is a feature",
            )
        parser.fill = options_of_kind(kind)


def options_of_kind(kind: str) -> Callable[[Parser], None]:
    """Adds the options of a kind of model, which must be imported for that."""
    return lambda parser: add_options(parser, estimator_class(kind))


def run(kind: str, options: Options) -> int:
    """Train and write the model; 1 if the training was interrupted."""
    from partita.training.interruption import heed_interruptions

    more = {}
    if kind == "segmenter" and options.dictionary:
        more["dictionaries"] = dict(map(read_phrases, options.dictionary))
    tagger = make_estimator(options, kind, **more)
    needs_all = kind == "hmm" and (tagger.has_weights or tagger.start != "chance")
    if tagger.cache is not None and _are_files_enough(options) and not needs_all:
        return _run_on_files(tagger, options)
    files = read_lessons(options)
    labelled = files.labelled
    tagger.set_params(tag_column=labelled.column)
    weights = None
    if options.sample_weight is not None:
        weights = read_numbers(options.sample_weight, len(labelled.sentences))
    # From here on a signal ends the training, and never loses the model.
    with heed_interruptions():
        tagger.fit(
            labelled.sentences,
            labelled.tags,
            unlabelled=files.unlabelled,
            sample_weight=weights,
            held_out=files.held_out,
        )
        for reason in getattr(tagger, "reasons_", ()) or [tagger.training_.reason]:
            say(reason)
        save_model(options.output, tagger, {"column": labelled.column, "scheme": options.convert})
    say(f"Wrote {options.output}: {len(tagger.tags_)} tags")
    return int(tagger.training_.interrupted)


def _are_files_enough(options: Options) -> bool:
    """Whether sentences with tags in files are all there is to learn from."""
    return bool(options.train) and not (
        options.unlabelled or options.sample_weight or options.convert
    )


def _run_on_files(tagger: Any, options: Options) -> int:
    """Train without reading all sentences into memory."""
    from partita.data.files import SentenceFiles
    from partita.training.interruption import heed_interruptions

    files = SentenceFiles(*options.train, format=options.format, names=options.names)
    column = tag_column(files.head, options.tag_column)
    n_files, n_blocks = count(len(files.paths), "file"), count(len(files.blocks), "block")
    say(f"Reading {n_files} in {n_blocks}; learning the tags in column {column!r}")
    held_out = None
    if options.held_out:
        found = read_labelled(options.held_out, options, column, "Judging by")
        held_out = found.sentences, found.tags
    with heed_interruptions():
        tagger.set_params(tag_column=column).fit(files, held_out=held_out)
        for reason in getattr(tagger, "reasons_", ()) or [tagger.training_.reason]:
            say(reason)
        save_model(options.output, tagger, {"column": column, "scheme": None})
    say(f"Wrote {options.output}: {len(tagger.tags_)} tags")
    return int(tagger.training_.interrupted)


def read_numbers(path: str, n_numbers: int) -> list[float]:
    """A number a line, as many as are needed."""
    numbers = []
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            numbers.append(float(text))
        except ValueError:
            raise DataError(path, line, f"found {text!r}; expected a number.") from None
    if len(numbers) != n_numbers:
        raise DataError(
            path, None, f"found {len(numbers)} numbers; expected {n_numbers}, one a sentence."
        )
    return numbers
