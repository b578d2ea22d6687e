"""Words and their tags, out of data files."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from partita.cli.models import tag_column
from partita.cli.options import (
    Options,
    add_model_output,
    add_reading,
    add_tag_column,
    read_document,
    say,
)
from partita.data.errors import DataError
from partita.data.formats import Document
from partita.data.schemes import OUTSIDE, SCHEMES, UNKNOWN, Scheme, convert, recognise_scheme
from partita.data.sentences import Sentence

Tags = list[tuple[str, ...]]


@dataclass(frozen=True)
class Labelled:
    """Sentences, and the tags of each; `?` where a tag is not known."""

    sentences: list[Sentence]
    tags: Tags
    column: str | None


def add_lessons(parser: argparse.ArgumentParser) -> None:
    """What a tagger learns from."""
    parser.add_argument("train", nargs="*", metavar="TRAIN", help="files with tags")
    add_model_output(parser)
    add_tag_column(parser)
    parser.add_argument(
        "--unlabelled", action="append", default=[], metavar="FILE", help="sentences without tags"
    )
    parser.add_argument(
        "--held-out",
        action="append",
        default=[],
        metavar="FILE",
        help="sentences with tags that say when to stop (see --patience)",
    )
    parser.add_argument("--convert", choices=SCHEMES, help="learn chunks in this scheme")
    add_reading(parser)


@dataclass(frozen=True)
class Files:
    """What the files of a training command hold."""

    labelled: Labelled
    unlabelled: list[Sentence]
    held_out: tuple[list[Sentence], Tags] | None


def read_lessons(options: Options) -> Files:
    """The sentences with tags, those without, and those that say when to stop."""
    labelled = Labelled([], [], options.tag_column)
    if options.train:
        labelled = read_labelled(options.train, options)
    unlabelled: list[Sentence] = []
    for path in options.unlabelled:
        unlabelled += read_document(path, options)
    if not labelled.sentences and not unlabelled:
        raise ValueError("no data came; name files with tags, or some without by --unlabelled.")
    held_out = None
    if options.held_out:
        found = read_labelled(options.held_out, options, labelled.column, "Judging by")
        held_out = found.sentences, found.tags
    return Files(labelled, unlabelled, held_out)


def read_labelled(
    paths: Sequence[str], options: Options, column: str | None = None, use: str = "Learning"
) -> Labelled:
    """The sentences of files, and the tags in a column, or in the one that the options name."""
    sentences: list[Sentence] = []
    tags: Tags = []
    for path in paths:
        document = read_document(path, options)
        chosen = column or options.tag_column
        column = tag_column(document, chosen)
        if chosen is None and document.format == "columns" and column != document.names[-1]:
            say(f"The last column has too many values for tags; column {column!r} has few.")
        if document.format == "plain":
            raise DataError(
                document.source,
                None,
                "this seems to be plain text, which has no tags; expected CoNLL-U or columns. "
                "Give text without tags by --unlabelled, or name its format by --format.",
            )
        sentences += document
        tags += tags_of(document, column)
    say(f"{use} the tags in column {column!r}")
    return Labelled(sentences, converted(tags, options.convert), column)


def tags_of(document: Document, column: str) -> Tags:
    """The tags of each sentence; in CoNLL-U, `_` is a tag that is not known."""
    tags = [sentence.column(column) for sentence in document]
    if document.format != "conllu":
        return tags
    return [tuple(UNKNOWN if tag == "_" else tag for tag in sequence) for sequence in tags]


def add_fixed(parser: argparse.ArgumentParser) -> None:
    """Tags that the model is to keep."""
    parser.add_argument(
        "--fixed", metavar="COLUMN", help="tags to keep, with ? or _ where the model may choose"
    )


def fixed_tags(document: Document, column: str | None) -> Tags | None:
    """The tags to keep, with `?` where the model may choose; None if no column has any."""
    if column is None:
        return None
    rows = (sentence.column(column) for sentence in document)
    return [tuple(UNKNOWN if tag == "_" else tag for tag in row) for row in rows]


def converted(tags: Tags, target: Scheme | None) -> Tags:
    """Tags in another chunk scheme, if one is asked for."""
    if target is None:
        return tags
    source = recognise_scheme(tags)
    if source is None:
        if all(tag in (OUTSIDE, UNKNOWN) for sequence in tags for tag in sequence):
            return tags
        raise ValueError(
            "the tags spell out no chunks, so they cannot be converted to "
            f"{target}; expected tags such as B-NP, I-NP and O. Leave the option out, or name "
            "another column by --tag-column."
        )
    if source != target:
        say(f"Converting tags from {source} to {target}")
    return [convert(sequence, source, target) for sequence in tags]
