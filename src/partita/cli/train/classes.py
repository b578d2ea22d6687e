"""`partita train classes`: classes of words from text alone, for taggers to look at."""

from partita.cli.options import (
    Commands,
    Options,
    add_command,
    add_options,
    add_reading,
    read_document,
    read_options,
    say,
)
from partita.cli.parser import Parser
from partita.data.formats import count


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "classes", run, "learn classes of words from text alone")
    parser.add_argument("train", nargs="+", metavar="TEXT", help="files of sentences, of any form")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="file to write, for --classes of taggers: class, word, how often it came",
    )
    add_reading(parser)
    parser.fill = _add_options


def _add_options(parser: Parser) -> None:
    from partita.estimators.tagging.word_classes import WordClasses

    add_options(parser, WordClasses)


def run(options: Options) -> int:
    """Learn and write the classes."""
    from partita.estimators.tagging.word_classes import WordClasses

    classes = WordClasses(**read_options(options, WordClasses))
    classes.check()
    classes.fit([sentence for path in options.train for sentence in read_document(path, options)])
    say(f"Words moved between classes {count(len(classes.gains_) - 1, 'time')}")
    classes.save(options.output)
    n_classes = len(set(classes.classes_.values()))
    say(f"Wrote {options.output}: {len(classes.classes_):,} words in {n_classes} classes")
    return 0
