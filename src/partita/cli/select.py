"""`partita select MODEL UNLABELLED`: the next sentences, or spans of words, to label."""

from collections.abc import Iterator, Sequence
from typing import Any

from partita.cli.answers import check_counts
from partita.cli.families import Family, run_family
from partita.cli.labels import add_fixed, fixed_tags
from partita.cli.models import Model, load_model, tag_column
from partita.cli.options import (
    Argument,
    Commands,
    Options,
    add_arguments,
    add_command,
    add_reading,
    add_tag_column,
    given,
    read_document,
    say,
)
from partita.cli.results import Measures, write_results
from partita.data.formats import Document, Format, write_sentences
from partita.data.schemes import UNKNOWN
from partita.data.sentences import Sentence
from partita.data.text import STANDARD

STRATEGIES = (
    "entropy",
    "span",
    "n_best",
    "least_confidence",
    "token_entropy",
    "density",
    "random",
)
RANKING = (
    Argument("n_words", int, 5, "words of a span, for the strategy span"),
    Argument("k", int, 10, "sequences, for the strategy n_best"),
    Argument("beta", float, 1.0, "exponent of the similarity, for the strategy density"),
    Argument("per_word", bool, True, "divide by the number of words to be labelled"),
)
EPILOG = (
    "The sentences are written with the model's guesses as the tags of the words to label, and "
    "with ? (in CoNLL-U with _) for words that need no label. Correct the guesses, and train on "
    "them."
)
SEED = Argument("seed", int, 0, "for the strategy random")


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "select", run, "choose what to label next")
    parser.epilog = EPILOG
    parser.add_argument("model", metavar="MODEL", help="file that train wrote")
    parser.add_argument("unlabelled", metavar="UNLABELLED", help="sentences to choose from")
    parser.add_argument(
        "-o", "--output", default=STANDARD, metavar="FILE", help="(default: standard output)"
    )
    parser.add_argument(
        "--strategy", choices=STRATEGIES, default="entropy", help="(default: entropy)"
    )
    parser.add_argument(
        "--batch-words", type=int, default=500, metavar="N", help="words to label (default: 500)"
    )
    parser.add_argument(
        "--list", action="store_true", help="only list the choices: value, file, lines, words"
    )
    parser.add_argument(
        "--json", action="store_true", help="list them as one JSON object, for programs"
    )
    add_fixed(parser)
    add_tag_column(parser)
    add_reading(parser)
    add_arguments(parser, (*RANKING, SEED), "arguments of the ranking")


def run(options: Options) -> None:
    """Rank, and write what comes first."""
    check_counts(options, ("batch_words", "n_words", "k"))
    run_family(FAMILIES, load_model(options.model), options)


def _tags(model: Model, options: Options) -> None:
    from partita.cli.questions import predicted, seen_by
    from partita.estimators.tagging.selection import rank, take

    document = read_document(options.unlabelled, options)
    sentences = seen_by(model, document)
    arguments = given(options, (*RANKING, SEED))
    fixed = fixed_tags(document, options.fixed)
    ranked = rank(model.estimator, sentences, options.strategy, fixed=fixed, **arguments)
    chosen = take(ranked, options.batch_words)
    n_words = sum(choice.n_words for choice in chosen)
    say(f"Chose {n_words:,} words in {len(chosen):,} of {len(document):,} sentences")
    if options.list or options.json:
        choices = [_described(document, choice) for choice in chosen]
        measures = {"strategy": options.strategy, "words": n_words, "choices": choices}
        write_results(options, measures, _lines)
        return
    numbers = [choice.sentence for choice in chosen]
    known = None if fixed is None else [fixed[number] for number in numbers]
    guesses = predicted(model, [sentences[number] for number in numbers], known)
    column = _column(document, model, options)
    results = [
        _to_label(document, choice, column, guess, () if fixed is None else fixed[choice.sentence])
        for choice, guess in zip(chosen, guesses, strict=True)
    ]
    format: Format = "columns" if document.format == "plain" else document.format
    write_sentences(options.output, results, format)
    if options.output != STANDARD:
        say(f"Wrote {options.output}")


FAMILIES = (Family("taggers", ("tagger", "hmm"), _tags),)


def _column(document: Document, model: Model, options: Options) -> str:
    """Where the tags go: as in training, if the file has that column, else into a new one."""
    chosen = options.tag_column or model.column
    if chosen is None and document.format != "conllu":
        return "tag"
    return tag_column(document, chosen)


def _to_label(
    document: Document, choice: Any, column: str, guess: Sequence[str], known: Sequence[str]
) -> Sentence:
    """The sentence with guesses for the words to label, and what is known for the others."""
    sentence: Sentence = document[choice.sentence]
    unknown = "_" if document.format == "conllu" else UNKNOWN
    tags = [unknown if tag == UNKNOWN else tag for tag in known or [UNKNOWN] * len(guess)]
    words = slice(choice.first, choice.last + 1)
    tags[words] = guess[words]
    if document.format == "conllu":
        return sentence.replaced(column, tags)
    # Sentences change places, so that what stood between them has no place any more.
    kept = Sentence(sentence.columns, separator=sentence.separator, source=sentence.source)
    return kept.replaced(column, tags)


def _described(document: Document, choice: Any) -> Measures:
    """A choice, with where its words are."""
    sentence = document[choice.sentence]
    words = sentence.column("FORM" if "FORM" in sentence.names else sentence.names[0])
    ends = (0, 0) if document.format == "plain" else (choice.first, choice.last)
    return {
        "value": choice.value,
        "file": sentence.source,
        "first_line": sentence.line(ends[0]),
        "last_line": sentence.line(ends[1]),
        "words": words[choice.first : choice.last + 1],
    }


def _lines(measures: Any) -> Iterator[str]:
    yield "value\tfile\tfirst line\tlast line\twords"
    for each in measures["choices"]:
        place = f"{each['file']}\t{each['first_line']}\t{each['last_line']}"
        yield f"{each['value']:.6g}\t{place}\t{' '.join(each['words'])}"
