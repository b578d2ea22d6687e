"""`partita evaluate` for aligners: alignment error rate, precision, recall and F1."""

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

from partita.cli.answers import TARGET, check_counts
from partita.cli.bitexts import read_pairs
from partita.cli.evaluate.calibration import calibration_of
from partita.cli.families import Family
from partita.cli.links import read_links
from partita.cli.models import Model
from partita.cli.options import BATCH, DIAGRAM, Argument, Options, check_batch
from partita.cli.predict.links import (
    DECODING,
    LIMITS,
    decoding,
    marginals,
    say_not_aligned,
    with_limits,
)
from partita.cli.results import write_results
from partita.cli.workers import answered
from partita.data.alignments import Alignment
from partita.data.bitext import Bitext

if TYPE_CHECKING:
    from partita.evaluation.alignments import LinkCounts
    from partita.evaluation.calibration import BinSums

ARGUMENTS = (
    TARGET,
    Argument("links", str, None, "the right links of the pairs, Pharaoh format", metavar="FILE"),
    *DECODING,
    *LIMITS,
    Argument("samples", int, 1000, "drawn for the intervals"),
    DIAGRAM,
    BATCH,
)


def run(model: Model, options: Options) -> None:
    """Predict, compare, and print; a batch at a time, of which counts are kept."""
    from partita.evaluation.alignments import scores_of

    if options.links is None:
        raise ValueError("no right links came; name their file by --links.")
    check_counts(options, ("samples",))
    check_batch(options)
    aligner = with_limits(model, options)
    pairs = read_pairs(options.gold, options.target)
    gold = read_links(options.links, pairs)
    say_not_aligned(aligner, pairs)
    starts = range(0, len(pairs), min(options.batch, len(pairs)))
    batches = (
        (Bitext(pairs[k : k + starts.step], pairs.name), gold[k : k + starts.step]) for k in starts
    )
    counts, bins = zip(*answered(model, _compared, batches, options), strict=True)
    scores = scores_of(list(chain.from_iterable(counts)), n_samples=options.samples)
    sums = reduce(lambda one, two: one.plus(two), bins)
    error = calibration_of(sums.bins(), "links", options.diagram)
    last = f"calibration error  {error:.4f} (of all cells but possible links)"
    measures = {**scores._asdict(), "calibration_error": error}
    write_results(options, measures, lambda _: (str(scores), last))


def _compared(
    model: Model, batch: tuple[Bitext, Sequence[Alignment]], options: Options
) -> "tuple[list[LinkCounts], BinSums]":
    """What is to be said of the links of some pairs."""
    from partita.evaluation.alignments import counts_of_pairs

    pairs, gold = batch
    found = model.estimator.predict(pairs.source, pairs.target, **decoding(options))
    return (
        counts_of_pairs(gold, found),
        _calibration(marginals(model.estimator, pairs, options), gold),
    )


def _calibration(found: Sequence[Any], gold: Sequence[Alignment]) -> "BinSums":
    """Of every link that may be; what is possible only is neither right nor wrong."""
    import numpy as np

    from partita.evaluation.calibration import BinSums

    probabilities, right = [np.zeros(0)], [np.zeros(0, dtype=np.bool_)]
    for p, alignment in zip(found, gold, strict=True):
        is_sure, counts = np.zeros(p.shape, dtype=np.bool_), np.ones(p.shape, dtype=np.bool_)
        for link in alignment.sure:
            is_sure[link] = True
        for link in alignment.possible:
            counts[link] = False
        probabilities.append(p[counts])
        right.append(is_sure[counts])
    return BinSums.of(np.concatenate(probabilities), np.concatenate(right))


FAMILY = Family("aligners", ("aligner",), run, ARGUMENTS)
