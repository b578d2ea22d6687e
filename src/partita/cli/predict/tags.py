"""`partita predict` for taggers: the input with tags, and what else is asked about them."""

from collections.abc import Callable, Iterator, Sequence

from partita.cli.answers import (
    DECODER,
    ENTROPY,
    FIXED,
    K_BEST,
    LOG_PROBABILITY,
    PROBABILITY,
    SAMPLING,
    TAG_COLUMN,
    check_counts,
    check_replace,
    number,
    sample_fields,
)
from partita.cli.families import Family
from partita.cli.labels import fixed_tags
from partita.cli.models import Model, tag_column
from partita.cli.options import BATCH, READING, Argument, Options, say_once
from partita.cli.workers import answered_documents
from partita.data.conllu import with_misc
from partita.data.formats import Document, sentences_text
from partita.data.schemes import SCHEMES, Scheme, convert, recognise_scheme
from partita.data.sentences import Sentence
from partita.data.text import write_pieces

ARGUMENTS = (
    TAG_COLUMN,
    Argument("convert", str, None, "write chunks in this scheme", SCHEMES),
    FIXED,
    DECODER,
    PROBABILITY,
    ENTROPY,
    Argument("span_entropy", int, None, "of the N words that begin at each word"),
    LOG_PROBABILITY,
    K_BEST,
    *SAMPLING,
    *READING,
    BATCH,
)

OF_SEGMENTS = tuple(each for each in ARGUMENTS if each.name != "span_entropy")
"""What segmenters answer, too."""

Tags = Sequence[Sequence[str]]
Values = Sequence[Sequence[str]]
"""For each sentence, a value for each word."""


def run(model: Model, options: Options) -> None:
    """Predict and write."""
    check_counts(options, ("k_best", "span_entropy", "sample"))
    check_replace(options, "sample")
    write_pieces(options.output, answered_documents(model, _answered, options))


def _answered(model: Model, document: Document, options: Options) -> str:
    """The text of some sentences with what was asked about them."""
    from partita.cli.questions import predicted, seen_by

    sentences = seen_by(model, document)
    tags = predicted(model, sentences, fixed_tags(document, options.fixed), options.decoder)
    change = _scheme_changer([*tags, *([tag] for tag in model.estimator.tags_)], options.convert)
    results = _results(document, model, [change(row) for row in tags], options)
    for name, values in _fields(model, sentences, tags, change, options):
        add_field = with_misc if document.format == "conllu" else Sentence.replaced
        results = [
            add_field(result, name, row) for result, row in zip(results, values, strict=True)
        ]
    if document.format != "conllu":
        say_once(f"Writing columns: {', '.join(results[0].names)}")
    return sentences_text(results, "columns" if document.format == "plain" else document.format)


FAMILY = Family("taggers", ("tagger", "hmm"), run, ARGUMENTS)
SEGMENTS = Family("segmenters", ("segmenter",), run, OF_SEGMENTS)


def _results(document: Document, model: Model, tags: Tags, options: Options) -> list[Sentence]:
    """The sentences with their tags: in CoNLL-U in the column, else in a new one, the last."""
    if document.format == "conllu":
        column = tag_column(document, options.tag_column or model.column)
        document[0].column(column)
    else:
        # A new column beside the gold one, as conlleval and CRF++ have it.
        column = tag_column(document, options.tag_column or "predicted")
    results = [sentence.replaced(column, row) for sentence, row in zip(document, tags, strict=True)]
    if document.format != "plain":
        return results
    # Blank lines between lines of text would be more than columns need.
    return [Sentence(result.columns, source=result.source) for result in results]


def _fields(
    model: Model,
    sentences: Sequence[Sentence],
    tags: Tags,
    change: Callable[[Sequence[str]], tuple[str, ...]],
    options: Options,
) -> Iterator[tuple[str, Values]]:
    """Names and values of what was asked for beside the tags."""
    from partita.cli import questions

    if options.probability:
        rows = questions.probabilities(model, sentences, tags)
        yield "Probability", [[number(value) for value in row] for row in rows]
    if options.entropy:
        yield "Entropy", _repeated(questions.entropies(model, sentences).tolist(), tags)
    if getattr(options, "span_entropy", None) is not None:
        spans = questions.span_entropies(model, sentences, options.span_entropy)
        yield (
            "SpanEntropy",
            [["_" if value is None else number(value) for value in row] for row in spans],
        )
    if options.log_probability:
        found = questions.log_probabilities(model, sentences, tags)
        yield "LogProbability", _repeated(found.tolist(), tags)
    if options.k_best is not None:
        lists = questions.k_best(model, sentences, options.k_best)
        for rank in range(options.k_best):
            # A short sentence may have fewer sequences than were asked for.
            ranked = [
                each[rank] if rank < len(each) else (["_"] * len(row), float("-inf"))
                for each, row in zip(lists, tags, strict=True)
            ]
            best = [change(row) if row[0] != "_" else row for row, _ in ranked]
            yield f"Best{rank + 1}", best
            yield f"Best{rank + 1}LogProbability", _repeated([p for _, p in ranked], tags)
    for name, drawn in sample_fields(model.estimator, sentences, options):
        yield (
            name,
            [
                ["_"] * len(row) if each is None else change(each)
                for each, row in zip(drawn, tags, strict=True)
            ],
        )


def _repeated(values: Sequence[float], tags: Tags) -> Values:
    """A value of each sentence, at each of its words."""
    return [[number(value)] * len(row) for value, row in zip(values, tags, strict=True)]


def _scheme_changer(
    tags: Tags, target: Scheme | None
) -> Callable[[Sequence[str]], tuple[str, ...]]:
    """How to bring a sequence into the scheme that is asked for."""
    if target is None:
        return tuple
    source = recognise_scheme(tags)
    if source is None and any(tag != "O" for row in tags for tag in row):
        raise ValueError(
            f"the model's tags spell out no chunks, so they cannot be converted to {target}; "
            "expected tags such as B-NP, I-NP and O. Leave --convert out."
        )
    return lambda row: convert(row, source or "IOB2", target)
