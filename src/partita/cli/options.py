"""What several commands take: files, columns, and the options of estimators."""

import argparse
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from partita.cli.parser import Parser
from partita.data.errors import DataError
from partita.data.formats import FORMATS, Document, count, read_sentences
from partita.data.streams import DocumentText, stream_texts
from partita.data.text import STANDARD, source_name
from partita.data.tokens import split_at_blanks, tokenise

if TYPE_CHECKING:
    from partita.estimators.options import Declared, Option

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
Options: TypeAlias = argparse.Namespace
MODEL = "MODEL"
"""The metavar of options whose value is the model in a file."""


@dataclass(frozen=True)
class Argument:
    """An argument of a question to a model that is a flag of the same name.

    Options of estimators are declared where the estimators are, see `add_options`. `default` is the
    method's own, for the help; what a user does not give is not passed on.
    """

    name: str
    read: Callable[[str], Any]
    default: Any
    help: str
    choices: Sequence[str] | None = None
    metavar: str | None = None


def add_command(
    commands: Commands, name: str, run: Callable[[Options], int | None], help: str
) -> Parser:
    """A new command with the function that runs it."""
    parser = commands.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + ".", allow_abbrev=False
    )
    parser.set_defaults(run=run)
    return parser


FORMAT = Argument("format", str, None, "of the data files (default: as they look)", FORMATS)
NAMES = Argument(
    "names",
    lambda text: name_list(text),
    None,
    "names for the columns of CoNLL columns (default: 0,1,...)",
    metavar="NAME,...",
)
PRETOKENISED = Argument(
    "pretokenised",
    bool,
    False,
    "words of plain text are what is between blanks; else punctuation is split off, too",
)
READING = (FORMAT, NAMES, PRETOKENISED)
"""How to read sentences."""
BATCH = Argument("batch", int, 1000, "most sentences that are read before they are answered")
DIAGRAM = Argument("diagram", str, None, "write a reliability diagram, in SVG", metavar="FILE")


def add_arguments(
    parser: argparse.ArgumentParser,
    arguments: Sequence[Argument],
    title: str = "options of the model",
) -> None:
    """The arguments of a question, as flags."""
    group = parser.add_argument_group(title)
    for argument in arguments:
        flag = flag_of(argument.name)
        is_switch = argument.read is bool
        has_default = argument.default is not None and not is_switch
        default = f" (default: {argument.default})" if has_default else ""
        text = (argument.help + default).replace("%", "%%")
        if is_switch:
            # What is off anyway needs no flag to be off.
            action = "store_true" if argument.default is False else argparse.BooleanOptionalAction
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


def given(options: Options, arguments: Sequence[Argument]) -> dict[str, Any]:
    """The arguments that the user gave, by name."""
    values = vars(options)
    return {each.name: values[each.name] for each in arguments if each.name in values}


def add_model_output(parser: argparse.ArgumentParser) -> None:
    """Where the model goes that a command learns."""
    parser.add_argument(
        "-o", "--output", required=True, type=file_name, metavar="MODEL", help="file to write"
    )


def file_name(text: str) -> str:
    """The name of a file that cannot be a stream."""
    if text == STANDARD:
        raise argparse.ArgumentTypeError(
            f"{STANDARD} came, which is standard output; expected the name of a file (a file of "
            f"this very name is ./{STANDARD})"
        )
    return text


def flag_of(name: str) -> str:
    """The flag of an option or an argument.

    >>> flag_of("min_count")
    '--min-count'
    """
    return "--" + name.replace("_", "-")


def add_options(
    parser: argparse.ArgumentParser,
    owner: "type[Declared]",
    title: str = "options of the model",
    without: Collection[str] = (),
) -> None:
    """The declared options of an estimator, as flags; what they take is told by `read_options`."""
    from partita.estimators.options import options_of

    chosen = [each for each in options_of(owner) if each.name not in without]
    _add_flags(parser, chosen, title)


