"""`partita evaluate` for taggers: how good the tags are, and whether probabilities mean it."""

import operator
import sys
from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

from partita.cli.answers import DECODER, TAG_COLUMN, table
from partita.cli.evaluate.calibration import calibration_of
from partita.cli.families import Family
from partita.cli.labels import converted, tags_of
from partita.cli.models import Model, tag_column
from partita.cli.options import (
    BATCH,
    DIAGRAM,
    READING,
    Argument,
    Options,
    read_documents,
    say,
    write,
)
from partita.cli.results import Measures, counted, percent, write_results
from partita.cli.workers import answered
from partita.data.errors import DataError
from partita.data.formats import Document
from partita.data.text import source_name

ARGUMENTS = (
    TAG_COLUMN,
    DECODER,
    Argument(
        "many_to_one",
        bool,
        False,
        "let each tag of the model stand for the right tag it meets most (for induced tags)",
    ),
    Argument(
        "conlleval",
        bool,
        False,
        "read chunks as conlleval.pl does, which has no rule for S of BIOES (else by the scheme)",
    ),
    DIAGRAM,
    *READING,
    BATCH,
)
N_NAMED = 8
"""Tags that a message names."""

if TYPE_CHECKING:
    from partita.evaluation.tag_totals import TagTotals


def run(model: Model, options: Options) -> None:
    """Predict, compare, and print; a batch at a time, of which only counts are kept."""
    if model.scheme is not None:
        # The scheme that tags are converted from is recognised by all of them.
        options.batch = sys.maxsize
    total = sum_of(answered(model, _compared, _documents(model, options), options))
    column = options.tag_column
    if not total.known.sum():
        raise DataError(
            source_name(options.gold),
            None,
            f"no word has a tag in column {column!r}; expected the right tags. Name another "
            "column by --tag-column.",
        )
    if options.many_to_one:
        write_results(options, _many_to_one(total), _many_to_one_lines)
        return
    _check_names(model, total, column)
    _say_unknown(model, total)
    if total.scheme == "BIOES" and not options.conlleval:
        say("Chunks of BIOES are read by its own rules, not by conlleval.pl's (see --conlleval)")
    measures = {
        **_accuracy(total),
        "calibration_error": calibration_of(total.bins.bins(), "tags", options.diagram),
        "tags": _by_tag(total),
        "chunks": _chunks(total) if total.scheme else None,
    }
    write_results(options, measures, _lines)
    if total.scheme and not options.json:
        write()
        write(str(total.chunk_scores()))


def _documents(model: Model, options: Options) -> Iterator[Document]:
    """The sentences as they are read; the first ones say which column has the tags."""
    documents = read_documents(options.gold, options)
    for first in documents:
        options.tag_column = tag_column(first, options.tag_column or model.column)
        yield first
        yield from documents


def _compared(model: Model, document: Document, options: Options) -> "TagTotals":
    """What is to be said of the tags of some sentences."""
    import numpy as np

    from partita.cli.questions import predicted, probabilities, seen_by
    from partita.evaluation.tag_totals import TagTotals

    gold = converted(tags_of(document, options.tag_column), model.scheme)
    sentences = seen_by(model, document)
    found = predicted(model, sentences, decoder=options.decoder)
    p = np.concatenate([np.zeros(0), *probabilities(model, sentences, found)])
    return TagTotals.of(gold, found, p, "conlleval" if options.conlleval else "schemes")


def sum_of(parts: "Iterator[TagTotals]") -> "TagTotals":
    """All parts together; there is one, since an empty file is an error."""
    return reduce(operator.add, parts)


FAMILY = Family("taggers", ("tagger", "hmm", "segmenter"), run, ARGUMENTS)


def _check_names(model: Model, total: "TagTotals", column: str) -> None:
    """Tags that were induced have names of their own, and then no answer would be right."""
    known, wanted = set(model.estimator.tags_), {tag for tag, _ in total.pairs}
    if known.isdisjoint(wanted):
        raise ValueError(
            f"none of the model's tags ({_named(known)}) is among those of column {column!r} "
            f"({_named(wanted)}), so that no word could be right. If the model found its tags by "
            "itself, use --many-to-one, which lets each stand for the right tag it meets most; "
            "else name another column by --tag-column."
        )


def _named(tags: set[str]) -> str:
    names = sorted(tags)
    return ", ".join(names[:N_NAMED]) + (", ..." if len(names) > N_NAMED else "")


def _say_unknown(model: Model, total: "TagTotals") -> None:
    """Right tags that the model cannot find are worth a word, but no error."""
    known = set(model.estimator.tags_)
    others = {pair: n for pair, n in total.pairs.items() if pair[0] not in known}
    if others:
        names = ", ".join(sorted({tag for tag, _ in others})[:10])
        say(f"Note: {sum(others.values())} words have tags that training never saw: {names}")


def _accuracy(total: "TagTotals") -> Measures:
    return {
        "words": int(total.known.sum()),
        "right": int(total.right.sum()),
        "accuracy": total.accuracy(),
        "sentences": len(total.right),
        "sentences_right": float((total.right == total.known).mean()),
    }


def _by_tag(total: "TagTotals") -> dict[str, Measures]:
    from partita.evaluation.tags import scores_by_tag

    return {tag: counted(*counts) for tag, counts in scores_by_tag(total.pairs).items()}


def _chunks(total: "TagTotals") -> dict[str, Any]:
    scores = total.chunk_scores()
    by_type = {
        name: counted(each.n_gold, each.n_predicted, each.n_correct)
        for name, each in scores.by_type.items()
    }
    all_types = scores.overall
    overall = counted(all_types.n_gold, all_types.n_predicted, all_types.n_correct)
    return {**overall, "types": by_type}


def _lines(measures: Any) -> Iterator[str]:
    value, low, high = measures["accuracy"]
    yield f"words              {measures['words']:,}"
    yield f"right              {measures['right']:,}"
    yield f"accuracy           {value:.2%} (95 % of samples: {low:.2%} to {high:.2%})"
    yield f"sentences right    {measures['sentences_right']:.2%} of {measures['sentences']:,}"
    yield f"calibration error  {measures['calibration_error']:.4f}"
    yield ""
    rows: list[tuple[str, ...]] = [("tag", "right", "found", "gold", "precision", "recall", "F1")]
    for tag, each in measures["tags"].items():
        counts = (str(each[name]) for name in ("right", "found", "gold"))
        shares = (percent(each[name]) for name in ("precision", "recall", "f1"))
        rows.append((tag, *counts, *shares))
    yield from table(rows)


def _many_to_one(total: "TagTotals") -> Measures:
    from partita.evaluation.tags import stands_for

    share, meaning = stands_for(total.pairs)
    return {"many_to_one_accuracy": share, "stands_for": meaning}


def _many_to_one_lines(measures: Any) -> Iterator[str]:
    yield f"many-to-one accuracy  {measures['many_to_one_accuracy']:.2%}"
    yield ""
    yield from table([("tag of the model", "stands for"), *measures["stands_for"].items()])
