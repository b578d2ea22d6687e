"""`partita evaluate` for aligners: alignment error rate, precision, recall and F1."""

from collections.abc import Sequence
from typing import Any

from partita.cli.answers import TARGET, check_counts
from partita.cli.bitexts import read_pairs
from partita.cli.evaluate.calibration import calibration
from partita.cli.families import Family
from partita.cli.links import read_links
from partita.cli.models import Model
from partita.cli.options import DIAGRAM, Argument, Options
from partita.cli.predict.links import (
    DECODING,
    LIMITS,
    decoding,
    marginals,
    say_not_aligned,
    with_limits,
)
from partita.cli.results import write_results
from partita.data.alignments import Alignment

ARGUMENTS = (
    TARGET,
    Argument("links", str, None, "the right links of the pairs, Pharaoh format", metavar="FILE"),
    *DECODING,
    *LIMITS,
    Argument("samples", int, 1000, "drawn for the intervals"),
    DIAGRAM,
)


def run(model: Model, options: Options) -> None:
    """Predict, compare, and print."""
    from partita.evaluation.alignments import alignment_scores

    if options.links is None:
        raise ValueError("no right links came; name their file by --links.")
    check_counts(options, ("samples",))
    aligner = with_limits(model, options)
    pairs = read_pairs(options.gold, options.target)
    gold = read_links(options.links, pairs)
    say_not_aligned(aligner, pairs)
    found = aligner.predict(pairs.source, pairs.target, **decoding(options))
    scores = alignment_scores(gold, found, n_samples=options.samples)
    error = _calibration(marginals(aligner, pairs, options), gold, options.diagram)
    last = f"calibration error  {error:.4f} (of all cells but possible links)"
    measures = {**scores._asdict(), "calibration_error": error}
    write_results(options, measures, lambda _: (str(scores), last))


def _calibration(found: Sequence[Any], gold: Sequence[Alignment], diagram: str | None) -> float:
    """Of every link that may be; what is possible only is neither right nor wrong."""
    import numpy as np

    probabilities, right = [np.zeros(0)], [np.zeros(0, dtype=np.bool_)]
    for p, alignment in zip(found, gold, strict=True):
        is_sure, counts = np.zeros(p.shape, dtype=np.bool_), np.ones(p.shape, dtype=np.bool_)
        for link in alignment.sure:
            is_sure[link] = True
        for link in alignment.possible:
            counts[link] = False
        probabilities.append(p[counts])
        right.append(is_sure[counts])
    return calibration(np.concatenate(probabilities), np.concatenate(right), "links", diagram)


FAMILY = Family("aligners", ("aligner",), run, ARGUMENTS)