def add_kinds(
    parser: argparse.ArgumentParser, name: str, kinds: "Mapping[str, type[Declared]]"
) -> None:
    """The options of the kinds of model that an option chooses among: each is a flag once."""
    from partita.estimators.options import options_of

    found: dict[str, dict[str, Option]] = {}
    for kind, owner in kinds.items():
        for each in options_of(owner):
            found.setdefault(each.name, {})[kind] = each
    for names in dict.fromkeys(tuple(own) for own in found.values()):
        chosen = [_shared(own) for own in found.values() if tuple(own) == names]
        _add_flags(parser, chosen, f"options of {flag_of(name)} {' and '.join(names)}")


def _shared(own: "Mapping[str, Option]") -> "Option":
    """The option of several kinds as one flag, which says what it is of each where they differ."""
    first, *others = own.values()
    if all((each.about.help, each.default) == (first.about.help, first.default) for each in others):
        return first
    says = (f"{kind}: {each.about.help} (default: {each.default})" for kind, each in own.items())
    return replace(first, default=None, about=replace(first.about, help="; ".join(says)))


def read_kind(
    options: Options, name: str, kinds: "Mapping[str, type[Declared]]", default: str
) -> "Declared":
    """The kind of model that was chosen, with its options; a flag of another kind is an error."""
    from partita.estimators.options import options_of

    chosen = vars(options).get(name, default)
    own = {each.name for each in options_of(kinds[chosen])}
    for kind, owner in kinds.items():
        for each in options_of(owner):
            if each.name in vars(options) and each.name not in own:
                raise ValueError(
                    f"{flag_of(each.name)} is for {flag_of(name)} {kind}; the model is {chosen!r}."
                )
    return kinds[chosen](**read_options(options, kinds[chosen]))


def _add_flags(parser: argparse.ArgumentParser, options: "Sequence[Option]", title: str) -> None:
    group = parser.add_argument_group(title)
    for each in options:
        if not each.about.is_flag:
            continue
        default = "" if each.default is None else f" (default: {each.default})"
        if each.kind.is_switch and each.kind.choices:
            # Several ways to do something, or --no-... for none of them.
            group.add_argument(
                flag_of(f"no_{each.name}"),
                dest=each.name,
                action="store_false",
                default=argparse.SUPPRESS,
                help=f"without {each.name.replace('_', ' ')}",
            )
        elif each.kind.is_switch:
            group.add_argument(
                flag_of(each.name),
                action=argparse.BooleanOptionalAction,
                default=argparse.SUPPRESS,
                help=each.about.help.replace("%", "%%"),
            )
            continue
        takes_names_only = bool(each.kind.choices) and not each.kind.numbers
        takes_names_only = takes_names_only and each.about.read is None
        group.add_argument(
            flag_of(each.name),
            default=argparse.SUPPRESS,
            help=(each.about.help + default).replace("%", "%%"),
            choices=each.kind.choices if takes_names_only else None,
            metavar=None if takes_names_only else each.about.metavar or "N",
        )


def read_options(options: Options, owner: "type[Declared]") -> dict[str, Any]:
    """The values of the declared options that the user gave, by name."""
    from partita.estimators.options import options_of

    values = vars(options)
    return {
        each.name: _value(each, values[each.name], owner)
        for each in options_of(owner)
        if each.about.is_flag and each.name in values
    }


def _value(option: "Option", given: Any, owner: "type[Declared]") -> Any:
    """What the text of a flag means: a number, a name, or what a file of this name holds."""
    if not isinstance(given, str):
        return given
    if option.about.metavar == MODEL:
        return _started_from(option.name, given, owner)
    read = option.about.read or option.kind.reader
    try:
        return read(given)
    except DataError:
        raise
    except ValueError:
        raise ValueError(
            f"{flag_of(option.name)} is {given!r}; expected {option.expected_of_flag}."
        ) from None


def _started_from(name: str, path: str, owner: Any) -> Any:
    from partita.cli.models import load_model

    model = load_model(path)
    if model.kind != owner.kind:
        raise ValueError(
            f"{flag_of(name)} is {path}, which holds a model of kind {model.kind!r}; expected one "
            f"that train {owner.kind} wrote."
        )
    return model.estimator


