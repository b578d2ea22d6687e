"""`partita evaluate` for taggers: how good the tags are, and whether probabilities mean it."""

from collections.abc import Sequence

from partita.cli.answers import DECODER, TAG_COLUMN, table
from partita.cli.families import Family
from partita.cli.labels import converted, tags_of
from partita.cli.models import Model, tag_column
from partita.cli.options import Argument, Options, read_document, say, write
from partita.data.errors import DataError
from partita.data.schemes import UNKNOWN, recognise_scheme
from partita.data.sentences import Sentence
from partita.data.text import write_text

ARGUMENTS = (
    TAG_COLUMN,
    DECODER,
    Argument(
        "many_to_one",
        bool,
        False,
        "let each tag of the model stand for the right tag it meets most (for induced tags)",
    ),
)

Tags = Sequence[Sequence[str]]


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
    sentences = seen_by(model, document)
    found = predicted(model, sentences, decoder=options.decoder)
    if options.many_to_one:
        _many_to_one(gold, found)
        return
    _say_unknown(model, gold)
    _accuracy(gold, found)
    _calibration(model, sentences, gold, found, options.diagram)
    _by_tag(gold, found)
    if recognise_scheme(gold) is not None:
        _chunks(gold, found)


FAMILY = Family("taggers", ("tagger", "hmm"), run, ARGUMENTS)


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


def _accuracy(gold: Tags, found: Tags) -> None:
    from partita.evaluation import bootstrap

    gold, found = _known(gold, found)
    right = [sum(map(str.__eq__, *rows)) for rows in zip(gold, found, strict=True)]
    n_words = list(map(len, gold))

    def share(right: Sequence[int], n_words: Sequence[int]) -> float:
        return sum(right) / max(sum(n_words), 1)

    value, low, high = bootstrap(share, right, n_words)
    whole = sum(map(int.__eq__, right, n_words)) / len(right)
    write(f"words              {sum(n_words):,}")
    write(f"right              {sum(right):,}")
    write(f"accuracy           {value:.2%} (95 % of samples: {low:.2%} to {high:.2%})")
    write(f"sentences right    {whole:.2%} of {len(right):,}")


def _calibration(
    model: Model, sentences: list[Sentence], gold: Tags, found: Tags, diagram: str | None
) -> None:
    import numpy as np

    from partita import show
    from partita.cli.questions import probabilities
    from partita.evaluation import calibration_error, reliability

    known = np.array([tag != UNKNOWN for row in gold for tag in row])
    right = np.array(
        [a == b for rows in zip(gold, found, strict=True) for a, b in zip(*rows, strict=True)]
    )
    p = np.concatenate(probabilities(model, sentences, found))
    bins = reliability(p[known], right[known])
    error = f"{calibration_error(bins):.4f}"
    write(f"calibration error  {error}")
    if diagram is not None:
        title = f"Reliability: expected calibration error {error}"
        write_text(diagram, show.reliability(bins, title=title).text)
        say(f"Wrote {diagram}")


def _by_tag(gold: Tags, found: Tags) -> None:
    from partita.evaluation import accuracy_by_tag

    write()
    rows: list[tuple[str, ...]] = [("tag", "right", "found", "gold", "precision", "recall", "F1")]
    for tag, (n_gold, n_found, n_right) in accuracy_by_tag(*_known(gold, found)).items():
        shares = (n_right, n_found), (n_right, n_gold), (2 * n_right, n_gold + n_found)
        percents = (f"{100 * a / b:.2f}" if b else "-" for a, b in shares)
        rows.append((tag, str(n_right), str(n_found), str(n_gold), *percents))
    for line in table(rows):
        write(line)


def _chunks(gold: Tags, found: Tags) -> None:
    from partita.evaluation import chunk_scores

    write()
    write(str(chunk_scores(gold, found)))


def _many_to_one(gold: Tags, found: Tags) -> None:
    from partita.evaluation import many_to_one

    share, meaning = many_to_one(*_known(gold, found))
    write(f"many-to-one accuracy  {share:.2%}")
    write()
    for line in table([("model", "stands for"), *meaning.items()]):
        write(line)
