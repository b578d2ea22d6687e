"""`partita select MODEL UNLABELLED`: the next sentences, or spans of words, to label."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from partita.cli.answers import check_counts
from partita.cli.families import Family, run_family
from partita.cli.labels import add_fixed, fixed_tags
from partita.cli.models import Model, load_model, tag_column
from partita.cli.options import (
    BATCH,
    Argument,
    Commands,
    Options,
    add_arguments,
    add_command,
    add_reading,
    add_tag_column,
    given,
    read_documents,
    say,
)
from partita.cli.results import Measures, write_results
from partita.cli.workers import add_workers, answered, by_workers
from partita.data.formats import Document, Format, write_sentences
from partita.data.schemes import UNKNOWN
from partita.data.sentences import Sentence
from partita.data.text import STANDARD

if TYPE_CHECKING:
    from partita.estimators.tagging.selection import Choice

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
OF_ALL = ("density", "random")
"""Strategies that look at all sentences at once."""
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
    add_workers(parser)
    add_fixed(parser)
    add_tag_column(parser)
    add_reading(parser)
    add_arguments(parser, (BATCH,), "memory")
    add_arguments(parser, (*RANKING, SEED), "arguments of the ranking")


def run(options: Options) -> None:
    """Rank, and write what comes first."""
    check_counts(options, ("batch_words", "n_words", "k"))
    model = load_model(options.model)
    with by_workers(model, options):
        run_family(FAMILIES, model, options)


class Candidate(NamedTuple):
    """Words that may be worth a label, with all that is needed to write them."""

    choice: "Choice"
    """Numbered among all sentences."""
    sentence: Sentence
    seen: Any
    """The sentence as the model wants it."""
    known: tuple[str, ...] | None
    """The tags that are fixed."""


def _tags(model: Model, options: Options) -> None:
    from partita.cli.questions import predicted
    from partita.estimators.tagging.selection import take

    if options.strategy in OF_ALL:
        options.batch = sys.maxsize
    kept: list[Candidate] = []
    first: Document | None = None
    n_sentences = 0

    def documents() -> Iterator[tuple[int, Document]]:
        nonlocal first, n_sentences
        for document in read_documents(options.unlabelled, options):
            first = first or document
            yield n_sentences, document
            n_sentences += len(document)

    for found in answered(model, _ranked, documents(), options):
        kept = _worth_most([*kept, *found], options.batch_words)
    assert first is not None
    n_kept = len(take([each.choice for each in kept], options.batch_words)) if kept else 0
    chosen = kept[:n_kept]
    n_words = sum(each.choice.n_words for each in chosen)
    say(f"Chose {n_words:,} words in {len(chosen):,} of {n_sentences:,} sentences")
    if options.list or options.json:
        choices = [_described(first.format, each) for each in chosen]
        measures = {"strategy": options.strategy, "words": n_words, "choices": choices}
        write_results(options, measures, _lines)
        return
    known = None if options.fixed is None else [each.known for each in chosen]
    guesses = predicted(model, [each.seen for each in chosen], known)  # type: ignore[arg-type]
    column = _column(first, model, options)
    results = [
        _to_label(first.format, each, column, guess)
        for each, guess in zip(chosen, guesses, strict=True)
    ]
    format: Format = "columns" if first.format == "plain" else first.format
    write_sentences(options.output, results, format)
    if options.output != STANDARD:
        say(f"Wrote {options.output}")


def _ranked(model: Model, batch: tuple[int, Document], options: Options) -> list[Candidate]:
    """What of some sentences is worth most, the first of which has a number."""
    from partita.cli.questions import seen_by
    from partita.estimators.tagging.selection import rank

    start, document = batch
    sentences = seen_by(model, document)
    fixed = fixed_tags(document, options.fixed)
    arguments = given(options, (*RANKING, SEED))
    ranked = rank(model.estimator, sentences, options.strategy, fixed=fixed, **arguments)
    found = [
        Candidate(
            choice._replace(sentence=start + choice.sentence),
            document[choice.sentence],
            sentences[choice.sentence],
            None if fixed is None else fixed[choice.sentence],
        )
        for choice in ranked
    ]
    return _worth_most(found, options.batch_words)


def _worth_most(candidates: list[Candidate], n_words: int) -> list[Candidate]:
    """Those that can be among the chosen, whatever else comes: memory stays as it is."""
    ordered = sorted(candidates, key=lambda each: (-each.choice.value, each.choice.sentence))
    total = 0
    for place, each in enumerate(ordered):
        total += each.choice.n_words
        if total > n_words:
            return ordered[: place + 1]
    return ordered


FAMILIES = (Family("taggers", ("tagger", "hmm"), _tags, (BATCH,)),)


def _column(document: Document, model: Model, options: Options) -> str:
    """Where the tags go: as in training, if the file has that column, else into a new one."""
    chosen = options.tag_column or model.column
    if chosen is None and document.format != "conllu":
        return "tag"
    return tag_column(document, chosen)


def _to_label(format: Format, candidate: Candidate, column: str, guess: Sequence[str]) -> Sentence:
    """The sentence with guesses for the words to label, and what is known for the others."""
    sentence, choice = candidate.sentence, candidate.choice
    unknown = "_" if format == "conllu" else UNKNOWN
    known = candidate.known or [UNKNOWN] * len(guess)
    tags = [unknown if tag == UNKNOWN else tag for tag in known]
    words = slice(choice.first, choice.last + 1)
    tags[words] = guess[words]
    if format == "conllu":
        return sentence.replaced(column, tags)
    # Sentences change places, so that what stood between them has no place any more.
    kept = Sentence(sentence.columns, separator=sentence.separator, source=sentence.source)
    return kept.replaced(column, tags)


def _described(format: Format, candidate: Candidate) -> Measures:
    """A choice, with where its words are."""
    sentence, choice = candidate.sentence, candidate.choice
    words = sentence.column("FORM" if "FORM" in sentence.names else sentence.names[0])
    ends = (0, 0) if format == "plain" else (choice.first, choice.last)
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
