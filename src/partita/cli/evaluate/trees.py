"""`partita evaluate` for parsers: attachment scores as the CoNLL 2018 shared task counts them."""

import operator
import sys
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from partita.cli.answers import TREE_DECODER, check_counts, table
from partita.cli.evaluate.calibration import calibration_of
from partita.cli.families import Family
from partita.cli.models import Model, is_model, load_model
from partita.cli.options import (
    BATCH,
    DIAGRAM,
    READING,
    Argument,
    Options,
    read_document,
    read_documents,
)
from partita.cli.results import Measures, percent, write_results
from partita.cli.treebanks import CROSSING, RESCORER, load_rescorer, no_trees, words_of
from partita.cli.workers import answered
from partita.data.sentences import Sentence
from partita.data.text import source_name

if TYPE_CHECKING:
    from partita.evaluation.calibration import BinSums
    from partita.evaluation.trees import ComparedTrees, Measure, PredictedTree

ARGUMENTS = (
    TREE_DECODER,
    CROSSING,
    RESCORER,
    Argument("samples", int, 1000, "drawn for the intervals"),
    Argument(
        "against", str, None, "another system to compare with: a model or CoNLL-U", metavar="FILE"
    ),
    DIAGRAM,
    *READING,
    BATCH,
)


def run(model: Model, options: Options) -> None:
    """Predict, compare, and print; a batch at a time, of which two numbers a word are kept."""
    check_counts(options, ("samples",))
    load_rescorer(options)
    if options.against is not None:
        # The other system's trees are of the whole file.
        options.batch = sys.maxsize
    batches = map(words_of, read_documents(options.gold, options))
    scores, bins, others = zip(*answered(model, _compared, batches, options), strict=True)
    total, other = reduce(operator.add, scores), others[0]
    if not len(total):
        raise no_trees(source_name(options.gold))
    sums = reduce(lambda one, two: one.plus(two), bins)
    measures: dict[str, Any] = {
        **_overall(total, options.samples),
        "calibration_error": calibration_of(sums.bins(), "arcs", options.diagram),
        "against": options.against,
        "better_by": other and _difference(total, other, options),
        "words_of_a_sentence": _by_length(total),
        "relations": _by_relation(total),
    }
    write_results(options, measures, _lines)


def _compared(
    model: Model, gold: Sequence[Sentence], options: Options
) -> "tuple[ComparedTrees, BinSums, ComparedTrees | None]":
    """What is to be said of the trees of some sentences, and of another system's."""
    from partita.evaluation.trees import compare_some

    other = _other_trees(gold, options)
    found = model.estimator.predict(
        gold, decoder=options.decoder, projective=options.projective, rescorer=options.rescorer
    )
    return (
        compare_some(gold, found),
        _calibration(model, gold, found),
        None if other is None else compare_some(gold, other),
    )


FAMILY = Family("parsers", ("parser",), run, ARGUMENTS)


def _overall(scores: "ComparedTrees", n_samples: int) -> dict[str, Measures]:
    parts = {"all words": scores, "without punctuation": scores.without_punctuation()}
    nothing = (float("nan"),) * 3
    return {
        name: {
            "words": len(part),
            "uas": part.interval("uas", n_samples=n_samples),
            "las": part.interval("las", n_samples=n_samples) if part.predicted else nothing,
            "clas": part.clas,
            "all_right": part.exact,
        }
        for name, part in parts.items()
        if len(part)
    }


def _difference(
    scores: "ComparedTrees", other: "ComparedTrees", options: Options
) -> dict[str, Measures]:
    from partita.evaluation import compare_systems

    names: tuple[Measure, ...] = (
        ("uas", "las") if scores.predicted and other.predicted else ("uas",)
    )
    compared = {
        name: compare_systems(other, scores, name, n_samples=options.samples) for name in names
    }
    return {
        name: {"difference": found.difference, "p": found.p_value}
        for name, found in compared.items()
    }


def _by_length(scores: "ComparedTrees") -> dict[str, Measures]:
    return {
        name: {"words": len(part), "uas": part.uas, "las": part.las}
        for name, part in scores.by_length().items()
    }


def _by_relation(scores: "ComparedTrees") -> dict[str, Measures]:
    nothing = float("nan")
    return {
        name: {
            "gold": found.n_gold,
            "found": found.n_predicted,
            "uas": found.n_right_heads / found.n_gold if found.n_gold else nothing,
            "precision": found.precision if scores.predicted else nothing,
            "recall": found.recall if scores.predicted else nothing,
            "f1": found.f1 if scores.predicted else nothing,
        }
        for name, found in scores.by_relation().items()
    }


def _lines(measures: Any) -> Iterator[str]:
    heading = ("", "words", "UAS", "95 % of samples", "LAS", "95 % of samples", "CLAS", "all right")
    rows: list[tuple[str, ...]] = [heading]
    for name in ("all words", "without punctuation"):
        if name in measures:
            part = measures[name]
            cells = [cell for key in ("uas", "las") for cell in _interval(part[key])]
            shares = percent(part["clas"]), percent(part["all_right"])
            rows.append((name, f"{part['words']:,}", *cells, *shares))
    yield from table(rows)
    yield ""
    yield f"calibration error of arcs  {measures['calibration_error']:.4f}"
    if measures["better_by"]:
        yield ""
        rows = [(f"against {measures['against']}", "better by", "95 % of samples", "p")]
        for name, each in measures["better_by"].items():
            value, low, high = (f"{100 * part:+.2f}" for part in each["difference"])
            rows.append((name.upper(), value, f"{low} to {high}", f"{each['p']:.4f}"))
        yield from table(rows)
    yield ""
    rows = [("words of a sentence", "words", "UAS", "LAS")]
    for name, part in measures["words_of_a_sentence"].items():
        rows.append((name, f"{part['words']:,}", percent(part["uas"]), percent(part["las"])))
    yield from table(rows)
    yield ""
    rows = [("relation", "gold", "found", "UAS", "precision", "recall", "F1")]
    for name, part in measures["relations"].items():
        numbers = (percent(part[key]) for key in ("uas", "precision", "recall", "f1"))
        rows.append((name, str(part["gold"]), str(part["found"]), *numbers))
    yield from table(rows)


def _interval(found: tuple[float, float, float]) -> tuple[str, str]:
    value, low, high = found
    return percent(value), f"{percent(low)} to {percent(high)}" if value == value else "-"


def _calibration(
    model: Model, gold: Sequence[Sentence], found: Sequence["PredictedTree"]
) -> "BinSums":
    import numpy as np

    from partita.data.dependencies import tree_heads
    from partita.evaluation.calibration import BinSums

    marginals = model.estimator.predict_marginals(gold)
    probabilities, right = [np.zeros(0)], [np.zeros(0, dtype=np.bool_)]
    for sentence, (heads, _), matrix in zip(gold, found, marginals, strict=True):
        wanted = np.array(tree_heads(sentence, single_root=False, partial=True))
        known = wanted >= 0
        chosen = np.asarray(heads)
        words = np.arange(1, len(chosen) + 1)
        probabilities.append(matrix[chosen, words][known])
        right.append((chosen == wanted)[known])
    return BinSums.of(np.concatenate(probabilities), np.concatenate(right))


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
