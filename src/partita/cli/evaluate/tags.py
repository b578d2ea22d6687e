"""`partita evaluate` for taggers: how good the tags are, and whether probabilities mean it."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from partita.cli.answers import DECODER, TAG_COLUMN, table
from partita.cli.evaluate.calibration import calibration
from partita.cli.families import Family
from partita.cli.labels import converted, tags_of
from partita.cli.models import Model, tag_column
from partita.cli.options import DIAGRAM, READING, Argument, Options, read_document, say, write
from partita.cli.results import Measures, counted, percent, write_results
from partita.data.errors import DataError
from partita.data.schemes import UNKNOWN, recognise_scheme
from partita.data.sentences import Sentence

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
)
N_NAMED = 8
"""Tags that a message names."""

Tags = Sequence[Sequence[str]]
Reading = Literal["schemes", "conlleval"]


def run(model: Model, options: Options) -> None:
    """Predict, compare, and print."""
    from partita.cli.questions import predicted, seen_by

    document = read_document(options.gold, options)
    column = tag_column(document, options.tag_column or model.column)
    gold = converted(tags_of(document, column), model.scheme)
    if all(tag == UNKNOWN for row in gold for tag in row):
        raise DataError(
            document.source,
            None,
            f"no word has a tag in column {column!r}; expected the right tags. Name another "
            "column by --tag-column.",
        )
    if not options.many_to_one:
        _check_names(model, gold, column)
    sentences = seen_by(model, document)
    found = predicted(model, sentences, decoder=options.decoder)
    if options.many_to_one:
        write_results(options, _many_to_one(gold, found), _many_to_one_lines)
        return
    _say_unknown(model, gold)
    scheme = recognise_scheme(gold)
    reading: Reading = "conlleval" if options.conlleval else "schemes"
    if scheme == "BIOES" and not options.conlleval:
        say("Chunks of BIOES are read by its own rules, not by conlleval.pl's (see --conlleval)")
    measures = {
        **_accuracy(gold, found),
        "calibration_error": _calibration(model, sentences, gold, found, options.diagram),
        "tags": _by_tag(gold, found),
        "chunks": _chunks(gold, found, reading) if scheme else None,
    }
    write_results(options, measures, _lines)
    if scheme and not options.json:
        from partita.evaluation import chunk_scores

        write()
        write(str(chunk_scores(gold, found, reading)))


FAMILY = Family("taggers", ("tagger", "hmm", "segmenter"), run, ARGUMENTS)


def _check_names(model: Model, gold: Tags, column: str) -> None:
    """Tags that were induced have names of their own, and then no answer would be right."""
    known, wanted = set(model.estimator.tags_), {tag for row in gold for tag in row} - {UNKNOWN}
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


def _known(gold: Tags, found: Tags) -> tuple[list[list[str]], list[list[str]]]:
    """Both without the words whose right tag is not known."""
    pairs = [
        [(a, b) for a, b in zip(*rows, strict=True) if a != UNKNOWN]
        for rows in zip(gold, found, strict=True)
    ]
    return [[a for a, _ in row] for row in pairs], [[b for _, b in row] for row in pairs]


def _say_unknown(model: Model, gold: Tags) -> None:
    """Right tags that the model cannot find are worth a word, but no error."""
    known = {UNKNOWN, *model.estimator.tags_}
    others = [tag for row in gold for tag in row if tag not in known]
    if others:
        names = ", ".join(sorted(set(others))[:10])
        say(f"Note: {len(others)} words have tags that training never saw: {names}")


def _accuracy(gold: Tags, found: Tags) -> Measures:
    from partita.evaluation import bootstrap

    gold, found = _known(gold, found)
    right = [sum(map(str.__eq__, *rows)) for rows in zip(gold, found, strict=True)]
    n_words = list(map(len, gold))

    def share(right: Sequence[int], n_words: Sequence[int]) -> float:
        return sum(right) / max(sum(n_words), 1)

    return {
        "words": sum(n_words),
        "right": sum(right),
        "accuracy": bootstrap(share, right, n_words),
        "sentences": len(right),
        "sentences_right": sum(map(int.__eq__, right, n_words)) / len(right),
    }


def _calibration(
    model: Model, sentences: list[Sentence], gold: Tags, found: Tags, diagram: str | None
) -> float:
    import numpy as np

    from partita.cli.questions import probabilities

    known = np.array([tag != UNKNOWN for row in gold for tag in row])
    right = np.array(
        [a == b for rows in zip(gold, found, strict=True) for a, b in zip(*rows, strict=True)]
    )
    p = np.concatenate(probabilities(model, sentences, found))
    return calibration(p[known], right[known], "tags", diagram)


def _by_tag(gold: Tags, found: Tags) -> dict[str, Measures]:
    from partita.evaluation import accuracy_by_tag

    return {tag: counted(*counts) for tag, counts in accuracy_by_tag(*_known(gold, found)).items()}


def _chunks(gold: Tags, found: Tags, reading: Reading) -> dict[str, Any]:
    from partita.evaluation import chunk_scores

    scores = chunk_scores(gold, found, reading)
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


def _many_to_one(gold: Tags, found: Tags) -> Measures:
    from partita.evaluation import many_to_one

    share, meaning = many_to_one(*_known(gold, found))
    return {"many_to_one_accuracy": share, "stands_for": meaning}


def _many_to_one_lines(measures: Any) -> Iterator[str]:
    yield f"many-to-one accuracy  {measures['many_to_one_accuracy']:.2%}"
    yield ""
    yield from table([("tag of the model", "stands for"), *measures["stands_for"].items()])