def make_estimator(options: Options, kind: str, **more: Any) -> Any:
    """The estimator that the options describe, checked before any data are read."""
    from partita.cli.models import estimator_class

    owner = estimator_class(kind)
    if hasattr(options, "unlabelled"):
        check_unlabelled(options, owner)
    # Whoever calls a command sees how far it is, also in a file of messages.
    estimator = owner(**{"progress": True, **read_options(options, owner), **more})
    estimator.check()
    return estimator


def check_unlabelled(options: Options, owner: "type[Declared]") -> None:
    """Fail where nothing would be learnt from --unlabelled, unless a weight of 0 says so."""
    terms = getattr(owner, "unlabelled_terms", ())
    if not options.unlabelled or not terms or any(name in vars(options) for name in terms):
        return
    *others, last = map(flag_of, terms)
    raise ValueError(
        f"--unlabelled is {options.unlabelled[0]}, from which nothing would be learnt without "
        f"{', '.join(others)}{' or ' * bool(others)}{last}; expected both or neither."
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How to read data files, for a command that does the same with every kind of model."""
    add_arguments(parser, READING, "data files")
    parser.set_defaults(**{each.name: each.default for each in READING})


def add_tag_column(parser: argparse.ArgumentParser) -> None:
    """Which column has the tags."""
    parser.add_argument(
        "--tag-column",
        metavar="COLUMN",
        help="of the tags (default: as in training; then UPOS in CoNLL-U, else the last column, or "
        "the one whose values look like tags)",
    )


def check_batch(options: Options) -> None:
    """A batch has a sentence, at least."""
    if options.batch < 1:
        raise ValueError(f"--batch is {options.batch}; expected 1 or more.")


class Tally:
    """What was taken from a file so far."""

    def __init__(self) -> None:
        self.n_sentences = self.n_words = 0

    def add(self, n_sentences: int, n_words: int) -> None:
        """So many more."""
        self.n_sentences, self.n_words = self.n_sentences + n_sentences, self.n_words + n_words

    def say(self, source: str) -> None:
        """For people, at the end."""
        sentences, words = count(self.n_sentences, "sentence"), count(self.n_words, "word")
        say(f"Read {source}: {sentences}, {words}")


def read_documents(path: str, options: Options) -> Iterator[Document]:
    """The sentences of a file as they come, a batch at a time; says what was taken, at the end."""
    tally = Tally()
    for text in read_texts(path, options):
        for document in text.documents(options.batch):
            tally.add(len(document), document.n_words)
            yield document
    tally.say(source_name(path))


def read_texts(path: str, options: Options) -> Iterator[DocumentText]:
    """The text of a file as it comes, to be parsed by whoever answers; says how it is read."""
    check_batch(options)
    texts = stream_texts(
        path, format=options.format, names=options.names, tokeniser=_tokeniser(options)
    )
    for number, text in enumerate(texts):
        if number == 0:
            say(f"Reading {text.document.source}: {text.document.kind}")
            _say_tokeniser(text.document, options)
        yield text


def read_document(path: str, options: Options) -> Document:
    """The sentences of a file; says what was taken."""
    document = read_sentences(
        path, format=options.format, names=options.names, tokeniser=_tokeniser(options)
    )
    say(f"Read {document.description}")
    _say_tokeniser(document, options)
    return document


def _tokeniser(options: Options) -> Callable[[str], list[str]]:
    return split_at_blanks if options.pretokenised else tokenise


def _say_tokeniser(document: Document, options: Options) -> None:
    if document.format == "plain" and not options.pretokenised:
        say_once("Plain text: punctuation is split off words (--pretokenised: it is not)")


def name_list(text: str) -> list[str]:
    """Names with commas between them."""
    return [name for name in text.split(",") if name]


def say(line: str) -> None:
    """A line of progress, on standard error."""
    print(line, file=sys.stderr, flush=True)


@cache
def say_once(line: str) -> None:
    """A line of progress that would else come with every batch."""
    say(line)


def write(line: str = "") -> None:
    """A line of results, on standard output."""
    if sys.stdout is None:
        raise ValueError("standard output is closed, and results go there; leave it open.")
    print(line)
