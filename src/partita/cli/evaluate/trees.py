"""`partita evaluate` for parsers: attachment scores as the CoNLL 2018 shared task counts them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from partita.cli.answers import DECODER, table
from partita.cli.families import Family
from partita.cli.models import Model, is_model, load_model
from partita.cli.options import Argument, Options, read_document, say, write
from partita.cli.treebanks import CROSSING, read_trees
from partita.data.sentences import Sentence
from partita.data.text import write_text

if TYPE_CHECKING:
    from partita.evaluation.trees import ComparedTrees, Measure, PredictedTree

ARGUMENTS = (
    DECODER,
    CROSSING,
    Argument("samples", int, 1000, "drawn for the intervals"),
    Argument(
        "against", str, None, "another system to compare with: a model or CoNLL-U", metavar="FILE"
    ),
)


def run(model: Model, options: Options) -> None:
    """Predict, compare, and print."""
    from partita.evaluation import compare_trees

    if options.samples < 1:
        raise ValueError(f"--samples is {options.samples}; expected 1 or more.")
    gold = read_trees([options.gold], options)
    other = _other_trees(gold, options)
    found = model.estimator.predict(gold, decoder=options.decoder, projective=options.projective)
    scores = compare_trees(gold, found)
    for line in _overall(scores, options.samples):
        write(line)
    _calibration(model, gold, found, options.diagram)
    if other is not None:
        for line in _difference(scores, compare_trees(gold, other), options):
            write(line)
    for line in (*_by_length(scores), *_by_relation(scores)):
        write(line)


FAMILY = Family("parsers", ("parser",), run, ARGUMENTS)


def _overall(scores: "ComparedTrees", n_samples: int) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [
        ("", "words", "UAS", "95 % of samples", "LAS", "95 % of samples", "CLAS", "all right")
    ]
    parts = (("all words", scores), ("without punctuation", scores.without_punctuation()))
    measures: tuple[Measure, ...] = ("uas", "las")
    for name, part in parts:
        if not len(part):
            continue
        cells = [name, f"{len(part):,}"]
        for measure in measures:
            if measure == "las" and not part.predicted:
                cells += ["-", "-"]
                continue
            value, low, high = part.interval(measure, n_samples=n_samples)
            cells += [percent(value), f"{percent(low)} to {percent(high)}"]
        rows.append((*cells, percent(part.clas), percent(part.exact)))
    yield from table(rows)


def _difference(scores: "ComparedTrees", other: "ComparedTrees", options: Options) -> Iterator[str]:
    from partita.evaluation import compare_systems

    has_labels = scores.predicted and other.predicted
    yield ""
    rows = [(f"against {options.against}", "better by", "95 % of samples", "p")]
    measures: tuple[Measure, ...] = ("uas", "las") if has_labels else ("uas",)
    for measure in measures:
        found = compare_systems(other, scores, measure, n_samples=options.samples)
        value, low, high = (f"{100 * each:+.2f}" for each in found.difference)
        rows.append((measure.upper(), value, f"{low} to {high}", f"{found.p_value:.4f}"))
    yield from table(rows)


def _by_length(scores: "ComparedTrees") -> Iterator[str]:
    yield ""
    rows = [("words of a sentence", "words", "UAS", "LAS")]
    for name, part in scores.by_length().items():
        rows.append((name, f"{len(part):,}", percent(part.uas), percent(part.las)))
    yield from table(rows)


def _by_relation(scores: "ComparedTrees") -> Iterator[str]:
    yield ""
    rows: list[tuple[str, ...]] = [
        ("relation", "gold", "found", "UAS", "precision", "recall", "F1")
    ]
    for name, found in scores.by_relation().items():
        uas = found.n_right_heads / found.n_gold if found.n_gold else float("nan")
        shares = (uas, found.precision, found.recall, found.f1)
        if not scores.predicted:
            shares = (uas, *(float("nan"),) * 3)
        rows.append((name, str(found.n_gold), str(found.n_predicted), *map(percent, shares)))
    yield from table(rows)


def _calibration(
    model: Model,
    gold: Sequence[Sentence],
    found: Sequence["PredictedTree"],
    diagram: str | None,
) -> None:
    import numpy as np

    from partita import show
    from partita.data.dependencies import tree_heads
    from partita.evaluation import calibration_error, reliability

    marginals = model.estimator.predict_marginals(gold)
    probabilities, right = [], []
    for sentence, (heads, _), matrix in zip(gold, found, marginals, strict=True):
        wanted = np.array(tree_heads(sentence, single_root=False, partial=True))
        known = wanted >= 0
        chosen = np.asarray(heads)
        words = np.arange(1, len(chosen) + 1)
        probabilities.append(matrix[chosen, words][known])
        right.append((chosen == wanted)[known])
    bins = reliability(np.concatenate(probabilities), np.concatenate(right))
    write()
    error = f"{calibration_error(bins):.4f}"
    write(f"calibration error of arcs  {error}")
    if diagram is not None:
        title = f"Reliability of arcs: expected calibration error {error}"
        write_text(diagram, show.reliability(bins, title=title).text)
        say(f"Wrote {diagram}")


def _other_trees(gold: Sequence[Sentence], options: Options) -> "Sequence[PredictedTree] | None":
    """What another system says: a model, or a file that it parsed."""
    from partita.evaluation import trees_of

    if options.against is None:
        return None
    if not is_model(options.against):
        return trees_of(gold, list(read_document(options.against, options)))
    other = load_model(options.against)
    if other.kind != "parser":
        raise ValueError(
            f"{other.path} holds a model of kind {other.kind!r}; expected a parser, or a file in "
            "CoNLL-U that another program parsed."
        )
    trees: Sequence[PredictedTree] = other.estimator.predict(
        gold, decoder=options.decoder, projective=options.projective
    )
    return trees


def percent(share: float) -> str:
    """A share in percent, with two digits; - for none.

    >>> percent(0.5), percent(float("nan"))
    ('50.00', '-')
    """
    return f"{100 * share:.2f}" if share == share else "-"
